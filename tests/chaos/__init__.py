"""Faults in random order under a running mirror, each followed by a comparison of both sides.

In: a seed, and which kinds of faults. Out: one line a fault in a file that grows from run to run, and the table
`docs/faults.md`. Never: a fault that reaches beyond the processes and folders which the suite itself has started.

    plan.py      which fault comes when, from the seed alone        results.py   what became of each
    world.py     clusters, proxies, mirror, traffic                 table.py     the table of all
    kinds/       how each fault is made, when it is over            judge.py     which records differ
    runner.py    one step: fault, recovery, comparison              compare.py   what Kafka's own client reads
"""
