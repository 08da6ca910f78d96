"""Where and with what figures were measured."""

import os
import platform
from collections.abc import Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jaxtree.kernels import choose


def describe_run(packages: Sequence[str]) -> dict[str, Any]:
    """The date, the versions of packages, and the machine; None is a package that is not installed."""
    return {
        "date": date.today().isoformat(),
        "versions": {package: _version(package) for package in packages},
        "native_kernels": choose.is_there(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
