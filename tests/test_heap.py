"""Freed memory goes back to the system before growth on many rows."""

import sys

import numpy as np
import psutil
import pytest

from jaxtree import DecisionTreeRegressor, GradientBoostingRegressor, RandomForestRegressor, heap


def resident():
    return psutil.Process().memory_info().rss


@pytest.mark.skipif(heap._find_trim() is None, reason="the system's library has no malloc_trim")
def test_what_is_freed_between_what_is_used_goes_back():
    """Pieces of 64 KiB come from the heap, whose end is in use."""
    pieces = [np.ones(2**13) for _ in range(1000)]
    kept, full = pieces[::100], resident()
    del pieces
    heap.give_back_freed(heap.MANY_ROWS - 1)
    assert resident() > full - 2**24
    heap.give_back_freed(heap.MANY_ROWS)
    assert resident() < full - 2**25
    assert len(kept) == 10


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, GradientBoostingRegressor])
def test_every_growth_asks_for_it(monkeypatch, kind):
    asked = []
    monkeypatch.setattr(heap, "_find_trim", lambda: asked.append)
    monkeypatch.setattr(heap, "MANY_ROWS", 2500)
    X = np.arange(2500.0)[:, None]
    many = {} if kind is DecisionTreeRegressor else {"n_estimators": 2}
    kind(max_depth=2, **many).fit(X, X[:, 0])
    assert asked
    before = len(asked)
    kind(max_depth=2, **many).fit(X[:20], X[:20, 0])
    assert len(asked) == before


def test_other_systems_are_not_asked(monkeypatch):
    heap._find_trim.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert heap._find_trim() is None
    heap._find_trim.cache_clear()
