"""Breaks valid bytes the way that finds mistakes in readers: lengths at their extremes above all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Mutation = Callable[[bytearray, Sequence[bytes], random.Random], None]

_EXTREMES = [
    value.to_bytes(width, "big", signed=True)
    for width in (1, 2, 4, 8)
    for value in (0, 1, -1, 2 ** (8 * width - 1) - 1, -(2 ** (8 * width - 1)), 127, -2)
]
_VARINTS = [
    b"\x01",  # -1
    b"\x03",  # -2
    b"\xfe\xff\xff\xff\x0f",  # 2^31 - 1
    b"\xff\xff\xff\xff\x0f",  # -2^31
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # -2^63
    b"\x80" * 5,
    b"\x80" * 10,
    b"\x80" * 11,
    b"\x80\x80\x00",
]
_LITTLE = [extreme[::-1] for extreme in _EXTREMES if len(extreme) > 1]


def mutate(inputs: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the inputs with a few things wrong; now and then something else entirely."""
    if rng.random() < 0.02:
        return rng.randbytes(rng.randrange(200))
    data = bytearray(rng.choice(inputs))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        rng.choice(_MUTATIONS)(data, inputs, rng)
    return bytes(data)


def _flip_bit(data: bytearray, _inputs: Sequence[bytes], rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set_byte(data: bytearray, _inputs: Sequence[bytes], rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _truncate(data: bytearray, _inputs: Sequence[bytes], rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _overwrite_with_extreme(data: bytearray, _inputs: Sequence[bytes], rng: random.Random) -> None:
    extreme = rng.choice(rng.choice((_EXTREMES, _LITTLE)))
    at = rng.randrange(len(data) + 1)
    data[at : at + len(extreme)] = extreme


def _insert_varint(data: bytearray, _inputs: Sequence[bytes], rng: random.Random) -> None:
    """In place of a byte, which may have been a length or a delta."""
    at = rng.randrange(len(data) + 1)
    data[at : at + 1] = rng.choice(_VARINTS)


def _delete_range(data: bytearray, _inputs: Sequence[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.randrange(1, 20)]


def _repeat_range(data: bytearray, _inputs: Sequence[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = data[at : at + rng.randrange(1, 100)]


def _splice(data: bytearray, inputs: Sequence[bytes], rng: random.Random) -> None:
    other = rng.choice(inputs)
    data[rng.randrange(len(data) + 1) :] = other[rng.randrange(len(other) + 1) :]


_MUTATIONS: list[Mutation] = [
    _flip_bit,
    _set_byte,
    _truncate,
    _overwrite_with_extreme,
    _overwrite_with_extreme,
    _insert_varint,
    _delete_range,
    _repeat_range,
    _splice,
]
