"""Rules that stop growth, as masks: which split a node makes never depends on whether the rule lets it be made.

So the tree grown under a rule is the full tree with the nodes collapsed that the rule stops. Nor does a split depend on
when it is made: a tree grown best-first to a number of leaves is what is left once all other splits are collapsed.
"""

import heapq
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy.special
from jax import lax
from jax.scipy.special import gammaincc
from jaxtyping import Array, Bool, Float, Int, Int32

from jaxtree.arrays import AnyArray, library_of, safe_divide
from jaxtree.prune.bottom_up import sum_over_leaves
from jaxtree.prune.inputs import Number, as_float64, check_choice, check_classes, check_numbers, in_float64
from jaxtree.tree import Tree
from jaxtree.tree.paths import sum_over_children


class ChiSquaredTest(NamedTuple):
    """Pearson's test of every split, whether branch and class are independent.

    Attributes:
        statistic: Chi-squared; 0 for a leaf.
        degrees_of_freedom: (branches in use - 1) (classes in use - 1).
        p_value: The probability of a statistic at least as large if they are; 1 without degrees of freedom.
    """

    statistic: Float[AnyArray, " node"]
    degrees_of_freedom: Float[AnyArray, " node"]
    p_value: Float[AnyArray, " node"]


def max_depth(tree: Tree, max_depth: Number) -> Bool[AnyArray, "... node"]:
    """Returns the nodes at a depth or below it, where a tree grown to that depth has its leaves.

    Args:
        tree: A tree.
        max_depth: The largest depth of a leaf, 0 or more; an array gives a mask for each.

    Raises:
        InvalidInputError: A depth is negative or no number.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in max_depth(tree, np.array([0, 1, 2]))]
        [1, 2, 3]
    """
    return tree.depth >= check_numbers("max_depth", max_depth)[..., None]


@in_float64
def min_samples_split(tree: Tree, min_samples_split: Number, *, counts: str = "rows") -> Bool[AnyArray, "... node"]:
    """Returns the splits of nodes that have fewer rows, or less weight, than a number.

    Args:
        tree: A tree.
        min_samples_split: The least number of rows of a node that is split; an array gives a mask for each.
        counts: "rows" for training rows of positive weight (CART), "weight" for their weight (C4.5).

    Raises:
        InvalidInputError: A number is negative or none, or `counts` is another word.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> take_tree(tree, collapsed=min_samples_split(tree, 50)).n_leaves
        4
    """
    least = check_numbers("min_samples_split", min_samples_split)
    check_choice("counts", counts, ("rows", "weight"))
    size = tree.num_rows if counts == "rows" else tree.weight
    return (size < least[..., None]) & ~tree.is_leaf


@in_float64
def min_impurity_decrease(tree: Tree, min_impurity_decrease: Number) -> Bool[AnyArray, "... node"]:
    r"""Returns the splits with $\frac{w_t}{w_\text{root}}\,\text{gain}_t$ below a value.

    It is the part that the split has in the decrease of the whole tree's impurity. scikit-learn's growth lets a split
    pass that misses `min_impurity_decrease` by the float64 epsilon.

    Args:
        tree: A tree, or several in one table, each with its own root.
        min_impurity_decrease: The least decrease; an array gives a mask for each.

    Raises:
        InvalidInputError: A value is no number.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> take_tree(tree, collapsed=min_impurity_decrease(tree, 0.01)).n_leaves
        5
    """
    least = check_numbers("min_impurity_decrease", min_impurity_decrease, least=-np.inf)
    return (_impurity_decrease(tree) < least[..., None]) & ~tree.is_leaf


@in_float64
def min_gain(tree: Tree, min_gain: Number) -> Bool[AnyArray, "... node"]:
    """Returns the splits that gain less than a value.

    Args:
        tree: A tree.
        min_gain: The least gain, in units of the tree's impurity; an array gives a mask for each.

    Raises:
        InvalidInputError: A value is no number.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.growth import take_tree
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> take_tree(tree, collapsed=min_gain(tree, 0.25)).n_leaves  # outlook gains 0.2467 bits
        1
    """
    least = check_numbers("min_gain", min_gain, least=-np.inf)
    return (as_float64(tree.gain) < least[..., None]) & ~tree.is_leaf


