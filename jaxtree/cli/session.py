"""The common part of all commands on the user's own data: options, surroundings of the work, notes and errors.

Results go to the standard output; everything else, such as the types of columns, to the standard error stream. A
command ends with status 0, or with 1 and one line that says what is wrong with data, model or machine; one that is used
wrongly ends with 2, an interrupted one with 130.
"""

import contextlib
import dataclasses
import functools
import inspect
import logging
import os
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from jaxtree.errors import InterruptedFitWarning, InvalidInputError, JaxtreeError, ModelFileError
from jaxtree.lines import TextFormat, in_short

_THOUSANDS = (",", ".", "'", "_", " ")
"""The characters that may stand between thousands, with their relatives: a space stands for narrow ones, too."""

_LONGEST_MESSAGE = 2000

_column = functools.partial(typer.Option, rich_help_panel="Columns")
_file = functools.partial(typer.Option, rich_help_panel="The file")
_run = functools.partial(typer.Option, rich_help_panel="The run")
_boosting = functools.partial(typer.Option, rich_help_panel="Boosting", show_default="the estimator's default")

FIRST_ROWS = 5
"""The rows that `jaxtree explain` explains where none are chosen."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""

Names = list[str] | None
DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, Arrow or ARFF, also gzipped; - is standard input.")
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file of jaxtree, XGBoost, LightGBM or CatBoost.")
]
TargetOption = Annotated[str, _column("--target", "-t", help="The column to predict.")]
FittedTargetOption = Annotated[
    str | None, _column("--target", "-t", help="The column to compare with.", show_default="that of the fit")
]
WeightOption = Annotated[str | None, _column(help="The column of the weights of rows.", metavar="NAME")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all random choices.")]
_PRUNINGS = "A pruning: pessimistic:0.25, dropout:p=0.1,q=0.5, cost-complexity:cv,rule=1se, or none; several combine."
PruneOption = Annotated[Names, typer.Option(help=_PRUNINGS, metavar="NAME[:ARGS]")]


@dataclass(frozen=True)
class ColumnOptions:
    """The roles and types of columns in a fit; the type of a column that is not named follows from its cells."""

    task: Annotated[Literal["classification", "regression"] | None, _column(show_default="follows from the target")] = (
        None
    )
    categorical: Annotated[Names, _column(help="Columns of categories; may be a list a,b,c.", metavar="NAMES")] = None
    numeric: Annotated[Names, _column(help="Columns that must be numbers.", metavar="NAMES")] = None
    ignore: Annotated[Names, _column(help="Columns to leave out.", metavar="NAMES")] = None
    weight: WeightOption = None


@dataclass(frozen=True)
class ExtraOptions:
    """Columns that say more of rows than features and a target."""

    event: Annotated[
        str | None,
        _column(help="For survival times, the column that is 1 or true for events, else 0 or false.", metavar="NAME"),
    ] = None
    group: Annotated[
        str | None,
        _column(
            "--group",
            "--groups",
            help="The column of groups, such as queries, whose rows are ranked, or drawn together for effects.",
            metavar="NAME",
        ),
    ] = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name in (self.event, self.group) if name is not None)


@dataclass(frozen=True)
class EffectOptions(ExtraOptions):
    """Columns of a fit that forests of treatment effects need, too."""

    treatment: Annotated[
        str | None, _column(help="The column of the treatment whose effect is estimated.", metavar="NAME")
    ] = None
    instrument: Annotated[
        str | None,
        _column(
            help="The column of an instrument, which affects the outcome through the treatment alone.", metavar="NAME"
        ),
    ] = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*super().names, *(name for name in (self.treatment, self.instrument) if name is not None))


_LOSSES = (
    "The loss: squared_error, absolute_error, poisson, gamma, tweedie:1.5, huber:2, quantile:0.9 or another regression "
    "loss."
)


@dataclass(frozen=True)
class BoostingOptions:
    """Parameters of boosted trees; `--set` takes all others."""

    loss: Annotated[str | None, _boosting(help=_LOSSES, metavar="NAME[:NUMBER]")] = None
    n_estimators: Annotated[int | None, _boosting(min=1, help="The maximum number of rounds.")] = None
    learning_rate: Annotated[float | None, _boosting(help="The shrinkage of each step.")] = None
    early_stopping: Annotated[
        bool | None,
        _boosting("--early-stopping/--all-rounds", help="Stop when the loss on held-out rows stops improving."),
    ] = None

    def given(self) -> dict[str, Any]:
        """Returns the options that were given, by the names of the parameters."""
        return {name: value for name, value in vars(self).items() if value is not None}


_KEPT = ("missing", "decimal", "thousands")
"""The options of text that a model keeps."""


@dataclass(frozen=True)
class TextOptions(TextFormat):
    """How lines of cells are read."""

    missing: Annotated[
        Names,
        _file(
            help="A word that means a missing value; may be repeated.",
            show_default="empty, ?, NA, N/A, NaN, null",
            metavar="WORD",
        ),
    ] = None
    separator: Annotated[
        str | None, _file(help="The character between cells.", show_default="follows from the first lines")
    ] = None
    decimal: Annotated[Literal[".", ","], _file(help="The character before the decimals of numbers.")] = "."
    thousands: Annotated[
        str | None,
        _file(help="The character between the thousands of numbers: , . ' _ or space.", show_default="none"),
    ] = None
    header: Annotated[
        bool,
        _file("--header/--no-header", help="Whether the first line has names; without them, columns are x0, x1, ..."),
    ] = True

    def __post_init__(self) -> None:
        """Raises BadParameter for a separator that polars does not take, and for thousands that are none."""
        separator = self.cell_separator
        if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n\0'):
            message = f"must be one character of ASCII, no quote and no line end, or tab, got {separator!r}"
            raise typer.BadParameter(message, param_hint="--separator")
        if self.thousands_mark not in ("", *_THOUSANDS) or self.thousands_mark == self.decimal:
            allowed = " ".join(own for own in _THOUSANDS if own not in (self.decimal, " "))
            message = f"must be one of {allowed} or space where --decimal is {self.decimal}, got {self.thousands!r}"
            raise typer.BadParameter(message, param_hint="--thousands")

    @property
    def kept(self) -> dict[str, Any]:
        """The options that a model keeps for later tables, where they are not those by default."""
        return {name: own for name in _KEPT if (own := getattr(self, name)) != getattr(TextOptions, name)}

    def or_of_fit(self, notes: Mapping[str, Any]) -> "TextOptions":
        """Returns these options, with what a model has kept of those of its fit where these are by default.

        Raises:
            ModelFileError: The model has kept what is no option.
        """
        given = self.kept
        if {*given} & {"decimal", "thousands"}:
            notes = {name: own for name, own in notes.items() if name == "missing"}
        kept = {name: own for name, own in notes.items() if name in _KEPT} | given
        words, decimal, thousands = (kept.get(name, getattr(TextOptions, name)) for name in _KEPT)
        are_words = words is None or (isinstance(words, list) and all(isinstance(word, str) for word in words))
        if not are_words or decimal not in (".", ",") or not (thousands is None or isinstance(thousands, str)):
            raise ModelFileError(f"the model has kept options of text that are none: {in_short(notes)}")
        return TextOptions(words, self.separator, decimal, thousands, self.header)


@dataclass(frozen=True)
class Session:
    """How a command runs; every command has these options."""

    device: Annotated[
        Literal["auto", "cpu", "gpu", "tpu"],
        _run(help="The device to compute on; auto: whichever should finish first."),
    ] = "auto"
    cores: Annotated[int | None, _run(min=1, help="The number of cores to use.", show_default="all")] = None
    quiet: Annotated[bool, _run("--quiet", help="Print only results.")] = False
    debug: Annotated[bool, _run("--debug", help="Show the traceback of an error.")] = False

    def note(self, text: str) -> None:
        """Prints a note on the standard error stream, unless the command is to be quiet."""
        if not self.quiet:
            print(_harmless(text), file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Shows in a terminal what is being done, and for how long."""
        with progress_bar(quiet=self.quiet) as progress:
            progress.add_task(what, total=None)
            yield

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Surrounds a command's work: with a device, the library's log as notes, and errors in one line."""
        with (
            _failing_in_one_line(self.debug),
            _computing_on(self.device, self.cores),
            warnings.catch_warnings(),
            _log_as_notes(self),
        ):
            if not self.debug:
                # They are written for programmers.
                warnings.simplefilter("ignore")
            # An interrupted fit would go on with what it has, and a shell script could not see that.
            warnings.simplefilter("error", InterruptedFitWarning)
            yield


@dataclass(frozen=True)
class TableSession(Session, TextOptions):
    """How a command runs that reads a table."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Makes a function with parameters of options a command, which runs in its `session`.

    A parameter annotated with a dataclass stands for a group of options, one a field.
    """
    parameters = inspect.signature(function).parameters
    groups: dict[str, Any] = {n: p.annotation for n, p in parameters.items() if dataclasses.is_dataclass(p.annotation)}
    options = [parameter for name, parameter in parameters.items() if name not in groups] + [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for group in groups.values()
        for field in dataclasses.fields(group)
    ]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        with given["session"].running():
            function(**given)

    vars(run)["__signature__"] = inspect.Signature(options)
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def progress_bar(*, quiet: bool = False) -> Any:
    """Returns a bar of rich on the standard error stream; it is seen in a terminal only, until the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<18}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)


