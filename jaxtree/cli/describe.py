"""`jaxtree describe`: what a table holds, before any model is fitted.

Modules that read tables or compute are imported when the command runs, so that its help does not wait for them.
"""

import dataclasses
import json
from typing import Annotated

import typer

from jaxtree.cli.session import ColumnOptions, DataArgument, ExtraOptions, TableSession, command


@command
def describe(
    *,
    data: DataArgument,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The column to predict.", show_default="none", rich_help_panel="Columns"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    columns: ColumnOptions,
    extras: ExtraOptions,
    session: TableSession,
) -> None:
    """Describes the columns and the target of a table, and warns of problems.

    Each column has a line with its kind, missing values, distinct values, range and most frequent value; below are
    warnings, such as of identifiers and of columns that alone predict the target.
    """
    from jaxtree.cli import training

    if target is None and (columns.task or extras.names):
        raise typer.BadParameter("names the column that --task, --event and --group are about", param_hint="--target")
    if extras.event is not None:
        columns = dataclasses.replace(columns, task="regression")
    found, remarks = training.read_description(session, data, target, columns, extras)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    warnings = [f"! {own}" for own in (*training.warnings_in_words(found), *training.remarks_in_words(remarks))]
    print("\n".join([str(dataclasses.replace(found, warnings=[])), *[""][: len(warnings)], *warnings]))
