r"""Soft trees: every row goes to all leaves, to each with a probability; the output is the mean of the leaves' values.

A tree of depth d is complete. Its nodes stand in heap order: the root is node 0, the children of node n are 2n+1 (left)
and 2n+2 (right). Where a tree has *stops*, a row may also end at an inner node, which has a value too; *ends* are
then all nodes, otherwise the leaves.

A gate's *value* z is 0 on its border, and the form's side of it, a sigmoid by default, is the probability to go right.
Some columns of the rows, the last ones, may be *indicators*: 1 where other features are missing. The value is

$$z = \frac{w^\top x + b}{T} + m^\top i,$$

with the row's features $x$, its indicators $i$ (which are among the features, too), and the temperature $T$. The term
$m$ does not get sharper as $T$ falls: for a missing value it can hold C4.5's share of each branch.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from jaxtree.arrays import AnyArray, FloatLike, OptionalArray, library_of
from jaxtree.errors import InvalidInputError
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.hard_trees import hard_outputs
from jaxtree.prune.draws import collapse_probability
from jaxtree.soft.form import SoftForm
from jaxtree.soft.functions import name_of
from jaxtree.soft.gates import AxisGate, Gate, HardGate, ObliqueGate, planes_of, shares_to_the_right
from jaxtree.soft.words import arrays_in_words, form_in_words, indented

LEAST_PROBABILITY = 1e-12
"""Is added to probabilities before their logarithm is taken."""


class Leaf(NamedTuple):
    """The ends.

    Attributes:
        value: The value of each.
        stop: The probability of a row to stop at each inner node, which training leaves as it is; None if `form.stops`
            is not set.
    """

    value: Float[AnyArray, "*tree end output"]
    stop: OptionalArray


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, repr=False)
class SoftTree:
    """The parameters of a soft tree; of several trees of one form, where arrays have more axes in front.

    Attributes:
        gate: How inner nodes divide rows.
        leaf: The values of the ends, and how rows come to those that are inner nodes.
        form: The static part.

    Example:
        >>> init(SoftForm(depth=1, num_features=2, num_outputs=1), key=jax.random.key(0))
        SoftTree: depth 1, 1 oblique gate (side sigmoid), 2 features, 1 output
          gate.weight: 1 x 2, -0.641 to 0.71
          gate.bias: 1, 0 to 0
          leaf.value: 2 x 1, 0.13 to 0.136
    """

    gate: Gate
    leaf: Leaf
    form: SoftForm = dataclasses.field(metadata={"static": True})

    def __repr__(self) -> str:
        """Describes the tree in some lines: its form, and the shape and the range of every array."""
        return indented([f"SoftTree: {form_in_words(self.form)}", *arrays_in_words(self)])


def init(form: SoftForm, *, key: PRNGKeyArray, inputs: Float[AnyArray, "row feature"] | None = None) -> SoftTree:
    """Returns a tree to train from.

    Gates look in random directions, and pass through random rows of the inputs if these are given, else through the
    middle of standardised ones. Ends have values near 0, and no row stops at an inner node.

    Args:
        form: The static part of the tree.
        key: A typed key.
        inputs: Rows, to put gates among them.

    Raises:
        InvalidInputError: The inputs have other columns than the form, or no rows.

    Example:
        >>> tree = init(SoftForm(depth=3, num_features=4, num_outputs=2), key=jax.random.key(0))
        >>> apply(tree, jnp.ones((5, 4))).shape
        (5, 2)
    """
    if inputs is not None:
        form.check_rows("inputs", inputs)
        if not len(inputs):
            raise InvalidInputError(f"inputs must have one row or more, got the shape {np.shape(inputs)}")
    gate_key, row_key, leaf_key = jax.random.split(key, 3)
    number = form.num_gates

    def draw_rows(key: PRNGKeyArray) -> Float[Array, "gate feature"]:
        if inputs is None:
            return jnp.zeros((number, form.num_features))
        return jnp.asarray(inputs, float)[jax.random.randint(key, (number,), 0, inputs.shape[0])]

    rows = draw_rows(row_key)
    missing = jnp.zeros((number, len(form.missing))) if form.missing else None
    direction = jax.random.normal(gate_key, (number, form.num_features))
    zero = jnp.zeros(number)
    if form.gate == "oblique" or callable(form.gate):
        weight = direction / jnp.sqrt(form.num_features).astype(direction.dtype)
        gate = ObliqueGate(weight, -jnp.sum(weight * rows, axis=1), missing)
    elif form.gate == "hard":
        # Half way between two rows: between 0 and 1 where one of them has a category.
        gate = HardGate(direction, (rows + draw_rows(jax.random.fold_in(row_key, 1))) / 2, missing)
    else:
        share = jax.nn.softmax(direction, axis=1)
        gate = AxisGate(direction, jnp.sum(share * rows, axis=1), zero, missing)
    value = 0.1 * jax.random.normal(leaf_key, (form.num_ends, form.num_outputs))
    return SoftTree(gate, Leaf(value, jnp.zeros(form.num_inner) if form.stops else None), form)


def apply(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0, engine: Engine = Engine.XLA
) -> Float[Array, "row output"]:
    r"""Returns the tree's output for every row: $\sum_e P_e(x)\, v_e$ over the ends e.

    Pure, and made for `jax.jit`, `jax.vmap` (over trees: `jax.vmap(apply, in_axes=(0, None))`) and `jax.grad`.

    Args:
        tree: The tree.
        x: Rows without missing values.
        temperature: Divides the values of the gates; towards 0 they become hard.
        engine: Who computes hard gates; by the kernel no gradient comes to rows and temperature.

    Raises:
        InvalidInputError: The rows have other columns than the tree.
    """
    x = jnp.asarray(x, tree.leaf.value.dtype)
    is_known = isinstance(tree.gate, HardGate) and isinstance(tree.form.side, str)
    if engine is Engine.PROGRAM and is_known and tree.leaf.stop is None and tree.form.depth:
        return _by_kernel(tree, x, temperature)
    return _reach(tree, x, temperature).T @ jnp.take(tree.leaf.value, ends_in_place(tree.form), axis=0)


def _by_kernel(tree: SoftTree, x: Float[Array, "row feature"], temperature: FloatLike) -> Float[Array, "row output"]:
    """The outputs of a tree of hard gates, whose rows each go to one leaf."""
    form = tree.form
    form.check_rows("x", x)
    planes = planes_of(jax.tree.map(jnp.asarray, tree.gate), form, temperature)
    parts = planes.weight, planes.bias, jnp.zeros((form.num_gates, 0)) if planes.missing is None else planes.missing
    if form.oblivious:
        parts = (part[form.gate_of_nodes()] for part in parts)
    return hard_outputs(*parts, jnp.asarray(tree.leaf.value), x, planes.scale[0], name_of(form.side))


def log_mixture(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0, engine: Engine = Engine.XLA
) -> Float[Array, "row class"]:
    r"""Returns the log probabilities of classes, the values of the ends being logits of distributions.

    It is $\log \sum_e P_e(x)\, \mathrm{softmax}(v_e)$, where `apply` and a softmax give
    $\mathrm{softmax} \sum_e P_e(x)\, v_e$. A tree trained so loses little when it is made hard: the value of one leaf
    cannot be outweighed by the large logits of another to which the row hardly goes.

    Example:
        >>> tree = init(SoftForm(depth=3, num_features=4, num_outputs=2), key=jax.random.key(0))
        >>> jnp.exp(log_mixture(tree, jnp.ones((5, 4)))).sum(axis=1).round(5).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    shares = dataclasses.replace(tree, leaf=tree.leaf._replace(value=jax.nn.softmax(tree.leaf.value)))
    return jnp.log(apply(shares, x, temperature=temperature, engine=engine) + LEAST_PROBABILITY)


