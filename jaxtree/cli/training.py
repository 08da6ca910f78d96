"""The work of `jaxtree fit`, `search` and `tune`: rows are read, models fitted, scored and written, with notes on them.

Commands import this module when they run, so that their help does not wait for what it needs.
"""

import contextlib
import dataclasses
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold

from jaxtree.cli.columns import Labelled, read_labelled, read_unlabelled, weights_of
from jaxtree.cli.effects import OF_EFFECTS, effects_in_words
from jaxtree.cli.models import make_loss
from jaxtree.cli.output import write_bytes
from jaxtree.cli.session import (
    BoostingOptions,
    ColumnOptions,
    ExtraOptions,
    Session,
    TableSession,
    progress_bar,
)
from jaxtree.description import DataDescription, describe
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common import scorers
from jaxtree.estimators.common.folds import shuffled_folds
from jaxtree.lines import in_short, listed
from jaxtree.metrics.constants import KnownRows, beside_constant, constant_score
from jaxtree.metrics.scorers import metric_in_words, scorer_or_none
from jaxtree.search.scoring import check_scorer
from jaxtree.table.files.read import read_contents
from jaxtree.table.numerals import decimals_together, score_in_words
from jaxtree.tree.kinds import ModelKind, Prediction, kind_of, prediction_of

_MOST_SHOWN = 10
_LONGEST_OPTION = 60

LEFT_OUT = ("identifier", "leak", "no value", "constant")
"""Kinds of warnings about columns that a model is better without."""

OF_ADDITIVE_MODELS = ("loss", "learning_rate")
"""Options of boosting that additive models have, too."""


def columns_with_extras(columns: ColumnOptions, extras: ExtraOptions, algorithm: str) -> ColumnOptions:
    """Returns the options of columns, of numbers where there are events or groups.

    Raises:
        typer.BadParameter: The algorithm takes none, or lacks them, or the target is to have classes.
    """
    for option, own in (("event", ("boosting", "additive", "survival_forest")), ("group", ("ranking", *OF_EFFECTS))):
        if getattr(extras, option) is not None and algorithm not in own:
            raise typer.BadParameter(
                f"is for --algorithm {' or '.join(own)}, got {algorithm}", param_hint=f"--{option}"
            )
    if algorithm == "survival_forest" and extras.event is None:
        raise typer.BadParameter(
            "names the column of events, which --algorithm survival_forest needs", param_hint="--event"
        )
    if algorithm == "ranking" and extras.group is None:
        raise typer.BadParameter("names the column of groups, which --algorithm ranking needs", param_hint="--group")
    of_outcomes = algorithm in (*OF_EFFECTS, "quantile_forest")
    if extras.event is None and extras.group is None and not of_outcomes:
        return columns
    if columns.task == "classification":
        what = "outcomes" if of_outcomes else "times" if extras.event else "degrees of relevance"
        raise typer.BadParameter(f"must be regression: the target has {what}", param_hint="--task")
    return dataclasses.replace(columns, task="regression")


def set_loss_of_times(estimator: Any, extras: ExtraOptions, is_given: bool) -> None:
    """Makes Cox's loss that of an estimator of survival times, unless another is given."""
    takes_losses = not is_classifier(estimator) and "loss" in estimator.get_params(deep=False)
    if extras.event is not None and not is_given and takes_losses:
        estimator.set_params(loss="cox")


def read_training(
    session: TableSession, data: str, target: str, columns: ColumnOptions, extras: ExtraOptions | None = None
) -> Labelled:
    """Reads the rows of a fit, and notes the kinds of the columns and the task."""
    contents = read_contents(data, session)
    rows = read_labelled(contents, target, columns, extras)
    session.note(f"{contents.name}: {contents.frame.height} rows, {rows.X.shape[1]} features")
    for text in contents.notes:
        session.note(f"  {text}")
    left_out = [name for name in contents.frame.columns if name not in rows.X and name != target]
    for kind, names in {**kinds_of(rows.X, rows.categorical), "left out": left_out}.items():
        if names:
            session.note(f"  {kind}: {listed(names)}")
    if rows.num_left_out:
        session.note(f"  {rows.num_left_out} rows without a target are left out")
    why = "" if columns.task else f", so {rows.task} (--task overrides)"
    session.note(f"  target {in_short(target)}: {target_in_words(rows.y, rows.task)}{why}")
    for text in (*remarks_in_words(rows.remarks), *warnings_in_words(description_of(rows))):
        session.note(f"  {text}")
    if rows.task == "classification" and rows.y.nunique() < 2:
        raise InvalidInputError(f"target {target!r} has one class only, {in_short(repr(rows.y.tolist()[0]))}")
    return rows


