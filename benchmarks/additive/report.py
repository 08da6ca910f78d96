"""The summary of the figures: means of folds, and ours beside interpret's on the folds that both have."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from benchmarks.additive.cases import ADULT
from benchmarks.additive.contenders import OURS

PEER = "interpret"
FIGURES = ("auc", "log_loss", "rmse", "wall", "cpu", "peak_mib")
Found = Mapping[str, Any]


def means(found: Found, folds: Iterable[str] | None = None) -> dict[str, float]:
    """The mean of every figure of the folds that were fitted; the greatest peak of memory."""
    chosen = [found[fold] for fold in (found if folds is None else folds) if "wall" in found[fold]]
    kinds: dict[str, Callable[..., Any]] = {"peak_mib": np.max}
    return {
        figure: float(kinds.get(figure, np.mean)([own[figure] for own in chosen]))
        for figure in FIGURES
        if chosen and figure in chosen[0]
    }


def line_of(name: str, contender: str, found: Found) -> str:
    """The means of a contender on a table, or why it has none."""
    number = sum("wall" in own for own in found.values())
    figures = [f"{figure} {value:.5g}" for figure, value in means(found).items()]
    reasons = {own.get("refused") or own.get("error") for own in found.values()} - {None}
    return f"{name:16s} {contender:14s} {number} folds  " + "  ".join([*figures, *sorted(reasons)])


def compare(contenders: Mapping[str, Found]) -> dict[str, float]:
    """Differences and ratios to interpret on the folds that both have; empty without any."""
    both = [contenders.get(name, {}) for name in (OURS, PEER)]
    folds = [fold for fold in both[0] if all("wall" in found.get(fold, {}) for found in both)]
    if not folds:
        return {}
    ours, peer = (means(found, folds) for found in both)
    told = {"folds": len(folds)} | {f"{of} ratio": ours[of] / peer[of] for of in ("wall", "cpu", "peak_mib")}
    for who, own in ((OURS, ours), (PEER, peer)):
        told |= {f"{of} of {who}": own[of] * len(folds) for of in ("wall", "cpu")}
    if "rmse" in ours:
        return told | {"rmse ratio": ours["rmse"] / peer["rmse"]}
    return told | {"auc difference": ours["auc"] - peer["auc"], "log loss ratio": ours["log_loss"] / peer["log_loss"]}


def summarise(tables: Mapping[str, Found]) -> dict[str, float]:
    """Means and worst of the comparisons, and the ratio of all seconds; empty where nothing can be compared."""
    told = [compare(table["contenders"]) for table in tables.values()]
    told = [own for own in told if own]
    summary: dict[str, float] = {"tables": len(told)} if told else {}
    for figure, worst in {"auc difference": min, "rmse ratio": max, "log loss ratio": max}.items():
        values = [own[figure] for own in told if figure in own]
        if values:
            summary |= {f"{figure}, mean": float(np.mean(values)), f"{figure}, worst": worst(values)}
    for of in ("wall", "cpu") if told else ():
        whole = [sum(own[f"{of} of {who}"] for own in told) for who in (OURS, PEER)]
        summary[f"{of} ratio of all"] = whole[0] / whole[1]
    return summary


def lines_of(report: Found) -> list[str]:
    """All that is told at the end: tables, their comparison, first fits, long tables, searches."""
    lines = []
    for name, table in report["tables"].items():
        lines += [line_of(name, contender, found) for contender, found in table["contenders"].items()]
        told = compare(table["contenders"])
        lines += [f"{name:16s} {OURS} / {PEER}: " + _figures(told)] if told else []
    if summary := summarise({name: own for name, own in report["tables"].items() if name != ADULT}):
        lines += ["", "tables of folds: " + _figures(summary), ""]
    for part in ("first", "long"):
        for name, contenders in report[part].items():
            lines += [f"{name:28s} {contender:10s} {_figures(found)}" for contender, found in contenders.items()]
    lines += [f"{name:28s} {_figures(found)}" for name, found in report.get("search", {}).items()]
    return lines


def _figures(found: Found) -> str:
    return "  ".join(f"{figure} {_told(value)}" for figure, value in found.items())


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({_figures(value)})"
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)
