r"""Soft trees: every row goes to all leaves, to each with a probability, and the tree says the mean of what these say.

A tree of depth d is complete. Its nodes stand in heap order: the root is node 0, the children of node n are 2n+1 (left)
and 2n+2 (right). Where a tree has *stops*, a row may also stop at an inner node, which says something too; *ends* are
then all nodes, otherwise the leaves.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from jaxtree.arrays import AnyArray, FloatLike, OptionalArray
from jaxtree.errors import InvalidInputError
from jaxtree.soft.gates import (
    GATES,
    SELECTORS,
    STEPS,
    AxisGate,
    Gate,
    ObliqueGate,
    Planes,
    axis_planes,
    log_or_never,
    log_steps,
    oblique_planes,
    plane_values,
    step,
)
from jaxtree.soft.stops import NodeStop, Stop

LEAVES = ("constant", "linear")
FIRST_STOP = -2.0
"""The logit of the stops of a new tree: one row in eight stops at a node."""


@dataclasses.dataclass(frozen=True)
class SoftForm:
    """What a soft tree is made of: all that is not a parameter.

    Attributes:
        depth: Edges from the root to every leaf.
        num_features: Columns of the rows, indicators included.
        num_outputs: Logits of classes, or values.
        gate: "oblique", any plane; or "axis", one feature and a threshold.
        step: "sigmoid"; "smooth_step", exactly 0 and 1 outside a band; or "hard", with the sigmoid's gradient.
        selector: How an axis gate weighs features: "softmax", "entmax" or "onehot".
        leaf: "constant"; or "linear", a linear model of the features.
        stops: Whether rows may stop at inner nodes.
        missing: For each of the last features, which are indicators, the features that are missing where it is 1.
    """

    depth: int
    num_features: int
    num_outputs: int
    gate: str = "oblique"
    step: str = "sigmoid"
    selector: str = "softmax"
    leaf: str = "constant"
    stops: bool = False
    missing: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self):
        """Raises InvalidInputError if something is not allowed."""
        for name, least in (("depth", 0), ("num_features", 1), ("num_outputs", 1)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name, allowed in (("gate", GATES), ("step", STEPS), ("selector", SELECTORS), ("leaf", LEAVES)):
            if getattr(self, name) not in allowed:
                given = getattr(self, name)
                raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {given!r}")
        if len(self.missing) >= self.num_features:
            raise InvalidInputError(f"{len(self.missing)} of {self.num_features} features cannot be indicators")

    @property
    def num_inner(self) -> int:
        """Number of inner nodes, which have gates."""
        return 2**self.depth - 1

    @property
    def num_ends(self) -> int:
        """Number of nodes where rows end: the leaves, or all nodes where there are stops."""
        return 2**self.depth + (self.num_inner if self.stops else 0)


class Leaf(NamedTuple):
    """What the ends say.

    Attributes:
        value: A value, or what a linear model adds to its sum.
        weight: The weights of linear models; None for constants.
    """

    value: Float[AnyArray, "*tree end output"]
    weight: OptionalArray


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class SoftTree:
    """The parameters of a soft tree; of several trees of one form, where arrays have more axes in front.

    Attributes:
        gate: How inner nodes divide rows.
        leaf: What ends say.
        stop: How probably a row stops at an inner node; None if `form.stops` is not set.
        form: What the tree is made of, static.
    """

    gate: Gate
    leaf: Leaf
    stop: Stop | None
    form: SoftForm = dataclasses.field(metadata={"static": True})


def init(form: SoftForm, *, key: PRNGKeyArray, inputs: Float[AnyArray, "row feature"] | None = None) -> SoftTree:
    """Returns a tree to train from.

    Gates look in random directions, and pass through random rows of the inputs if these are given, else through the
    middle of standardised ones. Ends say about 0.

    Args:
        form: What the tree is made of.
        key: A typed key.
        inputs: Rows, to put gates among them.

    Example:
        >>> tree = init(SoftForm(depth=3, num_features=4, num_outputs=2), key=jax.random.key(0))
        >>> apply(tree, jnp.ones((5, 4))).shape
        (5, 2)
    """
    gate_key, row_key, leaf_key = jax.random.split(key, 3)
    rows = _rows_of_gates(form, inputs, row_key)
    missing = jnp.zeros((form.num_inner, len(form.missing))) if form.missing else None
    direction = jax.random.normal(gate_key, (form.num_inner, form.num_features))
    if form.gate == "oblique":
        weight = direction / jnp.sqrt(form.num_features).astype(direction.dtype)
        gate = ObliqueGate(weight, -jnp.sum(weight * rows, axis=1), missing)
    else:
        share = jax.nn.softmax(direction, axis=1)
        zero = jnp.zeros(form.num_inner)
        gate = AxisGate(direction, jnp.sum(share * rows, axis=1), zero, missing)
    value = 0.1 * jax.random.normal(leaf_key, (form.num_ends, form.num_outputs))
    weight = jnp.zeros((form.num_ends, form.num_features, form.num_outputs)) if form.leaf == "linear" else None
    stop = NodeStop(jnp.full(form.num_inner, FIRST_STOP)) if form.stops else None
    return SoftTree(gate, Leaf(value, weight), stop, form)


def _rows_of_gates(
    form: SoftForm, inputs: Float[AnyArray, "row feature"] | None, key: PRNGKeyArray
) -> Float[Array, "node feature"]:
    """A row for every gate to pass through."""
    if inputs is None:
        return jnp.zeros((form.num_inner, form.num_features))
    chosen = jax.random.randint(key, (form.num_inner,), 0, inputs.shape[0])
    return jnp.asarray(inputs, float)[chosen]


def apply(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row output"]:
    r"""Returns what the tree says of every row: $\sum_e P_e(x)\, v_e(x)$ over the ends e.

    Pure, and made for `jax.jit`, `jax.vmap` (over trees: `jax.vmap(apply, in_axes=(0, None))`) and `jax.grad`.

    Args:
        tree: The tree.
        x: Rows without missing values.
        temperature: Divides what the gates say; towards 0 they become hard.
    """
    x = jnp.asarray(x, tree.leaf.value.dtype)
    reach = _reach(tree, x, temperature)
    leaf = jax.tree.map(functools.partial(jnp.take, indices=_ends_in_place(tree.form), axis=0), tree.leaf)
    result = reach.T @ leaf.value
    if leaf.weight is None:
        return result
    return result + _linear_part(reach, leaf.weight, x)


def _linear_part(
    reach: Float[Array, "end row"], weight: Float[Array, "end feature output"], x: Float[Array, "row feature"]
) -> Float[Array, "row output"]:
    """The mean of the linear models: first the weights of every row's own model, then its product with the row."""
    own = (reach.T @ weight.reshape(weight.shape[0], -1)).reshape(x.shape[0], *weight.shape[1:])
    return jnp.einsum("rfo,rf->ro", own, x)


