"""Trees of a page: node tables with rows for the page's script, and outlines in words."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int, Real

from jaxtree.errors import InvalidInputError, present
from jaxtree.export.conditions import branch_in_words, class_names, condition
from jaxtree.export.models import exported_model
from jaxtree.export.pictures import CLASS_COLOURS, colour_of_class
from jaxtree.figures.nodes import bars_of_nodes, visits_of
from jaxtree.figures.outputs import score_labels
from jaxtree.page.cards import compacted
from jaxtree.page.model import PageModel, PageTable
from jaxtree.prune.draws import node_numbers
from jaxtree.prune.validation import HeldOut, hold_out_rows
from jaxtree.prune.weakest_links import weakest_links
from jaxtree.soft.oblique_tree import ObliqueTree
from jaxtree.table.numerals import decimal_near, decimals_together
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree import Tree
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.link import ratios
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import output_counts, target_means

ALL_DIGITS, DIGITS, FEW_DIGITS = 17, 12, 6
"""Significant digits of a number that lies between others; of one that is summed, so that sums are right to nine; of
one only read."""

DRAW = 0
"""The seed of the draw of dropout."""

MOST_ROWS, MOST_CELLS = 5_000, 200_000
"""The most rows that can be followed one by one, and the most values that they have in all."""


class ShownTree(NamedTuple):
    """The tree that a page shows.

    Attributes:
        estimator: The fitted estimator that the page is of.
        number: Which tree of the forest it is; None if it is none of a forest.
        model: The tree's model.
    """

    estimator: Any
    number: int | None
    model: FittedModel

    @property
    def tree(self) -> Tree:
        """The node table."""
        return self.model.tree

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.model.schema

    @property
    def classes(self) -> list[str]:
        """The names of the classes; none for numbers."""
        return class_names(self.model)[0] if self.model.classes else []


def shown_tree(estimator: Any, tree: int) -> ShownTree:
    """Finds the tree that a page of an estimator shows.

    Args:
        estimator: A fitted tree or forest of jaxtree.
        tree: The number of the tree in a forest; 0 for a single tree.

    Raises:
        InvalidInputError: It has several outputs, or there is no such tree.
        InvalidTypeError: It is no tree or forest of hard splits along the axes.
        sklearn.exceptions.NotFittedError: It is not fitted.
    """
    check_number(tree, len(exported_model(estimator).forest))
    if not estimator.model_.averages_trees:
        return ShownTree(estimator, None, estimator.model_)
    return ShownTree(estimator, int(tree), estimator.estimators_[tree].model_)


def check_number(tree: Any, num_trees: int) -> None:
    """Raises InvalidInputError if there is no tree of a number."""
    if not isinstance(tree, int | np.integer) or not 0 <= tree < num_trees:
        raise InvalidInputError(f"tree must be a whole number from 0 to {num_trees - 1}, got {tree!r}")


def compact_rows(table: Real[np.ndarray, "row column"]) -> list[list[int | float | None]]:
    """Returns every row as its entries that are not 0: column, value, column, value.

    >>> compact_rows(np.array([[0.0, 2.5], [0.0, 0.0]]))
    [[1, 2.5], []]
    """
    table = np.asarray(table)
    rows: list[list[Any]] = [[] for _ in table]
    row, column = np.nonzero(table)
    for place, name, value in zip(row.tolist(), column.tolist(), compacted(table[row, column], DIGITS), strict=True):
        rows[place] += (name, value)
    return rows


class PageRows(NamedTuple):
    """Rows of a page that were sent down its tree.

    Attributes:
        table: The rows.
        target: The class of every row, -1 if the tree does not know it; or its number.
        end: The node where its walk ends.
        held: Their sums at the nodes.
    """

    table: PageTable
    target: Real[np.ndarray, " row"]
    end: Int[np.ndarray, " row"]
    held: HeldOut


def page_data(tree_shown: ShownTree, rows: list[PageRows]) -> dict[str, Any]:
    """Everything that the page's script reads."""
    sets = [row_columns(tree_shown, own) for own in rows]
    if not any(own.table.name == "training" for own in rows):
        of_growth = columns_of_growth(tree_shown)
        sets = sets if of_growth is None else [of_growth, *sets]
    num_classes = len(tree_shown.classes)
    return {
        "classes": tree_shown.classes,
        "colours": [colour_of_class(place) for place in range(num_classes)] or [CLASS_COLOURS[0]],
        "columns": [
            {
                "name": column.name if column.unit is None else f"{column.name} ({column.unit})",
                "categories": None if column.bins is not None else [value_in_words(name) for name in column.categories],
            }
            for column in tree_shown.schema.columns
        ],
        "canPrune": not tree_shown.model.is_vote,
        "nodes": node_columns(tree_shown),
        "histograms": histograms(tree_shown, rows[0]) if rows else [],
        "sets": sets,
    }


