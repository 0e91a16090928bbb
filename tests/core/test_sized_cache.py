"""A cache is bounded by the size of what is in it, and what was used longest ago goes first."""

from __future__ import annotations

import random

from foveal.daemon.core.sized_cache import SizedCache


def test_cache_evicts_the_least_recently_used() -> None:
    cache = SizedCache[str, int](10)
    cache.put("a", 1, 4)
    cache.put("b", 2, 4)
    assert cache.get("a") == 1
    cache.put("c", 3, 4)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert (len(cache), cache.size) == (2, 8)


def test_cache_size_is_right_and_within_the_limit() -> None:
    chance, cache = random.Random(1), SizedCache[int, int](50)
    for _ in range(2_000):
        size = chance.randrange(70)
        cache.put(chance.randrange(30), size, size)
        kept = [one for number in range(30) if (one := cache.get(number)) is not None]
        assert (len(cache), cache.size) == (len(kept), sum(kept))
        assert cache.size <= 50
