"""`jaxtree fit`, a model file from a table, and `jaxtree search`, the best of many settings by cross-validation.

The modules that read tables or compute are imported when a command runs, so that its help does not wait for them.
"""

import contextlib
import copy
import dataclasses
import functools
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jaxtree.cli.extras import columns_with_extras, set_loss_of_times
from jaxtree.cli.models import check_early, make_estimator, make_grid, make_loss
from jaxtree.cli.notes import kinds_of, names_rows, shape_of, target_in_words
from jaxtree.cli.output import as_output, check_output, kind_of_table, write_bytes, write_table
from jaxtree.cli.session import (
    BoostingOptions,
    ColumnOptions,
    DataArgument,
    ExtraOptions,
    Names,
    PruneOption,
    SeedOption,
    Session,
    TableSession,
    TargetOption,
    command,
    in_short,
    listed,
    progress_bar,
)
from jaxtree.errors import InvalidInputError

if TYPE_CHECKING:
    from jaxtree.cli.columns import Labelled
    from jaxtree.table.cells import Cells

_set = functools.partial(typer.Option, "--set", metavar="NAME=VALUE")
_MOST_SHOWN = 10

OF_ADDITIVE_MODELS = ("loss", "learning_rate")
"""Options of boosting that additive models have, too."""


@command
def fit(
    *,
    data: DataArgument,
    target: TargetOption,
    output: Annotated[
        str, typer.Option("--output", "-o", callback=as_output, help="The model file to write; - is standard output.")
    ],
    algorithm: Annotated[
        Literal["cart", "c45", "id3", "optimal", "forest", "boosting", "additive", "soft", "ranking", "distribution"],
        typer.Option("--algorithm", "-a"),
    ] = "cart",
    settings: Annotated[Names, _set(help="A parameter, such as max_depth=5; may be given again.")] = None,
    prune: PruneOption = None,
    cv: Annotated[int | None, typer.Option(min=2, help="Cross-validate first, on this number of folds.")] = None,
    seed: SeedOption = 0,
    max_depth: Annotated[int | None, typer.Option(min=1, help="The largest depth of a leaf.")] = None,
    boosting: BoostingOptions,
    columns: ColumnOptions,
    extras: ExtraOptions,
    session: TableSession,
) -> None:
    """Fits a tree, a forest, boosted trees, an additive model or a soft tree, and writes a model file."""
    check_output(output)
    _check_boosting(boosting, algorithm)
    columns = columns_with_extras(columns, extras, algorithm)
    settings = [*(settings or ()), *([] if max_depth is None else [f"max_depth={max_depth}"])]

    def make(task: str) -> Any:
        made = make_estimator(algorithm, task, seed=seed, settings=settings, prunings=prune or ())
        _set_boosting(made, boosting)
        set_loss_of_times(made, extras, boosting.loss is not None or _names(settings, "loss"))
        return made

    check_early(columns.task, make)
    training = read_training(session, data, target, columns, extras)
    estimator = make(training.task)
    scores = [] if cv is None else [_cross_validated(session, estimator, training, cv, seed)]
    fit_and_save(session, estimator, training, output, scores)


@command
def search(
    *,
    data: DataArgument,
    target: TargetOption,
    settings: Annotated[list[str], _set(help="Values: ccp_alpha=0,0.01 or max_depth=2:20,none.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", callback=as_output, help="Fit the best setting on all rows, and write this model file."
        ),
    ] = None,
    results: Annotated[
        str | None, typer.Option(callback=as_output, help="Scores of all settings: .csv, .parquet or .jsonl.")
    ] = None,
    algorithm: Annotated[
        Literal["cart", "c45", "id3", "optimal", "forest", "boosting", "additive", "soft", "ranking", "distribution"],
        typer.Option("--algorithm", "-a"),
    ] = "cart",
    prune: PruneOption = None,
    cv: Annotated[int, typer.Option(min=2, help="The number of folds.")] = 5,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="A scorer of scikit-learn, such as neg_log_loss; concordance, ndcg@5, map or mrr.",
            show_default="the estimator's score",
        ),
    ] = None,
    seed: SeedOption = 0,
    columns: ColumnOptions,
    extras: ExtraOptions,
    session: TableSession,
) -> None:
    """Scores all combinations of given values, and can fit the best one.

    Trees and forests grow once per fold for all limits and prunings; boosted trees of a fold are fitted at once.
    """
    from jaxtree.search.search import SearchCV

    if output is not None:
        check_output(output)
    kind = None if results is None else kind_of_table(results, None, "--results")
    if scoring is not None:
        check_scorer_name(scoring)
    columns = columns_with_extras(columns, extras, algorithm)

    def make(task: str) -> Any:
        made = make_estimator(algorithm, task, seed=seed, prunings=prune or ())
        set_loss_of_times(made, extras, _names(settings, "loss"))
        return made

    def with_grid(task: str) -> Any:
        made = make(task)
        make_grid(made, settings)
        return made

    check_early(columns.task, with_grid)
    training = read_training(session, data, target, columns, extras)
    if scoring is not None:
        _check_scoring(scoring, training)
    estimator = make(training.task)
    grid, folds = make_grid(estimator, settings), _folds_of(training, cv, seed)
    scored = SearchCV(estimator, grid, cv=folds, scoring=scoring, refit=False, error_score="raise")
    with session.doing("searching"):
        scores = scored.fit(training.X, training.y, **training.arguments).cv_results_
    name = "mean log likelihood" if algorithm == "distribution" else training.score_name
    print_results(output, _ranking(scores, scoring or name))
    if results is not None and kind is not None:
        write_table(_all_scores(scores), results, kind)
    if output is not None:
        estimator.set_params(**scores["params"][scores["rank_test_score"].argmin()])
        fit_and_save(session, estimator, training, output, [])


