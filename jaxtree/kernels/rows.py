"""Operations on the rows of a boosting: derivatives in fixed point, exact sums, steps added to scores.

Each is computed by the kernel in C++, see native/src/gradients/gradients.cc, or by XLA with the same bits. All stand in
programs.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, Int64

from jaxtree.kernels.choose import Engine
from jaxtree.kernels.fixed_point import exponent, to_fixed_point, unit_of
from jaxtree.kernels.mesh import Devices


def quantise(
    curvature: Float[Array, "curvature row"],
    gradient: Float[Array, "score row"],
    noise: Float[Array, "1 row"] | float,
    is_used: Bool[Array, " row"],
    *,
    bits: int,
    fits_sum: bool,
    devices: Devices,
    engine: Engine,
) -> tuple[Array, Float[Array, "2"]]:
    """Returns the derivatives of used rows as whole numbers, and the units of curvatures and of gradients.

    Rows that are used have a first curvature of at least 1, all others 0.

    Args:
        curvature: The second derivatives.
        gradient: The first derivatives.
        noise: The part of a unit from which on numbers are rounded up; the kernel has one a row.
        is_used: The rows that count.
        bits: Bits of a sum; with more than 31 the whole numbers have 64.
        fits_sum: Whether units follow from the sums of the sizes of the derivatives, and not from their number and the
            greatest of them. They are then smaller, above all where few rows have great weights.
        devices: The devices that rows are divided among.
        engine: Who computes.
    """
    dtype = jnp.int64 if bits > 31 else jnp.int32
    if engine is not Engine.XLA:
        results = jax.ShapeDtypeStruct((len(curvature) + len(gradient), len(is_used)), dtype), _real(2)
        arrays = curvature, gradient, noise, is_used
        return _call("jaxtree_quantise", results, *arrays, bits=np.int32(bits), fits_sum=fits_sum)
    number, parts, units = devices.total(is_used.sum()), [], []
    for values, terms in ((curvature, len(curvature)), (gradient, 1)):
        values = jnp.where(is_used, values, 0)
        size = devices.greatest(exponent(values))
        unit = unit_of(number * terms, size, bits=bits)
        if fits_sum:
            fine = unit_of(number * terms, size)
            total = devices.total(jnp.sum(to_fixed_point(jnp.abs(values).astype(jnp.float64), fine)))
            # A number is rounded up by less than a unit, and the total has an error of less than as many units again.
            room = 2.0**bits - 1 - 2.0 * (number * terms)
            unit = unit_of(1, exponent(total.astype(jnp.float64) * fine / room), bits=0)
        # Rounded, as a power of two need not be exact.
        most = jnp.round(jnp.exp2(size.astype(jnp.float64)) / unit) - 1
        parts.append(jnp.clip(jnp.floor(values / unit + noise), -most, most))
        units.append(unit)
    whole = jnp.concatenate(parts).astype(dtype)
    # A row without weight would not be there.
    return whole.at[0].set(jnp.where(is_used, jnp.maximum(whole[0], 1), 0)), jnp.stack(units)


def sum_at_nodes(
    values: Float[Array, "*value row"],
    leaf: Int32[Array, " row"],
    is_used: Bool[Array, " row"],
    parent: Int32[Array, " node"],
    depth: Int32[Array, " node"],
    *,
    devices: Devices,
    engine: Engine,
) -> Float[Array, "value node"]:
    """Returns the sums over the used rows of every node, exact in the fixed point that the number of rows leaves.

    Args:
        values: The values of rows; of symmetric matrices those on the diagonal and below are summed, row by row.
        leaf: The leaf of every row.
        is_used: The rows that count.
        parent: The parent of every node.
        depth: The depth of every node.
        devices: The devices that rows are divided among.
        engine: Who computes.
    """
    is_triangle = values.ndim == 3
    if engine is not Engine.XLA:
        number = len(values) * (len(values) + 1) // 2 if is_triangle else len(values)
        arguments = values, is_used, leaf, parent, depth
        return _call("jaxtree_sum_at_nodes", _real(number, len(parent)), *arguments, is_triangle=is_triangle)
    if is_triangle:
        values = values[np.tril_indices(len(values))]
    whole, unit = _in_fixed_point(values, is_used, devices)
    blank = jnp.zeros(len(parent), jnp.int64)
    sums = devices.total(jax.vmap(blank.at[leaf].add)(whole))
    deepest = jnp.max(depth)

    def add_to_parents(back, sums):
        is_level = (depth == deepest - back) & (depth > 0)
        return sums.at[:, jnp.where(is_level, parent, len(parent))].add(sums, mode="drop")

    return lax.fori_loop(0, deepest, add_to_parents, sums).astype(jnp.float64) * unit


def sum_rows(
    values: Float[Array, "value row"], is_used: Bool[Array, " row"], *, devices: Devices, engine: Engine
) -> Float[Array, ""]:
    """Returns the sum of all values of used rows, those of other devices too, which does not depend on their order."""
    if engine is not Engine.XLA:
        return _call("jaxtree_sum", _real(1), values, is_used)[0]
    whole, unit = _in_fixed_point(values.reshape(-1), jnp.tile(is_used, len(values)), devices)
    return devices.total(jnp.sum(whole)).astype(jnp.float64) * unit


def are_within(values: Float[Array, "..."], most: float, *, engine: Engine = Engine.XLA) -> Bool[Array, ""]:
    """Returns whether all values are numbers of at most this size, and no infinite ones of their type."""
    if engine is not Engine.XLA:
        return _call("jaxtree_are_within", jax.ShapeDtypeStruct((1,), jnp.bool_), values, most=np.float64(most))[0]
    return jnp.all(jnp.abs(values) <= min(most, float(jnp.finfo(values.dtype).max)))


def add_steps(
    scores: Float[Array, "score row"],
    steps: Float[Array, "score node"],
    leaf: Int32[Array, " row"],
    *,
    engine: Engine,
) -> Float[Array, "score row"]:
    """Returns the scores, each with the step of its row's leaf."""
    if engine is not Engine.XLA:
        moved = jax.ShapeDtypeStruct(scores.shape, scores.dtype)
        return _call("jaxtree_add_steps", moved, scores, steps, leaf, aliases={0: 0})
    return scores + steps[:, leaf]


def _in_fixed_point(
    values: Float[Array, "*value row"], is_used: Bool[Array, " row"], devices: Devices
) -> tuple[Int64[Array, "*value row"], Float[Array, ""]]:
    """The values of the rows that are used, as whole numbers of a unit that leaves room for their sum."""
    values = jnp.where(is_used, values, 0).astype(jnp.float64)
    unit = unit_of(devices.total(jnp.sum(is_used)), devices.greatest(exponent(values)))
    return to_fixed_point(values, unit), unit


def _call(name: str, results: Any, *arrays: Any, aliases: dict[int, int] | None = None, **numbers: Any) -> Any:
    call = jax.ffi.ffi_call(name, results, vmap_method="expand_dims", input_output_aliases=aliases)
    return call(*arrays, **numbers)


def _real(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float64)
