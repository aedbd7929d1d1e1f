"""Two clusters, a mirror between them, traffic and a comparison: reused from fault to fault.

traffic --PLAINTEXT--> source --MIRROR, proxies--> mirror --MIRROR, proxies--> target
                         |                                                       |
                         +----------PLAINTEXT----> comparison <----PLAINTEXT-----+
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster, start_clusters
from tests.chaos.compare import Comparison
from tests.chaos.disk import small_disk
from tests.chaos.driver import Driver
from tests.chaos.guard import MIRROR, add_user, certificate_login, grant_everything, password_login
from tests.chaos.proxy import ProxyLoop
from tests.chaos.side import SOURCE, TARGET, Side
from tests.chaos.traffic import Traffic
from tests.support.mirror_process import properties
from tests.support.sasl import file_settings
from tests.support.standalone import ON_LOOPBACK, Standalone

LEASE_S = 2
REQUEST_S = 3.0  # every timeout of the mirror's clients
LONGER_S = 8.0  # longer than each of its timeouts, and than the three leases after which another driver takes over
START_S = 240.0
WARM_OFFSETS = 20  # of each partition for each broker: those that have just started are slow
CALM_S, CALM_LOOKS = 1.0, 3


@dataclass(frozen=True)
class Shape:
    """`executors`: on a Spark cluster of processes; 0: Spark runs within the driver."""

    name: str
    source_brokers: int = 1
    target_brokers: int = 1
    executors: int = 0

    def brokers(self, side: str) -> int:
        return self.source_brokers if side == SOURCE else self.target_brokers


SHAPES = {shape.name: shape for shape in (Shape("one"), Shape("three", 3, 3), Shape("spark", executors=2))}

OF_BROKERS = {
    **QUICK_FAILOVER,
    "producer.id.expiration.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "2000",
    "log.cleaner.min.cleanable.ratio": "0.05",
    "controlled.shutdown.enable": "true",
}
OF_MIRROR = {
    "tasks.max": "3",
    "tasks.min": "2",  # so their number changes
    "lease.seconds": str(LEASE_S),
    "refresh.topics.interval.seconds": "1",
    "sync.topic.acls.enabled": "false",
    **{
        f"{client}.{key}": str(int(1000 * REQUEST_S))
        for client in ("A.consumer", "B.producer", "A.admin", "B.admin")
        for key in ("request.timeout.ms", "socket.connection.setup.timeout.ms")
    },
}


REPLICATED = (
    "",
    "offset.storage.",
    "status.storage.",
    "heartbeats.topic.",
    "checkpoints.topic.",
)


@dataclass
class World:
    shape: Shape
    folder: Path
    source: Side
    target: Side
    traffic: Traffic
    comparison: Comparison
    drivers: list[Driver]
    spark: Standalone | None
    text: str

    @property
    def driver(self) -> Driver:
        """The one that a fault is for."""
        return self.drivers[0]

    def side(self, name: str) -> Side:
        return self.source if name == SOURCE else self.target

    def workers(self) -> list[psutil.Process]:
        """The driver's Python workers that are connected to a broker: those that copy."""
        ports = self.source.ports_of_mirror.keys() | self.target.ports_of_mirror.keys()
        return self.driver.workers(ports)

    def start_driver(self, environment: Mapping[str, str] | None = None) -> Driver:
        driver = Driver(self.text, environment)
        driver.start()
        self.drivers.append(driver)
        return driver

    def dismiss(self, driver: Driver) -> None:
        """A driver that is not needed any more, dead or alive."""
        self.drivers.remove(driver)
        driver.kill()

    def dismiss_all(self) -> None:
        for driver in list(self.drivers):
            self.dismiss(driver)

    def log(self) -> str:
        return "\n".join(driver.log() for driver in self.drivers)

    def await_start(self) -> None:
        try:
            self.comparison.await_traffic(WARM_OFFSETS * self.shape.target_brokers)
            self._await_calm()
        except AssertionError as error:
            raise AssertionError(f"the mirror has not begun: {error}\n{self.log()[-6000:]}") from error

    def _await_calm(self) -> None:
        """Until records are copied as they come: what brokers leave behind that have just begun is no fault's doing."""
        took = [self.await_copying()]
        while max(took[-CALM_LOOKS:]) > CALM_S or len(took) < CALM_LOOKS:
            took.append(self.await_copying())

    def await_copying(self, deadline_s: float = START_S) -> float:
        """Until what the source holds now is copied; how long it took."""
        self.comparison.note_ends()
        return self.comparison.await_copied(deadline_s)


@contextlib.contextmanager
def build_world(shape: Shape, *, disks: bool = False) -> Iterator[World]:
    """`disks`: each cluster has one of its own that can be filled, where this machine allows it."""
    folder = Path(tempfile.mkdtemp(prefix="sparkmirror-chaos-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        logins = {SOURCE: password_login(), TARGET: certificate_login(folder)}
        clusters = {
            name: KafkaCluster(
                shape.brokers(name),
                name=name,
                directory=stack.enter_context(small_disk(folder / name, shape.brokers(name)))
                if disks
                else folder / name,
                heap_mb=256,
                listeners={MIRROR: login.protocol},
                proxied=(MIRROR,),
                overrides=OF_BROKERS | login.of_brokers,
            )
            for name, login in logins.items()
        }
        start_clusters(*clusters.values())
        for cluster in clusters.values():
            stack.callback(cluster.stop, 0.5)
        loop = ProxyLoop()
        stack.callback(loop.close)
        sides = [Side(name, cluster, logins[name], loop) for name, cluster in clusters.items()]
        source, target = sides
        for side in sides:
            for proxy in side.proxies:
                stack.callback(proxy.close)
            grant_everything(side.admin, side.login.principal)
            side.prepare_probe()
        add_user(source.cluster)
        spark = stack.enter_context(_standalone(shape, folder)) if shape.executors else None
        traffic = Traffic(source)
        world = World(
            shape,
            folder,
            source,
            target,
            traffic,
            Comparison(source, target),
            [],
            spark,
            _text(source, target, spark),
        )
        stack.callback(world.dismiss_all)
        world.start_driver()
        traffic.start()
        stack.callback(traffic.stop)
        world.await_start()
        yield world


def _text(source: Side, target: Side, spark: Standalone | None) -> str:
    extra = OF_MIRROR | {f"{topic}replication.factor": f"{target.size}" for topic in REPLICATED}
    extra |= {"offset-syncs.topic.replication.factor": f"{source.size}"}
    extra |= file_settings("A", source.login.of_mirror) | file_settings("B", target.login.of_mirror)
    if spark is not None:
        extra |= {"spark.master": spark.url, **ON_LOOPBACK, "spark.worker.timeout": "5"}
    return properties(source.for_mirror, target.for_mirror, "load-.*, own-.*", extra)


@contextlib.contextmanager
def _standalone(shape: Shape, folder: Path) -> Iterator[Standalone]:
    (folder / "spark").mkdir()
    spark = Standalone(folder / "spark")
    try:
        spark.start(shape.executors, cores=2)
        yield spark
    finally:
        spark.stop()
