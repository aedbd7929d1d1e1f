"""Keeps the mirror going: which partitions there are, who leads, when leases are given, how it all stands.

In: a `MirrorConfig`. Out: rounds of leases for the pipeline, progress, log lines and a status document.
It must never look into a mirrored topic's bytes.
"""
