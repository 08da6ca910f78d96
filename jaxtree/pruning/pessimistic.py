r"""C4.5's pessimistic pruning, by errors estimated from the training rows alone (Quinlan, *C4.5*, 1993, section 4.2).

A leaf of weight N makes e *errors*: the weight that is not of its majority class. The share of errors among all rows
that could come to it has an *upper limit* U: if it were larger, so few errors would be seen with a probability of less
than the *confidence*. The leaf is *estimated* to make $N U$ errors, of which $N U - e$ are *added*; a tree makes those
of its leaves. A node that no weight comes to makes none.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.core import Tracer
from jaxtyping import Bool, Float, Real

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.pruning.from_below import collapse_to_cheapest, sum_over_leaves
from jaxtree.pruning.inputs import Number, as_float64, check_choice, check_classes, in_float64, library_of
from jaxtree.tree import Tree

DEVIATES = ("exact", "release8")
"""Where the normal deviate of a confidence may come from."""

MOST_CONFIDENCE = 0.5
"""The confidence at which the limit is what was seen, but for the continuity correction."""

CONTINUITY = 0.5
"""The continuity correction of the number of errors, in the normal approximation of the binomial distribution."""

RELEASE_8_DEVIATES = (
    np.array([0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0]),
    np.array([4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.0]),
)
"""Confidences, and the normal deviates that C4.5 Release 8 takes for them; it interpolates between."""

RELEASE_8_SHARE = 0.67
"""The share of the right weight that Release 8 adds to a leaf that is wrong almost everywhere."""

SLACK = 0.1
"""How many more errors than a larger tree a smaller one may be estimated to make, and still take its place."""

SAME = 1e-6
"""Estimates and weights that differ by less are equal."""


@in_float64
def added_errors(
    weight: Number,
    errors: Number,
    confidence: Number = 0.25,
    *,
    z: str = "exact",
) -> Float[AnyArray, "..."]:
    r"""Errors to add to those of a leaf, up to the upper limit of its share of errors times its weight.

    For errors $e \ge 1$, with $f = (e + 1/2) / N$ and the normal deviate z of the confidence C,

    $$N\,\frac{f + \frac{z^2}{2N} + z \sqrt{\frac{f}{N} - \frac{f^2}{N} + \frac{z^2}{4N^2}}}{1 + \frac{z^2}{N}} - e,$$

    which is the normal approximation with a continuity correction. For $e = 0$ it is exact, $N (1 - C^{1/N})$; between
    0 and 1 it is linear. If $e + 1/2 \ge N$, it is $N - e$, and $0.67 (N - e)$ in Release 8. All arguments broadcast;
    the result is JAX's if one of them is, and NumPy's otherwise. Without weight nothing is added.

    Args:
        weight: Weight of the leaf, N.
        errors: The weight that is not of the leaf's class, at most N.
        confidence: The confidence C, above 0 and at most 0.5: beyond, the exact deviate is negative, the limit lies
            below what was seen, and J48 adds nothing.
        z: "exact" for the quantile of the normal distribution, as J48 takes it; "release8" for the deviate that C4.5
            Release 8 interpolates in a table: for a confidence of 0.25 it is 0.6925, and not 0.6745.

    Raises:
        InvalidInputError: The confidence or z is not allowed.

    Example:
        >>> added_errors(np.array([6.0, 16.0]), np.array([0.0, 1.0])).round(4)
        array([1.2378, 1.4757])
        >>> float(added_errors(16, 1, z="release8").round(4))
        1.5069
    """
    check_confidence(confidence, z)
    library = library_of(weight, errors, confidence)
    weight, errors, confidence = (as_float64(library.asarray(x)) for x in (weight, errors, confidence))
    deviate = _deviate(confidence, z)
    has_weight = weight > 0
    weight = library.where(has_weight, weight, 1)
    without_errors = -weight * library.expm1(library.log(confidence) / weight)
    with_one = _added_to_one_or_more(weight, library.ones_like(errors), deviate, z)
    up_to_one = without_errors + errors * (with_one - without_errors)
    added = library.where(errors < 1, up_to_one, _added_to_one_or_more(weight, errors, deviate, z))
    return library.where(has_weight, added, 0)


def _added_to_one_or_more(weight, errors, deviate, z: str):
    """What is added to at least one error: the weight that is left if almost all is wrong, or the upper limit."""
    library = library_of(weight, errors, deviate)
    # To less than one row that is all wrong J48 adds nothing; Release 8 takes away.
    left = RELEASE_8_SHARE * (weight - errors) if z == "release8" else library.maximum(weight - errors, 0)
    corrected = library.minimum(errors + CONTINUITY, weight)
    square = deviate * deviate
    spread = deviate * library.sqrt(corrected * (1 - corrected / weight) + square / 4)
    limit = weight * (corrected + square / 2 + spread) / (weight + square)
    return library.where(errors + CONTINUITY >= weight, left, limit - errors)


def _deviate(confidence: Float[AnyArray, "..."], z: str) -> Float[AnyArray, "..."]:
    """The normal deviate that is passed with a probability of the confidence."""
    library = library_of(confidence)
    if z == "release8":
        return library.asarray(library.interp(confidence, *RELEASE_8_DEVIATES))
    return library.asarray(-(jax.scipy if library is jnp else scipy).special.ndtri(confidence))


@in_float64
def errors_as_leaves(tree: Tree, confidence: Number = 0.25, *, z: str = "exact") -> Float[AnyArray, "... node"]:
    """Returns the errors that every node is estimated to make as a leaf, 0 where there is no weight.

    Args:
        tree: A classification tree of one output.
        confidence: See `added_errors`; an array gives the estimates for each.
        z: See `added_errors`.

    Raises:
        InvalidInputError: The tree is no classification tree of one output, or the confidence or z is not allowed.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> errors_as_leaves(tree)[:4].round(4)
        array([6.7611, 1.1716, 3.222 , 3.222 ])
    """
    check_classes(tree, "pessimistic pruning", of_one_output=True)
    confidence = check_confidence(confidence, z)
    weight, count = as_float64(tree.weight), as_float64(tree.count)
    errors = library_of(count).maximum(weight - count.max(axis=-1), 0.0)
    estimate = errors + added_errors(weight, errors, confidence[..., None], z=z)
    return library_of(estimate).where(weight > SAME, estimate, 0.0)


@in_float64
def pessimistic(tree: Tree, confidence: Number = 0.25, *, z: str = "exact") -> Bool[AnyArray, "... node"]:
    """Returns the nodes that are estimated to make no more errors as a leaf than the tree below them does.

    From the leaves up, a node is collapsed if it is estimated to make at most 0.1 errors more as a leaf than its
    children, pruned, make together (Quinlan, *C4.5: Programs for Machine Learning*, 1993, section 4.2). That is J48's
    pruning without subtree raising (`-S`); with it, see `prune_with_raising`.

    Args:
        tree: A classification tree of one output, alone in its table with its root at node 0.
        confidence: See `added_errors`; an array gives one mask for each.
        z: See `added_errors`.

    Raises:
        InvalidInputError: The tree is no classification tree of one output, or the confidence or z is not allowed.

    Example:
        >>> from jaxtree import DecisionTreeClassifier, take_tree
        >>> from sklearn.datasets import load_iris
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in pessimistic(tree, np.array([0.5, 0.25, 0.05]))]
        [7, 7, 5]
    """
    return collapse_to_cheapest(tree, errors_as_leaves(tree, confidence, z=z), slack=SLACK + SAME)


@in_float64
def pessimistic_errors(
    tree: Tree,
    confidence: Number = 0.25,
    *,
    z: str = "exact",
    collapsed: Bool[AnyArray, " node"] | None = None,
) -> Float[AnyArray, "... node"]:
    """Returns the errors that the tree below every node is estimated to make.

    The root's, in percent of its weight, is the "estimate" that C4.5 Release 8 prints of a pruned tree; a leaf's is the
    second number of its label there.

    Args:
        tree: A classification tree of one output, alone in its table with its root at node 0.
        confidence: See `added_errors`; an array gives the estimates for each.
        z: See `added_errors`.
        collapsed: Nodes that count as leaves, as well as the tree's own.

    Raises:
        InvalidInputError: The tree is no classification tree of one output, or the confidence or z is not allowed.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> tree = ID3Classifier().fit(*load_play_tennis(return_X_y=True)).tree_
        >>> float((pessimistic_errors(tree, z="release8")[0] / tree.weight[0]).round(3))
        0.385
    """
    if collapsed is not None:
        children = library_of(tree.num_children, collapsed).where(collapsed, 0, tree.num_children)
        tree = dataclasses.replace(tree, num_children=children)
    return sum_over_leaves(tree, errors_as_leaves(tree, confidence, z=z))


def check_confidence(confidence: Number, z: str) -> Real[AnyArray, "..."]:
    """Returns a confidence as an array if it and z are allowed, see `added_errors`; traced ones may be any.

    Raises:
        InvalidInputError: The confidence or z is not allowed.
    """
    check_choice("z", z, DEVIATES)
    if isinstance(confidence, Tracer):
        return confidence
    values = np.asarray(confidence)
    if values.dtype.kind not in "fiu" or not np.all((values > 0) & (values <= MOST_CONFIDENCE)):
        raise InvalidInputError(f"confidence must be above 0 and at most {MOST_CONFIDENCE}, got {confidence!r}")
    return values
