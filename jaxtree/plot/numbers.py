"""Columns of numbers at an axis: dates as dates, durations in a unit near to their size."""

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

from jaxtree.errors import present
from jaxtree.plot.style import name_axes, round_ticks, unit_of_times
from jaxtree.table.schema import Column


def _is_date(column: Column) -> bool:
    return column.time is not None and column.time.kind != "duration"


def _unit_of(column: Column) -> tuple[float, str]:
    """The unit of a column of durations."""
    bins = present(column.bins)
    return unit_of_times(float(bins.high[-1] - bins.low[0]))


def drawn_numbers(column: Column, numbers: Float[np.ndarray, " some"]) -> Float64[np.ndarray, " some"]:
    """Numbers of a column as an axis has them."""
    if column.time is None:
        return numbers
    if column.time.kind == "duration":
        return numbers / _unit_of(column)[0]
    return float(date2num(column.time.value(0.0))) + numbers


def name_numbers(ax: Axes, axis: str, column: Column) -> None:
    """Writes the name of a column at the "x" or the "y" axis, and sets its ticks."""
    unit = "" if column.time is None or _is_date(column) else f" ({_unit_of(column)[1]})"
    name_axes(ax, **{axis: column.name + unit})
    if not _is_date(column):
        round_ticks(ax, axis)
        return
    own = ax.xaxis if axis == "x" else ax.yaxis
    locator = AutoDateLocator(maxticks=6)
    own.set_major_locator(locator)
    own.set_major_formatter(ConciseDateFormatter(locator))
