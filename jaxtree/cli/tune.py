"""`jaxtree tune`: the best boosted trees or additive model found in a given time, as a model file and a page.

The modules that read tables or compute are imported when the command runs, so that its help does not wait for them.
"""

import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from jaxtree.cli.output import check_output, file_option, output_option, write_bytes
from jaxtree.cli.session import (
    INTERRUPTED,
    ColumnOptions,
    DataArgument,
    SeedOption,
    Session,
    TableSession,
    TargetOption,
    command,
)
from jaxtree.errors import InterruptedFitWarning, import_extra
from jaxtree.lines import in_short


@command
def tune(
    *,
    data: DataArgument,
    target: TargetOption,
    output: Annotated[
        str | None,
        output_option(
            help="The model file to write; - is standard output.",
            show_default="NAME.tuned.jaxtree, with the page NAME.tuned.html, after DATA's name",
        ),
    ] = None,
    algorithm: Annotated[
        Literal["boosting", "additive"],
        typer.Option("--algorithm", "-a", help="An ensemble of boosted trees, or an interpretable additive model."),
    ] = "boosting",
    minutes: Annotated[float, typer.Option(min=0.01, help="The time limit of the whole run.")] = 5,
    page: Annotated[str | None, file_option(help="Write a page about the search; - is standard output.")] = None,
    cv: Annotated[int, typer.Option(min=2, help="The number of folds that settings are scored on.")] = 5,
    scoring: Annotated[
        str | None,
        typer.Option(help="A scorer of scikit-learn.", show_default="neg_log_loss, or neg_root_mean_squared_error"),
    ] = None,
    n_iter: Annotated[int, typer.Option(min=1, help="The maximum number of settings.")] = 1000,
    seed: SeedOption = 0,
    columns: ColumnOptions,
    session: TableSession,
) -> None:
    """Searches for the best boosted trees, or additive model, in a given time, and writes the winner.

    Ctrl-C ends the search and writes what is finished; the exit status is then 130.
    """
    began = time.monotonic()
    from jaxtree.cli import training

    if output is None:
        output, page = _names_by(data, page)
    for path in (output, page):
        if path is not None:
            check_output(path)
    if output == page == "-":
        raise typer.BadParameter("and --output cannot both be the standard output", param_hint="--page")
    if page is not None:
        # Before the work, so that no minutes are lost where it is missing.
        import_extra("jinja2", "--page", "plot")
    if scoring is not None:
        training.check_scorer_name(scoring)
    rows = training.read_training(session, data, target, columns)
    options = {"algorithm": algorithm, "cv": cv, "scoring": scoring, "n_iter": n_iter, "random_state": seed}
    search = _tuned(session, rows, 60 * minutes, began, options)
    training.keep_reading(session, search.best_estimator_, rows)
    training.print_results("-" if "-" in (output, page) else output, _results(search, time.monotonic() - began))
    training.save_model(search, output)
    if page is not None:
        kind = "Boosted trees" if algorithm == "boosting" else "Additive model"
        write_bytes(search.to_html(title=f"{kind}, tuned for {in_short(target)}").encode(), page)
        if page != "-":
            session.note(f"page: {page}")
    if search.was_interrupted_:
        # A shell script sees that it is not what was asked for.
        raise typer.Exit(INTERRUPTED)


def _names_by(data: str, page: str | None) -> tuple[str, str]:
    """The names of a model file, and of a page if it has none, by that of the table."""
    if data == "-":
        raise typer.BadParameter("must be given where the table is the standard input", param_hint="--output")
    name = Path(data).name.removesuffix(".gz").rsplit(".", 1)[0]
    return f"{name}.tuned.jaxtree", page or f"{name}.tuned.html"


def _tuned(session: Session, rows: Any, seconds: float, began: float, options: dict[str, Any]) -> Any:
    """Searches for what is left of the time, with a bar in a terminal."""
    from jaxtree.search.tune import ALGORITHMS, TunedSearchCV

    for_classes, for_numbers = ALGORITHMS[options.pop("algorithm")]
    estimator = (for_classes if rows.task == "classification" else for_numbers)(**rows.parameters)
    # The imports and the table took seconds, too.
    minutes = max(seconds - (time.monotonic() - began), 1e-3) / 60
    shows = not session.quiet and sys.stderr.isatty()
    search = TunedSearchCV(estimator, minutes=minutes, verbose=int(shows), **options)
    with warnings.catch_warnings(record=True) as caught:
        # An interrupted tuning is written; the command says so itself.
        warnings.filterwarnings("ignore", "the tuning was interrupted", InterruptedFitWarning)
        warnings.filterwarnings("always", ".* did not suffice")
        search.fit(rows.X, rows.y, rows.weight)
    for own in caught:
        session.note(str(own.message))
    return search


def _results(search: Any, seconds: float) -> list[str]:
    """Says what a tuning has found."""
    from jaxtree.cli import training

    tuned, yardstick, tried = search.tuned_, search.tuned_.yardstick, search.tuned_.tried
    best, defaults = tuned.best_and_defaults()
    kind = tuned.kind_of_model
    rows = [(kind, tuned.plain.found), ("best setting", best), ("defaults", defaults)]
    rows += [("constant", tuned.plain.constant)]
    lines = [f"interrupted; the {kind} is of the settings that were finished"] if tuned.was_interrupted else []
    many = "s" if len(tried.settings) > 1 else ""
    lines += [f"{len(tried.settings)} setting{many} on {len(tuned.tests)} folds in {seconds:.0f} s"]
    if tried.was_cut.any():
        lines += [f"{tried.was_cut.sum()} of them ended with fewer rounds for lack of time: give more --minutes"]
    lines += [f"{yardstick.in_words}, mean ± deviation over folds"]
    lines += [
        f"  {name:<12}  {training.mean_and_deviation(yardstick.shown(scores.mean()), scores.std())}"
        for name, scores in rows
    ]
    return [*lines, tuned.verdict(), f"{type(tuned.model).__name__}: {_parts(tuned)}, fitted on all rows"]


def _parts(tuned: Any) -> str:
    """Says what the model is made of."""
    from jaxtree.estimators.additive.base import BaseAdditive

    if isinstance(tuned.model, BaseAdditive):
        return f"{len(tuned.model.term_names_)} terms, mean of {len(tuned.model.bag_values_)} bags"
    if tuned.is_plain:
        return f"the defaults, {tuned.model.n_estimators_} rounds"
    members = len(tuned.members)
    kind = "" if tuned.finalists is None else f" of {len(tuned.finalists.numbers)} finalists"
    return f"{members} member{'s' if members > 1 else ''}{kind}"
