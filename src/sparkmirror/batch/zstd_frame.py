"""The outside of Zstandard frames (RFC 8878): how much they can hold at most.

bytes        field
    4        magic 28 B5 2F FD
    1        descriptor: content size's width (2 bits), single segment, unused, reserved, checksum,
             dictionary id's width (2 bits)
  0, 1       window size, unless single segment
  0, 1, 2, 4 dictionary id
  0, 1, 2, 4, 8 content size; neither Java nor librdkafka writes it
    3        block header: last block, type (0 stored, 1 one byte repeated, 2 compressed), size
    n        block
  0, 4       checksum, if the descriptor says so
"""

from __future__ import annotations

from sparkmirror.batch.frames import bound_frames

_MAGIC = 0xFD2FB528
_LARGEST_BLOCK = 128 << 10
_STORED, _REPEATED, _COMPRESSED = range(3)


def bound_content(data: memoryview) -> int:
    """No more bytes than this can come out of these frames."""
    return bound_frames(data, "zstd", _MAGIC, _bound_frame)


def _bound_frame(data: memoryview, frame: int) -> tuple[int, int]:
    """The bound of one frame's content and the position after it."""
    descriptor = data[frame + 4]
    single_segment = descriptor >> 5 & 1
    dictionary_bytes = (0, 1, 2, 4)[descriptor & 3]
    size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
    size_at = frame + 6 - single_segment + dictionary_bytes
    bound, position = _bound_blocks(data, size_at + size_bytes)
    if size_bytes:
        said = int.from_bytes(data[size_at : size_at + size_bytes], "little")
        bound = min(bound, said + 256 if size_bytes == 2 else said)
    return bound, position + (4 if descriptor & 4 else 0)


def _bound_blocks(data: memoryview, position: int) -> tuple[int, int]:
    bound = last = 0
    while not last:
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        bound += _LARGEST_BLOCK if kind == _COMPRESSED else size
        position += 3 + (1 if kind == _REPEATED else size)
    return bound, position
