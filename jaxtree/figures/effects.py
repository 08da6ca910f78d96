"""Effects of a treatment at the rows of a fit: their order and intervals, who gains most, and where arms overlap."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import spread
from jaxtree.effects import (
    AverageEffect,
    LinearFit,
    Overlap,
    RankAverageEffect,
    average_effect,
    overlap,
    rank_average_effect,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.figures.classes import NORMAL_QUANTILE
from jaxtree.figures.numbers import Histogram
from jaxtree.figures.survival import groups_by_risk
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree.kinds import Prediction, prediction_of

MOST_ROWS = 200
"""Rows whose intervals are drawn: of more as many spread over them, in the order of their effects."""

NUM_GROUPS = 4
"""Groups of rows by effect."""

SHARES = np.linspace(0.05, 1, 20)
"""Shares of the rows at which the gain of those treated first is known."""

NUM_BARS = 20
"""Bars of propensities, from 0 to 1."""


class EffectRows(NamedTuple):
    """The rows of a fit with one of their effects; without rows that every tree has drawn.

    Attributes:
        name: The name of the arm, or of the treatment.
        control: The name of the arm that it is compared with; None of numbers.
        arm: The place of the effect.
        effect: The effects out of bag.
        std: Their standard errors; NaN without bags.
        score: The doubly robust scores, whose means estimate mean effects; None where there are none.
        is_treated: Whether a row has the arm, or the instrument if there is one; None of numbers.
        has_control: Whether a row has the control, or no instrument; None of numbers.
        chance: The expected treatment, or instrument.
        weight: The weights.
        group: The groups that rows were drawn in; None if each is one of its own.
        kept: The places of the rows among those of the fit.
    """

    name: str
    control: str | None
    arm: int
    effect: Float[np.ndarray, " row"]
    std: Float[np.ndarray, " row"]
    score: Float[np.ndarray, " row"] | None
    is_treated: Bool[np.ndarray, " row"] | None
    has_control: Bool[np.ndarray, " row"] | None
    chance: Float[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]
    group: Int[np.ndarray, " row"] | None
    kept: Int[np.ndarray, " kept"]

    @property
    def title(self) -> str:
        """The comparison in words: "drug beside placebo"."""
        return self.name if self.control is None else f"{self.name} beside {self.control}"


def effect_rows(estimator: Any, treatment: Any = None) -> EffectRows:
    """Returns the rows of the fit of a forest of treatment effects.

    Args:
        estimator: The fitted forest.
        treatment: The arm, or the place of a treatment of numbers; the first beside the control if not given.

    Raises:
        InvalidInputError: There is no such arm.
        InvalidTypeError: It is no forest of effects.
    """
    if prediction_of(estimator) != Prediction.EFFECTS:
        raise InvalidTypeError(
            "estimator must be a forest of treatment effects, such as CausalForest, got " + type(estimator).__name__
        )
    check_is_fitted(estimator)
    rows, names, classes = estimator.training_, estimator.names_of_predictions(), estimator.classes_of_treatment_
    arm = _place_of(names, treatment, has_arms=classes is not None)
    kept = np.flatnonzero(np.isfinite(rows.effect).all(axis=1))
    has_instruments = estimator.has_instruments_
    given, chance = (rows.instrument, rows.instrument_hat) if has_instruments else (rows.treatment, rows.treatment_hat)
    given = given[:, kept]
    has_arms = bool(np.isin(given, (0, 1)).all())
    group = rows.group[kept]
    scores = _scores(estimator)
    return EffectRows(
        names[arm],
        None if classes is None else value_in_words(classes.tolist()[0]),
        arm,
        rows.effect[kept, arm],
        rows.std[kept, arm],
        None if scores is None else scores[kept, arm],
        given[arm] > 0 if has_arms else None,
        ~(given > 0).any(axis=0) if has_arms else None,
        chance[arm, kept],
        rows.weight[kept],
        None if len(np.unique(group)) == len(group) else group,
        kept,
    )


def _place_of(names: list[str], treatment: Any, *, has_arms: bool) -> int:
    if treatment is None:
        return 0
    known = names if has_arms else [*map(str, range(len(names)))]
    if str(treatment) not in known:
        raise InvalidInputError(f"treatment must be one of {', '.join(known)}, got {treatment!r}")
    return known.index(str(treatment))


def _scores(estimator: Any) -> Float[np.ndarray, "row effect"] | None:
    """The doubly robust scores of the rows of the fit; None where the forest has none."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a page says itself where arms do not overlap
            scores = estimator.doubly_robust_scores()
    except InvalidInputError:
        return None
    return scores.reshape(len(scores), -1)


