"""Growth on the host: NumPy and one call of the kernel in C++.

A program is compiled for the shapes of a table, which takes longer than to grow a tree of a few thousand rows, and then
takes longer to start than a tree of a few hundred. Here nothing is compiled or padded. JAX has no part in it, so that
forked processes grow trees, too.
"""

import numpy as np
from jaxtyping import UInt32

from jaxtree.errors import InternalError
from jaxtree.growth.inputs.bundles import (
    NO_LIMIT,
    Data,
    Features,
    Limits,
    Missing,
    Rules,
    all_thresholds,
    as_type,
    limits_of_roots,
    resolve,
)
from jaxtree.growth.inputs.objective import quantise_entries
from jaxtree.growth.inputs.root_limits import in_units
from jaxtree.growth.inputs.tables import SubsetSizes, list_features, sizes_of_subsets
from jaxtree.growth.native import KernelSizes, describes_nodes, grow_nodes, slots_in_row_order
from jaxtree.growth.nodes import finish_tree, resolve_missing
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
    resolved, limits = resolve(rules, data, features), limits_of_roots(limits, num_roots)
    target = as_type(data.target, objective.target_type).reshape(-1, codes.shape[1])
    target = target if data.row is None else target[:, data.row]
    label, value, units = quantise_entries(objective, target, data.weight, ONE_DEVICE, is_scaled=resolved.is_scaled)
    num_entries = value.shape[1]

    def of_features(values, dtype=np.int32):
        return np.zeros((len(codes), 0), dtype) if values is None else as_type(values, dtype)

    num_values = features.num_codes if features.num_values is None else features.num_values
    in_average = np.ones(len(codes)) if features.in_average is None else features.in_average
    position = None
    if rules.samples_thresholds:
        position = np.broadcast_to(np.arange(num_bins, dtype=np.float64), (len(codes), num_bins))
        position = position if features.position is None else features.position
    none = np.zeros(0, np.int32)
    arrays = {
        "codes": codes, "row": none if data.row is None else as_type(data.row, np.int32),
        "root": none if data.root is None else as_type(data.root, np.int32), "label": label, "value": value,
        "kind": of_features(features.split_kind), "num_codes": of_features(features.num_codes),
        "missing_code": of_features(num_values), "in_average": of_features(in_average),
        "monotone": of_features(features.monotone), "first_apart": of_features(features.first_apart),
        "position": of_features(position, np.float64), "sets": of_features(features.sets, np.uint32),
        "units": np.stack([units.weight, units.target]), **in_units(limits, resolved, units)._asdict(),
        "root_seed": root_seed,
    }  # fmt: skip
    subsets, is_in_row_order = SubsetSizes(0, 0), data.row is None and not resolved.shares_missing
    if np.any(features.split_kind == SplitKind.SUBSET):
        subsets = sizes_of_subsets(list_features(features, num_bins, None, NO_LIMIT)[0], num_bins)
    num_slots = slots_in_row_order(resolved, num_bins, num_entries, len(codes))
    capacity = num_roots + num_entries // 2
    while True:
        sizes = KernelSizes(num_bins, subsets, num_slots, capacity, is_in_row_order)
        table, _ = grow_nodes(arrays, resolved, sizes)
        if table.complete:
            break
        capacity *= 4
    tree = finish_tree(table, resolved, limits.parameters, units, is_described=describes_nodes(objective))
    if resolved.missing == Missing.LEARN or subsets.num_words > 0:
        tree = resolve_missing(tree, is_binary=not np.any(features.split_kind == SplitKind.MULTIWAY))
    return tree
