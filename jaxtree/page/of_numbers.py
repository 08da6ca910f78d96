"""How right numbers are: predictions beside targets, what is left over, and what distributions say of the targets."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from jaxtree.arrays import spread
from jaxtree.losses.predicted import PredictedDistribution
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import (
    ACCENT,
    INK,
    SOFT,
    Card,
    Chart,
    axis,
    bars,
    card_of_tables,
    compacted,
    dots,
    histogram,
    line,
    plot,
)
from jaxtree.table.numerals import decimal_near, score_in_words

NUM_PARTS = 10
"""Tenths of the rows, or of probabilities."""

LEVELS = np.linspace(0.05, 0.95, 19)
"""Shares of intervals."""

SHARE = 0.9
"""The coverage of the interval that is drawn."""

MOST_INTERVALS = 400
FEW_DIGITS = 4


def number_cards(answers: Answers, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of numbers of some tables with targets."""
    found = []
    if answers.kind == "distributions":
        found += [
            _card(tables, "intervals", "Predicted intervals", "Targets by the predicted mean, and the intervals that "
                  f"are to hold {SHARE:.0%} of them.", lambda table: _intervals(answers, table)),
            _card(tables, "coverage", "Coverage", "How many targets lie in predicted intervals, by the share of the "
                  "targets that they are to hold.", lambda table: _coverage(answers, table)),
            _card(tables, "pit", "Where targets lie in their distributions", "The predicted probability of less than "
                  "the target (PIT). Bars are level where the distributions are right, high at both ends where these "
                  "are too narrow, in the middle where too wide.", lambda table: _pit(answers, table)),
        ]  # fmt: skip
    elif _num_outputs(tables) > 1:
        found.append(_quantile_card(answers, tables))
    else:
        found.append(
            _card(tables, "predictions", "Predictions and targets", "A point a row; on the dashed line both are alike.",
                  lambda table: _predictions(answers, table)))  # fmt: skip
    if _num_outputs(tables) == 1:
        found += [
            _card(tables, "residuals", "Residuals", "Targets less predictions.", _residuals),
            _card(tables, "calibration", "Means by prediction", "Mean target by the mean prediction, tenths of the "
                  "rows; on the dashed line both are alike.", _means),
        ]  # fmt: skip
    return [card for card in found if card is not None]


def _card(
    tables: Sequence[PageTable], name: str, title: str, hint: str, chart_of: Callable[[PageTable], Chart]
) -> Card | None:
    return card_of_tables(name, title, hint, [(table.name, chart_of(table)) for table in tables])


def _num_outputs(tables: Sequence[PageTable]) -> int:
    return max((table.predicted.shape[1] for table in tables), default=1)


def measures(table: PageTable) -> dict[str, float]:
    """Returns what scikit-learn measures of numbers, by name; R² is NaN of fewer than two rows."""
    target, predicted, weight = table.truth[:, 0], table.predicted[:, 0], table.weight
    r2 = r2_score(target, predicted, sample_weight=weight) if len(target) > 1 else np.nan
    return {
        "R²": float(r2),
        "root mean squared error": float(root_mean_squared_error(target, predicted, sample_weight=weight)),
        "mean absolute error": float(mean_absolute_error(target, predicted, sample_weight=weight)),
    }


def _predictions(answers: Answers, table: PageTable) -> Chart:
    found = measures(table)
    root = decimal_near(found["root mean squared error"], least_digits=FEW_DIGITS)
    words = f"R² {score_in_words(found['R²'])}, root mean squared error {root}: {len(table.truth):,} {table.name} rows."
    series = [dots("", ACCENT, table.truth[:, 0], table.predicted[:, 0])]
    label = f"Predictions and targets. {words}"
    return plot(label, axis("target"), axis("prediction"), series, isDiagonal=True, caption=words, value=found["R²"])


def _residuals(table: PageTable) -> Chart:
    left = table.truth[:, 0] - table.predicted[:, 0]
    edges, counts = histogram(left, table.weight)
    middle, low, high = np.quantile(left, [0.5, 0.05, 0.95])
    told = [decimal_near(float(own), least_digits=FEW_DIGITS).replace("-", "−") for own in (middle, low, high)]
    words = f"Median {told[0]}; nine of ten rows between {told[1]} and {told[2]}."
    series = [bars("", ACCENT, edges, counts)]
    y = axis("rows", low=0)
    return plot(f"Histogram of residuals. {words}", axis("target − prediction"), y, series, mark=0, caption=words)


def tenths(
    predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"]
) -> tuple[Float[np.ndarray, " part"], Float[np.ndarray, " part"]]:
    """Returns the mean prediction and the mean target of every tenth of the rows, in the order of predictions."""
    parts = np.array_split(np.argsort(predicted, kind="stable"), NUM_PARTS)
    parts = [part for part in parts if len(part)]
    return np.array([predicted[part].mean() for part in parts]), np.array([target[part].mean() for part in parts])


