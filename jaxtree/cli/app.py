"""The program `jaxtree`: its commands, and what becomes of errors that none of them has caught."""

import functools
import importlib
import io
import signal
import sys
import threading
from _thread import interrupt_main
from importlib.metadata import EntryPoint, entry_points, metadata
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import jaxtree
from jaxtree.errors import JaxtreeError, MissingExtraError

COMMANDS = {
    "describe": ("describe", "Describes the columns and the target of a table, and warns of problems."),
    "fit": (
        "fit",
        "Fits a tree, a forest, boosted trees, an additive model, a soft tree or effects, and writes a model file.",
    ),
    "predict": ("apply", "Predicts every row of a table; columns that the fit did not have are ignored."),
    "show": ("apply", "Prints a tree or a summary of effects, or writes an HTML page about a model."),
    "explain": ("apply", "Explains predictions in words, row by row, or by the contribution of every column."),
    "export": ("export", "Writes a model as ONNX, C, SQL, treelite or a JAX program."),
    "compile": ("export", "Writes a model as a shared library, for programs in C and for jaxtree.serving."),
    "evaluate": ("apply", "Scores a model on a table with known targets."),
    "search": ("fit", "Scores all combinations of given values, and can fit the best one."),
    "compare": (
        "compare",
        "Scores several algorithms and a constant on the same folds, with intervals of their differences.",
    ),
    "tune": ("tune", "Searches for the best boosted trees, or additive model, in a given time, and writes the winner."),
    "doctor": ("doctor", "Checks this machine: the kernel, the devices, and whether all grow the same trees."),
    "example": ("output", "Writes one of the embedded tables, with the target in the last column."),
}
"""The module of every command, and the first line of its help."""


class LateCommands(TyperGroup):
    """Loads the module of a command when it is called: help and slips of the keyboard need not wait for libraries."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the names in the order of the help."""
        return [*COMMANDS, *installed_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns what the help shows of a command."""
        if cmd_name in COMMANDS:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1])
        if cmd_name not in installed_commands():
            return None
        try:
            return load_command(cmd_name)
        except MissingExtraError:
            return TyperCommand(cmd_name, help="Is not in this installation, and says how to get it.")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Returns the name of the command that the user typed, the command and its arguments."""
        name, _, others = super().resolve_command(ctx, args)
        return name, load_command(str(name)), others


@functools.cache
def installed_commands() -> dict[str, EntryPoint]:
    """Returns the commands that installed packages add by entry points, such as those of the studies."""
    return {point.name: point for point in entry_points(group="jaxtree.commands") if point.name not in COMMANDS}


def load_command(name: str) -> Any:
    """Returns a command or a group of commands, from its module or from another package."""
    if name in COMMANDS:
        command = getattr(importlib.import_module(f"jaxtree.cli.{COMMANDS[name][0]}"), name)
    else:
        command = _from_another_package(installed_commands()[name])
    if isinstance(command, typer.Typer):
        group = typer.main.get_group(command)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name)(command)
    return typer.main.get_command(alone)


def _from_another_package(point: EntryPoint) -> Any:
    """Loads a command; raises MissingExtraError where its package is not installed, as the studies with a release."""
    try:
        return point.load()
    except ModuleNotFoundError as error:
        if not f"{point.module}.".startswith(f"{error.name}."):
            raise
        raise MissingExtraError(
            f"jaxtree {point.name} needs {point.module}, which the repository has and this installation has not: "
            f"pip install 'jaxtree[cli] @ git+{_source()}'"
        ) from error


def _source() -> str:
    """Returns the address of the repository, from the project's metadata."""
    urls = metadata("jaxtree").get_all("Project-URL") or []
    return dict(url.split(", ", 1) for url in urls).get("Source", "")


app = typer.Typer(cls=LateCommands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        has_kernel = importlib.import_module("jaxtree.kernels.library").load() is not None
        kernel = "with its kernel in C++" if has_kernel else "without its kernel in C++: the same trees take longer"
        print(f"jaxtree {jaxtree.__version__}, {kernel}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version, and whether the kernel is in use.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Decision trees in JAX, on CPU, GPU and TPU."""


def repeat_ignored_interrupt(ignored: Any) -> None:
    """Sends Ctrl-C again where Python ignored it; for `sys.unraisablehook`.

    Python goes on after an exception in a callback of the garbage collector, and JAX has such a callback.
    """
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        threading.Timer(0.1, interrupt_main).start()
    else:
        sys.__unraisablehook__(ignored)


def main() -> None:
    """Runs the command that the user typed; what no command caught ends it with one line and exit status 2 or 130."""
    sys.unraisablehook = repeat_ignored_interrupt
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or locale that lacks a character, such as that of R², gets it as an escape.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except JaxtreeError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        # One that came where no command was at work, such as between imports.
        typer.secho("interrupted; nothing was written", err=True)
        sys.exit(130)
    finally:
        # An interrupt that is repeated now must not end a program that has ended.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
