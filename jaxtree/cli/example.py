"""`jaxtree example`: the embedded tables, as files to try the other commands on."""

from typing import Annotated

import typer

from jaxtree.cli.options import check_choice
from jaxtree.cli.session import Session, in_session
from jaxtree.cli.writing import TABLES, check_writable, kind_of_table, write_table

_EXAMPLES = {
    "car": ("load_car_evaluation", "1,728 cars in 4 classes"),
    "play-tennis": ("load_play_tennis", "14 days"),
    "contact-lenses": ("load_contact_lenses", "24 patients"),
    "watermelon": ("load_watermelon", "17 melons"),
}


@in_session
def example(
    session: Session,
    name: Annotated[
        str, typer.Argument(help="; ".join(f"{name}: {what}" for name, (_, what) in _EXAMPLES.items()), metavar="NAME")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - is the standard output.")] = "-",
    table: Annotated[
        str | None,
        typer.Option("--format", help=f"{', '.join(TABLES)}.", show_default="as the file's name ends, else csv"),
    ] = None,
) -> None:
    """Writes one of the embedded tables, its target in the last column."""
    check_choice("NAME", name, tuple(_EXAMPLES))
    kind = kind_of_table(output, table)
    check_writable(output)
    from jaxtree import datasets

    X, y = getattr(datasets, _EXAMPLES[name][0])(return_X_y=True, as_frame=True)
    target = str(y.name or "class")
    write_table(
        {**{str(column): X[column].astype(object).tolist() for column in X}, target: y.astype(object).tolist()},
        output,
        kind,
    )
    if output != "-":
        session.note(f"{len(X)} rows, target {target!r}: {output}")
