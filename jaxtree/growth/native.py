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
from jaxtyping import Array, Float64, Int, Int32, Int64, UInt, UInt32

from jaxtree.criteria import entropy, gini, misclassification, squared_error
from jaxtree.growth.inputs import Missing, ResolvedRules, Selection
from jaxtree.growth.objective import Addition
from jaxtree.growth.standard_objectives import Classes, Numbers
from jaxtree.tree import SplitKind, Tree

INTERFACE = 4
"""The version of the kernels' arguments in this file."""

FORMULAS: dict[Any, int] = {gini: 0, entropy: 1, misclassification: 2, squared_error: 3}
"""The criteria that the kernels can score by, and the number of each."""

KERNELS = ("jaxtree_best_splits", "jaxtree_count", "jaxtree_histogram", "jaxtree_send", "jaxtree_sort_by_slot")

Columns = tuple[Int32[Array, " entry"], Int32[Array, " entry"], Int[Array, "label entry"], Int[Array, "value entry"]]
"""The slots, rows, labels and values of entries."""

Whole = Int32[Array, " slot"]

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
    for name in KERNELS:
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    return True


def can_score(rules: ResolvedRules, kinds: set[SplitKind]) -> bool:
    """Whether the kernels know these rules: not those of C4.5, branches for every category, or monotone constraints.

    A class derived from `Classes` or `Numbers` may compute anything else, so it is not known.
    """
    objective = rules.objective
    return (
        isinstance(objective, Classes | Numbers)
        and type(objective) in (Classes, Numbers)
        and objective.criterion in FORMULAS
        and kinds <= {SplitKind.THRESHOLD, SplitKind.ONE_VS_REST, SplitKind.SUBSET}
        and rules.selection == Selection.GAIN
        and not rules.shares_missing
        and not rules.has_monotone
    )


def best_splits(
    arrays: tuple[Array, ...], rules: ResolvedRules, *, num_bins: int, subset_bins: int, num_words: int
) -> tuple[Float64[Array, " slot"], Whole, Whole, Whole, Whole, UInt32[Array, "slot word"]]:
    """The best split of every slot: gain, feature, code, next code, branch of a missing value, and subset.

    Args:
        arrays: The arguments of `jaxtree_best_splits`, in the order of native/src/best_splits.cc.
        rules: The rules.
        num_bins: The number of codes of the feature that has most.
        subset_bins: The same of the features split by subsets.
        num_words: The number of words of a subset.
    """
    objective, num_slots = rules.objective, arrays[5].size
    assert isinstance(objective, Classes | Numbers)
    numbers = (
        num_bins, FORMULAS[objective.criterion], getattr(objective, "num_classes", 0), objective.num_outputs,
        rules.num_channels, rules.counts_rows, rules.is_scaled, rules.missing == Missing.LEARN, rules.has_missing,
        subset_bins, rules.samples_features, rules.samples_thresholds, rules.draws_ties,
    )  # fmt: skip
    whole = jax.ShapeDtypeStruct((num_slots,), jnp.int32)
    shapes = (
        jax.ShapeDtypeStruct((num_slots,), jnp.float64),
        *(whole,) * 4,
        jax.ShapeDtypeStruct((num_slots, num_words), jnp.uint32),
    )
    call = jax.ffi.ffi_call("jaxtree_best_splits", shapes, vmap_method="sequential")
    additions = np.array(rules.additions, np.int32).reshape(-1)
    gain, feature, code, next_code, branch, subset = call(
        *arrays, channels=additions, rules=np.array(numbers, np.int32)
    )
    return gain, feature, code, next_code, branch, subset


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


def sort_by_slot(
    columns: Columns, size: Int32[Array, ""], num_slots: Int32[Array, ""], *, capacity: int
) -> tuple[Columns, Int32[Array, " slot"], Int32[Array, " slot"]]:
    """Sorts the first `size` entries by slot, rows in their old order; those without a slot come last.

    Returns:
        The entries, and where those of each of the first `num_slots` slots begin and end.
    """
    slot, row, label, value = columns
    window = jax.ShapeDtypeStruct((capacity,), jnp.int32)
    shapes = (*(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in columns), window, window)
    call = jax.ffi.ffi_call("jaxtree_sort_by_slot", shapes, vmap_method="sequential")
    slot, row, label, value, start, stop = call(slot, row, label, value, jnp.stack([size, num_slots]))
    return (slot, row, label, value), start, stop


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
    counted: tuple[
        Int[Array, "node channel"], Int32[Array, " node"], Int64[Array, " compared"], Int64[Array, " compared"]
    ],
    *,
    additions: tuple[Addition, ...],
) -> tuple[Int[Array, "node channel"], Int32[Array, " node"], Int64[Array, " compared"], Int64[Array, " compared"]]:
    """Adds the first `size` entries to the sums, rows, least and greatest labels of their nodes.

    Only entries whose node is in the range `nodes`, first and last (exclusive), count. Labels are compared unless the
    last two arrays are empty.
    """
    _, _, label, value = columns
    bounds = jnp.stack([jnp.asarray(x, jnp.int32) for x in (size, *nodes)])
    call = jax.ffi.ffi_call(
        "jaxtree_count",
        tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in counted),
        vmap_method="sequential",
        input_output_aliases={4 + number: number for number in range(4)},
    )
    flat = np.array(additions, np.int32).reshape(-1)
    sums, num_rows, low, high = call(node, label, value, bounds, *counted, channels=flat)
    return sums, num_rows, low, high
