"""The limits of growth in the units of the sums, one number a root."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Int32

from jaxtree.arrays import AnyArray, library_of
from jaxtree.growth.inputs.bundles import Limits, ResolvedRules
from jaxtree.growth.inputs.objective import C45_TOLERANCE, Units


class RootLimits(NamedTuple):
    """The limits of every root, in the order in which the kernel in C++ takes them.

    Attributes:
        max_depth: The depth at which every node is a leaf.
        split_weight: The least weight of a node that is split, in units.
        split_rows: The least number of rows of a node that is split, where rows are counted.
        min_gain: The least gain.
        min_impurity_decrease: The least gain times the node's share of its tree's weight.
        max_features: The number of features that a node scores.
        level_features: The number of features that the nodes of a level score.
        max_leaf_nodes: The most leaves of a tree, where trees grow best-first.
        leaf_weight: The least weight of a branch, in units.
        leaf_rows: The least number of rows of a branch, where rows are counted.
        mdl_correction: Factor of C4.5's correction of numeric gains, 0 or 1.
        num_declared_classes: The number of classes that the target declares, for C4.5.
        score_noise: The deviation of what a node adds to the scores of features.
        parameters: The numbers of the objective.
    """

    max_depth: Int32[AnyArray, " root"]
    split_weight: Int[AnyArray, " root"]
    split_rows: Int32[AnyArray, " root"]
    min_gain: Float[AnyArray, " root"]
    min_impurity_decrease: Float[AnyArray, " root"]
    max_features: Int32[AnyArray, " root"]
    level_features: Int32[AnyArray, " root"]
    max_leaf_nodes: Int32[AnyArray, " root"]
    leaf_weight: Int[AnyArray, " root"]
    leaf_rows: Int32[AnyArray, " root"]
    mdl_correction: Float[AnyArray, " root"]
    num_declared_classes: Float[AnyArray, " root"]
    score_noise: Float[AnyArray, " root"]
    parameters: Float[AnyArray, "root parameter"]


def in_units(limits: Limits, rules: ResolvedRules, units: Units) -> RootLimits:
    """Returns limits, which are arrays of one number a root, in the units of the sums."""
    library = library_of(limits.min_samples_leaf, units.weight)
    slack = C45_TOLERANCE if rules.is_c45 else 0.0
    dtype, most = (np.int64, 2.0**62) if rules.has_wide_sums else (np.int32, 2.0**31 - 1)

    def weight_of(limit):
        return library.clip(library.ceil((limit - slack) / units.weight), 1, most).astype(dtype)

    def rows_of(limit):
        return library.minimum(library.ceil(limit), 2.0**31 - 1).astype(np.int32)

    # Minimum numbers of rows limit weights, unless rows are counted.
    none = library.zeros_like(limits.min_samples_leaf)
    leaf_rows, leaf_weight = limits.min_samples_leaf, limits.min_weight_leaf
    split_rows, split_weight = limits.min_samples_split, none
    if not rules.counts_rows:
        leaf_rows, leaf_weight, split_rows, split_weight = none, leaf_rows, none, split_rows
    declared = limits.num_declared_classes
    of_roots = limits._asdict() | {
        "split_weight": weight_of(split_weight),
        "split_rows": rows_of(split_rows),
        "leaf_weight": weight_of(library.maximum(leaf_weight, limits.min_weight_leaf)),
        "leaf_rows": rows_of(leaf_rows),
        "num_declared_classes": library.where(declared > 0, declared, max(rules.objective.classes, default=0)),
        "parameters": library.asarray(limits.parameters),
    }
    return RootLimits(**{name: of_roots[name] for name in RootLimits._fields})
