"""`jaxtree compare`: models of several algorithms on the same folds of a table.

The modules that read tables or compute are imported when the command runs, so that its help does not wait for them.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from jaxtree.cli.output import check_output, file_option, kind_of_table, write_bytes, write_table
from jaxtree.cli.session import (
    ColumnOptions,
    DataArgument,
    ExtraOptions,
    SeedOption,
    TableSession,
    TargetOption,
    command,
    in_short,
)
from jaxtree.errors import import_extra

_wrong_algorithm = functools.partial(typer.BadParameter, param_hint="--algorithm")

_ALGORITHMS = (
    "An algorithm of `jaxtree fit`, perhaps with parameters, as boosting:learning_rate=0.05; give one for each model."
)


@command
def compare(
    *,
    data: DataArgument,
    target: TargetOption,
    algorithms: Annotated[list[str], typer.Option("--algorithm", "-a", help=_ALGORITHMS, metavar="NAME[:PARAMETERS]")],
    cv: Annotated[int, typer.Option(min=2, help="The number of folds.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="How often folds are drawn.")] = 2,
    scoring: Annotated[
        list[str] | None,
        typer.Option(
            help="A scorer of scikit-learn, such as neg_log_loss; may be given again, the first ranks.",
            show_default="accuracy, or r2",
        ),
    ] = None,
    results: Annotated[str | None, file_option(help="The table as a file: .csv, .parquet or .jsonl.")] = None,
    page: Annotated[str | None, file_option(help="Write a page with charts; - is standard output.")] = None,
    seed: SeedOption = 0,
    columns: ColumnOptions,
    extras: ExtraOptions,
    session: TableSession,
) -> None:
    """Scores several algorithms and a constant on the same folds, with intervals of their differences.

    The rows of a --group stay in one fold together; algorithms that rank learn the order of its rows.
    """
    from jaxtree.cli import models, training

    kind = None if results is None else kind_of_table(results, None, "--results")
    if page is not None:
        check_output(page)
        # Before the work, so that no minutes are lost where it is missing.
        import_extra("jinja2", "--page", "plot")
    for own in scoring or ():
        training.check_scorer_name(own)
    named: dict[str, Callable[[str], Any]] = {}
    for text in algorithms:
        name, settings = _algorithm_of(text)
        if text in named:
            raise _wrong_algorithm(f"{text!r} stands there twice")
        # Groups of other algorithms than those that rank are folds' alone.
        own = extras if name == "ranking" else dataclasses.replace(extras, group=None)
        columns = training.columns_with_extras(columns, own, name)
        named[text] = functools.partial(_make, name, settings, seed, extras)
        models.check_early(columns.task, named[text])
    rows = training.read_training(session, data, target, columns, extras)
    for own in scoring or ():
        training.check_scoring(own, rows)
    made = {text: make(rows.task).set_params(**rows.parameters) for text, make in named.items()}
    found = _compared(session, made, rows, cv=(cv, repeats), scoring=scoring, random_state=seed)
    training.print_results("-" if "-" in (page, results) else None, [repr(found)])
    if results is not None and kind is not None:
        write_table(found.to_dict(), results, kind)
    if page is not None:
        title = f"Models of {in_short(target)}, side by side"
        write_bytes(found.to_html(title=title).encode(), page)
        if page != "-":
            session.note(f"page: {page}")


def _algorithm_of(text: str) -> tuple[str, list[str]]:
    """The name of an algorithm, and parameters as `--set` takes them.

    >>> _algorithm_of("boosting:learning_rate=0.05,max_depth=3"), _algorithm_of("cart")
    (('boosting', ['learning_rate=0.05', 'max_depth=3']), ('cart', []))
    """
    from jaxtree.cli.effects import OF_EFFECTS
    from jaxtree.cli.models import ALGORITHMS

    name, _, parameters = text.partition(":")
    known = [own for own in ALGORITHMS if own not in OF_EFFECTS]
    if name not in known:
        raise _wrong_algorithm(f"must be one of {', '.join(known)}, perhaps with parameters, got {text!r}")
    return name, parameters.split(",") if parameters else []


def _make(algorithm: str, settings: list[str], seed: int, extras: ExtraOptions, task: str) -> Any:
    """Makes an estimator for a task."""
    from jaxtree.cli import models, training

    made = models.make_estimator(algorithm, task, seed=seed, settings=settings)
    training.set_loss_of_times(made, extras, any(own.startswith("loss=") for own in settings))
    return made


def _compared(session: TableSession, made: dict[str, Any], rows: Any, **options: Any) -> Any:
    """Scores the models, with a bar in a terminal."""
    from jaxtree.resampling.compare import compare as compare_models

    fields = dict(rows.fields)
    if "group" in fields and not any(text.partition(":")[0] == "ranking" for text in made):
        fields["groups"] = fields.pop("group")
    shows = not session.quiet and sys.stderr.isatty()
    return compare_models(made, rows.X, rows.y, rows.weight, verbose=int(shows), **options, **fields)
