"""Threads for NumPy, which lets them run side by side."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

ROWS_AT_A_TIME = 32_768
"""A block of a column stays in cache, and is long enough that threads seldom wait for Python."""


def map_in_threads(function: Callable, *iterables: Iterable, num_rows: int) -> list:
    """Maps a function that spends its time in NumPy.

    Where a column has few rows, its work is too small to be worth a thread.
    """
    if num_rows <= 2 * ROWS_AT_A_TIME:
        return list(map(function, *iterables))
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(function, *iterables))


def block_starts(num_rows: int) -> range:
    """Returns where blocks of a table begin."""
    return range(0, num_rows, ROWS_AT_A_TIME)
