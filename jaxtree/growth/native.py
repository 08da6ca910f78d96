"""Growth by the kernel in C++, on a CPU in place of XLA's programs; an installation with a compiler compiles it.

It sums whole numbers and decides by the same rules, so that trees are the same with and without it. It works in
proportion to a node's rows, where a program of fixed shapes works in proportion to all codes; see
native/src/grow/level_wise.h.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int32

from jaxtree.arrays import library_of
from jaxtree.criteria import entropy, gini, misclassification, poisson, squared_error
from jaxtree.errors import InternalError, present
from jaxtree.growth.inputs.bundles import Missing, ResolvedRules, Rules
from jaxtree.growth.inputs.moments import LinearMoments
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import Addition, Objective
from jaxtree.growth.inputs.root_limits import root_limits
from jaxtree.growth.inputs.shares import Shares
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.growth.inputs.tables import SubsetSizes
from jaxtree.growth.nodes import NodeTable
from jaxtree.kernels.choose import Attributes, Engine, Results, call_kernel, choose
from jaxtree.kernels.library import growth_fields
from jaxtree.kernels.mesh import devices_of
from jaxtree.tree import Tree

FORMULAS: dict[Any, int] = {gini: 0, entropy: 1, misclassification: 2, squared_error: 3, poisson: 4}
"""The criteria that the kernel can score by, and the number of each."""

NEWTON = 5
"""The number of the objective `Newton`."""

LINEAR_MOMENTS = 6
"""The number of the objective `LinearMoments`."""

MOST_ARMS = 8
"""The treatments of moments that the kernel has room for: its `kMostArms`."""

NO_ATTRIBUTES = Attributes({})

OF_CLASSES = (Classes, Shares)
"""The objectives whose sums are the weights of classes."""

ARRAYS = frozenset({
    "codes", "codes_of_rows", "row", "root", "label", "value", "features", "next_separable", "position", "sets",
    "units", "limits", "parameters", "root_seed",
})  # fmt: skip
"""The arrays that a growth gives the kernel."""

FEATURES = frozenset({"kind", "num_codes", "missing_code", "in_average", "monotone"})
"""The whole numbers of every feature: the rows of `features`."""

MANY_CLASSES = 64
"""From this many classes on the kernel sums each node separately: each has few classes. Its `kManyClasses`."""

BYTES_IN_ROW_ORDER = 2**20
"""Bytes of a feature's sums at all nodes of a level up to which entries are read in the order of the rows."""

MOST_BYTES_IN_ROW_ORDER = 2**27
"""The same of all features: the sums of a level are kept for the next."""

NODES = frozenset({
    "feature", "code", "next_code", "split_kind", "missing_code", "missing_branch", "first_child", "num_children",
    "parent", "depth", "root", "num_rows",
})  # fmt: skip
"""The fields of a tree that are whole numbers."""


class KernelFields(NamedTuple):
    """The names of all that the kernel reads or makes by its place, each in its order.

    Attributes:
        arrays: The arguments.
        features: The rows of `features`.
        limits: The rows of `limits`.
        nodes: The first results.
    """

    arrays: tuple[str, ...]
    features: tuple[str, ...]
    limits: tuple[str, ...]
    nodes: tuple[str, ...]


@functools.cache
def kernel_fields() -> KernelFields:
    """Returns the names that the compiled kernel declares.

    Raises:
        InternalError: They are not those of this package.
    """
    declared = KernelFields(*map(tuple, growth_fields()))
    for kind, names, own in zip(KernelFields._fields, declared, (ARRAYS, FEATURES, root_limits(), NODES), strict=True):
        if own != set(names):
            lacks, has = sorted(own.difference(names)), sorted(set(names).difference(own))
            raise InternalError(
                f"the kernel in C++ has other {kind} than this package, without {lacks} and with {has}: install again"
            )
    return declared


def engine_of(rules: Rules, platform: str, mesh: Mesh | None = None, *, on_host: bool) -> Engine:
    """Returns who grows trees by these rules; the kernel takes no Newton steps of rows that branches share.

    Args:
        rules: The rules.
        platform: The platform that JAX computes on.
        mesh: The devices that rows are divided among.
        on_host: Whether the trees are wanted on the host, with the bits of a program. XLA has logarithms of its own,
            and with them the moments of Poisson's deviance.

    Raises:
        InternalError: The compiled kernel has other fields than this package.
    """
    objective = rules.objective
    shares_steps = type(objective) is Newton and rules.missing == Missing.FRACTION
    of_squares = type(objective) is Numbers and objective.criterion is squared_error
    engine = choose(
        platform,
        num_devices=devices_of(mesh).number,
        knows=_formula(objective) is not None and not shares_steps,
        on_host=on_host and (type(objective) in (*OF_CLASSES, LinearMoments) or of_squares),
    )
    if engine is not Engine.XLA:
        kernel_fields()
    return engine


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
    if isinstance(objective, LinearMoments) and kind is LinearMoments:
        return LINEAR_MOMENTS if objective.num_arms <= MOST_ARMS else None
    # No `isinstance`, which takes long of a protocol.
    return FORMULAS.get(objective.criterion) if kind in OF_CLASSES or kind is Numbers else None  # pyright: ignore[reportAttributeAccessIssue]


class KernelSizes(NamedTuple):
    """The static sizes of a growth by the kernel.

    Attributes:
        num_bins: The number of codes of the feature that has most.
        subsets: The sizes of subsets.
        num_slots: The most nodes of a level whose entries stay in row order.
        is_in_row_order: Whether entry e is row e at the start.
    """

    num_bins: int
    subsets: SubsetSizes
    num_slots: int
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


