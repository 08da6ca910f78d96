"""A machine's report, as records and as JSON to send: without names of a user, a machine or a home.

A *place* is where fits compute: the host, a device of JAX such as `gpu:0`, or the host without the kernel in C++.
"""

import json
import math
import re
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.container import ModelFile
from jaxtree.files.records import check, read_record, require, write_record

FORM = 1
"""The number of this form; a report of another one is not read."""

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
        said: What XLA has said about it, or the error that ended a process; "" if nothing.
    """

    platform: str
    keeps: bool
    finds: bool
    said: str


class Compared(NamedTuple):
    """A fit at a place, and what it has in common with that of the host.

    Attributes:
        fit: The name of the fit.
        place: Where it was computed.
        digest: 16 digits that stand for all arrays of nodes, the same on every machine; "" after an error, and where
            none must have the same bits.
        differs: The first field that differs from the host's; None if none does.
        error: The error that ended the fit, in a line; None if none did.
    """

    fit: str
    place: str
    digest: str
    differs: str | None
    error: str | None


class Timed(NamedTuple):
    """Seconds of a fit at a place.

    Attributes:
        fit: The name of the fit.
        place: Where it was computed, or the class of scikit-learn that did the same on the host.
        first: The first fit, with programs compiled or read.
        later: The fastest of some later fits.
        predict: The fastest of some predictions of all rows; None where nothing was predicted.
        predicted: A later fit by public rates of the device, as it was written down before; None for other devices.
    """

    fit: str
    place: str
    first: float
    later: float
    predict: float | None
    predicted: float | None


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
        versions: Of Python, jaxtree and the packages it computes with.
        machine: The hardware.
        kernel: Why the kernel in C++ is not there; None if it is.
        devices: What JAX finds.
        warnings: What JAX has said while it looked for devices.
        folder: The folder of kept programs; None if they are not kept.
        programs: Whether programs are kept and found, by platform.
        fits: Fits compared with the host's.
        times: How long they took.
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
    times: tuple[Timed, ...]
    choices: tuple[FitPlace, ...]

    @property
    def faults(self) -> tuple[Compared, ...]:
        """Fits that failed, or differ from the host's."""
        return tuple(own for own in self.fits if own.differs is not None or own.error is not None)


def to_text(report: Report) -> str:
    """Returns a report as JSON, which `from_text` reads, with a line a fact: a device, a fit, a time."""
    parts = [f" {_in_json(name)}: {_in_lines(part)}" for name, part in write_record(report, Report).header.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def from_text(text: str) -> Report:
    """Returns the report that is written in a text of unknown origin.

    Raises:
        InvalidInputError: It is no report, or one of another form; the message names the part.
    """
    try:
        return read_record(ModelFile(json.loads(text), {}), Report)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"a report is JSON, as `jaxtree doctor --json` prints it: {error}") from None
    except ModelFileError as error:
        raise InvalidInputError(f"not a report of form {FORM}: {str(error).strip()}") from None


def _in_lines(part: Any) -> str:
    """JSON of a part of a report; of a list with a line an item."""
    if not isinstance(part, list) or not part:
        return _in_json(part)
    return "[\n" + ",\n".join(f"  {_in_json(item)}" for item in part) + "\n ]"


def _in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def without_home(text: object) -> str:
    """Returns a text in one line, with `~` in place of the folder of the user.

    >>> without_home(f"no file{chr(10)}{Path.home()}/a.so")
    'no file ~/a.so'
    """
    return " ".join(str(text).replace(str(Path.home()), "~").split())


@check.register
def _(report: Report) -> None:
    require(report.form == FORM, f"it is of form {report.form}")
    try:
        date.fromisoformat(report.date)
    except ValueError:
        require(False, f"date must be as 2026-11-26, got {report.date!r}")
    require(
        {"python", "jaxtree", "jax", "jaxlib"} <= set(report.versions), "versions lack python, jaxtree, jax or jaxlib"
    )
    require(report.rows > 0, f"rows must be at least 1, got {report.rows}")
    places = {HOST, WITHOUT_KERNEL, *(device.place for device in report.devices)}
    unknown = [own.place for own in report.fits if own.place not in places]
    require(not unknown, f"fits are at {', '.join(unknown)}, which is no device of the report")


@check.register
def _(compared: Compared) -> None:
    is_sum = re.fullmatch(r"([0-9a-f]{16})?", compared.digest)
    require(is_sum, f"digest of {compared.fit!r} must be 16 hexadecimal digits or empty, got {compared.digest!r}")


@check.register
def _(timed: Timed) -> None:
    seconds = [own for own in timed[2:] if own is not None]
    require(all(math.isfinite(own) and own >= 0 for own in seconds), f"times of {timed.fit!r} must be seconds")
