"""`jaxtree fit`, a model file from a table, and `jaxtree search`, the best of many settings by cross-validation.

Modules that read tables or compute are imported when a command runs, so that its help does not wait for them.
"""

import functools
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from jaxtree.cli.output import check_output, file_option, kind_of_table, output_option, write_bytes, write_table
from jaxtree.cli.session import (
    BoostingOptions,
    ColumnOptions,
    DataArgument,
    EffectOptions,
    Names,
    PruneOption,
    SeedOption,
    TableSession,
    TargetOption,
    command,
)
from jaxtree.errors import import_extra
from jaxtree.lines import in_short

_set = functools.partial(typer.Option, "--set", metavar="NAME=VALUE")

_algorithm = typer.Option("--algorithm", "-a")
_Trees = Literal["cart", "c45", "id3", "optimal", "forest", "boosting", "additive", "soft", "ranking", "distribution"]
_Forests = Literal["quantile_forest", "survival_forest", "causal_forest", "instrumental_forest"]
Algorithm = Annotated[Literal[_Trees, _Forests], _algorithm]


@command
def fit(
    *,
    data: DataArgument,
    target: TargetOption,
    output: Annotated[str, output_option(help="The model file to write; - is standard output.")],
    algorithm: Algorithm = "cart",
    settings: Annotated[Names, _set(help="A parameter, such as max_depth=5; may be repeated.")] = None,
    prune: PruneOption = None,
    cv: Annotated[int | None, typer.Option(min=2, help="Cross-validate first, with this number of folds.")] = None,
    seed: SeedOption = 0,
    max_depth: Annotated[int | None, typer.Option(min=1, help="The maximum depth.")] = None,
    boosting: BoostingOptions,
    columns: ColumnOptions,
    extras: EffectOptions,
    session: TableSession,
) -> None:
    """Fits a tree, a forest, boosted trees, an additive model, a soft tree or effects, and writes a model file."""
    from jaxtree.cli import effects, models, training

    check_output(output)
    training.check_boosting(boosting, algorithm)
    used = effects.algorithm_with_instrument(algorithm, extras)
    if cv is not None:
        effects.check_has_score(used, "--cv")
    columns = training.columns_with_extras(columns, extras, used)
    settings = [*(settings or ()), *([] if max_depth is None else [f"max_depth={max_depth}"])]

    def make(task: str) -> Any:
        made = models.make_estimator(used, task, seed=seed, settings=settings, prunings=prune or ())
        training.set_boosting(made, boosting)
        training.set_loss_of_times(made, extras, boosting.loss is not None or _names(settings, "loss"))
        return made

    models.check_early(columns.task, make)
    rows = training.read_training(session, data, target, columns, extras)
    estimator = make(rows.task).set_params(**rows.parameters)
    scores = [] if cv is None else [training.cross_validated(session, estimator, rows, cv, seed)]
    training.fit_and_save(session, estimator, rows, output, scores)


@command
def search(
    *,
    data: DataArgument,
    target: TargetOption,
    settings: Annotated[list[str], _set(help="Values: ccp_alpha=0,0.01 or max_depth=2:20,none.")],
    output: Annotated[
        str | None, output_option(help="Fit the best setting on all rows, and write this model file.")
    ] = None,
    results: Annotated[
        str | None, file_option(help="Write the scores of all settings: .csv, .parquet or .jsonl.")
    ] = None,
    page: Annotated[str | None, file_option(help="Write a page about the settings; - is standard output.")] = None,
    resume: Annotated[
        str | None,
        typer.Option(help="Write every score to this file, and resume an interrupted search from it."),
    ] = None,
    algorithm: Algorithm = "cart",
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
    extras: EffectOptions,
    session: TableSession,
) -> None:
    """Scores all combinations of given values, and can fit the best one.

    Trees and forests grow once per fold for all limits and prunings; boosted trees of a fold are fitted at once.
    """
    from jaxtree.cli import effects, models, training
    from jaxtree.search.search import SearchCV

    for path in (output, page):
        if path is not None:
            check_output(path)
    if page is not None:
        import_extra("jinja2", "--page", "plot")
    kind = None if results is None else kind_of_table(results, None, "--results")
    if scoring is not None:
        training.check_scorer_name(scoring)
    used = effects.algorithm_with_instrument(algorithm, extras)
    effects.check_has_score(used, "--algorithm")
    columns = training.columns_with_extras(columns, extras, used)

    def make(task: str) -> Any:
        made = models.make_estimator(used, task, seed=seed, prunings=prune or ())
        training.set_loss_of_times(made, extras, _names(settings, "loss"))
        models.make_grid(made, settings)
        return made

    models.check_early(columns.task, make)
    rows = training.read_training(session, data, target, columns, extras)
    if scoring is not None:
        training.check_scoring(scoring, rows)
    estimator = make(rows.task).set_params(**rows.parameters)
    grid, folds = models.make_grid(estimator, settings), training.folds_of(rows, cv, seed)
    # In a terminal a bar has the best score and the time left.
    shows = not session.quiet and sys.stderr.isatty()
    options = {"refit": False, "error_score": "raise", "resume": resume, "verbose": int(shows)}
    scored = SearchCV(estimator, grid, cv=folds, scoring=scoring, **options)
    scores = scored.fit(rows.X, rows.y, **rows.arguments).cv_results_
    name = "mean log likelihood" if algorithm == "distribution" else rows.score_name
    reached = training.constant_on_folds(rows, folds, scoring or name)
    training.print_results(output, training.ranking(scores, scoring or name, reached))
    if results is not None and kind is not None:
        write_table(training.all_scores(scores), results, kind)
    if page is not None:
        write_bytes(scored.to_html(title=f"Settings for {in_short(target)}").encode(), page)
    if output is not None:
        estimator.set_params(**scores["params"][scores["rank_test_score"].argmin()])
        training.fit_and_save(session, estimator, rows, output, [])


def _names(settings: Sequence[str], name: str) -> bool:
    """Whether a parameter is among settings."""
    return any(text.partition("=")[0].strip() == name for text in settings)
