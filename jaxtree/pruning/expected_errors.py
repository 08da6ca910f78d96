"""Prunings by an error expected of unseen rows, which is estimated from the training rows alone."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from jaxtree.arrays import AnyArray
from jaxtree.pruning.from_below import collapse_to_cheapest, sum_over_leaves
from jaxtree.pruning.inputs import (
    Number,
    as_float64,
    check_choice,
    check_classes,
    check_numbers,
    in_float64,
    library_of,
    safe_divide,
    slack_of,
)
from jaxtree.tree import Tree, output_counts

CONTINUITY_CORRECTION = 0.5
"""Errors added to every leaf."""


@in_float64
def minimum_error(tree: Tree, m: Number = 2.0, *, prior: str = "root") -> Bool[AnyArray, "... node"]:
    r"""Returns the nodes collapsed by minimum-error pruning with the m-estimate.

    The expected error of a node as a leaf is $E(t) = 1 - \max_c \frac{n_c + m\,p_c}{n + m}$ (Cestnik and Bratko, *On
    estimating probabilities in tree pruning*, 1991), with weights $n_c$ of the classes and n of the node, and priors
    $p_c$. That of a subtree is the mean over its branches of the smaller of the branch's own error and its subtree's,
    weighted by n. From the leaves up, a node is collapsed if its own error is not greater than its subtree's. With
    "uniform" priors and as many m as classes it is Laplace's estimate and the pruning of Niblett and Bratko
    (*Learning decision rules in noisy domains*, 1987).

    The formula takes the class of the greatest m-estimate; the pruned tree still predicts the majority of a leaf, which
    may be another class where m is large and the leaf small. Of several outputs the errors are added.

    Args:
        tree: A tree of classes with its root at node 0.
        m: How many rows the priors weigh as much as, 0 or more; an array gives a mask for each.
        prior: "root" for the shares of the classes at the root, "uniform" for the same share for every class.

    Raises:
        InvalidInputError: m is negative or no number, the prior another word, or the tree one of numbers.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in minimum_error(tree, np.array([0, 2, 20]))]
        [9, 7, 3]
    """
    m = as_float64(check_numbers("m", m))[..., None]
    check_choice("prior", prior, ("root", "uniform"))
    check_classes(tree, "minimum-error pruning")
    weight = as_float64(tree.weight)
    own = 0.0
    for output, num_classes in enumerate(tree.num_classes):
        count = as_float64(output_counts(tree, output))
        shares = np.full(num_classes, 1 / num_classes) if prior == "uniform" else count[0] / count[0].sum()
        own = own + _expected_errors(count, weight, m, shares)
    return collapse_to_cheapest(tree, own, slack=slack_of(tree.count) * len(tree.num_classes) * weight[0])


@in_float64
def pessimistic_1987(tree: Tree, standard_errors: Number = 1.0) -> Bool[AnyArray, "... node"]:
    r"""Returns the nodes collapsed by Quinlan's pessimistic pruning of 1987.

    A leaf that makes e errors on n training rows is given $e + 1/2$, a subtree T of leaves i
    $e'(T) = \sum_i (e_i + 1/2)$, whose standard error is $\sqrt{e'(T)\,(n - e'(T))/n}$. A node t is collapsed if
    $e(t) + 1/2 \le e'(T_t) + k\,\mathrm{SE}(T_t)$ with k standard errors, where $T_t$ is the unpruned subtree below it
    (Quinlan, *Simplifying decision trees*, 1987, section 2.3). Every node is judged by itself, from the root down.
    Where $e'(T) \ge n$ the standard error is 0. C4.5's own rule is `pessimistic`.

    Args:
        tree: A tree of classes of one output with its root at node 0.
        standard_errors: The number k, 0 or more; an array gives a mask for each.

    Raises:
        InvalidInputError: The number is negative or none, or the tree is of numbers or of several outputs.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, take_tree
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> take_tree(tree, collapsed=pessimistic_1987(tree)).n_leaves
        4
    """
    most = check_numbers("standard_errors", standard_errors)
    check_classes(tree, "pessimistic pruning", of_one_output=True)
    return (standard_errors_better(tree) <= most[..., None]) & ~tree.is_leaf


@in_float64
def standard_errors_better(tree: Tree) -> Float[AnyArray, " node"]:
    """Returns by how many of its standard errors every subtree is better than a leaf, in corrected errors.

    Infinite, with its sign, where the standard error is 0; minus infinity if the subtree is no better then.
    """
    weight = as_float64(tree.weight)
    library = jnp if library_of(weight) is jnp else np
    own = weight - as_float64(tree.count).max(axis=1) + CONTINUITY_CORRECTION
    below = sum_over_leaves(tree, own)
    error = library.sqrt(safe_divide(below * library.maximum(weight - below, 0), weight))
    without = library.where(own > below, np.inf, -np.inf)
    return library.where(error > 0, safe_divide(own - below, error), without)


def _expected_errors(
    count: Float[AnyArray, "node class"],
    weight: Float[AnyArray, " node"],
    m: Float[AnyArray, "... 1"],
    prior: Float[AnyArray, " class"],
) -> Float[AnyArray, "... node"]:
    """The weight expected to be wrong at every node, for every m."""
    largest = (count + m[..., None] * prior).max(axis=-1)
    return safe_divide(weight * (weight + m - largest), weight + m)
