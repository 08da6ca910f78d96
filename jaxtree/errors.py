"""Errors of jaxtree: one family, each member also of the built-in kind that a caller would catch.

A message has the value given and the values allowed, and comes before any work is done. A program that wants one of the
warnings as an error turns it into one, as with any of Python's.

>>> from jaxtree import DecisionTreeClassifier
>>> try:
...     DecisionTreeClassifier(max_depth=-3).fit([[1.0], [2.0]], [0, 1])
... except JaxtreeError as error:
...     print(type(error).__name__)
InvalidInputError
"""

import importlib
import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import UnionType
from typing import Any, TypeVar, overload

__all__ = [
    "DistributedError",
    "DivergedFitWarning",
    "ForkedProcessError",
    "InternalError",
    "InterruptedFitWarning",
    "InvalidInputError",
    "InvalidTypeError",
    "JaxtreeError",
    "MissingExtraError",
    "ModelFileError",
    "TrainingError",
]


Value = TypeVar("Value")


class JaxtreeError(Exception):
    """Base of every error that jaxtree raises on purpose."""


class InvalidInputError(JaxtreeError, ValueError):
    """A table, target or parameter has a shape or value that is not allowed."""


class InvalidTypeError(JaxtreeError, TypeError):
    """A table, column or parameter is of a kind that jaxtree does not read."""


class MissingExtraError(JaxtreeError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class DistributedError(JaxtreeError, RuntimeError):
    """A process of several that work together is gone, or does not do what the others do."""


class ForkedProcessError(JaxtreeError, RuntimeError):
    """A process that was forked after JAX had started lacks JAX's threads, which what is asked of it needs."""


class InternalError(JaxtreeError, AssertionError):
    """A state that jaxtree excludes, and so a defect of its own; please report it with what led there."""


class ModelFileError(JaxtreeError, ValueError):
    """A model file is damaged, of another format, or holds what no model has; the message names file and reason."""


class TrainingError(JaxtreeError, ArithmeticError):
    """Training has left the numbers: a loss or its derivatives are infinite or not a number."""


class DivergedFitWarning(UserWarning):
    """Training has left the numbers, and keeps the best parameters that it had before."""


class IdentifierWarning(UserWarning):
    """Words of a column, or classes of a target, look like identifiers: there are nearly as many as rows."""


class RareWordsWarning(UserWarning):
    """The rarest words of a column share one category."""


class InterruptedFitWarning(UserWarning):
    """A fit was interrupted, and keeps what it had: the finished trees, or the best parameters."""


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the line of the user that called the package, however deep inside it a warning arises.

    Args:
        text: The message.
        category: The class of the warning.
    """
    frame, level, outermost = inspect.currentframe(), 0, 0
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
            outermost = level
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=outermost + 2)


def present(value: Value | None) -> Value:
    """Returns a value that is known to be there; raises InternalError for None, in optimised Python too.

    >>> present(0)
    0
    """
    if value is None:
        raise InternalError("a value that must be there is None")
    return value


@overload
def instance_of(kind: type[Value], value: Any) -> Value: ...


@overload
def instance_of(kind: UnionType, value: Any) -> Any: ...


def instance_of(kind: Any, value: Any) -> Any:
    """Returns a value that is known to be of a class, or of one of a union; raises InternalError if it is not.

    >>> instance_of(str, "a")
    'a'
    """
    if not isinstance(value, kind):
        raise InternalError(f"a value must be of {kind}, got {type(value).__name__}")
    return value


@contextmanager
def named(argument: str) -> Iterator[None]:
    """Says of which argument an error is, where a function reads several alike.

    Example:
        >>> with named("X_val"):
        ...     raise InvalidInputError("got no rows")
        Traceback (most recent call last):
        jaxtree.errors.InvalidInputError: X_val: got no rows
    """
    try:
        yield
    except (InvalidInputError, InvalidTypeError) as error:
        raise type(error)(f"{argument}: {error}") from error


def import_extra(module: str, user: str, extra: str) -> Any:
    """Imports a module that an extra of the package installs; raises MissingExtraError if it is not there.

    Args:
        module: The module.
        user: The function or the like that needs it, for the message.
        extra: The extra that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f'{user} needs {module}: pip install "jaxtree[{extra}]"') from error


class SeparableClassesWarning(UserWarning):
    """A model of log odds tells the classes of other rows apart nearly without error: these odds have no limit."""