def _harmless(text: str) -> str:
    r"""A text whose control characters, except tabs and line ends, are written as escapes.

    >>> _harmless("a\x1b[31m")
    'a\\x1b[31m'
    """
    return "".join(
        repr(character)[1:-1] if unicodedata.category(character) == "Cc" and character not in "\t\n" else character
        for character in text
    )


@contextlib.contextmanager
def _failing_in_one_line(debug: bool) -> Iterator[None]:
    try:
        yield
    except (JaxtreeError, OSError, MemoryError, KeyboardInterrupt, InterruptedFitWarning) as error:
        if debug or isinstance(error, BrokenPipeError):
            raise
        is_interrupt = isinstance(error, KeyboardInterrupt | InterruptedFitWarning)
        message = "interrupted; nothing was written" if is_interrupt else f"error: {_in_one_line(error)}"
        print(_harmless(message), file=sys.stderr, flush=True)
        raise typer.Exit(INTERRUPTED if is_interrupt else 1) from None


def _in_one_line(error: BaseException) -> str:
    """The message of an error without line ends, and without its middle if it is very long."""
    message = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        message = f"there is not enough memory for this: {error}".removesuffix(": ")
    message = "; ".join([message, *getattr(error, "__notes__", ())])
    line, half = " ".join(message.split()), _LONGEST_MESSAGE // 2
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:half]} … {line[-half:]}"


