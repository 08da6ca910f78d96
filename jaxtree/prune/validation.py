"""Prunings by held-out rows.

Held-out rows are summed at the nodes of the unpruned tree once; the errors of any pruning of it follow from the
sums. A row *passes* every node on its walk and *ends* at the last. The sums of two sets of rows add up.
"""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Real, UInt

from jaxtree.arrays import AnyArray, is_traced
from jaxtree.errors import InvalidInputError
from jaxtree.prune.bottom_up import collapse_to_cheapest
from jaxtree.prune.inputs import SLACK
from jaxtree.tree import SplitKind, Tree, apply
from jaxtree.tree.checks import check_weights
from jaxtree.tree.nodes import declared_majority, target_means
from jaxtree.tree.paths import sum_over_children, sum_subtrees
from jaxtree.tree.predictor import Predictor


class HeldOut(NamedTuple):
    """Sums over held-out rows at the nodes of an unpruned tree.

    A tree of classes has a column for the weight of each, the outputs side by side as in `tree.count`, and behind them
    a column for every output with the weight of classes that are unknown to the tree. A tree of numbers has three
    columns for every output: the weight, and the weighted sums of d and of its square, where d is the target less its
    training mean at the root, so that large targets do not cancel.

    Attributes:
        passed: Rows whose walk comes to the node.
        ended: Rows whose walk ends there when nothing is pruned: at leaves, and at inner nodes where a code has no
            branch.
    """

    passed: Float[np.ndarray, "node column"]
    ended: Float[np.ndarray, "node column"]


def hold_out(
    tree: Tree,
    node: Int[np.ndarray, " visit"],
    target: Real[np.ndarray, "output visit"],
    weight: Real[np.ndarray, " visit"] | None = None,
) -> HeldOut:
    """Sums held-out rows at the nodes.

    A visit is a row, or where missing values are shared out a part of one.

    Args:
        tree: A tree with its root at node 0, on the host.
        node: The node where each visit's walk ends in the unpruned tree.
        target: Its classes, a negative one being unknown to the tree, or its numbers.
        weight: Its weight; 1 if not given.

    Raises:
        InvalidInputError: The shapes do not fit together, or a node or class is not the tree's.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> estimator = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
        >>> held = hold_out(estimator.tree_, estimator.apply([[0.4], [0.6], [3.0]]), np.array([[0, 1, 1]]))
        >>> held.passed[:, :2].tolist(), held.ended[:, :2].tolist()
        ([[1.0, 2.0], [1.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    """
    _check_visits(tree, node, target, weight)
    check_weights("weight", weight)
    weight = np.ones(node.size) if weight is None else np.asarray(weight, np.float64)
    sums = _sum_classes if tree.num_classes else _sum_numbers
    ended = sums(tree, node, target, weight)
    return HeldOut(sum_subtrees(tree, ended), ended)


def hold_out_rows(
    tree: Tree,
    predictor: Predictor,
    values: Float[np.ndarray, "row feature"],
    target: Real[np.ndarray, "output row"],
    weight: Float64[np.ndarray, " row"] | None,
) -> HeldOut:
    """Sends rows down a tree and sums them at its nodes.

    Args:
        tree: The tree.
        predictor: The predictor of the same tree in units of the values.
        values: The values that its thresholds are compared with.
        target: Classes as codes, a negative one for a class that is unknown to the tree; or numbers.
        weight: The weight of every row; None is 1.
    """
    parts = predictor.instances(values)
    whole = parts.weight if weight is None else parts.weight * weight[parts.row]
    return hold_out(tree, parts.node, target[:, parts.row], whole)


