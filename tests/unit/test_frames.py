"""A buffer is used again when nobody looks at it any more, and never before."""

from __future__ import annotations

from sparkmirror.net.frames import MOST_BUFFERS, SMALL_BYTES, FramePool

LARGE = 4 * SMALL_BYTES


def test_a_buffer_that_is_still_seen_is_not_given_again() -> None:
    pool = FramePool()
    first = pool.take(LARGE)
    part = first[100:200]
    del first
    part[:] = b"x" * 100
    pool.take(LARGE)[:] = b"y" * LARGE
    assert bytes(part) == b"x" * 100


def test_a_free_buffer_is_given_again() -> None:
    pool = FramePool()
    pool.take(LARGE)[:4] = b"mark"
    again = pool.take(LARGE // 2)
    assert bytes(again[:4]) == b"mark"
    assert len(again) == LARGE // 2


def test_a_larger_response_replaces_a_free_buffer() -> None:
    pool = FramePool()
    for factor in range(1, 30):
        assert len(pool.take(factor * 10 * LARGE)) == factor * 10 * LARGE
    assert len(pool._buffers) == 1


def test_the_pool_is_bounded_also_when_all_is_held() -> None:
    pool = FramePool()
    held = [pool.take(LARGE) for _ in range(3 * MOST_BUFFERS)]
    assert len({id(view.obj) for view in held}) == len(held)
    assert len(pool._buffers) == MOST_BUFFERS
