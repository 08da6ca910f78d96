"""A machine's report, in records, words and JSON to send: without names of a user, a machine or a home.

A *place* is where fits compute: the host, a device of JAX such as `gpu:0`, or the host without the kernel in C++.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FORM = 2
"""The number of this form. Form 1 had six fits with their `fit`, and `times`."""

HOST = "host"
"""The place of the first CPU device, with the kernel in C++ where it is there: others are compared with it."""

WITHOUT_KERNEL = "host without kernel"
"""The place of the CPU where XLA grows trees although the kernel in C++ is there."""


class Machine(NamedTuple):
    """The hardware and the operating system.

    Attributes:
        system: Its name and release.
        processor: The name of the processor.
        cores: The number that this process may use.
        memory: Bytes that there are; None where the system does not say.
        load: How many programs wanted a core in the minute before, in the mean; None where the system does not say.
    """

    system: str
    processor: str
    cores: int
    memory: int | None
    load: float | None


class DeviceFacts(NamedTuple):
    """A device that JAX finds.

    Attributes:
        place: Its kind and number, such as `gpu:0`.
        platform: `cpu`, `gpu` or `tpu`.
        kind: The name that its maker gives it.
        memory: Bytes that JAX may use; None where it does not say.
    """

    place: str
    platform: str
    kind: str
    memory: int | None


class ProgramsKept(NamedTuple):
    """Whether JAX keeps compiled programs in a folder, and finds them again in another process.

    Attributes:
        platform: Where the programs run.
        keeps: Whether the first process has written files.
        finds: Whether the second one has read what the first has written, and compiled nothing.
        said: The message of XLA about it, or the error that ended a process; "" if there is none.
    """

    platform: str
    keeps: bool
    finds: bool
    said: str


class Compared(NamedTuple):
    """The tree that is grown at a place, and what it has in common with that of the host.

    Attributes:
        place: Where it was grown.
        digest: 16 digits that stand for all arrays of nodes, the same on every machine; "" after an error.
        differs: The first field that differs from the host's; None if none does.
        error: The error that ended the fit, in a line; None if none did.
        seconds: The fastest of some later fits; None after an error.
    """

    place: str
    digest: str
    differs: str | None
    error: str | None
    seconds: float | None


class FitPlace(NamedTuple):
    """The device of a fit of a size that nobody has placed.

    Attributes:
        fit: The kind of model.
        rows: The number of rows.
        columns: The number of columns.
        place: The place.
        reason: Why it is this place.
    """

    fit: str
    rows: int
    columns: int
    place: str
    reason: str


class Report(NamedTuple):
    """A machine's report.

    Attributes:
        form: The number of the form, `FORM`.
        date: The day, as 2026-11-26.
        seconds: How long it took to find out.
        rows: The rows of the table that was fitted.
        versions: Versions of Python, jaxtree and the packages it computes with.
        machine: The hardware.
        kernel: Why the kernel in C++ is not there; None if it is.
        devices: The devices that JAX finds.
        warnings: Messages of JAX while it looked for devices.
        folder: The folder of kept programs; None if they are not kept.
        programs: Whether programs are kept and found, by platform.
        fits: The trees of all places, compared with the host's.
        choices: Where fits compute by themselves.
    """

    form: int
    date: str
    seconds: float
    rows: int
    versions: dict[str, str]
    machine: Machine
    kernel: str | None
    devices: tuple[DeviceFacts, ...]
    warnings: tuple[str, ...]
    folder: str | None
    programs: tuple[ProgramsKept, ...]
    fits: tuple[Compared, ...]
    choices: tuple[FitPlace, ...]

    @property
    def faults(self) -> tuple[Compared, ...]:
        """Trees that failed, or differ from the host's."""
        return tuple(own for own in self.fits if own.differs is not None or own.error is not None)


