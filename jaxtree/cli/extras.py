"""Columns that are no features: events of survival times, and groups of rows that are ranked; what they are for.

The modules that read tables or compute are imported when a command runs, so that its help does not wait for them.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from jaxtyping import Float, Int, Shaped

from jaxtree.cli.session import ColumnOptions, ExtraOptions
from jaxtree.errors import InvalidInputError, InvalidTypeError

if TYPE_CHECKING:
    from jaxtree.cli.reading import Contents

Fields = dict[str, Shaped[np.ndarray, " row"]]

MOST_TIMES = 100
"""The most times at which Brier scores are taken."""

FIRST = 10
"""How many rows of a group count in one of the scores of rankings."""


def columns_with_extras(columns: ColumnOptions, extras: ExtraOptions, algorithm: str) -> ColumnOptions:
    """Returns the options of columns, of numbers where there are events or groups.

    Raises:
        typer.BadParameter: The algorithm takes none, or lacks them, or the target is to have classes.
    """
    for option, own in (("event", ("boosting", "additive")), ("group", ("ranking",))):
        if getattr(extras, option) is not None and algorithm not in own:
            raise typer.BadParameter(
                f"is for --algorithm {' or '.join(own)}, got {algorithm}", param_hint=f"--{option}"
            )
    if algorithm == "ranking" and extras.group is None:
        raise typer.BadParameter("names the column of groups, which --algorithm ranking needs", param_hint="--group")
    if extras.event is None and extras.group is None:
        return columns
    if columns.task == "classification":
        what = "times" if extras.event else "degrees of relevance"
        raise typer.BadParameter(f"must be regression: the target has {what}", param_hint="--task")
    return dataclasses.replace(columns, task="regression")


def set_loss_of_times(estimator: Any, extras: ExtraOptions, is_given: bool) -> None:
    """Makes Cox's loss that of an estimator of survival times, unless another is given."""
    if extras.event is not None and not is_given:
        estimator.set_params(loss="cox")


def read_extras(contents: "Contents", extras: ExtraOptions) -> Fields:
    """Returns the events and groups of the rows of a file.

    Raises:
        InvalidInputError: There is no such column, or a row has no value in it.
    """
    from jaxtree.cli.conversion import cast, check_columns, with_twins

    fields: Fields = {}
    check_columns(contents, extras.names)
    if extras.event is not None:
        cells = with_twins(contents.cells(extras.event), "truth").alias(extras.event)
        try:
            events = cast(contents._replace(frame=cells.to_frame(), missing={}), extras.event, "truth")
        except (InvalidInputError, InvalidTypeError) as error:
            raise InvalidInputError(f"events are 1 or true, others 0 or false: {error}") from None
        _check_known(contents, events, "event", extras.event)
        fields["event"] = events.to_numpy().astype(bool)
    if extras.group is not None:
        groups = contents.cells(extras.group)
        _check_known(contents, groups, "group", extras.group)
        fields["group"] = np.array([str(value) for value in groups.to_list()])
    return fields


def _check_known(contents: "Contents", values: Any, role: str, name: str) -> None:
    if values.has_nulls():
        row = contents.row(values.is_null().arg_true()[0])
        raise InvalidInputError(f"{role} {name!r} has no value in row {row}")


def check_model_has_extras(estimator: Any, extras: ExtraOptions) -> None:
    """Raises InvalidInputError if a model needs events or groups that are not named, or takes none that are."""
    from jaxtree.estimators.common.extras import loss_in_words

    needs = tuple(getattr(getattr(estimator, "loss_", None), "needs", ()))
    asked = {"event": {"event", "upper"} & {*needs}, "group": "group" in needs}
    for name, is_asked in asked.items():
        given = getattr(extras, name)
        if is_asked and given is None:
            loss = loss_in_words(estimator)
            raise InvalidInputError(f"the loss of this model is {loss!r}: --{name} names the column of {name}s")
        if given is not None and not is_asked:
            raise InvalidInputError(f"--{name} is for models that take {name}s, and this one takes none")


def scores_of_times(
    estimator: Any, X: Any, time: Float[np.ndarray, " row"], given: dict[str, Any]
) -> dict[str, float | None]:
    """Returns the concordance index and the integrated Brier score of a model of survival times."""
    from jaxtree.metrics import integrated_brier_score

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
    from jaxtree.metrics import mean_average_precision, mean_reciprocal_rank, ndcg

    ranked = relevance, estimator.predict(X)
    scores = {"NDCG": ndcg(*ranked, **given), f"NDCG of the first {FIRST}": ndcg(*ranked, **given, k=FIRST)}
    if estimator.score_name_ not in scores:
        scores[estimator.score_name_] = float(estimator.score(X, relevance, **given))
    if np.isin(relevance, (0, 1)).all():
        scores["mean average precision"] = mean_average_precision(*ranked, **given)
    return {**scores, "mean reciprocal rank": mean_reciprocal_rank(*ranked, **given)}


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


def taken(fields: Fields, rows: Int[np.ndarray, " taken"]) -> Fields:
    """Returns the fields of some rows.

    >>> taken({"event": np.array([True, False])}, np.array([1]))["event"].tolist()
    [False]
    """
    return {name: values[rows] for name, values in fields.items()}
