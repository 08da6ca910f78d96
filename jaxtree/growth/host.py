"""Growth on the host: NumPy and one call of the kernel in C++.

A program is compiled for the shapes of a table, which takes longer than to grow a tree of a few thousand rows, and then
takes longer to start than a tree of a few hundred. Here nothing is compiled or padded. JAX has no part in it, so that
forked processes grow trees, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import UInt32

from jaxtree.errors import InternalError
from jaxtree.growth.inputs.bundles import (
    Data,
    Features,
    Limits,
    Rules,
    all_thresholds,
    as_type,
    resolve,
)
from jaxtree.growth.inputs.objective import quantise_entries
from jaxtree.growth.inputs.root_limits import in_units
from jaxtree.growth.inputs.tables import SubsetSizes, sizes_of_subsets, tables_of_kinds
from jaxtree.growth.native import KernelSizes, describes_nodes, grow_by_call, kernel_fields, slots_in_row_order
from jaxtree.growth.nodes import finish_tree
from jaxtree.kernels.mesh import Devices
from jaxtree.tree import SplitKind, Tree

ONE_DEVICE = Devices(1)


def grow_on_host(
    data: Data,
    features: Features | None,
    limits: Limits,
    rules: Rules,
    num_bins: int,
    root_seed: UInt32[np.ndarray, " root"],
) -> Tree:
    """Returns the trees of `grow`, in NumPy's arrays without room for further nodes.

    Args:
        data: Codes, targets and weights, in NumPy's arrays. They must be right: only codes past the table are an error.
        features: How the features may be split; by thresholds if None.
        limits: The limits of growth.
        rules: Rules that the kernel knows, see `native.engine_of`.
        num_bins: The number of codes of the feature that has most.
        root_seed: The seed of what every tree draws.
    """
    codes, objective, num_roots = data.codes, rules.objective, root_seed.size
    if codes.max() >= num_bins:
        raise InternalError(f"codes must be from 0 to {num_bins - 1}, got {codes.max()}")
    features = all_thresholds(len(codes), num_bins) if features is None else features
    resolved = resolve(rules, data, features)
    given, row = (data.target, data.row) if data.entry_target is None else (data.entry_target, None)
    target = as_type(given, objective.target_type).reshape(-1, given.shape[-1])
    target = target if row is None else target[:, row]
    label, value, units = quantise_entries(objective, target, data.weight, ONE_DEVICE, is_scaled=resolved.is_scaled)
    parameters = np.empty((num_roots, np.shape(limits.parameters)[-1]))
    parameters[:] = limits.parameters
    arrays = {
        "codes": codes, "codes_of_rows": codes[:0],
        "row": _or_nothing(data.row, np.int32), "root": _or_nothing(data.root, np.int32),
        "label": label, "value": value, **_arrays_of(features, rules, num_bins),
        "units": np.array([units.weight, units.target]),
        "limits": _rows(kernel_fields().limits, in_units(limits, resolved, units), num_roots, np.float64),
        "parameters": parameters, "root_seed": root_seed,
    }  # fmt: skip
    subsets, kinds = SubsetSizes(0, 0), set(features.split_kind.tolist())
    if SplitKind.SUBSET in kinds:
        subsets = sizes_of_subsets(tables_of_kinds(features, num_bins), num_bins)
    num_slots = slots_in_row_order(resolved, num_bins, value.shape[1], len(codes))
    sizes = KernelSizes(num_bins, subsets, num_slots, data.row is None and not resolved.shares_missing)
    table = grow_by_call(arrays, resolved, sizes)
    described = {"is_described": describes_nodes(objective), "is_binary": SplitKind.MULTIWAY not in kinds}
    return finish_tree(table, resolved, parameters, units, **described)


def _arrays_of(features: Features, rules: Rules, num_bins: int) -> dict[str, Any]:
    """The arrays of the kernel that say how the features may be split."""
    num_features = len(features.split_kind)
    position = features.position
    if rules.samples_thresholds and position is None:
        position = np.broadcast_to(np.arange(num_bins), (num_features, num_bins))
    whole = {
        "kind": features.split_kind,
        "num_codes": features.num_codes,
        "missing_code": features.num_codes if features.num_values is None else features.num_values,
        "in_average": 1 if features.in_average is None else features.in_average,
        "monotone": 0 if features.monotone is None else features.monotone,
    }
    nothing = (num_features, 0)
    return {
        "features": _rows(kernel_fields().features, whole, num_features, np.int32),
        "next_separable": _or_nothing(features.next_separable, np.int32, nothing),
        "position": _or_nothing(position if rules.samples_thresholds else None, np.float64, nothing),
        "sets": _or_nothing(features.sets, np.uint32, nothing),
    }


def _rows(names: Sequence[str], values: Mapping[str, Any], size: int, dtype: Any) -> np.ndarray:
    """Numbers, or arrays of so many, as the rows of a table, by their names."""
    table = np.empty((len(names), size), dtype)
    for row, name in zip(table, names, strict=True):
        row[:] = values[name]
    return table


def _or_nothing(values: Any, dtype: Any, shape: tuple[int, ...] = (0,)) -> np.ndarray:
    """The values in a type; an empty array of a shape without any."""
    return np.zeros(shape, dtype) if values is None else as_type(values, dtype)