def to_text(report: Report) -> str:
    """Returns a report as JSON, with a line a fact: a device, a tree."""
    parts = [f" {_in_json(name)}: {_in_lines(part)}" for name, part in report._asdict().items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _in_lines(part: Any) -> str:
    """JSON of a part of a report; of records with a line each."""
    records = [own._asdict() if hasattr(own, "_asdict") else own for own in part] if type(part) is tuple else []
    if records:
        return "[\n" + ",\n".join(f"  {_in_json(record)}" for record in records) + "\n ]"
    return _in_json(part._asdict() if isinstance(part, Machine) else part)


def _in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def without_home(text: object) -> str:
    """Returns a text in one line, with `~` in place of the folder of the user.

    >>> without_home(f"no file{chr(10)}{Path.home()}/a.so")
    'no file ~/a.so'
    """
    return " ".join(str(text).replace(str(Path.home()), "~").split())


def describe(report: Report) -> str:
    """Returns a report as text, for a terminal or a notebook.

    Args:
        report: The report.

    Example:
        >>> from jaxtree.doctor import check_machine, describe
        >>> print(describe(check_machine()))  # doctest: +SKIP
    """
    sections = (
        ("This machine", _machine(report)),
        ("Compiled programs", _programs(report)),
        (f"A tree of {report.rows:,} rows, and a later fit's time", _fits(report)),
        ("Where a fit computes", _choices(report)),
    )
    parts = [f"{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in sections]
    return "\n\n".join([*parts, verdict(report)])


def verdict(report: Report) -> str:
    """Returns the last line: whether all trees are the same, or which are not."""
    if not report.faults:
        return f"All {len(report.fits)} trees are as they must be; {report.seconds:.0f} s."
    names = ", ".join(own.place for own in report.faults)
    return f"{len(report.faults)} of {len(report.fits)} trees are not as they must be: {names}."


def _machine(report: Report) -> list[str]:
    machine, versions = report.machine, report.versions
    rows = [
        ("versions", ", ".join(f"{name} {own}" for name, own in versions.items())),
        ("system", machine.system),
        ("processor", f"{machine.processor}, {machine.cores} cores, {_bytes(machine.memory)}{_busy(machine)}"),
        ("kernel in C++", "is there" if report.kernel is None else f"is not there: {report.kernel}"),
        *((own.place, f"{own.kind}, {_bytes(own.memory)}") for own in report.devices),
        *(("JAX says", own) for own in report.warnings),
    ]
    return columns(rows)


def _busy(machine: Machine) -> str:
    """Says that other programs use the cores, where they do: timings are then unreliable."""
    if machine.load is None or machine.load < machine.cores / 2:
        return ""
    return f"; load {machine.load:.1f} on {machine.cores} cores: timings are unreliable"


def _programs(report: Report) -> list[str]:
    folder = report.folder or "JAX has no folder for them, so that every process compiles anew"
    return columns([*((own.platform, _of_programs(own)) for own in report.programs), ("folder", folder)])


def _of_programs(own: ProgramsKept) -> str:
    if own.keeps and own.finds:
        return "kept, and found by the next process"
    if own.keeps:
        return f"kept, and not found by the next process, which compiles again{f' ({own.said})' if own.said else ''}"
    return f"not kept: {own.said or 'JAX has written none'}"


def _fits(report: Report) -> list[str]:
    """A line a place, with milliseconds of a later fit."""
    rows = [
        [own.place, _of_fit(own), "" if own.seconds is None else f"{own.seconds * 1000:.1f} ms"] for own in report.fits
    ]
    return [*columns(rows), *(f"on {own.place}: {own.error}" for own in report.faults if own.error)]


def _of_fit(own: Compared) -> str:
    if own.error is not None:
        return "failed"
    if own.differs is not None:
        return f"DIFFERS: {own.differs}"
    return own.digest if own.place == HOST else "same bits"


def _choices(report: Report) -> list[str]:
    """A line for all sizes of a kind of model that compute at one place for one reason."""
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for own in report.choices:
        sizes.setdefault((own.fit, own.place, own.reason), []).append(f"{own.rows:,} x {own.columns}")
    return columns([[fit, place, ", ".join(own), reason] for (fit, place, reason), own in sizes.items()])


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns rows of as many cells as lines whose cells stand below one another.

    >>> columns([["a", "10"], ["bc", "9"]])
    ['a   10', 'bc  9']
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def _bytes(number: int | None) -> str:
    return "memory unknown" if number is None else f"{number / 2**30:.1f} GiB"
