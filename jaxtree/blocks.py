"""Blocks of rows, in threads: NumPy and compiled programs let threads run side by side."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from jaxtree.cores import num_cores, with_share_of_cores

Result = TypeVar("Result")

ROWS_AT_A_TIME = 32_768
"""A block of a column stays in cache, and is long enough that threads seldom wait for Python."""


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
    return [slice(start, min(start + size, num_rows)) for start in starts]


def in_threads(work: Callable[..., Result], *items: Iterable, num_threads: int | None = None) -> list[Result]:
    """Maps a function as `map` does, in threads; as many as there are cores if no number is given."""
    num_threads = num_cores() if num_threads is None else num_threads
    if num_threads == 1:
        return list(map(work, *items))
    with ThreadPoolExecutor(num_threads) as pool:
        return list(pool.map(with_share_of_cores(work, num_threads), *items))


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
    from jaxtree.devices import carried, current_platform  # which need JAX; tables do without

    blocks = blocks_of(num_rows, size, equal=True)
    in_threads(carried(work), blocks, num_threads=None if len(blocks) > 1 and current_platform() == "cpu" else 1)
