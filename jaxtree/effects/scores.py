r"""Doubly robust scores: a number of every row whose mean, over any rows, estimates the mean effect there.

Notation: $\hat\tau$ is the estimated effect, $\hat m$ the estimate of $E[Y | X]$, $\hat e$ that of $E[W | X]$, each of
models that have not seen the row. A mistake of one of them enters a mean only multiplied by one of the other (Robins
and Rotnitzky, *Semiparametric efficiency in multivariate regression models with missing data*, JASA 90, 1995;
Chernozhukov, Escanciano, Ichimura, Newey and Robins, *Locally robust semiparametric estimation*, Econometrica 90,
2022).
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxtree.effects.propensities import read_propensity, warn_without_overlap
from jaxtree.effects.rows import read_columns
from jaxtree.errors import InvalidInputError, OverlapWarning, warn_user

WEAK = 0.01
"""An instrument is weak where it moves the treatment by less than this share of its standard deviation."""


def doubly_robust_scores(
    effect: Any, y: Any, treatment: Any, y_hat: Any, treatment_hat: Any, *, treatment_variance: Any = None
) -> Float[np.ndarray, " row"]:
    r"""Returns $\hat\tau + \frac{W - \hat e}{\hat V} (Y - \hat m - \hat\tau (W - \hat e))$ of every row.

    $\hat V$ is the variance of the treatment at $x$: $\hat e (1 - \hat e)$ of treatments 0 and 1, which makes this the
    augmented inverse propensity weighting of Robins, Rotnitzky and Zhao (1994). With other numbers the scores are those
    of the average partial effect (Athey and Wager, *Policy learning with observational data*, Econometrica 89, 2021).

    Args:
        effect: The estimated effect of every row, $\hat\tau$.
        y: The outcome.
        treatment: The treatment: 0 or 1, or any number.
        y_hat: The expected outcome whatever the treatment, $\hat m$.
        treatment_hat: The expected treatment, $\hat e$.
        treatment_variance: $\hat V$ of every row; if not given, $\hat e (1 - \hat e)$ of treatments 0 and 1, and the
            mean square of $W - \hat e$, alike for all rows, of others.

    Raises:
        InvalidInputError: An argument has another length, or a value that is missing or not allowed, or all rows have
            the same treatment, or a row has one whose estimated chance is 0.

    Warns:
        OverlapWarning: Propensities are close to 0 or 1.

    Example:
        >>> doubly_robust_scores([1.0, 1.0], [2.0, 0.0], [1, 0], [1.0, 1.0], [0.5, 0.5])
        array([2., 2.])
    """
    rows = read_columns(effect=effect, y=y, treatment=treatment, y_hat=y_hat, treatment_hat=treatment_hat)
    effect, treatment = rows["effect"], rows["treatment"]
    residual = treatment - rows["treatment_hat"]
    if treatment_variance is not None:
        variance = read_columns(effect=effect, treatment_variance=treatment_variance)["treatment_variance"]
        if (variance <= 0).any():
            row = int(np.argmax(variance <= 0))
            raise InvalidInputError(f"treatment_variance must be above 0, got {variance[row]} in row {row}")
        check_varied(treatment)
        debiasing = residual / variance
    elif is_binary(treatment):
        debiasing = inverse_propensity("treatment", treatment, rows["treatment_hat"])
    else:
        check_varied(treatment)
        variance = np.square(residual).mean()
        if variance == 0:
            raise InvalidInputError("treatment equals treatment_hat in every row: no effect of it can be estimated")
        debiasing = residual / variance
    return effect + debiasing * (rows["y"] - rows["y_hat"] - effect * residual)


def instrumental_scores(
    effect: Any,
    y: Any,
    treatment: Any,
    y_hat: Any,
    treatment_hat: Any,
    instrument: Any,
    instrument_hat: Any,
    compliance: Any,
) -> Float[np.ndarray, " row"]:
    r"""Returns the scores of local average effects, $\operatorname{Cov}[Y, Z | X] / \operatorname{Cov}[W, Z | X]$.

    $\hat\tau + \frac{1}{\hat\Delta} \frac{Z - \hat z}{\hat z (1 - \hat z)} (Y - \hat m - \hat\tau (W - \hat e))$, where
    $\hat z$ is the chance of the instrument and $\hat\Delta$ its effect on the treatment (Athey and Wager, *Policy
    learning with observational data*, Econometrica 89, 2021, section 5.2). The mean is the effect on those whom the
    instrument moves, if it moves nobody the other way (Imbens and Angrist, Econometrica 62, 1994).

    Args:
        effect: The estimated effect of every row, $\hat\tau$.
        y: The outcome.
        treatment: The treatment, a number.
        y_hat: The expected outcome.
        treatment_hat: The expected treatment.
        instrument: The instrument, 0 or 1.
        instrument_hat: The chance that the instrument is 1.
        compliance: The effect of the instrument on the treatment, $\hat\Delta$: a causal model's, with the instrument
            as the treatment and the treatment as the outcome.

    Raises:
        InvalidInputError: An argument is not allowed, as in `doubly_robust_scores`; or the instrument has other values.

    Warns:
        OverlapWarning: Chances of the instrument are close to 0 or 1, or it hardly moves the treatment of some rows.

    Example:
        >>> y, treatment = [2.0, 0.0], [1, 0]
        >>> instrumental_scores([1.0, 1.0], y, treatment, [1.0, 1.0], [0.5, 0.5], [1, 0], [0.5, 0.5], [0.5, 0.5])
        array([3., 3.])
    """
    rows = read_columns(
        effect=effect,
        y=y,
        treatment=treatment,
        y_hat=y_hat,
        treatment_hat=treatment_hat,
        instrument=instrument,
        instrument_hat=instrument_hat,
        compliance=compliance,
    )
    own, moved = rows["effect"], rows["compliance"]
    check_varied(rows["treatment"])
    if not is_binary(rows["instrument"]):
        raise InvalidInputError("instrument must be 0 or 1: averages of local effects have no other scores")
    assigned = inverse_propensity("instrument", rows["instrument"], rows["instrument_hat"])
    if (moved == 0).any():
        number = int((moved == 0).sum())
        raise InvalidInputError(f"compliance must not be 0: the instrument has no effect in {number:,} rows")
    is_weak = np.abs(moved) <= WEAK * rows["treatment"].std()
    if is_weak.any():
        warn_user(
            f"the instrument hardly moves the treatment of {is_weak.mean():.1%} of the rows: compliance is between "
            f"{moved.min():.3g} and {moved.max():.3g}, and such rows have great scores",
            OverlapWarning,
        )
    residual = rows["y"] - rows["y_hat"] - own * (rows["treatment"] - rows["treatment_hat"])
    return own + assigned / moved * residual


def doubly_robust_rewards(
    effect: Any, y: Any, treatment: Any, y_hat: Any, treatment_hat: Any
) -> Float[np.ndarray, "row arm"]:
    r"""Returns the scores of the mean outcome under every arm, a table of rewards for `PolicyTree`.

    $\hat\mu_k + 1\{W = k\} (Y - \hat\mu_k) / \hat e_k$ with $\hat\mu_0 = \hat m - \sum_k \hat e_k \hat\tau_k$ and
    $\hat\mu_k = \hat\mu_0 + \hat\tau_k$ (Zhou, Athey and Wager, *Offline multi-action policy learning*, Operations
    Research 71, 2023).

    Args:
        effect: The estimated effects of the arms 1, 2, ... beside arm 0, [row, arm less 1]; or of one arm, [row].
        y: The outcome.
        treatment: The number of the arm of every row, from 0.
        y_hat: The expected outcome whatever the arm.
        treatment_hat: The chances of all arms, [row, arm], which add up to 1; or that of arm 1 of two, [row].

    Raises:
        InvalidInputError: An argument has another shape, or a value that is missing or not allowed, or no row has one
            of the arms, or a row has an arm whose estimated chance is 0.

    Warns:
        OverlapWarning: Chances are close to 0 or 1.

    Example:
        >>> doubly_robust_rewards([1.0, 1.0], [2.0, 0.0], [1, 0], [1.0, 1.0], [0.5, 0.5])
        array([[ 0.5,  2.5],
               [-0.5,  1.5]])
    """
    effects, chances = _arm_tables(effect, treatment_hat)
    rows = read_columns(effect=effects[:, 0], y=y, treatment=treatment, y_hat=y_hat)
    arm = _read_arms(rows["treatment"], chances.shape[1])
    for number in range(chances.shape[1]) if chances.shape[1] > 2 else (1,):
        warn_without_overlap(f"treatment_hat of arm {number}", chances[:, number])
    baseline = rows["y_hat"] - (chances[:, 1:] * effects).sum(axis=1)
    means = baseline[:, None] + np.hstack([np.zeros((len(effects), 1)), effects])
    place = np.arange(len(arm))
    own = chances[place, arm]
    _check_possible("treatment", own == 0)
    means[place, arm] += (rows["y"] - means[place, arm]) / own
    return means


def arm_scores(effect: Any, y: Any, treatment: Any, y_hat: Any, treatment_hat: Any) -> Float[np.ndarray, "row effect"]:
    """Returns the scores of the effects of several arms, each beside arm 0: differences of `doubly_robust_rewards`.

    Args:
        effect: The estimated effects of the arms 1, 2, ... beside arm 0, [row, arm less 1].
        y: The outcome.
        treatment: The number of the arm of every row, from 0.
        y_hat: The expected outcome whatever the arm.
        treatment_hat: The chances of all arms, [row, arm].

    Raises:
        InvalidInputError: As in `doubly_robust_rewards`.

    Example:
        >>> effect, chances = [[1.0, 2.0]] * 3, [[0.5, 0.25, 0.25]] * 3
        >>> arm_scores(effect, [0.0, 1.0, 2.0], [0, 1, 2], [0.75] * 3, chances)
        array([[1., 2.],
               [1., 2.],
               [1., 2.]])
    """
    rewards = doubly_robust_rewards(effect, y, treatment, y_hat, treatment_hat)
    return rewards[:, 1:] - rewards[:, :1]


def is_binary(treatment: Float[np.ndarray, " row"]) -> bool:
    """Returns whether all treatments are 0 or 1.

    >>> is_binary(np.array([0.0, 1.0])), is_binary(np.array([0.0, 2.0]))
    (True, False)
    """
    return bool(np.isin(treatment, (0, 1)).all())


def check_varied(treatment: Float[np.ndarray, " row"], name: str = "treatment") -> None:
    """Raises InvalidInputError if all rows have the same treatment."""
    if len(treatment) == 0 or treatment.min() == treatment.max():
        found = f"{treatment[0]:g} in every row" if len(treatment) else "no rows"
        raise InvalidInputError(f"{name} must have two values at least, got {found}: there is nothing to compare")


def inverse_propensity(
    name: str,
    treatment: Float[np.ndarray, " row"],
    propensity: Float[np.ndarray, " row"],
    of: tuple[int, ...] = (0, 1),
) -> Float[np.ndarray, " row"]:
    r"""Returns $W / \hat e - (1 - W) / (1 - \hat e)$, which is $(W - \hat e) / (\hat e (1 - \hat e))$.

    Args:
        name: The name of the treatment in messages.
        treatment: The treatment, 0 or 1.
        propensity: The chance of 1.
        of: The treatments whose rows count; of the other rows the sign alone is returned.

    Raises:
        InvalidInputError: All rows have the same treatment, or a row has one whose estimated chance is 0.

    >>> inverse_propensity("treatment", np.array([1.0, 0.0]), np.array([0.25, 0.5]))
    array([ 4., -2.])
    """
    check_varied(treatment, name)
    read_propensity(f"{name}_hat", propensity, len(treatment))
    own = np.where(np.isin(treatment, of), np.where(treatment == 1, propensity, 1 - propensity), 1.0)
    _check_possible(name, own == 0)
    warn_without_overlap(f"{name}_hat", propensity, tuple(1 - arm for arm in of))
    return np.where(treatment == 1, 1, -1) / own


def _check_possible(name: str, is_impossible: Bool[np.ndarray, " row"]) -> None:
    if is_impossible.any():
        row, number = int(np.argmax(is_impossible)), int(is_impossible.sum())
        others = f", as in {number - 1:,} others" if number > 1 else ""
        raise InvalidInputError(
            f"{name}_hat says that the {name} of row {row} has the chance 0{others}: average without such rows, or "
            'over target="overlap"'
        )


def _arm_tables(
    effect: Any, treatment_hat: Any
) -> tuple[Float[np.ndarray, "row effect"], Float[np.ndarray, "row arm"]]:
    """Effects and chances as tables; one column of effects and one of chances are those of arm 1 of two."""
    effects, chances = _as_table("effect", effect), _as_table("treatment_hat", treatment_hat)
    if chances.shape[1] == 1:
        chances = np.hstack([1 - chances, chances])
    if effects.shape != (len(chances), chances.shape[1] - 1):
        raise InvalidInputError(
            "effect must have a column for each arm but the first, and treatment_hat one for each arm, got shapes "
            f"{np.shape(effect)} and {np.shape(treatment_hat)}"
        )
    for number in range(chances.shape[1]):
        read_propensity(f"treatment_hat of arm {number}", chances[:, number], len(effects))
    is_off = ~np.isclose(chances.sum(axis=1), 1, atol=1e-6)
    if is_off.any():
        row = int(np.argmax(is_off))
        raise InvalidInputError(
            f"treatment_hat must add up to 1 in every row, got {chances[row].sum():.6g} in row {row}"
        )
    return effects, chances


def _as_table(name: str, given: Any) -> Float[np.ndarray, "row column"]:
    try:
        table = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a table of numbers, got {type(given).__name__}") from None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.size == 0:
        raise InvalidInputError(f"{name} must be a table of rows and arms, got shape {np.shape(given)}")
    if not np.isfinite(table).all():
        row = int(np.argmax(~np.isfinite(table).all(axis=1)))
        raise InvalidInputError(f"{name} must be finite numbers, got {table[row].tolist()} in row {row}")
    return table


def _read_arms(treatment: Float[np.ndarray, " row"], num_arms: int) -> Int[np.ndarray, " row"]:
    is_wrong = ~np.isin(treatment, np.arange(num_arms))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise InvalidInputError(
            f"treatment must be the number of an arm, a whole number from 0 to {num_arms - 1}, got {treatment[row]:g} "
            f"in row {row}"
        )
    arm = treatment.astype(np.int64)
    count = np.bincount(arm, minlength=num_arms)
    if (count == 0).any():
        raise InvalidInputError(f"treatment must have rows of every arm, got none of arm {int(np.argmax(count == 0))}")
    return arm
