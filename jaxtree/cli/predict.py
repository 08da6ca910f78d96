"""`jaxtree predict`, the predictions of the rows of a table, and `jaxtree evaluate`, how right they are.

What reads tables, and what computes, is imported when a command runs, so that its help does not wait for it.
"""

import json
import math
from typing import Annotated, Any

import typer

from jaxtree.cli import options
from jaxtree.cli.output import TableFormat, TableOutput, check_writable, kind_of_table, write_table
from jaxtree.cli.session import Session, command, in_short, print_plainly
from jaxtree.errors import InvalidInputError


@command
def predict(
    *,
    model: options.ModelArgument,
    data: options.DataArgument,
    output: TableOutput = "-",
    table: TableFormat = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column proba_CLASS for every class.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="Columns of the table to repeat before the prediction.", metavar="NAME")
    ] = None,
    text: options.TextOptions,
    session: Session,
) -> None:
    """Predicts every row of a table; other columns than those of the fit are not looked at."""
    import jaxtree
    from jaxtree.cli.columns import check_columns, read_features

    kind = kind_of_table(output, table)
    check_writable(output)
    estimator: Any = jaxtree.load(model)
    if proba and not hasattr(estimator, "predict_proba"):
        raise InvalidInputError("--proba is for models of classes, and this one predicts numbers")
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"models of one output predict here, and this one has {estimator.n_outputs_}")
    X, contents = read_features(session, estimator, data, text)
    check_columns(contents, keep or ())
    columns = {name: contents.frame[name].to_list() for name in keep or ()}
    with session.doing("predicting"):
        columns["prediction"] = estimator.predict(X).tolist()
        if proba:
            shares = estimator.predict_proba(X).T.tolist()
            columns |= {f"proba_{label}": share for label, share in zip(estimator.classes_, shares, strict=True)}
    write_table(columns, output, kind)
    if output != "-":
        session.note(f"{len(X)} predictions: {output}")


@command
def evaluate(
    *,
    model: options.ModelArgument,
    data: options.DataArgument,
    target: options.FittedTargetOption = None,
    weight: options.WeightOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    text: options.TextOptions,
    session: Session,
) -> None:
    """Scores a model on a table with known targets."""
    import jaxtree
    from jaxtree.cli.columns import read_features, read_labels, weights_of

    estimator: Any = jaxtree.load(model)
    X, contents = read_features(session, estimator, data, text)
    rows, y = read_labels(estimator, contents, target)
    if len(rows) < len(X):
        session.note(f"{len(X) - len(rows)} rows without a target are left out")
    weights = weights_of(contents, weight)
    weights = None if weights is None else weights[rows]
    with session.doing("predicting"):
        measure = _scores_of_classes if hasattr(estimator, "classes_") else _scores_of_numbers
        scores = {"rows": len(rows), **measure(estimator, X.iloc[rows], y, weights, session)}
    # JSON has no word for numbers that are not finite.
    not_finite = {name for name, value in scores.items() if isinstance(value, float) and not math.isfinite(value)}
    print_plainly(json.dumps(scores | dict.fromkeys(not_finite)) if as_json else _in_words(scores))


def _scores_of_numbers(estimator: Any, X: Any, y: Any, weights: Any, session: Session) -> dict[str, Any]:
    from sklearn import metrics

    pair, given = (y, estimator.predict(X)), {"sample_weight": weights}
    return {
        "R²": float(metrics.r2_score(*pair, **given)) if len(X) > 1 else None,
        "mean absolute error": float(metrics.mean_absolute_error(*pair, **given)),
        "root mean squared error": float(metrics.root_mean_squared_error(*pair, **given)),
    }


def _scores_of_classes(estimator: Any, X: Any, y: Any, weights: Any, session: Session) -> dict[str, Any]:
    import numpy as np
    from sklearn import metrics

    labels, true = estimator.classes_.tolist(), y.tolist()
    strange = sorted({label for label in true if label not in labels}, key=str)
    if strange:
        session.note(
            f"{sum(label in strange for label in true)} rows have a class that the fit has not seen, such as "
            f"{in_short(repr(strange[0]))}"
        )
    place = {label: number for number, label in enumerate([*labels, *strange])}
    pair = [place[label] for label in true], [place[label] for label in estimator.predict(X).tolist()]
    shares = np.hstack([estimator.predict_proba(X), np.zeros((len(X), len(strange)))])
    given: dict[str, Any] = {"sample_weight": weights}
    return {
        "accuracy": float(metrics.accuracy_score(*pair, **given)),
        "balanced accuracy": float(metrics.balanced_accuracy_score(*pair, **given)),
        "log loss": float(metrics.log_loss(pair[0], shares, labels=range(len(place)), **given)),
        "classes": [str(label) for label in place],
        "confusion matrix": metrics.confusion_matrix(*pair, labels=range(len(place)), **given).tolist(),
    }


def _in_words(scores: dict[str, Any]) -> str:
    import pandas as pd

    numbers = {name: value for name, value in scores.items() if not isinstance(value, list)}
    width = max(map(len, numbers))
    lines = [f"{name:<{width}}  {_number(value)}" for name, value in numbers.items()]
    if "confusion matrix" in scores:
        classes = scores["classes"]
        matrix = pd.DataFrame(scores["confusion matrix"], index=classes, columns=classes)
        lines += ["", "confusion matrix (a line a true class, a column a predicted one)"]
        lines += [matrix.to_string(float_format="{:g}".format)]
    return "\n".join(lines)


def _number(value: float | int | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.4f}"
