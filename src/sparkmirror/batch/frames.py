"""A walk over compressed frames, LZ4's and Zstandard's alike: both may have skippable frames between the others."""

from __future__ import annotations

import struct
from collections.abc import Callable

from sparkmirror.errors import ProtocolError

_SKIPPABLE = 0x184D2A50  # to ...5F
_U32 = struct.Struct("<I")


def bound_frames(
    data: memoryview, codec: str, magic: int, bound_frame: Callable[[memoryview, int], tuple[int, int]]
) -> int:
    """No more bytes than this can come out of these frames.

    `bound_frame` answers for the frame at a position: the bound of its content, and the position after it.
    """
    position = bound = 0
    try:
        while position < len(data):
            found = _U32.unpack_from(data, position)[0]
            if found & ~0xF == _SKIPPABLE:
                position += 8 + _U32.unpack_from(data, position + 4)[0]
                continue
            if found != magic:
                raise ProtocolError(f"{codec}: no frame begins at byte {position}")
            content, position = bound_frame(data, position)
            bound += content
    except (struct.error, IndexError) as error:
        raise ProtocolError(f"{codec}: the data end inside a frame") from error
    return bound
