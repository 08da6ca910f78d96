"""`jaxtree export` and `jaxtree compile`: the model in a file as a program that needs no jaxtree."""

import contextlib
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

import jaxtree
from jaxtree.cli.opening import open_model
from jaxtree.cli.output import OutputOption, check_output, write_bytes
from jaxtree.cli.session import ModelArgument, Session, command
from jaxtree.errors import InvalidInputError


@command
def export(
    *,
    model: ModelArgument,
    form: Annotated[Literal["onnx", "c", "sql", "treelite", "jax"], typer.Option("--to", help="The format.")],
    output: OutputOption = "-",
    dialect: Annotated[
        Literal["sqlite", "postgresql", "duckdb", "mysql", "bigquery"] | None,
        typer.Option(help="The database.", show_default="sqlite"),
    ] = None,
    share_of: Annotated[str | None, typer.Option(help="For SQL, the class whose probability is the value.")] = None,
    score: Annotated[
        int | None, typer.Option(min=0, help="For SQL, the number of the score that is the value, from 0.")
    ] = None,
    no_missing: Annotated[
        bool, typer.Option("--no-missing", help="Assume that rows have no missing values and no unseen words.")
    ] = False,
    session: Session,
) -> None:
    """Writes a model as ONNX, C, SQL, treelite or a JAX program."""
    check_output(output)
    for name, value in (("--dialect", dialect), ("--share-of", share_of), ("--score", score)):
        if form != "sql" and value is not None:
            raise typer.BadParameter("is for --to sql", param_hint=name)
    estimator: Any = open_model(model)
    with _with_options():
        content = _content(estimator, form, dialect, share_of, score, no_missing)
    write_bytes(content, output)
    if output != "-":
        session.note(f"{form}: {output}")


def _content(
    estimator: Any, form: str, dialect: str | None, share_of: str | None, score: int | None, no_missing: bool
) -> bytes:
    """The bytes of a model in a form."""
    if form == "sql":
        label = None if share_of is None else _class_named(estimator, share_of)
        options: dict[str, Any] = {"dialect": dialect or "sqlite", "share_of": label, "score": score}
        return jaxtree.to_sql(estimator, **options, no_missing=no_missing).encode() + b"\n"
    if form == "c":
        return jaxtree.to_c(estimator, no_missing=no_missing).encode()
    if form == "onnx":
        return jaxtree.to_onnx(estimator, no_missing=no_missing).SerializeToString()
    if form == "treelite":
        return jaxtree.to_treelite(estimator, no_missing=no_missing).serialize_bytes()
    return bytes(jaxtree.to_jax_export(estimator, no_missing=no_missing).serialize())


@contextlib.contextmanager
def _with_options() -> Iterator[None]:
    """Raises errors of an export with the options of the command in the place of arguments.

    >>> with _with_options():
    ...     raise InvalidInputError("give share_of=<class>, or no_missing=True")
    Traceback (most recent call last):
    jaxtree.errors.InvalidInputError: give --share-of <class>, or --no-missing
    """
    try:
        yield
    except InvalidInputError as error:
        named = re.sub(r"\b(share_of|score|no_missing)=(True)?", _option, str(error))
        raise InvalidInputError(named) from error


def _option(found: re.Match[str]) -> str:
    return f"--{found[1].replace('_', '-')}" + ("" if found[2] else " ")


@command
def compile(
    *,
    model: ModelArgument,
    output: Annotated[str, typer.Option("--output", "-o", help="The library to write.", show_default=False)],
    name: Annotated[str, typer.Option(help="The prefix of the names of its functions.")] = "tree",
    compiler: Annotated[
        str | None, typer.Option(help="The C compiler.", show_default="the variable CC, else cc, gcc or clang")
    ] = None,
    session: Session,
) -> None:
    """Writes a model as a shared library, for programs in C and for jaxtree.serving."""
    if output == "-":
        raise InvalidInputError("-o must name a file, as a library is loaded from one")
    check_output(output)
    jaxtree.to_library(open_model(model), output, name=name, compiler=compiler)
    session.note(f"library: {output}")


def _class_named(estimator: Any, name: str) -> Any:
    """The class of a name, which may be a number or a truth value."""
    names = [label for classes in estimator.class_names() for label in classes.tolist()]
    found = [label for label in names if str(label) == name]
    if not found:
        words = ", ".join(map(str, names)) or "none, the model predicts numbers"
        raise InvalidInputError(f"--share-of must be a class of the model ({words}), got {name!r}")
    return found[0]
