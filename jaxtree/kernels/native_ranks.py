"""Many rows through many trees of thresholds by the kernel in C++, without walks; see `jaxtree.kernels.ranks`."""

import ctypes
import functools
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64

from jaxtree.errors import present
from jaxtree.kernels import library
from jaxtree.kernels.ranks import Ranks, TreeSteps, bytes_of_rank, pays
from jaxtree.kernels.walk import Steps


class _RankedPointers(ctypes.Structure):
    """`RankedTrees` of native/src/walk/ranks.h."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("num_trees", "num_columns", "num_planes", "num_places")),
        *((name, ctypes.c_void_p) for name in ("column", "first_cut", "cuts", "planes")),
        *((name, ctypes.c_void_p) for name in ("steps", "first_step", "first_leaf", "leaves")),
    ]


class RankedTrees:
    """The trees of a table, as steps over ranks.

    Args:
        steps: The steps of walks, all of thresholds.
        root: The root of every tree.
        is_leaf: Whether walks end at a node.
        num_levels: The levels of all trees.

    Attributes:
        pays: Whether many rows take less time than walks.
    """

    def __init__(
        self, steps: Steps, root: Int64[np.ndarray, " tree"], is_leaf: Bool[np.ndarray, " node"], num_levels: int
    ):
        inner, left = np.flatnonzero(~is_leaf), steps.child.astype(np.int64)
        ranks = Ranks.of(steps.question[inner] >> 1, steps.limit[inner], steps.question[inner] % 2 == 1)
        order = TreeSteps.of(root, left, left + 1, is_leaf)
        self._bytes_of_rank, self.pays = bytes_of_rank(ranks, order), pays(ranks, order, num_levels)
        plane, limit = np.zeros(len(is_leaf), np.int32), np.zeros(len(is_leaf), np.int64)
        plane[inner], limit[inner] = ranks.plane, ranks.rank
        self._arrays = {
            "column": ranks.column.astype(np.int32),
            "first_cut": ranks.first_cut,
            "cuts": ranks.cuts,
            "planes": ranks.planes,
            "steps": order.records(plane, limit, left, left + 1),
            "first_step": order.first_step,
            "first_leaf": order.first_leaf,
            "leaves": order.leaf.astype(np.int32),
        }
        self._pointers = _RankedPointers(
            num_trees=len(root),
            num_columns=len(ranks.column),
            num_planes=ranks.num_planes,
            num_places=order.num_places,
            **{name: array.ctypes.data for name, array in self._arrays.items()},
        )

    def walk(self, *arguments: Any) -> bool:
        """Writes the nodes where rows end, or what follows from their values, as `jaxtree_walk` does."""
        return _find_walk()(ctypes.byref(self._pointers), self._bytes_of_rank, *arguments)


@functools.cache
def _find_walk() -> Any:
    """The function of the kernel: its arguments are trees, bytes of a rank, and those of `jaxtree_walk`."""
    walk = present(library.load()).jaxtree_walk_by_ranks
    whole, pointer = ctypes.c_int64, ctypes.c_void_p
    values = [pointer, whole, whole, whole, whole]
    walk.argtypes = [pointer, whole, *values, pointer, whole]
    walk.restype = ctypes.c_bool
    return walk
