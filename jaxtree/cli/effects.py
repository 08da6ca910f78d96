"""Forests of treatment effects on the command line: their options, what a fit says, and columns of effects.

Commands import this module when they run, so that their help does not wait for what it needs.
"""

import warnings
from typing import Any

import typer

from jaxtree.cli.session import EffectOptions
from jaxtree.effects import AverageEffect
from jaxtree.errors import InvalidInputError
from jaxtree.figures.effects import (
    EffectRows,
    averages_of,
    calibration_of_effects,
    effect_rows,
    groups_by_effect,
    propensities_of,
    why_no_averages,
)
from jaxtree.table.numerals import decimal_near
from jaxtree.tree.kinds import Prediction, prediction_of

OF_EFFECTS = ("causal_forest", "instrumental_forest")
"""Algorithms of treatment effects."""

SURE = 0.05
"""A chance below which a difference counts as known."""


def predicts_effects(estimator: Any) -> bool:
    """Returns whether an estimator predicts effects of treatments."""
    return prediction_of(estimator) == Prediction.EFFECTS


def algorithm_with_instrument(algorithm: str, extras: EffectOptions) -> str:
    """Returns the algorithm: of a causal forest with an instrument that of instruments.

    Raises:
        typer.BadParameter: The algorithm takes no treatment or instrument, or lacks one.
    """
    if algorithm not in OF_EFFECTS:
        for name in ("treatment", "instrument"):
            if getattr(extras, name) is not None:
                message = f"is for --algorithm {' or '.join(OF_EFFECTS)}, got {algorithm}"
                raise typer.BadParameter(message, param_hint=f"--{name}")
        return algorithm
    if extras.treatment is None:
        message = f"names the column of the treatment, which --algorithm {algorithm} needs"
        raise typer.BadParameter(message, param_hint="--treatment")
    if algorithm == "instrumental_forest" and extras.instrument is None:
        message = "names the column of the instrument, which --algorithm instrumental_forest needs"
        raise typer.BadParameter(message, param_hint="--instrument")
    return "instrumental_forest" if extras.instrument is not None else algorithm


def check_has_score(algorithm: str, option: str) -> None:
    """Raises BadParameter for an option that scores predictions, which effects by an instrument have no score for."""
    if algorithm == "instrumental_forest":
        raise typer.BadParameter("scores predictions, and effects by an instrument have no score", param_hint=option)


def effects_in_words(estimator: Any) -> list[str]:
    """Returns what the rows of a fit say about its effects: averages, who gains, and overlap."""
    names, has_arms = estimator.names_of_predictions(), estimator.classes_of_treatment_ is not None
    lines = []
    for place, name in enumerate(names):
        rows = effect_rows(estimator, name if has_arms else place)
        lines += _of_one(estimator, rows)
    return lines


def _of_one(estimator: Any, rows: EffectRows) -> list[str]:
    found = averages_of(estimator, rows)
    lines = [f"average effect of {rows.title}: {_in_words(found[0])}"] if found else []
    if not lines:
        lines = [f"effects of {rows.title}: no average, for {why_no_averages(estimator)}"]
    calibration = calibration_of_effects(estimator)
    if calibration is not None:
        p = float(calibration.p_value[1])
        said = "p below 0.0001" if p < 1e-4 else f"p {decimal_near(p, least_digits=2)}"
        words = "they differ, and the forest finds by what" if p < SURE else "no sign that they differ"
        lines.append(f"  effects of rows: {words} ({said})")
    groups = groups_by_effect(rows)
    least, greatest = groups[0].average, groups[-1].average
    if len(groups) > 1 and least is not None and greatest is not None:
        lines.append(f"  quarter of the rows of the greatest effects: {_in_words(greatest)}")
        lines.append(f"  quarter of the rows of the least effects: {_in_words(least)}")
    chances = propensities_of(rows)
    if chances is not None:
        lines.append(f"  overlap: {chances.overlap!r}")
    return lines


def _in_words(found: AverageEffect) -> str:
    low, high = found.interval()
    return f"{found.estimate:.4g}, 95% interval {low:.4g} to {high:.4g}"


def effect_columns(estimator: Any, X: Any) -> dict[str, list[float]]:
    """Returns the columns of predicted effects: `effect`, or of several arms `effect_ARM`."""
    predicted = estimator.predict(X)
    if predicted.ndim == 1:
        return {"effect": predicted.tolist()}
    named = zip(estimator.names_of_predictions(), predicted.T.tolist(), strict=True)
    return {f"effect_{name}": own for name, own in named}


def interval_columns(estimator: Any, X: Any, coverage: float | None, names: list[str]) -> dict[str, list[float]]:
    """Returns the columns of the ends of intervals, NAME_low and NAME_high for every column of predictions.

    Raises:
        InvalidInputError: The model predicts no intervals, or there is no such coverage.
    """
    if coverage is None:
        return {}
    if not hasattr(estimator, "predict_interval"):
        raise InvalidInputError(
            f"--interval is for models that predict intervals, and this is a {type(estimator).__name__}"
        )
    with warnings.catch_warnings(action="ignore"):
        ends = estimator.predict_interval(X, coverage=coverage)
    ends = ends[:, None] if ends.ndim == 2 else ends
    return {
        f"{name}_{end}": ends[:, place, side].tolist()
        for place, name in enumerate(names)
        for side, end in enumerate(("low", "high"))
    }
