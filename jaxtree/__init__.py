"""Decision trees in JAX, on CPU, GPU and TPU.

Only names are loaded at first: a module is loaded with the first of its names that is used, so that a program that
uses trees does not wait for soft trees, drawings or exports.
"""

import importlib
from typing import Any

from jaxtree import forks as _forks  # noqa: F401  it notices forks from now on, whatever is loaded later
from jaxtree import lazy as _lazy

_MODULE_OF = _lazy.modules_of_stub("jaxtree")
"""The module of every name."""

__all__ = sorted(name for name, module in _MODULE_OF.items() if module != "jaxtree")  # pyright: ignore[reportUnsupportedDunderAll]
"""The names that `from jaxtree import *` loads: every class and function."""


def __getattr__(name: str) -> Any:
    """Loads a name, once."""
    if name == "__version__":
        return _version()
    return _lazy.load_name("jaxtree", _MODULE_OF, name, _hint_for)


def _hint_for(name: str) -> str:
    """Returns the hint of an error about a name that jaxtree does not have: it may be another library's."""
    return importlib.import_module("jaxtree.estimators.common.peers").hint_for_name(name)


def __dir__() -> list[str]:
    """The public names, loaded or not, and the version."""
    return sorted({*_MODULE_OF, "__version__"})


def _version() -> str:
    """Returns the version of the installation, which follows from the tag; "0+unknown" of a folder on the path."""
    metadata = importlib.import_module("importlib.metadata")
    try:
        return metadata.version("jaxtree")
    except metadata.PackageNotFoundError:
        return "0+unknown"
