"""The report of the dropout study: the figures, one function each, and the page.

`results` is a plain dictionary of the study's numbers, `draws` the test and training accuracies of every draw. A
*setting* is a pair of p and q; a *draw* is one pruned tree at that setting. A *cloud* shows draws as points above their
setting, spread sideways the wider the more draws have a like accuracy.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxtree_studies import report
from jaxtree_studies.dropout_paper import Results, verdict
from jaxtree_studies.report import BLUE, GREEN, GREY, INK, SKY, VERMILLION, house_style

TEST_AXIS = "test accuracy (share of 432 rows)"
TRAIN_AXIS = "training accuracy (share of 1296 rows)"

# More points than this at one setting only darken the page; draws are exchangeable, so the first ones will do.
POINTS_PER_SETTING = 400

# The paper prints its accuracies with six digits.
_PRINTED = 5e-7

Draws = dict[str, np.ndarray]


def write_report(results: Results, draws: Draws, out_dir: str | os.PathLike) -> list[Path]:
    """Writes `report.html`, `report.json` and `figures/*.png`, and returns their paths, the page first.

    Every file is complete or, after a failure, what it was before. The same results give the same bytes, except the
    times, which stand under `seconds`.

    Raises:
        InvalidInputError: `out_dir` cannot be made or written to.
    """
    test, train = draws["test"], draws["train"]
    values = {
        **results,
        "verdict": verdict(results),
        "table2_rows": _table2_rows(results["table2"]),
        "num_settings": test.shape[0] * test.shape[1],
        "draws_per_setting": test.shape[2],
        "num_values": {"test": _num_values(test), "train": _num_values(train)},
        "lowest_draw": test.min(),
        "highest_draw": test.max(),
        "points_per_setting": POINTS_PER_SETTING,
    }
    figures = {name: draw(results, draws) for name, draw in _FIGURES.items()}
    return report.write_report(out_dir, "report.html", values, _stated(results), figures)


@house_style()
def figure_roc(results: Results) -> Figure:
    """Figure 2: the ROC curve of the tree of depth 3, one point for each threshold."""
    roc, area = results["roc"], results["auc"]
    figure = Figure(figsize=(5.6, 5.0), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(roc["false_positive_rate"], roc["true_positive_rate"], color=SKY, alpha=0.15, linewidth=0)
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="guessing")
    axes.plot(
        roc["false_positive_rate"],
        roc["true_positive_rate"],
        color=BLUE,
        marker="o",
        markersize=5,
        linewidth=2,
        label="tree of depth 3",
        clip_on=False,
    )
    for point in zip(roc["false_positive_rate"], roc["true_positive_rate"], strict=True):
        if point not in [(0, 0), (1, 1)]:
            axes.annotate("({:.3f}, {:.3f})".format(*point), point, xytext=(9, -13), textcoords="offset points")
    axes.text(0.52, 0.3, f"AUC = {area:.4f}", fontsize="x-large", color=INK)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    axes.set_xlabel("false positive rate (share of unacceptable cars)")
    axes.set_ylabel("true positive rate (share of acceptable cars)")
    axes.legend(loc="lower right")
    return figure


@house_style()
def figure_p_alone(results: Results, draws: Draws) -> Figure:
    """Figure 3: test accuracy against p at q = 0, with the paper's single draws."""
    dropout, test = results["dropout"], draws["test"][:, 0]
    summary = [np.array(dropout[name])[:, 0] for name in ("mean_test", "low_test", "high_test", "expected_test")]
    figure = Figure(figsize=(8.4, 5.0), layout="constrained")
    axes = figure.subplots()
    _clouds(axes, dropout["p"], test, half_width=0.026)
    _summary(axes, dropout["p"], *summary, width=0.036)
    _unpruned_line(axes, results["classic"]["test_accuracy"])
    mark = {"color": VERMILLION, "markersize": 9, "markerfacecolor": "none", "markeredgewidth": 2, "zorder": 6}
    axes.plot(dropout["p"], results["paper"]["figure3_test"], "D", **mark, label="the paper's one draw")
    axes.set_xticks(dropout["p"], [f"{p:g}" for p in dropout["p"]])
    axes.set(xlabel="p (chance that a child of the root is pruned), q = 0", ylabel=TEST_AXIS)
    _legend(figure, axes, ncols=3)
    return figure