def fit_and_save(session: TableSession, estimator: Any, training: Labelled, output: str, results: list[str]) -> None:
    """Fits an estimator, writes it, and prints results, the size of the model, and its score or its effects."""
    with _fitting(session, estimator):
        estimator.fit(training.X, training.y, **training.arguments)

    keep_reading(session, estimator, training)
    if prediction_of(estimator) == Prediction.EFFECTS:
        print_results(output, [*results, shape_of(estimator), *effects_in_words(estimator)])
        save_model(estimator, output)
        return
    score = estimator.score(training.X, training.y, **training.arguments)
    name, reached = estimator.score_name_, constant_of(estimator, training)
    words = beside_constant(f"on the rows of the fit: {name} {score_in_words(score)}", reached)
    print_results(output, [*results, shape_of(estimator), words, *_validated_in_words(estimator, reached)])
    save_model(estimator, output)


def _validated_in_words(estimator: Any, reached: float | None) -> Iterator[str]:
    """Yields what the fit has measured on rows that trees have not seen, in words.

    Args:
        estimator: A fitted estimator.
        reached: The score of a constant; None if nobody knows.
    """
    kind = kind_of(estimator)
    if kind == ModelKind.BOOSTED and estimator.folds_ is not None:
        own = (
            f"each row by models that have not seen it: {estimator.score_name_} {score_in_words(estimator.oof_score_)}"
        )
        yield beside_constant(own, reached)
    elif kind == ModelKind.BOOSTED and estimator.evals_result_:
        metric = metric_in_words(next(iter(next(iter(estimator.evals_result_.values())))))
        best = f"{metric} {score_in_words(estimator.best_score_)} after round {estimator.best_iteration_}"
        yield f"on rows held out by early stopping: {best}"
    elif kind == ModelKind.SOFT and "validation_loss" in estimator.history_:
        loss = estimator.history_["validation_loss"][estimator.best_epoch_ - 1]
        yield f"on rows held out: loss {score_in_words(loss)} after epoch {estimator.best_epoch_}"
    elif getattr(estimator, "oob_score", False):
        own = (
            f"each row by trees that have not drawn it: {estimator.score_name_} {score_in_words(estimator.oob_score_)}"
        )
        yield own if callable(estimator.oob_score) else beside_constant(own, reached)


def keep_reading(session: TableSession, estimator: Any, training: Labelled) -> None:
    """Makes the model, and its file, keep which columns of the table are no features, and how text was read."""
    estimator.other_columns_, estimator.file_notes_ = training.other_columns, session.kept