def node_columns(tree_shown: ShownTree) -> dict[str, Any]:
    """Returns the node table as the page takes it.

    Its columns are `firstChild` and `numChildren`; `column`, the column that a node asks for, -1 at a leaf;
    `threshold`, where the split is one of a numeric column, and `limit`, that in words; `branch`, what the parent's
    split asks; `rows`, `weight`, `impurity` and `gain`; `price`, the alpha from which on it is collapsed; `number`, its
    number in the draw of dropout. Classes have `label`, `shares` and `counts`, numbers `mean`.
    """
    tree, schema = tree_shown.tree, tree_shown.schema
    is_leaf, asked = np.asarray(tree.is_leaf), np.maximum(np.asarray(tree.feature), 0)
    has_limit = ~is_leaf & schema.columns.is_numeric[asked]
    columns: dict[str, Any] = {
        "firstChild": compacted(tree.first_child),
        "numChildren": compacted(tree.num_children),
        "column": np.where(is_leaf, -1, asked).tolist(),
        "threshold": compacted(np.where(has_limit, np.asarray(tree.threshold), np.inf), ALL_DIGITS),
        "limit": [
            schema.columns[own].limit(limit).words if is_number and np.isfinite(limit) else None
            for own, limit, is_number in zip(asked.tolist(), tree.threshold.tolist(), has_limit.tolist(), strict=True)
        ],
        "branch": ["", *(branch_in_words(tree, schema, node) for node in range(1, tree.node_count))],
        "rows": compacted(tree.num_rows),
        "weight": compacted(np.asarray(tree.weight, np.float64), DIGITS),
        "impurity": compacted(np.maximum(tree.impurity, 0.0), FEW_DIGITS),
        "gain": compacted(tree.gain, FEW_DIGITS),
        "price": compacted(weakest_links(tree).alpha, ALL_DIGITS),
        "number": compacted(node_numbers(tree, key=jax.random.key(DRAW)).astype(np.int64)),
    }
    value, label = tree_shown.model.node_value, tree_shown.model.node_label
    if label is None:
        return columns | {"mean": compacted(value[:, 0], ALL_DIGITS)}
    counts = np.asarray(output_counts(tree), np.float64)
    return columns | {"label": compacted(label[0]), "shares": compact_rows(value), "counts": compact_rows(counts)}


def rows_of_tree(tree_shown: ShownTree, table: PageTable) -> PageRows:
    """Sends rows with a target down the tree."""
    fitted, target = tree_shown.model, table.truth.T
    held = hold_out_rows(tree_shown.tree, fitted.predictor, table.values, target, None)
    return PageRows(table, target[0], fitted.predictor.ends(table.values), held)


