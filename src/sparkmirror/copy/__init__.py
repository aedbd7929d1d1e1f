"""Fetch from the source, append to the target: one lease's partitions, batch by batch, exactly once.

In: a `Lease` and two clusters. Out: receipts that say which source range became which target range.
It must never run in the driver, keep anything after the lease, or guess a position.
"""