def node_probability(
    tree: SoftTree, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0
) -> Float[Array, "row end"]:
    """Returns the probability that a row ends at each end."""
    reach = _reach(tree, jnp.asarray(x, tree.leaf.value.dtype), temperature)
    return reach[np.argsort(ends_in_place(tree.form))].T


def with_dropout(tree: SoftTree, p: FloatLike, q: FloatLike = 0.0) -> SoftTree:
    r"""Returns the tree with the rates of dropout pruning as stops: $\min(1, p\,(1+q)^{d-1})$ at depth d.

    So `apply` returns the mean over all draws (the infinite vote): a row comes to a node if no node above is collapsed,
    and stops if the node itself is. Differentiable in p and q, which may be traced:

        def loss(parameters):
            tree, p_logit, q_log = parameters
            return error(apply(with_dropout(tree, jax.nn.sigmoid(p_logit), jnp.exp(q_log)), x), y)

    Depths are those of the soft tree. One made of a hard tree has other depths where a split had more than two
    branches: give `from_tree` the rates of the hard tree's nodes instead. Rates of your own are set by
    `dataclasses.replace(tree, leaf=tree.leaf._replace(stop=rates))`.

    Args:
        tree: A tree with values at inner nodes, `form.stops`.
        p: Probability that a child of the root is collapsed, from 0 to 1.
        q: Growth of the probability from level to level, 0 or more.

    Raises:
        InvalidInputError: The tree has no values at inner nodes.

    Example:
        >>> tree = init(SoftForm(depth=3, num_features=2, num_outputs=1, stops=True), key=jax.random.key(0))
        >>> slope = jax.grad(lambda p: apply(with_dropout(tree, p), jnp.ones((1, 2))).sum())(0.5)
        >>> bool(jnp.isfinite(slope))
        True
    """
    if not tree.form.stops:
        raise InvalidInputError("the tree must have values at inner nodes: form.stops is not set")
    depth = np.repeat(np.arange(tree.form.depth), 2 ** np.arange(tree.form.depth))
    stop = jnp.where(depth > 0, collapse_probability(depth, p, q, num_levels=max(tree.form.depth, 1)), 0)
    return dataclasses.replace(tree, leaf=tree.leaf._replace(stop=stop))


