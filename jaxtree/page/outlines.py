"""Trees as outlines without a script: what each node adds to a score, or asks by the greatest terms of a plane."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.export.conditions import branch_in_words, condition
from jaxtree.page.answers import Answers
from jaxtree.page.shapley import explained_names
from jaxtree.soft.oblique_tree import ObliqueTree
from jaxtree.table.numerals import decimal_near, decimals_together
from jaxtree.table.schema import Schema
from jaxtree.tree import Tree
from jaxtree.tree.link import ratios
from jaxtree.tree.nodes import target_means

MOST_TREES = 3
MOST_DEPTH, MOST_NODES = 6, 120
"""How deep a tree is outlined, and with how many nodes at most."""

OPEN_DEPTH = 2
"""Nodes above this depth are open at first."""

SMALLEST = 1e-4
"""The share of the greatest step below which a step counts as none."""

MOST_CATEGORIES = 3
"""Categories of a set that are written."""

MOST_TERMS = 3
"""Terms of a plane that are written, the greatest."""


class Outline(NamedTuple):
    """A node of an outline.

    Attributes:
        branch: The condition that leads to it.
        whole: The same without anything left out; empty where nothing is.
        says: What it adds, or predicts, in words.
        rows: Its number of rows.
        share: How strong its colour is, from -1 to 1.
        is_open: Whether its children are shown at first.
        children: Those below it.
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


def outlines_of_rounds(answers: Answers, first: int) -> list[OutlinedTree]:
    """Returns outlines of some trees of boosted trees, from a number on."""
    estimator, names = answers.estimator, explained_names(answers)
    trees = []
    for number in range(first, min(first + MOST_TREES, len(estimator.forest_))):
        tree = estimator.forest_[number]
        steps = ratios(target_means(tree).T).T if answers.is_ratio else mean_steps(tree)
        branches = [("all rows", "")]
        branches += [_branch(tree, answers.schema, node) for node in range(1, tree.node_count)]
        words = _steps_in_words(steps, [name.removeprefix("score of ") for name in names])
        trees.append(OutlinedTree(f"Tree {number}", _size(tree), _outline(tree, branches, words, _shares(steps))))
    return trees


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
    if len(asked.values) <= MOST_CATEGORIES:
        return whole, ""
    short = asked._replace(values=asked.values[: MOST_CATEGORIES - 1]).in_words()
    left = len(asked.values) - MOST_CATEGORIES + 1
    missing = " or missing" if whole.endswith("} or missing") else ""
    return f"{short.removesuffix('}')} and {left} more}}{missing}", whole


def _steps_in_words(steps: Float[np.ndarray, "node score"], names: list[str]) -> list[str]:
    """The addition of every node to the score; of several scores, to the one that it changes most."""
    size = np.abs(steps)
    # What changes nothing is of the score that the tree changes most.
    place = np.where(size.any(axis=1), size.argmax(axis=1), size.max(axis=0).argmax())
    own = steps[np.arange(len(steps)), place]
    own = np.where(np.abs(own) < SMALLEST * np.abs(own).max(initial=0.0), 0.0, own)
    numbers = decimals_together(np.abs(own).tolist(), 3)
    signs = ["−" if step < 0 else "+" if step else "±" for step in own.tolist()]
    named = [f"{names[at]} " if len(names) > 1 else "" for at in place.tolist()]
    return [f"{name}{sign}{number}" for name, sign, number in zip(named, signs, numbers, strict=True)]


def _shares(steps: Float[np.ndarray, "node score"]) -> Float[np.ndarray, " node"]:
    own = steps[np.arange(len(steps)), np.abs(steps).argmax(axis=1)]
    return own / max(float(np.abs(own).max()), 1e-300)


def outline_of_planes(answers: Answers) -> OutlinedTree:
    """Returns the outline of a tree whose nodes compare planes with 0."""
    tree: ObliqueTree = answers.estimator.tree_
    branches = [("all rows", ""), *((plane_in_words(tree, node), "") for node in range(1, tree.node_count))]
    value = np.asarray(tree.value, np.float64)
    if answers.classes:
        label = value.argmax(axis=1)
        words = [f"{answers.classes[own]} {value[node, own]:.0%}" for node, own in enumerate(label.tolist())]
        shares = value.max(axis=1)
    else:
        words = decimals_together(value[:, 0].tolist(), 4)
        spread = max(float(np.ptp(value[:, 0])), 1e-300)
        shares = (value[:, 0] - value[:, 0].min()) / spread
    return OutlinedTree("Tree", _size(tree), _outline(tree, branches, words, shares))


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
