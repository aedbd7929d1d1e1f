"""Who gives an order, for those who read it later."""

from __future__ import annotations

import getpass
import platform


def who() -> str:
    """As user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = "somebody"
    return f"{user}@{platform.node()}"
