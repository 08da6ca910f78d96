"""Soft trees made of hard ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.soft.gates import AxisGate, Gate, ObliqueGate
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.model import Leaf, SoftForm, SoftTree, init
from jaxtree.soft.placing import CERTAIN, MOST_LEVELS, Placed, Planner, place
from jaxtree.soft.stops import FixedStop
from jaxtree.tree import Tree, class_shares, majority_class, output_counts, target_means

CHOSEN = 10.0
"""The logit of the feature that an axis gate asks for; all others have 0."""


def from_tree(
    tree: Tree,
    inputs: Inputs,
    *,
    temperature: float = 0.1,
    gate: str = "axis",
    step: str = "sigmoid",
    selector: str = "softmax",
    said: Float[AnyArray, "node output"] | None = None,
    stops: bool = False,
    rates: Float[AnyArray, " node"] | None = None,
    depth: int | None = None,
    key: PRNGKeyArray | None = None,
) -> SoftTree:
    r"""Returns a soft tree that asks what a hard tree asks, and says what it says.

    As the temperature of `apply` goes to 0, it predicts what the hard tree predicts, on rows of `inputs.transform`.
    A threshold becomes a gate of its column. A split by category becomes a plane over one-hot columns, or for gates of
    one column one question after another; a split into many branches becomes a small tree. A missing value takes the
    branch that it took, or is shared out as C4.5 does, whatever the temperature; the inputs must have an indicator of
    its feature. A row that has no branch at a node ends there.

    Args:
        tree: One tree with its root at node 0, and thresholds in units of the table: an estimator's `tree_`. For a
            pruned one, see `take_tree`.
        inputs: How rows are made; learned with the schema of the tree.
        temperature: The width of the gates' steps, in units of the columns: a scaled number's standard deviation.
        gate: "axis" or "oblique".
        step: As in `SoftForm`.
        selector: As in `SoftForm`.
        said: What every node says. If not given, the shares of the classes, the outputs side by side, or the means of
            the targets; see also `log_shares` and `class_votes`.
        stops: Whether inner nodes have values, too; no row stops there until stops are set (`with_dropout`).
        rates: The probability of every node of the hard tree to be collapsed, as `dropout.node_rates` and
            `dropout.level_rates` make it: rows stop there. With `said=class_votes(tree)` the soft tree is then the
            infinite vote, `dropout.vote_share`. May be traced.
        depth: The number of levels, if more than the tree needs.
        key: Gates below the tree's leaves look in random directions, so that training can divide leaves further; if
            not given, they are 0, and leaves stay as they are.

    Raises:
        InvalidInputError: The tree needs more levels than there may be or than `depth`; or an option is not allowed.

    Example:
        >>> from jaxtree import DecisionTreeRegressor
        >>> from jaxtree.soft import apply, fit_inputs
        >>> X = np.array([[1.0], [2.0], [3.0]])
        >>> hard = DecisionTreeRegressor().fit(X, [0.0, 1.0, 5.0])
        >>> inputs = fit_inputs(X, hard.schema_)
        >>> soft = from_tree(hard.tree_, inputs)
        >>> apply(soft, inputs.transform(X), temperature=1e-6).round(2).ravel().tolist()
        [0.0, 1.0, 5.0]
    """
    tree = jax.tree.map(np.asarray, tree)
    plan = Planner(tree, inputs, one_column=gate == "axis").plan()
    depth = plan.height if depth is None else depth
    if not plan.height <= depth <= MOST_LEVELS:
        raise InvalidInputError(
            f"the tree needs {plan.height} levels of two branches each; depth must be from there to {MOST_LEVELS}, "
            f"got {depth}: prune the tree first"
        )
    placed = place(plan, depth, inputs.num_features)
    values = _floats(said_by_nodes(tree) if said is None else said)
    has_stops = stops or rates is not None
    form = SoftForm(
        depth=depth,
        num_features=inputs.num_features,
        num_outputs=values.shape[1],
        gate=gate,
        step=step,
        selector=selector,
        stops=has_stops,
        missing=inputs.missing,
    )
    node = placed.node if has_stops else placed.node[form.num_inner :]
    stop = FixedStop(_rates_of_places(placed, rates, form.num_inner)) if has_stops else None
    return SoftTree(_gate_of(placed, inputs, form, temperature, key), Leaf(values[node], None), stop, form)


def log_shares(tree: Tree, *, smoothing: float = 1.0) -> Float[np.ndarray, "node class"]:
    r"""Returns $\log\frac{n_c + s}{n + s C}$ of every class: logits whose softmax are smoothed shares.

    Args:
        tree: A tree of one output of C classes.
        smoothing: s, more than 0; in rows.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1]).tree_
        >>> np.exp(log_shares(tree)).round(2)
        array([[0.5 , 0.5 ],
               [0.67, 0.33],
               [0.33, 0.67]])
    """
    count = np.asarray(output_counts(tree), np.float64) + smoothing
    return np.log(count / count.sum(axis=1, keepdims=True))


def class_votes(tree: Tree) -> Float[np.ndarray, "node class"]:
    """Returns 1 for the class that a node predicts, and 0 for the others, of a tree of one output of classes.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> class_votes(DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1]).tree_)
        array([[1., 0.],
               [1., 0.],
               [0., 1.]])
    """
    tree = jax.tree.map(np.asarray, tree)
    return np.eye(tree.num_classes[0])[majority_class(tree)]


def said_by_nodes(tree: Tree) -> Float[np.ndarray, "node output"]:
    """Returns the shares of the classes, the outputs side by side, or the means of the targets."""
    if not tree.num_classes:
        return target_means(tree)
    return np.concatenate([class_shares(tree, output) for output in range(len(tree.num_classes))], axis=1)


def _rates_of_places(placed: Placed, rates, num_inner: int) -> Float[AnyArray, " inner"]:
    """The rates of the hard tree's nodes where rows come to them, and 0 elsewhere; the root's is of no account."""
    if rates is None:
        return jnp.zeros(num_inner)
    may_stop = placed.is_first[:num_inner] & (placed.node[:num_inner] > 0)
    return jnp.where(may_stop, _floats(rates)[placed.node[:num_inner]], 0)


def _gate_of(placed: Placed, inputs: Inputs, form: SoftForm, temperature: float, key: PRNGKeyArray | None) -> Gate:
    asked, column = placed.is_question, placed.column.astype(float)
    is_of = placed.feature[:, None] == inputs.with_indicator  # node indicator
    missing = _floats(np.where(is_of, placed.missing[:, None], 0.0)) if form.missing else None
    if form.gate == "axis":
        sharpness = jnp.where(asked, -np.log(temperature), -CERTAIN)
        gate = AxisGate(_floats(CHOSEN * column), _floats(placed.limit), sharpness, missing)
    else:
        # Of a missing value all columns are 0; its indicator makes up for the limit, so that only `missing` is left.
        column[:, column.shape[1] - is_of.shape[1] :] += is_of * placed.limit[:, None]
        gate = ObliqueGate(_floats(column / temperature), _floats(-placed.limit / temperature), missing)
    if key is None:
        return gate
    fresh = init(form, key=key).gate
    return jax.tree.map(lambda old, new: jnp.where(asked.reshape(-1, *[1] * (old.ndim - 1)), old, new), gate, fresh)


def _floats(values) -> Float[AnyArray, "..."]:
    return jnp.asarray(values, float)
