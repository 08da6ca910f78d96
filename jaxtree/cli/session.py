"""What every command of the user's own data does around its work: the machine, what it prints, and how it fails.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from jaxtree.errors import InterruptedFitWarning, InvalidInputError, JaxtreeError

_MOST_NAMES = 12
_LONGEST_WORD = 60
_LONGEST_MESSAGE = 2000

_run = functools.partial(typer.Option, rich_help_panel="The run")
_DEVICES = ("cpu", "gpu", "tpu")


@dataclass(frozen=True)
class Session:
    """How a command runs; every command has these options."""

    device: Annotated[str | None, _run(help="Where to compute: cpu, gpu or tpu.", show_default="JAX's choice")] = None
    cores: Annotated[int | None, _run(min=1, help="How many cores to use.", show_default="all")] = None
    quiet: Annotated[bool, _run("--quiet", help="Say nothing beside results.")] = False
    debug: Annotated[bool, _run("--debug", help="Show where an error arose.")] = False

    def note(self, text: str) -> None:
        """Prints a note on the standard error stream, unless the command is to be quiet."""
        if not self.quiet:
            print_plainly(harmless(text), to_stderr=True)

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Shows in a terminal what is being done, and for how long."""
        with progress_bar(quiet=self.quiet) as progress:
            progress.add_task(what, total=None)
            yield

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The surroundings of a command's work."""
        with _failing_in_one_line(self.debug), _on(self.device, self.cores), _warnings(self.debug), _log(self):
            yield


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Makes a function with parameters of options a command, which runs in its `session`.

    A parameter annotated with a dataclass stands for a group of options, one a field.
    """
    own = inspect.signature(function).parameters
    groups: dict[str, Any] = {n: own[n].annotation for n in own if dataclasses.is_dataclass(own[n].annotation)}
    options: list[inspect.Parameter] = []
    for name, parameter in own.items():
        fields = dataclasses.fields(groups[name]) if name in groups else ()
        options += [
            inspect.Parameter(field.name, parameter.kind, default=field.default, annotation=field.type)
            for field in fields
        ] or [parameter]

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


def print_plainly(text: str, *, to_stderr: bool = False) -> None:
    """Prints text as it is, tabs and long lines too."""
    print(text, file=sys.stderr if to_stderr else sys.stdout, flush=to_stderr)


def in_short(text: object) -> str:
    """Returns a text as a string, cut with an ellipsis if it is long.

    >>> in_short("b"), len(in_short("b" * 200_000))
    ('b', 60)
    """
    word = str(text).replace("\n", " ")
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"


def listed(names: Iterable[object]) -> str:
    """Returns the first of some names, and how many more there are.

    >>> listed(["a", "b"]), listed([f"x{place}" for place in range(14)])[-15:]
    ('a, b', 'x11, and 2 more')
    """
    words = [in_short(name) for name in names]
    more = [f"and {len(words) - _MOST_NAMES} more"] if len(words) > _MOST_NAMES else []
    return ", ".join([*words[:_MOST_NAMES], *more])


def in_one_line(message: str) -> str:
    """Returns a message on one line, without its middle if it is very long."""
    line = " ".join(message.split())
    half = _LONGEST_MESSAGE // 2
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:half]} … {line[-half:]}"


def harmless(text: str) -> str:
    r"""Returns a text whose control characters, except tabs and line ends, are written as escapes.

    >>> harmless("a\x1b[31m")
    'a\\x1b[31m'
    """
    return "".join(
        repr(character)[1:-1] if unicodedata.category(character) == "Cc" and character not in "\t\n" else character
        for character in text
    )


def check_choice(option: str, given: str | None, allowed: Sequence[str]) -> None:
    """Raises BadParameter unless an option is allowed or not given."""
    if given is not None and given not in allowed:
        raise typer.BadParameter(f"must be one of {', '.join(allowed)}, got {given!r}", param_hint=option)


@contextlib.contextmanager
def _failing_in_one_line(debug: bool) -> Iterator[None]:
    try:
        yield
    except (JaxtreeError, OSError, MemoryError) as error:
        if debug or isinstance(error, BrokenPipeError):
            raise
        print_plainly(harmless(f"error: {in_one_line(_message(error))}"), to_stderr=True)
        raise typer.Exit(1) from None
    except (KeyboardInterrupt, InterruptedFitWarning):
        if debug:
            raise
        print_plainly("interrupted; nothing was written", to_stderr=True)
        raise typer.Exit(130) from None


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this: {error}".removesuffix(": ")
    return str(error) or type(error).__name__


@contextlib.contextmanager
def _on(device: str | None, cores: int | None) -> Iterator[None]:
    """Computes on a kind of device and on so many cores, and keeps compiled programs on disk."""
    if device not in (None, *_DEVICES):
        raise typer.BadParameter(f"allowed are {', '.join(_DEVICES)}, got {device!r}", param_hint="--device")
    with contextlib.ExitStack() as after:
        if cores is not None:
            after.callback(os.sched_setaffinity, 0, _use_cores(cores))
        # JAX is started here, so that --help is quick and that it sees the cores it may use.
        import jax

        from jaxtree.compilation import enable_compilation_cache

        enable_compilation_cache()
        if device is not None:
            try:
                after.enter_context(jax.default_device(jax.devices(device)[0]))
            except RuntimeError:
                found = ", ".join(sorted({other.platform for other in jax.devices()}))
                raise InvalidInputError(f"there is no {device} here; JAX finds {found}") from None
        yield


def _use_cores(cores: int) -> set[int]:
    """Binds this process to so many cores; returns those that it had."""
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
def _warnings(debug: bool) -> Iterator[None]:
    """Keeps warnings that are written for programmers from users of a command, and ends an interrupted command.

    An interrupted fit would go on with what it has, which a shell script could not tell from a whole one.
    """
    with warnings.catch_warnings():
        if not debug:
            warnings.simplefilter("ignore")
        warnings.simplefilter("error", InterruptedFitWarning)
        yield


@contextlib.contextmanager
def _log(session: Session) -> Iterator[None]:
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
