"""Peak memory of this process."""

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_mib() -> float:
    """The most memory that this process held at a time, in MiB.

    Linux tells it in `VmHWM`. `ru_maxrss` would not do there: a process that another one starts inherits the other
    one's peak.
    """
    if _STATUS.is_file():
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def held_mib() -> float:
    """The memory that this process holds now, in MiB; on Linux alone."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def forget_peak() -> None:
    """Begins a new peak; on Linux alone."""
    Path("/proc/self/clear_refs").write_text("5")
