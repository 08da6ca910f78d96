"""Batches: their lengths, and what happens when memory or patience runs out."""

import itertools
import threading

import jax
import pytest

from jaxtree.blocks import Threads
from jaxtree.forests.batches import CPU_LIMITS, Batch, TreeSize, make_batches, run_batches

SMALL = TreeSize(1000, 500, 2, 0)


def trees_of(batch):
    return list(range(batch.first, batch.end))


@pytest.mark.parametrize("num_trees", [1, 2, 7, 100])
@pytest.mark.parametrize("num_threads", [1, 2, 3])
@pytest.mark.parametrize("size", [SMALL, TreeSize(10**6, 10**6, 3, 0), TreeSize(10**9, 10**9, 3, 5)])
def test_batches_hold_every_tree_once(num_trees, num_threads, size):
    batches = make_batches(num_trees, size, num_threads)
    assert [tree for batch in batches for tree in trees_of(batch)] == list(range(num_trees))
    lengths = [batch.end - batch.first for batch in batches]
    assert max(lengths) * size.num_entries <= max(CPU_LIMITS.num_entries, size.num_entries)
    assert {batch.room for batch in batches} == {max(lengths)}


def test_a_batch_keeps_every_core_busy():
    assert len(make_batches(100, SMALL, 2)) == 2
    assert len(make_batches(100, SMALL, 2, trees_per_batch=30)) == 4


@pytest.mark.parametrize("num_threads", [1, 2])
def test_results_come_in_order(num_threads):
    batches = make_batches(20, SMALL, num_threads, trees_per_batch=3)
    told = []
    grown = run_batches(batches, [trees_of] * num_threads, on_grown=told.append)
    assert list(itertools.chain(*grown)) == list(range(20))
    assert sorted(told) == [2, 3, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize(
    "error",
    [MemoryError("no more"), jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes")],
)
def test_too_large_batches_are_halved(num_threads, error):
    rooms = []

    def grow(batch):
        rooms.append(batch.room)
        if batch.room > 3:
            raise error
        return trees_of(batch)

    grown = run_batches([Batch(0, 13, 13), Batch(13, 20, 13)], [grow] * num_threads)
    assert list(itertools.chain(*grown)) == list(range(20))
    assert rooms[0] == 13
    assert set(rooms) <= {13, 6, 3}


def test_memory_for_one_tree_must_be_there():
    def grow(batch):
        raise MemoryError("not even one")

    with pytest.raises(MemoryError, match="not even one"):
        run_batches([Batch(0, 8, 8)], [grow])


@pytest.mark.parametrize("num_threads", [1, 2])
def test_other_errors_are_raised(num_threads):
    def grow(batch):
        if batch.first == 3:
            raise ValueError("something else")
        return trees_of(batch)

    with pytest.raises(ValueError, match="something else"):
        run_batches(make_batches(9, SMALL, 1, trees_per_batch=3), [grow] * num_threads)


def test_an_interrupt_keeps_what_has_grown():
    def grow(batch):
        if batch.first == 6:
            raise KeyboardInterrupt
        return trees_of(batch)

    batches = make_batches(12, SMALL, 1, trees_per_batch=3)
    assert run_batches(batches, [grow]) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(KeyboardInterrupt):
        run_batches(batches[2:], [grow])


def test_an_interrupt_waits_for_the_threads(monkeypatch):
    """The threads end the batches that they have begun, and begin no other."""
    begun, interrupted = threading.Barrier(3), threading.Event()

    def wait(futures):
        begun.wait()
        raise KeyboardInterrupt

    def grow(batch):
        begun.wait()
        assert interrupted.wait(timeout=20)
        return trees_of(batch)

    class Pool(Threads):
        def __exit__(self, *error):
            interrupted.set()
            return super().__exit__(*error)

    monkeypatch.setattr("jaxtree.forests.batches.wait", wait)
    monkeypatch.setattr("jaxtree.forests.batches.Threads", Pool)
    batches = make_batches(12, SMALL, 2, trees_per_batch=3)
    assert run_batches(batches, [grow] * 2) == [[0, 1, 2], [3, 4, 5]]
