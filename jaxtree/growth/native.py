"""The kernels in C++, which run on a CPU instead of XLA's own programs. An installation with a compiler compiles them.

They sum whole numbers and sort stably, so that trees are the same with and without them. XLA's scatter costs 0.8 ns per
cell, and the index that it writes beforehand up to 2.9 ns more; a loop in C++ needs no index.
"""

import ctypes
import functools
import importlib
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Int32, UInt

from jaxtree.growth.objective import Addition
from jaxtree.tree import Tree

INTERFACE = 1
"""The version of the kernels' arguments in this file."""

Columns = tuple[Int32[Array, " entry"], Int32[Array, " entry"], Int[Array, "label entry"], Int[Array, "value entry"]]
"""The slots, rows, labels and values of entries."""

NO_FEATURE = -1
"""Replaces a feature whose table stays empty."""


def columns_of(entries: Any) -> Columns:
    """The slots, rows, labels and values of entries."""
    return entries.slot, entries.row, entries.label, entries.value


@functools.cache
def is_available() -> bool:
    """Whether the kernels are installed in the right version, and not switched off by `JAXTREE_NATIVE=0`.

    The first call registers its kernels with XLA.
    """
    if os.environ.get("JAXTREE_NATIVE") == "0":
        return False
    try:
        package = importlib.import_module("jaxtree_native")
    except ImportError:
        return False
    if package.INTERFACE != INTERFACE:
        return False
    library = ctypes.CDLL(str(package.LIBRARY))
    for name in ("jaxtree_count", "jaxtree_histogram", "jaxtree_send", "jaxtree_sort_by_slot"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    return True


def sum_tables(
    codes: UInt[Array, "feature row"],
    columns: Columns,
    features: Int32[Array, " table"] | Int32[Array, "table slot"],
    place: tuple[Array, Array, Array, Array],
    *,
    additions: tuple[Addition, ...],
    sizes: dict[str, int],
    num_cells: int,
) -> Int[Array, "table cell"]:
    """Sums the cells of some entries, one table per feature.

    Args:
        codes: Codes of every feature.
        columns: The entries.
        features: The feature of every table, or `NO_FEATURE`; or the feature of every table and slot.
        place: The first entry, the one after the last, whether entry e is row e and all entries are summed, and the
            slot at the start of a table.
        additions: The additions of an entry.
        sizes: The number of slots, channels and bins of a table.
        num_cells: The number of cells of a table; additions for other slots go to the cells after the last slot's.
    """
    slot, row, label, value = columns
    bounds = jnp.stack([jnp.asarray(x, jnp.int32) for x in place])
    call = jax.ffi.ffi_call(
        "jaxtree_histogram",
        jax.ShapeDtypeStruct((features.shape[0], num_cells), value.dtype),
        vmap_method="sequential",
    )
    attributes = {f"num_{name}": np.int32(size) for name, size in sizes.items()}
    flat = np.array(additions, np.int32).reshape(-1)
    return call(codes, row, slot, label, value, features, bounds, channels=flat, **attributes)


def sort_by_slot(columns: Columns, *, num_slots: int) -> Columns:
    """Sorts entries by slot, rows in their old order; those without a slot below `num_slots` come last."""
    slot, row, label, value = columns
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in columns)
    call = jax.ffi.ffi_call("jaxtree_sort_by_slot", shapes, vmap_method="sequential")
    slot, row, label, value = call(slot, row, label, value, num_slots=np.int32(num_slots))
    return slot, row, label, value


def send(
    codes: UInt[Array, "feature row"],
    row: Int32[Array, " entry"],
    slot: Int32[Array, " entry"],
    size: Int32[Array, ""],
    node_of_slot: Int32[Array, " slot"],
    tree: Tree,
) -> Int32[Array, " entry"]:
    """The child that every entry goes to, for the first `size` entries."""
    call = jax.ffi.ffi_call("jaxtree_send", jax.ShapeDtypeStruct(slot.shape, jnp.int32), vmap_method="sequential")
    return call(
        codes, row, slot, size, node_of_slot, tree.num_children, tree.first_child, tree.feature, tree.split_kind,
        tree.code, tree.missing_code, tree.missing_branch, tree.subset,
    )  # fmt: skip


def count(
    columns: Columns,
    node: Int32[Array, " entry"],
    size: Int32[Array, ""],
    nodes: tuple[Int32[Array, ""], Int32[Array, ""]],
    sums: Int[Array, "node channel"],
    num_rows: Int32[Array, " node"],
    *,
    additions: tuple[Addition, ...],
) -> tuple[Int[Array, "node channel"], Int32[Array, " node"]]:
    """Adds the first `size` entries to the sums and the number of rows of their nodes.

    Only entries whose node is in the range `nodes`, first and last (exclusive), count.
    """
    _, _, label, value = columns
    bounds = jnp.stack([jnp.asarray(x, jnp.int32) for x in (size, *nodes)])
    call = jax.ffi.ffi_call(
        "jaxtree_count",
        (jax.ShapeDtypeStruct(sums.shape, sums.dtype), jax.ShapeDtypeStruct(num_rows.shape, num_rows.dtype)),
        vmap_method="sequential",
        input_output_aliases={4: 0, 5: 1},
    )
    flat = np.array(additions, np.int32).reshape(-1)
    sums, num_rows = call(node, label, value, bounds, sums, num_rows, channels=flat)
    return sums, num_rows
