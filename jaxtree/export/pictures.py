"""The nodes of a tree as drawings show them, and drawings as text: in DOT, and as HTML for a notebook's cell.

A node has a few lines of text and a colour: that of its class, the paler the smaller the class's share; for numbers a
blue, the darker the larger the mean.
"""

import colorsys
import contextlib
import html
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.errors import InvalidInputError
from jaxtree.export.answers import answer_in_words, shortened_name
from jaxtree.export.conditions import (
    branch_in_words,
    child_nodes,
    class_names,
    means_in_words,
    node_class,
    weight_in_words,
)
from jaxtree.export.models import best_of_search, drawn_model
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import output_counts, target_means

CLASS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""The colours of Okabe and Ito (2008), which colour-blind readers can tell apart.

Further classes have them darker or lighter.
"""

DIGITS_OF_MEANS = 4
"""Significant digits of a mean at least."""

LONGEST_DRAWING = 20.0
"""Seconds after which a program that draws is stopped."""

PALEST = 0.12
"""How much of its colour a node keeps at least."""


class PicturedNode(NamedTuple):
    """A node as a drawing shows it.

    Attributes:
        node: Its number in the table.
        parent: The number of its parent; its own for the root.
        children: The numbers of its children, none where it is a leaf or the drawing ends.
        depth: Edges from the root.
        branch: The condition of its parent's split; empty for the root.
        answer: The threshold or the set of that condition alone, see `answer_in_words`.
        lines: Its text; the last line is "…" where the drawing ends.
        colour: "#rrggbb".
        hides_children: Whether the drawing ends here, though the tree goes on.
    """

    node: int
    parent: int
    children: tuple[int, ...]
    depth: int
    branch: str
    answer: str
    lines: tuple[str, ...]
    colour: str
    hides_children: bool


TERMS_OF_PLANE = 3
"""The terms of a plane that a drawing names: those of greatest weight."""


def picture(
    estimator: Any,
    *,
    feature_names: Iterable[Any] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
) -> list[PicturedNode]:
    """Returns the nodes of a fitted tree down to a depth, each before its children.

    Args:
        estimator: The tree.
        feature_names: Other names of the columns.
        class_names: Other names of the classes, in the order of `classes_`.
        max_depth: How deep; to the leaves if not given.

    Raises:
        InvalidInputError: There is not one name a column or class, or the depth is negative.
        sklearn.exceptions.NotFittedError: The estimator is not fitted.
    """
    model = with_class_names(drawn_model(estimator, feature_names, TERMS_OF_PLANE), class_names)
    if max_depth is not None and max_depth < 0:
        raise InvalidInputError(f"max_depth must be None or an integer >= 0, got {max_depth}")
    tree, schema = model.tree, model.schema
    lines, colours = (_class_lines, _class_colours) if model.classes else (_mean_lines, _mean_colours)
    lines, colours = lines(model), colours(model)
    nodes, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        depth, children = int(tree.depth[node]), tuple(child_nodes(tree, node))
        hides = bool(children) and depth == max_depth
        shown = () if hides else children
        question = (f"{schema.column_names[tree.feature[node]]}?",) if shown else ()
        node_lines = (
            *question,
            *lines[node],
            f"n = {weight_in_words(float(tree.weight[node]))}",
            *(["…"] if hides else []),
        )
        branch, answer = (
            (branch_in_words(tree, schema, node), answer_in_words(tree, schema, node)) if node else ("", "")
        )
        nodes.append(
            PicturedNode(node, int(tree.parent[node]), shown, depth, branch, answer, node_lines, colours[node], hides)
        )
        waiting.extend(shown[::-1])
    return nodes


def with_class_names(model: FittedModel, names: Sequence[str] | None) -> FittedModel:
    """The model with other names of the classes of its one output; raises InvalidInputError if they are not as many."""
    if names is None:
        return model
    numbers = [len(own) for own in model.classes]
    if numbers != [len(names)]:
        of_tree = " and ".join(map(str, numbers)) or "no"
        raise InvalidInputError(
            f"class_names must be one name a class, got {len(names)}: the tree has {of_tree} classes"
        )
    return replace(model, classes=(np.array(names, object),))


def _class_lines(model: FittedModel) -> list[list[str]]:
    """The class of every output at every node, with its share of the weight."""
    lines: list[list[str]] = [[] for _ in range(model.tree.node_count)]
    for output, (names, labels) in enumerate(zip(class_names(model), node_class(model), strict=True)):
        counts = np.asarray(output_counts(model.tree, output), np.float64)
        for own, label, count in zip(lines, labels.tolist(), counts, strict=True):
            total = count.sum()
            own.append(shortened_name(names[label]) + (f" {count[label] / total:.0%}" if total else ""))
    return lines


def _mean_lines(model: FittedModel) -> list[list[str]]:
    """The means of all targets at every node."""
    return [[_short_means(words)] for words in means_in_words(model.tree, DIGITS_OF_MEANS)]


MOST_MEANS = 3
"""The targets whose means a node has; of more the first, and how many they are."""


def _short_means(words: str) -> str:
    means = words.split(", ")
    return words if len(means) <= MOST_MEANS else f"{', '.join(means[:MOST_MEANS])}, … ({len(means)} numbers)"


def _class_colours(model: FittedModel) -> list[str]:
    label: Int[np.ndarray, " node"] = node_class(model)[0]
    count = np.asarray(output_counts(model.tree, 0), np.float64)
    total = count.sum(axis=1)
    share = np.divide(count.max(axis=1), total, out=np.zeros_like(total), where=total > 0)
    least = 1 / count.shape[1]
    strength = (share - least) / (1 - least) if least < 1 else share
    return [_mixed(colour_of_class(own), part) for own, part in zip(label.tolist(), strength.tolist(), strict=True)]


def _mean_colours(model: FittedModel) -> list[str]:
    mean: Float[np.ndarray, " node"] = target_means(model.tree)[:, 0]
    low, high = mean.min(), mean.max()
    strength = (mean - low) / (high - low) if high > low else np.zeros_like(mean)
    return [_mixed(CLASS_COLOURS[0], part) for part in strength.tolist()]


TURNS = (1.0, 0.62, 1.35, 0.4, 0.8, 1.15)
"""The lightness of the colours of classes, as a factor: eyes that do not tell hues apart tell it."""


def colour_of_class(number: int) -> str:
    """The colour of the class at a place in the order of classes: "#rrggbb"."""
    turn, place = divmod(number, len(CLASS_COLOURS))
    hue, light, saturation = colorsys.rgb_to_hls(*_parts(CLASS_COLOURS[place]))
    around, turn = divmod(turn, len(TURNS))
    return _written(colorsys.hls_to_rgb((hue + 0.07 * around) % 1, min(light * TURNS[turn], 0.9), saturation))


def _mixed(colour: str, strength: float) -> str:
    """A colour on white, at most at 65 % of its strength, so that black text can be read on it."""
    kept = PALEST + (0.65 - PALEST) * min(max(strength, 0.0), 1.0)
    return _written(tuple(1 - kept * (1 - part) for part in _parts(colour)))


def _parts(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _written(parts: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


_DOT_HEAD = """digraph tree {
  node [shape=box, style="filled,rounded", color="#6b6b6b", fontname="Helvetica"];
  edge [color="#6b6b6b", fontname="Helvetica", fontsize=11];"""


class Dot(str):
    """A text in DOT that shows itself in a notebook: as the program `dot` draws it, or as nested lists without that."""

    tree_html: str = ""
    """The text shown where there is no program."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Returns a picture, or lists."""
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(
                ["dot", "-Tsvg"], input=self.encode(), capture_output=True, timeout=LONGEST_DRAWING, check=True
            )
            return {"image/svg+xml": done.stdout.decode(), "text/plain": self}
        return {"text/html": self.tree_html, "text/plain": self}


def to_graphviz(estimator: Any, *, feature_names: Iterable[Any] | None = None, max_depth: int | None = None) -> Dot:
    r"""Returns the tree of a fitted estimator in DOT; no program of Graphviz is needed to make it.

    `dot -Tsvg tree.dot -o tree.svg` draws it. In a notebook the text is a picture where that program is installed, and
    nested lists where it is not.

    Args:
        estimator: A fitted estimator with a `tree_`.
        feature_names: Names of the columns, for a table that had none.
        max_depth: How deep to draw; to the leaves if not given.

    Raises:
        InvalidInputError: There is not one name a column, or the depth is negative.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> text = to_graphviz(ID3Classifier().fit(X, y), max_depth=1)
        >>> print(*text.splitlines()[3:6], sep=chr(10))
          0 [label="outlook?\nyes 64%\nn = 14", fillcolor="#f8e5ba"];
          1 [label="yes 100%\nn = 4", fillcolor="#efc159"];
          0 -> 1 [label="outlook = overcast"];
    """
    estimator = best_of_search(estimator)
    lines = [_DOT_HEAD]
    for node in picture(estimator, feature_names=feature_names, max_depth=max_depth):
        label = "\\n".join(map(_escaped, node.lines))
        lines.append(f'  {node.node} [label="{label}", fillcolor="{node.colour}"];')
        if node.branch:
            lines.append(f'  {node.parent} -> {node.node} [label="{_escaped(node.branch)}"];')
    dot = Dot("\n".join([*lines, "}"]))
    dot.tree_html = small_html(estimator)
    return dot


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


SMALL_DEPTH, MOST_NODES = 6, 200
"""How deep a small tree is drawn, and with how many nodes at most; both are shown where more is left out."""

OPEN_DEPTH = 2
"""Nodes above this depth are open at first."""

_STYLE = "font:13px/1.7 system-ui,sans-serif;margin:0.5em 0"
_BELOW = "margin-left:0.55em;padding-left:0.9em;border-left:1px solid #8886"
_COLOUR = "display:inline-block;width:0.7em;height:0.7em;border-radius:0.2em;margin-right:0.4em;background:"


def small_html(estimator: Any) -> str:
    """Returns the upper part of a fitted tree as HTML without scripts: what branches ask, and what nodes predict.

    Args:
        estimator: A fitted estimator with a `tree_`.

    Raises:
        sklearn.exceptions.NotFittedError: The estimator is not fitted.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> text = small_html(ID3Classifier().fit(X, y))
        >>> "outlook = overcast" in text, "<script" in text
        (True, False)
    """
    depth = _depth_of_most_nodes(estimator.tree_)
    nodes = {node.node: node for node in picture(estimator, max_depth=depth)}
    tree = estimator.tree_
    shown = f", drawn to depth {depth}" if any(node.hides_children for node in nodes.values()) else ""
    size = f"{tree.node_count:,} nodes, {tree.n_leaves:,} leaves, depth {tree.max_depth}{shown}"
    return f'<div style="{_STYLE}"><div style="opacity:0.65">{size}</div>{_html_node(nodes[0], nodes)}</div>'


def _depth_of_most_nodes(tree: Any) -> int:
    """The depth down to which a tree has no more than the most nodes."""
    depths = tree.depth[: tree.node_count]
    depth = 1
    while depth < SMALL_DEPTH and (depths <= depth + 1).sum() <= MOST_NODES:
        depth += 1
    return depth


def _html_node(node: PicturedNode, nodes: dict[int, PicturedNode]) -> str:
    question, content = (node.lines[0], node.lines[1:]) if node.children else ("", node.lines)
    branch, words = html.escape(node.branch or "all rows"), html.escape(", ".join(content))
    asks = f' <span style="opacity:0.65">{html.escape(question)}</span>' if question else ""
    line = f'<span style="{_COLOUR}{node.colour}"></span><b>{branch}</b>: {words}{asks}'
    if not node.children:
        return f'<div style="padding-left:1em">{line}</div>'
    below = "".join(_html_node(nodes[child], nodes) for child in node.children)
    is_open = " open" if node.depth < OPEN_DEPTH else ""
    summary = f'<summary style="cursor:pointer">{line}</summary>'
    return f'<details{is_open}>{summary}<div style="{_BELOW}">{below}</div></details>'
