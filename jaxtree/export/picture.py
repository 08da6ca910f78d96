"""What drawings of a tree show of its nodes: a few lines of text, a colour, and what their branch asks.

A node's colour is that of its class, the paler the smaller the class's share; for numbers a blue, the darker the larger
the mean.
"""

import colorsys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import is_classifier

from jaxtree.errors import InvalidInputError
from jaxtree.export.spoken import in_drawings
from jaxtree.export.words import branch_in_words, child_nodes, class_names, node_class
from jaxtree.table.schema import Schema, value_in_words
from jaxtree.tree import Tree, output_counts, target_means

CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Those of Okabe and Ito (2008), which colour-blind readers can tell apart; further classes have turned hues."""

PALEST = 0.12
"""How much of its colour a node keeps at least."""


class PicturedNode(NamedTuple):
    """A node as a drawing shows it.

    Attributes:
        node: Its number in the table.
        parent: That of its parent; its own for the root.
        children: Those of its children, none where it is a leaf or the drawing ends.
        depth: Edges from the root.
        branch: What its parent's split asks of its rows; empty for the root.
        lines: What stands in it.
        colour: "#rrggbb".
        hides_children: Whether the drawing ends here, though the tree goes on.
    """

    node: int
    parent: int
    children: tuple[int, ...]
    depth: int
    branch: str
    lines: tuple[str, ...]
    colour: str
    hides_children: bool


def picture(
    estimator: Any, *, feature_names: Sequence[str] | None = None, max_depth: int | None = None
) -> list[PicturedNode]:
    """Returns the nodes of a fitted tree down to a depth, each before its children.

    Raises:
        InvalidInputError: There is not one name a column, or the depth is negative.
        sklearn.exceptions.NotFittedError: The estimator is not fitted.
    """
    estimator, schema = in_drawings(estimator, feature_names)
    if max_depth is not None and max_depth < 0:
        raise InvalidInputError(f"max_depth must be None or an integer >= 0, got {max_depth}")
    tree = estimator.tree_
    lines = _class_lines(estimator) if is_classifier(estimator) else _mean_lines(tree)
    colours = _class_colours(estimator) if is_classifier(estimator) else _mean_colours(tree)
    nodes, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        depth, children = int(tree.depth[node]), tuple(child_nodes(tree, node))
        hides = bool(children) and depth == max_depth
        shown = () if hides else children
        nodes.append(
            PicturedNode(
                node, int(tree.parent[node]) if node else node, shown, depth,
                branch_in_words(tree, schema, node) if node else "",
                (*_split_lines(tree, schema, node, bool(shown)), *lines[node]), colours[node], hides,
            )
        )  # fmt: skip
        waiting.extend(shown[::-1])
    return nodes


def _split_lines(tree: Tree, schema: Schema, node: int, is_split: bool) -> tuple[str, ...]:
    """The column that the node asks about."""
    return (schema.columns[schema.features[int(tree.feature[node])].column].name + "?",) if is_split else ()


def _class_lines(estimator: Any) -> list[tuple[str, ...]]:
    tree = estimator.tree_
    lines: list[list[str]] = [[] for _ in range(tree.node_count)]
    for output, names in enumerate(class_names(estimator)):
        labels, counts = node_class(estimator, output), np.asarray(output_counts(tree, output), np.float64)
        for node, (label, count) in enumerate(zip(labels.tolist(), counts, strict=True)):
            total = count.sum()
            share = f" {count[label] / total:.0%}" if total else ""
            lines[node].append(f"{names[label]}{share}")
    return [(*own, f"n = {_number(weight)}") for own, weight in zip(lines, tree.weight.tolist(), strict=True)]


def _mean_lines(tree: Tree) -> list[tuple[str, ...]]:
    means = target_means(tree).tolist()
    return [
        (", ".join(f"{mean:.4g}" for mean in row), f"n = {_number(weight)}")
        for row, weight in zip(means, tree.weight.tolist(), strict=True)
    ]


def _number(weight: float | int) -> str:
    return value_in_words(round(weight, 2)).removesuffix(".0")


def _class_colours(estimator: Any) -> list[str]:
    label: Int[np.ndarray, " node"] = node_class(estimator)
    count = np.asarray(output_counts(estimator.tree_, 0), np.float64)
    total = count.sum(axis=1)
    share = np.divide(count.max(axis=1), total, out=np.zeros_like(total), where=total > 0)
    least = 1 / count.shape[1]
    strength = (share - least) / (1 - least) if least < 1 else share
    return [_mixed(colour_of_class(own), part) for own, part in zip(label.tolist(), strength.tolist(), strict=True)]


def _mean_colours(tree: Tree) -> list[str]:
    mean: Float[np.ndarray, " node"] = np.asarray(target_means(tree), np.float64)[:, 0]
    low, high = mean.min(), mean.max()
    strength = (mean - low) / (high - low) if high > low else np.zeros_like(mean)
    return [_mixed(CLASS_COLOURS[0], part) for part in strength.tolist()]


def colour_of_class(number: int) -> str:
    """The colour of the class at a place in the order of classes: "#rrggbb"."""
    turn, place = divmod(number, len(CLASS_COLOURS))
    hue, light, saturation = colorsys.rgb_to_hls(*_parts(CLASS_COLOURS[place]))
    return _written(colorsys.hls_to_rgb((hue + 0.07 * turn) % 1, light, saturation))


def _mixed(colour: str, strength: float) -> str:
    """A colour on white, at most at 65 % of its strength, so that black text can be read on it."""
    kept = PALEST + (0.65 - PALEST) * min(max(strength, 0.0), 1.0)
    return _written(tuple(1 - kept * (1 - part) for part in _parts(colour)))


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _written(parts: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)
