"""Memory that was freed and not given back to the system.

glibc keeps what is freed in pieces of up to 32 MiB for later, and pieces that are in use lie between: after a table has
been read and a program compiled, this is more than the rows of the fit (`man 3 mallopt`, M_MMAP_THRESHOLD and
M_TRIM_THRESHOLD).
"""

import ctypes
import functools
import sys
from typing import Any

MANY_ROWS = 2**17
"""Rows from which on freed memory is worth the milliseconds that it takes to give it back."""


def give_back_freed(num_rows: int) -> None:
    """Gives freed memory back to the system before work on many rows takes its own.

    Systems without `malloc_trim` do so themselves, or cannot be asked to.

    Args:
        num_rows: The number of rows of the work.

    Example:
        >>> give_back_freed(2**20)
    """
    if num_rows >= MANY_ROWS:
        trim_heap()


def trim_heap() -> None:
    """Gives freed memory back to the system, however little."""
    trim = _find_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _find_trim() -> Any:
    """Glibc's `malloc_trim`; None elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return trim
