"""Tables whose truth is known: effects of treatments, quantiles and survival times.

A simulation returns arrays by name. `X`, `y` and what else a fit needs are the training rows; names that begin with
`test_` belong to other rows, of which `test_effect`, `test_quantiles` and `test_risk` are the truth.
"""

from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

Table = dict[str, np.ndarray]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NUM_DAYS = 1000
"""Survival times are days up to this one, on which all others are censored."""


def aw2(rows: int, columns: int, draw: np.random.Generator, *, test_rows: int = 1000) -> Table:
    r"""Returns a randomised trial whose effects are smooth steps of two columns.

    $\tau(x) = \varsigma(x_1)\varsigma(x_2)$ with $\varsigma(u) = 1 + 1 / (1 + e^{-20(u - 1/3)})$, and
    $y = (w - 1/2)\tau(x) + N(0, 1)$ (Wager and Athey, 2018, their second design; "aw2" in grf).
    """

    def step(u: np.ndarray) -> np.ndarray:
        return 1 + 1 / (1 + np.exp(-20 * (u - 1 / 3)))

    X, test_X = draw.random((rows, columns)), draw.random((test_rows, columns))
    effect, test_effect = (step(own[:, 0]) * step(own[:, 1]) for own in (X, test_X))
    treatment = (draw.random(rows) < 0.5).astype(float)
    y = (treatment - 0.5) * effect + draw.normal(size=rows)
    return {"X": X, "y": y, "treatment": treatment, "test_X": test_X, "test_effect": test_effect}


def instrumental(
    rows: int,
    columns: int,
    draw: np.random.Generator,
    *,
    sparsity: int = 2,
    nuisance: float = 1.0,
    additive: bool = True,
    test_rows: int = 1000,
) -> Table:
    r"""Returns a treatment that the noise of the outcome drives, and an instrument.

    $z$ is a coin of chance 2/3, and the treated are those of $z = 1$ whom a coin of chance
    $1 / (1 + e^{-\epsilon})$ lets through; $y = (2w - 1)/2\,\tau(x) + \mu(x) + \epsilon$. $\tau$ is the sum of the
    positive parts of the first `sparsity` columns, or the positive part of their sum where effects are not additive;
    $\mu$ is `nuisance` times the same of the next two (Athey, Tibshirani and Wager, 2019, section 6).
    """

    def hinge(own: np.ndarray) -> np.ndarray:
        return np.maximum(own, 0).sum(1) if additive else np.maximum(own.sum(1), 0)

    X, test_X = draw.normal(size=(rows, columns)), draw.normal(size=(test_rows, columns))
    noise = draw.normal(size=rows)
    instrument = (draw.random(rows) < 2 / 3).astype(float)
    treatment = instrument * (draw.random(rows) < 1 / (1 + np.exp(-noise)))
    effect, main = hinge(X[:, :sparsity]), nuisance * hinge(X[:, sparsity : sparsity + 2])
    y = (2 * treatment - 1) / 2 * effect + main + noise
    fit = {"X": X, "y": y, "treatment": treatment, "instrument": instrument}
    return fit | {"test_X": test_X, "test_effect": hinge(test_X[:, :sparsity])}


def observed(rows: int, columns: int, draw: np.random.Generator, *, test_rows: int = 1000) -> Table:
    r"""Returns a treatment whose chance depends on a column that drives the outcome, too.

    $w$ is a coin of chance $1 / (1 + e^{-x_3})$ and $y = \max(x_1, 0) w + x_2 + x_3 + \min(x_4, 0) + N(0, 1)$.
    """
    X, test_X = draw.normal(size=(rows, columns)), draw.normal(size=(test_rows, columns))
    treatment = (draw.random(rows) < 1 / (1 + np.exp(-X[:, 2]))).astype(float)
    y = np.maximum(X[:, 0], 0) * treatment + X[:, 1] + X[:, 2] + np.minimum(X[:, 3], 0) + draw.normal(size=rows)
    return {"X": X, "y": y, "treatment": treatment, "test_X": test_X, "test_effect": np.maximum(test_X[:, 0], 0)}


