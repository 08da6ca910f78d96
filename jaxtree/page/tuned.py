"""The page of a tuning: settings and their scores, learning curves, calibration, and which parameters matter."""

from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.export.pictures import CLASS_COLOURS
from jaxtree.page.curves import DIGITS_OF_ENDS, Chart, Line, make_chart
from jaxtree.page.page import asset, template_of
from jaxtree.table.numerals import decimals_together, exact_decimal, score_in_words

MOST_LEADERS = 15
"""The number of best settings that the table shows; members of the ensemble stand there at any rank."""

MOST_CURVES = 5
MOST_CLASSES = 6
MOST_COLUMNS = 20
NUM_BINS = 10
"""Bins of chances, or of predictions."""

LEAST_ROWS = 5
"""Rows of a bin of chances that is drawn."""

GREY = "#888888"


def tuned_page(tuned: Any, y: Any, *, title: str = "Tuned boosted trees") -> str:
    """Returns a page about what a tuning has found; it has no script, and needs no network.

    Args:
        tuned: A `jaxtree.search.tuning.TunedEnsemble`.
        y: The target of the rows that it was tuned on.
        title: The heading of the page.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    yardstick, model = tuned.yardstick, tuned.model
    importances = zip(model.schema_.column_names, model.feature_importances_.tolist(), strict=True)
    columns = sorted(((name, value) for name, value in importances if value > 0), key=lambda own: -own[1])
    return template_of("tuned.html").render(
        title=title,
        estimator=type(model).__name__,
        style=asset("page.css"),
        measure=yardstick.in_words,
        summary=_summary(tuned, len(y)),
        was_interrupted=tuned.was_interrupted,
        is_judged=len(tuned.tests) > 1,
        parameters=list(tuned.tried.settings[0]),
        leaders=_leaders(tuned),
        charts=[chart for chart in (_progress(tuned), _curves(tuned), *_calibration(tuned)) if chart is not None],
        importances=tuned.tried.parameter_importances(),
        columns=columns[:MOST_COLUMNS],
    )


def _summary(tuned: Any, num_rows: int) -> list[tuple[str, str]]:
    yardstick, tried = tuned.yardstick, tuned.tried
    means = tried.scores.mean(axis=1)
    scores = [("ensemble", tuned.scores.mean()), ("best setting", means.max()), ("defaults", means[0])]
    facts = [(f"{name}: {yardstick.in_words}", score_in_words(yardstick.shown(float(score)))) for name, score in scores]
    sizes = [("rows", num_rows), ("columns", tuned.model.n_features_in_), ("folds", len(tuned.tests))]
    sizes += [("settings", len(means)), ("members", len(tuned.model.estimators_))]
    return [*facts, *((name, f"{size:,}") for name, size in sizes)]


def _leaders(tuned: Any) -> list[dict[str, Any]]:
    """The rows of the table of settings, the best first."""
    tried, yardstick = tuned.tried, tuned.yardstick
    means, deviations = tried.scores.mean(axis=1), tried.scores.std(axis=1)
    rows = []
    for rank, number in enumerate(np.argsort(-means, kind="stable").tolist(), 1):
        weight = tuned.weights[number]
        if rank > MOST_LEADERS and not weight:
            continue
        rows.append(
            {
                "rank": rank,
                "score": " ± ".join(map(score_in_words, (yardstick.shown(means[number]), deviations[number]))),
                "rounds": f"{tried.num_rounds[number].mean():.0f}",
                "weight": f"{weight:z.2f}" if weight else "",
                "values": [exact_decimal(value) for value in tried.settings[number].values()],
            }
        )
    return rows


def _progress(tuned: Any) -> tuple[str, str, str, Chart] | None:
    """The best score after every setting."""
    means, yardstick = tuned.tried.scores.mean(axis=1), tuned.yardstick
    if len(means) < 2:
        return None
    line = Line(yardstick.in_words, CLASS_COLOURS[0], yardstick.shown(np.maximum.accumulate(means)))
    chart = make_chart(yardstick.in_words, np.arange(1.0, len(means) + 1), [line])
    return "progress", "Best setting so far", f"{yardstick.in_words}, by the number of settings tried.", chart


def _curves(tuned: Any) -> tuple[str, str, str, Chart] | None:
    """The losses of the best settings after every round, means over the folds as long as all of them go on."""
    means = tuned.tried.scores.mean(axis=1)
    best = np.argsort(-means, kind="stable")[:MOST_CURVES].tolist()
    curves = {}
    for rank, number in enumerate(best, 1):
        of_folds = tuned.tried.curves[number]
        length = min(map(len, of_folds))
        if length:
            curves[f"rank {rank}"] = np.mean([curve[:length] for curve in of_folds], axis=0)
    if not curves:
        return None
    longest = max(map(len, curves.values()))
    lines = [
        Line(name, colour, np.pad(own.astype(np.float64), (0, longest - len(own)), constant_values=np.nan))
        for (name, own), colour in zip(curves.items(), CLASS_COLOURS, strict=False)
    ]
    chart = make_chart("loss", np.arange(1.0, longest + 1), lines)
    return "curves", "Learning curves", "Loss on the rows of the folds after every round, of the best settings.", chart


def _calibration(tuned: Any) -> list[tuple[str, str, str, Chart]]:
    """How often classes come true by their chances; of numbers the mean target by the prediction."""
    yardstick, predicted = tuned.yardstick, tuned.predicted
    known = np.isfinite(predicted).all(axis=1)
    predicted, target = predicted[known], yardstick.target[known]
    if yardstick.classes is None:
        return [("calibration", "Calibration", "Mean target by the prediction, tenths of the rows.",
                 _of_numbers(predicted[:, 0], target))]  # fmt: skip
    middle = (np.arange(NUM_BINS) + 0.5) / NUM_BINS
    # Of two classes, the curve of the first is that of the second, turned over.
    shown = [1] if len(yardstick.classes) == 2 else range(min(len(yardstick.classes), MOST_CLASSES))
    lines = [Line("as predicted", GREY, middle)]
    for place in shown:
        observed = _shares_come_true(predicted[:, place], target == place)
        lines.append(Line(str(yardstick.classes[place]), CLASS_COLOURS[place], observed))
    chart = make_chart("share of rows", middle, lines, ends=(f"{middle[0]:z.2f}", f"{middle[-1]:z.2f}"))
    hint = "Share of the rows that have a class, by its predicted probability."
    return [("calibration", "Calibration", hint, chart)]


def _shares_come_true(chance: Float[np.ndarray, " row"], is_true: Any) -> Float[np.ndarray, " bin"]:
    """The share of true rows in every bin of chances; NaN where there are few rows."""
    place = np.clip((chance * NUM_BINS).astype(int), 0, NUM_BINS - 1)
    number = np.bincount(place, minlength=NUM_BINS)
    true = np.bincount(place, np.asarray(is_true, np.float64), minlength=NUM_BINS)
    return np.where(number >= LEAST_ROWS, true / np.maximum(number, 1), np.nan)


def _of_numbers(predicted: Float[np.ndarray, " row"], target: Float[np.ndarray, " row"]) -> Chart:
    """The mean target by the mean prediction, in bins of equally many rows."""
    parts = [part for part in np.array_split(np.argsort(predicted, kind="stable"), NUM_BINS) if len(part)]
    place = np.array([predicted[part].mean() for part in parts])
    observed = np.array([target[part].mean() for part in parts])
    lines = [Line("as predicted", GREY, place), Line("mean target", CLASS_COLOURS[0], observed)]
    first, last = decimals_together(place[[0, -1]].tolist(), DIGITS_OF_ENDS)
    return make_chart("mean target", place, lines, ends=(first, last))