def save_model(estimator: Any, output: str) -> None:
    """Writes a model file, and prints its name."""
    if output != "-":
        estimator.save(output)
        print(f"model: {output}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.jaxtree"
        estimator.save(path)
        write_bytes(path.read_bytes(), output)


@contextlib.contextmanager
def _fitting(session: Session, estimator: Any) -> Iterator[None]:
    """Surrounds a fit: in a terminal it shows how many trees, rounds or epochs are done, or how long it takes."""
    if "verbose" not in estimator.get_params(deep=False) or session.quiet or not sys.stderr.isatty():
        with session.doing("fitting"):
            yield
        return
    before = estimator.verbose
    estimator.set_params(verbose=1)
    try:
        yield
    finally:
        estimator.set_params(verbose=before)


def check_boosting(options: BoostingOptions, algorithm: str) -> None:
    """Raises BadParameter, before the work, for options of boosting with another algorithm, or for a wrong loss."""
    for name in options.given() if algorithm != "boosting" else ():
        if algorithm != "additive" or name not in OF_ADDITIVE_MODELS:
            others = " or additive" * (name in OF_ADDITIVE_MODELS)
            raise typer.BadParameter(f"is for --algorithm boosting{others}", param_hint=f"--{name.replace('_', '-')}")
    if options.loss is not None:
        make_loss(options.loss)


def set_boosting(estimator: Any, options: BoostingOptions) -> None:
    """Sets the parameters that were given; raises BadParameter for a loss of classes."""
    given = options.given()
    if "loss" in given:
        if is_classifier(estimator):
            raise typer.BadParameter(
                "is for numbers, and the target has classes, whose loss is that of their log likelihood: "
                "--task regression reads them as numbers",
                param_hint="--loss",
            )
        given["loss"] = make_loss(given["loss"])
    estimator.set_params(**given)


def print_results(output: str | None, lines: list[str]) -> None:
    """Prints lines on the standard output, or on the error stream if a model is written to the standard output."""
    print("\n".join(lines), file=sys.stderr if output == "-" else sys.stdout)


def folds_of(training: Labelled, folds: int, seed: int) -> list[Any]:
    """Returns the rows of every fold, to fit on and to score on; groups stay whole."""
    group = training.fields.get("group")
    if group is None:
        return shuffled_folds(training.y, folds, seed, of_classes=training.task == "classification")

    if folds > len(set(group)):
        raise InvalidInputError(f"--cv must be at most {len(set(group))}, the number of groups, got {folds}")
    return list(GroupKFold(folds, shuffle=True, random_state=seed).split(training.X, groups=group))


def cross_validated(session: Session, estimator: Any, training: Labelled, folds: int, seed: int) -> str:
    """Returns the score of an estimator on folds, in words."""
    scores, constants, name = [], [], ""
    with progress_bar(quiet=session.quiet) as progress:
        for rows, others in progress.track(folds_of(training, folds, seed), description=f"{folds} folds"):
            fitted, scored = training.take(rows), training.take(others)
            fold: Any = clone(estimator)
            fold.fit(fitted.X, fitted.y, **fitted.arguments)
            scores.append(fold.score(scored.X, scored.y, **scored.arguments))
            name = fold.score_name_
            constants.append(constant_of(fold, scored, fitted))
    words = f"{folds}-fold cross-validation: {name} {mean_and_deviation(np.mean(scores), np.std(scores))}"
    return beside_constant(words, None if None in constants else float(np.mean(constants)))


def constant_of(estimator: Any, scored: Labelled, fitted: Labelled | None = None) -> float | None:
    """Returns what a constant reaches by the score of a fitted estimator; None where no constant is known.

    Args:
        estimator: The estimator.
        scored: The rows that are scored.
        fitted: The rows that the constant is learned from; those that are scored if not given.
    """
    known = None if fitted is None else KnownRows(fitted.y, fitted.weight)
    return constant_score(
        estimator.score_name_, scored.y, scored.weight, known=known, loss=estimator.score_loss, fields=scored.fields
    )


def constant_on_folds(training: Labelled, folds: Sequence[Any], measure: str) -> float | None:
    """Returns the mean score of constants on folds, each learned from the training part; None where none is known."""
    reached = []
    for rows, others in folds:
        fitted, scored = training.take(rows), training.take(others)
        known, of_classes = KnownRows(fitted.y, fitted.weight), training.task == "classification"
        own = constant_score(measure, scored.y, scored.weight, known=known, fields=scored.fields, of_classes=of_classes)
        if own is None:
            return None
        reached.append(own)
    return float(np.mean(reached))


def mean_and_deviation(mean: Any, deviation: Any) -> str:
    """Returns a score over folds in words."""
    return f"{score_in_words(float(mean))} ± {score_in_words(float(deviation))}"


def ranking(scores: dict[str, Any], name: str, reached: float | None) -> list[str]:
    """Returns the best settings in words.

    Args:
        scores: The results of a search.
        name: The name of the score.
        reached: The score of a constant; None if nobody knows.
    """
    order = scores["rank_test_score"].argsort(kind="stable")
    lines = [beside_constant(f"{len(order)} settings; {name}, mean ± deviation over folds", reached)]
    for place in order[:_MOST_SHOWN]:
        rank, mean, deviation = (scores[f"{figure}_test_score"][place] for figure in ("rank", "mean", "std"))
        setting = scores["params"][place].items()
        words = " ".join(f"{parameter}={'none' if value is None else value}" for parameter, value in setting)
        lines.append(f"{rank:>4}  {mean_and_deviation(mean, deviation)}  {words}")
    return lines


def all_scores(scores: dict[str, Any]) -> dict[str, Any]:
    """Returns the columns of a table of all settings."""
    values = {name: [setting[name] for setting in scores["params"]] for name in scores["params"][0]}
    words = {
        name: [value if isinstance(value, int | float | str | None) else str(value) for value in column]
        for name, column in values.items()
    }
    return words | {name: scores[name].tolist() for name in ("mean_test_score", "std_test_score", "rank_test_score")}


def check_scorer_name(scoring: str) -> None:
    """Raises BadParameter if there is no such scorer."""
    try:
        scorers.check_scorer_name(scoring)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error).removeprefix("scoring "), param_hint="--scoring") from None


def check_scoring(scoring: str, training: Labelled) -> None:
    """Raises, before the work, if a scorer lacks the column that it needs, or cannot score the target."""
    if scorer_or_none(scoring) is None:
        check_scorer(scoring, training.y, of_classes=training.task == "classification")
    elif scoring == "concordance" and "event" not in training.fields:
        raise InvalidInputError("--scoring concordance is of survival times: --event names the column of events")
    elif scoring != "concordance" and "group" not in training.fields:
        raise InvalidInputError(f"--scoring {scoring} ranks rows within groups: --group names their column")


