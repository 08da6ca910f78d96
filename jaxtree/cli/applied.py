"""The work of `jaxtree predict`, `evaluate`, `explain` and `show`: scores and reasons of a fitted model, and its trees.

Commands import this module when they run, so that their help does not wait for what it needs.
"""

import json
import re
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn import metrics

from jaxtree.cli.session import FIRST_ROWS, ExtraOptions, Session
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.extras import loss_in_words
from jaxtree.explain import shap_values
from jaxtree.explain.reasons import reason_codes
from jaxtree.explain.rows import explain_row
from jaxtree.explain.scores import ScoreExplanation
from jaxtree.export.conditions import weight_in_words
from jaxtree.lines import in_short
from jaxtree.metrics import integrated_brier_score, mean_average_precision, mean_reciprocal_rank, ndcg
from jaxtree.metrics.constants import beside_constant, constant_score
from jaxtree.table.numerals import score_in_words
from jaxtree.table.times import Days
from jaxtree.table.words import value_in_words
from jaxtree.tree.kinds import ModelKind

_PLACES = re.compile(r"(\d{1,18})(?::(\d{1,18}))?")

MOST_TIMES = 100
"""The most times at which Brier scores are taken."""

FIRST = 10
"""How many rows of a group count in one of the scores of rankings."""


