"""All that is fuzzed. A new reader of bytes from outside belongs into one of these lists."""

from __future__ import annotations

from tests.fuzz import (
    batch_targets,
    config_targets,
    group_targets,
    internal_targets,
    login_targets,
    name_targets,
    protocol_targets,
    response_targets,
    store_targets,
)

TARGETS = {
    target.name: target
    for target in (
        *batch_targets.TARGETS,
        *protocol_targets.TARGETS,
        *response_targets.TARGETS,
        *group_targets.TARGETS,
        *config_targets.TARGETS,
        *internal_targets.TARGETS,
        *store_targets.TARGETS,
        *login_targets.TARGETS,
        *name_targets.TARGETS,
    )
}
