"""The program `jaxtree`: its commands, and what becomes of errors that none of them has caught."""

import io
import sys
from typing import Annotated

import typer
from rich.console import Console

from jaxtree.cli.evaluate import evaluate
from jaxtree.cli.example import example
from jaxtree.cli.explain import explain
from jaxtree.cli.fit import fit
from jaxtree.cli.predict import predict
from jaxtree.cli.reproduce import reproduce
from jaxtree.cli.search import search
from jaxtree.cli.show import show
from jaxtree.cli.study import study
from jaxtree.errors import JaxtreeError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for command in (fit, predict, show, explain, evaluate, search, example, reproduce):
    app.command()(command)
app.add_typer(study, name="study")


def main() -> None:
    """Runs the command that the user typed; what he did wrong is said in one line, with exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or locale that lacks a character, such as that of R², gets it as an escape.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except JaxtreeError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False)
        sys.exit(2)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        import jaxtree

        print(f"jaxtree {jaxtree.__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Decision trees in JAX, on CPU, GPU and TPU."""
