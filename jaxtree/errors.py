"""Errors of jaxtree: one family, each member also of the built-in kind that a caller would catch.

A message has the value given and the values allowed, and comes before any work is done. An object that is changed when
an error comes is changed as a whole or not at all. A program that wants one of the warnings as an error turns it into
one, as with any of Python's.

>>> from jaxtree import DecisionTreeClassifier
>>> try:
...     DecisionTreeClassifier(max_depth=-3).fit([[1.0], [2.0]], [0, 1])
... except JaxtreeError as error:
...     print(type(error).__name__)
InvalidInputError
"""

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import UnionType
from typing import Any, TypeVar, cast, overload

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
Method = TypeVar("Method", bound=Callable[..., Any])


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
    """Training ended at a loss, or derivatives of it, that are infinite or not a number."""


class DivergedFitWarning(UserWarning):
    """Training became infinite or not a number, and keeps the best parameters that it had before."""


class IdentifierWarning(UserWarning):
    """Words of a column, or classes of a target, look like identifiers: there are nearly as many as rows."""


class MissingColumnWarning(UserWarning):
    """A column is missing in every row that is predicted, and was in no row of the fit."""


class OverlapWarning(UserWarning):
    """Some rows hardly can have one of the treatments, or an instrument hardly moves it: effects are uncertain."""


class RareWordsWarning(UserWarning):
    """The rarest words of a column share one category."""


class InterruptedFitWarning(UserWarning):
    """A fit was interrupted, and keeps what it had: the finished trees, or the best parameters."""


class SortedRowsWarning(UserWarning):
    """Rows stand in the order of the target, and folds that are not shuffled are parts of that order."""


class SeparableClassesWarning(UserWarning):
    """A model of log odds tells the classes of other rows apart nearly without error: these odds have no limit."""


class UnseenWordsWarning(UserWarning):
    """Rows that are predicted have words that the fit has not seen, which count as missing."""


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


def reason_of(error: BaseException) -> str:
    r"""Returns the first line of an error's message, or its type if it has none.

    >>> reason_of(ValueError("no\nmore")), reason_of(IndexError())
    ('no', 'IndexError')
    """
    return str(error).partition("\n")[0] or type(error).__name__


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that there is not enough memory: for XLA, or for the kernel in a program of XLA."""
    from jax.errors import JaxRuntimeError  # loads all of JAX

    return isinstance(error, MemoryError) or (
        isinstance(error, JaxRuntimeError | ValueError)
        and any(words in str(error) for words in ("RESOURCE_EXHAUSTED", "XLA FFI call failed: std::bad_alloc"))
    )


_IS_CHANGING = ContextVar("_IS_CHANGING", default=False)


def is_changing() -> bool:
    """Whether this runs within a method that `all_or_nothing` extends, such as `fit`.

    The rows of a fold that it predicts there are no news to the user.
    """
    return _IS_CHANGING.get()


def all_or_nothing(change: Method, *, kept: str | None = None) -> Method:
    """Makes a method change its estimator as a whole once it has ended, or not at all if it fails or is interrupted.

    The method changes a second object of the same attributes, and one assignment takes what it has learned. It may set
    attributes, but must not write into what an earlier fit has left in one. Errors of XLA that mean that there is not
    enough memory become MemoryError.

    Args:
        change: A method that changes attributes of its object and returns it, such as `fit`.
        kept: The attribute that an interrupted method sets last if there is something to keep. It is kept, with all
            that belongs to it, by an object that has no such attribute yet.

    Example:
        >>> class Model:
        ...     @all_or_nothing
        ...     def fit(self, y):
        ...         self.least_, self.greatest_ = min(y), y[1] and max(y)
        ...         return self
        >>> import contextlib
        >>> model = Model().fit([1, 2])
        >>> with contextlib.suppress(IndexError):
        ...     model.fit([5])
        >>> vars(model)
        {'least_': 1, 'greatest_': 2}
    """

    @functools.wraps(change)
    def changed(self: Any, *arguments: Any, **options: Any) -> Any:
        beside = object.__new__(type(self))
        beside.__dict__ = vars(self).copy()
        before = _IS_CHANGING.set(True)
        try:
            result = change(beside, *arguments, **options)
        except KeyboardInterrupt:
            if kept is not None and kept in vars(beside) and kept not in vars(self):
                self.__dict__ = beside.__dict__
            raise
        except Exception as error:
            if not isinstance(error, MemoryError) and is_out_of_memory(error):
                raise MemoryError(f"there is not enough memory for {change.__name__}: {error}") from error
            raise
        finally:
            _IS_CHANGING.reset(before)
        self.__dict__ = beside.__dict__
        return self if result is beside else result

    return cast(Method, changed)


def set_all_parameters(owner: Any, set_params: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    """Sets parameters of an object and of those within it by scikit-learn's `set_params`, all or, if one fails, none.

    Args:
        owner: The object.
        set_params: The function that sets them one after another, nested ones in the object they belong to.
        parameters: The values by name; of nested ones as `estimator__name`.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(max_depth=3)
        >>> import contextlib
        >>> with contextlib.suppress(AttributeError):
        ...     model.set_params(max_depth=5, criterion__depth=2)
        >>> model.max_depth
        3
    """
    before = [(own, vars(own).copy()) for own in _owners(owner, parameters, parameters)]
    try:
        return set_params(**parameters)
    except BaseException:
        for own, attributes in before:
            vars(own).clear()
            vars(own).update(attributes)
        raise


def _owners(owner: Any, names: Iterable[str], given: Mapping[str, Any]) -> Iterator[Any]:
    """The objects that have parameters of some names: the owner, and those within it or given for its parameters."""
    yield owner
    for name in names:
        outer, _, inner = name.partition("__")
        within = given.get(outer, getattr(owner, outer, None))
        if inner and hasattr(within, "__dict__"):
            yield from _owners(within, [inner], {})
