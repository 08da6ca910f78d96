"""A chart of how accurate small trees are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, ScalarFormatter

from jaxtree.errors import InvalidInputError
from jaxtree.export.pictures import CLASS_COLOURS
from jaxtree.plot.style import axes_to_draw_in, calm, draw_legend, legend_name

MARKS = "osD^vP"


def plot_accuracy_by_leaves(
    trees: Mapping[str, Sequence[Any]], X: Any, y: Any, sample_weight: Any = None, *, ax: Axes | None = None
) -> Axes:
    """Draws the accuracy of trees against their leaves, a line for every method that made them.

    For trees of numbers it is the coefficient of determination. If a method made several trees of equally many leaves,
    the first is drawn.

    Args:
        trees: Fitted trees by the names of the methods, as `jaxtree.trees_by_size` returns them.
        X: Rows to score the trees on, best such as were not in the fit.
        y: Their classes or numbers.
        sample_weight: Their weights.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no tree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import trees_by_size
        >>> X, y = load_iris(return_X_y=True)
        >>> trees = trees_by_size(X[::2], y[::2], methods=["greedy", "optimal"], sizes=[2, 3], max_depth=2)
        >>> ax = plot_accuracy_by_leaves(trees, X[1::2], y[1::2])
        >>> [line.get_xdata().tolist() for line in ax.lines]
        [[2, 3], [2, 3]]
    """
    if not any(len(own) for own in trees.values()):
        raise InvalidInputError("trees must have a fitted tree at least, got none")
    ax = axes_to_draw_in(ax)
    drawn: set[int] = set()
    for place, (method, own) in enumerate(trees.items()):
        by_leaves = {tree.get_n_leaves(): tree for tree in reversed(own)}
        leaves = sorted(by_leaves)
        drawn |= set(leaves)
        ax.plot(
            leaves,
            [by_leaves[number].score(X, y, sample_weight) for number in leaves],
            marker=MARKS[place % len(MARKS)],
            color=CLASS_COLOURS[place % len(CLASS_COLOURS)],
            linewidth=1.6,
            markersize=5,
            label=legend_name(method),
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks(_sparse(sorted(drawn)))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    has_classes = any(hasattr(tree, "classes_") for own in trees.values() for tree in own)
    ax.set(xlabel="leaves", ylabel="accuracy" if has_classes else "R²")
    draw_legend(ax)
    calm(ax)
    return ax


def _sparse(numbers: Sequence[int]) -> list[int]:
    """Numbers of which each is a fifth larger than the last, so that their marks do not touch."""
    kept: list[int] = []
    for number in numbers:
        if not kept or np.log2(number / kept[-1]) > 0.26:
            kept.append(number)
    return kept
