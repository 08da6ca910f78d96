"""The steps of a tree's nodes, from the derivatives as they are; growth has rounded them.

Sums are exact, in fixed point, so that steps depend on neither the order of the rows nor the devices. Where the Hessian
of a row is a matrix, the step of a node is that of Newton with the whole matrix; splits see its diagonal alone.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import sequential_vmap
from jaxtyping import Array, Bool, Float, Int32, Int64

from jaxtree.arrays import AnyArray
from jaxtree.boosting.selection import quantiles_of_groups
from jaxtree.growth.inputs.newton import NARROW_BITS, Penalties, newton_step
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.kernels.mesh import Devices
from jaxtree.kernels.rows import sum_at_nodes
from jaxtree.losses.loss import Derivatives
from jaxtree.tree import SplitKind, Tree


class Leaves(NamedTuple):
    """The leaves of the rows that a tree was grown on.

    Attributes:
        tree: The tree.
        of_row: The leaf of every row.
        is_used: Whether the tree was grown on the row.
        devices: The devices that rows are divided among.
        engine: Who adds up the rows.
    """

    tree: Tree
    of_row: Int32[Array, " row"]
    is_used: Bool[Array, " row"]
    devices: Devices
    engine: Engine


def newton_steps(leaves: Leaves, derivatives: Derivatives, penalties: Penalties) -> Float[Array, "score node"]:
    """The steps that the penalised loss of every node's rows falls most by, to the second order."""
    # Between barriers, so that steps have the same bits whatever is around them.
    gradient = lax.optimization_barrier(sums_at_nodes(leaves, derivatives.gradient))
    if derivatives.hessian.ndim == 2:
        curvature = lax.optimization_barrier(sums_at_nodes(leaves, derivatives.hessian))
        return lax.optimization_barrier(newton_step(gradient, curvature, penalties))
    triangle = lax.optimization_barrier(sums_at_nodes(leaves, derivatives.hessian))
    # Many models at once are solved one after another, so that their steps have the bits of each alone.
    return sequential_vmap(solve_steps)(gradient, triangle, penalties)


def solve_steps(
    gradient: Float[Array, "score node"], triangle: Float[Array, "value node"], penalties: Penalties
) -> Float[Array, "score node"]:
    """The steps by the whole matrices of nodes, given on the diagonal and below."""
    row, column = np.tril_indices(len(gradient))
    matrix = jnp.zeros((triangle.shape[1], len(gradient), len(gradient)))
    matrix = matrix.at[:, row, column].set(triangle.T).at[:, column, row].set(triangle.T)
    matrix = matrix + penalties.l2 * jnp.eye(len(gradient))
    shrunk = jnp.sign(gradient) * jnp.maximum(jnp.abs(gradient) - penalties.l1, 0)
    steps = -jnp.linalg.solve(matrix, shrunk.T[:, :, None])[:, :, 0].T
    return jnp.clip(steps, -penalties.max_step, penalties.max_step)


def within_bounds(
    tree: Tree, values: Float[Array, "score node"], monotone: Int32[Array, " feature"], *, num_ordered: int
) -> Float[Array, "score node"]:
    """The values of nodes, the first scores of which are kept in the order that constraints ask for.

    A constrained split sets a bound half way between the values of its branches, which those below do not leave. Bounds
    have few digits, so that their products with a node's weight are exact: a mean, which is a sum divided by the
    weight, keeps the bounds to the last bit.
    """
    parent, left = tree.parent, tree.first_child[tree.parent]
    is_threshold = tree.split_kind[parent] == SplitKind.THRESHOLD
    sign = jnp.where(is_threshold & (tree.depth > 0), monotone[tree.feature[parent]], 0)
    is_left = jnp.arange(tree.capacity) == left
    ordered = values[:num_ordered]

    def bound_level(above, bounds):
        lower, upper = (bound[:, parent] for bound in bounds)
        value = jnp.clip(ordered, lower, upper)
        middle = _of_few_digits((value[:, left] + value[:, left + 1]) / 2)
        is_low = is_left == (sign > 0)
        new = jnp.where((sign != 0) & ~is_low, middle, lower), jnp.where((sign != 0) & is_low, middle, upper)
        is_here = tree.depth == above + 1
        return tuple(jnp.where(is_here, own, bound) for own, bound in zip(new, bounds, strict=True))

    free = jnp.full(ordered.shape, jnp.inf)
    lower, upper = lax.fori_loop(0, jnp.max(tree.depth), bound_level, (-free, free))
    return jnp.concatenate([jnp.clip(ordered, lower, upper), values[num_ordered:]])


