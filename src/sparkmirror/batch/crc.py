"""CRC-32C inside kernels: of many small batches at once, where a call a batch would cost more than its bytes.

By the processor's own instruction where it has one (SSE 4.2), else by eight tables, eight bytes a step. What it answers
takes three steps, so three blocks are computed side by side and joined: what `_BLOCK` zeros make of a CRC is found in
four tables.

    | block a | block b | block c |      crc = shift(shift(a) ^ b) ^ c
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from sparkmirror.batch.kernel import Bytes, kernel

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_BLOCK = 1024
Tables = NDArray[np.uint32]


def _make_tables() -> Tables:
    tables = np.zeros((8, 256), np.uint32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_POLYNOMIAL if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, 8):
        tables[k] = (tables[k - 1] >> np.uint32(8)) ^ tables[0, tables[k - 1] & np.uint32(0xFF)]
    return tables


def _make_shifts(zeros: int) -> Tables:
    """What so many zero bytes make of each byte of a CRC: the sum (XOR) over its four bytes is that of all of it."""
    shifts = np.zeros((4, 256), np.uint32)
    for place in range(4):
        crcs = np.arange(256, dtype=np.uint32) << np.uint32(8 * place)
        for _ in range(zeros):
            crcs = (crcs >> np.uint32(8)) ^ _TABLES[0, crcs & np.uint32(0xFF)]
        shifts[place] = crcs
    return shifts


_TABLES = _make_tables()
_SHIFTS = _make_shifts(_BLOCK)
_settings: Any = config
# Code that numba was told to make for another processor than this one gets by without the instruction.
HAS_INSTRUCTION = bool(
    binding.get_process_triple().startswith("x86_64")
    and binding.get_host_cpu_features().get("sse4.2")
    and not (_settings.CPU_NAME or _settings.CPU_FEATURES)
)


def _crc_step(_context: Any, crc: Any, data: Any, at: Any) -> Any:
    """Typed for numba; the code is the instruction over eight bytes of the array, which must be there."""

    def generate(_context: Any, builder: Any, made: Any, arguments: Any) -> Any:
        before, source, place = arguments
        array = _context.make_array(made.args[1])(_context, builder, source)
        wide = ir.IntType(64)
        pointer = builder.bitcast(builder.gep(array.data, [place]), wide.as_pointer())
        word = builder.load(pointer)
        word.align = 1
        function = builder.module.declare_intrinsic("llvm.x86.sse42.crc32.64.64", (), ir.FunctionType(wide, [wide] * 2))
        return builder.call(function, [before, word])

    return types.uint64(types.uint64, data, types.intp), generate


_step: Any = intrinsic(_crc_step)


@kernel
def _shift(value: np.uint64) -> np.uint64:
    return np.uint64(
        _SHIFTS[0, value & np.uint64(0xFF)]
        ^ _SHIFTS[1, (value >> np.uint64(8)) & np.uint64(0xFF)]
        ^ _SHIFTS[2, (value >> np.uint64(16)) & np.uint64(0xFF)]
        ^ _SHIFTS[3, (value >> np.uint64(24)) & np.uint64(0xFF)]
    )


@kernel
def _by_instruction(data: Bytes, start: int, end: int) -> int:
    crc = np.uint64(0xFFFFFFFF)
    at = start
    while at + 3 * _BLOCK <= end:
        second, third = np.uint64(0), np.uint64(0)
        for here in range(at, at + _BLOCK, 8):
            crc = _step(crc, data, here)
            second = _step(second, data, here + _BLOCK)
            third = _step(third, data, here + 2 * _BLOCK)
        crc = _shift(_shift(crc) ^ second) ^ third
        at += 3 * _BLOCK
    while at + 8 <= end:
        crc = _step(crc, data, at)
        at += 8
    small = np.uint32(crc)
    while at < end:
        small = (small >> np.uint32(8)) ^ _TABLES[0, (small ^ np.uint32(data[at])) & np.uint32(0xFF)]
        at += 1
    return int(np.int64(small ^ np.uint32(0xFFFFFFFF)))


@kernel
def _by_tables(data: Bytes, start: int, end: int) -> int:
    crc = np.uint32(0xFFFFFFFF)
    at = start
    while at + 8 <= end:
        a = crc ^ (
            np.uint32(data[at])
            | np.uint32(data[at + 1]) << np.uint32(8)
            | np.uint32(data[at + 2]) << np.uint32(16)
            | np.uint32(data[at + 3]) << np.uint32(24)
        )
        crc = (
            _TABLES[7, a & np.uint32(0xFF)]
            ^ _TABLES[6, (a >> np.uint32(8)) & np.uint32(0xFF)]
            ^ _TABLES[5, (a >> np.uint32(16)) & np.uint32(0xFF)]
            ^ _TABLES[4, a >> np.uint32(24)]
            ^ _TABLES[3, data[at + 4]]
            ^ _TABLES[2, data[at + 5]]
            ^ _TABLES[1, data[at + 6]]
            ^ _TABLES[0, data[at + 7]]
        )
        at += 8
    while at < end:
        crc = (crc >> np.uint32(8)) ^ _TABLES[0, (crc ^ np.uint32(data[at])) & np.uint32(0xFF)]
        at += 1
    return int(np.int64(crc ^ np.uint32(0xFFFFFFFF)))


_fastest = _by_instruction if HAS_INSTRUCTION else _by_tables


@kernel
def crc32c_of(data: Bytes, start: int, end: int) -> int:
    """CRC-32C of `data[start:end]`, checked since memory is at stake."""
    if start < 0 or start > end or end > len(data):
        raise IndexError("a checksum outside of its array")
    return _fastest(data, start, end)
