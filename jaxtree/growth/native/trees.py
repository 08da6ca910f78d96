"""The kernel in C++ that grows trees on a CPU in place of XLA's programs; an installation with a compiler compiles it.

It sums whole numbers and decides by the same rules, so that trees are the same with and without it. It works in
proportion to a node's rows, where a program of fixed shapes works in proportion to all codes; see
native/src/grow/level_wise.h.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32, UInt32

from jaxtree import kernel
from jaxtree.criteria import entropy, gini, misclassification, poisson, squared_error
from jaxtree.growth.inputs.bundles import ResolvedRules
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import Addition, Objective
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.growth.plan.plan import MANY_CLASSES, Plan
from jaxtree.growth.plan.problem import Entries, NodeState, NodeTable, Problem
from jaxtree.tree import Tree

HANDLERS = (
    "jaxtree_grow",
    "jaxtree_quantise",
    "jaxtree_sum_at_nodes",
    "jaxtree_sum",
    "jaxtree_are_within",
    "jaxtree_add_steps",
    "jaxtree_walk_codes",
)
"""The functions of the kernel. Each does its work for many models at once where it stands under `jax.vmap`."""

FORMULAS: dict[Any, int] = {gini: 0, entropy: 1, misclassification: 2, squared_error: 3, poisson: 4}
"""The criteria that the kernel can score by, and the number of each."""

NEWTON = 5
"""The number of the objective `Newton`."""

FIELDS = (
    "feature", "code", "next_code", "split_kind", "missing_code", "missing_branch", "first_child", "num_children",
    "parent", "depth", "root", "num_rows",
)  # fmt: skip
"""The fields of a tree that are whole numbers, in the order of the kernel's results."""


@functools.cache
def is_available() -> bool:
    """Whether the kernel is there, see `jaxtree.kernel.load`; the first call registers it with XLA."""
    library = kernel.load()
    if library is None:
        return False
    for handler in HANDLERS:
        jax.ffi.register_ffi_target(handler, jax.ffi.pycapsule(getattr(library, handler)), platform="cpu")
    return True


@functools.cache
def has_handler(handler: str) -> bool:
    """Whether the kernel is there and has a further handler, which the first call registers with XLA."""
    if not is_available():
        return False
    library = kernel.load()
    if not hasattr(library, handler):
        return False
    jax.ffi.register_ffi_target(handler, jax.ffi.pycapsule(getattr(library, handler)), platform="cpu")
    return True


def can_grow(rules: ResolvedRules) -> bool:
    """Whether the kernel is there and knows these rules: of Newton steps all but those that share rows."""
    shares = rules.shares_missing and type(rules.objective) is Newton
    return is_available() and _formula(rules.objective) is not None and not shares


def describes_nodes(objective: Objective) -> bool:
    """Whether `grow_nodes` returns weights, impurities and the weights of classes, and no sums of nodes.

    Of many classes it does: it looks at the nodes that are made, where XLA looks at all that there is room for.
    """
    return max(objective.classes, default=0) >= MANY_CLASSES


def _formula(objective: Objective) -> int | None:
    """The number of an objective's formula.

    A class derived from a known one may compute anything else, so it has none.
    """
    if type(objective) is Newton:
        return NEWTON
    if isinstance(objective, Classes | Numbers) and type(objective) in (Classes, Numbers):
        return FORMULAS.get(objective.criterion)
    return None


