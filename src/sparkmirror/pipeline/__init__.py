"""The mirror as a Structured Streaming query: leases in, the copy as a stage, receipts out to the ledger.

In: leases that the driver plans. Out: rows that say what was copied, their sums in Spark's own progress.
The only room that knows Spark. It must never fetch or append a mirrored topic in the driver.
"""
