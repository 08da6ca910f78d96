"""The kernel in C++, which an installation with a compiler compiles; `native/` has its source.

Most of its functions are handlers of XLA, see `jaxtree.growth.native`; those that walk rows are called by ctypes.
"""

import ctypes
import functools
import importlib
import os

INTERFACE = 10
"""The version of the arguments of the kernel's functions that this package knows."""


@functools.cache
def load() -> ctypes.CDLL | None:
    """Returns the kernel; None if it is not installed in the right version, or switched off by `JAXTREE_NATIVE=0`."""
    if os.environ.get("JAXTREE_NATIVE") == "0":
        return None
    try:
        package = importlib.import_module("jaxtree_native")
    except ImportError:
        return None
    return ctypes.CDLL(str(package.LIBRARY)) if package.INTERFACE == INTERFACE else None