def grow_in_program(
    arrays: Mapping[str, Any],
    rules: ResolvedRules,
    sizes: KernelSizes,
    capacity: int,
    *,
    num_leaves: int = 0,
    bytes_lent: int = 0,
) -> tuple[NodeTable, Int32[Array, " row"]]:
    """Grows trees in a program that is being traced; also returns the leaf of every row of a single one, if wanted.

    Args:
        arrays: All `ARRAYS`; no columns of what the rules do not need.
        rules: The rules.
        sizes: The sizes.
        capacity: The number of nodes that the table holds.
        num_leaves: The number of rows whose leaves are returned: all or none.
        bytes_lent: Bytes of memory that the kernel works in; more is allocated where it is too little.
    """
    results = (
        *_results(capacity, arrays["value"].dtype, rules, sizes),
        ((2,), np.int32),
        ((num_leaves,), np.int32),
        ((bytes_lent,), np.uint8),
    )
    given = [arrays[name] for name in kernel_fields().arrays]
    *of_nodes, end, leaf, _ = call_kernel("jaxtree_grow", results, given, _attributes(rules, sizes))
    return _table(of_nodes, end[0], end[1] > 0, rules.objective), leaf


def grow_by_call(arrays: Mapping[str, Any], rules: ResolvedRules, sizes: KernelSizes) -> NodeTable:
    """Grows trees from NumPy's arrays, as `grow_in_program` does; the table is as long as they are."""
    given = list(map(arrays.__getitem__, kernel_fields().arrays))
    (held,) = call_kernel("jaxtree_grow_on_host", [((2,), np.int64)], given, _attributes(rules, sizes))
    num_nodes = int(held[1])
    results = _results(num_nodes, arrays["value"].dtype, rules, sizes)
    of_nodes = call_kernel("jaxtree_take_trees", results, [held], NO_ATTRIBUTES)
    return _table(of_nodes, np.int32(num_nodes), np.bool_(True), rules.objective)


def _results(size: int, value_type: Any, rules: ResolvedRules, sizes: KernelSizes) -> Results:
    """The shapes and types of what the kernel makes of nodes."""
    objective, is_described = rules.objective, describes_nodes(rules.objective)
    compared = ((size if objective.compares_targets else 0,), np.int64)
    described = size if is_described else 0
    return (
        *(((size,), np.int32),) * len(kernel_fields().nodes),
        ((size,), np.float64),
        ((size, sizes.subsets.num_words), np.uint32),
        ((size, objective.num_node_channels), np.float64 if is_described and rules.is_scaled else value_type),
        compared,
        compared,
        ((described,), value_type),
        ((described,), np.float64),
    )


def _table(of_nodes: Sequence[Any], num_nodes: Any, complete: Any, objective: Objective) -> NodeTable:
    """The table of the kernel's results."""
    names = kernel_fields().nodes
    gain, subset, sums, low, high, weight, impurity = of_nodes[len(names) :]
    library, size, is_described = library_of(gain), len(gain), describes_nodes(objective)
    blank, no_columns = library.zeros(size), library.zeros((size, 0))
    tree = Tree(
        **dict(zip(names, of_nodes, strict=False)), gain=gain, subset=subset, num_nodes=library.asarray(num_nodes),
        threshold=blank, weight=weight if is_described else blank, impurity=impurity if is_described else blank,
        count=sums if is_described else no_columns, target_sum=no_columns, num_classes=objective.classes,
    )  # fmt: skip
    return NodeTable(tree, sums, low, high, complete)


@functools.lru_cache
def _attributes(rules: ResolvedRules, sizes: KernelSizes) -> Attributes:
    """The static facts of a growth, by the names that native/src/ffi/grow.cc reads."""
    objective = rules.objective
    formula = present(_formula(objective))
    if isinstance(objective, Newton):
        num_classes, num_outputs = objective.num_curvatures, objective.num_scores
    else:
        num_classes, num_outputs = max(objective.classes, default=0), objective.num_outputs
    moments = LinearMoments()
    if isinstance(objective, LinearMoments):
        moments, num_outputs = objective, objective.num_outcomes
    numbers = {
        "num_bins": sizes.num_bins, "num_words": sizes.subsets.num_words, "subset_bins": sizes.subsets.num_bins,
        "num_slots": sizes.num_slots, "formula": formula, "num_classes": num_classes, "num_outputs": num_outputs,
        "num_channels": rules.num_channels, "num_node_channels": objective.num_node_channels,
        "missing": rules.missing, "selection": rules.selection, "num_arms": moments.num_arms,
    }  # fmt: skip
    flags = {
        "counts_rows": rules.counts_rows, "is_scaled": rules.is_scaled, "has_missing": rules.has_missing,
        "samples_features": rules.samples_features, "samples_levels": rules.samples_levels,
        "samples_thresholds": rules.samples_thresholds, "draws_ties": rules.draws_ties,
        "draws_scores": rules.draws_scores,
        "grows_best_first": rules.grows_best_first, "starts_in_row_order": sizes.is_in_row_order,
        "compares_targets": objective.compares_targets, "describes_nodes": describes_nodes(objective),
        "has_instruments": moments.has_instruments, "is_stabilised": moments.is_stabilised,
    }  # fmt: skip
    return Attributes(
        {name: np.int32(number) for name, number in numbers.items()}
        | {name: bool(flag) for name, flag in flags.items()}
        | {"additions": _flat(rules.additions), "node_additions": _flat(objective.additions)}
    )


def _flat(additions: tuple[Addition, ...]) -> np.ndarray:
    return np.array(additions, np.int32).reshape(-1)