def kinds_of(X: Any, categorical: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns the columns of every kind, with remarks on their values."""
    kinds: dict[str, list[str]] = {"numbers": [], "dates": [], "durations": [], "words": [], "true or false": []}
    of_dtype = {"i": "numbers", "u": "numbers", "f": "numbers", "M": "dates", "m": "durations", "b": "true or false"}
    for name, column in X.items():
        kind, missing = of_dtype.get(column.dtype.kind, "words"), int(column.isna().sum())
        kind = "words" if name in categorical else kind
        remarks = [f"{column.nunique()}"] * (kind == "words") + [f"{missing} missing"] * (missing > 0)
        kinds[kind].append(f"{in_short(name)} ({', '.join(remarks)})" if remarks else str(name))
    return kinds


def read_description(
    session: TableSession, data: str, target: str | None, columns: ColumnOptions, extras: ExtraOptions
) -> tuple[DataDescription, dict[str, str]]:
    """Returns what is known of the rows of a file, with a target or without, and remarks on columns of words."""
    contents = read_contents(data, session)
    for text in contents.notes:
        session.note(f"{contents.name}: {text}")
    if target is None:
        X, remarks = read_unlabelled(contents, columns)
        return describe(X, sample_weight=weights_of(contents, columns.weight)), remarks
    rows = read_labelled(contents, target, columns, extras)
    if rows.num_left_out:
        session.note(f"{rows.num_left_out} rows without a target are left out")
    return description_of(rows), rows.remarks


def description_of(rows: Labelled) -> DataDescription:
    """Returns what is known of rows before a fit."""
    return describe(
        rows.X,
        rows.y,
        sample_weight=rows.weight,
        event=rows.fields.get("event"),
        task=rows.task,
        **rows.parameters,
    )


def remarks_in_words(remarks: Mapping[str, str]) -> list[str]:
    """Returns the remarks on columns, with the names of all that have the same."""
    return [
        f"{listed(name for name, own in remarks.items() if own == said)}: {said}"
        for said in dict.fromkeys(remarks.values())
    ]


def warnings_in_words(found: DataDescription) -> list[str]:
    """Returns the warnings about rows, with the option that leaves out a column which a model is better without.

    How to read words as dates or numbers the notes on columns say.
    """
    kept = [own for own in found.warnings if own.kind not in ("dates as words", "numbers as words")]
    return [f"{own}{_ignoring(own.columns) if own.kind in LEFT_OUT else ''}" for own in kept]


def _ignoring(columns: Sequence[str]) -> str:
    """The option that leaves out some columns, unless they are many."""
    named = shlex.quote(",".join(columns))
    return f" (--ignore {named})" if len(named) <= _LONGEST_OPTION else ""


def target_in_words(y: Any, task: str) -> str:
    """Returns the range of a target of numbers, or how many rows have each class."""
    if task == "regression":
        return "numbers from {} to {}".format(*decimals_together([float(y.min()), float(y.max())]))
    counts = y.value_counts().sort_index()
    return f"{len(counts)} classes, " + listed(f"{in_short(label)} {number}" for label, number in counts.items())


def shape_of(estimator: Any) -> str:
    """Returns the class of a fitted model, and how large it is."""
    name, kind = type(estimator).__name__, kind_of(estimator)
    if kind in (ModelKind.TREE, ModelKind.PLANES):
        tree = estimator.tree_
        shape = f"{name}: {tree.node_count} nodes, {tree.n_leaves} leaves, depth {tree.max_depth}"
        return f"{shape}{_optimality(estimator)}"
    if kind == ModelKind.TERMS:
        layout = estimator.additive_.layout
        pairs = int((layout.features[:, 1] >= 0).sum())
        words = f"{layout.num_terms - pairs} terms of columns, {pairs} of pairs, {layout.num_places} bins"
        return f"{name}: {words}, {len(estimator.bag_values_)} bags"
    if kind != ModelKind.SOFT:
        most = ""
        if kind == ModelKind.BOOSTED and estimator.folds_ is not None:
            most = f" of {len(estimator.folds_)} models"
        elif kind == ModelKind.BOOSTED and estimator.early_stopping and estimator.n_estimators != "auto":
            most = f" of at most {estimator.n_estimators * estimator.trees_per_round_}"
        return f"{name}: {len(estimator.forest_)} trees{most}, {len(estimator.forest_.nodes.feature)} nodes"
    return f"{name}: depth {estimator.depth_}"


def _optimality(estimator: Any) -> str:
    """Says, behind a comma, whether an optimal tree is proven to be the best of its depth; nothing of greedy trees."""
    known = getattr(estimator, "optimality_", None)
    if known is None:
        return ""
    return f", {known}" if isinstance(known, str) else f", another may cost {known:.1%} less at most"
