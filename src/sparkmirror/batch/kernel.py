"""What compiled functions over bytes share: how they are compiled, and copies and comparisons at the speed of memory.

Code that was compiled is kept on disk, with all that it calls and each constant that it names compiled into it. numba
would use it again as long as the file of the function itself has not changed; here all files of kernels must be as they
were.

numba turns a slice assignment into a loop of a byte a step; a call of memcpy is ten times as fast for 100 bytes. A
comparison that ends at the first difference is such a loop, too.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

PACKAGE = Path(__file__).parent.parent
SOURCES = ("batch/*.py", "copy/lane/*.py", "copy/pace.py", "copy/queue.py", "protocol/*.py", "verify/*.py")

Bytes = npt.NDArray[np.uint8]
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiled at its first call, then kept on disk; other threads run meanwhile."""
    compiled: Any = njit(nogil=True)(function)
    # It fails if there is no folder: neither beside the source, nor in the user's cache, nor in NUMBA_CACHE_DIR; and
    # with NUMBA_DISABLE_JIT, where nothing is compiled.
    with contextlib.suppress(RuntimeError, AttributeError):
        compiled.enable_caching()
        compiled._cache._cache_file._source_stamp = _digest()
    return cast(Function, compiled)


@functools.cache
def _digest() -> str:
    found = hashlib.blake2b()
    for path in sorted(path for pattern in SOURCES for path in PACKAGE.glob(pattern)):
        source = path.read_bytes()
        found.update(b"%s %d " % (str(path.relative_to(PACKAGE)).encode(), len(source)) + source)
    return found.hexdigest()


def _memcpy(_context: Any, out: Any, at: Any, data: Any, begin: Any, size: Any) -> Any:
    """Typed for numba; the code is LLVM's own memcpy between the arrays' memory."""
    signature = types.void(out, types.intp, data, types.intp, types.intp)

    def generate(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
        to, to_at, source, source_at, count = arguments
        to_array = context.make_array(made.args[0])(context, builder, to)
        source_array = context.make_array(made.args[2])(context, builder, source)
        memcpy: Any = cgutils.raw_memcpy
        memcpy(builder, builder.gep(to_array.data, [to_at]), builder.gep(source_array.data, [source_at]), count, 1)
        return context.get_dummy_value()

    return signature, generate


_raw_copy: Any = intrinsic(_memcpy)


@kernel
def copy_bytes(out: Bytes, at: int, data: Bytes, begin: int, size: int) -> None:
    """`out[at : at + size] = data[begin : begin + size]`, checked again since memory is at stake."""
    if size < 0 or begin < 0 or at < 0 or begin + size > len(data) or at + size > len(out):
        raise IndexError("a copy outside of its arrays")
    _raw_copy(out, at, data, begin, size)


def _memcmp(_context: Any, left: Any, at: Any, right: Any, begin: Any, size: Any) -> Any:
    """Typed for numba; the code calls the C library's memcmp."""
    signature = types.int32(left, types.intp, right, types.intp, types.intp)

    def generate(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
        here, here_at, there, there_at, count = arguments
        here_array = context.make_array(made.args[0])(context, builder, here)
        there_array = context.make_array(made.args[2])(context, builder, there)
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [byte, byte, ir.IntType(64)])
        find: Any = cgutils.get_or_insert_function
        places = [builder.gep(here_array.data, [here_at]), builder.gep(there_array.data, [there_at])]
        return builder.call(find(builder.module, kind, "memcmp"), [*places, count])

    return signature, generate


_raw_compare: Any = intrinsic(_memcmp)


@kernel
def same_bytes(left: Bytes, at: int, right: Bytes, begin: int, size: int) -> bool:
    """Whether `left[at : at + size]` is `right[begin : begin + size]`; both must be there."""
    if size < 0 or begin < 0 or at < 0 or begin + size > len(right) or at + size > len(left):
        raise IndexError("a comparison outside of its arrays")
    return bool(_raw_compare(left, at, right, begin, size) == 0)