@house_style()
def figure_p_and_q(results: Results, draws: Draws, part: str) -> Figure:
    """Figure 4 (`part="test"`) and figure 5 (`part="train"`): accuracy against q, one panel for each p."""
    dropout = results["dropout"]
    names = [f"{name}_{part}" for name in ("mean", "low", "high", "expected")]
    figure = Figure(figsize=(10.4, 6.6), layout="constrained")
    panels = figure.subplots(2, (len(dropout["p"]) + 1) // 2, sharex=True, sharey=True)
    for row, (p, axes) in enumerate(zip(dropout["p"], panels.flat, strict=False)):
        _clouds(axes, dropout["q"], draws[part][row], half_width=0.06)
        _summary(axes, dropout["q"], *(np.array(dropout[name][row]) for name in names), width=0.075)
        _unpruned_line(axes, results["classic"][f"{part}_accuracy"])
        axes.set_title(f"p = {p:g}")
        axes.set_xticks(dropout["q"][::2], [f"{q:g}" for q in dropout["q"][::2]])
    figure.supxlabel("q (growth of the chance with each level)", fontsize="medium", color=INK)
    figure.supylabel(TEST_AXIS if part == "test" else TRAIN_AXIS, fontsize="medium", color=INK)
    _legend(figure, panels.flat[0], ncols=5)
    return figure


@house_style()
def figure_shuffled(results: Results) -> Figure:
    """Figure 6: test accuracy after shuffling the rows, box plots over the shuffles for each p."""
    shuffled = results["shuffled"]
    figure = Figure(figsize=(9.6, 4.8), layout="constrained")
    panels = figure.subplots(1, len(shuffled["q"]), sharey=True, squeeze=False)[0]
    for axes, q, accuracy, expected in zip(
        panels, shuffled["q"], shuffled["accuracy"], shuffled["expected"], strict=True
    ):
        place = np.arange(len(shuffled["p"]))
        _clouds(axes, place, np.array(accuracy), half_width=0.5, label="one draw for each shuffle")
        _boxes(axes, place, accuracy)
        mean = np.mean(expected, axis=1)
        axes.plot(place, mean, "D", color=VERMILLION, markersize=6, zorder=6, label="mean expected accuracy, exact")
        axes.set_xticks(place, [f"{p:g}" for p in shuffled["p"]])
        axes.set(xlabel="p (chance that a child of the root is pruned)", title=f"q = {q:g}")
    panels[0].set_ylabel(TEST_AXIS)
    _legend(figure, panels[0], ncols=3)
    return figure


@house_style()
def figure_share_above(results: Results) -> Figure:
    """Share of draws whose test accuracy is above the unpruned tree's, at every setting."""
    dropout = results["dropout"]
    share = np.array(dropout["share_above_classic"])
    figure = Figure(figsize=(9.2, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(share):
        color = "white" if value > 0.68 else INK
        axes.text(column, row, f"{100 * value:.0f} %", ha="center", va="center", color=color)
    axes.set_xticks(range(len(dropout["q"])), [f"{q:g}" for q in dropout["q"]])
    axes.set_yticks(range(len(dropout["p"])), [f"{p:g}" for p in dropout["p"]])
    axes.set(xlabel="q (growth of the chance with each level)", ylabel="p (chance for a child of the root)")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def _clouds(axes: Axes, centres: Any, samples: np.ndarray, *, half_width: float, label: str = "draws") -> None:
    """Points of each sample around its centre; the fuller the neighbourhood, the wider they spread.

    Many draws agree to the last row, so points also move up or down by at most 0.002.
    """
    chance = np.random.default_rng(0)
    shown = np.asarray(samples, dtype=np.float64)[:, :POINTS_PER_SETTING]
    width = half_width * np.array([_fullness(sample) for sample in shown])
    across = np.asarray(centres)[:, None] + width * chance.triangular(-1, 0, 1, shown.shape)
    up = np.minimum(shown + chance.uniform(-0.002, 0.002, shown.shape), 1)
    points = {"color": SKY, "markeredgewidth": 0, "zorder": 2}
    axes.plot(across.ravel(), up.ravel(), ".", alpha=0.6, markersize=3.5, **points)
    axes.plot([], [], ".", markersize=8, label=label, **points)


def _fullness(sample: np.ndarray) -> np.ndarray:
    """For each value, the square root of the share of values that agree with it to two digits."""
    _, place, count = np.unique(np.round(sample, 2), return_inverse=True, return_counts=True)
    return np.sqrt(count / len(sample))[place]


def _summary(axes: Axes, centres: Any, mean: Any, low: Any, high: Any, expected: Any, *, width: float) -> None:
    percent = "5 % to 95 % of draws"
    axes.bar(centres, high - low, bottom=low, width=width, color=INK, alpha=0.07, linewidth=0, label=percent)
    axes.use_sticky_edges = False  # else the axis ends at the bars, and cuts the marks that lie there
    axes.plot(centres, mean, "-o", color=BLUE, linewidth=1.5, markersize=4.5, zorder=4, label="mean of draws")
    dashes = {"markersize": 11, "markeredgewidth": 1.6, "zorder": 5, "label": "expected, exact"}
    axes.plot(centres, expected, "_", color=INK, **dashes)


def _unpruned_line(axes: Axes, accuracy: float) -> None:
    axes.axhline(accuracy, color=GREEN, linestyle=(0, (5, 2)), linewidth=1.6, zorder=3, label="unpruned tree")


def _boxes(axes: Axes, place: np.ndarray, accuracy: Any) -> None:
    line = {"color": BLUE, "linewidth": 1.4}
    axes.boxplot(
        [np.asarray(values) for values in accuracy],
        positions=place,
        widths=0.6,
        showfliers=False,
        patch_artist=True,
        boxprops={"edgecolor": BLUE, "facecolor": "none", "linewidth": 1.4},
        whiskerprops=line,
        capprops=line,
        medianprops={"color": INK, "linewidth": 2},
        label="quartiles and median of the draws",
    )


def _legend(figure: Figure, axes: Axes, ncols: int) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=ncols)


_FIGURES: dict[str, Callable[[Results, Draws], Figure]] = {
    "figure2": lambda results, draws: figure_roc(results),
    "figure3": figure_p_alone,
    "figure4": lambda results, draws: figure_p_and_q(results, draws, "test"),
    "figure5": lambda results, draws: figure_p_and_q(results, draws, "train"),
    "figure6": lambda results, draws: figure_shuffled(results),
    "share_above_classic": lambda results, draws: figure_share_above(results),
}


def _table2_rows(table2: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Table 2 with a row for each criterion; each cell has its difference to the nearest printed value."""
    rows: dict[str, list] = {}
    for entry in table2:
        nearest = min(entry["paper"], key=lambda printed: abs(entry["accuracy"] - printed))
        difference = entry["accuracy"] - nearest
        cell = {**entry, "nearest": nearest, "difference": difference, "same": abs(difference) <= _PRINTED}
        rows.setdefault(entry["criterion"], []).append(cell)
    return [{"criterion": criterion, "cells": cells} for criterion, cells in rows.items()]


def _num_values(accuracy: np.ndarray) -> int:
    """The number of accuracies that differ by at least a row; five digits distinguish 1296 rows."""
    return len(np.unique(np.round(accuracy, 5)))


def _stated(results: Results) -> dict[str, Any]:
    """The results with every measured time under `seconds`, so that all the rest repeats byte for byte."""
    cost = dict(results["cost"])
    seconds = {**results["seconds"], "our_seconds_sweep": cost.pop("our_seconds_sweep")}
    return {**results, "cost": cost, "seconds": seconds}