@contextlib.contextmanager
def _computing_on(device: str, cores: int | None) -> Iterator[None]:
    """Computes on a kind of device and on a number of cores."""
    with contextlib.ExitStack() as after:
        if cores is not None:
            after.callback(os.sched_setaffinity, 0, _use_cores(cores))
        # JAX is started here, so that --help is quick and that it sees the cores it may use.
        from jaxtree.devices import computing_on

        after.enter_context(computing_on(device))
        yield


def _use_cores(cores: int) -> set[int]:
    """Binds this process to a number of cores; returns those that it had."""
    if not hasattr(os, "sched_getaffinity"):
        raise InvalidInputError(
            f"--cores needs an operating system that binds programs to cores, and {sys.platform} does not"
        )
    allowed = os.sched_getaffinity(0)
    if cores > len(allowed):
        raise InvalidInputError(f"--cores must be at most {len(allowed)}, the number of cores here, got {cores}")
    os.sched_setaffinity(0, set(sorted(allowed)[:cores]))
    return allowed


@contextlib.contextmanager
def _log_as_notes(session: Session) -> Iterator[None]:
    """Prints as notes what the library logs, such as that a program took long to compile."""
    logger, handler = logging.getLogger("jaxtree"), logging.Handler(logging.INFO)
    vars(handler)["emit"] = lambda record: session.note(record.getMessage())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
