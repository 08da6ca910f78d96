"""The commands that read a model file: `jaxtree predict`, `evaluate`, `explain` and `show`.

The modules that read tables or compute are imported when a command runs, so that its help does not wait for them.
"""

import json
import math
import re
from typing import Annotated, Any, Literal

import typer

from jaxtree.cli.output import (
    TableFormat,
    TableOutput,
    as_output,
    check_output,
    kind_of_table,
    write_bytes,
    write_table,
)
from jaxtree.cli.session import (
    DataArgument,
    ExtraOptions,
    FittedTargetOption,
    ModelArgument,
    Names,
    Session,
    TableSession,
    WeightOption,
    command,
    in_short,
)
from jaxtree.errors import InvalidInputError

_FIRST_ROWS = 5
_PLACES = re.compile(r"(\d{1,18})(?::(\d{1,18}))?")

MemberOption = Annotated[int | None, typer.Option(min=0, help="Which member of an ensemble, from 0.")]


@command
def predict(
    *,
    model: ModelArgument,
    data: DataArgument,
    output: TableOutput = "-",
    table: TableFormat = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column proba_CLASS for every class.")] = False,
    median: Annotated[bool, typer.Option("--median", help="Add a column of median survival times.")] = False,
    survival: Annotated[
        str | None, typer.Option(help="Add columns survival_TIME of chances of no event by times.", metavar="TIMES")
    ] = None,
    keep: Annotated[Names, typer.Option(help="Columns of the table to repeat first.", metavar="NAME")] = None,
    session: TableSession,
) -> None:
    """Predicts every row of a table; columns that the fit did not have are ignored."""
    import jaxtree
    from jaxtree.cli.columns import read_features
    from jaxtree.cli.conversion import check_columns
    from jaxtree.cli.extras import columns_of_times

    kind = kind_of_table(output, table)
    estimator: Any = jaxtree.load(model)
    if proba and not hasattr(estimator, "predict_proba"):
        raise InvalidInputError("--proba is for models of classes, and this one predicts numbers")
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"models of one output predict here, and this one has {estimator.n_outputs_}")
    X, contents = read_features(session, estimator, data)
    check_columns(contents, keep or ())
    columns = {name: contents.frame[name] for name in keep or ()}
    with session.doing("predicting"):
        columns["prediction"] = estimator.predict(X).tolist()
        columns |= columns_of_times(estimator, X, median, survival)
        if proba:
            shares = estimator.predict_proba(X).T.tolist()
            columns |= {f"proba_{label}": share for label, share in zip(estimator.classes_, shares, strict=True)}
    write_table(columns, output, kind)
    if output != "-":
        session.note(f"{len(X)} predictions: {output}")


@command
def evaluate(
    *,
    model: ModelArgument,
    data: DataArgument,
    target: FittedTargetOption = None,
    weight: WeightOption = None,
    extras: ExtraOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    session: TableSession,
) -> None:
    """Scores a model on a table with known targets."""
    import jaxtree
    from jaxtree.cli.columns import read_features, read_labels, weights_of
    from jaxtree.cli.extras import check_model_has_extras, read_extras, taken

    estimator: Any = jaxtree.load(model)
    check_model_has_extras(estimator, extras)
    X, contents = read_features(session, estimator, data, target)
    rows, y = read_labels(estimator, contents, target)
    if len(rows) < len(X):
        session.note(f"{len(X) - len(rows)} rows without a target are left out")
    weights = weights_of(contents, weight)
    given = {"sample_weight": None if weights is None else weights[rows], **taken(read_extras(contents, extras), rows)}
    with session.doing("predicting"):
        measure = _scores_of_classes if hasattr(estimator, "classes_") else _scores_of_numbers
        scores = {"rows": len(rows), **measure(session, estimator, X.iloc[rows], y, given)}
    # JSON has no word for numbers that are not finite.
    not_finite = [name for name, value in scores.items() if isinstance(value, float) and not math.isfinite(value)]
    print(json.dumps(scores | dict.fromkeys(not_finite)) if as_json else _scores_in_words(scores))


@command
def explain(
    *,
    model: ModelArgument,
    data: DataArgument,
    rows: Annotated[
        str | None,
        typer.Option(help="Rows, counted from 1, such as 3 or 1:5,9; or all.", show_default=f"the first {_FIRST_ROWS}"),
    ] = None,
    shap: Annotated[bool, typer.Option("--shap", help="Print exact Shapley values of all columns.")] = False,
    form: Annotated[Literal["text", "jsonl"], typer.Option("--format")] = "text",
    member: MemberOption = None,
    session: TableSession,
) -> None:
    """Explains predictions in words, row by row, or by the contribution of every column."""
    import jaxtree
    from jaxtree.cli.columns import read_features

    check_rows(rows)
    estimator: Any = _member_of(jaxtree.load(model), member)
    X, _ = read_features(session, estimator, data)
    chosen = chosen_rows(rows, len(X))
    if rows is None and len(X) > _FIRST_ROWS:
        session.note(f"the first {_FIRST_ROWS} of {len(X)} rows; --rows all explains all")
    explained = (_contributions if shap else _reasons)(estimator, X.iloc[chosen])
    for number, (words, record) in zip(chosen, explained, strict=True):
        record = {"row": number + 1, **record}
        print(f"row {number + 1}: {words}" if form == "text" else json.dumps(record, allow_nan=False))


