"""A slow grower of classification trees in NumPy, whose choice among splits of equal gain is a function.

It makes the trees of `jaxtree.DecisionTreeClassifier` on columns of numbers if it takes the first column. A *tie* is a
node at which several columns have a split of the greatest gain.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

TOLERANCE = 1e-9
"""Share of a node's impurity by which equal gains may differ."""


class Cuts(NamedTuple):
    """The splits of the greatest gain of a node.

    Attributes:
        column: The column of each, ascending.
        threshold: Its threshold, ascending for every column.
        balance: Rows of the smaller branch.
    """

    column: np.ndarray
    threshold: np.ndarray
    balance: np.ndarray


class Grown(NamedTuple):
    """A grown tree, and the inner nodes and ties of every depth.

    Attributes:
        column: The column of every node, -1 for a leaf.
        threshold: Its threshold: the first branch has the values up to it.
        child: The first child; the second follows.
        label: The class of most rows.
        inner: The inner nodes of every depth.
        ties: Those at which columns tie.
        tied_thresholds: Those at which only thresholds of one column tie.
    """

    column: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    label: np.ndarray
    inner: np.ndarray
    ties: np.ndarray
    tied_thresholds: np.ndarray


Rows = tuple[np.ndarray, np.ndarray]
Rule = Callable[[Cuts, Rows, np.random.Generator], int]


def first(cuts: Cuts, rows: Rows, rng: np.random.Generator) -> int:
    """The first column's first threshold."""
    return 0


def random(cuts: Cuts, rows: Rows, rng: np.random.Generator) -> int:
    """A random column's first threshold."""
    return _firsts(cuts)[rng.integers(len(_firsts(cuts)))]


def any_threshold(cuts: Cuts, rows: Rows, rng: np.random.Generator) -> int:
    """A random one of all."""
    return int(rng.integers(len(cuts.column)))


def balanced(cuts: Cuts, rows: Rows, rng: np.random.Generator) -> int:
    """The one whose smaller branch has most rows; of equal ones that of a random column."""
    of_columns = _firsts(cuts)
    return int(rng.choice(of_columns[cuts.balance[of_columns] == cuts.balance[of_columns].max()]))


def next_level(cuts: Cuts, rows: Rows, rng: np.random.Generator) -> int:
    """The one whose branches gain most by their own best splits; of equal ones that of a random column."""
    X, y = rows
    of_columns = _firsts(cuts)
    gains = []
    for at in of_columns:
        inside = X[:, cuts.column[at]] <= cuts.threshold[at]
        gains.append(sum(_best_gain(X[part], y[part]) for part in (inside, ~inside)))
    gains = np.array(gains)
    return int(rng.choice(of_columns[gains >= gains.max() - TOLERANCE * len(y)]))


RULES: dict[str, Rule] = {
    "first": first,
    "random": random,
    "any threshold": any_threshold,
    "balanced": balanced,
    "next level": next_level,
}


def grow(X: np.ndarray, y: np.ndarray, rule: Rule, rng: np.random.Generator, max_features: int | None = None) -> Grown:
    """Grows a tree until its leaves are pure or all alike; every node looks at `max_features` random columns."""
    nodes: list[tuple[int, float, int, int]] = []
    counts: list[tuple[int, bool, bool]] = []
    waiting = [(np.arange(len(y)), 0)]
    for number, (rows, depth) in enumerate(waiting):
        own, labels = X[rows], y[rows]
        cuts = _best_cuts(own, labels, rng, max_features)
        label = int(np.bincount(labels).argmax())
        if cuts is None:
            nodes.append((-1, 0.0, 0, label))
            continue
        chosen = rule(cuts, (own, labels), rng) if len(cuts.column) > 1 else 0
        column, threshold = int(cuts.column[chosen]), float(cuts.threshold[chosen])
        counts.append((depth, cuts.column[0] != cuts.column[-1], len(cuts.column) > 1))
        nodes.append((column, threshold, len(waiting), label))
        inside = own[:, column] <= threshold
        # The list grows while it is read: children are numbered as they come.
        waiting += [(rows[inside], depth + 1), (rows[~inside], depth + 1)]
        waiting[number] = (rows[:0], depth)
    depth, ties, tied = (np.array(values, int) for values in zip(*counts, strict=True))
    column, threshold, child, label = (np.array(values) for values in zip(*nodes, strict=True))
    of_depth = (np.bincount(depth, of) for of in (None, ties, tied & ~ties))
    return Grown(column, threshold, child, label, *of_depth)


def predict(tree: Grown, X: np.ndarray) -> np.ndarray:
    """The class of the leaf of every row."""
    node = np.zeros(len(X), int)
    while True:
        inner = np.flatnonzero(tree.column[node] >= 0)
        if not inner.size:
            return tree.label[node]
        at = node[inner]
        node[inner] = tree.child[at] + (X[inner, tree.column[at]] > tree.threshold[at])


def _firsts(cuts: Cuts) -> np.ndarray:
    """The first cut of every column."""
    return np.unique(cuts.column, return_index=True)[1]


def _best_cuts(X: np.ndarray, y: np.ndarray, rng: np.random.Generator, max_features: int | None) -> Cuts | None:
    """The cuts of the greatest gain; None for a leaf."""
    if len(y) < 2 or np.all(y == y[0]):
        return None
    if max_features is None:
        return _cuts_of(X, y, np.arange(X.shape[1]))
    order = rng.permutation(X.shape[1])
    cuts, at = _cuts_of(X, y, np.sort(order[:max_features])), max_features
    while cuts is None and at < len(order):
        cuts, at = _cuts_of(X, y, order[at : at + 1]), at + 1
    return cuts


def _gains(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The values of every column in ascending order, the gain of the cut after each but the last, and the impurity."""
    present, y = np.unique(y, return_inverse=True)
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    below = np.cumsum(np.eye(len(present))[y[order]], axis=0)
    total, below = below[-1, 0], below[:-1]
    size = np.arange(1, len(y))[:, None]
    squares = (below**2).sum(2) / size + ((total - below) ** 2).sum(2) / (len(y) - size)
    whole = (total**2).sum() / len(y)
    gain = np.where(values[1:] > values[:-1], (squares - whole) / len(y), -np.inf)
    return values, gain, 1 - whole / len(y)


def _cuts_of(X: np.ndarray, y: np.ndarray, columns: np.ndarray) -> Cuts | None:
    values, gain, impurity = _gains(X[:, columns], y)
    best = gain.max()
    if best == -np.inf:
        return None
    column, place = np.nonzero((gain >= best - TOLERANCE * impurity).T)
    threshold = values[place, column] / 2 + values[place + 1, column] / 2
    return Cuts(columns[column], threshold, np.minimum(place + 1, len(y) - place - 1))


def _best_gain(X: np.ndarray, y: np.ndarray) -> float:
    """The greatest gain of a node times its rows; 0 if it cannot be split."""
    if len(y) < 2:
        return 0.0
    return max(float(_gains(X, y)[1].max()), 0.0) * len(y)
