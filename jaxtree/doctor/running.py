"""The fits at a place: how long they take, and whether they are those of the host."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import jax

import jaxtree
from jaxtree.arrays import Device
from jaxtree.doctor.fingerprints import Fingerprint, fingerprint_of, first_difference
from jaxtree.doctor.fits import FITS, Fit, OwnTable, make_table
from jaxtree.doctor.report import WITHOUT_KERNEL, Compared, Timed, without_home
from jaxtree.errors import present

REPEATS = 3
"""Fits after the first, and predictions, of which the fastest counts."""

DECIMALS = 6
"""Decimals of seconds that are told."""

PATIENCE = 300.0
"""Seconds that XLA's programs on the CPU may take to compile and to run."""

CHILD = "from jaxtree.doctor import running; running.print_fingerprints({})"
"""The script of the process that has no kernel."""

_LONGEST = 500

Seconds: TypeAlias = tuple[float, float, float | None]
"""Seconds of the first fit, a later one, and a prediction, which not every fit has."""


class FitResult(NamedTuple):
    """The outcome of a fit.

    Attributes:
        fit: Its name.
        fingerprint: What is compared; None after an error.
        seconds: How long it took; None where it was not timed.
        error: The error in a line; None if there was none.
    """

    fit: str
    fingerprint: Fingerprint | None
    seconds: Seconds | None
    error: str | None


def fit_at(fit: Fit, table: OwnTable, device: Device, *, repeats: int = REPEATS) -> FitResult:
    """Fits a table on a device, which may fail in any way.

    Args:
        fit: What is fitted.
        table: The rows.
        device: A device of JAX.
        repeats: How often it is fitted again and predicts; 0 where time does not matter.
    """
    X, y = fit.rows_of(table)
    try:
        with jax.default_device(device):
            estimator, seconds = _timed(fit.make, X, y, repeats)
            fingerprint = fingerprint_of(estimator, X, has_same_bits=fit.has_same_bits)
    except Exception as error:
        return failed(fit.name, error)
    return FitResult(fit.name, fingerprint, seconds, None)


def failed(fit: str, error: Exception) -> FitResult:
    """Returns what became of a fit that has ended with an error."""
    return FitResult(fit, None, None, without_home(f"{type(error).__name__}: {error}")[:_LONGEST])


def fit_peer(fit: Fit, table: OwnTable) -> Timed | None:
    """Times scikit-learn's estimator for a fit; None if it has none."""
    if fit.peer is None:
        return None
    estimator, seconds = _timed(fit.peer, *fit.rows_of(table), REPEATS)
    return Timed(fit.name, f"scikit-learn's {type(estimator).__name__}", *present(seconds), predicted=None)


def compare(place: str, fitted: Sequence[FitResult], expected: Sequence[FitResult]) -> list[Compared]:
    """Compares fits at a place with those of the host; one that failed there has nothing to be compared with."""
    host = {own.fit: own.fingerprint for own in expected}
    compared = []
    for own in fitted:
        fingerprint, wanted = own.fingerprint, host.get(own.fit)
        differs = first_difference(fingerprint, wanted) if fingerprint is not None and wanted is not None else None
        compared.append(Compared(own.fit, place, fingerprint.digest if fingerprint else "", differs, own.error))
    return compared


def compare_without_kernel(num_rows: int, expected: Sequence[FitResult]) -> list[Compared]:
    """Compares trees that XLA grows on the CPU, in a process of its own, with those of the kernel.

    Args:
        num_rows: The rows of the table.
        expected: The fits of the host.
    """
    return compare(WITHOUT_KERNEL, _fit_in_child(num_rows), expected)


OF_TREES = tuple(fit for fit in FITS if fit.has_same_bits)
"""The fits that the kernel grows."""


def print_fingerprints(num_rows: int) -> None:
    """Prints fits on the CPU as JSON, for the process that started this one."""
    table, device = make_table(num_rows), jax.local_devices(backend="cpu")[0]
    print(json.dumps([fit_at(fit, table, device, repeats=0) for fit in OF_TREES]))


def _fit_in_child(num_rows: int) -> list[FitResult]:
    """The fits in a process without the kernel."""
    folders = [str(Path(str(jaxtree.__file__)).parent.parent), os.environ.get("PYTHONPATH", "")]
    variables = {"JAXTREE_NATIVE": "0", "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    try:
        command = [sys.executable, "-c", CHILD.format(num_rows)]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=PATIENCE)
        printed = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        error = f"the process was not done after {PATIENCE:.0f} s"
    except (IndexError, json.JSONDecodeError):
        error = without_home([f"the process ended with status {done.returncode}", *done.stderr.splitlines()][-1])
    else:
        return [FitResult(name, Fingerprint(*own) if own else None, None, error) for name, own, _, error in printed]
    return [FitResult(fit.name, None, None, error) for fit in OF_TREES]


def _timed(make: Callable[[], Any], X: Any, y: Any, repeats: int) -> tuple[Any, Seconds | None]:
    """An estimator that was fitted last, and seconds of the first fit, of a later one, and of a prediction."""
    estimator = make()
    first = seconds_of(lambda: estimator.fit(X, y))
    if not repeats:
        return estimator, None
    later = min(seconds_of(lambda: estimator.fit(X, y)) for _ in range(repeats))
    # The first prediction may compile a walk, and is left out.
    predict = min([seconds_of(lambda: estimator.predict(X)) for _ in range(repeats + 1)][1:])
    return estimator, (first, later, predict)


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds that a call takes, of which more digits say nothing."""
    start = time.perf_counter()
    call()
    return round(time.perf_counter() - start, DECIMALS)
