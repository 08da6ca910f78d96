"""How right a model is: cards of classes, numbers, times, orders, and of losses by rounds or trees."""

import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from jaxtree.arrays import spread
from jaxtree.errors import present
from jaxtree.export.pictures import colour_of_class
from jaxtree.figures.classes import OneClass, calibration_of, confusion_of, roc_of
from jaxtree.figures.forests import MOST_ROWS, errors_by_trees, unseen_rows
from jaxtree.figures.learning import learning_of
from jaxtree.figures.numbers import (
    COVERAGE,
    LEVELS,
    Intervals,
    coverage_of,
    histogram_of,
    intervals_of,
    pit_of,
    residuals_of,
)
from jaxtree.figures.ranks import RankedGroups
from jaxtree.figures.survival import NUM_GROUPS, RiskGroup, WatchedRows, names_of_groups, survival_by_risk
from jaxtree.losses.curves import SurvivalCurves
from jaxtree.losses.predicted import PARAMETERS, PredictedDistribution
from jaxtree.metrics import concordance_index
from jaxtree.page import cards
from jaxtree.page.cards import (
    ACCENT,
    INK,
    SHARE,
    SOFT,
    Card,
    Chart,
    axis,
    card_of_tables,
    compacted,
    dots,
    line,
    plot,
)
from jaxtree.page.model import PageModel, PageTable, shifted_scores
from jaxtree.page.scores import constant_of, ranked_of
from jaxtree.table.numerals import decimal_near, score_in_words
from jaxtree.tree.kinds import ModelKind, Prediction

UNKNOWN = "not seen in fit"

FEW_LINES = 7
"""Classes whose curves stand in one chart; of more, only the chosen one is drawn."""

ON_THE_LINE = "on the dashed line both are equal."


