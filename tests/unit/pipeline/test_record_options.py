"""Options that are wrong say what to do; those that are right mean what they do in Spark's Kafka source."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

from sparkmirror.copy.lease import Lease, LeasePartition
from sparkmirror.errors import ConfigError, MirrorError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.pipeline.read_plan import from_json, plan_ends, to_json
from sparkmirror.pipeline.record_options import SinkOptions, parse_sink, parse_source
from sparkmirror.pipeline.record_rows import ROWS
from sparkmirror.pipeline.record_sink import check_schema, check_spread
from sparkmirror.pipeline.records_flow import read_options
from sparkmirror.topology.standing import Standing

BROKERS = {"kafka.bootstrap.servers": "a:9092,b:9092"}


def test_the_kafka_sources_names_are_understood_in_any_case() -> None:
    found = parse_source(
        BROKERS | {"SUBSCRIBE": "t,u", "startingoffsets": "earliest", "kafka.isolation.level": "read_uncommitted"},
        streaming=True,
    )
    assert (found.topics, found.starting, found.isolation) == (("t", "u"), "earliest", 0)
    assert found.address.bootstrap == ("a:9092", "b:9092")
    assert (parse_source(BROKERS | {"subscribe": "t"}, streaming=True).starting) == "latest"
    assert (parse_source(BROKERS | {"subscribe": "t"}, streaming=False).starting) == "earliest"


def test_tls_and_sasl_have_kafkas_names() -> None:
    given = {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.password": "s3cret", "subscribe": "t"}
    found = parse_source(BROKERS | given, streaming=True)
    assert found.address.client.security.protocol == "SSL"
    assert found.address.client.security.get("ssl.truststore.password") == "s3cret"
    assert "s3cret" not in repr(found)
    with pytest.raises(ConfigError, match=r"security\.protocol: expected one of PLAINTEXT, SSL"):
        parse_source(BROKERS | given | {"kafka.security.protocol": "TLS"}, streaming=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": "t"}, "set kafka.bootstrap.servers"),
        (BROKERS, "Set one of subscribe"),
        (BROKERS | {"subscribe": "t", "assign": "{}"}, "subscribe and assign are set"),
        (BROKERS | {"subscribe": "t", "startingOffset": "earliest"}, "did you mean startingOffsets?"),
        (BROKERS | {"subscribe": "t", "startingOffsets": "soon"}, "expected earliest, latest or offsets"),
        (BROKERS | {"subscribePattern": "t("}, "subscribePattern"),
        (BROKERS | {"subscribe": "t", "maxOffsetsPerTrigger": "1", "maxBytesPerTrigger": "1"}, "choose one"),
        (BROKERS | {"subscribe": "t", "endingOffsets": "latest"}, "a stream has no end"),
    ],
)
def test_what_is_wrong_with_a_source_is_said(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_source(options, streaming=True)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (BROKERS, "set name"),
        (BROKERS | {"name": "a b"}, "letters, digits"),
        (BROKERS | {"name": "n", "topic": "t"}, "unknown option topic"),
        (BROKERS | {"name": "n", "compression.type": "brotli"}, "expected one of none"),
    ],
)
def test_what_is_wrong_with_a_sink_is_said(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_sink(options)
    assert said in str(caught.value)


def test_columns_of_a_sink_are_checked_by_name_and_type() -> None:
    topic, partition = StructField("topic", StringType()), StructField("partition", IntegerType())
    value, key = StructField("value", BinaryType()), StructField("key", StringType())
    plain = parse_sink(BROKERS | {"name": "n"})
    check_schema(StructType([topic, partition, value, key]), plain)
    preserving: SinkOptions = parse_sink(BROKERS | {"name": "n", "offsets.preserve": "true"})
    check_schema(StructType([topic, partition, value, StructField("offset", LongType())]), preserving)
    for fields, options, said in (
        ([topic, value], plain, "there is no partition"),
        ([topic, partition, value], preserving, "there is no offset"),
        ([topic, partition, value, StructField("timestamp", TimestampType())], plain, "cast it"),
        ([topic, partition, value, StructField("extra", StringType())], plain, "leave it out"),
    ):
        with pytest.raises(ConfigError, match=said):
            check_schema(StructType(fields), options)


def test_rows_of_one_partition_from_two_tasks_are_named() -> None:
    check_spread([(("t", 0), ("t", 1)), (("t", 2),), ()])
    with pytest.raises(MirrorError, match=r"t-1 came from two tasks.*repartition"):
        check_spread([(("t", 0), ("t", 1)), (("t", 1),)])


def test_rows_have_the_schema_that_spark_derives() -> None:
    from pyspark.sql.types import ArrayType

    headers = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
    kinds = [StringType(), IntegerType(), LongType(), LongType(), IntegerType(), BinaryType(), BinaryType(), headers]
    declared = StructType([StructField(name, kind) for name, kind in zip(ROWS.names, kinds, strict=True)])
    assert to_arrow_schema(declared, timezone="UTC").equals(ROWS)


def test_a_limit_is_shared_by_lag_and_each_partition_moves() -> None:
    begins, latest = {("t", 0): 0, ("t", 1): 50, ("t", 2): 7}, {("t", 0): 900, ("t", 1): 150, ("t", 2): 8}
    assert plan_ends(begins, latest, None) == latest
    assert plan_ends(begins, latest, 5000) == latest
    assert plan_ends(begins, latest, 100) == {("t", 0): 89, ("t", 1): 59, ("t", 2): 8}


def test_a_partition_that_is_gone_or_cut_back_stays() -> None:
    assert plan_ends({("t", 0): 9, ("t", 1): 5}, {("t", 1): 3}, None) == {("t", 0): 9, ("t", 1): 5}


def test_offsets_are_written_as_the_kafka_source_writes_them() -> None:
    assert to_json({("t", 1): 5, ("t", 0): 3}) == {"t": {"0": 3, "1": 5}}
    assert from_json({"t": {"0": 3}}) == {("t", 0): 3}


def test_a_flow_reads_from_where_its_partitions_stand() -> None:
    address = ClusterAddress(alias="A", bootstrap=("a:9092",))
    lease = Lease(
        lease_id="0",
        flow="A->B",
        source=address,
        target=address,
        producer_id=1,
        fence=0,
        seconds=1,
        partitions=(
            LeasePartition(topic="t", partition=0, remote="A.t", hint=Standing(42)),
            LeasePartition(topic="t", partition=1, remote="A.t"),
        ),
    )
    found = parse_source(read_options(lease), streaming=True)
    assert (found.assigned, found.starting) == ({"t": [0, 1]}, {"t": {"0": 42, "1": -2}})
    assert found.with_notes and found.max_bytes
