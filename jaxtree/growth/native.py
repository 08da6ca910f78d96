"""Growth by the kernel in C++, on a CPU in place of XLA's programs; an installation with a compiler compiles it.

It sums whole numbers and decides by the same rules, so that trees are the same with and without it. It works in
proportion to a node's rows, where a program of fixed shapes works in proportion to all codes; see
native/src/grow/level_wise.h.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int32

from jaxtree.arrays import AnyArray, library_of
from jaxtree.criteria import entropy, gini, misclassification, poisson, squared_error
from jaxtree.errors import present
from jaxtree.growth.inputs.bundles import Missing, ResolvedRules, Rules
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import Addition, Objective
from jaxtree.growth.inputs.root_limits import RootLimits
from jaxtree.growth.inputs.shares import Shares
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.growth.inputs.tables import SubsetSizes
from jaxtree.growth.nodes import NodeTable
from jaxtree.kernels.choose import Attributes, Engine, call_kernel, choose
from jaxtree.kernels.mesh import devices_of
from jaxtree.tree import Tree

FORMULAS: dict[Any, int] = {gini: 0, entropy: 1, misclassification: 2, squared_error: 3, poisson: 4}
"""The criteria that the kernel can score by, and the number of each."""

NEWTON = 5
"""The number of the objective `Newton`."""

OF_CLASSES = (Classes, Shares)
"""The objectives whose sums are the weights of classes."""

ARRAYS = (
    "codes", "row", "root", "label", "value",
    "kind", "num_codes", "missing_code", "in_average", "monotone", "first_apart", "position", "sets",
    "units", *RootLimits._fields, "root_seed",
)  # fmt: skip
"""The arrays that the kernel reads, in its order."""

MANY_CLASSES = 64
"""From this many classes on the kernel sums each node separately: each has few classes. Its `kManyClasses`."""

BYTES_IN_ROW_ORDER = 2**20
"""Bytes of a feature's sums at all nodes of a level up to which entries are read in the order of the rows."""

MOST_BYTES_IN_ROW_ORDER = 2**27
"""The same of all features: the sums of a level are kept for the next."""

FIELDS = (
    "feature", "code", "next_code", "split_kind", "missing_code", "missing_branch", "first_child", "num_children",
    "parent", "depth", "root", "num_rows",
)  # fmt: skip
"""The fields of a tree that are whole numbers, in the order of the kernel's results."""


def engine_of(rules: Rules, platform: str, mesh: Mesh | None = None, *, on_host: bool) -> Engine:
    """Returns who grows trees by these rules; the kernel takes no Newton steps of rows that branches share.

    Args:
        rules: The rules.
        platform: The platform that JAX computes on.
        mesh: The devices that rows are divided among.
        on_host: Whether the trees are wanted on the host, with the bits of a program. XLA has logarithms of its own,
            and with them the moments of Poisson's deviance.
    """
    objective = rules.objective
    shares_steps = type(objective) is Newton and rules.missing == Missing.FRACTION
    of_squares = type(objective) is Numbers and objective.criterion is squared_error
    return choose(
        platform,
        num_devices=devices_of(mesh).number,
        knows=_formula(objective) is not None and not shares_steps,
        on_host=on_host and (type(objective) in OF_CLASSES or of_squares),
    )


def describes_nodes(objective: Objective) -> bool:
    """Whether `grow_nodes` returns weights, impurities and the weights of classes, and no sums of nodes.

    It does so for classes: it looks at the nodes that are made, where XLA looks at all that there is room for.
    """
    return bool(objective.classes)


def _formula(objective: Objective) -> int | None:
    """The number of an objective's formula.

    A class derived from a known one may compute anything else, so it has none.
    """
    kind = type(objective)
    if kind is Newton:
        return NEWTON
    # No `isinstance`, which takes long of a protocol.
    return FORMULAS.get(objective.criterion) if kind in OF_CLASSES or kind is Numbers else None  # pyright: ignore[reportAttributeAccessIssue]


class KernelSizes(NamedTuple):
    """The static sizes of a growth by the kernel.

    Attributes:
        num_bins: The number of codes of the feature that has most.
        subsets: The sizes of subsets.
        num_slots: The most nodes of a level whose entries stay in row order.
        capacity: The number of nodes that the table holds.
        is_in_row_order: Whether entry e is row e at the start.
    """

    num_bins: int
    subsets: SubsetSizes
    num_slots: int
    capacity: int
    is_in_row_order: bool


