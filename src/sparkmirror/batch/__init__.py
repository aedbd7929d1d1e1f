"""Record batches as bytes: read the header, say what kind it is, patch it for another log.

In: views onto fetched bytes. Out: header values, classes, patched bytes in place.
It must never decompress or walk records on the pass-through way, and never touch a socket or a clock.
"""
