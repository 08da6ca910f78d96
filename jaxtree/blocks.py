"""Blocks of rows, in threads: NumPy and compiled programs let threads run side by side."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from jaxtree.cores import num_cores, with_share_of_cores

Result = TypeVar("Result")

ROWS_AT_A_TIME = 32_768
"""A block of a column stays in cache, and is long enough that threads seldom wait for Python."""


class Threads(ThreadPoolExecutor):
    """Threads that begin with their tasks. Where the system starts no more, those that run do all that is left.

    A process may have too many threads by `ulimit -u` or by the number of a container's processes. If none can be
    started, the thread that submits a task does it.

    Example:
        >>> with Threads(2) as threads:
        ...     threads.submit(max, 1, 2).result()
        2
    """

    _has_any = False

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future:
        """Returns the result to come of a task."""
        future: Future = Future()

        def run() -> None:
            if future.done() or not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(work(*arguments, **options))
            except BaseException as error:
                future.set_exception(error)

        try:
            super().submit(run)
            self._has_any = True
        except RuntimeError as error:
            if "start new thread" not in str(error):
                raise
            # The task waits all the same: for a thread that runs, or for none.
            if not self._has_any:
                run()
        return future


def blocks_of(num_rows: int, size: int = ROWS_AT_A_TIME, *, equal: bool = False) -> list[slice]:
    """Cuts rows into blocks.

    Args:
        num_rows: The number of rows.
        size: The rows of a block; the last block may have fewer.
        equal: Whether the last of several blocks is as long as the others, and overlaps the one before.

    >>> blocks_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    >>> blocks_of(5, 2, equal=True)
    [slice(0, 2, None), slice(2, 4, None), slice(3, 5, None)]
    """
    starts = range(0, num_rows, size)
    if equal and num_rows > size:
        return [slice(min(start, num_rows - size), min(start, num_rows - size) + size) for start in starts]
    return list(map(slice, starts, [*starts[1:], num_rows]))


def in_threads(work: Callable[..., Result], *items: Iterable, num_threads: int | None = None) -> list[Result]:
    """Maps a function as `map` does, in threads; as many as there are cores if no number is given."""
    num_threads = num_cores() if num_threads is None else num_threads
    if num_threads == 1:
        return list(map(work, *items))
    with Threads(num_threads) as pool:
        return list(pool.map(with_share_of_cores(work, num_threads), *items))


def by_blocks(work: Callable[[slice], Result], num_rows: int, size: int = ROWS_AT_A_TIME) -> list[Result]:
    """Calls a function for blocks of rows, in threads where there are many, and returns its results in their order.

    >>> by_blocks(lambda block: block.stop - block.start, 5, 3)
    [3, 2]
    """
    if num_rows <= size:
        return [work(slice(0, num_rows))]
    return in_threads(work, blocks_of(num_rows, size), num_threads=threads_for(num_rows))


def threads_for(num_rows: int) -> int:
    """The number of threads for columns of so many rows: 1 where they are short."""
    return 1 if num_rows <= 2 * ROWS_AT_A_TIME else min(8, num_cores())


def for_blocks(work: Callable[[slice], None], num_rows: int, size: int) -> None:
    """Calls a function for blocks of so many rows, on a CPU in as many threads as there are cores.

    The last block is as long as the others, and overlaps the one before, so that it needs no program of its own.

    Example:
        >>> for_blocks(lambda block: print(block.start, block.stop), 5, 6)
        0 5
    """
    from jaxtree.devices import current_platform, in_callers_context  # which need JAX; tables do without

    blocks = blocks_of(num_rows, size, equal=True)
    in_threads(
        in_callers_context(work), blocks, num_threads=None if len(blocks) > 1 and current_platform() == "cpu" else 1
    )
