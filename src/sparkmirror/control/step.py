"""What the driver asks of its clusters in one go has a deadline: what comes next must not wait for it without end."""

from __future__ import annotations

from contextlib import AbstractContextManager

from sparkmirror.config.model import FlowConfig
from sparkmirror.net.deadline import deadline

KEY = "admin.timeout.ms"


def admin_step(flow: FlowConfig) -> AbstractContextManager[None]:
    return deadline(flow.limits.admin_timeout_ms / 1000, KEY)