def class_cards(model: PageModel, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of some tables with targets."""
    classes = model.classes
    shown = [1] if len(classes) == 2 else list(range(len(classes)))  # the first curve of two is the second's mirror
    options = ("Class", [classes[label] for label in shown])
    card = functools.partial(card_of_tables, tables)
    return [
        card("confusion", "Confusion matrix", "Rows by true and by predicted class; at the right: the share that is "
             "predicted correctly.", lambda table: confusion_chart(model, table)),
        card("roc", "ROC", "True positive rate against false positive rate as the threshold falls.",
             lambda table, place: _roc_chart(model, table, shown[place]), options),
        card("calibration", "Calibration", "Observed frequency by predicted probability, in ten bins.",
             lambda table, place: calibration_chart(
                 one_class(model, table, shown[place]), model.colour(shown[place])), options),
    ]  # fmt: skip


def confusion_chart(model: PageModel, table: PageTable) -> Chart:
    """Returns the confusion matrix; rows of classes that the model does not know stand in a last line."""
    found = confusion_of(table.labels, present(table.said), table.weight, len(model.classes))
    always = present(constant_of(model, table))
    return {
        "kind": "grid",
        "label": f"Confusion matrix of the {table.name} rows",
        "names": [*model.classes, UNKNOWN][: len(found.cells)],
        "columns": model.classes,
        "cells": [cards.compacted(row, 9) for row in found.cells],
        "caption": f"{found.right:.1%} of {len(table.values):,} {table.name} rows are predicted correctly; "
        f"{always.name}: {always.score:.1%}.",
        "value": found.right,
    }


def one_class(model: PageModel, table: PageTable, label: int) -> OneClass:
    """Returns a class against all others."""
    return OneClass(model.in_target(label), label, table.labels == label, table.predicted[:, label], table.weight)


def _roc_chart(model: PageModel, table: PageTable, label: int) -> Chart:
    others = range(len(model.classes)) if len(model.classes) in range(3, FEW_LINES + 1) else [label]
    curves = {other: roc_of(one_class(model, table, other)) for other in others}
    own, name = curves.pop(label), model.classes[label]
    series = [
        line("", model.colour(other), curve.wrong, curve.right, isFaint=True, said=model.classes[other])
        for other, curve in curves.items()
        if curve is not None
    ]
    x, y = axis("false positive rate", **SHARE), axis("true positive rate", **SHARE)
    if own is None:
        words = f"No curve of {name}: all {table.name} rows are of one kind."
        return plot("ROC curve", x, y, series, words, isDiagonal=True)
    words = f"Area {own.area:z.4f}: {model.in_target(label)} against the rest, {table.name} rows."
    series.append(line("", model.colour(label), own.wrong, own.right, said=name))
    return plot("ROC curve", x, y, series, words, isDiagonal=True, value=own.area)


def calibration_chart(own: OneClass, colour: str) -> Chart:
    """Returns the chart of one class."""
    bins = calibration_of(own.chance, own.is_own.astype(np.float64), own.weight)
    words = f"{own.name}: off by {bins.gap:z.3f} on average over the rows."
    x = axis("predicted probability; below: number of rows", **SHARE)
    y = axis(f"share of rows that are {own.name}", **SHARE)
    series = cards.points_on_line("", colour, bins.mean, bins.observed)
    below = cards.bars_below(histogram_of(own.chance, own.weight))
    return plot("Calibration", x, y, series, words, isDiagonal=True, below=below, value=bins.gap)


NUM_STEPS = 40
"""The most steps of the band of intervals."""

FEW_DIGITS = 4


def number_cards(model: PageModel, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of numbers of some tables with targets."""
    card = functools.partial(card_of_tables, tables)
    number = tables[0].predicted.shape[1]
    if model.predicts == Prediction.DISTRIBUTIONS:
        found = [
            card("intervals", "Predicted intervals", "Targets against the predicted mean, and the intervals meant to "
                 f"contain {COVERAGE:.0%} of them.", lambda table: _intervals_chart(model, table)),
            card("coverage", "Coverage", "Share of the targets in predicted intervals, by the nominal coverage of "
                 "the intervals.", lambda table: _coverage_chart(model, table)),
            card("pit", "Probability integral transform (PIT)", "The predicted probability of a value below the "
                 "target. Bars are level where the distributions are right, high at both ends where these are too "
                 "narrow, in the middle where too wide.", lambda table: _pit_chart(model, table)),
        ]  # fmt: skip
    else:
        found = _cards_of_quantiles(model, tables) if hasattr(model.estimator, "quantiles_at") else []
        outputs = ("Output", [model.name(output) for output in range(number)]) if number > 1 else None
        chart_of = functools.partial(_predictions_chart if outputs is None else _output_chart, model)
        hint = f"One point per row; {ON_THE_LINE}"
        found.append(card("predictions", "Predictions and targets", hint, chart_of, outputs))
    if number == 1:
        hint = f"Mean target against mean prediction, for tenths of the rows; {ON_THE_LINE}"
        found += [
            card("residuals", "Residuals", "Target minus prediction.", functools.partial(_residuals_chart, model)),
            card("calibration", "Means by prediction", hint, lambda table: means_chart(
                table.predicted[:, 0], table.truth[:, 0], table.weight, (model.target, table.name))),
        ]  # fmt: skip
    return found


MOST_PREDICTED = 2000
"""Rows whose quantiles are predicted; of more as many spread over the table."""


def _cards_of_quantiles(model: PageModel, tables: Sequence[PageTable]) -> list[Card]:
    """The cards of a forest of quantiles: the intervals of rows, and how many targets intervals hold."""
    card, parts = functools.partial(card_of_tables, tables), np.concatenate([(1 - LEVELS) / 2, [0.5], (1 + LEVELS) / 2])
    found = {}
    for table in tables:
        some = spread(len(table.values), MOST_PREDICTED)
        found[table.name] = some, model.estimator.quantiles_at(table.values[some], parts)
    return [
        card("intervals", "Predicted intervals", "Targets against the predicted median, and the intervals meant to "
             f"contain {COVERAGE:.0%} of them.",
             lambda table: _quantile_intervals_chart(model, table, *found[table.name])),
        card("coverage", "Coverage", "Share of the targets in predicted intervals, by the nominal coverage of the "
             "intervals.", lambda table: _quantile_coverage_chart(table, *found[table.name])),
    ]  # fmt: skip


def _ends_of(level: int, quantiles: Float[np.ndarray, "some part"]) -> Float[np.ndarray, "some 2"]:
    """The ends of the intervals of a level, of quantiles of the lower ends, the median and the upper ends."""
    return quantiles[:, [level, len(LEVELS) + 1 + level]]


def _quantile_intervals_chart(
    model: PageModel, table: PageTable, some: Int[np.ndarray, " some"], quantiles: Float[np.ndarray, "some part"]
) -> Chart:
    ends = _ends_of(int(np.argmin(np.abs(LEVELS - COVERAGE))), quantiles)
    found = intervals_of(ends, table.truth[some, 0], table.weight[some])
    rows = some[found.rows]
    points = quantiles[found.rows, len(LEVELS)], table.truth[rows, 0], table.number[rows]
    return _intervals_of_rows(model, found, points, len(some), "median")


def _quantile_coverage_chart(
    table: PageTable, some: Int[np.ndarray, " some"], quantiles: Float[np.ndarray, "some part"]
) -> Chart:
    target, weight = table.truth[some, 0], table.weight[some]
    found = []
    for level in range(len(LEVELS)):
        low, high = _ends_of(level, quantiles).T
        found.append(np.average((low <= target) & (target <= high), weights=weight))
    return _coverage_of_levels(np.array(found), table)


def measures(table: PageTable) -> dict[str, float]:
    """Returns what scikit-learn measures of numbers, by name; R² is NaN of fewer than two rows."""
    target, predicted, weight = table.truth[:, 0], table.predicted[:, 0], table.weight
    r2 = r2_score(target, predicted, sample_weight=weight) if len(target) > 1 else np.nan
    return {
        "R²": float(r2),
        "root mean squared error": float(root_mean_squared_error(target, predicted, sample_weight=weight)),
        "mean absolute error": float(mean_absolute_error(target, predicted, sample_weight=weight)),
    }


def _of_targets(model: PageModel, table: PageTable, output: int, words: str, value: float) -> Chart:
    target, predicted = table.truth[:, min(output, table.truth.shape[1] - 1)], table.predicted[:, output]
    series = [dots("", model.colour(output), target, predicted, table.number)]
    name = model.target or "target"
    x, y = axis(name if table.truth.shape[1] == 1 else "target"), axis("prediction")
    return plot(f"Predictions and {name}", x, y, series, words, isDiagonal=True, value=value)


def _predictions_chart(model: PageModel, table: PageTable) -> Chart:
    found = measures(table)
    root = decimal_near(found["root mean squared error"], least_digits=FEW_DIGITS)
    words = f"R² {score_in_words(found['R²'])}, root mean squared error {root}: {len(table.truth):,} {table.name} rows."
    return _of_targets(model, table, 0, words, found["R²"])


def _output_chart(model: PageModel, table: PageTable, output: int) -> Chart:
    """One of several quantiles of a target, or of several targets."""
    target, predicted = table.truth[:, min(output, table.truth.shape[1] - 1)], table.predicted[:, output]
    below = float(np.average(target <= predicted, weights=table.weight))
    words = f"{below:.1%} of the {table.name} targets are at or below the prediction."
    return _of_targets(model, table, output, words, below)


def _residuals_chart(model: PageModel, table: PageTable) -> Chart:
    found = residuals_of(table.truth[:, 0], table.predicted[:, 0], table.weight)
    middle, low, high = (
        decimal_near(own, least_digits=FEW_DIGITS).replace("-", "−") for own in (found.median, found.low, found.high)
    )
    words = f"Median {middle}; nine of ten rows between {low} and {high}."
    series = [cards.bars("", ACCENT, *found.histogram)]
    x = axis(f"{model.target or 'target'} − prediction")
    return plot("Histogram of residuals", x, axis("rows", low=0), series, words, mark=0)


def means_chart(
    predicted: Float[np.ndarray, " row"],
    target: Float[np.ndarray, " row"],
    weight: Float[np.ndarray, " row"],
    names: tuple[str, str],
) -> Chart:
    """Returns the chart of tenths of some rows, from the names of their target and of the table."""
    bins = calibration_of(predicted, target, weight)
    series = cards.points_on_line("", ACCENT, bins.mean, bins.observed)
    x, y = axis("mean prediction"), axis(f"mean {names[0] or 'target'}")
    return plot(f"Mean targets by prediction, {names[1]} rows", x, y, series, isDiagonal=True)


def _distribution(model: PageModel, table: PageTable) -> PredictedDistribution:
    return PredictedDistribution(model.estimator.loss_, shifted_scores(model, table))


def _probabilities_below(model: PageModel, table: PageTable) -> Float[np.ndarray, " row"]:
    """The predicted probability of less than the target, for every row."""
    return np.asarray(_distribution(model, table).cdf(table.truth[:, 0]), np.float64)


def _coverage_chart(model: PageModel, table: PageTable) -> Chart:
    return _coverage_of_levels(coverage_of(_probabilities_below(model, table), table.weight), table)


def _coverage_of_levels(found: Float[np.ndarray, " level"], table: PageTable) -> Chart:
    own = float(np.interp(COVERAGE, LEVELS, found))
    words = f"{COVERAGE:.0%} intervals contain {own:.1%} of the {table.name} targets."
    x, y = axis("nominal coverage", **SHARE), axis("share of targets in the interval", **SHARE)
    return plot("Coverage", x, y, [line("", ACCENT, LEVELS, found)], words, isDiagonal=True, value=own)


def _pit_chart(model: PageModel, table: PageTable) -> Chart:
    found = pit_of(_probabilities_below(model, table), table.weight)
    level = line("", INK, [0, 1], [1 / len(found.heights)] * 2, isDashed=True)
    x = axis("predicted probability of a value below the target", **SHARE)
    series = [cards.bars("", ACCENT, *found), level]
    return plot("Histogram of predicted probabilities", x, axis("share of rows", low=0), series)


def _intervals_chart(model: PageModel, table: PageTable) -> Chart:
    found = intervals_of(_distribution(model, table).interval(COVERAGE), table.truth[:, 0], table.weight)
    mean, target = table.predicted[found.rows, 0], table.truth[found.rows, 0]
    return _intervals_of_rows(model, found, (mean, target, table.number[found.rows]), len(table.values), "mean")


_Points = tuple[Float[np.ndarray, " some"], Float[np.ndarray, " some"], Int[np.ndarray, " some"]]
"""The middles and targets of rows, and their numbers in the given table."""


def _intervals_of_rows(model: PageModel, found: Intervals, points: _Points, number: int, name: str) -> Chart:
    """The chart of some rows, which are judged among a number of them."""
    mean = points[0]
    parts = [own for own in np.array_split(np.argsort(mean, kind="stable"), NUM_STEPS) if len(own)]
    smooth, low, high = (np.array([np.median(own[part]) for part in parts]) for own in (mean, found.low, found.high))
    series = [
        line("", ACCENT, smooth, high, kind="band", y0=cards.compacted(low)),
        line(name, SOFT, smooth, smooth, isDashed=True),
        *(
            dots(words, colour, *(own[shown] for own in points))
            | {"said": model.target or "target", "ends": [compacted(found.low[shown]), compacted(found.high[shown])]}
            for words, colour, shown in (
                ("in its interval", ACCENT, found.is_inside),
                ("outside", "#d55e00", ~found.is_inside),
            )
        ),
    ]
    words = f"{found.share:.1%} of {number:,} rows are in their interval."
    return plot("Predicted intervals", axis(f"predicted {name}"), axis(model.target or "target"), series, words)


GROUP_COLOURS = ("#009E73", "#56B4E9", "#E69F00", "#D55E00")
"""From the least risk to the greatest."""


def times_of(model: PageModel, table: PageTable) -> WatchedRows | None:
    """Returns the times of rows; None where times lie between bounds."""
    time, answer = table.truth[:, 0].astype(np.float64), table.predicted[:, 0]
    if "upper" in table.fields and "event" not in table.fields:
        upper = np.asarray(table.fields["upper"], np.float64)
        if not (np.isinf(upper) | (upper == time)).all():
            return None
        is_event = np.isfinite(upper)
    else:
        is_event = np.asarray(table.fields.get("event", np.ones(len(table.values)))) > 0
    return WatchedRows(time, is_event, answer if model.predicts == Prediction.RISKS else -answer, table.weight)


def survival_cards(model: PageModel, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of some tables with times."""
    known = [table for table in tables if times_of(model, table) is not None]
    watched = {table.name: present(times_of(model, table)) for table in known}
    groups = {table.name: _groups(model, table, watched[table.name]) for table in known}
    card = functools.partial(card_of_tables, known)
    return [
        card("survival", "Survival by predicted risk", "Quarters of the rows by predicted risk. Steps: the share "
             "without the event so far (Kaplan-Meier). Dashed: the mean prediction of the group.",
             lambda table: _survival_chart(table, watched[table.name], groups[table.name])),
        card("events", "Events by predicted risk", "Quarters of the rows by predicted risk: the share with the event "
             "while they were observed.",
             lambda table: _events_chart(table, watched[table.name], groups[table.name])),
        card("risks", f"All: {model.unit}", "Distribution of the predictions.",
             lambda table: _risks_chart(model, table)),
    ] if known else []  # fmt: skip


def _groups(model: PageModel, table: PageTable, watched: WatchedRows) -> list[RiskGroup]:
    estimator = model.estimator

    def curves(rows: Int[np.ndarray, " row"], times: Float[np.ndarray, " time"]) -> Float[np.ndarray, "row time"]:
        if model.kind == ModelKind.MOMENT:
            return estimator.survival_at(table.values[rows], times)
        scores = shifted_scores(model, table)[rows]
        return SurvivalCurves(estimator.loss_, scores, estimator.survival_, times).probabilities

    has_curves = model.kind == ModelKind.MOMENT or estimator.survival_ is not None
    return survival_by_risk(watched, NUM_GROUPS, curves if has_curves else None)


def _survival_chart(table: PageTable, times: WatchedRows, groups: list[RiskGroup]) -> Chart:
    series = []
    for name, colour, group in zip(names_of_groups(len(groups)), GROUP_COLOURS, groups, strict=False):
        series.append(line(name, colour, group.observed.time, group.observed.share, kind="steps"))
        if group.predicted is not None:
            series.append(
                line("", colour, group.times, group.predicted, isDashed=True, isFaint=True, said=f"{name}, predicted")
            )
    index = concordance_index(times.time, times.risk, event=times.is_event, sample_weight=times.weight)
    words = f"Concordance {index:z.4f}: the share of pairs of {table.name} rows in the right order."
    y = axis("share without the event", **SHARE)
    return plot("Survival curves", axis("time", low=0), y, series, words, value=index)


def _events_chart(table: PageTable, times: WatchedRows, groups: list[RiskGroup]) -> Chart:
    rows = [group.rows for group in groups]
    shares = [float(np.average(times.is_event[own], weights=times.weight[own])) for own in rows]
    words = [f"{times.is_event[own].sum()} of {len(own)}" for own in rows]
    x = axis("share of rows with the event", **SHARE)
    named = [*zip(names_of_groups(len(groups)), shares, strict=True)]
    return cards.bars_by_name(f"Events by predicted risk, {table.name} rows", named, words, GROUP_COLOURS, x)


def _risks_chart(model: PageModel, table: PageTable) -> Chart:
    answer, unit = table.predicted[:, 0], model.unit
    if model.predicts == Prediction.RISKS:
        answer, unit = np.log10(np.maximum(answer, 1e-300)), f"{unit}, powers of 10"
    series = [cards.bars("", ACCENT, *histogram_of(answer, table.weight))]
    return plot(f"Histogram of the {model.unit}", axis(unit), axis("rows", low=0), series)


MOST_LISTED = 8
"""Groups of the lowest NDCG that are listed."""


def rank_cards(model: PageModel, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of some tables with targets and groups."""
    tables = [table for table in tables if "group" in table.fields]
    found = {table.name: ranked_of(model, table) for table in tables}
    card = functools.partial(card_of_tables, tables)
    return [
        card("ndcg", "NDCG of the groups", "NDCG of the order of each group's rows: 1 is the best.",
             lambda table: _ndcg_chart(table, found[table.name])),
        card("ranks", "Relevance by rank", "Mean relevance of the rows at each rank of their group, with that of the "
             "best order and of a random one.", lambda table: _ranks_chart(found[table.name])),
        card("worst", "Groups ranked worst", "The lowest NDCG.", lambda table: _worst_chart(found[table.name])),
    ] if tables else []  # fmt: skip


def _ndcg_chart(table: PageTable, found: RankedGroups) -> Chart:
    own = found.ndcg
    edges = np.linspace(min(0.5, np.floor(own.min() * 10) / 10), 1, 21)
    words = f"Mean {found.mean:z.4f} of {len(own):,} groups of {table.name} rows; the lowest {own.min():z.4f}."
    series = [cards.bars("", ACCENT, edges, np.histogram(own, edges)[0])]
    return plot("Histogram of NDCG", axis("NDCG"), axis("groups", low=0), series, words, value=found.mean)


def _ranks_chart(found: RankedGroups) -> Chart:
    rank = np.arange(1.0, len(found.best) + 1)
    series = [
        line("best order", "#009E73", rank, found.best),
        line("random order", SOFT, rank, found.random, isDashed=True),
        line("predicted order", ACCENT, rank, found.predicted),
    ]
    return plot("Mean relevance by rank", axis("rank", isWhole=True), axis("mean relevance", low=0), series)


def _worst_chart(found: RankedGroups) -> Chart:
    order = np.argsort(found.ndcg, kind="stable")[:MOST_LISTED].tolist()
    named = [(f"group {found.names[own]} ({found.size[own]} rows)", float(found.ndcg[own])) for own in order]
    return cards.bars_by_name("Groups of the lowest NDCG", named, x=axis("NDCG", **SHARE))


def learning_cards(model: PageModel) -> list[Card]:
    """Returns a card of every metric, with what was measured of every evaluation round by round.

    A model that has measured nothing has none. A mark stands at the round that early stopping has chosen, of folds at
    the mean of theirs, or without it at `best_iteration_`.
    """
    estimator = model.estimator
    if not estimator.evals_result_:
        return []
    found, drawn = learning_of(estimator), []
    for metric, of_rows in found.curves.items():
        length = len(next(iter(of_rows.values())))
        series = [
            line(name, colour_of_class(at), np.arange(1.0, len(own) + 1), own)
            for at, (name, own) in enumerate(of_rows.items())
        ]
        words = f"Best at round {found.mark} of {length}, marked by the line."
        if found.why == "folds":
            kept = estimator.folds_.num_trees // estimator.trees_per_round_
            words = f"Each fold's model has the trees up to its best round, {kept.min()} to {kept.max()}"
            words += ": the line marks the mean."
        elif found.why == "kept":
            words = f"The model has the trees up to round {found.mark} of {length}, marked by the line."
        if len(series) == 1:
            words += f" Measured on {next(iter(of_rows))}."
        name = metric_in_words(metric, model.predicts)
        x = axis("round", isWhole=True)
        chart = plot(f"{name} by round", x, axis(name), series, words, mark=found.mark)
        number = f"-{len(drawn)}" if drawn else ""
        title = name if drawn else "Learning curve"
        drawn.append(Card(f"curve{number}", title, f"{name} after each round.", {"": chart}))
    return drawn


def metric_in_words(metric: str, predicts: Prediction) -> str:
    """Returns the name of a loss in words.

    >>> metric_in_words("log_loss", Prediction.CLASSES), metric_in_words("normal", Prediction.DISTRIBUTIONS)
    ('log loss', 'negative log-likelihood (normal)')
    """
    name = metric.split("(")[0]
    if predicts == Prediction.DISTRIBUTIONS and name in PARAMETERS:
        return f"negative log-likelihood ({name.replace('_', ' ')})"
    return name.replace("_", " ") + metric[len(name) :].removesuffix("()")


def forest_cards(model: PageModel, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the card of a forest's error by the number of its first trees, also of rows out of bag."""
    fitted = model.estimator.model_
    known = [table for table in tables if table.target is not None]
    if not known or fitted.is_vote:
        return []
    curves, colours = {}, {"out of bag": "#009E73", "training rows": "#56B4E9", "validation rows": "#D55E00"}
    for table in known:
        rows = (fitted, table.values, table.truth[:, 0], table.weight)
        unseen = _out_of_bag(model, table) if table.name == "training" else None
        if unseen is not None and unseen.any():
            curves["out of bag"] = errors_by_trees(*rows, unseen)
        curves[f"{table.name} rows"] = errors_by_trees(*rows)
    number = len(fitted.forest)
    series = [line(name, colours[name], np.arange(1.0, number + 1), own) for name, own in curves.items()]
    name = "error rate" if model.classes else "root mean squared error"
    last = [f"{score_in_words(float(own[-1]))} {where}" for where, own in curves.items()]
    words = f"With all {number} trees: {', '.join(last)}."
    if any(len(table.values) > MOST_ROWS for table in known):
        words += f" On the first {MOST_ROWS:,} rows of each table."
    chart = plot(f"{name} by number of trees", axis("trees", isWhole=True), axis(name), series, words)
    hint = "Error of the first trees together. Out of bag: each row by the trees that did not draw it."
    return [Card("curve", "Error by number of trees", hint, {"": chart})]


def _out_of_bag(model: PageModel, table: PageTable) -> Bool[np.ndarray, "row tree"] | None:
    """Whether trees have not drawn rows; None where the forest was loaded, or was fitted on another table."""
    try:
        drawn = model.estimator.estimators_samples_
    except AttributeError:
        return None
    unseen = unseen_rows(drawn, int(table.number[-1]) + 1)
    return None if unseen is None else unseen[table.number]


CARDS_OF = {
    Prediction.CLASSES: class_cards,
    Prediction.NUMBERS: number_cards,
    Prediction.DISTRIBUTIONS: number_cards,
    Prediction.RISKS: survival_cards,
    Prediction.TIMES: survival_cards,
    Prediction.RANKS: rank_cards,
}