def _reach(tree: SoftTree, x: Float[Array, "row feature"], temperature: FloatLike) -> Float[Array, "end row"]:
    """The probabilities of the ends, level by level, in the order of `_places`.

    Rows are the last axis, and the left children of a level stand before all right ones, so that a level is made of two
    blocks of memory. It is the parameters that are brought in this order, which are fewer. Products of at most as many
    numbers as there are levels lose nothing that a sum of their logarithms would keep, once they are added up.
    """
    depth, form = tree.form.depth, tree.form
    form.check_rows("x", x)
    inner = inner_in_place(depth)
    if form.oblivious:
        right = shares_to_the_right(tree.gate, form, x, temperature)[form.gate_of_nodes()[inner]]
    else:
        right = shares_to_the_right(jax.tree.map(lambda part: part[inner], tree.gate), form, x, temperature)
    stop = None if tree.leaf.stop is None else jnp.asarray(tree.leaf.stop)[inner]
    return reach_of_ends(right, stop, depth)


def reach_of_ends(right: Float[AnyArray, "inner row"], stop: OptionalArray, depth: int) -> Float[AnyArray, "end row"]:
    """Returns the probabilities of the ends.

    Args:
        right: The probability of every row to go right at every inner node, nodes in the order of `inner_in_place`.
        stop: The probability to stop at every inner node; None if rows only end at leaves.
        depth: The levels of inner nodes.
    """
    reach, ends = library_of(right).ones((1, right.shape[1]), right.dtype), []
    for level in range(depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        if stop is not None:
            ends.append(reach * stop[nodes, None])
            reach = reach - ends[-1]
        to_the_right = reach * right[nodes]
        reach = library_of(right).concatenate([reach - to_the_right, to_the_right])
    return library_of(right).concatenate([*ends, reach]) if ends else reach


@functools.cache
def _places(depth: int) -> tuple[Int[np.ndarray, " _"], ...]:
    """The nodes of every level in the order in which `_reach` has them: the children of all, left ones first."""
    places = [np.zeros(1, np.int64)]
    for _ in range(depth):
        places.append(np.concatenate([2 * places[-1] + 1, 2 * places[-1] + 2]))
    return tuple(places)


def inner_in_place(depth: int) -> Int[np.ndarray, " inner"]:
    """The inner nodes in the order in which `_reach` has them."""
    places = _places(depth)
    return np.concatenate([places[0][:0], *places[:depth]])


def ends_in_place(form: SoftForm) -> Int[np.ndarray, " end"]:
    """The ends in the order in which `_reach` has them."""
    places = _places(form.depth)
    return np.concatenate(places) if form.stops else places[-1] - form.num_inner
