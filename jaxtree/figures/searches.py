"""Settings of a search with their scores, the scales of their parameters, and mean learning curves over folds."""

import enum
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

LARGE_RATIO = 30.0
"""Positive values that differ by this factor stand on a logarithmic axis, unless the space says otherwise."""

DRAWN_LOG = ("loguniform", "reciprocal", "lognorm")
"""Distributions of scipy that draw orders of magnitude."""

FEWEST_OF_STEPS = 3
"""Values of a list that show whether it rises by factors."""

EQUAL_FACTORS = 0.2
"""The logarithms of the factors between the values of such a list differ by at most this share."""


class Scale(enum.Enum):
    """The axis of a parameter's values."""

    WORDS = "a line for each"
    LINEAR = "numbers at equal distances"
    LOGARITHMIC = "powers of 10"
    WITH_ZERO = "powers of 10, and 0 below them"


def is_number(value: Any) -> bool:
    """Returns whether a value of a parameter stands on an axis of numbers."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_) and np.isfinite(value)


def scale_of(values: Sequence[Any], drawn: Scale | None = None) -> Scale:
    """Returns the scale on which values of a parameter stand.

    Args:
        values: The values.
        drawn: The scale on which the space draws them; by their size if not given.

    >>> scale_of([0.01, 0.1, 1.0]).name, scale_of([0, 1, 100]).name, scale_of([3, 4, 5]).name, scale_of([1, None]).name
    ('LOGARITHMIC', 'WITH_ZERO', 'LINEAR', 'WORDS')
    >>> scale_of([0.05, 0.2], Scale.LOGARITHMIC).name, scale_of([1, 100], Scale.LINEAR).name
    ('LOGARITHMIC', 'LINEAR')
    """
    if not all(is_number(value) for value in values):
        return Scale.WORDS
    numbers = np.array(values, np.float64)
    above = numbers[numbers > 0]
    if drawn == Scale.LINEAR or numbers.min() < 0 or not above.size:
        return Scale.LINEAR
    if drawn != Scale.LOGARITHMIC and above.max() < LARGE_RATIO * above.min():
        return Scale.LINEAR
    return Scale.LOGARITHMIC if len(above) == len(numbers) else Scale.WITH_ZERO


def scales_of_space(space: Any) -> dict[str, Scale]:
    """Returns the scales on which a space of settings draws parameters, of those that it says.

    A distribution is logarithmic or linear; a list is logarithmic if it rises by equal factors.

    Args:
        space: A dict of lists and distributions of `scipy.stats`, or a list of such.

    >>> from scipy.stats import loguniform, randint
    >>> space = {"a": loguniform(0.01, 0.1), "b": randint(1, 9), "c": [1, 2, 4, 8], "d": [1, 2, 3], "e": "gini"}
    >>> {name: scale.name for name, scale in scales_of_space(space).items()}
    {'a': 'LOGARITHMIC', 'b': 'LINEAR', 'c': 'LOGARITHMIC'}
    """
    scales: dict[str, Scale] = {}
    for own in [space] if isinstance(space, Mapping) else space:
        for name, values in own.items():
            if hasattr(values, "rvs"):
                is_log = getattr(getattr(values, "dist", values), "name", "") in DRAWN_LOG
                scales.setdefault(name, Scale.LOGARITHMIC if is_log else Scale.LINEAR)
            elif _rises_by_factors(values):
                scales[name] = Scale.LOGARITHMIC
    return scales


def _rises_by_factors(values: Any) -> bool:
    """Whether values are those of `numpy.geomspace`, or about so, such as 0.1, 0.3, 1."""
    if isinstance(values, str) or not hasattr(values, "__len__") or not all(map(is_number, values)):
        return False
    different = np.unique(np.array(list(values), np.float64))
    if len(different) < FEWEST_OF_STEPS or different[0] <= 0:
        return False
    steps = np.diff(np.log(different))
    return bool(np.ptp(steps) <= EQUAL_FACTORS * steps.mean())


class ScoredSettings(NamedTuple):
    """The settings of a search with their scores, as tables and charts show them.

    Attributes:
        settings: The parameters of every setting.
        scores: The scores on every fold, greater if better; NaN where a fit failed.
        measure: The name of what is measured, of a loss without its sign.
        is_loss: Whether less of the measure is better.
        scales: The scales on which the space draws parameters, of those that it says.
        fit_seconds: The measured time of the fits on all folds.
        num_rounds: The mean number of rounds of boosted trees or additive models; None of others.
        curves: The losses on every fold after every round; None of models without rounds.
        finished: When every setting was finished, in seconds since the search began; None if nobody has measured it.
        weights: The weight in the model that was made; None if it is the best setting.
        rung: How often successive halving has let a setting go on; 0 of all without it.
    """

    settings: Sequence[dict[str, Any]]
    scores: Float[np.ndarray, "setting fold"]
    measure: str
    is_loss: bool
    scales: Mapping[str, Scale]
    fit_seconds: Float[np.ndarray, " setting"]
    num_rounds: Float[np.ndarray, " setting"] | None
    curves: Sequence[Sequence[Any]] | None
    finished: Float[np.ndarray, " setting"] | None
    weights: Float[np.ndarray, " setting"] | None
    rung: Int[np.ndarray, " setting"]

    @property
    def means(self) -> Float[np.ndarray, " setting"]:
        """The mean scores, greater if better."""
        return self.scores.mean(axis=1)

    @property
    def errors(self) -> Float[np.ndarray, " setting"]:
        """The standard errors of the means, by the spread of the folds."""
        number = self.scores.shape[1]
        if number < 2:
            return np.full(len(self.scores), np.nan)
        return self.scores.std(axis=1, ddof=1) / np.sqrt(number)

    @property
    def seconds(self) -> Float[np.ndarray, " setting"]:
        """The time of the fits of every setting; of those that make rounds side by side, a share of all by rounds."""
        if self.curves is None:
            return self.fit_seconds
        made = np.array([sum(map(len, folds)) for folds in self.curves], np.float64)
        return self.fit_seconds.sum() * made / max(made.sum(), 1.0)

    @property
    def is_known(self) -> Bool[np.ndarray, " setting"]:
        """Whether a setting has a score on every fold."""
        return np.isfinite(self.means)

    def shown(self, scores: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """Returns scores as they are shown: of a loss the loss, and never minus 0."""
        return np.asarray(0 - scores if self.is_loss else scores, np.float64)

    def order(self) -> Int[np.ndarray, " setting"]:
        """Returns the numbers of the settings, the best first: those that went on longest, and failed ones last."""
        means = np.where(self.is_known, self.means, -np.inf)
        return np.lexsort((-means, -self.rung, ~self.is_known))

    def differing(self) -> list[str]:
        """Returns the parameters of which there are several values, in the order of the space."""
        names = dict.fromkeys(name for own in self.settings for name in own)
        return [name for name in names if len({repr(own.get(name)) for own in self.settings}) > 1]


def mean_curve(folds: Sequence[Any]) -> Float64[np.ndarray, " round"]:
    """Returns the mean of the folds' losses after every round, as long as all of them go on."""
    length = min(map(len, folds))
    return np.mean([np.asarray(curve[:length], np.float64) for curve in folds], axis=0)
