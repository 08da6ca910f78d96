"""What every command of the user's own data does around its work: the machine, what is said, and how it fails.

Results go to the standard output; everything else, such as the types of columns, to the standard error stream. A
command ends with status 0, or with 1 and one line that says what is wrong with data, model or machine; one that is used
wrongly ends with 2, an interrupted one with 130.
"""

import contextlib
import functools
import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.progress import Progress

from jaxtree.cli.progress import progress_bar
from jaxtree.cli.wording import harmless, in_one_line
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, JaxtreeError

_DEVICES = ("cpu", "gpu", "tpu")
_PANEL = "The run"

DeviceOption = Annotated[
    str | None,
    typer.Option(help="Where to compute: cpu, gpu or tpu.", show_default="JAX's choice", rich_help_panel=_PANEL),
]
CoresOption = Annotated[
    int | None, typer.Option(min=1, help="How many cores to use.", show_default="all", rich_help_panel=_PANEL)
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Say nothing beside results.", rich_help_panel=_PANEL)]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show where an error arose.", rich_help_panel=_PANEL)]

_OPTIONS = {
    "device": (DeviceOption, None),
    "cores": (CoresOption, None),
    "quiet": (QuietOption, False),
    "debug": (DebugOption, False),
}


@dataclass(frozen=True)
class Session:
    """How a command speaks beside its results.

    Attributes:
        quiet: Whether it does not.
    """

    quiet: bool = False

    def note(self, text: str) -> None:
        """Says something on the standard error stream."""
        if not self.quiet:
            print_plainly(harmless(text), to_stderr=True)

    def progress(self) -> Progress:
        """Returns a progress bar, on the standard error stream."""
        return progress_bar(quiet=self.quiet)

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Shows in a terminal what is being done, and for how long."""
        with self.progress() as progress:
            progress.add_task(what, total=None)
            yield


def in_session(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options --device, --cores, --quiet and --debug, and a `Session` as its first argument."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        device, cores, quiet, debug = (given.pop(name) for name in _OPTIONS)
        if device is not None and device not in _DEVICES:
            raise typer.BadParameter(f"allowed are {', '.join(_DEVICES)}, got {device!r}", param_hint="--device")
        session = Session(quiet)
        with _failing_in_one_line(debug), _on(device, cores), _warnings(debug), _log(session):
            command(session, **given)

    first, *others = inspect.signature(command).parameters.values()
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _OPTIONS.items()
    ]
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in others]
    vars(run)["__signature__"] = inspect.Signature([*own, *added])
    run.__annotations__ = {
        **{name: hint for name, hint in command.__annotations__.items() if name != first.name},
        **{name: annotation for name, (annotation, _) in _OPTIONS.items()},
    }
    return run


def print_plainly(text: str, *, to_stderr: bool = False) -> None:
    """Prints text as it is, tabs and long lines too."""
    print(text, file=sys.stderr if to_stderr else sys.stdout, flush=to_stderr)


class _Notes(logging.Handler):
    """Says what the library logs, such as that a program took long to compile."""

    def __init__(self, session: Session):
        super().__init__(logging.INFO)
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        self._session.note(record.getMessage())


@contextlib.contextmanager
def _log(session: Session) -> Iterator[None]:
    logger, handler = logging.getLogger("jaxtree"), _Notes(session)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


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
    before = os.sched_getaffinity(0) if cores is not None and hasattr(os, "sched_getaffinity") else None
    if cores is not None:
        _use_cores(cores, before)
    try:
        # JAX is started here, so that --help is quick and that it sees the cores it may use.
        import jax

        from jaxtree.compilation import enable_compilation_cache

        enable_compilation_cache()
        if device is None:
            yield
            return
        try:
            chosen = jax.devices(device)[0]
        except RuntimeError:
            raise InvalidInputError(
                f"there is no {device} here; JAX finds {', '.join(sorted({d.platform for d in jax.devices()}))}"
            ) from None
        with jax.default_device(chosen):
            yield
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)


def _use_cores(cores: int, allowed: set[int] | None) -> None:
    if allowed is None:
        raise InvalidInputError(
            f"--cores needs an operating system that binds programs to cores, and {sys.platform} does not"
        )
    if cores > len(allowed):
        raise InvalidInputError(f"--cores must be at most {len(allowed)}, the number of cores here, got {cores}")
    os.sched_setaffinity(0, set(sorted(allowed)[:cores]))


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