def node_probability(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row end"]:
    """The probability that a row ends at each end; `exp` of `node_log_probability`, and cheaper."""
    reach = _reach(tree, jnp.asarray(x, tree.leaf.value.dtype), temperature)
    return reach[np.argsort(_ends_in_place(tree.form))].T


def gate_probability(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row node"]:
    """The probability that a row goes right at each inner node if it comes there."""
    return step(gate_values(tree, jnp.asarray(x, tree.leaf.value.dtype), temperature), tree.form.step).T


def gate_values(
    tree: SoftTree, x: Float[Array, "row feature"], temperature: FloatLike = 1.0
) -> Float[Array, "node row"]:
    """The values of all gates: above 0 a row rather goes right."""
    return plane_values(planes_of(tree, temperature), x)


def planes_of(tree: SoftTree, temperature: FloatLike = 1.0) -> Planes:
    """The gates as planes."""
    if isinstance(tree.gate, AxisGate):
        return axis_planes(tree.gate, tree.form.missing, tree.form.selector, temperature)
    return oblique_planes(tree.gate, temperature)


def _reach(tree: SoftTree, x: Float[Array, "row feature"], temperature: FloatLike) -> Float[Array, "end row"]:
    """The probabilities of the ends, level by level, in the order of `_places`.

    Rows are the last axis, and the left children of a level stand before all right ones, so that a level is made of two
    blocks of memory. It is the parameters that are brought in this order, which are fewer. Products of at most as many
    numbers as there are levels lose nothing that a sum of their logarithms would keep, once they are added up.
    """
    depth = tree.form.depth
    places = _places(depth)
    inner = np.concatenate([places[0][:0], *places[:depth]])
    planes = jax.tree.map(lambda part: part[inner], planes_of(tree, temperature))
    right = step(plane_values(planes, x), tree.form.step)
    stop = None if tree.stop is None else tree.stop.probability(depth)[inner]
    reach, ends = jnp.ones((1, x.shape[0]), right.dtype), []
    for level in range(depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        if stop is not None:
            ends.append(reach * stop[nodes, None])
            reach = reach - ends[-1]
        to_the_right = reach * right[nodes]
        reach = jnp.concatenate([reach - to_the_right, to_the_right])
    return jnp.concatenate([*ends, reach]) if ends else reach


@functools.cache
def _places(depth: int) -> tuple[Int[np.ndarray, " _"], ...]:
    """The nodes of every level in the order in which `_reach` has them: the children of all, left ones first."""
    places = [np.zeros(1, np.int64)]
    for _ in range(depth):
        places.append(np.concatenate([2 * places[-1] + 1, 2 * places[-1] + 2]))
    return tuple(places)


def _ends_in_place(form: SoftForm) -> Int[np.ndarray, " end"]:
    """The ends in the order in which `_reach` has them."""
    places = _places(form.depth)
    return np.concatenate(places) if form.stops else places[-1] - form.num_inner


def node_log_probability(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row end"]:
    """The logarithm of the probability that a row ends at each end; minus infinity where that is impossible.

    It does not underflow, however small the probability is.
    """
    x = jnp.asarray(x, tree.leaf.value.dtype)
    left, right = log_steps(gate_values(tree, x, temperature), tree.form.step)
    stop = None if tree.stop is None else tree.stop.probability(tree.form.depth)
    reach, ends = jnp.zeros((1, x.shape[0]), right.dtype), []
    for level in range(tree.form.depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        if stop is not None:
            ends.append(reach + log_or_never(stop[nodes, None]))
            reach = reach + log_or_never(1 - stop[nodes, None])
        reach = jnp.stack([reach + left[nodes], reach + right[nodes]], axis=1).reshape(-1, x.shape[0])
    return (jnp.concatenate([*ends, reach]) if ends else reach).T