def why_no_averages(estimator: Any) -> str | None:
    """Returns why a forest has no doubly robust scores, in words; None if it has some."""
    try:
        with warnings.catch_warnings(action="ignore"):
            estimator.doubly_robust_scores()
    except InvalidInputError as error:
        return str(error)
    return None


TARGETS = ("all", "treated", "control", "overlap")
"""The populations of average effects."""


def averages_of(estimator: Any, rows: EffectRows) -> list[AverageEffect]:
    """Returns the average effects over the populations for which the forest has one."""
    found = []
    for target in TARGETS:
        try:
            with warnings.catch_warnings(action="ignore"):
                own = estimator.average_treatment_effect(target)
        except InvalidInputError:
            continue
        own = list(own.values())[rows.arm] if isinstance(own, dict) else own
        if np.isfinite(own.standard_error):
            found.append(own)
    return found


class SortedEffects(NamedTuple):
    """Effects in ascending order, with 95 % intervals.

    Attributes:
        share: The share of the rows up to each that is drawn.
        effect: Their effects.
        low: The lower ends of the intervals.
        high: The upper ends.
        above: The share of all rows whose interval lies above 0.
        below: The share of those whose interval lies below 0.
    """

    share: Float[np.ndarray, " some"]
    effect: Float[np.ndarray, " some"]
    low: Float[np.ndarray, " some"]
    high: Float[np.ndarray, " some"]
    above: float
    below: float


def sorted_effects(rows: EffectRows) -> SortedEffects:
    """Returns the effects of rows in ascending order, thinned out where they are many."""
    low, high = rows.effect - NORMAL_QUANTILE * rows.std, rows.effect + NORMAL_QUANTILE * rows.std
    order = np.argsort(rows.effect, kind="stable")
    share = np.cumsum(rows.weight[order]) / rows.weight.sum()
    above, below = (float(np.average(own, weights=rows.weight)) for own in (low > 0, high < 0))
    some = spread(len(order), MOST_ROWS)
    drawn = order[some]
    return SortedEffects(share[some], rows.effect[drawn], low[drawn], high[drawn], above, below)


class EffectGroup(NamedTuple):
    """Rows of similar effects.

    Attributes:
        rows: The rows.
        effect: The mean of the effects that are predicted out of bag.
        average: The average effect by doubly robust scores; None where there are none.
    """

    rows: Int[np.ndarray, " some"]
    effect: float
    average: AverageEffect | None


def groups_by_effect(rows: EffectRows, number: int = NUM_GROUPS) -> list[EffectGroup]:
    """Returns groups of about equal weight by predicted effect, the least first."""
    found = []
    for own in groups_by_risk(rows.effect, rows.weight, number):
        average = None
        if rows.score is not None and len(own) > 1:
            average = _average_of(rows, own)
        found.append(EffectGroup(own, float(np.average(rows.effect[own], weights=rows.weight[own])), average))
    return found


def _average_of(rows: EffectRows, own: Int[np.ndarray, " some"]) -> AverageEffect | None:
    """The average effect of some rows; None where they are one cluster."""
    given = {"sample_weight": rows.weight, "clusters": rows.group, "subset": own}
    try:
        return average_effect(rows.score, **given)
    except InvalidInputError:
        return None