def coin(rows: int, columns: int, draw: np.random.Generator, *, test_rows: int = 1000) -> Table:
    r"""Returns a randomised trial with $y = \max(x_1, 0) w + x_2 + \min(x_3, 0) + N(0, 1)$, in grf's timings."""
    X, test_X = draw.normal(size=(rows, columns)), draw.normal(size=(test_rows, columns))
    treatment = (draw.random(rows) < 0.5).astype(float)
    y = np.maximum(X[:, 0], 0) * treatment + X[:, 1] + np.minimum(X[:, 2], 0) + draw.normal(size=rows)
    return {"X": X, "y": y, "treatment": treatment, "test_X": test_X, "test_effect": np.maximum(test_X[:, 0], 0)}


def quantiles(rows: int, columns: int, draw: np.random.Generator, *, test_rows: int = 20_000) -> Table:
    r"""Returns numbers with a known normal distribution of every row, whose spread varies, too.

    The mean is Friedman's first function, $10\sin(\pi x_1 x_2) + 20(x_3 - 1/2)^2 + 10 x_4 + 5 x_5$, and the standard
    deviation $1 + 3 x_6$.
    """

    def mean_and_spread(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wave = 10 * np.sin(np.pi * own[:, 0] * own[:, 1]) + 20 * (own[:, 2] - 0.5) ** 2
        return wave + 10 * own[:, 3] + 5 * own[:, 4], 1 + 3 * own[:, 5]

    X, test_X = draw.random((rows, columns)), draw.random((test_rows, columns))
    (mean, spread), (test_mean, test_spread) = mean_and_spread(X), mean_and_spread(test_X)
    normal = np.array([NormalDist().inv_cdf(level) for level in QUANTILES])
    return {
        "X": X,
        "y": mean + spread * draw.normal(size=rows),
        "test_X": test_X,
        "test_y": test_mean + test_spread * draw.normal(size=test_rows),
        "test_quantiles": test_mean[:, None] + test_spread[:, None] * normal,
    }


def survival(rows: int, columns: int, draw: np.random.Generator, *, test_rows: int = 5000) -> Table:
    r"""Returns times in days of a proportional hazard, half of the columns coded in 0 and 1, and who was watched.

    The log hazard is $x_1 + x_2 x_3 + |x_4| + x_c$, with $x_c$ a column of 0 and 1; times are Weibull's of shape 1.5,
    and censoring is exponential: some 40 % of the times are censored.
    """
    half = columns // 2

    def draw_columns(number: int) -> np.ndarray:
        return np.hstack([draw.normal(size=(number, half)), draw.random((number, columns - half)) < 0.3])

    def draw_times(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        risk = 0.8 * X[:, 0] + 0.6 * X[:, 1] * X[:, 2] + 0.6 * np.abs(X[:, 3]) + 0.7 * X[:, half]
        time = 400 * (draw.exponential(size=len(X)) / np.exp(risk)) ** (1 / 1.5)
        watched = np.minimum(draw.exponential(600, size=len(X)), NUM_DAYS)
        return np.ceil(np.minimum(time, watched)), time <= watched, risk

    X, test_X = draw_columns(rows), draw_columns(test_rows)
    (time, event, _), (test_time, test_event, test_risk) = draw_times(X), draw_times(test_X)
    fit = {"X": X, "time": time, "event": event, "test_X": test_X}
    return fit | {"test_time": test_time, "test_event": test_event, "test_risk": test_risk}


def rewards(rows: int, columns: int, draw: np.random.Generator, *, test_rows: int = 10_000) -> Table:
    """Returns noisy rewards of three actions, of which the best follows from two splits of three columns."""

    def expected(X: np.ndarray) -> np.ndarray:
        best = np.where(X[:, 0] > 0.2, np.where(X[:, 1] > -0.3, 2, 1), np.where(X[:, 2] > 0.1, 1, 0))
        return np.eye(3)[best]

    X, test_X = draw.normal(size=(rows, columns)), draw.normal(size=(test_rows, columns))
    noisy = expected(X) + draw.normal(size=(rows, 3))
    return {"X": X, "rewards": noisy, "test_X": test_X, "test_rewards": expected(test_X)}


SIMULATIONS: Mapping[str, Callable[..., Table]] = {
    "aw2": aw2,
    "instrumental": instrumental,
    "observed": observed,
    "coin": coin,
    "quantiles": quantiles,
    "survival": survival,
    "rewards": rewards,
}


def simulate(name: str, rows: int, columns: int, seed: int, **parameters: Any) -> Table:
    """Returns the table of a simulation and a seed; the same everywhere."""
    return SIMULATIONS[name](rows, columns, np.random.default_rng(seed), **parameters)
