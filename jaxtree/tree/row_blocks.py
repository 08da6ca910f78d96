"""How many rows are walked in one call, and in how many threads.

Everything that prediction does differently from device to device stands here.
"""

from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import Shaped

from jaxtree.blocks import blocks_of, in_threads
from jaxtree.buckets import row_bucket

FEW_ROWS = 512
"""Rows up to which NumPy on the host is faster than the call of a program, which pads them to 2048."""

MANY_TREES = 8
"""Trees from which on a block is read so often that it pays to make it small."""

ROWS_FOR_FEW_TREES = 2**15
"""Rows of a call on CPU: long enough that calls cost little, and short enough for the processor's cache."""

ROWS_FOR_MANY_TREES = 2**12
"""Rows of a call on CPU whose values, and places in a tree, stay in a core's own cache."""

ROWS_ON_ACCELERATOR = 2**20
"""Rows of a call elsewhere, where every call has its price."""

VALUES_ON_CPU = 2**21
"""Values of a call at most, which bounds the memory of wide tables."""

VALUES_ON_ACCELERATOR = 2**28
"""Values of a call elsewhere."""


def rows_at_a_time(num_trees: int, num_features: int) -> int:
    """Returns how many rows of so many features are walked through so many trees in one call.

    >>> rows_at_a_time(1, 28), rows_at_a_time(100, 28), rows_at_a_time(1, 10_000)
    (32768, 4096, 128)
    """
    if _is_cpu():
        most, rows = VALUES_ON_CPU, ROWS_FOR_MANY_TREES if num_trees >= MANY_TREES else ROWS_FOR_FEW_TREES
    else:
        most, rows = VALUES_ON_ACCELERATOR, ROWS_ON_ACCELERATOR
    return min(rows, 1 << max(most // num_features, 1).bit_length() - 1)


def for_blocks(work: Callable[[slice], None], num_rows: int, size: int) -> None:
    """Calls a function for blocks of so many rows, on a CPU in as many threads as there are cores.

    The last block is as long as the others, and overlaps the one before, so that it needs no program of its own.

    Example:
        >>> for_blocks(lambda block: print(block.start, block.stop), 5, 6)
        0 5
    """
    blocks = blocks_of(num_rows, size, equal=True)
    in_threads(work, blocks, num_threads=None if _is_cpu() and len(blocks) > 1 else 1)


def pad_rows(rows: Shaped[np.ndarray, "row ..."], size: int) -> Shaped[np.ndarray, "padded ..."]:
    """Returns the rows of a block padded to a bucket, so that tables of a like length share a program.

    Args:
        rows: The rows.
        size: The rows of a full block, which are the most.
    """
    padding = min(row_bucket(len(rows)), size) - len(rows)
    return np.pad(rows, [(0, padding)] + [(0, 0)] * (rows.ndim - 1)) if padding else rows


def _is_cpu() -> bool:
    return jax.default_backend() == "cpu"
