"""`jaxtree compare`: models of several algorithms on the same folds of a table.

The modules that read tables or compute are imported when the command runs, so that its help does not wait for them.
"""

import dataclasses
import functools
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
)
from jaxtree.errors import import_extra
from jaxtree.lines import in_short

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
    repeats: Annotated[int, typer.Option(min=1, help="How often the folds are drawn.")] = 2,
    scoring: Annotated[
        list[str] | None,
        typer.Option(
            help="A scorer of scikit-learn, such as neg_log_loss; may be repeated; the first one ranks.",
            show_default="accuracy, or r2",
        ),
    ] = None,
    results: Annotated[str | None, file_option(help="Write the table: .csv, .parquet or .jsonl.")] = None,
    page: Annotated[str | None, file_option(help="Write a page with charts; - is standard output.")] = None,
    seed: SeedOption = 0,
    columns: ColumnOptions,
    extras: ExtraOptions,
    session: TableSession,
) -> None:
    """Scores several algorithms and a constant on the same folds, with intervals of their differences.

    The rows of a --group stay in one fold; ranking algorithms learn their order.
    """
    from jaxtree.cli import compared, models, training

    kind = None if results is None else kind_of_table(results, None, "--results")
    if page is not None:
        check_output(page)
        # Before the work, so that no minutes are lost where it is missing.
        import_extra("jinja2", "--page", "plot")
    for own in scoring or ():
        training.check_scorer_name(own)
    named: dict[str, Callable[[str], Any]] = {}
    for text in algorithms:
        name, settings = compared.algorithm_of(text)
        if text in named:
            raise compared.wrong_algorithm(f"{text!r} appears twice")
        # Groups of other algorithms than those that rank are folds' alone.
        own = extras if name == "ranking" else dataclasses.replace(extras, group=None)
        columns = training.columns_with_extras(columns, own, name)
        named[text] = functools.partial(compared.make_model, name, settings, seed, extras)
        models.check_early(columns.task, named[text])
    rows = training.read_training(session, data, target, columns, extras)
    for own in scoring or ():
        training.check_scoring(own, rows)
    made = {text: make(rows.task).set_params(**rows.parameters) for text, make in named.items()}
    found = compared.compare_all(session, made, rows, cv=(cv, repeats), scoring=scoring, random_state=seed)
    training.print_results("-" if "-" in (page, results) else None, [repr(found)])
    if results is not None and kind is not None:
        write_table(found.to_dict(), results, kind)
    if page is not None:
        title = f"Models of {in_short(target)}, side by side"
        write_bytes(found.to_html(title=title).encode(), page)
        if page != "-":
            session.note(f"page: {page}")
