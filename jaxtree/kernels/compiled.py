"""The function of a shared library that `jaxtree.to_library` wrote."""

import ctypes
import os

import numpy as np
from jaxtyping import Float64

ROWS_FUNCTION = "jaxtree_rows"
"""Its name: it has rows, their number, and the outputs of each that it writes."""

_OPENED: dict[str, list[tuple[int, int]]] = {}
"""The files that have been opened by a path: device and number of each."""


class CompiledRows:
    """The function that predicts rows.

    Args:
        path: The library.

    Raises:
        OSError: The system cannot load it.
        AttributeError: It has no such function.
    """

    def __init__(self, path: str | os.PathLike):
        self._rows = getattr(_open(os.path.abspath(path)), ROWS_FUNCTION)
        self._rows.argtypes, self._rows.restype = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p], None

    def __call__(self, rows: Float64[np.ndarray, "row column"], outputs: Float64[np.ndarray, "row output"]) -> None:
        """Writes the outputs of rows; both tables lie in memory row by row."""
        self._rows(rows.ctypes.data, len(rows), outputs.ctypes.data)


def _open(path: str) -> ctypes.CDLL:
    """Opens a library by a name of its own: systems take a name that they know for the file that it was then."""
    status, files = os.stat(path), _OPENED.setdefault(path, [])
    if (status.st_dev, status.st_ino) not in files:
        files.append((status.st_dev, status.st_ino))
    folder, name = os.path.split(path)
    return ctypes.CDLL(os.path.join(folder, *["."] * files.index((status.st_dev, status.st_ino)), name))
