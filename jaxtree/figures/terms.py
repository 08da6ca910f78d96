"""Curves of the terms of additive models: their edges, intervals, and the density of the rows below."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.additive.explanations import ExplainedTerm

HIGHEST = 0.98
"""The quantile of densities that has the highest bar: bins of one frequent value would hide all others."""


class TermCurve(NamedTuple):
    """The curve of a term of one column of numbers.

    Attributes:
        edges: The edges of its bins, between which there is room also of a column of one value; none where there is no
            bin.
        density: The weight of the rows of the fit by the width of each bin, cut at a height that few have.
        low: The lower ends of the intervals of what is added, the missing value last; None where none are known.
        high: The upper ends.
        has_missing: Whether rows of the fit had no value.
    """

    edges: Float64[np.ndarray, " edge"]
    density: Float64[np.ndarray, " bin"]
    low: Float64[np.ndarray, "bin_or_missing score"] | None
    high: Float64[np.ndarray, "bin_or_missing score"] | None
    has_missing: bool


def curve_of(term: ExplainedTerm, confidence: float = 0.95) -> TermCurve:
    """Returns the curve of a term of numbers.

    Args:
        term: The term.
        confidence: The share of intervals that are to hold what the fit estimates.
    """
    edges = np.asarray(term.axes[0].edges, np.float64)
    if len(edges) == 2 and edges[0] == edges[1]:
        edges = edges + np.array([-0.5, 0.5])
    low, high = intervals_of_term(term, confidence)
    return TermCurve(edges, _density(edges, term.weight[:-1]), low, high, bool(term.weight[-1] > 0))


def intervals_of_term(term: ExplainedTerm, confidence: float = 0.95) -> tuple:
    """Returns the ends of a term's band, or else of its intervals; None for both where they are not known."""
    if term.band is not None:
        return term.band
    low, high = term.interval(confidence)
    return (low, high) if np.isfinite(low).all() else (None, None)


def _density(edges: Float[np.ndarray, " edge"], weight: Float[np.ndarray, " bin"]) -> Float64[np.ndarray, " bar"]:
    width = np.diff(edges)
    if not len(width):  # of a column without numbers
        return np.zeros(0)
    density = np.divide(weight, width, out=np.zeros(len(width)), where=width > 0)
    return np.minimum(density, float(np.quantile(density, HIGHEST)) or float(density.max()))
