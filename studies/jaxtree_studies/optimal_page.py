"""The report of the comparison of optimal trees: the figures, one function each, and the page."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from jaxtree_studies import report
from jaxtree_studies.optimal_trees import BUDGETS, CART, Results, accuracies
from jaxtree_studies.optimal_verdict import verdict
from jaxtree_studies.pruning_page import figure_ranks
from jaxtree_studies.ranks import SAME
from jaxtree_studies.report import BLUE, GREEN, GREY, INK, SKY, VERMILLION, house_style

LINES = (BLUE, SKY, VERMILLION, GREEN, INK, GREY)
"""The colours of the methods, in their order."""


def write_report(results: Results, out_dir: str | os.PathLike) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
    """
    values = {**results, "verdict": verdict(results), "sections": [_section(results, b) for b in results["budgets"]]}
    figures = {
        f"ranks_{place}": figure_ranks({**results, "ranks": results["ranks"][budget]})
        for place, budget in enumerate(results["budgets"])
    }
    figures["accuracy"] = figure_accuracy(results)
    stated = {**results, "verdict": values["verdict"]}
    return report.write_report(out_dir, "optimal.html", values, stated, figures)


def _section(results: Results, budget: str) -> dict[str, Any]:
    """The table of a budget: a row for each method, by mean rank; the best of a data set is marked."""
    rank = results["ranks"][budget]["mean"]
    tables = results["data"]
    best = [max(table["accuracy"][budget].values()) - SAME for table in tables]
    rows = []
    for name in sorted(rank, key=rank.get):
        cells = [
            {
                "accuracy": table["accuracy"][budget][name],
                "leaves": table["leaves"][budget][name],
                "is_best": table["accuracy"][budget][name] >= least,
            }
            for table, least in zip(tables, best, strict=True)
        ]
        rows.append({"name": name, "rank": rank[name], "cells": cells})
    return {"budget": budget, "rows": rows, "critical_difference": results["ranks"][budget]["critical_difference"]}


@house_style()
def figure_accuracy(results: Results) -> Figure:
    """By how many points every method is better than CART on average, in training and in test, against the leaves."""
    names = [method["name"] for method in results["methods"]]
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, figure_name, label in zip(
        panels, ("train_accuracy", "accuracy"), ("training rows", "test rows"), strict=True
    ):
        for place, name in enumerate(names):
            if name == CART:
                continue
            gains = [
                100
                * np.mean(
                    [table[figure_name][budget][name] - table[figure_name][budget][CART] for table in results["data"]]
                )
                for budget in BUDGETS
            ]
            axes.plot(range(len(BUDGETS)), gains, "-o", color=LINES[place], linewidth=1.6, markersize=5, label=name)
        axes.axhline(0, color=INK, linewidth=1)
        axes.set_xticks(range(len(BUDGETS)), list(BUDGETS))
        axes.set_title(label)
    panels[0].set_ylabel(f"points beside {CART}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(names) - 1)
    return figure


def mean_accuracies(results: Results) -> dict[str, dict[str, float]]:
    """Returns the mean accuracy over data sets of every method within every budget."""
    names = [method["name"] for method in results["methods"]]
    return {
        budget: dict(zip(names, accuracies(results, budget).mean(axis=0).tolist(), strict=True))
        for budget in results["budgets"]
    }