@command
def show(
    *,
    model: ModelArgument,
    style: Annotated[Literal["jaxtree", "weka", "c45", "id3", "simplecart"], typer.Option(help="Layout.")] = "jaxtree",
    tree: Annotated[int | None, typer.Option(min=0, help="Which of many trees to show, from 0.")] = None,
    html: Annotated[
        str | None, typer.Option(callback=as_output, help="Write an interactive page; - is standard output.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Rows for the scores and prunings of the page.")] = None,
    target: FittedTargetOption = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    extras: ExtraOptions,
    member: MemberOption = None,
    session: TableSession,
) -> None:
    """Prints a tree, or writes a model as a page for a browser; of an ensemble lists the members."""
    import jaxtree

    if html is None and (data is not None or title is not None):
        raise typer.BadParameter("is for --html", param_hint="--data" if data is not None else "--title")
    if html is not None:
        check_output(html)
    estimator: Any = jaxtree.load(model)
    if html is None and tree is None and member is None and is_ensemble(estimator):
        print(_members_in_words(estimator))
        return
    estimator = _member_of(estimator, member)
    if html is None or tree is not None:
        estimator = _tree_of(estimator, tree)
    if html is None:
        print(jaxtree.export_text(estimator, style=style))
        return
    from jaxtree.cli.columns import read_features, read_labels
    from jaxtree.cli.extras import check_model_has_extras, read_extras, taken

    X = y = None
    fields: dict[str, Any] = {}
    if data is not None:
        check_model_has_extras(estimator, extras)
        X, contents = read_features(session, estimator, data, target)
        known, y = read_labels(estimator, contents, target)
        X, fields = X.iloc[known], taken(read_extras(contents, extras), known)
    with session.doing("drawing"):
        page = jaxtree.to_html(estimator, X, y, title=title, **fields)
    write_bytes(page.encode(), html)
    if html != "-":
        session.note(f"page: {html}")


def _scores_of_numbers(session: Session, estimator: Any, X: Any, y: Any, given: dict[str, Any]) -> dict[str, Any]:
    from sklearn import metrics

    from jaxtree.cli.extras import scores_of_order, scores_of_times

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


def _scores_of_classes(session: Session, estimator: Any, X: Any, y: Any, given: dict[str, Any]) -> dict[str, Any]:
    import numpy as np
    from sklearn import metrics

    labels, true = estimator.classes_.tolist(), y.tolist()
    strange = sorted({label for label in true if label not in labels}, key=str)
    if strange:
        number, first = sum(label in strange for label in true), in_short(repr(strange[0]))
        session.note(f"{number} rows have a class that the fit has not seen, such as {first}")
    place = {label: number for number, label in enumerate([*labels, *strange])}
    pair = [place[label] for label in true], [place[label] for label in estimator.predict(X).tolist()]
    shares = np.hstack([estimator.predict_proba(X), np.zeros((len(X), len(strange)))])
    loss = float(metrics.log_loss(pair[0], shares, labels=range(len(place)), **given))
    return {
        "accuracy": float(metrics.accuracy_score(*pair, **given)),
        "balanced accuracy": float(metrics.balanced_accuracy_score(*pair, **given)),
        "log loss": loss if loss > np.finfo(np.float64).eps else 0.0,  # where scikit-learn keeps shares from 1
        "classes": [str(label) for label in place],
        "confusion matrix": metrics.confusion_matrix(*pair, labels=range(len(place)), **given).tolist(),
    }


def _scores_in_words(scores: dict[str, Any]) -> str:
    import pandas as pd

    from jaxtree.export.conditions import weight_in_words
    from jaxtree.table.numerals import score_in_words

    words = {name: "-" if value is None else str(value) for name, value in scores.items()}
    words |= {name: score_in_words(value) for name, value in scores.items() if isinstance(value, float)}
    names = [name for name, value in scores.items() if not isinstance(value, list)]
    lines = [f"{name:<{max(map(len, names))}}  {words[name]}" for name in names]
    if "classes" in scores:
        matrix = pd.DataFrame(scores["confusion matrix"], index=scores["classes"], columns=scores["classes"])
        lines += ["", "confusion matrix (a line a true class, a column a predicted one)"]
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
        return list(range(num_rows if text else min(num_rows, _FIRST_ROWS)))
    chosen: list[int] = []
    for part in text.split(","):
        match = _PLACES.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= num_rows:
            raise InvalidInputError(f"--rows must be rows from 1 to {num_rows}, as 3 or 1:5,9, got {text!r}")
        chosen += range(first - 1, last)
    return chosen


