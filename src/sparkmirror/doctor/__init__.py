"""What a run will need, tried before a run: this machine, each cluster, each flow.

In: a file's flows. Out: verdicts, each with what was found and what helps. Asking (`machine`, `ask_cluster`,
`ask_flow`) stands apart from judging, which is pure. It must never change anything on a cluster.
"""
