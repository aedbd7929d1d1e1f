"""Does what a printed cure says. Commands run as they are printed; what is said in words an operator's hands do here.

A command of Kafka's goes to the brokers by the listener of their administrator, who may do all; every other word of it
is the printed one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from sparkmirror.config.jaas import parse_jaas
from sparkmirror.config.properties import parse_properties
from tests.chaos.side import SOURCE, TARGET, Side, await_true
from tests.support.command import run_command
from tests.support.console_tools import run_tool
from tests.truth.world import ALIASES, World

if TYPE_CHECKING:
    from tests.truth.trouble import Trouble

TOOLS = {"kafka-acls.sh": "kafka.admin.AclCommand", "kafka-configs.sh": "kafka.admin.ConfigCommand"}
SERVERS = "--bootstrap-server"
OURS = re.compile(r"sparkmirror (accept|remirror)\b")


class Hands:
    def __init__(self, world: World) -> None:
        self._world = world

    def carry_out(self, cure: str, trouble: Trouble, said: str) -> None:
        """`said`: all that was printed, for what the cure is about."""
        if cure.partition(" ")[0] in TOOLS:
            self._run_tool(cure)
        elif found := OURS.match(cure):
            self._run_ours(found[1], trouble)
        else:
            by_hand = getattr(trouble, "by_hand", None) or self._find_words(cure)
            by_hand(self._world, said)

    def _run_tool(self, cure: str) -> None:
        tool, *words = shlex.split(cure)
        at = words.index(SERVERS) + 1
        words[at] = self._side_at(words[at]).servers
        run_tool(TOOLS[tool], *words)

    def _side_at(self, servers: str) -> Side:
        return next(side for side in self._world.sides.values() if side.for_mirror == servers)

    def _run_ours(self, word: str, trouble: Trouble) -> None:
        topic, partition = trouble.place
        where = topic if word == "remirror" or trouble.is_whole_topic else f"{topic}:{partition}"
        done = run_command(word, str(self._world.file), where, "--yes", deadline_s=90)
        assert done.returncode == 0, f"sparkmirror {word} {where}: {done.stdout}{done.stderr}"

    def _find_words(self, cure: str) -> Callable[[World, str], None]:
        return next(hand for words, hand in WORDS.items() if re.match(words, cure))


def start_broker(world: World, said: str) -> None:
    """Of the cluster that does not answer: whatever listens at its address listens again."""
    side = side_of(world, said)
    for broker, proxy in zip(side.brokers, side.proxies, strict=True):
        if broker.running:
            broker.resume()
        broker.start()
        broker.wait_ready()
        proxy.heal()
    await_true(lambda: all(-1 not in found.values() for found in side.leaders().values()), "leaders of all partitions")


def know_user(world: World, said: str) -> None:
    """The brokers are given the login that stands in the mirror's file."""
    side = side_of(world, said)
    alias = next(ALIASES[name] for name, each in world.sides.items() if each is side)
    login = login_in_file(world, alias)
    for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        known = UserScramCredentialUpsertion(
            login["username"], ScramCredentialInfo(kind, 4096), login["password"].encode(), b"salt"
        )
        side.admin.alter_user_scram_credentials([known])[login["username"]].result(30)


def login_in_file(world: World, alias: str) -> dict[str, str]:
    lines = parse_properties(world.file.read_text(), world.file.name)
    text = next(line.value for line in lines if line.key == f"{alias}.sasl.jaas.config")
    return dict(parse_jaas(text).options)


def set_in_file(world: World, said: str) -> None:
    """`KEY is 3, but ...: set it to 1`."""
    found = re.search(r"([\w.]+) is (\d+), but [^;]*?: set it to (\d+)", said)
    assert found, said
    text = world.file.read_text()
    assert f"{found[1]} = {found[2]}\n" in text
    world.file.write_text(text.replace(f"{found[1]} = {found[2]}\n", f"{found[1]} = {found[3]}\n"))
    world.stop()
    world.start()


def side_of(world: World, said: str) -> Side:
    """That of which something is said: by its alias, or by a broker's address."""
    for name in (SOURCE, TARGET):
        side = world.sides[name]
        if re.search(rf"\bcluster {ALIASES[name]}\b|{re.escape(side.for_mirror)}", said):
            return side
    raise AssertionError(f"no cluster is named: {said}")


WORDS: dict[str, Callable[[World, str], None]] = {
    r"start the broker": start_broker,
    r"see that .*the broker is well": start_broker,
    r"check username and password": know_user,
    r"set it to": set_in_file,
}
