"""`sparkmirror demo`: two real clusters, load, the mirror as a child process, a live table, a comparison.

In: seconds. Out: what a user sees, and exit code 0 only if both sides are equal record by record.
It must never use sparkmirror's own code to read records back: an independent client does.
"""
