"""Adding entries to the cells of histograms, in the way that suits the device.

What an entry adds is a whole number to a cell of every table, one a channel that it counts for; the order of additions
makes no difference. A *base* is the cell of an entry but for its code.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int, Int32

from jaxtree.growth.backends import Accumulation
from jaxtree.growth.measure import Measure
from jaxtree.growth.plan import Plan, TablePlan

NO_LABEL = -1
"""In place of an output: the channel is the same for all entries."""

COUNTS_ROW = -1
"""In place of a value: whether the entry has weight."""


def add_by_scatter(
    table: Int[Array, " cell"],
    base: Int32[Array, "base entry"],
    code: Int32[Array, " entry"],
    value: Int[Array, "value entry"],
    num_bins: int,
    measure: Measure,
) -> Int[Array, " cell"]:
    """Adds entries to one table, by a scatter a channel."""
    for cell, added in _additions(base, value, num_bins, measure):
        table = table.at[cell + code].add(added, mode="promise_in_bounds")
    return table


def add_to_all(
    tables: Int[Array, "table cell"],
    base: Int32[Array, "base entry"],
    code: Int32[Array, "table entry"],
    value: Int[Array, "value entry"],
    *,
    table: TablePlan,
    plan: Plan,
) -> Int[Array, "table cell"]:
    """Adds entries to several tables at once."""
    if plan.backend.accumulation == Accumulation.COMPARE:
        return _add_by_comparing(tables, base, code, value, table, plan.rules.measure)
    # One scatter over a vector of indices: GPU programs of several compile for long, and run no faster.
    start = jnp.arange(len(tables), dtype=jnp.int32)[:, None] * tables.shape[1]
    flat = tables.reshape(-1)
    for cell, added in _additions(base, value, table.num_bins, plan.rules.measure):
        index = (start + cell + code).reshape(-1)
        flat = flat.at[index].add(jnp.broadcast_to(added, code.shape).reshape(-1), mode="promise_in_bounds")
    return flat.reshape(tables.shape)


def _add_by_comparing(tables, base, code, value, table: TablePlan, measure: Measure):
    """The product of two matrices: which row of codes an entry adds to, and which code of that row."""
    num_bins = table.num_bins
    row = jnp.arange(tables.shape[1] // num_bins, dtype=jnp.int32)[:, None]
    is_code = (code[:, :, None] == jnp.arange(num_bins, dtype=jnp.int32)).astype(value.dtype)
    for cell, added in _additions(base, value, num_bins, measure):
        adds = jnp.where(cell // num_bins == row, added, 0)
        sums = jnp.einsum("re,teb->trb", adds, is_code, preferred_element_type=value.dtype)
        tables = tables + sums.reshape(tables.shape)
    return tables


def channels_of_entry(measure: Measure) -> tuple[tuple[int, int, int], ...]:
    """What an entry adds to, a triple each: the output whose label is added to the channel, the channel, the value.

    Values are weights and targets. `NO_LABEL` stands for no label, `COUNTS_ROW` for 1 where the weight is positive.
    """
    if measure.num_classes:
        added = [(output, output * measure.num_classes, 0) for output in range(measure.num_outputs)]
    else:
        added = [(NO_LABEL, channel, channel) for channel in range(1 + measure.num_outputs)]
    rows = [(NO_LABEL, measure.num_channels - 1, COUNTS_ROW)] if measure.counts_rows else []
    return (*added, *rows)


def _additions(base, value, num_bins: int, measure: Measure):
    """The cells, but for the code, that every entry adds to, and what it adds: weights, targets, and rows."""
    for number, (_, channel, added) in enumerate(channels_of_entry(measure)):
        cell = base[number] if measure.num_classes else base[0] + channel * num_bins
        yield cell, (value[0] > 0).astype(value.dtype) if added == COUNTS_ROW else value[added]


def copy_stride(num_used: Int32[Array, ""], plan: Plan) -> Int32[Array, ""]:
    """Slots from one copy of the cells in use to the next: a power of two, `num_slots` for a single copy."""
    if plan.backend.accumulation != Accumulation.COPIES:
        return jnp.int32(plan.num_slots)
    sizes = 2 ** jnp.arange(plan.num_slots.bit_length(), dtype=jnp.int32)
    return jnp.min(jnp.where(sizes >= num_used, sizes, plan.num_slots))


def fold_copies(
    tables: Int[Array, "table cell"], num_used: Int32[Array, ""], *, table: TablePlan, plan: Plan
) -> Int[Array, "table cell"]:
    """Adds the copies of the cells in use to the first one."""
    if plan.backend.accumulation != Accumulation.COPIES:
        return tables
    stride = copy_stride(num_used, plan)
    half = plan.num_slots // 2
    while half:
        cells = half * plan.rules.measure.num_channels * table.num_bins
        first, second = tables[:, :cells], tables[:, cells : 2 * cells]
        folded = first + jnp.where(half >= stride, second, 0)
        tables = lax.dynamic_update_slice(tables, folded, (0, 0))
        half //= 2
    return tables
