r"""Prunings by errors of the training rows: as they are, or as many more as are expected of unseen rows.

C4.5's pessimistic pruning (Quinlan, *C4.5*, 1993, section 4.2) estimates so: a leaf of weight N makes e *errors*, the
weight that is not of its majority class. The share of errors among all rows that could come to it has an *upper limit*
U: if it were larger, so few errors would be seen with a probability of less than the *confidence*. The leaf is
*estimated* to make $N U$ errors, of which $N U - e$ are *added*; a tree makes those of its leaves. A node that no
weight comes to makes none.
"""

import jax
import numpy as np
import scipy.special
from jaxtyping import Bool, Float, Real

from jaxtree.arrays import AnyArray, is_traced, library_of, safe_divide
from jaxtree.errors import InvalidInputError
from jaxtree.prune.bottom_up import collapse_to_cheapest, sum_over_leaves
from jaxtree.prune.inputs import Number, as_float64, check_choice, check_classes, check_numbers, in_float64, slack_of
from jaxtree.tree import Tree
from jaxtree.tree.nodes import output_counts

COLLAPSE_TOLERANCE = 1e-3
"""The number of errors that a saving must exceed to count."""

DEVIATES = ("exact", "release8")
"""The sources of the normal deviate of a confidence."""

MOST_CONFIDENCE = 0.5
"""The confidence at which the limit is what was seen, except for the continuity correction."""

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
def collapse(tree: Tree) -> Bool[AnyArray, " node"]:
    """Returns the nodes whose leaves together make no fewer training errors than they would as leaves.

    Errors are the weight that is not of the node's majority class; 1e-3 fewer do not count (Quinlan, *C4.5:
    Programs for Machine Learning*, 1993; J48 without `-O`).

    Args:
        tree: A tree of classes of one output with its root at node 0.

    Raises:
        InvalidInputError: The tree is of numbers, or of several outputs.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> tree = DecisionTreeClassifier().fit([[0.0], [0.0], [1.0], [1.0], [1.0]], [0, 0, 0, 0, 1]).tree_
        >>> tree.n_leaves, take_tree(tree, collapsed=collapse(tree)).n_leaves
        (2, 1)
    """
    check_classes(tree, "collapsing", of_one_output=True)
    own = as_float64(tree.weight) - as_float64(tree.count).max(axis=1)
    return (sum_over_leaves(tree, own) >= own - COLLAPSE_TOLERANCE) & ~tree.is_leaf


@in_float64
def minimum_error(tree: Tree, m: Number = 2.0, *, prior: str = "root") -> Bool[AnyArray, "... node"]:
    r"""Returns the nodes collapsed by minimum-error pruning with the m-estimate.

    The expected error of a node as a leaf is $E(t) = 1 - \max_c \frac{n_c + m\,p_c}{n + m}$ (Cestnik and Bratko, *On
    estimating probabilities in tree pruning*, 1991), with weights $n_c$ of the classes and n of the node, and priors
    $p_c$. The error of a subtree is the mean over its branches of the smaller of the branch's own error and its
    subtree's, weighted by n. From the leaves up, a node is collapsed if its own error is not greater than its
    subtree's. With "uniform" priors and as many m as classes it is Laplace's estimate and the pruning of Niblett and
    Bratko (*Learning decision rules in noisy domains*, 1987).

    The formula takes the class of the greatest m-estimate; the pruned tree still predicts the majority of a leaf, which
    may be another class where m is large and the leaf small. With several outputs the errors are added.

    Args:
        tree: A tree of classes with its root at node 0.
        m: How many rows the priors weigh as much as, 0 or more; an array gives a mask for each.
        prior: "root" for the shares of the classes at the root, "uniform" for the same share for every class.

    Raises:
        InvalidInputError: m is negative or no number, the prior another word, or the tree one of numbers.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
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
    (Quinlan, *Simplifying decision trees*, 1987, section 2.3). Every node is tested by itself, from the root down.
    Where $e'(T) \ge n$ the standard error is 0. C4.5's own rule is `pessimistic`.

    Args:
        tree: A tree of classes of one output with its root at node 0.
        standard_errors: The number k, 0 or more; an array gives a mask for each.

    Raises:
        InvalidInputError: The number is negative or none, or the tree is of numbers or of several outputs.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
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
    library = library_of(weight)
    own = weight - as_float64(tree.count).max(axis=1) + CONTINUITY
    below = sum_over_leaves(tree, own)
    error = library.sqrt(safe_divide(below * library.maximum(weight - below, 0), weight))
    without = library.where(own > below, np.inf, -np.inf)
    return library.where(error > 0, safe_divide(own - below, error), without)


@in_float64
def added_errors(
    weight: Number, errors: Number, confidence: Number = 0.25, *, z: str = "exact"
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
    """The errors added to one or more: the rest of the weight if almost all is wrong, or up to the upper limit."""
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
    return library.asarray(-(scipy if library is np else jax.scipy).special.ndtri(confidence))


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
    children, pruned, make together (Quinlan, *C4.5: Programs for Machine Learning*, 1993, section 4.2). This is J48's
    pruning without subtree raising (`-S`); with it, see `prune_with_raising`.

    Args:
        tree: A classification tree of one output, alone in its table with its root at node 0.
        confidence: See `added_errors`; an array gives one mask for each.
        z: See `added_errors`.

    Raises:
        InvalidInputError: The tree is no classification tree of one output, or the confidence or z is not allowed.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> from sklearn.datasets import load_iris
        >>> tree = DecisionTreeClassifier().fit(*load_iris(return_X_y=True)).tree_
        >>> [take_tree(tree, collapsed=mask).n_leaves for mask in pessimistic(tree, np.array([0.5, 0.25, 0.05]))]
        [7, 7, 5]
    """
    return collapse_to_cheapest(tree, errors_as_leaves(tree, confidence, z=z), slack=SLACK + SAME)


def check_confidence(confidence: Number, z: str) -> Real[AnyArray, "..."]:
    """Returns a confidence as an array if it and z are allowed, see `added_errors`; traced ones may be any.

    Raises:
        InvalidInputError: The confidence or z is not allowed.
    """
    check_choice("z", z, DEVIATES)
    if is_traced(confidence):
        return confidence
    values = np.asarray(confidence)
    if values.dtype.kind not in "fiu" or not np.all((values > 0) & (values <= MOST_CONFIDENCE)):
        raise InvalidInputError(f"confidence must be above 0 and at most {MOST_CONFIDENCE}, got {confidence!r}")
    return values


def _expected_errors(
    count: Float[AnyArray, "node class"],
    weight: Float[AnyArray, " node"],
    m: Float[AnyArray, "... 1"],
    prior: Float[AnyArray, " class"],
) -> Float[AnyArray, "... node"]:
    """The weight expected to be wrong at every node, for every m."""
    largest = (count + m[..., None] * prior).max(axis=-1)
    return safe_divide(weight * (weight + m - largest), weight + m)
