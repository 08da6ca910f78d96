"""Average effects with standard errors: over all rows, the treated, the control, or where both are likely."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from jaxtree import notebook
from jaxtree.effects.linear import fit_linear
from jaxtree.effects.rows import IndependentRows, half_width, ratio, read_columns, read_units, two_sided
from jaxtree.effects.scores import check_varied, doubly_robust_scores, inverse_propensity, is_binary
from jaxtree.errors import InvalidInputError

Target = Literal["all", "treated", "control", "overlap"]


OF_SUBSET = " of a subset"
"""The end of the target of a mean over some rows."""


@dataclass(frozen=True, repr=False)
class AverageEffect:
    """A mean effect.

    Attributes:
        estimate: The mean.
        standard_error: Its standard error, robust to clusters if there are any.
        target: The rows that it is a mean of: "all", "treated", "control" or "overlap", and " of a subset" behind it.
        num_rows: The number of rows of some weight that it was estimated from.
        num_clusters: The number of their clusters; of rows if there are no clusters.
    """

    estimate: float
    standard_error: float
    target: str
    num_rows: int
    num_clusters: int

    def interval(self, coverage: float = 0.95) -> tuple[float, float]:
        """Returns the ends of an interval that holds the mean effect with a chance.

        Args:
            coverage: The chance, above 0 and below 1.

        Raises:
            InvalidInputError: The coverage is not allowed.
        """
        width = half_width(self.standard_error, coverage, self.num_clusters - 1)
        return self.estimate - width, self.estimate + width

    @property
    def p_value(self) -> float:
        """The chance of an estimate as far from 0 if the mean effect is 0."""
        t = np.atleast_1d(ratio(self.estimate, self.standard_error))
        return float(two_sided(t, self.num_clusters - 1)[0])

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the words."""
        return notebook.lines(repr(self))

    def __repr__(self) -> str:
        """Returns estimate, standard error and interval in words."""
        words = {"all": "all rows", "treated": "the treated", "control": "the control", "overlap": "the overlap"}
        target, of_subset, _ = self.target.partition(OF_SUBSET)
        rows = "the rows of a subset" if of_subset and target == "all" else words[target] + of_subset
        low, high = self.interval()
        clusters = f" in {self.num_clusters:,} clusters" if self.num_clusters != self.num_rows else ""
        return (
            f"average effect on {rows}: {self.estimate:.4g}, standard error {self.standard_error:.3g}, "
            f"95% interval {low:.4g} to {high:.4g}, from {self.num_rows:,} rows{clusters}"
        )


def average_effect(
    scores: Any, *, sample_weight: Any = None, clusters: Any = None, subset: Any = None
) -> AverageEffect:
    r"""Returns the mean of doubly robust scores, and its standard error.

    $\hat\tau = \sum_i w_i \Gamma_i / \sum_i w_i$, with a variance of
    $\frac{G}{G - 1} \sum_g (\sum_{i \in g} w_i (\Gamma_i - \hat\tau))^2 / (\sum_i w_i)^2$ over clusters $g$ (Athey and
    Wager, *Estimating treatment effects with causal forests: an application*, Observational Studies 5, 2019).

    Args:
        scores: The score of every row, $\Gamma_i$, such as of `doubly_robust_scores`.
        sample_weight: The weight of every row; 1 if not given.
        clusters: The cluster of every row; rows of different clusters are independent.
        subset: The rows that the mean is of: a truth value of every row, or places. It may follow from features, not
            from treatment or outcome.

    Raises:
        InvalidInputError: An argument has another length or a value that is missing or not allowed, or there are not
            two rows, or clusters.

    Example:
        >>> average_effect([1.0, 2.0, 3.0, 2.0])
        average effect on all rows: 2, standard error 0.408, 95% interval 0.7008 to 3.299, from 4 rows
    """
    score = read_columns(scores=scores)["scores"]
    weight = weights_within(subset, len(score), sample_weight)
    units = read_units(len(score), weight, clusters)
    score = score[units.is_in]
    estimate = units.mean(score)
    return _average(estimate, units.weight * (score - estimate) / units.weight.sum(), "all", units)