def max_leaf_nodes(tree: Tree, max_leaf_nodes: Number) -> Bool[AnyArray, "... node"]:
    """Returns the nodes collapsed by stopping at a number of leaves; the split of greatest weighted gain comes first.

    The first node of equal gains comes first. A multiway split that would make too many leaves ends the growth.
    (Shi, *Best-first decision tree learning*, 2007; scikit-learn's `max_leaf_nodes`.) One number or many: the splits
    are put in order once. For n nodes that takes O(n log n) on the host, and O(n^2) for a tree that is traced.

    Args:
        tree: A tree with its root at node 0.
        max_leaf_nodes: The most leaves, at least 1; an array gives a mask for each.

    Raises:
        InvalidInputError: There may be fewer than 1 leaf.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in max_leaf_nodes(tree, np.array([2, 3, 5]))]
        [2, 3, 5]
    """
    most = check_numbers("max_leaf_nodes", max_leaf_nodes, least=1.0)
    return leaves_when_split(tree) > most[..., None]


def leaves_when_split(tree: Tree) -> Int[AnyArray, " node"]:
    """Returns how many leaves the tree has right after the split of each node, in best-first order; 0 for a leaf."""
    if library_of(tree.num_children, tree.gain) is not np:
        return _leaves_by_search(tree)
    children, first_child = tree.num_children.tolist(), tree.first_child.tolist()
    benefit = (np.asarray(tree.gain, np.float64) * np.asarray(tree.weight, np.float64)).tolist()
    leaves_then, num_leaves = np.zeros(len(children), np.int64), 1
    queue = [(-benefit[0], 0)] if children[0] else []
    while queue:
        node = heapq.heappop(queue)[1]
        num_leaves += children[node] - 1
        leaves_then[node] = num_leaves
        for child in range(first_child[node], first_child[node] + children[node]):
            if children[child]:
                heapq.heappush(queue, (-benefit[child], child))
    return leaves_then


def chi_squared(tree: Tree, p_value: Number) -> Bool[AnyArray, "... node"]:
    """Returns the splits whose branches and classes may well be independent: those of a greater p-value.

    Quinlan's gate (*Induction of Decision Trees*, 1986, section 4): a split is made only if the hypothesis that the
    feature is independent of the class can be rejected. A node is tested by its own split, and nothing is grown below
    one that is not made. A split with one branch or one class in use has the p-value 1. See `chi_squared_test`.

    Args:
        tree: A tree of classes of one output.
        p_value: The level of significance, from 0 to 1; an array gives a mask for each.

    Raises:
        InvalidInputError: A p-value is out of its range, or the tree is another.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.growth import take_tree
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in chi_squared(tree, np.array([0.05, 0.2]))]
        [1, 5]
    """
    level = check_numbers("p_value", p_value, most=1.0)
    return (chi_squared_test(tree).p_value > level[..., None]) & ~tree.is_leaf


def chi_squared_test(tree: Tree) -> ChiSquaredTest:
    r"""Returns Pearson's chi-squared test of every split.

    $\chi^2 = \sum_{b,c} \frac{(n_{bc} - e_{bc})^2}{e_{bc}}$ with $e_{bc} = n_b n_c / n$, where $n_{bc}$ is the weight
    of class c in branch b. Weights count as rows do. p-values of a tree of JAX's arrays have the user's float width.

    Args:
        tree: A tree of classes of one output.

    Raises:
        InvalidInputError: The tree is of numbers, or of several outputs.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> test = chi_squared_test(ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_)
        >>> float(test.statistic[0].round(4)), float(test.degrees_of_freedom[0]), float(test.p_value[0].round(4))
        (3.5467, 2.0, 0.1698)
    """
    library = library_of(tree.count)
    statistic, freedom = (part.astype(library.asarray(0.0).dtype) for part in _chi_squared(tree))
    at_least_one = library.maximum(freedom, 1.0)
    if library is np:
        p_value = scipy.special.chdtrc(at_least_one, statistic)
    else:
        # Outside the scope of float64, where it does not lower in a caller's float32 program.
        p_value = gammaincc(at_least_one / 2, statistic / 2)
    return ChiSquaredTest(statistic, freedom, library.where(freedom > 0, p_value, 1.0))


