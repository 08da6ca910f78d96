"""Figures as lines: one a fit, and one an aim that is reached or missed."""

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.moments.cases import Case
from benchmarks.moments.contenders import OURS

SHOWN = (
    "mse",
    "coverage",
    "std",
    "pinball",
    "pinball of the truth",
    "rmse",
    "crossing",
    "concordance",
    "concordance of the truth",
    "value",
    "wall",
    "cpu",
    "peak_mib",
    "file_mib",
    "error",
)
SIGNS = {operator.le: "<=", operator.ge: ">="}


def add_sums(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Adds the seconds of fit and predictions together."""
    return dict(figures) | {of: figures[f"fit {of}"] + figures[f"predict {of}"] for of in ("wall", "cpu")}


def line_of(figures: Mapping[str, Any]) -> str:
    """Returns the figures that count, in one line."""
    return "  ".join(f"{name} {_shown(figures[name])}" for name in SHOWN if name in figures)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | int) else str(value)


def mean_of(found: Mapping[str, Any], figure: str) -> float | None:
    """Returns the mean of a figure over repeats; None where no repeat has it."""
    own = [run[figure] for run in found.values() if figure in run]
    return float(np.mean(own)) if own else None


def aims_of(case: Case, found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yields a line for every aim whose figures there are, ours and where there is one the peer's."""
    for aim in case.aims:
        ours, peer, bound = mean_of(found.get(OURS, {}), aim.figure), None, aim.bound
        if aim.peer:
            common = {seed: own for seed, own in found.get(aim.peer, {}).items() if seed in found.get(OURS, {})}
            peer = mean_of(common, aim.figure)
            if peer is None:
                continue
            bound = peer + aim.bound if aim.is_difference else peer * aim.bound
        if ours is not None:
            verdict = "reached" if aim.relation(ours, bound) else "MISSED"
            beside = f" ({aim.peer}: {peer:.5g})" if aim.peer else ""
            yield f"  {verdict}: {aim.figure} {ours:.5g}, must be {SIGNS[aim.relation]} {bound:.5g}{beside}"
