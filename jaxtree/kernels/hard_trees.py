"""Hard trees in training, by the kernel in C++: outputs of rows, and the gradients of gates and leaves.

XLA multiplies all rows by all gates, and again for the gradients. The kernel follows every row to its leaf: only the
gates of that path have a gradient. Outputs have the bits of XLA's; gradients are sums in another order, and differ by
rounding. `native/src/soft/hard_trees.cc` is the other half.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

SIDES = ("sigmoid", "entmoid", "softsign")
"""The slopes that the kernel knows, in its order."""


@functools.partial(jax.custom_vjp, nondiff_argnums=(6,))
def hard_outputs(
    weight: Float[Array, "gate feature"],
    bias: Float[Array, " gate"],
    missing: Float[Array, "gate indicator"],
    value: Float[Array, "end output"],
    x: Float[Array, "row feature"],
    scale: Float[Array, ""],
    side: str,
) -> Float[Array, "row output"]:
    """Returns the values of the leaves that rows reach in a complete tree, whose gates stand in heap order.

    A row goes right where `(weight @ x + bias) * scale`, and what `missing` adds where indicators are set, is above 0.
    Gradients reach gates and leaves; those of rows and of the scale are NaN.

    Args:
        weight: The planes of the gates, nearly all of whose weights are 0.
        bias: Is added to them.
        missing: Added for each indicator; indicators are the last columns of rows.
        value: The values of the leaves.
        x: Rows.
        scale: The factor of all gates.
        side: The slope of a gate's share, one of `SIDES`.
    """
    output = jax.ShapeDtypeStruct((x.shape[0], value.shape[1]), value.dtype)
    return _call("jaxtree_predict_hard_tree", output)(weight, bias, missing, value, x, scale)


def _forward(*arguments: Any) -> tuple[Float[Array, "row output"], tuple[Array, ...]]:
    return hard_outputs(*arguments), arguments[:-1]


def _backward(side: str, arguments: tuple[Array, ...], gradient: Float[Array, "row output"]) -> tuple[Array, ...]:
    *parameters, x, scale = arguments
    results = [jax.ShapeDtypeStruct(part.shape, part.dtype) for part in parameters]
    call = _call("jaxtree_differentiate_hard_tree", results)
    found = call(*arguments, gradient, side=np.int32(SIDES.index(side)))
    return *found, jnp.full_like(x, jnp.nan), jnp.full_like(scale, jnp.nan)


hard_outputs.defvjp(_forward, _backward)


def _call(name: str, results: Any) -> Any:
    return jax.ffi.ffi_call(name, results, vmap_method="expand_dims")