def _of_few_digits(bound: Float[Array, "score node"]) -> Float[Array, "score node"]:
    """Bounds with the digits that a weight, a whole number of `NARROW_BITS`, leaves of a float of 64 bits."""
    return lax.reduce_precision(bound, exponent_bits=11, mantissa_bits=52 - NARROW_BITS)


def quantile_steps(
    leaves: Leaves, residual: Float[Array, "score row"], weight: Float[Array, " row"], levels: Float[AnyArray, " score"]
) -> Float[Array, "score node"]:
    """The weighted quantile of every leaf's residuals, one level a score: the least with so much weight up to it."""
    residual, weight = _on_every_device(leaves, residual, weight)
    return _quantiles(leaves, residual, weight, leaves.devices.gathered(leaves.of_row), levels)


def quantile_steps_of_all(
    leaves: Leaves, residual: Float[Array, "score row"], weight: Float[Array, " row"], levels: Float[AnyArray, " score"]
) -> Float[Array, "score node"]:
    """The same of all nodes, the inner ones too, of which constraints make bounds."""
    residual, weight = _on_every_device(leaves, residual, weight)
    tree, deepest = leaves.tree, jnp.max(leaves.tree.depth)

    def step_of_level(back, carry):
        steps, node = carry
        is_here = tree.depth == deepest - back
        own = _quantiles(leaves, residual, jnp.where(is_here[node], weight, 0), node, levels)
        return jnp.where(is_here, own, steps), jnp.where(is_here[node], tree.parent[node], node)

    blank = jnp.zeros((len(residual), tree.capacity))
    return lax.fori_loop(0, deepest + 1, step_of_level, (blank, leaves.devices.gathered(leaves.of_row)))[0]


def _on_every_device(
    leaves: Leaves, residual: Float[Array, "score row"], weight: Float[Array, " row"]
) -> tuple[Float[Array, "score all_row"], Int64[Array, " all_row"]]:
    """The residuals of all rows, and their weights as whole numbers, 0 where the tree was not grown on the row."""
    gathered = leaves.devices.gathered
    weight = gathered(jnp.where(leaves.is_used, weight, 0).astype(jnp.float64))
    unit = unit_of(jnp.sum(gathered(leaves.is_used)), exponent(weight))
    return gathered(residual).astype(jnp.float64), to_fixed_point(weight, unit)


def _quantiles(
    leaves: Leaves,
    residual: Float[Array, "score row"],
    weight: Int64[Array, " row"],
    node: Int32[Array, " row"],
    levels: Float[AnyArray, " score"],
) -> Float[Array, "score node"]:
    level = jnp.asarray(levels, jnp.float64)
    return quantiles_of_groups(residual, weight, node, level, num_groups=leaves.tree.capacity)


def sums_at_nodes(leaves: Leaves, values: Float[Array, "*value row"]) -> Float[Array, "value node"]:
    """The exact sums over the rows of every node; of symmetric matrices those on the diagonal and below."""
    tree = leaves.tree
    return sum_at_nodes(
        values, leaves.of_row, leaves.is_used, tree.parent, tree.depth, devices=leaves.devices, engine=leaves.engine
    )
