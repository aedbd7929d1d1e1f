"""Records arrive as they were: every field, every codec, the same offsets. Read by an independent consumer."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import assert_same, create_topic, produce, read_all
from tests.support.mirror_process import MirrorProcess, properties

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SEED = random.randrange(1 << 32)
FOR_EVER = {"retention.ms": "-1"}  # some records are years old


def odd_records(count: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """Null and empty keys and values, duplicate and null headers, old and new timestamps, sizes up to 1 MB."""
    dice = random.Random(seed)
    for i in range(count):
        size = dice.choice((0, 1, 10, 100, 1000, 20_000))
        yield {
            "key": dice.choice((None, b"", b"key", os.urandom(8))),
            "value": None if i % 17 == 0 else dice.randbytes(size),
            "headers": dice.choice(([], [("a", b"1"), ("a", None), ("", b"")], [("trace", dice.randbytes(16))])),
            "timestamp": 1_700_000_000_000 + dice.randrange(10**9),
            "partition": dice.randrange(2),
        }


@pytest.mark.timeout(240)
def test_every_field_and_codec_arrives_as_it_was(pair: Pair, topic: str) -> None:
    print(f"seed {SEED}")
    names = [f"{topic}-{codec}" for codec in CODECS]
    for codec, name in zip(CODECS, names, strict=True):
        create_topic(pair.source, name, 3, config={"max.message.bytes": "4194304"} | FOR_EVER)
        produce(pair.source, name, odd_records(2_000, SEED), compression_type=codec)
        big = [{"value": random.Random(SEED).randbytes(1_000_000), "key": b"big", "partition": 0}]
        produce(pair.source, name, big, compression_type=codec, message_max_bytes=4_000_000)
    with MirrorProcess(properties(pair.source, pair.target, f"{topic}-.*"), "--once") as mirror:
        assert mirror.wait(120) == 0, mirror.log()
    for name in names:
        assert_same(read_all(pair.source, name), read_all(pair.target, f"A.{name}"))


@pytest.mark.timeout(180)
def test_once_copies_only_what_is_new_and_can_be_repeated(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 2, config=FOR_EVER)
    text = properties(pair.source, pair.target, topic)
    for _ in range(2):
        produce(pair.source, topic, odd_records(500, SEED) if _ else [])
        with MirrorProcess(text, "--once") as mirror:
            assert mirror.wait(90) == 0, mirror.log()
        assert_same(read_all(pair.source, topic), read_all(pair.target, f"A.{topic}"))