def grow_nodes(
    problem: Problem, entries: Entries, root_seed: UInt32[Array, " root"], *, plan: Plan, tells_leaves: bool = False
) -> tuple[NodeTable, Int32[Array, " row"]]:
    """The nodes of all trees, with their sums; and the leaf of every row of a single tree, if it is asked for.

    Of many classes, see `describes_nodes`, the tree has the weights of classes in place of sums, and weights in units.
    """
    features, limits, rules, size = problem.features, problem.limits, plan.rules, plan.capacity
    none = jnp.zeros((len(problem.num_codes), 0), jnp.int32)
    or_none = lambda values, dtype=jnp.int32: none.astype(dtype) if values is None else values  # noqa: E731
    arrays = (
        problem.codes, entries.row, entries.slot, entries.label, entries.value,
        features.kind, problem.num_codes, features.missing_code, problem.in_average.astype(jnp.int32),
        or_none(features.monotone), or_none(features.first_apart), or_none(problem.position, jnp.float64),
        or_none(problem.sets, jnp.uint32),
        jnp.stack([problem.units.weight, problem.units.target]),
        limits.max_depth, limits.split_weight, limits.split_rows, limits.min_gain, limits.min_impurity_decrease,
        limits.max_features, limits.level_features, limits.max_leaf_nodes, limits.leaf_weight, limits.leaf_rows,
        limits.mdl_correction, limits.num_declared_classes, limits.parameters, root_seed,
    )  # fmt: skip
    objective = rules.objective
    is_described = describes_nodes(objective)
    sums_type = jnp.float64 if is_described and rules.is_scaled else entries.value.dtype
    described = size if is_described else 0
    compared = jax.ShapeDtypeStruct((size if objective.compares_targets else 0,), jnp.int64)
    results = (
        *(jax.ShapeDtypeStruct((size,), jnp.int32),) * len(FIELDS),
        jax.ShapeDtypeStruct((size,), jnp.float64),
        jax.ShapeDtypeStruct((size, plan.num_words), jnp.uint32),
        jax.ShapeDtypeStruct((size, objective.num_node_channels), sums_type),
        compared,
        compared,
        jax.ShapeDtypeStruct((described,), entries.value.dtype),
        jax.ShapeDtypeStruct((described,), jnp.float64),
        jax.ShapeDtypeStruct((2,), jnp.int32),
        jax.ShapeDtypeStruct((problem.codes.shape[1] if tells_leaves else 0,), jnp.int32),
        jax.ShapeDtypeStruct((_bytes_lent(entries, plan),), jnp.uint8),
    )
    call = jax.ffi.ffi_call("jaxtree_grow", results, vmap_method="expand_dims")
    whole = call(*arrays, **_attributes(plan))
    fields, (gain, subset, sums, low, high, *described, end, leaf, _) = whole[: len(FIELDS)], whole[len(FIELDS) :]
    weight, impurity = described if is_described else (jnp.zeros(size), jnp.zeros(size))
    count = sums if is_described else jnp.zeros((size, 0))
    tree = Tree(
        **dict(zip(FIELDS, fields, strict=True)), gain=gain, subset=subset, num_nodes=end[0],
        threshold=jnp.zeros(size), weight=weight, impurity=impurity,
        count=count, target_sum=jnp.zeros((size, 0)), num_classes=objective.classes,
    )  # fmt: skip
    unused = jnp.zeros(0)
    return NodeTable(tree, NodeState(sums, low, high, unused, unused, root_seed[:0], root_seed[:0]), end[1] > 0), leaf


def _bytes_lent(entries: Entries, plan: Plan) -> int:
    """Memory that XLA lends to the growth of a tree in the order of the rows; more is allocated where it is too little.

    An entry has a slot, a row, a base and two vectors of values, see native/src/histogram/row_subset.h.
    """
    if not plan.starts_in_row_order or plan.num_slots == 0:
        return 0
    width = -(-(plan.rules.num_channels + 1) // 4) * 4
    return plan.entry_capacity * 4 * (3 + 2 * width) if entries.value.dtype == jnp.int32 else 0


def _attributes(plan: Plan) -> dict[str, Any]:
    """What is static of a growth, by the names that native/src/ffi/grow.cc reads."""
    rules, objective = plan.rules, plan.rules.objective
    formula = _formula(objective)
    assert formula is not None
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
        "grows_best_first": rules.grows_best_first, "starts_in_row_order": plan.starts_in_row_order,
    }  # fmt: skip
    return {
        **{name: np.int32(number) for name, number in numbers.items()},
        **{name: bool(flag) for name, flag in flags.items()},
        "additions": _flat(rules.additions),
        "node_additions": _flat(objective.additions),
    }


def _flat(additions: tuple[Addition, ...]) -> np.ndarray:
    return np.array(additions, np.int32).reshape(-1)