def means_chart(predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"], name: str) -> Chart:
    """Returns the chart of tenths of some rows."""
    mean, observed = tenths(predicted, target)
    series = [line("", ACCENT, mean, observed), line("", ACCENT, mean, observed) | {"kind": "dots"}]
    x, y = axis("mean prediction"), axis("mean target")
    return plot(f"Mean targets by prediction, {name} rows", x, y, series, isDiagonal=True)


def _means(table: PageTable) -> Chart:
    return means_chart(table.predicted[:, 0], table.truth[:, 0], table.name)


def _quantile_card(answers: Answers, tables: Sequence[PageTable]) -> Card | None:
    """Predictions of several numbers for every row: of several quantiles of a target, or of several targets."""
    charts, number = {}, _num_outputs(tables)
    for place, table in enumerate(tables):
        for output in range(number):
            target = table.truth[:, min(output, table.truth.shape[1] - 1)]
            predicted = table.predicted[:, output]
            below = float(np.average(target <= predicted, weights=table.weight))
            words = f"{below:.1%} of the {table.name} targets are at or below the prediction."
            series = [dots("", answers.colour(output), target, predicted)]
            chart = plot(f"Predictions and targets. {words}", axis("target"), axis("prediction"), series)
            charts[f"{place},{output}"] = chart | {"isDiagonal": True, "caption": words, "value": below}
    names = [answers.name(output) for output in range(number)]
    rows = tuple(f"{table.name} rows" for table in tables)
    hint = "A point a row; on the dashed line both are alike."
    choices = (("Rows", rows), ("Output", tuple(names)))
    return Card("predictions", "Predictions and targets", hint, charts, choices, (len(rows) - 1, 0)) if charts else None


def probabilities_below(answers: Answers, table: PageTable) -> Float[np.ndarray, " row"]:
    """Returns the predicted probability of less than the target, for every row."""
    found = _distribution(answers, table).cdf(table.truth[:, 0])
    return np.asarray(found, np.float64)


def _distribution(answers: Answers, table: PageTable, rows: Any = slice(None)) -> PredictedDistribution:
    """The predictions of some rows."""
    scores = answers.estimator.model_.predict(table.values[rows])
    return PredictedDistribution(answers.estimator.loss_, np.asarray(scores, np.float64))


def coverage(below: Float[np.ndarray, " row"], weight: Float[np.ndarray, " row"]) -> Float[np.ndarray, " level"]:
    """Returns the share of the rows in the central interval of every level."""
    inside = 2 * np.abs(below[:, None] - 0.5) <= LEVELS
    return np.average(inside, axis=0, weights=weight)


def _coverage(answers: Answers, table: PageTable) -> Chart:
    found = coverage(probabilities_below(answers, table), table.weight)
    own = float(np.interp(SHARE, LEVELS, found))
    words = f"Intervals of {SHARE:.0%} hold {own:.1%} of the {table.name} targets."
    ends = {"low": 0, "high": 1}
    x, y = axis("share that the interval is to hold", **ends), axis("share of targets in it", **ends)
    series = [line("", ACCENT, LEVELS, found)]
    return plot(f"Coverage. {words}", x, y, series, isDiagonal=True, caption=words, value=own)


def _pit(answers: Answers, table: PageTable) -> Chart:
    below = np.clip(probabilities_below(answers, table), 0, 1)
    counts, edges = np.histogram(below, NUM_PARTS, (0, 1), weights=table.weight)
    share = counts / max(counts.sum(), 1e-300)
    series = [bars("", ACCENT, edges, share), line("", INK, [0, 1], [1 / NUM_PARTS] * 2, isDashed=True)]
    x = axis("predicted probability of less than the target", low=0, high=1)
    return plot("Histogram of predicted probabilities", x, axis("share of rows", low=0), series)


def _intervals(answers: Answers, table: PageTable) -> Chart:
    rows = spread(len(table.values), MOST_INTERVALS)
    rows = rows[np.argsort(table.predicted[rows, 0], kind="stable")]
    mean, target = table.predicted[rows, 0], table.truth[rows, 0]
    low, high = _distribution(answers, table, rows).interval(SHARE).T
    inside = (low <= target) & (target <= high)
    x, band = compacted(mean), {"kind": "band", "name": "", "colour": ACCENT}
    parts = [own for own in np.array_split(np.arange(len(rows)), 40) if len(own)]
    smooth = [[float(np.median(values[own])) for own in parts] for values in (mean, low, high)]
    series = [
        band | {"x": compacted(smooth[0]), "y": compacted(smooth[2]), "y0": compacted(smooth[1])},
        line("mean", SOFT, smooth[0], smooth[0], isDashed=True),
        dots("in its interval", ACCENT, mean[inside], target[inside]),
        dots("outside", "#d55e00", mean[~inside], target[~inside]),
    ]
    words = f"{np.mean(inside):.1%} of {len(x):,} rows are in their interval."
    return plot(f"Predicted intervals. {words}", axis("predicted mean"), axis("target"), series, caption=words)