def row_columns(tree_shown: ShownTree, rows: PageRows) -> dict[str, Any]:
    """Returns rows as the page takes them.

    `ended` has their sums where walks end when nothing is pruned, a list a node, see `HeldOut`; `middle` is what
    numbers are counted from there. `shown` are the first rows one by one: `number`, their places in the given
    table, None where these are those in the list; `end`, `target`, and for every column its `cells`.
    """
    most = max(1, min(MOST_ROWS, MOST_CELLS // len(tree_shown.schema.columns)))
    number = rows.table.number[:most]
    shown = {
        "number": None if (number == np.arange(len(number))).all() else number.tolist(),
        "end": compacted(rows.end[:most]),
        "target": compacted(rows.target[:most], ALL_DIGITS),
        "cells": [
            _cells_of(column, cells)
            for column, cells in zip(tree_shown.schema.columns, rows.table.values[:most].T, strict=True)
        ],
    }
    columns = {
        "name": rows.table.name,
        "size": len(rows.target),
        "ended": compact_rows(rows.held.ended),
        "shown": shown,
    }
    return columns if tree_shown.classes else columns | {"middle": float(target_means(tree_shown.tree)[0, 0])}


def columns_of_growth(tree_shown: ShownTree) -> dict[str, Any] | None:
    """The same of the rows that the tree was grown on, from its own counts; None for numbers."""
    if not tree_shown.classes:
        return None
    tree = tree_shown.tree
    at_leaves = np.where(np.asarray(tree.is_leaf)[:, None], np.asarray(output_counts(tree), np.float64), 0.0)
    return {"name": "training", "size": int(tree.num_rows[0]), "ended": compact_rows(at_leaves), "shown": None}


def _cells_of(column: Column, cell: Float[np.ndarray, " row"]) -> list[int | float | None]:
    """The numbers of a column, in so few digits that each stays in its bin, or the places of its categories.

    None where a value is missing.
    """
    if column.bins is None:
        return compacted(cell, DIGITS)
    bins = np.searchsorted(column.bins.edges, cell)
    for digits in (FEW_DIGITS, 9, DIGITS):
        short = compacted(cell, digits)
        if (np.searchsorted(column.bins.edges, np.array(short, np.float64)) == bins).all():
            return short
    return compacted(cell, ALL_DIGITS)


MOST_STACKS = 8
"""The most classes with a stack each; of more, the last stack has all that follow."""


def histograms(tree_shown: ShownTree, rows: PageRows) -> list[dict[str, Any] | None]:
    """Returns a histogram for every inner node that rows come to, of those whose value is known; None for the others.

    `low` and `high` are the ends of the bars in units of the column, or for categories in their places; `missing` is
    how many rows lack a value; `bars` has a list for each bar with the number of rows in every stack.
    """
    tree, schema, values = tree_shown.tree, tree_shown.schema, rows.table.values
    parts = tree_shown.model.predictor.instances(values)
    visits = visits_of(tree, parts.row, parts.node, len(values))
    visits = visits.those(~np.asarray(tree.is_leaf)[visits.node])
    stack, num_stacks = _stacks(tree_shown, rows)
    categories = np.where(schema.columns.is_numeric, 0, schema.num_values)
    asked = np.maximum(np.asarray(tree.feature), 0)
    found = bars_of_nodes(
        visits, values[visits.row, asked[visits.node]], categories[asked], stack[visits.row], num_stacks
    )
    ends = zip(compacted(found.low, ALL_DIGITS), compacted(found.high, ALL_DIGITS), strict=True)
    return [
        {"low": low, "high": high, "missing": missing, "bars": heights.tolist()} if len(heights) else None
        for (low, high), missing, heights in zip(ends, found.missing.tolist(), found.heights, strict=True)
    ]


def _stacks(tree_shown: ShownTree, rows: PageRows) -> tuple[Int[np.ndarray, " row"], int]:
    """The stack of every row, and how many there are; rows of unknown classes are in the last."""
    if not tree_shown.classes:
        return np.zeros(len(rows.target), np.int64), 1
    is_unknown = rows.target < 0
    num_stacks = min(len(tree_shown.classes) + bool(is_unknown.any()), MOST_STACKS)
    return np.minimum(np.where(is_unknown, num_stacks - 1, rows.target), num_stacks - 1).astype(np.int64), num_stacks


MOST_TREES = 3
"""Trees that are shown at once."""

MOST_OUTLINED = 800
"""Nodes of all outlined trees, which take some 250 kB; the trees that are shown at first are there in any case."""

MOST_DEPTH, MOST_NODES = 6, 120
"""How deep a tree is outlined, and with how many nodes at most."""

OPEN_DEPTH = 2
"""Nodes above this depth are open at first."""

SMALLEST = 1e-4
"""The share of the greatest step below which a step counts as none."""

CATEGORIES_IN_WORDS = 3
"""Categories of a set that are written."""

MOST_TERMS = 3
"""Terms of a plane that are written, the greatest."""


class Outline(NamedTuple):
    """A node of an outline.

    Attributes:
        branch: The condition that leads to it.
        whole: The same without anything left out; empty where nothing is.
        says: Its addition to the score, or its prediction, in words.
        rows: Its number of rows.
        share: How strong its colour is, from -1 to 1.
        is_open: Whether its children are shown at first.
        children: The nodes below it.
        hidden: How many nodes below are left out.
    """

    branch: str
    whole: str
    says: str
    rows: str
    share: float
    is_open: bool
    children: list["Outline"]
    hidden: int

    @property
    def num_nodes(self) -> int:
        """Its number of nodes, itself included."""
        return 1 + sum(child.num_nodes for child in self.children)


class OutlinedTree(NamedTuple):
    """A tree of a page.

    Attributes:
        title: Its heading.
        size: Its size, in words.
        root: Its first node.
    """

    title: str
    size: str
    root: Outline


def outlines_of_trees(model: PageModel, first: int) -> list[OutlinedTree]:
    """Returns outlines of the trees of a forest or boosted trees, from a number on: as many as a page has room for."""
    trees: list[OutlinedTree] = []
    left = MOST_OUTLINED
    for number in range(first, len(model.estimator.forest_)):
        found = _outline_of_tree(model, number) if model.kind == ModelKind.FOREST else _outline_of_round(model, number)
        left -= found.root.num_nodes
        if left < 0 and len(trees) >= MOST_TREES:
            break
        trees.append(found)
    return trees


def _outline_of_round(model: PageModel, number: int) -> OutlinedTree:
    """The outline of one of boosted trees: what its nodes add to scores."""
    estimator = model.estimator
    names, _ = score_labels(estimator, estimator.model_.node_value.shape[1])
    tree = estimator.forest_[number]
    steps = ratios(target_means(tree).T).T if model.kind == ModelKind.WEIGHTED else mean_steps(tree)
    branches = [("all rows", ""), *(_branch(tree, model.schema, node) for node in range(1, tree.node_count))]
    words = _steps_in_words(steps, names)
    return OutlinedTree(f"Tree {number}", _size(tree), _outline(tree, branches, words, _strengths(steps)))


def _outline_of_tree(model: PageModel, number: int) -> OutlinedTree:
    """The outline of a tree of a forest: what its nodes predict."""
    fitted = model.estimator.estimators_[number].model_
    if not model.classes:
        return outline_of_numbers(f"Tree {number}", fitted)
    tree, (label,), value = fitted.tree, present(fitted.node_label), np.asarray(fitted.node_value, np.float64)
    branches = [("all rows", ""), *(_branch(tree, model.schema, node) for node in range(1, tree.node_count))]
    words = [f"{model.classes[own]} {value[node, own]:.0%}" for node, own in enumerate(label.tolist())]
    shares = value[np.arange(len(value)), label]
    return OutlinedTree(f"Tree {number}", _size(tree), _outline(tree, branches, words, shares))


def mean_steps(tree: Tree) -> Float[np.ndarray, "node score"]:
    """Returns the step of every leaf, and of every other node the mean over the rows that come to it."""
    rows = np.asarray(tree.num_rows, np.float64)
    total = np.where(np.asarray(tree.is_leaf)[:, None], target_means(tree) * rows[:, None], 0.0)
    for node in range(tree.node_count - 1, 0, -1):
        total[int(tree.parent[node])] += total[node]
    return total / np.maximum(rows, 1)[:, None]


def _branch(tree: Any, schema: Schema, node: int) -> tuple[str, str]:
    """The condition that leads to a node, of a long set its first categories; and then the whole condition."""
    whole, asked = branch_in_words(tree, schema, node), condition(tree, schema, node)
    if len(asked.values) <= CATEGORIES_IN_WORDS:
        return whole, ""
    short = asked._replace(values=asked.values[: CATEGORIES_IN_WORDS - 1]).in_words()
    left = len(asked.values) - CATEGORIES_IN_WORDS + 1
    missing = " or missing" if whole.endswith("} or missing") else ""
    return f"{short.removesuffix('}')} and {left} more}}{missing}", whole


def _steps_in_words(steps: Float[np.ndarray, "node score"], names: list[str]) -> list[str]:
    """The addition of every node to the score; of several scores, to the one that it changes most."""
    size = np.abs(steps)
    # A node that changes nothing belongs to the score that the tree changes most.
    place = np.where(size.any(axis=1), size.argmax(axis=1), size.max(axis=0).argmax())
    own = steps[np.arange(len(steps)), place]
    own = np.where(np.abs(own) < SMALLEST * np.abs(own).max(initial=0.0), 0.0, own)
    numbers = decimals_together(np.abs(own).tolist(), 3)
    signs = ["−" if step < 0 else "+" if step else "±" for step in own.tolist()]
    named = [f"{names[at]} " if len(names) > 1 else "" for at in place.tolist()]
    return [f"{name}{sign}{number}" for name, sign, number in zip(named, signs, numbers, strict=True)]


def _strengths(steps: Float[np.ndarray, "node score"]) -> Float[np.ndarray, " node"]:
    own = steps[np.arange(len(steps)), np.abs(steps).argmax(axis=1)]
    return own / max(float(np.abs(own).max()), 1e-300)


def outline_of_planes(model: PageModel) -> OutlinedTree:
    """Returns the outline of a tree whose nodes compare planes with 0."""
    tree: ObliqueTree = model.estimator.tree_
    branches = [("all rows", ""), *((plane_in_words(tree, node), "") for node in range(1, tree.node_count))]
    value = np.asarray(tree.value, np.float64)
    if model.classes:
        label = value.argmax(axis=1)
        words = [f"{model.classes[own]} {value[node, own]:.0%}" for node, own in enumerate(label.tolist())]
        shares = value.max(axis=1)
    else:
        words = decimals_together(value[:, 0].tolist(), 4)
        spread = max(float(np.ptp(value[:, 0])), 1e-300)
        shares = (value[:, 0] - value[:, 0].min()) / spread
    return OutlinedTree("Tree", _size(tree), _outline(tree, branches, words, shares))


def outline_of_numbers(title: str, model: FittedModel) -> OutlinedTree:
    """Returns the outline of a tree that predicts numbers."""
    tree, value = model.tree, np.asarray(model.node_value[:, 0], np.float64)
    branches = [("all rows", ""), *(_branch(tree, model.schema, node) for node in range(1, tree.node_count))]
    words = [own.replace("-", "−") for own in decimals_together(value.tolist(), 3)]
    return OutlinedTree(
        title, _size(tree), _outline(tree, branches, words, value / max(float(np.abs(value).max()), 1e-300))
    )


def plane_in_words(tree: ObliqueTree, node: int) -> str:
    """Returns the condition of the plane above a node, by its greatest terms."""
    parent = int(tree.parent[node])
    normal, names = tree.normal[parent], tree.inputs.names
    size = np.abs(normal)
    order = [int(place) for place in np.argsort(-size, kind="stable") if size[place] > 0]
    terms = [_term(float(normal[place]), names[place]) for place in order[:MOST_TERMS]]
    left = len(order) - len(terms)
    words = " ".join(terms).removeprefix("+ ") + (f" and {left} smaller terms" if left > 0 else "")
    sign = ">" if node > int(tree.first_child[parent]) else "≤"
    limit = decimal_near(-float(tree.offset[parent]), least_digits=3).replace("-", "−")
    return f"{words or '0'} {sign} {limit}"


def _term(weight: float, name: str) -> str:
    return f"{'−' if weight < 0 else '+'} {decimal_near(abs(weight), least_digits=2)} × {name}"


def _size(tree: Any) -> str:
    depth = int(np.max(tree.depth))
    return f"{tree.node_count:,} nodes, {tree.n_leaves:,} leaves, depth {depth}"


def _outline(
    tree: Any, branches: list[tuple[str, str]], words: list[str], shares: Float[np.ndarray, " node"]
) -> Outline:
    """The root, with what is below it down to a depth."""
    depth = np.asarray(tree.depth)
    most = next((own for own in range(MOST_DEPTH, 1, -1) if (depth <= own).sum() <= MOST_NODES), 1)

    def outline(node: int) -> Outline:
        first, number = int(tree.first_child[node]), int(tree.num_children[node])
        is_cut = number > 0 and depth[node] >= most
        children = [] if is_cut else [outline(first + branch) for branch in range(number)]
        rows = f"{int(tree.num_rows[node]):,}"
        hidden = number if is_cut else 0
        return Outline(
            *branches[node], words[node], rows, float(shares[node]), bool(depth[node] < OPEN_DEPTH), children, hidden
        )

    return outline(0)
