"""What the mirror writes down in the clusters: claims, leadership, progress and facts, in internal topics.

In: records of internal topics and what the ledger learned. Out: who leads a flow, under which producer id, from where.
It must never touch a mirrored topic's data; where a written word and the target's log differ, the log is right.
"""
