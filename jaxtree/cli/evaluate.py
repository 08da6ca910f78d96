"""`jaxtree evaluate`: how right a model is on rows whose classes or numbers are known."""

import json
from typing import Annotated, Any

import numpy as np
import typer
from jaxtyping import Float
from sklearn import metrics
from sklearn.base import is_classifier

from jaxtree.cli import options
from jaxtree.cli.columns import weights_of
from jaxtree.cli.fitted import load_model, read_features
from jaxtree.cli.labels import Known, fitted_target, read_labels
from jaxtree.cli.session import Session, in_session, print_plainly
from jaxtree.cli.wording import in_short


@in_session
def evaluate(
    session: Session,
    model: options.ModelArgument,
    data: options.DataArgument,
    target: options.FittedTargetOption = None,
    weight: options.WeightOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    missing: options.MissingOption = None,
    separator: options.SeparatorOption = None,
    header: options.HeaderOption = True,
) -> None:
    """Scores a model on a table with known targets."""
    how = options.reading(missing, separator, header)
    estimator = load_model(model)
    X, contents = read_features(session, estimator, data, how)
    known = read_labels(estimator, contents, fitted_target(estimator, target))
    if len(known.rows) < len(X):
        session.note(f"{len(X) - len(known.rows)} rows without a target are left out")
    weights = weights_of(contents, weight)
    weights = None if weights is None else weights[known.rows]
    measure = _of_classes if is_classifier(estimator) else _of_numbers
    with session.doing("predicting"):
        measured = measure(session, estimator, X.iloc[known.rows], known, weights)
    measured = {"rows": len(known.rows), **measured}
    print_plainly(json.dumps(measured | _not_finite(measured)) if as_json else _in_words(measured))


def _not_finite(measured: dict[str, Any]) -> dict[str, None]:
    """The numbers that JSON has no word for, as null."""
    return {name: None for name, value in measured.items() if isinstance(value, float) and not np.isfinite(value)}


def _of_numbers(
    session: Session, estimator: Any, X: Any, known: Known, weights: Float[np.ndarray, " known"] | None
) -> dict[str, Any]:
    predicted = estimator.predict(X)
    given: dict[str, Any] = {"sample_weight": weights}
    return {
        "R²": float(metrics.r2_score(known.y, predicted, **given)) if len(X) > 1 else None,
        "mean absolute error": float(metrics.mean_absolute_error(known.y, predicted, **given)),
        "root mean squared error": float(metrics.root_mean_squared_error(known.y, predicted, **given)),
    }


def _of_classes(
    session: Session, estimator: Any, X: Any, known: Known, weights: Float[np.ndarray, " known"] | None
) -> dict[str, Any]:
    given: dict[str, Any] = {"sample_weight": weights}
    shares = estimator.predict_proba(X)
    labels = estimator.classes_.tolist()
    true, predicted = known.y.tolist(), estimator.predict(X).tolist()
    strange = sorted({label for label in true if label not in labels}, key=str)
    if strange:
        session.note(
            f"{sum(label in strange for label in true)} rows have a class that the fit has not seen, such as "
            f"{in_short(repr(strange[0]))}"
        )
    every = [*labels, *strange]
    place = {label: number for number, label in enumerate(every)}
    true, predicted = ([place[label] for label in side] for side in (true, predicted))
    widened = np.hstack([shares, np.zeros((len(X), len(strange)))])
    matrix = metrics.confusion_matrix(true, predicted, labels=range(len(every)), **given)
    return {
        "accuracy": float(metrics.accuracy_score(true, predicted, **given)),
        "balanced accuracy": float(metrics.balanced_accuracy_score(true, predicted, **given)),
        "log loss": float(metrics.log_loss(true, widened, labels=range(len(every)), **given)),
        "classes": [str(label) for label in every],
        "confusion matrix": matrix.tolist(),
    }


def _in_words(measured: dict[str, Any]) -> str:
    numbers = {name: value for name, value in measured.items() if not isinstance(value, list)}
    width = max(map(len, numbers))
    lines = [f"{name:<{width}}  {_number(value)}" for name, value in numbers.items()]
    if "confusion matrix" in measured:
        lines += ["", "confusion matrix (a line a true class, a column a predicted one)"]
        lines += _matrix(measured["classes"], measured["confusion matrix"])
    return "\n".join(lines)


def _matrix(classes: list[str], matrix: list[list[float]]) -> list[str]:
    cells = [[f"{value:g}" for value in row] for row in matrix]
    first = max(map(len, classes))
    widths = [max(map(len, (name, *(row[place] for row in cells)))) for place, name in enumerate(classes)]
    rows = [("", classes), *zip(classes, cells, strict=True)]
    return [
        f"{name:<{first}}  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for name, row in rows
    ]


def _number(value: float | int | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.4f}"
