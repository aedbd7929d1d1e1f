"""Kinds of trouble with a running mirror: how each is brought about, what five views say of it, how its cure is done.

world.py        two real clusters behind proxies, and a real mirror between them
trouble.py      what a kind of trouble is, and the run of one: trouble, views, cure, all is well
views.py        `status`, `--status-file`, the log, `doctor`, `plan`: what each says of a place
hands.py        does what a printed cure says: commands as they are printed, words as an operator would
partitions.py   troubles of one topic or partition
logs.py         troubles of logs on a broker's disk
clusters.py     troubles of a whole cluster
starts.py       flows that can't start
kinds.py        all of them, in the order of the test
table.py        what was found, as a table; docs/troubles.md

Here nothing judges the copy itself: tests/chaos does.
"""