def hold_out_codes(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Real[AnyArray, "*output row"],
    weight: Real[AnyArray, " row"] | None = None,
) -> HeldOut:
    """Sends encoded rows down a tree and sums them at its nodes.

    Args:
        tree: A tree with its root at node 0, on the host.
        codes: Codes of the held-out rows, which the tree was not grown on.
        y: Their classes, negative ones being unknown to the tree, or their numbers; a row for each output.
        weight: Their weights; 1 if not given.

    Raises:
        InvalidInputError: The tree is traced, the shapes do not fit, or a row's missing value is to be shared out among
            the branches; see `hold_out` for that.
    """
    tree = _on_host(tree)
    node, codes, y = np.asarray(apply(tree, codes)), np.asarray(codes), np.asarray(y)
    inner = np.flatnonzero(~tree.is_leaf[node])
    rows_to_share = inner[_is_shared_out(tree, node[inner], codes[tree.feature[node[inner]], inner])]
    if rows_to_share.size:
        raise InvalidInputError(
            "missing values of this tree are shared out among the branches, and are not allowed here, got one in row "
            f"{rows_to_share[0]}; sum the parts of such rows with hold_out"
        )
    return hold_out(tree, node, y[None] if y.ndim == 1 else y, None if weight is None else np.asarray(weight))


def leaf_errors(
    tree: Tree, sums: Float[np.ndarray, "node column"], label: Int[np.ndarray, "output node"] | None = None
) -> Float[np.ndarray, " node"]:
    """Returns the error that every node makes on held-out rows as a leaf, summed over the outputs.

    For classes it is the weight that is not of the class that the node predicts; of numbers the squared deviations from
    the node's training mean.

    Args:
        tree: The tree of the sums, or what remains of it after nodes were made leaves.
        sums: The sums of a `HeldOut`: `passed` for all rows that come to the node, `ended` for those that end there
            when nothing is pruned.
        label: The class that every node predicts; if not given its majority, of equal weights the lowest.
    """
    if not tree.num_classes:
        return _squared_errors(tree, sums)
    if label is None:
        label = declared_majority(tree, [np.arange(size) for size in tree.num_classes])
    errors, first, num_outputs = 0.0, 0, len(tree.num_classes)
    for output, size in enumerate(tree.num_classes):
        is_wrong = np.arange(size) != label[output][:, None]
        unknown = sums[:, output - num_outputs]
        errors = errors + np.sum(sums[:, first : first + size], axis=1, where=is_wrong) + unknown
        first += size
    return np.asarray(errors)


def reduced_error(
    tree: Tree, held: HeldOut, label: Int[np.ndarray, "output node"] | None = None
) -> Bool[np.ndarray, " node"]:
    """Returns the nodes collapsed by reduced-error pruning (Quinlan, *Simplifying decision trees*, 1987, section 2.2).

    From the leaves up, a node is collapsed if on the held-out rows it makes no more errors as a leaf than the pruned
    subtree below it: the smallest of the subtrees that are best on these rows. So is a node that no row comes to.
    A row that ends at an inner node, because its code has no branch, is predicted there either way.

    Args:
        tree: A tree with its root at node 0, on the host.
        held: The held-out rows, as `hold_out` or `hold_out_codes` sums them.
        label: The class that every node predicts, if not its majority.

    Raises:
        InvalidInputError: The tree is traced, or has another number of nodes than the sums.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from jaxtree import DecisionTreeClassifier
        >>> from jaxtree.growth import take_tree
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> estimator = DecisionTreeClassifier().fit(X[::2], y[::2])
        >>> held = hold_out_codes(estimator.tree_, estimator.encode(X[1::2]), y[1::2])
        >>> mask = reduced_error(estimator.tree_, held)
        >>> estimator.get_n_leaves(), take_tree(estimator.tree_, collapsed=mask).n_leaves
        (12, 5)
    """
    tree, own, stays, slack = _errors(tree, held, label)
    return collapse_to_cheapest(tree, own, stays, slack)


def validation_gate(
    tree: Tree, held: HeldOut, label: Int[np.ndarray, "output node"] | None = None
) -> Bool[np.ndarray, " node"]:
    """Returns the splits that do not lower the error on held-out rows (Z.-H. Zhou, *Machine Learning*, section 4.3.1).

    Pre-pruning: a node is split only if its children as leaves make strictly fewer errors than the node does, whatever
    splits further down would add. For numbers the errors are squared.

    Args:
        tree: A tree with its root at node 0, on the host.
        held: The held-out rows, as in `reduced_error`.
        label: The class that every node predicts, as there.

    Raises:
        InvalidInputError: As in `reduced_error`.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> estimator = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0])
        >>> held = hold_out_codes(estimator.tree_, estimator.encode([[0.4], [1.6], [3.0]]), np.array([0, 1, 1]))
        >>> validation_gate(estimator.tree_, held)
        array([False, False,  True, False, False])
    """
    tree, own, stays, slack = _errors(tree, held, label)
    return (own <= stays + sum_over_children(tree, own) + slack) & ~tree.is_leaf