def _reasons(estimator: Any, X: Any) -> list[tuple[str, dict[str, Any]]]:
    """The conditions of every row's prediction, in words and as a record of JSON."""
    from jaxtree.explain.rows import explain_row
    from jaxtree.explain.scores import ScoreExplanation

    reasons = []
    for row in range(len(X)):
        why = explain_row(estimator, X.iloc[[row]])
        reasons.append((str(why), _of_scores(why) if isinstance(why, ScoreExplanation) else _of_path(why)))
    return reasons


def _of_path(why: Any) -> dict[str, Any]:
    """The explanation of a tree's prediction as JSON has it."""
    from jaxtree.table.times import Days
    from jaxtree.table.words import value_in_words

    contrast = None if why.contrast is None else why.contrast._asdict()
    if contrast is not None and isinstance(contrast["value"], Days):
        contrast["value"] = value_in_words(contrast["value"])
    record = {"prediction": why.prediction, "share": why.share, "because": why.conditions}
    return {**record, "held_up": why.held_up, "contrast": contrast}


def _of_scores(why: Any) -> dict[str, Any]:
    """The explanation of a score as JSON has it."""
    parts = [part._asdict() for part in why.contributions], [step._asdict() for step in why.steps]
    return vars(why) | {"contributions": parts[0], "steps": parts[1]}


def _contributions(estimator: Any, X: Any) -> list[tuple[str, dict[str, Any]]]:
    """The contribution of every column to the share of the predicted class, or to the number."""
    from jaxtree.explain import shap_values

    values, base = shap_values(estimator, X)
    names, contributions = [str(name) for name in X.columns], []
    for of_row, prediction in zip(values, estimator.predict(X).tolist(), strict=True):
        from_base = base
        if of_row.ndim == 2:  # of the predicted class, or the first score of numbers
            place = estimator.classes_.tolist().index(prediction) if hasattr(estimator, "classes_") else 0
            of_row, from_base = of_row[:, place], base[place]
        parts = dict(zip(names, of_row.tolist(), strict=True))
        ranked = sorted((name for name, value in parts.items() if value), key=lambda name: -abs(parts[name]))
        width = max(map(len, ranked), default=0)
        lines = [f"{prediction}", f"    {'base':<{width}}  {from_base:z.4f}"]
        words = "\n".join([*lines, *(f"    {name:<{width}} {parts[name]:+z.4f}" for name in ranked)])
        contributions.append((words, {"prediction": prediction, "base": float(from_base), "shap": parts}))
    return contributions


def is_ensemble(estimator: Any) -> bool:
    """Returns whether a model is an ensemble of boosted models."""
    return hasattr(estimator, "weights_")


def _member_of(estimator: Any, number: int | None) -> Any:
    """The model, or a member of an ensemble."""
    if number is None:
        return estimator
    if not is_ensemble(estimator):
        raise InvalidInputError("--member is for ensembles, and this model is none")
    members = estimator.estimators_
    if number >= len(members):
        raise InvalidInputError(f"--member must be below {len(members)}, the number of members, got {number}")
    return members[number]


def _members_in_words(ensemble: Any) -> str:
    """The members of an ensemble with their weights, a line each."""
    members = zip(ensemble.weights_.tolist(), ensemble.estimators_, strict=True)
    lines = [
        f"{number:>3}  {weight:6.1%}  {len(model.forest_)} trees  {changed_parameters(model)}".rstrip()
        for number, (weight, model) in enumerate(members)
    ]
    return "\n".join([f"the mean of {len(lines)} boosted models: member, weight, trees, parameters", *lines])


def changed_parameters(estimator: Any) -> str:
    """Returns the parameters that are not as by default, as "name=value"."""
    from jaxtree.table.words import value_in_words

    defaults = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    words = {name: value_in_words(value) if isinstance(value, float) else str(value) for name, value in given.items()}
    return " ".join(f"{name}={words[name]}" for name, value in given.items() if repr(value) != repr(defaults[name]))


def _tree_of(estimator: Any, number: int | None) -> Any:
    """The model, or a tree of a forest."""
    if is_ensemble(estimator):
        number_of_members = len(estimator.estimators_)
        raise InvalidInputError(
            f"the model is the mean of {number_of_members} boosted models: --member 0 is the first one"
        )
    trees = getattr(estimator, "estimators_", None)
    if trees is None:
        if number is not None:
            raise InvalidInputError("--tree is for models of many trees, and this model is a single tree")
        return estimator
    if number is None:
        raise InvalidInputError(f"the model has {len(trees)} trees: --tree 0 shows the first one")
    if number >= len(trees):
        raise InvalidInputError(f"--tree must be below {len(trees)}, the number of trees, got {number}")
    return trees[number]