def slots_in_row_order(rules: ResolvedRules, num_bins: int, num_entries: int, num_features: int) -> int:
    """Returns the most nodes of a level that the kernel sums in the order of the rows.

    Their sums of a feature stay in a core's cache, and there are fewer codes than rows. It does so only if
    nodes look at a quarter of the features or more, and classes are not many.
    """
    has_many_classes = len(rules.objective.classes) == 1 and rules.objective.classes[0] >= MANY_CLASSES
    if rules.samples_thresholds or (has_many_classes and not rules.counts_rows):
        return 0
    bytes_of_slot = (8 if rules.has_wide_sums else 4) * rules.num_channels * num_bins
    most_bytes = min(BYTES_IN_ROW_ORDER, MOST_BYTES_IN_ROW_ORDER // num_features)
    return min(most_bytes // bytes_of_slot, num_entries // (2 * num_bins))


def grow_nodes(
    arrays: Mapping[str, Any], rules: ResolvedRules, sizes: KernelSizes, *, num_leaves: int = 0, bytes_lent: int = 0
) -> tuple[NodeTable, Int32[AnyArray, " row"]]:
    """Grows trees; returns their nodes, and the leaf of every row of a single tree where these are wanted.

    Of classes, see `describes_nodes`, the tree has their weights in place of sums, and weights in units.

    Args:
        arrays: All `ARRAYS`; no columns of what the rules do not need.
        rules: The rules.
        sizes: The sizes.
        num_leaves: The number of rows whose leaves are returned: all or none.
        bytes_lent: Bytes of memory that the kernel works in; more is allocated where it is too little.
    """
    library, objective, size = library_of(*arrays.values()), rules.objective, sizes.capacity
    is_described = describes_nodes(objective)
    value_type = arrays["value"].dtype
    described = size if is_described else 0
    compared = ((size if objective.compares_targets else 0,), np.int64)
    results = (
        *(((size,), np.int32),) * len(FIELDS),
        ((size,), np.float64),
        ((size, sizes.subsets.num_words), np.uint32),
        ((size, objective.num_node_channels), np.float64 if is_described and rules.is_scaled else value_type),
        compared,
        compared,
        ((described,), value_type),
        ((described,), np.float64),
        ((2,), np.int32),
        ((num_leaves,), np.int32),
        ((bytes_lent,), np.uint8),
    )
    given = [arrays[name] for name in ARRAYS]
    *of_nodes, end, leaf, _ = call_kernel("jaxtree_grow", results, given, _attributes(rules, sizes))
    if library is np:
        # Copies, for all results are one piece of memory, with what the kernel worked in.
        size = int(end[0])
        of_nodes = [values[:size].copy() for values in of_nodes]
    fields, (gain, subset, sums, low, high, *described) = of_nodes[: len(FIELDS)], of_nodes[len(FIELDS) :]
    weight, impurity = described if is_described else (library.zeros(size), library.zeros(size))
    count = sums if is_described else library.zeros((size, 0))
    tree = Tree(
        **dict(zip(FIELDS, fields, strict=True)), gain=gain, subset=subset, num_nodes=library.asarray(end[0]),
        threshold=library.zeros(size), weight=weight, impurity=impurity,
        count=count, target_sum=library.zeros((size, 0)), num_classes=objective.classes,
    )  # fmt: skip
    return NodeTable(tree, sums, low, high, end[1] > 0), leaf


@functools.lru_cache
def _attributes(rules: ResolvedRules, sizes: KernelSizes) -> Attributes:
    """The static facts of a growth, by the names that native/src/ffi/grow.cc reads."""
    objective = rules.objective
    formula = present(_formula(objective))
    if isinstance(objective, Newton):
        num_classes, num_outputs = objective.num_curvatures, objective.num_scores
    else:
        num_classes, num_outputs = max(objective.classes, default=0), objective.num_outputs
    numbers = {
        "num_bins": sizes.num_bins, "subset_bins": sizes.subsets.num_bins, "num_slots": sizes.num_slots,
        "capacity": sizes.capacity, "formula": formula, "num_classes": num_classes, "num_outputs": num_outputs,
        "num_channels": rules.num_channels, "missing": rules.missing, "selection": rules.selection,
    }  # fmt: skip
    flags = {
        "counts_rows": rules.counts_rows, "is_scaled": rules.is_scaled, "has_missing": rules.has_missing,
        "samples_features": rules.samples_features, "samples_levels": rules.samples_levels,
        "samples_thresholds": rules.samples_thresholds, "draws_ties": rules.draws_ties,
        "draws_scores": rules.draws_scores,
        "grows_best_first": rules.grows_best_first, "starts_in_row_order": sizes.is_in_row_order,
    }  # fmt: skip
    return Attributes(
        {name: np.int32(number) for name, number in numbers.items()}
        | {name: bool(flag) for name, flag in flags.items()}
        | {"additions": _flat(rules.additions), "node_additions": _flat(objective.additions)}
    )


def _flat(additions: tuple[Addition, ...]) -> np.ndarray:
    return np.array(additions, np.int32).reshape(-1)
