"""The kernel's work on the rows of a boosting apart from growing a tree; see native/src/gradients/gradients.cc.

Each function has a bit-identical version for XLA, for use without the kernel.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, UInt

from jaxtree.errors import InternalError
from jaxtree.growth.inputs.newton import NARROW_BITS, Newton
from jaxtree.growth.inputs.objective import Units
from jaxtree.growth.inputs.whole_numbers import BITS
from jaxtree.growth.plan.problem import Entries
from jaxtree.tree import Tree


def quantise_rows(
    target: Float[Array, "output row"], is_used: Bool[Array, " row"], newton: Newton
) -> tuple[Entries, Units]:
    """The rows as entries of one tree, their derivatives as whole numbers: `prepare.quantise` of `Newton` with noise.

    Rows and roots are not given, as an entry is the row of its number.
    """
    if not newton.has_noise:
        raise InternalError("rows are quantised by the kernel where the derivatives have noise")
    dtype, bits = (jnp.int64, BITS) if newton.needs_wide_sums else (jnp.int32, NARROW_BITS)
    results = jax.ShapeDtypeStruct((newton.num_channels, target.shape[1]), dtype), _real(2)
    # Apart, so that XLA need not write the target, whose parts it has already.
    parts = jnp.split(target, [newton.num_curvatures, newton.num_channels])
    value, units = _call("jaxtree_quantise", results, *parts, is_used, bits=np.int32(bits))
    none, label = jnp.zeros(0, jnp.int32), jnp.zeros((0, target.shape[1]), jnp.int32)
    whole = Units(units[0], units[1], jnp.float64(1), jnp.zeros(0, jnp.float64), is_scaled=True)
    return Entries(none, label, value, none, jnp.int32(target.shape[1])), whole


def sum_at_nodes(
    tree: Tree, leaf: Int32[Array, " row"], is_used: Bool[Array, " row"], values: Float[Array, "*value row"]
) -> Float[Array, "value node"]:
    """The exact sums over the rows of every node; of a matrix a row those on the diagonal and below, row by row."""
    is_triangle = values.ndim == 3
    number = len(values) * (len(values) + 1) // 2 if is_triangle else len(values)
    arguments = values, is_used, leaf, tree.parent, tree.depth
    return _call("jaxtree_sum_at_nodes", _real(number, tree.capacity), *arguments, is_triangle=is_triangle)


def sum_of_rows(values: Float[Array, "value row"], is_used: Bool[Array, " row"]) -> Float[Array, ""]:
    """The exact sum of all values of used rows."""
    return _call("jaxtree_sum", _real(1), values, is_used)[0]


def are_within(values: Float[Array, "*value row"], most: float) -> Bool[Array, ""]:
    """Whether all values are numbers of at most this size: `whole_numbers.are_within`."""
    return _call("jaxtree_are_within", jax.ShapeDtypeStruct((1,), jnp.bool_), values, most=np.float64(most))[0]


def add_steps(
    scores: Float[Array, "score row"], steps: Float[Array, "score node"], leaf: Int32[Array, " row"]
) -> Float[Array, "score row"]:
    """The scores, each with the step of its row's leaf."""
    moved = jax.ShapeDtypeStruct(scores.shape, scores.dtype)
    return _call("jaxtree_add_steps", moved, scores, steps, leaf, aliases={0: 0})


def walk(tree: Tree, codes: UInt[Array, "feature row"]) -> Int32[Array, " row"]:
    """The nodes where the walks of all rows end: `jaxtree.tree.walk.apply`."""
    columns = (
        *(tree.feature, tree.code, tree.split_kind, tree.missing_code, tree.missing_branch),
        *(tree.first_child, tree.num_children),
    )
    end = jax.ShapeDtypeStruct(codes.shape[1:], jnp.int32)
    return _call("jaxtree_walk_codes", end, codes, jnp.stack(columns).astype(jnp.int32), tree.subset)


def _call(name: str, results: Any, *arrays: Any, aliases: dict[int, int] | None = None, **numbers: Any) -> Any:
    call = jax.ffi.ffi_call(name, results, vmap_method="expand_dims", input_output_aliases=aliases)
    return call(*arrays, **numbers)


def _real(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float64)
