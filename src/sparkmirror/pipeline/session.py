"""Starts Spark for the mirror: the user's `spark.*` keys as they are, and what the mirror needs beside them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from sparkmirror.copy.lease import ROW_ATTEMPTS
from sparkmirror.errors import SetupError
from sparkmirror.pipeline.spark_guard import REDACTION, at_launch, hide_values, plan_guards

TASK_FAILURES = ROW_ATTEMPTS
SPARE_SLOTS = 2
MASTER_TIMEOUT_S = 5.0
DEFAULT_MASTER = "local[*]"
GROUPS_POOL = "groups"
# A slot that becomes free goes to the groups' tasks first: they are short, and those of leases are not.
_POOLS = f'<allocations><pool name="{GROUPS_POOL}"><minShare>1</minShare></pool></allocations>'
# An executor whose machine has vanished gets no more tasks after 15 to 20 s; by Spark's defaults after 2 to 3 minutes.
_VANISHED_EXECUTORS = {
    "spark.executor.heartbeatInterval": "3s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "15s",
    "spark.network.timeoutInterval": "5s",
}
_LOCAL = re.compile(r"local(\[(\*|\d+)(,\s*\d+)?\])?")


def plan_master(wanted: str, leases: int) -> str:
    """In local mode: a slot for each lease and for its successor that waits, and failures tolerated."""
    if not _LOCAL.fullmatch(wanted):
        return wanted
    return f"local[{2 * leases + SPARE_SLOTS},{TASK_FAILURES}]"


def is_local(user: Mapping[str, str]) -> bool:
    return bool(_LOCAL.fullmatch(user.get("spark.master", DEFAULT_MASTER)))


# Not imported: it would load the copy into the driver.
DAEMON_MODULE = "sparkmirror.pipeline.daemon"


def plan_settings(user: Mapping[str, str], leases: int, log_dir: Path) -> dict[str, str]:
    """All of Spark's settings. What the user sets wins, but for what exactness needs."""
    master = plan_master(user.get("spark.master", DEFAULT_MASTER), leases)
    defaults = {
        "spark.app.name": "sparkmirror",
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.python.daemon.module": DAEMON_MODULE,
        "spark.driver.memory": "1g",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.ui.retainedExecutions": "50",
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "2000",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": _write_pools(log_dir),
        "spark.driver.extraJavaOptions": _java_options(log_dir),
    }
    if is_local(user):
        defaults |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    else:
        defaults |= {"spark.task.maxFailures": str(TASK_FAILURES)} | _VANISHED_EXECUTORS
    forced = {"spark.master": master, "spark.speculation": "false"}
    return defaults | dict(user) | plan_guards(user, master) | forced


def start_spark(user: Mapping[str, str], leases: int, workspace: Path) -> SparkSession:
    """A session, with Spark's own output in a file instead of on the terminal."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise SetupError("Spark needs Java 17 or later: install a JDK and put java on the PATH, or set JAVA_HOME")
    settings = plan_settings(user, leases, workspace)
    check_master(settings["spark.master"])
    conf, arguments = SparkConf(loadDefaults=False), SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    arguments.setAll(list(at_launch(settings).items()))
    # Planning in the driver's JVM and Python's own client read the interpreter from the environment.
    os.environ["PYSPARK_PYTHON"] = settings["spark.pyspark.python"]
    os.environ["PYSPARK_DRIVER_PYTHON"] = settings["spark.pyspark.driver.python"]
    if is_local(user):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    log_path = workspace / "stderr.log"
    try:
        with log_path.open("wb") as log:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                arguments, {"stderr": log, "stdout": log, "start_new_session": True}
            )
        if machines := gateway.jvm.System.getProperty(REDACTION):  # of spark-defaults.conf
            conf.set(REDACTION, f"{settings[REDACTION]}|{machines}")
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except (Py4JJavaError, PySparkRuntimeError) as error:
        said = hide_values(_cause(error, log_path), settings)
        raise SetupError(f"Spark can't start with spark.master={settings['spark.master']}: {said}") from None


def check_master(master: str) -> None:
    """A standalone master that can't be reached is said at once; Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    failures = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=MASTER_TIMEOUT_S).close()
        except (OSError, ValueError) as error:
            failures.append(f"{address}: {error}")
        else:
            return
    raise SetupError(f"spark.master={master} can't be reached: {'; '.join(failures)}")


def count_slots(spark: SparkSession) -> int:
    """How many tasks can run at once on the executors that are there now; its default parallelism is 2 at least."""
    context = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def desk_host(spark: SparkSession) -> str:
    """The address at which executors reach the driver."""
    return spark.sparkContext.getConf().get("spark.driver.host", "127.0.0.1") or "127.0.0.1"


def desk_bind(spark: SparkSession) -> str:
    """The address at which the driver listens."""
    return spark.sparkContext.getConf().get("spark.driver.bindAddress") or desk_host(spark)


def _write_pools(folder: Path) -> str:
    target = folder / "pools.xml"
    target.write_text(_POOLS)
    return f"file:{target}"


def _java_options(log_dir: Path) -> str:
    """Spark's warnings go to a file of bounded size; nothing of it to the terminal."""
    template = resources.files("sparkmirror.pipeline").joinpath("log4j2.properties").read_text()
    target = log_dir / "log4j2.properties"
    target.write_text(template.replace("@LOG_DIR@", str(log_dir)))
    seldom_sampled = "-XX:PerfDataSamplingInterval=1000"  # of an idle JVM's wake-ups that is the half
    return f"-Dlog4j2.configurationFile=file:{target} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 {seldom_sampled}"


def _cause(error: Exception, log_path: Path) -> str:
    text = str(getattr(error, "java_exception", None) or error)
    if not isinstance(error, Py4JJavaError):
        text = " ".join(log_path.read_text(errors="replace").strip().splitlines()[-3:]) or text
    return text.splitlines()[0]