def _errors(
    tree: Tree, held: HeldOut, label: Int[np.ndarray, "output node"] | None
) -> tuple[Tree, Float[np.ndarray, " node"], Float[np.ndarray, " node"], float]:
    """The tree, every node's errors as a leaf, those of the rows that end at it as a split node, and the slack."""
    tree = _on_host(tree)
    if held.passed.shape[0] != tree.depth.shape[0]:
        raise InvalidInputError(
            f"held must have a row for each of the tree's {tree.depth.shape[0]} nodes, got {held.passed.shape[0]}"
        )
    own = leaf_errors(tree, held.passed, label)
    stays = np.where(tree.is_leaf, 0.0, leaf_errors(tree, held.ended, label))
    whole = held.passed[0] if tree.num_classes else held.passed[0, 2::3]
    return tree, own, stays, SLACK * float(whole.sum())


def _sum_classes(tree: Tree, node, target, weight) -> Float[np.ndarray, "node column"]:
    known = sum(tree.num_classes)
    columns = known + len(tree.num_classes)
    sums, first = np.zeros(tree.depth.size * columns), 0
    for output, size in enumerate(tree.num_classes):
        column = np.where(target[output] < 0, known + output, first + target[output])
        sums += np.bincount(node * columns + column, weight, minlength=sums.size)
        first += size
    return sums.reshape(-1, columns)


def _sum_numbers(tree: Tree, node, target, weight) -> Float[np.ndarray, "node column"]:
    sums = []
    for output, middle in enumerate(target_means(tree)[0]):
        distance = target[output] - middle
        sums += [np.bincount(node, weight * part, minlength=tree.depth.size) for part in (1, distance, distance**2)]
    return np.stack(sums, axis=1)


def _squared_errors(tree: Tree, sums: Float[np.ndarray, "node column"]) -> Float[np.ndarray, " node"]:
    r"""$\sum w (d - m)^2 = \sum w d^2 - 2 m \sum w d + m^2 \sum w$, and 0 where rounding makes it less."""
    means = target_means(tree)
    m = means - means[0]
    weight, total, squares = sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]
    return np.sum(np.maximum(squares - 2 * m * total + m**2 * weight, 0.0), axis=1)


def _on_host(tree: Tree) -> Tree:
    if is_traced(tree):
        raise InvalidInputError("pruning by held-out rows needs a tree on the host, got a traced one")
    return jax.tree.map(np.asarray, tree)


def _is_shared_out(
    tree: Tree, node: Int[np.ndarray, " row"], code: UInt[np.ndarray, " row"]
) -> Bool[np.ndarray, " row"]:
    """Whether rows that end at inner nodes do so because a missing value goes into every branch."""
    # Missing may also be a category of its own for which the split has no branch: then the row stays.
    is_category = (tree.split_kind == SplitKind.MULTIWAY) & (tree.missing_branch == tree.missing_code)
    return (code == tree.missing_code[node]) & ~is_category[node]


def _check_visits(tree: Tree, node, target, weight) -> None:
    outputs = len(tree.num_classes) or tree.target_sum.shape[1]
    if target.shape != (outputs, node.size) or (weight is not None and weight.shape != node.shape):
        raise InvalidInputError(
            f"target must have the shape ({outputs}, {node.size}), outputs by visits, and weight one number a visit, "
            f"got {target.shape} and {None if weight is None else weight.shape}"
        )
    if node.size and not (node.min() >= 0 and node.max() < tree.depth.size):
        raise InvalidInputError(f"node must be from 0 to {tree.depth.size - 1}, got {node.min()} to {node.max()}")
    if not tree.num_classes and not np.isfinite(target).all():
        raise InvalidInputError(f"target must be finite, got {target[~np.isfinite(target)][0]}")
    for classes, size in zip(target, tree.num_classes, strict=False):
        if target.dtype.kind not in "iu" or (node.size and classes.max() >= size):
            raise InvalidInputError(f"target must hold whole numbers below {size}, the number of classes")
