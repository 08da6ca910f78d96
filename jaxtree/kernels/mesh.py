"""Growth with the rows divided among the devices of a mesh.

Every device holds the codes and entries of its own rows, and the whole node table. Sums over entries are also sums
over devices, always of whole numbers, so that all devices take the same decisions and the tree is that of one
device bit for bit. Every device has its own entries and windows; slots, nodes and splits are common to all.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Int32, Shaped

from jaxtree.arrays import FloatLike
from jaxtree.errors import InvalidInputError, InvalidTypeError

ROWS = "rows"
"""The axis over which devices sum, whatever the name of the mesh's axis."""

NODES_AT_A_TIME = 4096
"""Number of nodes whose sums are added over the devices together."""


class Devices(NamedTuple):
    """The devices that rows are divided among; combines their results."""

    number: int

    def total(self, values: FloatLike) -> FloatLike:
        """The sum over all devices."""
        return lax.psum(values, ROWS) if self.number > 1 else values

    def greatest(self, values: FloatLike) -> FloatLike:
        """The greatest over all devices."""
        return lax.pmax(values, ROWS) if self.number > 1 else values

    def least(self, values: FloatLike) -> FloatLike:
        """The least over all devices."""
        return lax.pmin(values, ROWS) if self.number > 1 else values

    def number_rows(self, is_there: Bool[Array, " row"]) -> Int32[Array, " row"]:
        """How many rows are there before each, of all devices; so that padding has no numbers."""
        number = jnp.cumsum(is_there, dtype=jnp.int32) - is_there
        if self.number == 1:
            return number
        there = lax.all_gather(jnp.sum(is_there, dtype=jnp.int32), ROWS)
        return number + jnp.sum(jnp.where(jnp.arange(self.number) < lax.axis_index(ROWS), there, 0), dtype=jnp.int32)

    def gathered(self, values: Shaped[Array, "*axis row"]) -> Shaped[Array, "*axis all_rows"]:
        """The values of the rows of all devices, on each."""
        if self.number == 1:
            return values
        return lax.all_gather(values, ROWS, axis=values.ndim - 1, tiled=True)

    def combine_nodes(
        self,
        combine: Callable[[Array], Array],
        values: Shaped[Array, "node *channel"],
        first: Int32[Array, ""],
        stop: Int32[Array, ""],
    ) -> Shaped[Array, "node *channel"]:
        """Combines the values of the nodes from `first` to `stop`, and leaves the others."""
        if self.number == 1 or not values.size:
            return values
        capacity = len(values)
        size = min(capacity, NODES_AT_A_TIME)

        def combine_block(block, values):
            # A block at the table's end begins earlier, among nodes that are already combined.
            start = jnp.minimum(first + block * size, capacity - size)
            at = start + jnp.arange(size, dtype=jnp.int32)
            own = lax.dynamic_slice_in_dim(values, start, size)
            is_due = (at >= first + block * size).reshape((size,) + (1,) * (values.ndim - 1))
            return lax.dynamic_update_slice_in_dim(values, jnp.where(is_due, combine(own), own), start, axis=0)

        return lax.fori_loop(0, -(-(stop - first) // size), combine_block, values)


def check_mesh(mesh: Any) -> None:
    """Checks that growth can use a mesh.

    Raises:
        InvalidInputError: The mesh has several axes, or devices of several kinds.
        InvalidTypeError: The argument is no mesh.
    """
    if not isinstance(mesh, Mesh):
        raise InvalidTypeError(f"mesh must be a jax.sharding.Mesh or None, got {mesh!r}")
    if mesh.devices.ndim != 1:
        raise InvalidInputError(f"mesh must have one axis, got {dict(mesh.shape)}")
    kinds = sorted({device.device_kind for device in mesh.devices.flat})
    if len(kinds) > 1:
        raise InvalidInputError(f"the devices of a mesh must be of one kind, got {', '.join(kinds)}")


def devices_of(mesh: Mesh | None) -> Devices:
    """The devices of a mesh, or the only one."""
    return Devices(1 if mesh is None else mesh.devices.size)


def divide_rows(mesh: Mesh, arrays: dict[str, Any]) -> dict[str, Any]:
    """Divides arrays, whose last axis is the rows, equally among the devices of a mesh.

    Arrays on the host are padded with zeros if their rows do not divide equally.

    Raises:
        InvalidInputError: The rows of an array that is not on the host do not divide equally.
    """
    return {name: None if values is None else _divide(mesh, name, values) for name, values in arrays.items()}


def as_rows(mesh: Mesh) -> Mesh:
    """The mesh with its axis named as growth names it."""
    return Mesh(mesh.devices, (ROWS,))


def _divide(mesh: Mesh, name: str, values: Any) -> Any:
    missing = -values.shape[-1] % mesh.devices.size
    if missing and isinstance(values, jax.Array):
        raise InvalidInputError(
            f"{name} must have a multiple of {mesh.devices.size} rows, as many as the mesh has devices, got "
            f"{values.shape[-1]}; pad them with rows of weight 0, or pass NumPy arrays"
        )
    if isinstance(values, jax.Array):
        return values
    values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]) if missing else values
    return jax.device_put(values, NamedSharding(as_rows(mesh), _spec(values.ndim)))


def _spec(num_axes: int) -> P:
    """The division of an array whose last axis is the rows; `num_axes` 0 means a copy on every device."""
    return P(*[None] * (num_axes - 1), ROWS) if num_axes else P()


def on_mesh(function: Callable[..., Any], mesh: Mesh, divided: Any) -> Callable[..., Any]:
    """Returns the function run on every device, on its part of the divided arrays.

    Args:
        function: A function from one tree of arrays to one that is the same on all devices.
        mesh: The devices.
        divided: A tree like the argument: the number of axes of an array whose last is the rows, or 0 for an array
            copied to every device.
    """
    specs = jax.tree.map(_spec, divided)
    return jax.shard_map(function, mesh=as_rows(mesh), in_specs=(specs,), out_specs=P(), check_vma=False)
