"""`jaxtree tune`: the best ensemble of boosted trees that is found in a given time, as a model file and a page.

The modules that read tables or compute are imported when the command runs, so that its help does not wait for them.
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxtree.cli.fit import (
    check_scorer,
    check_scorer_name,
    folds_of,
    keep_reading,
    mean_and_deviation,
    print_results,
    read_training,
    save_model,
)
from jaxtree.cli.output import as_output, check_output, write_bytes
from jaxtree.cli.session import (
    INTERRUPTED,
    ColumnOptions,
    DataArgument,
    SeedOption,
    Session,
    TableSession,
    TargetOption,
    command,
    in_short,
    progress_bar,
)
from jaxtree.errors import InvalidInputError, import_extra

if TYPE_CHECKING:
    from jaxtree.cli.columns import Labelled

FEW_WITHOUT_KERNEL = 2
"""Settings that are fitted at once where the kernel in C++ is missing."""

LEAST_ROWS = 10
"""The fewest rows of a fit in a fold."""


@command
def tune(
    *,
    data: DataArgument,
    target: TargetOption,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            callback=as_output,
            help="The model file to write; - is standard output.",
            show_default="NAME.tuned.jaxtree, and the page NAME.tuned.html, of DATA's name",
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.01, help="The time that all of it may take.")] = 5,
    page: Annotated[
        str | None, typer.Option(callback=as_output, help="Write a page about the search; - is standard output.")
    ] = None,
    cv: Annotated[int, typer.Option(min=2, help="The number of folds that settings are scored on.")] = 5,
    scoring: Annotated[
        str | None,
        typer.Option(help="A scorer of scikit-learn.", show_default="neg_log_loss, or neg_root_mean_squared_error"),
    ] = None,
    n_iter: Annotated[int, typer.Option(min=1, help="The most settings to try.")] = 1000,
    seed: SeedOption = 0,
    columns: ColumnOptions,
    session: TableSession,
) -> None:
    """Searches for the best boosted trees in a given time, and writes an ensemble of them.

    Ctrl-C ends the search, and what is finished by then is written; the exit status is 130 even so.
    """
    began = time.monotonic()
    from jaxtree.search.budget import Budget

    # The imports take seconds, too.
    budget = Budget(60 * minutes, n_iter, used_before=time.monotonic() - began)
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
        check_scorer_name(scoring)
    training = read_training(session, data, target, columns)
    if scoring is not None:
        check_scorer(scoring, training)
    tuned = _tuned(session, training, budget, cv, scoring, seed)
    keep_reading(tuned.model, training)
    print_results("-" if "-" in (output, page) else output, _results(tuned, budget))
    save_model(tuned.model, output)
    if page is not None:
        from jaxtree.page.tuned import tuned_page

        write_bytes(tuned_page(tuned, training.y, title=f"Boosted trees, tuned for {in_short(target)}").encode(), page)
        if page != "-":
            session.note(f"page: {page}")
    if tuned.was_interrupted:
        # A shell script sees that it is not what was asked for.
        raise typer.Exit(INTERRUPTED)


def _names_by(data: str, page: str | None) -> tuple[str, str]:
    """The names of a model file, and of a page if it has none, by that of the table."""
    if data == "-":
        raise typer.BadParameter("must be given where the table is the standard input", param_hint="--output")
    name = Path(data).name.removesuffix(".gz").rsplit(".", 1)[0]
    return f"{name}.tuned.jaxtree", page or f"{name}.tuned.html"


def _tuned(session: Session, training: "Labelled", budget: Any, cv: int, scoring: str | None, seed: int) -> Any:
    """Searches, with a bar of the time in a terminal."""
    import jaxtree
    from jaxtree import kernel
    from jaxtree.search.out_of_fold import make_yardstick
    from jaxtree.search.spaces import space_for
    from jaxtree.search.tuning import Task, tune

    of_classes = training.task == "classification"
    name = "GradientBoostingClassifier" if of_classes else "GradientBoostingRegressor"
    yardstick = make_yardstick(scoring, training.y, of_classes=of_classes)
    splits = folds_of(training, cv, seed)
    fewest = min(len(train) for train, _ in splits)
    if fewest < LEAST_ROWS:
        raise InvalidInputError(
            f"tune needs {LEAST_ROWS} rows or more to fit on, as a tenth of them decides when to stop, and --cv "
            f"{cv} leaves {fewest} of {len(training.X)}"
        )
    task = Task(getattr(jaxtree, name)(), training.X, training.y, training.weight, splits, yardstick)
    space = space_for(*training.X.shape, num_classes=training.y.nunique() if of_classes else 0)
    if kernel.load() is None:
        # Fits take several times as long, and a batch that has no time for all rounds is worth less.
        space = space._replace(batch=FEW_WITHOUT_KERNEL)
    with _bar_of_time(session, budget.seconds) as report:
        return tune(task, space, budget, seed, report)


@contextlib.contextmanager
def _bar_of_time(session: Session, seconds: float) -> Iterator[Any]:
    """Yields what to call with the seconds used, and with words."""
    with progress_bar(quiet=session.quiet) as progress:
        bar = progress.add_task("searching", total=seconds)
        yield lambda used, words: progress.update(bar, completed=used, description=words)


def _results(tuned: Any, budget: Any) -> list[str]:
    """Says what a tuning has found."""
    yardstick, tried = tuned.yardstick, tuned.tried
    best = tried.scores[tried.scores.mean(axis=1).argmax()]
    members = len(tuned.model.estimators_)
    rows = [("ensemble", tuned.scores), ("best setting", best), ("defaults", tried.scores[0])]
    lines = ["interrupted; the ensemble is of the settings that were finished"] if tuned.was_interrupted else []
    lines += [f"{len(tried.settings)} settings on {len(tuned.tests)} folds in {budget.used():.0f} s"]
    if tried.was_cut.any():
        lines += [f"{tried.was_cut.sum()} of them ended with fewer rounds for lack of time: give more --minutes"]
    lines += [f"{yardstick.in_words}, mean ± deviation over folds"]
    lines += [
        f"  {name:<12}  {mean_and_deviation(yardstick.shown(scores.mean()), scores.std())}" for name, scores in rows
    ]
    plural = "s" if members > 1 else ""
    return [*lines, f"{type(tuned.model).__name__}: {members} member{plural}, fitted on all rows"]
