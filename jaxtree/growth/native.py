"""Growth by the kernel in C++, on a CPU in place of XLA's programs; an installation with a compiler compiles it.

It sums whole numbers and decides by the same rules, so that trees are the same with and without it. It works in
proportion to a node's rows, where a program of fixed shapes works in proportion to all codes; see
native/src/grow/level_wise.h.
"""

import functools
from typing import Any

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int32, UInt32

from jaxtree.arrays import AnyArray, library_of
from jaxtree.criteria import entropy, gini, misclassification, poisson, squared_error
from jaxtree.errors import present
from jaxtree.growth.inputs.bundles import Missing, Rules
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import Addition, Objective
from jaxtree.growth.inputs.shares import Shares
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.growth.plan.plan import Plan
from jaxtree.growth.plan.problem import Entries, NodeTable, Problem
from jaxtree.kernels.choose import Attributes, Engine, call_kernel, choose
from jaxtree.kernels.mesh import devices_of
from jaxtree.tree import Tree

FORMULAS: dict[Any, int] = {gini: 0, entropy: 1, misclassification: 2, squared_error: 3, poisson: 4}
"""The criteria that the kernel can score by, and the number of each."""

NEWTON = 5
"""The number of the objective `Newton`."""

OF_CLASSES = (Classes, Shares)
"""The objectives whose sums are the weights of classes."""

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


def grow_nodes(
    problem: Problem, entries: Entries, root_seed: UInt32[AnyArray, " root"], *, plan: Plan, tells_leaves: bool = False
) -> tuple[NodeTable, Int32[AnyArray, " row"]]:
    """The nodes of all trees, with their sums; and the leaf of every row of a single tree, if it is asked for.

    For classes, see `describes_nodes`, the tree has their weights in place of sums, and weights in units. On arrays of
    the host it is grown there, and has no room for further nodes: no program of XLA is compiled.
    """
    features, rules, size = problem.features, plan.rules, plan.capacity
    library = library_of(problem.codes, entries.value)
    none = library.zeros((len(problem.num_codes), 0), np.int32)

    def or_none(values: Any, dtype: Any = np.int32) -> Any:
        return none.astype(dtype) if values is None else values

    arrays = (
        problem.codes, entries.row, entries.slot, entries.label, entries.value,
        features.kind, problem.num_codes, features.missing_code, problem.in_average.astype(np.int32),
        or_none(features.monotone), or_none(features.first_apart), or_none(problem.position, np.float64),
        or_none(problem.sets, np.uint32),
        library.stack([problem.units.weight, problem.units.target]),
        *problem.limits, root_seed,
    )  # fmt: skip
    objective = rules.objective
    is_described = describes_nodes(objective)
    value_type = entries.value.dtype
    described = size if is_described else 0
    compared = ((size if objective.compares_targets else 0,), np.int64)
    results = (
        *(((size,), np.int32),) * len(FIELDS),
        ((size,), np.float64),
        ((size, plan.num_words), np.uint32),
        ((size, objective.num_node_channels), np.float64 if is_described and rules.is_scaled else value_type),
        compared,
        compared,
        ((described,), value_type),
        ((described,), np.float64),
        ((2,), np.int32),
        ((problem.codes.shape[1] if tells_leaves else 0,), np.int32),
        ((_bytes_lent(entries, plan),), np.uint8),
    )
    *of_nodes, end, leaf, _ = call_kernel("jaxtree_grow", results, arrays, _attributes(plan))
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


def _bytes_lent(entries: Entries, plan: Plan) -> int:
    """Memory that XLA lends to the growth of a tree in the order of the rows; more is allocated where it is too little.

    An entry has a slot, a row, a base and two vectors of values, see native/src/histogram/row_subset.h.
    """
    if not plan.starts_in_row_order or plan.num_slots == 0:
        return 0
    width = -(-(plan.rules.num_channels + 1) // 4) * 4
    return plan.entry_capacity * 4 * (3 + 2 * width) if entries.value.dtype == np.int32 else 0


@functools.lru_cache
def _attributes(plan: Plan) -> Attributes:
    """The static facts of a growth, by the names that native/src/ffi/grow.cc reads."""
    rules, objective = plan.rules, plan.rules.objective
    formula = present(_formula(objective))
    if isinstance(objective, Newton):
        num_classes, num_outputs = objective.num_curvatures, objective.num_scores
    else:
        num_classes, num_outputs = max(objective.classes, default=0), objective.num_outputs
    numbers = {
        "num_bins": plan.num_bins, "subset_bins": plan.subset_bins, "num_slots": plan.num_slots,
        "capacity": plan.capacity, "formula": formula, "num_classes": num_classes, "num_outputs": num_outputs,
        "num_channels": rules.num_channels, "missing": rules.missing, "selection": rules.selection,
    }  # fmt: skip
    flags = {
        "counts_rows": rules.counts_rows, "is_scaled": rules.is_scaled, "has_missing": rules.has_missing,
        "samples_features": rules.samples_features, "samples_levels": rules.samples_levels,
        "samples_thresholds": rules.samples_thresholds, "draws_ties": rules.draws_ties,
        "draws_scores": rules.draws_scores,
        "grows_best_first": rules.grows_best_first, "starts_in_row_order": plan.starts_in_row_order,
    }  # fmt: skip
    return Attributes(
        {name: np.int32(number) for name, number in numbers.items()}
        | {name: bool(flag) for name, flag in flags.items()}
        | {"additions": _flat(rules.additions), "node_additions": _flat(objective.additions)}
    )


def _flat(additions: tuple[Addition, ...]) -> np.ndarray:
    return np.array(additions, np.int32).reshape(-1)
