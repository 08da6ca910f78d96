"""Libraries that are loaded when they are first used, and types of theirs that annotations name before.

JAX takes a second and 150 MB to load, SciPy, narwhals and scikit-learn some more. A process that predicts by NumPy and
the kernel needs none of them (`jaxtree.serving`), and modules that predictions use take them from here.
"""

import contextlib
import functools
import importlib
import itertools
import pkgutil
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

Kind = TypeVar("Kind", bound=type)


def modules_of_stub(package: str) -> dict[str, str]:
    """Returns the module of every name that a package hands on, from the stub that type checkers read.

    It has lines such as "from jaxtree.tree import Tree as Tree".
    """
    stub: Any = pkgutil.get_data(package, "__init__.pyi")  # wherever the package is, also in an archive
    imports = [line.split() for line in stub.decode().splitlines()]
    return {words[3]: words[1] for words in imports if words and words[0] == "from"}


def load_name(
    package: str, module_of: dict[str, str], name: str, hint_for: Callable[[str], str] = lambda name: ""
) -> Any:
    """Returns what a package hands on by a name, which it then has.

    Args:
        package: The package.
        module_of: The module of each of its names.
        name: The name.
        hint_for: Makes the hint of the error about a public name that no room of the package has.

    Raises:
        AttributeError: There is no such name; the message has the room that has it, or the hint.
    """
    if name not in module_of:
        # `from package import module` asks for the module as a name before it is loaded.
        is_asked_by_users = not name.startswith("_") and find_spec(f"{package}.{name}") is None
        room = _room_of(package, module_of, name) if is_asked_by_users else None
        hint = f": it is {package}.{room}.{name}" if room else hint_for(name) if is_asked_by_users else ""
        # By the module and the name Python finds what is spelled alike.
        message = f"module {package!r} has no attribute {name!r}{hint}"
        raise AttributeError(message, name=name, obj=sys.modules[package])
    if module_of[name] == package:
        return importlib.import_module(f"{package}.{name}")
    value = getattr(importlib.import_module(module_of[name]), name)
    setattr(sys.modules[package], name, value)
    return value


def _room_of(package: str, module_of: dict[str, str], name: str) -> str | None:
    """Returns the room of a package that hands on a name, by the text of its imports; None if there is none."""
    line = re.compile(rf"^from .* as {re.escape(name)}$".encode(), re.MULTILINE)
    rooms = [own for own, module in module_of.items() if module == package]
    for room, file in itertools.product(rooms, ("__init__.pyi", "__init__.py")):
        with contextlib.suppress(OSError):
            if line.search(pkgutil.get_data(package, f"{room}/{file}") or b""):
                return room
    return None


