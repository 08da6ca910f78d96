r"""Predictions by a ridge regression around every row, with the weights of a forest.

With weights $\alpha_i$ of rows and differences $\Delta_i = z_i - z$ of their columns from those of the row, level and
slopes minimise $\sum_i \alpha_i (y_i - \mu - \Delta_i^\top \beta)^2 + \lambda \sum_j \beta_j^2 \sum_i \alpha_i
\Delta_{ij}^2$; the prediction is $\mu$ (Friedberg, Tibshirani, Athey and Wager, *Local linear forests*, Journal of
Computational and Graphical Statistics 30, 2021). The penalty is in proportion to the columns' own variation, so that
predictions do not depend on units.
"""

import numpy as np
from jaxtyping import Float64

from jaxtree.moments.leaf_rows import RowAtoms, merge

PENALTIES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 1.0, 10.0)
"""The penalties that are compared out of bag, those of grf."""

LEAST_VARIATION = 1e-12
"""Share of a column's squared size below which its variation counts as none, and its slope as 0."""


def local_linear(
    atoms: RowAtoms,
    rows: Float64[np.ndarray, "row column"],
    y: Float64[np.ndarray, " row"],
    at: Float64[np.ndarray, "block column"],
    penalties: Float64[np.ndarray, " penalty"],
) -> Float64[np.ndarray, "block penalty"]:
    """Returns the predictions at some rows for each of several penalties; NaN of a row without weights.

    A value that is missing, in either row, makes no difference.

    Args:
        atoms: The rows of the fit that every row has weights of.
        rows: The columns of the rows of the fit.
        y: Their targets.
        at: The columns of the rows to predict.
        penalties: The penalties.

    Example: three rows on a line.
        >>> atoms = RowAtoms(np.array([0, 3]), np.arange(3), np.ones(3, int), np.arange(4))
        >>> rows, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
        >>> local_linear(atoms, rows, y, np.array([[4.0]]), np.zeros(1)).round(6).tolist()
        [[9.0]]
    """
    own = merge(atoms)
    found = np.full((len(at), penalties.size), np.nan)
    for place, row in enumerate(at):
        some = slice(own.first[place], own.first[place + 1])
        if some.stop > some.start:
            atom, weight = own.atom[some], own.weight[some].astype(np.float64)
            found[place] = _levels(rows[atom] - row, y[atom], weight / weight.sum(), penalties)
    return found


def _levels(
    difference: Float64[np.ndarray, "atom column"],
    y: Float64[np.ndarray, " atom"],
    weight: Float64[np.ndarray, " atom"],
    penalties: Float64[np.ndarray, " penalty"],
) -> Float64[np.ndarray, " penalty"]:
    """The levels of ridge regressions at a difference of 0."""
    difference = np.where(np.isnan(difference), 0.0, difference)
    center, mean = weight @ difference, weight @ y
    centred, own = difference - center, y - mean
    products = (centred * weight[:, None]).T @ centred
    with_y = (centred * weight[:, None]).T @ own
    variation, size = np.diag(products), weight @ difference**2
    kept = variation > LEAST_VARIATION * size
    if not kept.any():
        return np.full(penalties.size, mean)
    # The level at a difference of 0 has no penalty, and the slopes that of the columns' sizes around the row.
    scale = np.sqrt(size[kept])
    matrix = products[np.ix_(kept, kept)] / scale[:, None] / scale
    slopes = [
        np.linalg.lstsq(matrix + penalty * np.eye(scale.size), with_y[kept] / scale, rcond=LEAST_VARIATION)[0]
        for penalty in penalties
    ]
    return mean - np.array(slopes) @ (center[kept] / scale)