def gain_of(rows: EffectRows, random_state: int = 0) -> RankAverageEffect | None:
    """Returns what treating the rows of the greatest effects first gains; None without doubly robust scores."""
    if rows.score is None or np.ptp(rows.effect) == 0:
        return None
    given = {"sample_weight": rows.weight, "clusters": rows.group, "random_state": random_state}
    return rank_average_effect(rows.score, rows.effect, shares=SHARES, **given)


def calibration_of_effects(estimator: Any) -> LinearFit | None:
    """Returns how far effects, and differences among them, agree with the rows; None where that is not known."""
    try:
        return estimator.calibration_test()
    except InvalidInputError:
        return None


class Propensities(NamedTuple):
    """Chances of rows to have an arm.

    Attributes:
        treated: The histogram of the rows that have it.
        others: The histogram of the rows of the control.
        overlap: How far chances are from 0 and 1.
    """

    treated: Histogram
    others: Histogram
    overlap: Overlap


def propensities_of(rows: EffectRows) -> Propensities | None:
    """Returns the chances by arm; None of treatments of numbers."""
    if rows.is_treated is None or rows.has_control is None:
        return None
    chance = np.clip(rows.chance, 0, 1)
    of_arms = [
        Histogram(edges, heights)
        for own in (rows.is_treated, rows.has_control)
        for heights, edges in [np.histogram(chance[own], NUM_BARS, (0, 1), weights=rows.weight[own])]
    ]
    return Propensities(of_arms[0], of_arms[1], overlap(chance, sample_weight=rows.weight))


class Difference(NamedTuple):
    """A column in the rows of the greatest effects, and in those of the least.

    Attributes:
        name: The column; of words with the word that they differ in most.
        greatest: The mean in the rows of the greatest effects, in deviations from the mean of all rows.
        least: The same in the rows of the least effects.
        words: Both means in the column's unit, the greatest first; of words shares.
    """

    name: str
    greatest: float
    least: float
    words: tuple[str, str]


def differences_of(
    schema: Schema,
    values: Float[np.ndarray, "row feature"],
    greatest: Int[np.ndarray, " some"],
    least: Int[np.ndarray, " other"],
) -> list[Difference]:
    """Returns the columns in which rows of the greatest and of the least effects differ, the most different first."""
    found = []
    for place, column in enumerate(schema.columns):
        own = values[:, place]
        parts = own[greatest], own[least]
        if not all(np.isfinite(part).any() for part in parts):
            continue
        found.append(_of_number(column, own, parts) if column.bins is not None else _of_words(column, own, parts))
    return sorted(found, key=lambda one: -abs(one.greatest - one.least))


def _of_number(column: Column, own: Float[np.ndarray, " row"], parts: tuple[Any, Any]) -> Difference:
    middle, deviation = np.nanmean(own), np.nanstd(own)
    means = [float(np.nanmean(part)) for part in parts]
    greatest, least = ((mean - middle) / (deviation or 1.0) for mean in means)
    words = [column.in_words(mean) for mean in means] if column.time is not None else [f"{mean:.3g}" for mean in means]
    return Difference(column.name, float(greatest), float(least), (words[0], words[1]))


def _of_words(column: Column, own: Float[np.ndarray, " row"], parts: tuple[Any, Any]) -> Difference:
    """The word whose shares differ most."""
    codes = range(len(column.categories))
    shares = np.array([[np.mean(part == code) for code in codes] for part in parts])
    code = int(np.argmax(np.abs(shares[0] - shares[1])))
    middle = np.mean(own == code)
    deviation = float(np.sqrt(middle * (1 - middle))) or 1.0
    first, second = ((share - middle) / deviation for share in shares[:, code])
    name = f"{column.name} = {value_in_words(column.categories[code])}"
    return Difference(name, float(first), float(second), (f"{shares[0, code]:.0%}", f"{shares[1, code]:.0%}"))
