"""The page of a tuning: settings and their scores, what each parameter did, and why an ensemble was better or not."""

import itertools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.export.pictures import CLASS_COLOURS
from jaxtree.figures.classes import OneClass
from jaxtree.figures.importances import MOST_COLUMNS, importances_of
from jaxtree.figures.searches import Scale, mean_curve, scale_of
from jaxtree.files.pages import Page
from jaxtree.page.cards import ACCENT, SOFT, Card, Chart, axis, bars_by_name, compacted, line, plot
from jaxtree.page.page import Group, render
from jaxtree.page.quality import calibration_chart, means_chart
from jaxtree.page.scores import Fact
from jaxtree.table.numerals import exact_decimal, score_in_words

MOST_LEADERS = 15
"""The number of best settings that the table shows; members of the ensemble stand there at any rank."""

MOST_CURVES = 5
MOST_CLASSES = 12


def tuned_page(tuned: Any, y: Any, *, title: str = "Tuned boosted trees") -> Page:
    """Returns a page about what a tuning has found; it needs no network.

    Args:
        tuned: A `jaxtree.search.tuning.TunedModel`.
        y: The target of the rows that it was tuned on.
        title: The heading of the page.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    yardstick, model = tuned.yardstick, tuned.model
    first = [_comparison(tuned), _history(tuned), _curves(tuned), _calibration(tuned)]
    found = importances_of(model)
    columns = [(name, value) for name, value in zip(found.names, found.values.tolist(), strict=True) if value > 0]
    second = [
        scatter_card(tuned),
        _bars("parameters", "Importance of the parameters", "The R² that a forest, which predicts scores from "
              "settings, loses when the values of the parameter are shuffled.", tuned.tried.parameter_importances()),
        _bars("importances", "Importance of the columns", f"{found.meaning[0].upper()}{found.meaning[1:]}.",
              columns[:MOST_COLUMNS]),
    ]  # fmt: skip
    groups = [
        Group(name, [card for card in cards if card]) for name, cards in (("scores", first), ("settings", second))
    ]
    return render(
        "tuned.html",
        {"cards": {card.id: card.to_json() for group in groups for card in group.cards}},
        title=title,
        estimator=type(model).__name__,
        measure=yardstick.in_words,
        summary=_summary(tuned, len(y)),
        verdict=tuned.verdict(),
        was_interrupted=tuned.was_interrupted,
        is_judged=len(tuned.tests) > 1,
        is_ensemble=tuned.is_ensemble,
        leaders=_leaders(tuned),
        groups=groups,
    )


def _summary(tuned: Any, num_rows: int) -> list[Fact]:
    yardstick, tried = tuned.yardstick, tuned.tried
    best, defaults = tuned.best_and_defaults()
    kind, found, constant = tuned.kind_of_model, tuned.plain.found, tuned.plain.constant
    scores = [(kind, found.mean()), ("best setting", best.mean()), ("defaults", defaults.mean())]
    scores.append(("constant", constant.mean()))
    facts = [(f"{name}: {yardstick.in_words}", score_in_words(yardstick.shown(float(score)))) for name, score in scores]
    sizes = [("rows", num_rows), ("columns", tuned.model.n_features_in_), ("folds", len(tuned.tests))]
    sizes += [("settings", len(tried.settings))]
    sizes += [] if tuned.finalists is None else [("finalists", len(tuned.finalists.numbers))]
    sizes += [("members", len(tuned.members))] if tuned.is_ensemble else []
    return [*itertools.starmap(Fact, facts), *(Fact(name, f"{size:,}") for name, size in sizes)]


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
                "values": [(name, _in_words(value)) for name, value in tried.settings[number].items()],
            }
        )
    return rows


def _in_words(value: Any) -> str:
    """A value of a parameter; of numbers that were drawn no more digits than one reads."""
    if isinstance(value, float) and np.isfinite(value):
        return exact_decimal(float(f"{value:.4g}"))
    return exact_decimal(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _comparison(tuned: Any) -> Card:
    """The scores of the ensemble, the best setting and the defaults on every fold, and the reason in words."""
    yardstick, (best, defaults) = tuned.yardstick, tuned.best_and_defaults()
    kind = tuned.kind_of_model
    named = ((kind, tuned.plain.found, ACCENT), ("best setting", best, "#009E73"),
             ("defaults", defaults, "#CC79A7"))  # fmt: skip
    items = []
    for name, scores, colour in named:
        shown = np.asarray(yardstick.shown(scores), np.float64)
        dots = [*([value, SOFT] for value in compacted(shown)), [compacted([shown.mean()])[0], colour]]
        items.append({"name": name, "dots": dots, "words": score_in_words(float(shown.mean()))})
    better = "less" if yardstick.name.startswith("neg_") else "more"
    chart: Chart = {
        "kind": "list",
        "label": f"Scores of the {kind}, the best setting and the defaults on every fold",
        "items": items,
        "x": axis(f"{yardstick.in_words}; {better} is better"),
        "caption": reason_in_words(tuned),
    }
    title = f"{kind.capitalize()}, best setting, defaults"
    return Card("comparison", title, "Grey: every fold; in colour: their mean.", {"": chart})


def reason_in_words(tuned: Any) -> str:
    """Returns why the ensemble is better than the best setting, or is not."""
    (best, _), members = tuned.best_and_defaults(), np.flatnonzero(tuned.weights)
    if tuned.is_plain:
        return "The defaults are returned: nothing that was found is better on the same folds."
    if len(tuned.tests) < 2:
        return f"On a single fold nothing could judge the {tuned.kind_of_model}: the best setting was taken alone."
    if not tuned.is_ensemble:
        if tuned.weights[0] and len(tuned.tried.settings) > 1:
            return "The model is that of the defaults: settings that the other folds have chosen are no better."
        return (
            "The model is the best setting alone, so that its curves can be read; its score is that of settings "
            "that the other folds have chosen."
        )
    if tuned.finalists is not None and len(tuned.finalists.numbers) == 1:
        return "There is one finalist, the mean of models of folds of the defaults: it was taken alone."
    if len(members) == 1:
        return "One setting has all the weight: no other one made the predictions of the folds better beside it."
    gain = tuned.scores - best
    wins, folds = int((gain > 0).sum()), len(gain)
    alike = _likeness(tuned.predicted_by_members())
    verb = "better" if gain.mean() > 0 else "worse" if gain.mean() < 0 else "no better"
    words = f"The ensemble is {verb} than the best setting: by {score_in_words(abs(float(gain.mean())))} in the mean; "
    words += f"it is better on {wins} of {folds} folds. "
    words += f"The predictions of its {len(members)} members correlate by {alike:z.3f}: "
    if gain.mean() > 0:
        return words + "the less they do, the more a mean of them gains."
    return words + "members that predict alike, or that one beats clearly, gain little by a mean."


def _likeness(predicted: Float[np.ndarray, "member row column"]) -> float:
    """The mean correlation of the predictions of every two members."""
    flat = predicted.reshape(len(predicted), -1)
    flat = flat[:, np.isfinite(flat).all(axis=0)]
    with np.errstate(all="ignore"):
        found = np.corrcoef(flat)
    above = found[np.triu_indices(len(found), 1)]
    return float(np.nanmean(above)) if np.isfinite(above).any() else 1.0


def _history(tuned: Any) -> Card | None:
    """The score of every setting and the best so far, by number and by time."""
    tried, yardstick = tuned.tried, tuned.yardstick
    means = tried.scores.mean(axis=1)
    if len(means) < 2:
        return None
    shown, best = yardstick.shown(means), yardstick.shown(np.maximum.accumulate(means))
    ends = _limits(shown)
    hidden = int(((shown < ends[0]) | (shown > ends[1])).sum())
    words = f"{hidden} far worse setting{' stands' if hidden == 1 else 's stand'} at the edge." if hidden else ""
    charts = {}
    for x, label in ((np.arange(1.0, len(means) + 1), "settings tried"), (tried.seconds, "seconds")):
        series = [
            line("a setting", SOFT, x, np.clip(shown, *ends), kind="dots"),
            line("best so far", ACCENT, x, best, kind="steps"),
        ]
        x_axis, y_axis = axis(label, isWhole=True), axis(yardstick.in_words)
        charts[str(len(charts))] = plot(f"Scores by {label}", x_axis, y_axis, series, words)
    hint = "The score of every setting, mean of the folds, and the best so far."
    return Card("progress", "History", hint, charts, (("By", ("by settings", "by time")),), (0,))


def _limits(shown: Float[np.ndarray, " setting"]) -> tuple[float, float]:
    """Between which scores are drawn: the quarters and as much beyond them as holds all but outliers."""
    known = shown[np.isfinite(shown)]
    low, middle, high = np.quantile(known, [0.0, 0.25, 0.75]) if len(known) else (0.0, 0.0, 1.0)
    reach = 3 * (high - middle)
    low = max(float(known.min(initial=np.inf)), middle - reach) if reach else float(known.min(initial=np.inf))
    top = min(float(known.max(initial=-np.inf)), high + reach) if reach else float(known.max(initial=-np.inf))
    return low, top


def _curves(tuned: Any) -> Card | None:
    """The losses of the best settings after every round, means over the folds as long as all of them go on."""
    means = tuned.tried.scores.mean(axis=1)
    best = np.argsort(-means, kind="stable")[:MOST_CURVES].tolist()
    series = []
    for rank, number in enumerate(best):
        mean = mean_curve(tuned.tried.curves[number])
        if len(mean):
            series.append(line(f"rank {rank + 1}", CLASS_COLOURS[rank], np.arange(1.0, len(mean) + 1), mean))
    if not series:
        return None
    chart = plot("Losses of the best settings", axis("round", isWhole=True), axis("loss"), series)
    hint = "Loss on the rows of the folds after every round, of the best settings."
    return Card("curves", "Learning curves", hint, {"": chart})


def _calibration(tuned: Any) -> Card:
    """How often classes come true by their probabilities; of numbers the mean target by the prediction."""
    yardstick, predicted = tuned.yardstick, tuned.predicted
    known = np.isfinite(predicted).all(axis=1)
    weight = np.ones(len(known)) if yardstick.weight is None else yardstick.weight
    known &= weight > 0
    predicted, target, weight = predicted[known], yardstick.target[known], weight[known]
    if yardstick.classes is None:
        chart = means_chart(predicted[:, 0], target, weight, ("", "held-out"))
        return Card("calibration", "Means by prediction", "Mean target by the mean prediction on other folds, tenths "
                    "of the rows.", {"": chart})  # fmt: skip
    number = len(yardstick.classes)
    # With two classes, the curve of the first is that of the second, turned over.
    shown = [1] if number == 2 else list(range(min(number, MOST_CLASSES)))
    names = [str(yardstick.classes[place]) for place in shown]
    charts = {
        str(at): calibration_chart(OneClass(names[at], place, target == place, predicted[:, place], weight), ACCENT)
        for at, place in enumerate(shown)
    }
    hint = "Share of the rows that have a class, by the probability that what other folds have chosen gives it."
    return Card("calibration", "Calibration", hint, charts, (("Class", tuple(names)),), (0,))


def _bars(name: str, title: str, hint: str, named: list[tuple[str, float]]) -> Card | None:
    if not named:
        return None
    return Card(name, title, hint, {"": bars_by_name(title, named)})


COLOURS = (("a setting", SOFT), ("part of the model", ACCENT), ("the best", "#D55E00"))


class _Scored(NamedTuple):
    """The settings that have a score.

    Attributes:
        values: The values of one parameter.
        shown: The mean scores as they are shown.
        group: The place of each in `COLOURS`.
        axis: The axis of scores.
    """

    values: list[Any]
    shown: Float[np.ndarray, " setting"]
    group: Int[np.ndarray, " setting"]
    axis: dict[str, Any]


def scatter_card(tuned: Any) -> Card | None:
    """Returns the card of all parameters that have several values; None where there are none.

    Args:
        tuned: A `jaxtree.search.tuning.TunedModel`.
    """
    tried = tuned.tried
    means = tried.scores.mean(axis=1)
    group = np.where(tuned.weights > 0, 1, 0)
    group[int(means.argmax())] = 2
    shown = np.asarray(tuned.yardstick.shown(means), np.float64)
    known = np.flatnonzero(np.isfinite(shown)).tolist()
    order = [name for name, _ in tried.parameter_importances()]
    names = sorted(tried.settings[0], key=lambda name: order.index(name) if name in order else len(order))
    names = [name for name in names if len({str(own[name]) for own in tried.settings}) > 1]
    if not names:
        return None
    y = axis(tuned.yardstick.in_words)
    charts = {}
    for place, name in enumerate(names):
        values = [tried.settings[number][name] for number in known]
        drawn = _words_chart if scale_of(values) == Scale.WORDS else _scatter_chart
        charts[str(place)] = drawn(name, _Scored(values, shown[known], group[known], y))
    hint = "The mean score of every setting by its value of a parameter."
    return Card("scatter", "Scores by parameter", hint, charts, (("Parameter", tuple(names)),), (0,))


def _scatter_chart(name: str, scored: _Scored) -> Chart:
    numbers, scale, x = np.array(scored.values, np.float64), scale_of(scored.values), axis(name)
    if scale != Scale.LINEAR:
        above = numbers[numbers > 0]
        powers = np.arange(np.floor(np.log10(above.min())), np.ceil(np.log10(above.max())) + 1)
        zero = float(powers[0] - 1)
        ticks = [[float(power), exact_decimal(float(f"1e{power:.0f}"))] for power in powers]
        x["isLog"] = True
        x["ticks"] = [[zero, "0"], *ticks] if scale == Scale.WITH_ZERO else ticks
        numbers = np.log10(numbers, where=numbers > 0, out=np.full(len(numbers), zero))
    series = [
        line(title, colour, numbers[own], scored.shown[own], kind="dots")
        for place, (title, colour) in enumerate(COLOURS)
        for own in [scored.group == place]
        if own.any()
    ]
    return plot(f"Scores by {name}", x, scored.axis, series)


def _words_chart(name: str, scored: _Scored) -> Chart:
    words = list(map(str, scored.values))
    items = []
    for word in dict.fromkeys(words):
        rows = [row for row, own in enumerate(words) if own == word]
        dots = [
            [value, COLOURS[scored.group[row]][1]]
            for row, value in zip(rows, compacted(scored.shown[rows]), strict=True)
        ]
        items.append({"name": word, "dots": sorted(dots, key=lambda dot: dot[1] != SOFT), "words": str(len(rows))})
    legend = [{"name": title, "colour": colour} for title, colour in COLOURS]
    caption = "At the right, the number of settings."
    label = f"Scores by {name}"
    return {"kind": "list", "label": label, "items": items, "x": scored.axis, "legend": legend, "caption": caption}
