"""The limits of growth in the units of the sums, by their names."""

from typing import Any

import numpy as np

from jaxtree.arrays import FloatLike, library_of
from jaxtree.growth.inputs.bundles import Limits, ResolvedRules, limit_ranges
from jaxtree.growth.inputs.objective import C45_TOLERANCE, Units

LEAST = {
    "min_samples_split": ("split_weight", "split_rows"),
    "min_samples_leaf": ("leaf_weight", "leaf_rows"),
    "min_weight_leaf": ("leaf_weight",),
}
"""The limits of weights and rows, and those that they become.

The weights are in units. Rows limit weights, unless they are counted.
"""


def root_limits() -> frozenset[str]:
    """Returns the names of the limits of a root."""
    return frozenset(limit_ranges()).difference(LEAST).union(*LEAST.values())


def in_units(limits: Limits, rules: ResolvedRules, units: Units) -> dict[str, FloatLike]:
    """Returns the limits of every root: numbers, or arrays of one number a root, as they are given."""
    library = library_of(limits.min_samples_leaf, units.weight)
    slack = C45_TOLERANCE if rules.is_c45 else 0.0
    dtype, most = (np.int64, 2.0**62) if rules.has_wide_sums else (np.int32, 2.0**31 - 1)

    def weight_of(limit: Any) -> Any:
        return library.minimum(library.maximum(library.ceil((limit - slack) / units.weight), 1), most).astype(dtype)

    def rows_of(limit: Any) -> Any:
        return library.minimum(library.ceil(limit), 2.0**31 - 1).astype(np.int32)

    none = library.zeros_like(limits.min_samples_leaf)
    leaf_rows, leaf_weight = limits.min_samples_leaf, limits.min_weight_leaf
    split_rows, split_weight = limits.min_samples_split, none
    if not rules.counts_rows:
        leaf_rows, leaf_weight, split_rows, split_weight = none, leaf_rows, none, split_rows
    declared = limits.num_declared_classes
    return {name: getattr(limits, name) for name in limit_ranges() if name not in LEAST} | {
        "split_weight": weight_of(split_weight),
        "split_rows": rows_of(split_rows),
        "leaf_weight": weight_of(library.maximum(leaf_weight, limits.min_weight_leaf)),
        "leaf_rows": rows_of(leaf_rows),
        "num_declared_classes": library.where(declared > 0, declared, max(rules.objective.classes, default=0)),
    }