def read_training(
    session: TableSession, data: str, target: str, columns: ColumnOptions, extras: ExtraOptions | None = None
) -> "Labelled":
    """Reads the rows of a fit, and notes the kinds of the columns and the task."""
    from jaxtree.cli.columns import read_labelled
    from jaxtree.cli.reading import read_contents

    contents = read_contents(data, session)
    rows = read_labelled(contents, target, columns, extras)
    session.note(f"{contents.name}: {contents.frame.height} rows, {rows.X.shape[1]} features")
    for text in contents.notes:
        session.note(f"  {text}")
    left_out = [name for name in contents.frame.columns if name not in rows.X and name != target]
    for kind, names in {**kinds_of(rows.X), "left out": left_out}.items():
        if names:
            session.note(f"  {kind}: {listed(names)}")
    if rows.num_left_out:
        session.note(f"  {rows.num_left_out} rows without a target are left out")
    why = "" if columns.task else f", so {rows.task} (--task overrides)"
    session.note(f"  target {in_short(target)}: {target_in_words(rows.y, rows.task)}{why}")
    for said in dict.fromkeys(rows.remarks.values()):
        session.note(f"  {listed(name for name, own in rows.remarks.items() if own == said)}: {said}")
    for name, how in [(in_short(name), names_rows(column)) for name, column in rows.X.items()]:
        if how:
            session.note(f"  {name} {how}: if it is a name or number of rows, --ignore {name}")
    if rows.task == "classification" and rows.y.nunique() < 2:
        raise InvalidInputError(f"target {target!r} has one class only, {in_short(repr(rows.y.tolist()[0]))}")
    return rows


def fit_and_save(session: Session, estimator: Any, training: "Labelled", output: str, results: list[str]) -> None:
    """Fits an estimator, writes it, and prints results, the size of the model and its score."""
    with _fitting(session, estimator):
        estimator.fit(training.X, training.y, **training.arguments)
    from jaxtree.table.numerals import score_in_words

    keep_reading(estimator, training)
    score = estimator.score(training.X, training.y, **training.arguments)
    words = f"on the rows of the fit: {estimator.score_name_} {score_in_words(score)}"
    found = [*results, shape_of(estimator), words]
    if getattr(estimator, "folds_", None) is not None:
        own = f"{estimator.score_name_} {score_in_words(estimator.oof_score_)}"
        found.append(f"each row by models that have not seen it: {own}")
    print_results(output, found)
    save_model(estimator, output)


def keep_reading(estimator: Any, training: "Labelled") -> None:
    """Makes the model, and its file, keep which columns of the table are no features, and how cells became values."""
    estimator.other_columns_ = training.other_columns
    # The members of an ensemble are models of their own.
    members = estimator.estimators_ if hasattr(estimator, "weights_") else []
    for model in (estimator, *members):
        model.encoder_ = _reading_cells(model.encoder_, training.cells)


def _reading_cells(encoder: Any, cells: Mapping[str, "Cells"]) -> Any:
    """Returns an encoder whose schema says how cells became values; other models may share the given one."""
    schema, changed = encoder.schema_, copy.copy(encoder)
    columns = tuple(dataclasses.replace(column, cells=cells.get(column.name)) for column in schema.columns)
    changed.schema_ = dataclasses.replace(schema, columns=columns)
    return changed


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
    """Surrounds a fit: in a terminal it shows how many trees or rounds are done, or how long it takes."""
    if not hasattr(estimator, "n_estimators") or session.quiet or not sys.stderr.isatty():
        with session.doing("fitting"):
            yield
        return
    before = estimator.verbose
    estimator.set_params(verbose=1)
    try:
        yield
    finally:
        estimator.set_params(verbose=before)


def _names(settings: Sequence[str], name: str) -> bool:
    """Whether a parameter is among settings."""
    return any(text.partition("=")[0].strip() == name for text in settings)