@in_float64
def critical_value(tree: Tree, value: Number, *, measure: str = "gain") -> Bool[AnyArray, "... node"]:
    """Returns the nodes where neither their own split nor any below reaches a critical value.

    (Mingers, *Expert systems: rule induction with statistical data*, 1987; *An empirical comparison of pruning methods
    for decision tree induction*, 1989.) A weak split is so kept for the sake of a strong one below it.

    Args:
        tree: A tree with its root at node 0.
        value: The critical value; an array gives a mask for each.
        measure: "gain"; "impurity_decrease", the gain times the node's share of the whole weight; or "chi_squared",
            the statistic of `chi_squared_test`.

    Raises:
        InvalidInputError: A value is no number, the measure another word, or the tree not one of classes of one output
            where the measure requires one.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.growth import take_tree
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in critical_value(tree, np.array([0.9, 0.98]))]
        [5, 1]
    """
    least = check_numbers("value", value, least=-np.inf)
    check_choice("measure", measure, tuple(MEASURES))
    is_strong = ((MEASURES[measure](tree) >= least[..., None]) & ~tree.is_leaf).astype(np.float64)
    return (sum_over_leaves(tree, 0 * is_strong, stays=is_strong) == 0) & ~tree.is_leaf


def _impurity_decrease(tree: Tree) -> Float[AnyArray, " node"]:
    weight = as_float64(tree.weight)
    return as_float64(tree.gain) * weight / weight[tree.root]


@in_float64
def _chi_squared(tree: Tree) -> tuple[Float[AnyArray, " node"], Float[AnyArray, " node"]]:
    """The statistic, and its degrees of freedom."""
    check_classes(tree, "the chi-squared test", of_one_output=True)
    library = library_of(tree.count)
    observed = as_float64(tree.count)
    branch = observed.sum(axis=1)[:, None]
    sums = sum_over_children(tree, library.concatenate([observed, branch, branch > 0], axis=1))
    class_weight, whole, branches = sums[:, :-2], sums[:, -2:-1], sums[:, -1]
    share = safe_divide(class_weight, whole)
    expected = branch * share[tree.parent]
    part = safe_divide((observed - expected) ** 2, expected).sum(axis=1)
    classes = (class_weight > 0).sum(axis=1)
    freedom = library.maximum(branches - 1, 0.0) * library.maximum(classes - 1, 0)
    return sum_over_children(tree, part), freedom


MEASURES: dict[str, Callable[[Tree], Float[AnyArray, " node"]]] = {
    "gain": lambda tree: as_float64(tree.gain),
    "impurity_decrease": _impurity_decrease,
    "chi_squared": lambda tree: _chi_squared(tree)[0],
}
"""The strength of every split, by which `critical_value` chooses."""


@in_float64
def _leaves_by_search(tree: Tree) -> Int32[Array, " node"]:
    """`leaves_when_split` of a traced tree, by a pass over all nodes for each split."""
    benefit = as_float64(tree.gain) * as_float64(tree.weight)
    number = jnp.arange(benefit.size, dtype=jnp.int32)
    children = tree.num_children.astype(jnp.int32)

    def split_best(state):
        waits, leaves_then, num_leaves = state
        best = jnp.max(jnp.where(waits, benefit, -jnp.inf))
        # Not argmax, which does not lower in a caller's float32 program.
        node = jnp.min(jnp.where(waits & (benefit == best), number, benefit.size - 1))
        num_leaves = num_leaves + children[node] - 1
        is_new = (tree.parent == node) & (tree.depth > 0) & ~tree.is_leaf
        return (waits & (number != node)) | is_new, leaves_then.at[node].set(num_leaves), num_leaves

    start = (number == 0) & ~tree.is_leaf, jnp.zeros(benefit.size, jnp.int32), jnp.int32(1)
    return lax.while_loop(lambda state: jnp.any(state[0]), split_best, start)[1]
