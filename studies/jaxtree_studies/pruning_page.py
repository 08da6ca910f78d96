"""The report of the comparison of prunings: the figures, one function each, and the page."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from jaxtree_studies import rank_figure, report
from jaxtree_studies.pruning_methods import CLASSICAL, DROPOUT, FOREST, NONE, OPTIMAL, UNPRUNED
from jaxtree_studies.pruning_verdict import verdict
from jaxtree_studies.prunings import Results, accuracies
from jaxtree_studies.ranks import SAME
from jaxtree_studies.report import BLUE, GREEN, GREY, INK, VERMILLION, house_style

COLORS = {NONE: INK, CLASSICAL: BLUE, DROPOUT: VERMILLION, FOREST: GREEN, OPTIMAL: GREEN}
"""The colour of every family of methods."""


def write_report(results: Results, out_dir: str | os.PathLike) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
    """
    values = {**results, "verdict": verdict(results), "rows": accuracy_rows(results), "choices": _choices(results)}
    figures = {"ranks": figure_ranks(results), "gains": figure_gains(results), "costs": figure_costs(results)}
    return report.write_report(out_dir, "prunings.html", values, {**results, "verdict": values["verdict"]}, figures)


def accuracy_rows(results: Results) -> list[dict[str, Any]]:
    """Returns a row of cells for each method, in the order of the mean ranks; the best of each data set is marked."""
    best = {table["name"]: max(table["accuracy"].values()) for table in results["data"]}
    rows, rank = [], results["ranks"]["mean"]
    for method in sorted(results["methods"], key=lambda method: rank[method["name"]]):
        cells = []
        for table in results["data"]:
            accuracy = table["accuracy"][method["name"]]
            cells.append({"accuracy": accuracy, "is_best": accuracy >= best[table["name"]] - SAME})
        rows.append({**method, "rank": rank[method["name"]], "cells": cells})
    return rows


def figure_ranks(results: Results) -> Figure:
    """The mean ranks of all methods."""
    return rank_figure.draw(results["ranks"], {m["name"]: COLORS[m["family"]] for m in results["methods"]})


@house_style()
def figure_gains(results: Results) -> Figure:
    """By how many points every method is more accurate than no pruning, on every data set."""
    names = [method["name"] for method in results["methods"]]
    accuracy = accuracies(results)
    gain = 100 * (accuracy - accuracy[:, [names.index(UNPRUNED)]]).T
    # One outlier must not blanch all the rest.
    most = max(float(np.quantile(np.abs(gain), 0.95)), 0.1)
    figure = Figure(figsize=(3.0 + 0.72 * len(results["data"]), 1.4 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.imshow(gain, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    for (row, column), value in np.ndenumerate(gain):
        color = "white" if abs(value) > 0.7 * most else INK
        text = f"{value:+.1f}".replace("-", "−") if abs(value) >= 0.05 else "0"
        axes.text(column, row, text, ha="center", va="center", color=color, fontsize="small")
    heads = [table["name"].replace(", ", ",\n") for table in results["data"]]
    axes.set_xticks(range(len(heads)), heads, rotation=45, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    axes.set_yticks(range(len(names)), names)
    for label, method in zip(axes.get_yticklabels(), results["methods"], strict=True):
        label.set_color(COLORS[method["family"]])
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    return figure


@house_style()
def figure_costs(results: Results) -> Figure:
    """Leaves and seconds of a fit of every method, as shares of those of the whole tree."""
    names = [method["name"] for method in results["methods"]]
    leaves = np.array([[table["leaves"][name] for name in names] for table in results["data"]])
    seconds = np.array([[results["seconds"][table["name"]][name] for name in names] for table in results["data"]])
    order = np.argsort(-_geometric_means(leaves), kind="stable")
    figure = Figure(figsize=(10.0, 1.1 + 0.27 * len(names)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, values, label in zip(panels, (leaves, seconds), ("leaves", "seconds of a fit"), strict=True):
        shares = (values / values[:, [names.index(UNPRUNED)]])[:, order]
        rows = np.broadcast_to(np.arange(len(names)), shares.shape)
        axes.plot(shares.ravel(), rows.ravel(), ".", color=GREY, alpha=0.4, markeredgewidth=0)
        for row, place in enumerate(order):
            color = COLORS[results["methods"][place]["family"]]
            axes.plot(_geometric_means(shares)[row], row, "D", color=color, markersize=6)
        axes.axvline(1, color=INK, linewidth=1, zorder=1)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel(f"{label} (the whole tree's = 1)")
    panels[0].set_yticks(range(len(names)), [names[place] for place in order])
    for label, place in zip(panels[0].get_yticklabels(), order, strict=True):
        label.set_color(COLORS[results["methods"][place]["family"]])
    return figure


def _geometric_means(values: Float[np.ndarray, "data method"]) -> Float[np.ndarray, " method"]:
    return np.exp(np.mean(np.log(values), axis=0))


def _choices(results: Results) -> list[dict[str, Any]]:
    """The choices of each method that has some, on the outer folds of each data set."""
    rows = []
    for method in results["methods"]:
        cells = [
            [_as_words(fold["methods"][method["name"]]["chosen"]) for fold in table["folds"]]
            for table in results["data"]
        ]
        if any(words for cell in cells for words in cell):
            rows.append({**method, "cells": cells})
    return rows


def _as_words(chosen: dict[str, Any]) -> str:
    """A setting's numbers, such as "0.1, 0.5"; what is the same in every fold is left out."""
    fixed = ("draws", "z", "rule", "folds", "cv", "cost", "validation_fraction", "standard_errors")
    numbers = [value for name, value in chosen.items() if name not in fixed]
    return ", ".join("no limit" if value is None else f"{value:.3g}" for value in numbers)
