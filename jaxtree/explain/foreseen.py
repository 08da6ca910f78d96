"""Estimators that know beforehand what they say of rows with a shuffled column.

A *shuffle* is one column in one repeat; a *batch* is several columns, each in the same repeats, whose rows are walked
together. A scorer is shown ordinary rows; where it asks the estimator for exactly those, the estimator's predictor
answers from the batch.
"""

import functools
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int, Int64, Shaped

from jaxtree.explain.substitution import Substitution
from jaxtree.growth.candidates import NO_BRANCH
from jaxtree.tree import Tree

FEW_ROWS = 512
"""Rows up to which predictions stay on the host, and a program would take longer to compile than to do without."""


class Foresight:
    """What an estimator's trees say of the shuffles of a batch.

    Args:
        substitution: The walks.
        bytes_of_row: Bytes that are kept of every row and shuffle.

    Attributes:
        substitution: The walks.
        bytes_of_row: Bytes that are kept of every row and shuffle.
    """

    def __init__(self, substitution: Substitution, bytes_of_row: int):
        self.substitution = substitution
        self.bytes_of_row = bytes_of_row

    def begin(self, columns: Int[np.ndarray, " column"], orders: Int[np.ndarray, "repeat row"]) -> None:
        """Lets go of the last batch, and takes the next one: some columns, and the orders of every one's repeats."""
        self._columns, self._orders = columns, orders
        self._known: list[tuple[Any, Shaped[np.ndarray, "column repeat ..."]]] = []

    def look_at(self, column: int, repeat: int) -> None:
        """Makes a shuffle the present one, by its places in the batch."""
        self._place = column, repeat

    def ends(self) -> Int64[np.ndarray, " row"]:
        """The nodes where the rows of the present shuffle end, in the one tree."""
        if not self._known:
            self._known.append((None, self.substitution.ends(self._columns, self._orders)))
        return self._known[0][1][self._place].astype(np.int64)

    def mean(self, of_node: Float[np.ndarray, "node output"]) -> Float64[np.ndarray, "row output"]:
        """The mean over the trees of what each says of the rows of the present shuffle."""
        if not any(asked is of_node for asked, _ in self._known):
            self._known.append((of_node, self.substitution.sums(self._columns, self._orders, of_node)))
        sums = next(sums for asked, sums in self._known if asked is of_node)
        return sums[self._place] / self.substitution.num_trees


class _Foreseeing:
    """Stands for a predictor, which answers whatever is not foreseen."""

    def __init__(self, predicting: Any, foresight: Foresight, rows: Float[np.ndarray, "row feature"]):
        self._predicting, self._foresight, self._rows = predicting, foresight, rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predicting, name)


class _ForeseeingTree(_Foreseeing):
    def apply(self, values: Float[np.ndarray, "row feature"]) -> Int64[np.ndarray, " row"]:
        return self._foresight.ends() if values is self._rows else self._predicting.apply(values)


class _ForeseeingForest(_Foreseeing):
    def mean(
        self, values: Float[np.ndarray, "row feature"], of_node: Float[np.ndarray, "node output"]
    ) -> Float64[np.ndarray, "row output"]:
        return self._foresight.mean(of_node) if values is self._rows else self._predicting.mean(values, of_node)


def foresee(reading: Any, rows: Float[np.ndarray, "row feature"]) -> Foresight | None:
    """Makes an estimator of trees look its predictions of some rows up, whatever column of theirs is shuffled.

    Args:
        reading: A fitted estimator that reads encoded rows, see `reading_encoded`; it is changed.
        rows: The rows, no column shuffled. Shuffles are written into this array, and predictions of others are made.

    Returns:
        What it looks predictions up in; None if it goes on making them. That is so of few rows, of estimators without a
        table of nodes (soft trees, and oblique ones that they harden to), and of forests that share out rows among
        the branches of a node.
    """
    if len(rows) <= FEW_ROWS:
        return None
    column = np.array([feature.column for feature in reading.encoder_.schema_.features])
    forest, tree = getattr(reading, "forest_", None), getattr(reading, "tree_", None)
    if forest is not None and not _shares_rows(forest.nodes):
        num_outputs = forest.nodes.count.shape[1] + forest.nodes.target_sum.shape[1]
        foresight = Foresight(Substitution(forest.nodes, forest.first_node[:-1], column, rows), 8 * num_outputs)
        reading._predicting = _ForeseeingForest(reading._predicting, foresight, rows)
        # What nodes say is asked for again and again, and known again if it is the same array.
        reading._say = functools.cache(reading._say)
        return foresight
    if isinstance(tree, Tree):
        foresight = Foresight(Substitution(tree, np.zeros(1, np.int64), column, rows), 4)
        reading._predicting = _ForeseeingTree(reading._predicting, foresight, rows)
        return foresight
    return None


def _shares_rows(nodes: Tree) -> bool:
    return bool(np.any(~nodes.is_leaf & (nodes.missing_branch == NO_BRANCH)))