def _check_boosting(options: BoostingOptions, algorithm: str) -> None:
    """Raises BadParameter, before the work, for options of boosting with another algorithm, or for a wrong loss."""
    for name in options.given() if algorithm != "boosting" else ():
        if algorithm != "additive" or name not in OF_ADDITIVE_MODELS:
            others = " or additive" * (name in OF_ADDITIVE_MODELS)
            raise typer.BadParameter(f"is for --algorithm boosting{others}", param_hint=f"--{name.replace('_', '-')}")
    if options.loss is not None:
        make_loss(options.loss)


def _set_boosting(estimator: Any, options: BoostingOptions) -> None:
    """Sets the parameters that were given; raises BadParameter for a loss of classes."""
    given = options.given()
    if "loss" in given:
        if "loss" not in estimator.get_params(deep=False):
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


def _folds_of(training: "Labelled", folds: int, seed: int) -> list[Any]:
    """Returns the rows of every fold, to fit on and to score on; groups stay whole."""
    from jaxtree.search.folds import shuffled_folds

    group = training.fields.get("group")
    if group is None:
        return shuffled_folds(training.y, folds, seed, of_classes=training.task == "classification")
    from sklearn.model_selection import GroupKFold

    if folds > len(set(group)):
        raise InvalidInputError(f"--cv must be at most {len(set(group))}, the number of groups, got {folds}")
    return list(GroupKFold(folds, shuffle=True, random_state=seed).split(training.X, groups=group))


def _cross_validated(session: Session, estimator: Any, training: "Labelled", folds: int, seed: int) -> str:
    import numpy as np
    from sklearn.base import clone

    scores, name = [], ""
    with progress_bar(quiet=session.quiet) as progress:
        for rows, others in progress.track(_folds_of(training, folds, seed), description=f"{folds} folds"):
            fitted, scored = training.take(rows), training.take(others)
            fold: Any = clone(estimator)
            fold.fit(fitted.X, fitted.y, **fitted.arguments)
            scores.append(fold.score(scored.X, scored.y, **scored.arguments))
            name = fold.score_name_
    return f"{folds}-fold cross-validation: {name} {mean_and_deviation(np.mean(scores), np.std(scores))}"


def mean_and_deviation(mean: Any, deviation: Any) -> str:
    """Returns a score over folds in words."""
    from jaxtree.table.numerals import score_in_words

    return f"{score_in_words(float(mean))} ± {score_in_words(float(deviation))}"


def _ranking(scores: dict[str, Any], name: str) -> list[str]:
    """The best settings in words."""
    order = scores["rank_test_score"].argsort(kind="stable")
    lines = [f"{len(order)} settings; {name}, mean ± deviation over folds"]
    for place in order[:_MOST_SHOWN]:
        rank, mean, deviation = (scores[f"{figure}_test_score"][place] for figure in ("rank", "mean", "std"))
        setting = scores["params"][place].items()
        words = " ".join(f"{parameter}={'none' if value is None else value}" for parameter, value in setting)
        lines.append(f"{rank:>4}  {mean_and_deviation(mean, deviation)}  {words}")
    return lines


def _all_scores(scores: dict[str, Any]) -> dict[str, Any]:
    """The columns of a table of all settings."""
    values = {name: [setting[name] for setting in scores["params"]] for name in scores["params"][0]}
    words = {
        name: [value if isinstance(value, int | float | str | None) else str(value) for value in column]
        for name, column in values.items()
    }
    return words | {name: scores[name].tolist() for name in ("mean_test_score", "std_test_score", "rank_test_score")}


def check_scorer_name(scoring: str) -> None:
    """Raises BadParameter if there is no such scorer."""
    from sklearn.metrics import get_scorer_names

    from jaxtree.metrics.scorers import IN_WORDS, scorer_or_none

    if scoring not in get_scorer_names() and scorer_or_none(scoring) is None:
        message = f"must be a scorer of scikit-learn, such as accuracy, or of jaxtree, {IN_WORDS}, got {scoring!r}"
        raise typer.BadParameter(message, param_hint="--scoring")


def _check_scoring(scoring: str, training: "Labelled") -> None:
    """Raises, before the work, if a scorer lacks the column that it needs, or cannot score the target."""
    from jaxtree.metrics.scorers import scorer_or_none
    from jaxtree.search.scoring import check_scorer

    if scorer_or_none(scoring) is None:
        check_scorer(scoring, training.y, of_classes=training.task == "classification")
    elif scoring == "concordance" and "event" not in training.fields:
        raise InvalidInputError("--scoring concordance is of survival times: --event names the column of events")
    elif scoring != "concordance" and "group" not in training.fields:
        raise InvalidInputError(f"--scoring {scoring} ranks rows within groups: --group names their column")
