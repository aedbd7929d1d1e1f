"""The outside of LZ4 frames: how much they can hold at most, and the checksum that old clients got wrong.

bytes        field
    4        magic 04 22 4D 18
    1        FLG: version (2 bits), block independence, block checksum, content size, content checksum, reserved,
             dictionary id
    1        BD: largest block (bits 4-6): 4 is 64 KiB, 5 is 256 KiB, 6 is 1 MiB, 7 is 4 MiB
  0, 8       content size, if FLG says so
  0, 4       dictionary id, if FLG says so
    1        header checksum: second byte of XXH32 of FLG to here
    4        block size, highest bit: stored as it is; 0 ends the frame
    n        block, then its checksum (4 bytes) if FLG says so
  0, 4       content checksum, if FLG says so
"""

from __future__ import annotations

import struct

from sparkmirror.batch.frames import bound_frames
from sparkmirror.errors import ProtocolError

_MAGIC = 0x184D2204
_U32 = struct.Struct("<I")

_BLOCK_CHECKSUM = 0x10
_CONTENT_SIZE = 0x08
_CONTENT_CHECKSUM = 0x04
_DICTIONARY_ID = 0x01
_STORED = 0x80000000


def bound_content(data: memoryview) -> int:
    """No more bytes than this can come out of these frames."""
    return bound_frames(data, "lz4", _MAGIC, _bound_frame)


def repair_header_checksum(data: memoryview) -> memoryview:
    """A copy whose first frame has the right checksum.

    Clients before 0.10 took it over the magic number too (KAFKA-3160), so brokers don't look at it in format 0.
    """
    try:
        at = _header_end(data, 0) - 1
    except IndexError as error:
        raise ProtocolError("lz4: the data end inside a frame") from error
    repaired = bytearray(data)
    if at >= len(repaired):
        raise ProtocolError("lz4: the data end inside a frame")
    repaired[at] = _xxh32_short(bytes(data[4:at])) >> 8 & 0xFF
    return memoryview(repaired)


def _header_end(data: memoryview, frame: int) -> int:
    flags = data[frame + 4]
    return frame + 7 + (8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY_ID else 0)


def _bound_frame(data: memoryview, frame: int) -> tuple[int, int]:
    """The bound of one frame's content and the position after it."""
    flags, largest = data[frame + 4], 1 << (8 + 2 * (data[frame + 5] >> 4 & 7))
    after_block = 4 if flags & _BLOCK_CHECKSUM else 0
    position, bound = _header_end(data, frame), 0
    while size := _U32.unpack_from(data, position)[0]:
        stored = size & ~_STORED
        bound += stored if size & _STORED else largest
        position += 4 + stored + after_block
    return bound, position + 4 + (4 if flags & _CONTENT_CHECKSUM else 0)


def _xxh32_short(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes, which is all that a frame's header can be."""
    prime1, prime2, prime3, prime4, prime5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    mask = 0xFFFFFFFF

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & mask

    state = prime5 + len(data)
    whole = len(data) // 4 * 4
    for (word,) in _U32.iter_unpack(data[:whole]):
        state = rotate(state + word * prime3 & mask, 17) * prime4 & mask
    for byte in data[whole:]:
        state = rotate(state + byte * prime5 & mask, 11) * prime1 & mask
    state = (state ^ state >> 15) * prime2 & mask
    state = (state ^ state >> 13) * prime3 & mask
    return state ^ state >> 16
