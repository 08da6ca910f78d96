"""Decision trees in JAX, on CPU, GPU and TPU.

Only names are loaded at first: a module is loaded with the first of its names that is used, so that a program that
uses trees does not wait for soft trees, drawings or exports.
"""

import importlib
import pkgutil
from typing import Any

from jaxtree import forks as _forks  # noqa: F401  it notices forks from now on, whatever is loaded later

_STUB: Any = pkgutil.get_data("jaxtree", "__init__.pyi")  # wherever the package is, also in an archive
_IMPORTS = [line.split() for line in _STUB.decode().splitlines()]
_MODULE_OF = {words[3]: words[1] for words in _IMPORTS if words and words[0] == "from"}
"""The module of every name, from the stub that type checkers read: "from jaxtree.tree import Tree as Tree"."""

__all__ = sorted(name for name, module in _MODULE_OF.items() if module != "jaxtree")  # pyright: ignore[reportUnsupportedDunderAll]
"""The names that `from jaxtree import *` loads: every class and function."""


def __getattr__(name: str) -> Any:
    """Loads a name, once."""
    if name == "__version__":
        return _version()
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'jaxtree' has no attribute {name!r}")
    if _MODULE_OF[name] == "jaxtree":
        return importlib.import_module(f"jaxtree.{name}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


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
