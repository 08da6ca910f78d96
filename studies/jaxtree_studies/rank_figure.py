"""The critical-difference plot of Demšar (2006): mean ranks, with bars over methods that do not differ."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxtree_studies.ranks import cliques
from jaxtree_studies.report import GREY, INK, house_style

LINE = 0.27
"""Inches between two names."""
CLIQUE = 0.13
"""Inches between two bars of methods that do not differ."""


@house_style()
def draw(ranks: Mapping[str, Any], colors: Mapping[str, str]) -> Figure:
    """Returns the plot.

    Args:
        ranks: A result of `jaxtree_studies.ranks.summary`.
        colors: The colour of every method.
    """
    mean, difference = ranks["mean"], ranks["critical_difference"]
    names = sorted(mean, key=mean.get)
    values = np.array([mean[name] for name in names])
    bars = cliques(values, difference)
    half = (len(names) + 1) // 2
    height = 1.3 + CLIQUE * len(bars) + LINE * half
    figure = Figure(figsize=(10.0, height), layout="constrained")
    axes = figure.subplots()
    _rank_axis(axes, len(names), difference)
    for number, members in enumerate(bars):
        ends = values[members][[0, -1]] + np.array([-0.06, 0.06])
        axes.plot(ends, [-CLIQUE * (number + 1)] * 2, color=INK, linewidth=3, solid_capstyle="round")
    below = CLIQUE * (len(bars) + 1)
    for place, name in enumerate(names):
        is_left = place < half
        row = place if is_left else len(names) - 1 - place
        edge = 1 - 0.02 * len(names) if is_left else len(names) * 1.02
        y = -below - LINE * (row + 0.5)
        axes.plot([values[place], values[place], edge], [0, y, y], color=colors[name], linewidth=1)
        label = f"{name}  {values[place]:.2f} " if is_left else f" {values[place]:.2f}  {name}"
        axes.text(edge, y, label, ha="right" if is_left else "left", va="center", color=colors[name])
    axes.set_xlim(1 - 0.42 * len(names), len(names) * 1.42)
    axes.set_ylim(-below - LINE * (half + 0.2), 0.75)
    return figure


def _rank_axis(axes: Axes, num_methods: int, difference: float) -> None:
    """A ruler of ranks, with the critical difference above it."""
    axes.set_axis_off()
    axes.plot([1, num_methods], [0, 0], color=INK, linewidth=1.2)
    for rank in range(1, num_methods + 1):
        axes.plot([rank, rank], [0, 0.07], color=INK, linewidth=1)
        axes.text(rank, 0.1, str(rank), ha="center", va="bottom", color=GREY, fontsize="small")
    end = 1 + min(difference, num_methods - 1)
    axes.plot([1, end], [0.5, 0.5], color=GREY, linewidth=2)
    axes.text((1 + end) / 2, 0.53, f"critical difference {difference:.2f}", ha="center", va="bottom", color=GREY)
