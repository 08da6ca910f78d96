r"""Minimal cost-complexity pruning (Breiman et al., *Classification and Regression Trees*, 1984, chapter 3).

The *risk* of a node is $R(t) = i(t)\, w_t / w_{\text{root}}$, with its impurity i and weight w; of a tree T it is the
sum over the leaves. At a price alpha for a leaf a tree costs $R(T) + \alpha\,|T|$. The subtree T_t below a node is
cheaper as a leaf from its *link* $g(t) = (R(t) - R(T_t)) / (|T_t| - 1)$ on, where T_t has been pruned for all lower
prices. With cost "error" the risk is the share of the whole weight that is not of the node's majority class, the book's
own choice for classes.
"""

import heapq
import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.arrays import AnyArray, is_traced
from jaxtree.prune.bottom_up import collapse_to_cheapest, sum_over_leaves
from jaxtree.prune.inputs import Number, as_float64, check_choice, check_classes, check_numbers, in_float64, slack_of
from jaxtree.tree import Tree
from jaxtree.tree.nodes import output_counts
from jaxtree.tree.paths import levels

ROUNDING = 1e-12
"""Risks that differ by less than this share of the node's are equal: those of exact arithmetic differ by 1e-15."""

COSTS = ("impurity", "error")
"""The costs that a risk may be computed from."""

LinkHeap = list[tuple[float, int]]
"""A heap of links with their nodes, the greatest link first: they are stored with a minus."""


class CostComplexityPath(NamedTuple):
    """The trees that are cheapest at some price, from the whole tree to its root alone.

    Attributes:
        ccp_alphas: The price from which on each is the cheapest, ascending; 0 for the whole tree.
        impurities: Its risk.
    """

    ccp_alphas: Float[np.ndarray, " step"]
    impurities: Float[np.ndarray, " step"]


class WeakestLinks(NamedTuple):
    """The effect of collapsing each node, in the order of prices.

    Attributes:
        alpha: The price from which on a node is collapsed; infinite for a leaf, and for a node that one above it takes
            along at a lower price or the same.
        rise: By how much the risk then rises; 0 where the price is infinite.
    """

    alpha: Float[np.ndarray, " node"]
    rise: Float[np.ndarray, " node"]


def cost_complexity(tree: Tree, ccp_alpha: Number, *, cost: str = "impurity") -> Bool[AnyArray, "... node"]:
    """Returns the nodes collapsed in the smallest subtree that is cheapest at a price for every leaf.

    A node is collapsed if its link is at most the price, as in scikit-learn; so at price 0, other than in
    scikit-learn's estimators, splits are undone that gain nothing. One price or many: the tree is looked at once.
    For a traced tree the cheapest subtree at each price is found from the leaves up instead, which is the same except
    for rounding where a price is a link exactly, and marks nodes below collapsed ones too.

    Args:
        tree: A tree alone in its table with its root at node 0.
        ccp_alpha: The price, in units of the cost; an array gives a mask for each.
        cost: "impurity" for the tree's own, or "error" for the misclassified share, of several outputs their mean.

    Raises:
        InvalidInputError: A price is negative or no number, the cost another word, or the error that of numbers.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> take_tree(tree, collapsed=cost_complexity(tree, 0.02)).n_leaves
        4
    """
    price = check_numbers("ccp_alpha", ccp_alpha)[..., None]
    if is_traced(tree):
        risk = node_risks(tree, cost)
        return collapse_to_cheapest(tree, risk + as_float64(price), slack=slack_of(tree.impurity, ROUNDING) * risk[0])
    return weakest_links(tree, cost).alpha <= price


def cost_complexity_path(tree: Tree, *, cost: str = "impurity") -> CostComplexityPath:
    """Returns all prices at which `cost_complexity` prunes more, one step a node, and the risks of the pruned trees.

    Links that rounding alone parts from 0, or from each other on one path, are equal.

    Args:
        tree: A tree alone in its table with its root at node 0, on the host.
        cost: "impurity" or "error", as in `cost_complexity`.

    Raises:
        InvalidInputError: The cost is another word, or the error that of numbers.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = cost_complexity_path(DecisionTreeClassifier(max_depth=2).fit(X, y).tree_)
        >>> path.ccp_alphas.round(4), path.impurities.round(4)
        (array([0.    , 0.2598, 0.3333]), array([0.0735, 0.3333, 0.6667]))
    """
    links = weakest_links(tree, cost)
    pruned = np.flatnonzero(np.isfinite(links.alpha))
    pruned = pruned[np.argsort(links.alpha[pruned], kind="stable")]
    whole = sum_over_leaves(tree, node_risks(tree, cost))[0]
    return CostComplexityPath(
        np.concatenate([[0.0], links.alpha[pruned]]), whole + np.concatenate([[0.0], np.cumsum(links.rise[pruned])])
    )


def weakest_links(tree: Tree, cost: str = "impurity") -> WeakestLinks:
    r"""Returns the price at which every node is collapsed, from the leaves up.

    Below a node, seen from the highest price downwards, its children are leaves first, and then are split again one
    link after the other. The node's own link is settled as soon as it is greater than the next of these; those
    passed by then are never used, since the node is collapsed before. So a link is put into heaps and taken out
    $O(\log n)$ times, however deep the tree.
    """
    risk, first_child, num_children = (
        np.asarray(values).tolist() for values in (node_risks(tree, cost), tree.first_child, tree.num_children)
    )
    rise, more_leaves = [0.0] * len(risk), [0] * len(risk)
    share, links = slack_of(tree.impurity, ROUNDING), dict[int, LinkHeap]()
    inner = (nodes[~np.asarray(tree.is_leaf)[nodes]].tolist() for nodes in reversed(levels(tree)))
    for node in itertools.chain.from_iterable(inner):
        children = range(first_child[node], first_child[node] + num_children[node])
        below, leaves = sum(risk[child] for child in children), len(children)
        heap = _meld([links.pop(child, []) for child in children])
        slack = share * risk[node]
        while heap and risk[node] - below <= -heap[0][0] * (leaves - 1) + slack:
            passed = heapq.heappop(heap)[1]
            below, leaves = below - rise[passed], leaves + more_leaves[passed]
        gap = risk[node] - below
        rise[node], more_leaves[node] = gap if gap > slack else 0.0, leaves - 1
        heapq.heappush(heap, (-rise[node] / more_leaves[node], node))
        links[node] = heap
    # A node that is not among the root's links is collapsed with one above it, or lies where no walk comes.
    alpha = np.full(len(risk), np.inf)
    for link, node in links.get(0, []):
        alpha[node] = -link
    return WeakestLinks(alpha, np.where(np.isfinite(alpha), rise, 0.0))


@in_float64
def node_risks(tree: Tree, cost: str = "impurity") -> Float[AnyArray, " node"]:
    """Returns impurity, or error, times share of the whole weight."""
    check_choice("cost", cost, COSTS)
    weight = as_float64(tree.weight)
    if cost == "impurity":
        return as_float64(tree.impurity) * weight / weight[0]
    check_classes(tree, 'cost="error"')
    outputs = len(tree.num_classes)
    right = sum(as_float64(output_counts(tree, output)).max(axis=1) for output in range(outputs))
    return (weight - right / outputs) / weight[0]


def _meld(heaps: list[LinkHeap]) -> LinkHeap:
    """Puts the entries of the smaller heaps into the largest."""
    heaps = sorted(heaps, key=len)
    largest = heaps.pop()
    for heap in heaps:
        for entry in heap:
            heapq.heappush(largest, entry)
    return largest
