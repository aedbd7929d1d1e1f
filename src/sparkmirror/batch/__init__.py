"""Record batches as bytes: read the header, say what kind it is, patch it for another log; records to Arrow and back.

In: views onto fetched bytes, or columns. Out: header values, classes, patched bytes in place, columns, record sections.
It must never decompress or walk records on the pass-through way, and never touch a socket or a clock.
"""