def scores_of_numbers(session: Session, estimator: Any, X: Any, y: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Returns measures of predicted numbers, or of times or orders where rows have events or groups."""
    own = estimator.score_name_
    if "group" in given:
        return scores_of_order(estimator, X, y, given)
    if own == "concordance":
        return scores_of_times(estimator, X, y, given)
    scores = {} if own == "R²" else {own: float(estimator.score(X, y, **given))}
    pair = y, estimator.predict(X)
    if pair[1].ndim > 1:  # of quantiles no single one is close to the targets
        return scores
    return scores | {
        "R²": float(metrics.r2_score(*pair, **given)) if len(X) > 1 else None,
        "mean absolute error": float(metrics.mean_absolute_error(*pair, **given)),
        "root mean squared error": float(metrics.root_mean_squared_error(*pair, **given)),
    }


def scores_of_classes(session: Session, estimator: Any, X: Any, y: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Returns measures of predicted classes, also of those that the fit has not seen."""
    labels, true = estimator.classes_.tolist(), y.tolist()
    strange = sorted({label for label in true if label not in labels}, key=str)
    if strange:
        number, first = sum(label in strange for label in true), in_short(repr(strange[0]))
        session.note(f"{number} rows have a class that the fit has not seen, such as {first}")
    place = {label: number for number, label in enumerate([*labels, *strange])}
    pair = [place[label] for label in true], [place[label] for label in estimator.predict(X).tolist()]
    shares = np.hstack([estimator.predict_proba(X), np.zeros((len(X), len(strange)))])
    loss = float(metrics.log_loss(pair[0], shares, labels=range(len(place)), **given))
    # scikit-learn keeps shares so far from 1; a mean of losses of that size can be a bit above it.
    least = 2 * np.finfo(np.float64).eps
    return {
        "accuracy": float(metrics.accuracy_score(*pair, **given)),
        "balanced accuracy": float(metrics.balanced_accuracy_score(*pair, **given)),
        "log loss": loss if loss > least else 0.0,
        "classes": [str(label) for label in place],
        "confusion matrix": metrics.confusion_matrix(*pair, labels=range(len(place)), **given).tolist(),
    }


def constants_of(estimator: Any, scores: dict[str, Any], y: Any, given: dict[str, Any]) -> dict[str, float]:
    """Returns what a constant reaches by each score that one is known of, learned from the rows that are scored."""
    fields = {name: values for name, values in given.items() if name != "sample_weight"}
    weight, loss = given["sample_weight"], estimator.score_loss
    reached = {
        name: constant_score(name, y, weight, loss=loss if name == estimator.score_name_ else None, fields=fields)
        for name, value in scores.items()
        if isinstance(value, float)
    }
    return {name: score for name, score in reached.items() if score is not None}


def scores_in_json(scores: dict[str, Any]) -> str:
    """Returns scores as JSON, which has no word for numbers that are not finite: they are null.

    >>> scores_in_json({"rows": 2, "log loss": float("inf"), "constant": {"log loss": 0.5}})
    '{"rows": 2, "log loss": null, "constant": {"log loss": 0.5}}'
    """

    def finite(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: finite(own) for name, own in value.items()}
        return None if isinstance(value, float) and not np.isfinite(value) else value

    return json.dumps(finite(scores), allow_nan=False)


def scores_in_words(scores: dict[str, Any]) -> str:
    """Returns scores as a table, with what a constant reaches."""
    reached = scores.get("constant", {})
    scores = {name: value for name, value in scores.items() if name != "constant"}
    words = {name: "-" if value is None else str(value) for name, value in scores.items()}
    words |= {name: score_in_words(value) for name, value in scores.items() if isinstance(value, float)}
    names = [name for name, value in scores.items() if not isinstance(value, list)]
    lines = [beside_constant(f"{name:<{max(map(len, names))}}  {words[name]}", reached.get(name)) for name in names]
    if "classes" in scores:
        matrix = pd.DataFrame(scores["confusion matrix"], index=scores["classes"], columns=scores["classes"])
        lines += ["", "confusion matrix (rows: true classes, columns: predicted ones)"]
        lines += [matrix.to_string(float_format=weight_in_words)]
    return "\n".join(lines)


def check_rows(text: str | None) -> None:
    """Raises InvalidInputError if places of rows are not written as they are, before the table is read."""
    for part in () if text in (None, "all") else text.split(","):
        if not _PLACES.fullmatch(part.strip()):
            raise InvalidInputError(f"--rows must be rows, as 3 or 1:5,9, or all, got {text!r}")


def chosen_rows(text: str | None, num_rows: int) -> list[int]:
    """Returns the places of rows, which users count from 1.

    Raises:
        InvalidInputError: They are not written so, or are not there.

    >>> chosen_rows("1:3,9", 10), chosen_rows("all", 2), chosen_rows(None, 2)
    ([0, 1, 2, 8], [0, 1], [0, 1])
    """
    if text is None or text == "all":
        return list(range(num_rows if text else min(num_rows, FIRST_ROWS)))
    chosen: list[int] = []
    for part in text.split(","):
        match = _PLACES.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= num_rows:
            raise InvalidInputError(f"--rows must be rows from 1 to {num_rows}, as 3 or 1:5,9, got {text!r}")
        chosen += range(first - 1, last)
    return chosen


def reasons(estimator: Any, X: Any, *, trees: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """Returns the explanation of every row's prediction, in words and as a record of JSON.

    Args:
        estimator: The model.
        X: The rows.
        trees: Whether words name the trees that move a prediction most.
    """
    reasons = []
    for row in range(len(X)):
        why = explain_row(estimator, X.iloc[[row]])
        is_score = isinstance(why, ScoreExplanation)
        words = why.text(trees=trees) if is_score else str(why)
        reasons.append((words, {"sentence": why.sentence, **(_of_scores(why) if is_score else _of_path(why))}))
    return reasons


def principal_reasons(estimator: Any, X: Any, wanted: Any, number: int) -> list[tuple[str, dict[str, Any]]]:
    """Returns the principal reasons against every row, in words and as a record of JSON."""
    found = []
    codes = reason_codes(estimator, X, wanted=wanted, n_reasons=number)
    for prediction, own in zip(estimator.predict(X).tolist(), codes, strict=True):
        lines = [f"{prediction}", *(f"    {place}. {reason}" for place, reason in enumerate(own, 1))]
        record = {"prediction": prediction, "wanted": wanted, "reasons": [reason._asdict() for reason in own]}
        found.append(("\n".join(lines if own else [*lines, f"    no column speaks against {wanted}"]), record))
    return found


def table_of_reasons(estimator: Any, X: Any, wanted: Any, number: int) -> dict[str, list[Any]]:
    """Returns the columns of a table of principal reasons."""
    codes = reason_codes(estimator, X, wanted=wanted, n_reasons=number)
    columns: dict[str, list[Any]] = {"prediction": estimator.predict(X).tolist()}
    for place in range(number):
        columns[f"reason_{place + 1}"] = [str(own[place]) if place < len(own) else None for own in codes]
    return columns


def table_of_contributions(estimator: Any, X: Any) -> dict[str, list[Any]]:
    """Returns the columns of a table with a column a contribution, which add up to `total` with `base`."""
    records = [record for _, record in contributions(estimator, X)]
    columns: dict[str, list[Any]] = {name: [own[name] for own in records] for name in ("prediction", "base")}
    columns["total"] = [own["base"] + sum(own["shap"].values()) for own in records]
    return columns | {f"contribution_{name}": [own["shap"][name] for own in records] for name in map(str, X.columns)}


def _of_path(why: Any) -> dict[str, Any]:
    """The explanation of a tree's prediction as JSON has it."""
    contrast = None if why.contrast is None else why.contrast._asdict()
    if contrast is not None and isinstance(contrast["value"], Days):
        contrast["value"] = value_in_words(contrast["value"])
    record = {"prediction": why.prediction, "share": why.share, "because": why.conditions}
    return {**record, "rows_to_share": why.rows_to_share, "contrast": contrast, "gaps": why.gaps}


def _of_scores(why: Any) -> dict[str, Any]:
    """The explanation of a score as JSON has it."""
    parts = [part._asdict() for part in why.contributions], [step._asdict() for step in why.steps]
    return vars(why) | {"contributions": parts[0], "steps": parts[1]}


def contributions(estimator: Any, X: Any) -> list[tuple[str, dict[str, Any]]]:
    """Returns the contribution of every column to the share of the predicted class, or to the number."""
    values, base = shap_values(estimator, X)
    names, contributions = [str(name) for name in X.columns], []
    for of_row, prediction in zip(values, estimator.predict(X).tolist(), strict=True):
        from_base = base
        if of_row.ndim == 2:  # of the predicted class, or the first score of numbers
            place = estimator.classes_.tolist().index(prediction) if estimator.class_names() else 0
            of_row, from_base = of_row[:, place], base[place]
        parts = dict(zip(names, of_row.tolist(), strict=True))
        ranked = sorted((name for name, value in parts.items() if value), key=lambda name: -abs(parts[name]))
        width = max(map(len, ranked), default=0)
        lines = [f"{prediction}", f"    {'base':<{width}}  {from_base:z.4f}"]
        words = "\n".join([*lines, *(f"    {name:<{width}} {parts[name]:+z.4f}" for name in ranked)])
        contributions.append((words, {"prediction": prediction, "base": float(from_base), "shap": parts}))
    return contributions


def tree_of(estimator: Any, number: int | None) -> Any:
    """Returns the model, or a tree of a forest."""
    if estimator.model_kind == ModelKind.MOMENT:
        raise InvalidInputError(
            "a tree of this forest predicts nothing by itself: show --html writes a page of the forest"
        )
    if not estimator.model_kind.has_estimators:
        if number is not None:
            raise InvalidInputError("--tree is for models of many trees, and this model is a single tree")
        return estimator
    trees = estimator.estimators_
    if number is None:
        raise InvalidInputError(f"the model has {len(trees)} trees: --tree 0 shows the first one")
    if number >= len(trees):
        raise InvalidInputError(f"--tree must be below {len(trees)}, the number of trees, got {number}")
    return trees[number]


def check_model_has_extras(estimator: Any, extras: ExtraOptions) -> None:
    """Raises InvalidInputError if a model needs events or groups that are not named, or takes none that are."""
    of_forest = getattr(estimator, "extras_of_fit", ()) if estimator.model_kind == ModelKind.MOMENT else ()
    needs = of_forest if estimator.score_loss is None else estimator.score_loss.needs
    asked = {"event": {"event", "upper"} & {*needs}, "group": "group" in needs}
    for name, is_asked in asked.items():
        given = getattr(extras, name)
        if is_asked and given is None:
            why = f"this is a {type(estimator).__name__}"
            if estimator.score_loss is not None:
                why = f"the loss of this model is {loss_in_words(estimator)!r}"
            raise InvalidInputError(f"{why}: --{name} names the column of {name}s")
        if given is not None and not is_asked:
            raise InvalidInputError(f"--{name} is for models that take {name}s, and this one takes none")


def columns_of_times(estimator: Any, X: Any, median: bool, survival: str | None) -> dict[str, list[float | None]]:
    """Returns columns of medians and of chances of survival at times, written as "1,2.5".

    A median that is not reached is missing.

    Raises:
        InvalidInputError: The model is none of survival times, or the times are no numbers.
    """
    if not median and survival is None:
        return {}
    if not hasattr(estimator, "predict_survival_function"):
        option = "--median" if median else "--survival"
        raise InvalidInputError(f"{option} is for models of survival times, and this is a {type(estimator).__name__}")
    columns: dict[str, list[float | None]] = {}
    if median:
        medians = estimator.predict_median(X).tolist()
        columns["median"] = [value if np.isfinite(value) else None for value in medians]
    words = [word.strip() for word in survival.split(",")] if survival is not None else []
    try:
        times = [float(word) for word in words]
    except ValueError:
        raise InvalidInputError(f"--survival must be times, as 30 or 30,365.25, got {survival!r}") from None
    chances = estimator.predict_survival_function(X, times=times, return_array=True)
    return columns | {f"survival_{word}": chances[:, place].tolist() for place, word in enumerate(words)}


def scores_of_times(
    estimator: Any, X: Any, time: Float[np.ndarray, " row"], given: dict[str, Any]
) -> dict[str, float | None]:
    """Returns the concordance index and the integrated Brier score of a model of survival times."""
    scores: dict[str, float | None] = {"concordance": float(estimator.score(X, time, **given))}
    times = estimator.event_times_
    times = times[(times >= time.min()) & (times < time.max())]
    scores["integrated Brier score"] = None
    if len(times) > 1:
        times = times[np.unique(np.linspace(0, len(times) - 1, MOST_TIMES).astype(int))]
        curves = estimator.predict_survival_function(X, times=times, return_array=True)
        scores["integrated Brier score"] = integrated_brier_score(time, curves, times, **given)
    return scores


def scores_of_order(
    estimator: Any, X: Any, relevance: Float[np.ndarray, " row"], given: dict[str, Any]
) -> dict[str, float | None]:
    """Returns the measures of order of a ranker; mean average precision where relevance is 0 or 1."""
    ranked = relevance, estimator.predict(X)
    scores = {"NDCG": ndcg(*ranked, **given), f"NDCG of the first {FIRST}": ndcg(*ranked, **given, k=FIRST)}
    if estimator.score_name_ not in scores:
        scores[estimator.score_name_] = float(estimator.score(X, relevance, **given))
    if np.isin(relevance, (0, 1)).all():
        scores["mean average precision"] = mean_average_precision(*ranked, **given)
    return {**scores, "mean reciprocal rank": mean_reciprocal_rank(*ranked, **given)}
