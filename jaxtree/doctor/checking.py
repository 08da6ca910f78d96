"""All that a machine does, in a report."""

import time
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import jax

from jaxtree import kernel, program_folder
from jaxtree.arrays import Device
from jaxtree.devices import kind_of
from jaxtree.doctor.fits import FITS, ROWS, OwnTable, make_table, predicted_seconds
from jaxtree.doctor.growths import GROWTH, grow_at, way_of
from jaxtree.doctor.machine import describe_device, describe_machine, find_devices, find_versions, place_of
from jaxtree.doctor.places import choose_places
from jaxtree.doctor.programs import check_programs
from jaxtree.doctor.report import FORM, HOST, Compared, Report, Timed, without_home
from jaxtree.doctor.running import FitResult, compare, compare_without_kernel, fit_at, fit_peer
from jaxtree.errors import InvalidInputError

OnStep = Callable[[str], Any]


def check_machine(platform: str | None = None, *, num_rows: int = ROWS, on_step: OnStep | None = None) -> Report:
    """Finds out what this machine does: what is installed, whether programs are kept, whether trees are the same.

    Six models are fitted on the host, on every device of JAX and, where the kernel in C++ is there, on the host
    without it; all arrays of trees must have the same bits. On GPUs and TPUs a tree of a million rows is one more fit,
    of which predictions are made. It takes a minute on two cores of a CPU that has compiled nothing
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
    host, devices = found[0], _chosen(found, platform)
    table = make_table(num_rows)
    expected, times = _fit_on_host(host, table, say)
    compared = compare(HOST, expected, expected)
    for device in devices:
        fitted = _fit_on(device, table, say)
        compared += compare(place_of(device), fitted, expected)
        times += _times_at(device, fitted)
    grown, more = _grow_on_accelerators([host, *devices], say)
    compared, times = compared + grown, times + more
    if kernel.load() is not None and platform in (None, "cpu"):
        say("the host without the kernel")
        compared += compare_without_kernel(num_rows, expected)
    program_folder.keep_programs()
    return Report(
        form=FORM,
        date=date.today().isoformat(),
        seconds=round(time.monotonic() - began, 1),
        rows=num_rows,
        versions=find_versions(),
        machine=machine,
        kernel=_without_home(kernel.why_absent()),
        devices=tuple(map(describe_device, found)),
        warnings=tuple(warnings),
        folder=_without_home(jax.config.values["jax_compilation_cache_dir"]),
        programs=programs,
        fits=tuple(compared),
        times=tuple(times),
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


def _fit_on_host(host: Device, table: OwnTable, say: OnStep) -> tuple[list[FitResult], list[Timed]]:
    """The fits that others are compared with, and their times beside scikit-learn's."""
    fitted: list[FitResult] = []
    times: list[Timed] = []
    for fit in FITS:
        say(f"{fit.name} on the host")
        fitted.append(fit_at(fit, table, host))
        times += _times_at(host, fitted[-1:], HOST)
        peer = fit_peer(fit, table)
        times += [peer] if peer is not None else []
    return fitted, times


def _fit_on(device: Device, table: OwnTable, say: OnStep) -> list[FitResult]:
    fitted = []
    for fit in FITS:
        say(f"{fit.name} on {place_of(device)}")
        fitted.append(fit_at(fit, table, device))
    return fitted


def _grow_on_accelerators(devices: Sequence[Device], say: OnStep) -> tuple[list[Compared], list[Timed]]:
    """A large growth on every kind of accelerator, compared with the host's; nothing where there is none."""
    first_of = {device.device_kind: device for device in reversed(devices) if kind_of(device) != "cpu"}
    compared: list[Compared] = []
    times: list[Timed] = []
    expected: list[FitResult] = []
    for device in (*devices[:1], *first_of.values()) if first_of else ():
        place = place_of(device) if expected else HOST
        say(f"{GROWTH} on {place}")
        grown = [grow_at(device)]
        expected = expected or grown
        compared += compare(place, grown, expected)
        predicted = predicted_seconds(device.device_kind, way_of(device))
        times += [own._replace(predicted=predicted) for own in _times_at(device, grown, place)]
    return compared, times


def _times_at(device: Device, fitted: Sequence[FitResult], place: str | None = None) -> list[Timed]:
    return [
        Timed(own.fit, place or place_of(device), *own.seconds, predicted_seconds(device.device_kind, own.fit))
        for own in fitted
        if own.seconds is not None
    ]


def _without_home(text: str | None) -> str | None:
    return None if text is None else without_home(text)
