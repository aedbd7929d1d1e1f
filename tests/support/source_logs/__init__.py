"""Logs as sources have them, made on a running broker with real clients; each maker creates its topic.

A maker returns what it made, so that a test can tell a reader's mistake from a mirror's.
"""

from tests.support.source_logs.compaction import MadeCompacted, make_compacted
from tests.support.source_logs.fields import make_append_time, make_odd_records
from tests.support.source_logs.log_start import make_far_start, make_late_start, remove_records
from tests.support.source_logs.markers import write_markers
from tests.support.source_logs.shapes import make_big_batches, make_every_codec, make_small_batches
from tests.support.source_logs.transactions import MadeTransactions, OpenTransaction, make_transactions
from tests.support.source_logs.write import CODECS, Written, write

__all__ = [
    "CODECS",
    "MadeCompacted",
    "MadeTransactions",
    "OpenTransaction",
    "Written",
    "make_append_time",
    "make_big_batches",
    "make_compacted",
    "make_every_codec",
    "make_far_start",
    "make_late_start",
    "make_odd_records",
    "make_small_batches",
    "make_transactions",
    "remove_records",
    "write",
    "write_markers",
]
