"""What helps where a broker does not answer. Worded here alone: errors end with it, and so does the doctor."""

from __future__ import annotations

import socket


def cure_of(alias: str, error: Exception) -> str:
    """Of a broker of the cluster `alias`, which did not let us in or did not answer."""
    return describe_cure(alias, str(error), is_name_unknown=isinstance(error.__cause__, socket.gaierror))


def describe_cure(alias: str, problem: str, *, is_name_unknown: bool) -> str:
    key = f"{alias}.bootstrap.servers"
    if is_name_unknown:
        return f"correct the name in {key}, or make it known (DNS, /etc/hosts)"
    if "closed the connection" in problem or "did not answer" in problem or "announced" in problem:
        return f"see that {key} names a listener of the kind that security.protocol says, and that the broker is well"
    return f"start the broker, or correct host and port in {key}"
