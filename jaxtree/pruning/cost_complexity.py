r"""Minimal cost-complexity pruning (Breiman et al., *Classification and Regression Trees*, 1984, chapter 3).

The *risk* of a node is $R(t) = i(t)\, w_t / w_{\text{root}}$, with its impurity i and weight w; of a tree T it is the
sum over the leaves. At a price alpha for a leaf a tree costs $R(T) + \alpha\,|T|$. The subtree T_t below a node is
cheaper as a leaf from its *link* $g(t) = (R(t) - R(T_t)) / (|T_t| - 1)$ on, where T_t has been pruned for all lower
prices.
"""

import dataclasses
import heapq
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jaxtree.arrays import FloatLike
from jaxtree.errors import InvalidInputError
from jaxtree.tree import Tree

Links = list[tuple[float, int]]
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
    """What collapsing each node does, in the order of prices.

    Attributes:
        alpha: The price from which on a node is collapsed; infinite for a leaf, and for a node that one above it takes
            along at a lower price or the same.
        rise: By how much the risk then rises; 0 where the price is infinite.
    """

    alpha: Float[np.ndarray, " node"]
    rise: Float[np.ndarray, " node"]


@dataclasses.dataclass(frozen=True)
class CostComplexity:
    """Prunes a fitted tree to the smallest subtree that is cheapest at a price for every leaf.

    Attributes:
        ccp_alpha: The price, 0 or more.

    Raises:
        InvalidInputError: The price is negative or no number.

    Example:
        >>> CostComplexity(ccp_alpha=0.01)
        CostComplexity(ccp_alpha=0.01)
    """

    ccp_alpha: float | int

    def __post_init__(self):
        """Checks the price."""
        _check_alpha(self.ccp_alpha)

    def collapsed(self, tree: Tree, *, key: PRNGKeyArray | None = None) -> Bool[np.ndarray, " node"]:
        """The nodes that this pruning collapses; nothing is drawn with the key."""
        return cost_complexity(tree, self.ccp_alpha)


def cost_complexity(tree: Tree, ccp_alpha: FloatLike) -> Bool[np.ndarray, "... node"]:
    """Returns the nodes collapsed in the smallest subtree that is cheapest at a price for every leaf.

    A node is collapsed if its link is at most the price, as in scikit-learn; so at price 0, other than in
    scikit-learn's estimators, splits are undone that gain nothing. One price or many: the tree is looked at once.

    Args:
        tree: A tree alone in its table with its root at node 0, on the host.
        ccp_alpha: The price, in units of the tree's impurity; an array gives a mask for each.

    Raises:
        InvalidInputError: A price is negative or no number.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> take_tree(tree, collapsed=cost_complexity(tree, 0.02)).n_leaves
        4
    """
    return weakest_links(tree).alpha <= _check_alpha(ccp_alpha)[..., None]


def cost_complexity_path(tree: Tree) -> CostComplexityPath:
    """Returns all prices at which `cost_complexity` prunes more, one step a node, and the risks of the pruned trees.

    Links lower than 0, which rounding alone makes, are 0.

    Args:
        tree: A tree alone in its table with its root at node 0, on the host.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> path = cost_complexity_path(DecisionTreeClassifier(max_depth=2).fit(X, y).tree_)
        >>> path.ccp_alphas.round(4), path.impurities.round(4)
        (array([0.    , 0.2598, 0.3333]), array([0.0735, 0.3333, 0.6667]))
    """
    links = weakest_links(tree)
    pruned = np.flatnonzero(np.isfinite(links.alpha))
    pruned = pruned[np.argsort(links.alpha[pruned], kind="stable")]
    whole = _risk(tree)[tree.is_leaf].sum()
    return CostComplexityPath(
        np.concatenate([[0.0], links.alpha[pruned]]),
        whole + np.concatenate([[0.0], np.cumsum(links.rise[pruned])]),
    )


def weakest_links(tree: Tree) -> WeakestLinks:
    r"""Returns the price at which every node is collapsed, from the leaves up.

    Below a node, seen from the highest price downwards, its children are leaves first, and then are split again one
    link after the other. The node's own link is settled as soon as it is greater than the next of these; those
    passed by then are never used, since the node is collapsed before. So a link is put into heaps and taken out
    $O(\log n)$ times, however deep the tree.
    """
    risk, first_child, num_children = _risk(tree).tolist(), tree.first_child.tolist(), tree.num_children.tolist()
    alpha, rise, more_leaves = [np.inf] * len(risk), [0.0] * len(risk), [0] * len(risk)
    links: dict[int, Links] = {}
    for node in _inner_nodes_from_below(tree).tolist():
        children = range(first_child[node], first_child[node] + num_children[node])
        below, leaves = sum(risk[child] for child in children), len(children)
        heap = _meld([links.pop(child, []) for child in children])
        while heap and risk[node] - below <= -heap[0][0] * (leaves - 1):
            passed = heapq.heappop(heap)[1]
            below, leaves = below - rise[passed], leaves + more_leaves[passed]
            alpha[passed], rise[passed] = np.inf, 0.0
        rise[node], more_leaves[node] = max(risk[node] - below, 0.0), leaves - 1
        alpha[node] = rise[node] / more_leaves[node]
        heapq.heappush(heap, (-alpha[node], node))
        links[node] = heap
    return WeakestLinks(np.array(alpha), np.array(rise))


def _risk(tree: Tree) -> Float[np.ndarray, " node"]:
    """Impurity times share of the whole weight."""
    weight = np.asarray(tree.weight, np.float64)
    return np.asarray(tree.impurity, np.float64) * weight / weight[0]


def _inner_nodes_from_below(tree: Tree) -> Int[np.ndarray, " inner"]:
    inner = np.flatnonzero(~np.asarray(tree.is_leaf))
    return inner[np.argsort(-np.asarray(tree.depth)[inner], kind="stable")]


def _meld(heaps: list[Links]) -> Links:
    """Puts the entries of the smaller heaps into the largest."""
    heaps = sorted(heaps, key=len)
    largest = heaps.pop()
    for heap in heaps:
        for entry in heap:
            heapq.heappush(largest, entry)
    return largest


def _check_alpha(ccp_alpha: FloatLike) -> Float[np.ndarray, "..."]:
    values = np.asarray(ccp_alpha)
    if values.dtype.kind not in "fiu" or not np.all(values >= 0):
        raise InvalidInputError(f"ccp_alpha must be a number of 0 or more, got {ccp_alpha!r}")
    return values
