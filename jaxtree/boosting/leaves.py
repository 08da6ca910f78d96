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

from jaxtree.boosting.loss import Derivatives
from jaxtree.boosting.selection import quantiles_of_groups
from jaxtree.growth import native_rows
from jaxtree.growth.mesh import Devices
from jaxtree.growth.newton import Penalties, newton_step
from jaxtree.growth.whole_numbers import exponent, to_fixed_point, unit_of
from jaxtree.tree import SplitKind, Tree


class Leaves(NamedTuple):
    """The leaves of the rows that a tree was grown on.

    Attributes:
        tree: The tree.
        of_row: The leaf of every row.
        is_used: Whether the tree was grown on the row.
        devices: The devices that rows are divided among.
        is_native: Whether the kernel in C++ adds up the rows.
    """

    tree: Tree
    of_row: Int32[Array, " row"]
    is_used: Bool[Array, " row"]
    devices: Devices
    is_native: bool


def newton_steps(leaves: Leaves, derivatives: Derivatives, penalties: Penalties) -> Float[Array, "score node"]:
    """The steps that the penalised loss of every node's rows falls most by, to the second order."""
    # Between barriers, so that steps have the same bits whatever is around them.
    gradient = lax.optimization_barrier(sums_at_nodes(leaves, derivatives.gradient))
    if derivatives.hessian.ndim == 2:
        curvature = lax.optimization_barrier(sums_at_nodes(leaves, derivatives.hessian))
        return lax.optimization_barrier(newton_step(gradient, curvature, penalties))
    triangle = lax.optimization_barrier(sums_at_nodes(leaves, derivatives.hessian))
    # Of many models at once one after another, so that their steps have the bits of each alone.
    return sequential_vmap(_solve_steps)(gradient, triangle, penalties)


def _solve_steps(
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
    tree: Tree, steps: Float[Array, "1 node"], monotone: Int32[Array, " feature"]
) -> Float[Array, "1 node"]:
    """The steps, kept in the order that constraints ask for.

    A constrained split sets a bound half way between the steps of its branches, which those below do not leave.
    """
    parent, left = tree.parent, tree.first_child[tree.parent]
    is_threshold = tree.split_kind[parent] == SplitKind.THRESHOLD
    sign = jnp.where(is_threshold & (tree.depth > 0), monotone[tree.feature[parent]], 0)
    is_left = jnp.arange(tree.capacity) == left

    def bound_level(above, bounds):
        lower, upper = (bound[parent] for bound in bounds)
        value = jnp.clip(steps[0], lower, upper)
        middle = (value[left] + value[left + 1]) / 2
        is_low = is_left == (sign > 0)
        new = jnp.where((sign != 0) & ~is_low, middle, lower), jnp.where((sign != 0) & is_low, middle, upper)
        is_here = tree.depth == above + 1
        return tuple(jnp.where(is_here, own, bound) for own, bound in zip(new, bounds, strict=True))

    free = jnp.full(tree.capacity, jnp.inf)
    lower, upper = lax.fori_loop(0, jnp.max(tree.depth), bound_level, (-free, free))
    return jnp.clip(steps, lower, upper)


def quantile_steps(
    leaves: Leaves, residual: Float[Array, "score row"], weight: Float[Array, " row"], levels: tuple[float, ...]
) -> Float[Array, "score node"]:
    """The weighted quantile of every leaf's residuals, one level a score: the least with so much weight up to it."""
    gathered = leaves.devices.gathered
    weight, residual = gathered(jnp.where(leaves.is_used, weight, 0).astype(jnp.float64)), gathered(residual)
    unit = unit_of(jnp.sum(gathered(leaves.is_used)), exponent(weight))
    return quantiles_of_groups(
        residual.astype(jnp.float64),
        to_fixed_point(weight, unit),
        gathered(leaves.of_row),
        jnp.asarray(levels, jnp.float64),
        num_groups=leaves.tree.capacity,
    )


def sums_at_nodes(leaves: Leaves, values: Float[Array, "*value row"]) -> Float[Array, "value node"]:
    """The sums over the rows of every node, exact in the fixed point that the number of rows leaves.

    Of symmetric matrices those on the diagonal and below.
    """
    tree, devices = leaves.tree, leaves.devices
    if leaves.is_native:
        return native_rows.sum_at_nodes(tree, leaves.of_row, leaves.is_used, values)
    if values.ndim == 3:
        values = values[np.tril_indices(len(values))]
    values, unit = _in_fixed_point(values, leaves.is_used, devices)
    blank = jnp.zeros(tree.capacity, jnp.int64)
    sums = devices.total(jnp.stack([blank.at[leaves.of_row].add(own) for own in values]))
    deepest = jnp.max(tree.depth)

    def add_to_parents(back, sums):
        is_level = (tree.depth == deepest - back) & (tree.depth > 0)
        return sums.at[:, jnp.where(is_level, tree.parent, tree.capacity)].add(sums, mode="drop")

    return lax.fori_loop(0, deepest, add_to_parents, sums).astype(jnp.float64) * unit


def exact_sum(
    values: Float[Array, "value row"], is_used: Bool[Array, " row"], devices: Devices, *, is_native: bool
) -> Float[Array, ""]:
    """The sum of all values of used rows, those of other devices too, which does not depend on their order."""
    if is_native:
        return native_rows.sum_of_rows(values, is_used)
    whole, unit = _in_fixed_point(values.reshape(-1), jnp.tile(is_used, len(values)), devices)
    return devices.total(jnp.sum(whole)).astype(jnp.float64) * unit


def _in_fixed_point(
    values: Float[Array, "*value row"], is_used: Bool[Array, " row"], devices: Devices
) -> tuple[Int64[Array, "*value row"], Float[Array, ""]]:
    """The values of the rows that are used, as whole numbers of a unit that leaves room for their sum."""
    values = jnp.where(is_used, values, 0).astype(jnp.float64)
    unit = unit_of(devices.total(jnp.sum(is_used)), devices.greatest(exponent(values)))
    return to_fixed_point(values, unit), unit
