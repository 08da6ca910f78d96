r"""Contributions to the solution of a moment, from contributions to the means of statistics that it follows from.

Trees average statistics, so that Shapley values of these are exact sums over trees. The solution $f$ is no sum. Along
the straight line from the means $b$ of no row in particular to those $m$ of a row each contribution $\phi_j$ to the
means moves it by $\int_0^1 \nabla f(b + t (m - b)) \cdot \phi_j \, dt$ (Aumann and Shapley, *Values of non-atomic
games*, 1974; Sundararajan, Taly and Yan, *Axiomatic attribution for deep networks*, 2017). These add up to
$f(m) - f(b)$.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

NUM_POINTS = 12
"""Points of the Gauss-Legendre rule on the line."""

STEP = 1e-5
"""Half of the step of a numeric derivative, as a share of the line or of a contribution."""

Solution = Callable[[Float[np.ndarray, "statistic row"]], Any]
"""The solution of a moment, a line each, in means of statistics."""


def carried(
    parts: Float[np.ndarray, "row part statistic"], base: Float[np.ndarray, " statistic"], solution: Solution
) -> tuple[Float64[np.ndarray, "row part effect"], Float64[np.ndarray, " effect"]]:
    """Returns the contribution of every part to the solution, and the solution in the base.

    Args:
        parts: The contributions to the means of statistics of every row.
        base: The means of no row in particular; with all parts of a row they are its means.
        solution: The solution in such means.

    Example:
        >>> ratio = lambda means: means[:1] / means[1:]
        >>> found, base = carried(np.array([[[3.0, 0.0], [1.0, 1.0]]]), np.array([0.0, 1.0]), ratio)
        >>> base.tolist(), found[0].sum(axis=0).round(9).tolist()
        ([0.0], [2.0])
    """
    num_rows, num_parts, _ = parts.shape
    begin = np.asarray(solution(base[:, None]), np.float64)[:, 0]
    whole = parts.sum(axis=1)
    found = np.zeros((num_rows, num_parts, begin.size))
    if not num_rows or not num_parts:
        return found, begin
    points, weights = np.polynomial.legendre.leggauss(NUM_POINTS)
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        at = base + point * whole
        for part in range(num_parts):
            moved = STEP * parts[:, part]
            above, below = (np.asarray(solution((at + sign * moved).T)).T for sign in (1, -1))
            found[:, part] += weight * (above - below) / (2 * STEP)
    left = np.asarray(solution((base + whole).T)).T - begin - found.sum(axis=1)
    # Nothing is left but rounding, except where the moment has no solution somewhere on the line.
    size = np.abs(found)
    total = size.sum(axis=1, keepdims=True)
    share = np.divide(size, total, out=np.full_like(size, 1 / num_parts), where=total > 0)
    return found + share * left[:, None], begin
