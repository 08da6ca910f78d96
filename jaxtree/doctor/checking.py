"""All that a machine does, in a report: one tree is grown at every place, and must have the same bits there.

The table is made of whole numbers and divisions by powers of two alone, which every machine makes alike.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

import jaxtree
from jaxtree import program_folder
from jaxtree.arrays import Device
from jaxtree.devices import kind_of
from jaxtree.doctor.machine import (
    choose_places,
    describe_device,
    describe_machine,
    find_devices,
    find_versions,
    place_of,
)
from jaxtree.doctor.programs import check_programs
from jaxtree.doctor.report import FORM, HOST, WITHOUT_KERNEL, Compared, Report, without_home
from jaxtree.errors import InvalidInputError
from jaxtree.kernels import library

OnStep = Callable[[str], Any]

ROWS, COLUMNS, DEPTH = 10_000, 8, 6
CATEGORIES = (6, 7)
"""The columns that are categories, of 12 values."""

_GAPS = 60
"""One cell in this number of cells is missing."""

REPORTED = ("impurity", "gain")
"""Fields of nodes that decide nothing: they are sums of logarithms, which may differ in their last bits."""

TOLERANCE, MOST_VALUES = 1e-6, 256
"""How far such numbers may be apart, in parts of them where they are greater than 1, and how many are compared."""

PREDICTIONS = "predictions"
"""The field of what a model says of all rows."""

REPEATS = 3
"""Fits after the first, of which the fastest counts."""

PATIENCE = 300.0
"""Seconds that XLA's programs on the CPU may take to compile and to run."""

CHILD = "from jaxtree.doctor import checking; checking.print_fit({})"
"""The script of the process that has no kernel."""

_LONGEST = 500


class FitResult(NamedTuple):
    """The tree at a place.

    Attributes:
        sums: SHA-256 sums of what must have the same bits, by field; none after an error.
        values: The first values of what must be close.
        seconds: The fastest of the later fits; None after an error.
        error: The error in a line; None if there was none.
    """

    sums: dict[str, str]
    values: dict[str, list[float]]
    seconds: float | None
    error: str | None

    @property
    def digest(self) -> str:
        """16 digits that stand for all nodes, alike on all machines; "" after an error.

        Predictions are left out: exponentials of NumPy differ in a last bit between processors.
        """
        sums = "".join(f"{name} {own}\n" for name, own in self.sums.items() if name != PREDICTIONS)
        return hashlib.sha256(sums.encode()).hexdigest()[:16] if sums else ""


def check_machine(platform: str | None = None, *, num_rows: int = ROWS, on_step: OnStep | None = None) -> Report:
    """Finds out what this machine does: what is installed, whether programs are kept, whether trees are the same.

    A tree is grown on the host, on every device of JAX and, where the kernel in C++ is there, on the host without it;
    all arrays of nodes must have the same bits. It takes half a minute on two cores of a CPU that has compiled nothing
    before, and longer where other devices must compile. Call it before JAX starts: it looks from other processes
    whether JAX finds compiled programs again, and a TPU is for one process at a time.

    Args:
        platform: `cpu`, `gpu` or `tpu`: the only devices that are compared with the host; None for all.
        num_rows: The rows of the table that is fitted.
        on_step: Called with what is being done.

    Returns:
        The report; `describe` makes a text of it, `to_text` JSON.

    Raises:
        InvalidInputError: There is no such device, or JAX may not use the CPU.

    Example:
        >>> from jaxtree.doctor import check_machine, describe
        >>> print(describe(check_machine()))  # doctest: +SKIP
    """
    began, say = time.monotonic(), on_step or (lambda what: None)
    if num_rows < 1:
        raise InvalidInputError(f"num_rows must be at least 1, got {num_rows}")
    machine = describe_machine()
    say("kept programs")
    programs = check_programs()
    found, warnings = find_devices()
    devices = _chosen(found, platform)
    say("a tree on the host")
    expected = fit_at(found[0], num_rows)
    compared = [compare(HOST, expected, expected)]
    for device in devices:
        say(f"a tree on {place_of(device)}")
        compared.append(compare(place_of(device), fit_at(device, num_rows), expected))
    why_absent = library.why_absent()
    if why_absent is None and platform in (None, "cpu"):
        say("a tree on the host without the kernel")
        compared.append(compare(WITHOUT_KERNEL, fit_without_kernel(num_rows), expected))
    program_folder.keep_programs()
    folder = jax.config.values["jax_compilation_cache_dir"]
    return Report(
        form=FORM,
        date=date.today().isoformat(),
        seconds=round(time.monotonic() - began, 1),
        rows=num_rows,
        versions=find_versions(),
        machine=machine,
        kernel=None if why_absent is None else without_home(why_absent),
        devices=tuple(map(describe_device, found)),
        warnings=tuple(warnings),
        folder=None if folder is None else without_home(folder),
        programs=programs,
        fits=tuple(compared),
        choices=choose_places(),
    )


