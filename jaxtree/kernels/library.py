"""The kernel in C++, which an installation with a compiler compiles; `native/` has its source.

Most of its functions are handlers of XLA, see `choose.py`; those that walk rows are called by ctypes.
"""

import ctypes
import functools
import importlib
import importlib.metadata
import json
import logging
import os

from jaxtree.errors import present

LOGGER = logging.getLogger("jaxtree")

INTERFACE = 24
"""The version of the arguments of the kernel's functions that this package knows."""


@functools.cache
def load() -> ctypes.CDLL | None:
    """Returns the kernel; None if it is not installed in the right version, or switched off by `JAXTREE_NATIVE=0`.

    One that the system cannot load, such as for want of a newer C++ library, is not there either, and the log says why.
    """
    try:
        return _open()
    except ImportError:
        return None
    except OSError as error:
        LOGGER.warning("the kernel in C++ cannot be loaded, and trees grow without it: %s", error)
        return None


def growth_fields() -> list[list[str]]:
    """Returns the names of all that the kernel, which must be there, reads or makes by its place in a growth.

    They are those of arrays, of the whole numbers of features, of limits, and of the whole numbers of nodes.
    """
    function = present(load()).jaxtree_growth_fields
    function.restype = ctypes.c_char_p
    return [line.split()[1:] for line in function().decode().splitlines()]


def why_absent() -> str | None:
    """Returns in words why there is no kernel; None if there is one."""
    try:
        _open()
    except ImportError as error:
        return str(error)
    except OSError as error:
        return f"the system cannot load it: {error}"
    return None


def _open() -> ctypes.CDLL:
    """Opens the library.

    Raises:
        ImportError: The kernel is switched off, not installed, or of another version.
        OSError: The system cannot load it.
    """
    if os.environ.get("JAXTREE_NATIVE") == "0":
        raise ImportError("JAXTREE_NATIVE=0 switches it off")
    try:
        package = importlib.import_module("jaxtree_native")
    except ImportError:
        raise ImportError(_why_not_installed()) from None
    if package.INTERFACE != INTERFACE:
        raise ImportError(f"it is of version {package.INTERFACE}, and this jaxtree needs {INTERFACE}: install again")
    return ctypes.CDLL(str(package.LIBRARY))


def _why_not_installed() -> str:
    """Says what an installation is that has no kernel; pip notes where one came from (PEP 610)."""
    try:
        origin = importlib.metadata.distribution("jaxtree").read_text("direct_url.json") or "{}"
    except importlib.metadata.PackageNotFoundError:
        return "jaxtree is used from a folder and not installed"
    if {"dir_info", "vcs_info"} & set(json.loads(origin)):
        return "it was not built with jaxtree: `pip install -v` says whether a compiler was found, and what failed"
    return "this is the wheel for every platform, which has none"
