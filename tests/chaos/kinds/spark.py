"""A Spark cluster's own processes: executors, workers, the master."""

from __future__ import annotations

from tests.chaos.driver import freeze, wake
from tests.chaos.fault import Fault, Kind
from tests.chaos.world import LONGER_S
from tests.support.kafka_client import await_condition
from tests.support.standalone import Standalone

EXECUTORS_S = 90.0


class OfSpark(Fault):
    @property
    def spark(self) -> Standalone:
        assert self.world.spark is not None
        return self.world.spark

    def prepare(self) -> None:
        """A master that has just come back starts none for a while: then this would be the last one."""
        wanted = self.world.shape.executors
        await_condition(lambda: len(self.spark.executors()) == wanted, "the executors", EXECUTORS_S)

    def end(self) -> None:
        if not self.world.driver.is_alive:
            self.world.driver.restart()


class ExecutorKilled(OfSpark):
    def begin(self) -> None:
        self.dice.choice(self.spark.executors()).kill()


class ExecutorFrozen(OfSpark):
    """With the Python workers under it."""

    def begin(self) -> None:
        executor = self.dice.choice(self.spark.executors())
        self._frozen = [executor, *executor.children(recursive=True)]
        freeze(self._frozen)

    def hold(self) -> None:
        self.last(LONGER_S, LONGER_S + 1)

    def end(self) -> None:
        wake(self._frozen)
        super().end()


class SparkWorkerKilled(OfSpark):
    def begin(self) -> None:
        self._number = self.dice.randrange(self.world.shape.executors)
        self.spark.kill_worker(self._number)

    def hold(self) -> None:
        self.last(0, 3)

    def end(self) -> None:
        self.spark.start_worker(self._number)
        super().end()


class MasterGone(OfSpark):
    def begin(self) -> None:
        self.spark.kill_master()

    def hold(self) -> None:
        self.last(2, 5)

    def end(self) -> None:
        self.spark.start_master()
        super().end()


ONLY_SPARK = ("spark",)

KINDS = [
    Kind(name="executor-killed", text="SIGKILL for an executor", make=ExecutorKilled, worlds=ONLY_SPARK),
    Kind(
        name="executor-frozen",
        text="an executor hangs longer than every timeout",
        make=ExecutorFrozen,
        worlds=ONLY_SPARK,
    ),
    Kind(
        name="spark-worker-killed",
        text="SIGKILL for a Spark worker and its executor",
        make=SparkWorkerKilled,
        worlds=ONLY_SPARK,
    ),
    Kind(
        name="spark-master-gone",
        text="SIGKILL for the Spark master, then it is started",
        make=MasterGone,
        worlds=ONLY_SPARK,
    ),
]