def names_of_stub(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__all__`, `__getattr__` and `__dir__` of a package that loads its names when they are first used."""
    module_of = modules_of_stub(package)
    names = sorted(module_of)
    return names, functools.partial(load_name, package, module_of), lambda: list(names)


def is_loaded(library: str) -> bool:
    """Returns whether this process has loaded a library.

    >>> is_loaded("sys"), is_loaded("antigravity")
    (True, False)
    """
    return library in sys.modules


class LazyModule:
    """A module that is loaded with the first of its names that is used.

    Args:
        name: The name that it is imported by.

    Example:
        >>> fractions = LazyModule("fractions")
        >>> fractions.Fraction(1, 2)
        Fraction(1, 2)
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Returns what the module has by a name."""
        if name.startswith("__"):  # asked by `copy`, `pickle` and `inspect`, which shall load nothing
            raise AttributeError(name)
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)  # so that it is looked up once
        return value


class LazyType(type):
    """A type of a library, which has no instances before the library is loaded.

    Example:
        >>> Fraction = LazyType.of("fractions", "Fraction")
        >>> from fractions import Fraction as Loaded
        >>> isinstance(Loaded(1, 2), Fraction), isinstance(0.5, Fraction)
        (True, False)
    """

    module: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, module: str, *names: str) -> "LazyType":
        """Returns the type that a module has by a name, or the union of several."""
        return cls(names[0], (), {"module": module, "names": names})

    def __instancecheck__(cls, instance: Any) -> bool:
        """Says whether a value is of the type."""
        module = sys.modules.get(cls.module)
        return module is not None and isinstance(instance, tuple(map(vars(module).get, cls.names, repeat(()))))


if TYPE_CHECKING:
    import jax as jax
    import jax.extend.core as jax_core
    import jax.numpy as jnp
    import jax.scipy.special as jax_special
    import narwhals as nw
    import scipy.sparse as sparse
    import scipy.special as scipy_special
    from jax import Array as Array
    from jax import Device as Device
    from jax import ShapeDtypeStruct as ShapeDtypeStruct
    from jax import lax as lax
    from jax.core import Tracer as Tracer
    from jax.sharding import Mesh as Mesh
    from narwhals import DataFrame as DataFrame
    from narwhals import Series as Series
    from scipy.sparse import csr_matrix as csr_matrix
else:
    jax, jnp, lax = LazyModule("jax"), LazyModule("jax.numpy"), LazyModule("jax.lax")
    jax_core, jax_special = LazyModule("jax.extend.core"), LazyModule("jax.scipy.special")
    scipy_special = LazyModule("scipy.special")
    sparse, nw = LazyModule("scipy.sparse"), LazyModule("narwhals")
    Array, Device, ShapeDtypeStruct = (LazyType.of("jax", name) for name in ("Array", "Device", "ShapeDtypeStruct"))
    Tracer, Mesh = LazyType.of("jax.core", "Tracer"), LazyType.of("jax.sharding", "Mesh")
    csr_matrix = LazyType.of("scipy.sparse", "csr_matrix")
    DataFrame, Series = LazyType.of("narwhals", "DataFrame"), LazyType.of("narwhals", "Series")


issparse = LazyType.of("scipy.sparse", "sparray", "spmatrix").__instancecheck__
"""Returns whether a value is a sparse matrix or array of scipy, which is loaded if there is one."""


class _CallsOnLoad:
    """Functions that are called when JAX has been loaded, by whoever loads it: a finder of modules until then."""

    def __init__(self) -> None:
        self.functions: list[Callable[[], object]] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Returns how JAX is loaded, with the calls behind it; None of any other module."""
        if name != "jax":
            return None
        others: list[Any] = [finder for finder in sys.meta_path if finder is not self]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None:
            spec.loader.exec_module = functools.partial(self._load, spec.loader.exec_module)
        return spec

    def _load(self, execute: Callable[[Any], None], module: Any) -> None:
        """Loads JAX, and calls what waits for it."""
        execute(module)
        sys.meta_path.remove(self)
        while self.functions:
            self.functions.pop(0)()


_WAITING = _CallsOnLoad()


def when_jax_is_loaded(function: Callable[[], object]) -> None:
    """Calls a function when JAX has been loaded: at once if it has been, or later, by whoever loads it."""
    if is_loaded("jax"):
        function()
        return
    if not _WAITING.functions:
        sys.meta_path.insert(0, _WAITING)
    _WAITING.functions.append(function)


def register_dataclass(kind: Kind) -> Kind:
    """Decorates a dataclass that is a pytree of JAX: `jax.tree_util.register_dataclass`."""
    when_jax_is_loaded(lambda: jax.tree_util.register_dataclass(kind))
    return kind


class CustomJvp:
    """`jax.custom_jvp`, which is made when the function is first called.

    Args:
        function: The function.
        nondiff_argnums: The places of arguments that it has no derivative by.

    Example:
        >>> twice = CustomJvp(lambda x: 2 * x)
        >>> rule = twice.defjvp(lambda primals, tangents: (twice(*primals), 3 * tangents[0]))
        >>> twice(1.0), float(jax.grad(twice)(1.0))
        (2.0, 3.0)
    """

    def __init__(self, function: Callable[..., Any], nondiff_argnums: tuple[int, ...] = ()):
        functools.update_wrapper(self, function)
        self._function, self._nondiff_argnums = function, nondiff_argnums
        self._rule: Any = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Decorates the function of the derivative."""
        self._rule = rule
        return rule

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function."""
        return self._made(*arguments)

    @functools.cached_property
    def _made(self) -> Any:
        made = jax.custom_jvp(self._function, nondiff_argnums=self._nondiff_argnums)
        made.defjvp(self._rule)
        return made


if TYPE_CHECKING:
    custom_jvp = jax.custom_jvp
else:
    custom_jvp = CustomJvp
