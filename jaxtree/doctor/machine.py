"""Versions, hardware, devices that JAX finds, or why it finds none, and where fits compute that nobody has placed."""

import contextlib
import importlib.metadata
import logging
import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

import jaxtree
from jaxtree.arrays import Device
from jaxtree.cores import num_cores
from jaxtree.devices import default_device, kind_of
from jaxtree.devices.current import is_given
from jaxtree.devices.policy import choose
from jaxtree.doctor.report import DeviceFacts, FitPlace, Machine, without_home
from jaxtree.errors import InvalidInputError

PACKAGES = (
    "jaxtree", "jax", "jaxlib", "numpy", "scipy", "scikit-learn", "jax-cuda12-plugin", "jax-cuda13-plugin",
    "jax-rocm7-plugin", "jax-metal", "libtpu", "warp-lang",
)  # fmt: skip
"""The packages that decide what fits do; plugins are those of the devices."""

BACKENDS = "jax._src.xla_bridge"
"""The logger to which JAX says, for one, that there is a GPU for which it has no plugin."""

SIZES = ((1_000, 10), (100_000, 28), (1_000_000, 28))
"""Rows and columns of fits whose places are reported."""

_LIMIT = Path("/sys/fs/cgroup/memory.max")


def find_versions() -> dict[str, str]:
    """Returns the version of Python and of every package that is there.

    >>> sorted(find_versions())[:3]
    ['jax', 'jaxlib', 'jaxtree']
    """
    versions = {"python": platform.python_version(), "jaxtree": jaxtree.__version__}
    for name in PACKAGES[1:]:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def describe_machine() -> Machine:
    """Returns what the operating system says of the hardware."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return Machine(system, _processor(), num_cores(), _memory(), load)


def find_devices() -> tuple[list[Device], list[str]]:
    """Returns the devices of this process, those of the CPU first, and what JAX has said while it looked for them.

    Raises:
        InvalidInputError: JAX is not to use the CPU, with which others are compared.
    """
    with _listening(BACKENDS) as said:
        try:
            devices = jax.local_devices()
        except RuntimeError as error:
            said.append(without_home(error))
            devices = []
        try:
            hosts = jax.local_devices(backend="cpu")
        except RuntimeError as error:
            raise InvalidInputError(
                "devices are compared with the CPU, and JAX may not use it: add cpu to JAX_PLATFORMS, as in cuda,cpu "
                f"({without_home(error)})"
            ) from None
    return [*hosts, *(device for device in devices if kind_of(device) != "cpu")], said


def describe_device(device: Device) -> DeviceFacts:
    """Returns what JAX says of a device."""
    try:
        memory = (device.memory_stats() or {}).get("bytes_limit")
    except (AttributeError, RuntimeError):
        # Not every plugin counts.
        memory = None
    return DeviceFacts(place_of(device), kind_of(device), device.device_kind, memory)


def place_of(device: Device) -> str:
    """Returns the name of a device: its kind and number."""
    return f"{kind_of(device)}:{device.id}"


def choose_places() -> tuple[FitPlace, ...]:
    """Returns where fits of several kinds and sizes compute.

    >>> choose_places()[0].place
    'cpu:0'
    """
    models: dict[str, Any] = {
        "tree": jaxtree.DecisionTreeClassifier(),
        "forest of 100 trees": jaxtree.RandomForestClassifier(),
        "100 rounds of boosting": jaxtree.GradientBoostingClassifier(),
        "1,000 rounds of boosting": jaxtree.GradientBoostingClassifier(1000),
        "soft tree": jaxtree.SoftTreeClassifier(),
    }
    return tuple(FitPlace(fit, *size, *_place_of(model, *size)) for fit, model in models.items() for size in SIZES)


def _place_of(model: Any, num_rows: int, num_columns: int) -> tuple[str, str]:
    """The device of a fit, and the reason."""
    device = default_device()
    if is_given():
        return place_of(device), "jax.default_device names it"
    if kind_of(device) == "cpu":
        return place_of(device), "JAX finds no other kind"
    choice = choose(model.work_of_fit(num_rows, num_columns), kind_of(device))
    return "cpu:0" if choice.platform == "cpu" else place_of(device), choice.reason


@contextlib.contextmanager
def _listening(name: str) -> Iterator[list[str]]:
    """Collects what is logged as a warning or worse."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    vars(handler)["emit"] = lambda record: said.append(without_home(record.getMessage()))
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


def _processor() -> str:
    """The name of the processor: that of Linux or macOS, or else what Python knows."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(":")[2].strip()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    """Bytes that the machine has, or its container may use."""
    found = []
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError):
        found.append(int(_LIMIT.read_text()))
    return min(found, default=None)
