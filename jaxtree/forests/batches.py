"""Batches of trees: how many grow together, on how many cores, and what is done when memory or patience runs out."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import Any, NamedTuple, TypeVar

from jaxtree.blocks import Threads
from jaxtree.cores import with_share_of_cores
from jaxtree.errors import is_out_of_memory

Grown = TypeVar("Grown")


class BatchLimits(NamedTuple):
    """How large a batch may be, unless one tree is larger.

    Attributes:
        num_entries: Entries at most.
        num_bytes: Bytes that its arrays may take.
    """

    num_entries: int
    num_bytes: int


CPU_LIMITS = BatchLimits(2**17, 2**30)
"""Few enough entries for a core's cache, and enough for small trees.

For 100 trees on 63,000 rows each, batches of 2**21 entries take twice as long; of trees on 800 rows, 2**16 half as long
again.
"""

ACCELERATOR_LIMITS = BatchLimits(2**21, 2**33)
"""Large pieces of work, within a small part of a device's memory; `round_weights` reckons with no more entries."""

BYTES_PER_NODE = 200
"""Bytes of a node while it grows, except its sums."""

BYTES_PER_ENTRY = 64
"""Bytes of an entry while it grows, copies of a sort included, except its sums and its places in scanned features."""

BYTES_PER_SUM = 8
"""Bytes of a sum of an entry or a node."""


class TreeSize(NamedTuple):
    """The size of a tree while it grows.

    Attributes:
        num_entries: Its entries.
        num_nodes: The nodes that there is room for.
        num_sums: Sums of a node: classes of all outputs, or targets and their moments.
        num_scanned: Features whose entries are kept in order.
    """

    num_entries: int
    num_nodes: int
    num_sums: int
    num_scanned: int

    @property
    def num_bytes(self) -> int:
        """The estimated bytes."""
        of_entry = BYTES_PER_ENTRY + BYTES_PER_SUM * (self.num_sums + self.num_scanned)
        return self.num_entries * of_entry + self.num_nodes * (BYTES_PER_NODE + BYTES_PER_SUM * self.num_sums)


class Batch(NamedTuple):
    """Trees that grow together.

    Attributes:
        first: The first of them.
        end: The tree behind the last.
        room: The number of trees that there is room for, so that batches of different lengths share one program.
    """

    first: int
    end: int
    room: int


def make_batches(
    num_trees: int,
    size: TreeSize,
    num_threads: int,
    trees_per_batch: int | None = None,
    limits: BatchLimits = CPU_LIMITS,
) -> list[Batch]:
    """Divides trees into batches of nearly equal length, as many as keep the memory bounded and all cores busy.

    Args:
        num_trees: The number of trees.
        size: The size of one.
        num_threads: Batches that grow at the same time.
        trees_per_batch: The most trees of a batch; chosen if not given.
        limits: How large a batch may be.

    Example:
        >>> make_batches(10, TreeSize(1000, 500, 2, 0), num_threads=2)
        [Batch(first=0, end=5, room=5), Batch(first=5, end=10, room=5)]
        >>> [batch.end for batch in make_batches(100, TreeSize(2**18, 2**10, 2, 0), num_threads=2)][:3]
        [1, 2, 3]
    """
    if trees_per_batch is None:
        by_memory = min(limits.num_entries // max(size.num_entries, 1), limits.num_bytes // size.num_bytes)
        trees_per_batch = max(1, min(by_memory, -(-num_trees // num_threads)))
        rounds = -(-num_trees // (trees_per_batch * num_threads))
        trees_per_batch = max(1, -(-num_trees // (rounds * num_threads)))
    firsts = range(0, num_trees, trees_per_batch)
    return [Batch(first, min(first + trees_per_batch, num_trees), trees_per_batch) for first in firsts]


def run_batches(
    batches: list[Batch], workers: Sequence[Callable[[Batch], Grown]], *, on_grown: Callable[[int], Any] | None = None
) -> list[Grown]:
    """Grows batches in as many threads as there are workers, and returns the results in their order.

    A batch for which there is not enough memory is halved, and so are all longer ones after it. An interrupt
    (Ctrl-C) lets the batches that are under way come to their end, and returns those before the first that is missing.

    Args:
        batches: The batches.
        workers: Grow a batch, each in a thread of its own with its share of the cores; they may be one and the same.
        on_grown: Called with the number of trees of every batch that is done.

    Raises:
        KeyboardInterrupt: The first batch is missing after an interrupt.
        MemoryError: There is not enough memory for one tree; or JAX's own error of the kind.
    """
    work = _Work(batches, on_grown)
    if len(workers) == 1:
        with contextlib.suppress(KeyboardInterrupt):
            work.run(workers[0])
        return work.finished()
    workers = workers[: len(batches)]
    with Threads(len(workers)) as pool:
        run = with_share_of_cores(work.run, len(workers))
        futures = [pool.submit(run, grow) for grow in workers]
        try:
            wait(futures)
        except KeyboardInterrupt:
            work.stopped = True
    for future in futures:
        future.result()
    return work.finished()


class _Work:
    """Batches that are left, and those that are done; shared by threads."""

    def __init__(self, batches: list[Batch], on_grown: Callable[[int], Any] | None):
        self._left = deque(batches)
        self._on_grown = on_grown
        self._done: dict[int, tuple[Batch, Any]] = {}
        self._most_trees = max(batch.room for batch in batches)
        self._lock = threading.Lock()
        self.stopped = False

    def run(self, grow: Callable[[Batch], Any]) -> None:
        """Grows batches until none is left."""
        while (batch := self._next()) is not None:
            try:
                grown = grow(batch)
            except Exception as error:
                if not is_out_of_memory(error) or batch.room == 1:
                    self.stopped = True
                    raise
                with self._lock:
                    self._most_trees = min(self._most_trees, batch.room // 2)
                    self._left.appendleft(batch)
            else:
                with self._lock:
                    self._done[batch.first] = batch, grown
                    if self._on_grown is not None:
                        self._on_grown(batch.end - batch.first)

    def finished(self) -> list[Any]:
        """The results, up to the first batch that is missing."""
        grown, end = [], min(self._done, default=None)
        if end != 0:
            raise KeyboardInterrupt
        while end in self._done:
            batch, trees = self._done[end]
            grown.append(trees)
            end = batch.end
        return grown

    def _next(self) -> Batch | None:
        with self._lock:
            if self.stopped or not self._left:
                return None
            first, end, room = self._left.popleft()
            room = min(room, self._most_trees)
            if end > first + room:
                self._left.appendleft(Batch(first + room, end, room))
            return Batch(first, min(end, first + room), room)