def _chosen(found: Sequence[Device], platform: str | None) -> list[Device]:
    """The devices to compare with the host, which is the first."""
    others = list(found[1:])
    if platform is None:
        return others
    if platform not in {kind_of(device) for device in found}:
        names = ", ".join(sorted({kind_of(device) for device in found}))
        raise InvalidInputError(f"there is no {platform} here; JAX finds {names}")
    return [device for device in others if kind_of(device) == platform]


def make_table(num_rows: int) -> tuple[Float[np.ndarray, "row feature"], Int[np.ndarray, " row"]]:
    """Returns rows with missing values, of which the last columns are numbers of categories, and a class of each.

    >>> X, y = make_table(5)
    >>> X.shape, y.tolist()
    ((5, 8), [2, 1, 0, 1, 2])
    """
    draw = np.random.RandomState(5)
    X = draw.randint(0, 240, (num_rows, COLUMNS)) / 2.0 ** np.arange(COLUMNS)
    X[:, CATEGORIES] = draw.randint(0, 12, (num_rows, len(CATEGORIES)))
    gaps = np.where(draw.randint(0, _GAPS, X.shape) == 0, np.nan, X)
    score = X[:, 0] + 4 * X[:, 2] + 60 * (X[:, 6] % 3 == 1) - 40 * (X[:, 7] > 8) + draw.randint(0, 64, num_rows)
    return gaps, np.digitize(score, [240, 320])


def fit_at(device: Device, num_rows: int) -> FitResult:
    """Grows the tree on a device, which may fail in any way."""
    X, y = make_table(num_rows)
    model = jaxtree.DecisionTreeClassifier(max_depth=DEPTH, categorical_features=CATEGORIES)
    try:
        with jax.default_device(device):
            seconds = min([_seconds_of(lambda: model.fit(X, y)) for _ in range(REPEATS + 1)][1:])
            fields = {name: np.asarray(value) for name, value in vars(model.tree_).items()}
            fields[PREDICTIONS] = np.asarray(model.predict_proba(X))
    except Exception as error:
        return _failed(f"{type(error).__name__}: {error}")
    sums = {name: _sum_of(value) for name, value in fields.items() if name not in REPORTED}
    values = {name: fields[name].ravel()[:MOST_VALUES].astype(float).tolist() for name in REPORTED}
    return FitResult(sums, values, seconds, None)


def _failed(error: str) -> FitResult:
    return FitResult({}, {}, None, without_home(error)[:_LONGEST])


def _seconds_of(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return round(time.perf_counter() - start, 6)


def _sum_of(values: np.ndarray) -> str:
    """The sum of type, shape and contents, in the order of bytes that most machines have."""
    ordered = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return hashlib.sha256(f"{values.dtype.str[1:]} {values.shape} ".encode() + ordered.tobytes()).hexdigest()


def compare(place: str, fitted: FitResult, expected: FitResult) -> Compared:
    """Compares the tree at a place with that of the host; one that failed there has nothing to be compared with."""
    differs = None
    if fitted.error is None and expected.error is None:
        names = dict.fromkeys([*expected.sums, *fitted.sums])
        differs = next((name for name in names if fitted.sums.get(name) != expected.sums.get(name)), None)
        far = (name for name, own in expected.values.items() if not _are_close(fitted.values[name], own))
        differs = differs or next(far, None)
    return Compared(place, fitted.digest, differs, fitted.error, fitted.seconds)


def _are_close(values: list[float], expected: list[float]) -> bool:
    is_as_long = len(values) == len(expected)
    return is_as_long and np.allclose(values, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def print_fit(num_rows: int) -> None:
    """Prints the tree of the CPU as JSON, for the process that started this one."""
    print(json.dumps(fit_at(jax.local_devices(backend="cpu")[0], num_rows)))


def fit_without_kernel(num_rows: int) -> FitResult:
    """Returns the tree that XLA grows on the CPU, in a process of its own."""
    folders = [str(Path(str(jaxtree.__file__)).parent.parent), os.environ.get("PYTHONPATH", "")]
    variables = {"JAXTREE_NATIVE": "0", "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    try:
        command = [sys.executable, "-c", CHILD.format(num_rows)]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=PATIENCE)
        return FitResult(*json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return _failed(f"the process was not done after {PATIENCE:.0f} s")
    except (IndexError, json.JSONDecodeError):
        return _failed([f"the process ended with status {done.returncode}", *done.stderr.splitlines()][-1])
