"""Weighted least squares with standard errors that trust no equal variances, and what is asked of effects by it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree import notebook
from jaxtree.effects.rows import IndependentRows, half_width, ratio, read_columns, read_units, two_sided
from jaxtree.errors import InvalidInputError

DEPENDENT = 1e-10
"""A column that keeps less of its length, after its projection on those before it, depends on these."""


@dataclass(frozen=True, repr=False)
class LinearFit:
    """Coefficients of a linear fit.

    Attributes:
        title: The name of the fit, for people.
        names: The names of the coefficients.
        estimate: The coefficients.
        standard_error: Their standard errors (HC3, robust to clusters if there are any).
        t: Estimate by standard error.
        p_value: The chance of such a t if the coefficient is 0, by Student's distribution.
        is_one_sided: Whether p values are those of greater numbers alone.
        freedom: The degrees of freedom: rows less coefficients, or clusters less 1 if these are fewer.
    """

    title: str
    names: tuple[str, ...]
    estimate: Float[np.ndarray, " coefficient"]
    standard_error: Float[np.ndarray, " coefficient"]
    t: Float[np.ndarray, " coefficient"]
    p_value: Float[np.ndarray, " coefficient"]
    is_one_sided: bool
    freedom: int

    def interval(self, coverage: float = 0.95) -> Float[np.ndarray, "coefficient 2"]:
        """Returns the lower and the upper end of every coefficient's interval.

        Args:
            coverage: The chance of an interval to hold the coefficient, above 0 and below 1.

        Raises:
            InvalidInputError: The coverage is not allowed.
        """
        width = half_width(1.0, coverage, self.freedom) * self.standard_error
        return np.stack([self.estimate - width, self.estimate + width], axis=1)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        head = ["", "estimate", "standard error", "t", "p (greater)" if self.is_one_sided else "p"]
        rows = zip(self.names, self.estimate, self.standard_error, self.t, self.p_value, strict=True)
        cells = [
            [name, f"{own:.4g}", f"{error:.3g}", f"{t:.2f}", f"{p:.2g}" if p >= 1e-4 else "<1e-04"]
            for name, own, error, t, p in rows
        ]
        return head, cells

    def _repr_html_(self) -> str:
        """Returns the coefficients as a table."""
        return notebook.lines(self.title) + notebook.table(*self._cells())

    def __repr__(self) -> str:
        """Returns title and coefficients in columns of equal width."""
        head, rows = self._cells()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(word.rjust(width) for word, width in zip(row[1:], widths[1:], strict=True))]
            )
            for row in (head, *rows)
        ]
        return "\n".join([self.title, *lines])


def best_linear_projection(scores: Any, A: Any = None, *, sample_weight: Any = None, clusters: Any = None) -> LinearFit:
    r"""Returns the best linear approximation of the effect, $\tau(X) \approx \beta_0 + A \beta$.

    Scores are regressed on the columns: their noise has the mean 0 at every x, so the coefficients are those of the
    effect itself (Semenova and Chernozhukov, *Debiased machine learning of conditional average treatment effects and
    other causal functions*, Econometrics Journal 24, 2021).

    Args:
        scores: The doubly robust score of every row.
        A: The columns that the effect is to depend on, a frame or an array [row, column] or one column; none gives the
            mean effect.
        sample_weight: The weight of every row; 1 if not given. With $\hat e (1 - \hat e)$ it is the projection where
            treatments overlap.
        clusters: The cluster of every row.

    Raises:
        InvalidInputError: An argument has another length or a value that is missing or not allowed, or a column
            depends on others.

    Example:
        >>> best_linear_projection([1.0, 2.1, 2.9, 4.0, 5.2], [[0], [1], [2], [3], [4]])
        best linear projection of the effect, from 5 rows
                     estimate  standard error      t        p
        (intercept)      0.98          0.0853  11.49   0.0014
        A1               1.03          0.0535  19.24  0.00031
    """
    score = read_columns(scores=scores)["scores"]
    columns, names = _read_table(A, len(score))
    units = read_units(len(score), sample_weight, clusters)
    design = np.hstack([np.ones((len(score), 1)), columns])[units.is_in]
    title = f"best linear projection of the effect, from {units.in_words()}"
    return fit_linear(design, score[units.is_in], units, ("(intercept)", *names), title)


def calibration_test(
    prediction: Any,
    y: Any,
    *,
    y_hat: Any = None,
    treatment: Any = None,
    treatment_hat: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
) -> LinearFit:
    r"""Returns how far predictions, and differences among them, agree with what rows show.

    $Y - \hat m$ is regressed on $(W - \hat e) \bar\tau$ and $(W - \hat e)(\hat\tau - \bar\tau)$, without an intercept;
    of a forest of outcomes $Y$ on $\bar\mu$ and $\hat\mu - \bar\mu$. A first coefficient of 1 says that the mean is
    right; a second one of 1 that differences are, and if it is above 0 with a small p value, effects do differ
    (Chernozhukov, Demirer, Duflo and Fernandez-Val, *Generic machine learning inference on heterogeneous treatment
    effects in randomized experiments*, 2018, their best linear predictor). p values are one-sided, and only good
    against 0.

    Args:
        prediction: The predicted effect of every row by trees that have not seen it; or the predicted outcome.
        y: The outcome.
        y_hat: The expected outcome whatever the treatment; with `treatment` and `treatment_hat`, of effects.
        treatment: The treatment.
        treatment_hat: The expected treatment.
        sample_weight: The weight of every row; 1 if not given.
        clusters: The cluster of every row.

    Raises:
        InvalidInputError: An argument has another length or a value that is missing or not allowed, or only some of
            `y_hat`, `treatment` and `treatment_hat` are given, or all predictions are equal.

    Example:
        >>> calibration_test([1.0, 1.0, 3.0, 3.0], [1.1, 0.9, 3.2, 2.8])
        calibration of predictions, from 4 rows
                                 estimate  standard error      t      p (greater)
        mean prediction                 1          0.0791  12.65           0.0031
        differential prediction         1           0.158   6.32            0.012
    """
    given = {"y_hat": y_hat, "treatment": treatment, "treatment_hat": treatment_hat}
    lacking = [name for name, own in given.items() if own is None]
    if 0 < len(lacking) < len(given):
        raise InvalidInputError(f"y_hat, treatment and treatment_hat go together, got no {' and no '.join(lacking)}")
    rows = read_columns(prediction=prediction, y=y, **({} if lacking else given))
    units = read_units(len(rows["y"]), sample_weight, clusters)
    rows = {name: own[units.is_in] for name, own in rows.items()}
    mean = units.mean(rows["prediction"])
    part = rows["prediction"] - mean
    if not np.abs(part).max() > 1e-12 * np.abs(rows["prediction"]).max():
        raise InvalidInputError(f"prediction is {mean:.6g} in every row: there are no differences to test")
    target = rows["y"] if lacking else rows["y"] - rows["y_hat"]
    moved = np.ones(len(part)) if lacking else rows["treatment"] - rows["treatment_hat"]
    names = ("mean prediction", "differential prediction")
    title = f"calibration of {'predictions' if lacking else 'effects'}, from {units.in_words()}"
    design = np.stack([moved * mean, moved * part], axis=1)
    return fit_linear(design, target, units, names, title, is_one_sided=True)


def fit_linear(
    design: Float[np.ndarray, "row coefficient"],
    target: Float[np.ndarray, " row"],
    units: IndependentRows,
    names: tuple[str, ...],
    title: str = "",
    *,
    is_one_sided: bool = False,
) -> LinearFit:
    r"""Fits by weighted least squares, with standard errors HC3.

    With $\tilde X = \sqrt w X$ and residuals $\tilde e$ the variance is
    $B \sum_g \tilde X_g^\top (I - H_{gg})^{-1} \tilde e_g \tilde e_g^\top (I - H_{gg})^{-1} \tilde X_g B$, where
    $B = (\tilde X^\top \tilde X)^{-1}$ and $H_{gg} = \tilde X_g B \tilde X_g^\top$; a cluster $g$ is one row if none
    are given (MacKinnon and White, *Some heteroskedasticity-consistent covariance matrix estimators*, Journal of
    Econometrics 29, 1985; for clusters the jackknife of Bell and McCaffrey, Survey Methodology 28, 2002). Since
    $\tilde X_g^\top (I - H_{gg})^{-1} = (I - \tilde X_g^\top \tilde X_g B)^{-1} \tilde X_g^\top$, no matrix is as large
    as a cluster.

    Args:
        design: The regressors of the rows of some weight.
        target: The regressand.
        units: The weights and clusters.
        names: The names of the regressors.
        title: The name of the fit, for people.
        is_one_sided: Whether p values are those of greater numbers alone.

    Raises:
        InvalidInputError: There are no more rows than coefficients, or a column depends on others, or one cluster
            alone says what a coefficient is.

    >>> fitted = fit_linear(np.ones((3, 1)), np.array([1.0, 2.0, 3.0]), read_units(3), ("mean",))
    >>> fitted.estimate.tolist(), fitted.standard_error.round(4).tolist()
    ([2.0], [0.7071])
    """
    num_rows, num_columns = design.shape
    if num_rows <= num_columns:
        raise InvalidInputError(f"{num_columns} coefficients need more rows of some weight, got {num_rows}")
    root = np.sqrt(units.weight / units.weight.mean())
    scale = np.sqrt(np.square(design * root[:, None]).mean(axis=0))
    rows = design * root[:, None] / np.where(scale > 0, scale, 1)
    orthogonal, triangle = np.linalg.qr(rows)
    length = np.abs(np.diag(triangle)) / np.sqrt(num_rows)
    if (length < DEPENDENT).any():
        name = names[int(np.argmax(length < DEPENDENT))]
        raise InvalidInputError(f"{name} is the same in every row, or a sum of other columns: leave it out")
    goal = target * root
    fitted = orthogonal.T @ goal
    residual = goal - orthogonal @ fitted
    spread = _outer_of_clusters(orthogonal, residual, units, names)
    inverse = np.linalg.inv(triangle)
    variance = inverse @ spread @ inverse.T
    scale = np.where(scale > 0, scale, 1)
    estimate, error = inverse @ fitted / scale, np.sqrt(np.diag(variance)) / scale
    freedom = min(num_rows - num_columns, units.num_clusters - 1)
    t = ratio(estimate, error)
    p_value = two_sided(t, freedom)
    if is_one_sided:
        p_value = np.where(t < 0, 1 - p_value / 2, p_value / 2)
    return LinearFit(title, names, estimate, error, t, p_value, is_one_sided, freedom)


def _outer_of_clusters(
    orthogonal: Float[np.ndarray, "row coefficient"],
    residual: Float[np.ndarray, " row"],
    units: IndependentRows,
    names: tuple[str, ...],
) -> Float[np.ndarray, "coefficient coefficient"]:
    """The middle of the variance, in coordinates in which the regressors are orthonormal."""
    moments = np.stack([units.sums(column) for column in (orthogonal * residual[:, None]).T], axis=1)
    if not units.are_clustered:
        left = 1 - np.square(orthogonal).sum(axis=1)
        _check_leverage(left, "row")
        own = moments / left[:, None]
        return own.T @ own
    size = orthogonal.shape[1]
    products = np.empty((units.num_clusters, size, size))
    for first in range(size):
        for second in range(first, size):
            products[:, first, second] = units.sums(orthogonal[:, first] * orthogonal[:, second])
            products[:, second, first] = products[:, first, second]
    left = np.eye(size) - products
    _check_leverage(np.linalg.eigvalsh(left)[:, 0], "cluster")
    own = np.linalg.solve(left, moments[:, :, None])[:, :, 0]
    return own.T @ own


def _check_leverage(left: Float[np.ndarray, " unit"], unit: str) -> None:
    """Raises InvalidInputError if a coefficient cannot be estimated without one row or cluster."""
    if (left < DEPENDENT).any():
        number = int(np.argmax(left < DEPENDENT))
        where = f"row {number} of those of some weight" if unit == "row" else f"cluster {number} in their order"
        raise InvalidInputError(
            f"a coefficient is known from {where} alone, so that it has no standard error: leave out a column that "
            f"differs from 0, or from the others, in this {unit} only"
        )


def _read_table(A: Any, num_rows: int) -> tuple[Float[np.ndarray, "row column"], tuple[str, ...]]:
    """The columns of a frame or an array, and their names."""
    if A is None:
        return np.zeros((num_rows, 0)), ()
    names = getattr(A, "columns", None)
    try:
        table = np.asarray(A, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("A must be numbers; jaxtree.one_hot makes some of words") from None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != num_rows:
        raise InvalidInputError(f"A must have {num_rows} rows, as there are scores, got shape {np.shape(A)}")
    names = [f"A{number + 1}" for number in range(table.shape[1])] if names is None else [str(name) for name in names]
    is_wrong = ~np.isfinite(table)
    if is_wrong.any():
        row, column = np.argwhere(is_wrong)[0].tolist()
        raise InvalidInputError(f"A must be finite numbers, got {table[row, column]} in row {row} of {names[column]}")
    return table, tuple(names)