def average_effect_on(
    target: Target,
    effect: Any,
    y: Any,
    treatment: Any,
    y_hat: Any,
    treatment_hat: Any,
    *,
    sample_weight: Any = None,
    clusters: Any = None,
) -> AverageEffect:
    r"""Returns the mean effect over a target population, doubly robust.

    "all": the mean of `doubly_robust_scores`. "treated" and "control": with
    $\hat\mu_0 = \hat m - \hat e \hat\tau$ and $\hat\mu_1 = \hat\mu_0 + \hat\tau$ the mean of $Y - \hat\mu_0$ of the
    treated less that of the control weighted by $\hat e / (1 - \hat e)$; the mean of $Y - \hat\mu_1$ of the treated
    weighted by $(1 - \hat e) / \hat e$ less that of the control. "overlap": the slope of $Y - \hat m$ on $W - \hat e$
    (Robinson, *Root-N-consistent semiparametric regression*, Econometrica 56, 1988), which estimates the mean weighted
    by $e (1 - e)$ and divides by no propensity (Li, Morgan and Zaslavsky, *Balancing covariates via propensity score
    weighting*, JASA 113, 2018); its standard error is HC3.

    Args:
        target: "all", "treated", "control" or "overlap".
        effect: The estimated effect of every row, $\hat\tau$; "overlap" does not use it.
        y: The outcome.
        treatment: The treatment, 0 or 1; for "all" and "overlap" any number.
        y_hat: The expected outcome whatever the treatment, $\hat m$.
        treatment_hat: The expected treatment, $\hat e$.
        sample_weight: The weight of every row, 0 of those outside of a subset; 1 if not given.
        clusters: The cluster of every row.

    Raises:
        InvalidInputError: An argument has another length or a value that is missing or not allowed, or all rows have
            the same treatment.

    Warns:
        OverlapWarning: Propensities are close to 0 or 1, and the target suffers from that.

    Example:
        >>> y, treatment, half = [3.0, 1.0, 2.0, 0.0], [1, 0, 1, 0], [0.5] * 4
        >>> average_effect_on("treated", [2.0] * 4, y, treatment, [1.5] * 4, half).estimate
        2.0
    """
    if target not in get_args(Target):
        raise InvalidInputError(f"target must be one of {', '.join(map(repr, get_args(Target)))}, got {target!r}")
    rows = read_columns(effect=effect, y=y, treatment=treatment, y_hat=y_hat, treatment_hat=treatment_hat)
    units = read_units(len(rows["y"]), sample_weight, clusters)
    effect, y, treatment, y_hat, chance = (own[units.is_in] for own in rows.values())
    if target == "all":
        own = doubly_robust_scores(effect, y, treatment, y_hat, chance)
        estimate = units.mean(own)
        return _average(estimate, units.weight * (own - estimate) / units.weight.sum(), target, units)
    check_varied(treatment)
    if target == "overlap":
        design = np.stack([np.ones(len(y)), treatment - chance], axis=1)
        fitted = fit_linear(design, y - y_hat, units, ("(intercept)", "effect"))
        return _of_units(float(fitted.estimate[1]), float(fitted.standard_error[1]), target, units)
    if not is_binary(treatment):
        raise InvalidInputError(
            f"target={target!r} needs a treatment of 0 and 1; with other numbers use 'all' or 'overlap'"
        )
    is_target = treatment == (1 if target == "treated" else 0)
    # A row of the other treatment stands for as many rows of the target as its odds say.
    others = (0,) if target == "treated" else (1,)
    inverse = np.abs(inverse_propensity("treatment", treatment, chance, others))
    odds = np.where(is_target, 1.0, inverse - 1)
    residual = y - (y_hat + (float(target == "control") - chance) * effect)
    first, second = (_arm_mean(residual, units.weight * odds, own) for own in (is_target, ~is_target))
    sign = 1 if target == "treated" else -1
    return _average(sign * (first[0] - second[0]), sign * (first[1] - second[1]), target, units)


def weights_within(subset: Any, num_rows: int, sample_weight: Any = None) -> Any:
    """Returns the weights of rows, 0 of those that are not in a subset.

    Args:
        subset: A truth value of every row, or the places of rows; None stands for all.
        num_rows: The number of rows.
        sample_weight: The weights.

    Raises:
        InvalidInputError: The subset is neither.

    >>> weights_within([True, False], 2), weights_within([1], 2, [3.0, 4.0])
    (array([1., 0.]), array([0., 4.]))
    """
    if subset is None:
        return sample_weight
    given = np.asarray(subset)
    is_in = np.zeros(num_rows, bool)
    if given.dtype == bool and given.shape == (num_rows,):
        is_in = given
    elif (
        given.ndim == 1 and given.dtype.kind in "iu" and (given.size == 0 or -1 < given.min() <= given.max() < num_rows)
    ):
        is_in[given] = True
    else:
        raise InvalidInputError(
            f"subset must be a truth value for each of {num_rows} rows, or places from 0 to {num_rows - 1}, got "
            f"{given.dtype} of shape {given.shape}"
        )
    if not is_in.any():
        raise InvalidInputError("subset must hold rows, got none")
    weight = (
        np.ones(num_rows) if sample_weight is None else np.broadcast_to(np.asarray(sample_weight, float), (num_rows,))
    )
    return np.where(is_in, weight, 0.0)


def _arm_mean(
    values: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"], is_in: Bool[np.ndarray, " row"]
) -> tuple[float, Float[np.ndarray, " row"]]:
    """The weighted mean over some rows, and every row's influence on it."""
    weight = np.where(is_in, weight, 0.0)
    mean = float(weight @ values / weight.sum())
    return mean, weight * (values - mean) / weight.sum()


def _average(
    estimate: float, influence: Float[np.ndarray, " row"], target: str, units: IndependentRows
) -> AverageEffect:
    return _of_units(estimate, units.standard_error(influence), target, units)


def _of_units(estimate: float, standard_error: float, target: str, units: IndependentRows) -> AverageEffect:
    return AverageEffect(estimate, standard_error, target, len(units.weight), units.num_clusters)
