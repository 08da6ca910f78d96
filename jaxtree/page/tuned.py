"""The page of a tuning: settings and their scores, what each parameter did, and why an ensemble was better or not."""

import itertools
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree.figures.classes import OneClass
from jaxtree.figures.importances import MOST_COLUMNS, importances_of
from jaxtree.figures.searches import ScoredSettings
from jaxtree.files.pages import Page
from jaxtree.page.cards import ACCENT, SOFT, Card, Chart, axis, compacted
from jaxtree.page.page import Group, render
from jaxtree.page.quality import calibration_chart, means_chart
from jaxtree.page.scores import Fact
from jaxtree.page.settings import (
    curves_card,
    history_card,
    importance_card,
    leaders,
    parallel_card,
    parameter_card,
    scatter_card,
)
from jaxtree.table.numerals import score_in_words

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
    yardstick, model, scored = tuned.yardstick, tuned.model, tuned.scored()
    first = [_comparison(tuned), history_card(scored), curves_card(scored), _calibration(tuned)]
    return _page(
        scored,
        first,
        _cards_of_settings(scored, tuned.tried.parameter_importances(), model),
        title=title,
        estimator=type(model).__name__,
        summary=_summary(tuned, len(y)),
        verdict=tuned.verdict(),
        notes=_notes(tuned),
        measure=yardstick.in_words,
        is_ensemble=tuned.is_ensemble,
    )


def searched_page(scored: ScoredSettings, importances: Any, model: Any, *, title: str, **facts: Any) -> Page:
    """Returns a page about the settings of a search; it needs no network.

    Args:
        scored: The settings.
        importances: Parameters by how much they count, the greatest first.
        model: The estimator that was fitted on all rows; None if none was.
        title: The heading of the page.
        facts: `estimator`, `summary` and `notes`, for the head of the page.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    first = [history_card(scored), curves_card(scored)]
    cards = _cards_of_settings(scored, importances, model)
    return _page(scored, first, cards, title=title, verdict="", measure=scored.measure, is_ensemble=False, **facts)


def _cards_of_settings(scored: ScoredSettings, importances: Any, model: Any) -> list[Card | None]:
    cards = [scatter_card(scored, importances), parallel_card(scored, importances), parameter_card(importances)]
    if model is not None:
        found = importances_of(model)
        columns = [(name, value) for name, value in zip(found.names, found.values.tolist(), strict=True) if value > 0]
        hint = f"{found.meaning[0].upper()}{found.meaning[1:]}."
        cards.append(importance_card("importances", "Importance of the columns", hint, columns[:MOST_COLUMNS]))
    return cards


def _page(scored: ScoredSettings, first: list[Card | None], second: list[Card | None], **facts: Any) -> Page:
    """The page of two groups of cards and the table of settings."""
    named = (("scores", first), ("settings", second))
    groups = [Group(name, [card for card in cards if card]) for name, cards in named]
    return render(
        "tuned.html",
        {"cards": {card.id: card.to_json() for group in groups for card in group.cards}},
        leaders=leaders(scored),
        groups=groups,
        has_rounds=scored.num_rounds is not None,
        has_weights=scored.weights is not None,
        **facts,
    )


TOO_GOOD = "The best setting was chosen by the scores shown here, which are therefore slightly optimistic."


def _notes(tuned: Any) -> list[str]:
    """Sentences about the scores."""
    notes = []
    if tuned.was_interrupted:
        notes.append("The tuning was interrupted: it covers the settings that were finished by then.")
    judged = ""
    if len(tuned.tests) > 1:
        judged = "The score of the model is that of settings chosen on the other folds. "
        if tuned.is_ensemble:
            judged = "The ensemble was scored on each fold with weights chosen on the other folds. "
    return [*notes, judged + TOO_GOOD]


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
    better = "lower" if yardstick.name.startswith("neg_") else "higher"
    chart: Chart = {
        "kind": "list",
        "label": f"Scores of the {kind}, the best setting and the defaults on every fold",
        "items": items,
        "x": axis(f"{yardstick.in_words}; {better} is better"),
        "caption": reason_in_words(tuned),
    }
    title = f"{kind.capitalize()}, best setting, defaults"
    return Card("comparison", title, "Grey: each fold; coloured: their mean.", {"": chart})


def reason_in_words(tuned: Any) -> str:
    """Returns why the ensemble is better than the best setting, or is not."""
    (best, _), members = tuned.best_and_defaults(), np.flatnonzero(tuned.weights)
    if tuned.is_plain:
        return "The defaults are returned: nothing that was found is better on the same folds."
    if len(tuned.tests) < 2:
        return f"A single fold cannot judge the {tuned.kind_of_model}: the best setting was taken alone."
    if not tuned.is_ensemble:
        if tuned.weights[0] and len(tuned.tried.settings) > 1:
            return "The model is that of the defaults: settings chosen on the other folds are no better."
        return (
            "The model is the best setting alone, so that its curves can be read; its score is that of settings "
            "chosen on the other folds."
        )
    if tuned.finalists is not None and len(tuned.finalists.numbers) == 1:
        return "There is one finalist, the mean of the fold models of the defaults: it was taken alone."
    if len(members) == 1:
        return "One setting has all the weight: adding another one did not improve the predictions of the folds."
    gain = tuned.scores - best
    wins, folds = int((gain > 0).sum()), len(gain)
    alike = _likeness(tuned.predicted_by_members())
    verb = "better" if gain.mean() > 0 else "worse" if gain.mean() < 0 else "no better"
    words = f"The ensemble is {verb} than the best setting: by {score_in_words(abs(float(gain.mean())))} on average; "
    words += f"it is better on {wins} of {folds} folds. "
    words += f"The predictions of its {len(members)} members correlate by {alike:z.3f}: "
    if gain.mean() > 0:
        return words + "the less they correlate, the more their mean gains."
    return words + "members that predict alike, or of which one is clearly the best, gain little from a mean."


def _likeness(predicted: Float[np.ndarray, "member row column"]) -> float:
    """The mean correlation of the predictions of every two members."""
    flat = predicted.reshape(len(predicted), -1)
    flat = flat[:, np.isfinite(flat).all(axis=0)]
    with np.errstate(all="ignore"):
        found = np.corrcoef(flat)
    above = found[np.triu_indices(len(found), 1)]
    return float(np.nanmean(above)) if np.isfinite(above).any() else 1.0


def _calibration(tuned: Any) -> Card:
    """How often classes come true by their probabilities; of numbers the mean target by the prediction."""
    yardstick, predicted = tuned.yardstick, tuned.predicted
    known = np.isfinite(predicted).all(axis=1)
    weight = np.ones(len(known)) if yardstick.weight is None else yardstick.weight
    known &= weight > 0
    predicted, target, weight = predicted[known], yardstick.target[known], weight[known]
    if yardstick.classes is None:
        chart = means_chart(predicted[:, 0], target, weight, ("", "held-out"))
        return Card("calibration", "Means by prediction", "Mean target against mean out-of-fold prediction, for "
                    "tenths of the rows.", {"": chart})  # fmt: skip
    number = len(yardstick.classes)
    # With two classes, the curve of the first is that of the second, turned over.
    shown = [1] if number == 2 else list(range(min(number, MOST_CLASSES)))
    names = [str(yardstick.classes[place]) for place in shown]
    charts = {
        str(at): calibration_chart(OneClass(names[at], place, target == place, predicted[:, place], weight), ACCENT)
        for at, place in enumerate(shown)
    }
    hint = "Observed frequency of a class by its out-of-fold predicted probability."
    return Card("calibration", "Calibration", hint, charts, (("Class", tuple(names)),), (0,))
