"""Spark's Python daemon where flows take the record way: what their tasks use is loaded before workers are forked."""

from __future__ import annotations

from sparkmirror.batch import columns, warm
from sparkmirror.pipeline.daemon import serve
from sparkmirror.pipeline.record_rows import read_rows as _read_rows  # noqa: F401 - loaded for the workers
from sparkmirror.pipeline.write_stage import write_stage as _write_stage  # noqa: F401

if __name__ == "__main__":
    warm.warm_up()
    columns.warm_up()
    serve()
