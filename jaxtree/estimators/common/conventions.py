"""scikit-learn's conventions: checks of parameters and names of columns, tags, seeds, and progress."""

import contextlib
import copy
import enum
import functools
import inspect
import itertools
import re
import types
from collections.abc import Callable, Hashable, Iterable, Iterator
from numbers import Integral
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, get_origin

import jax
import numpy as np
from jaxtyping import PRNGKeyArray, UInt32
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from jaxtree import forks, keys
from jaxtree.dataset.sample import generator_of
from jaxtree.errors import InvalidInputError, InvalidTypeError, set_all_parameters
from jaxtree.estimators.common.peers import hint_for, unknown_parameters
from jaxtree.sklearn_compat import Interval, InvalidParameterError, StrOptions, validate_parameter_constraints

SEED = ("random_state", np.random.Generator)
"""The constraints of a seed: a number, None, or one of NumPy's generators, the older or the newer."""

MOST_ALLOWED = 1000
"""Settings of parameters that are kept as allowed: scikit-learn's checks take a tenth of the time of a small fit."""

_ARGS = re.compile(r"^Args:\n((?: {4}.*\n?)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {8,}.*)*)", re.MULTILINE)
_SECTION = re.compile(r"^(Attributes|Raises|Example)\b.*:", re.MULTILINE)
Configurable = TypeVar("Configurable", bound=BaseEstimator)

_PLAIN = frozenset({str, int, float, bool, type(None)})
_ALLOWED: set[tuple[Any, ...]] = set()


class Role(enum.Enum):
    """The effect of a parameter on a fit, from which follows what fits that differ in it have in common.

    It is one of the marks of the parameter's annotation, beside its constraints; `names_of` finds the parameters.
    """

    BATCHED = "of a pruning: it may be an array, which makes one mask per value"
    PRUNES = "takes effect when a tree is grown: one growth serves all values"
    PATH = "one search finds the trees of all values"
    NUMBER = "a number that a program of rounds is given: its members may differ"
    ROWS = "divides the rows of a fit into bags, or weighs them"
    ENDS = "ends rounds: single features are boosted alike until then"
    PAIRS = "of the pairs that are boosted after the single features"
    TRAINS = "of training alone: rows are read alike"
    SEED = "the seed"
    REPORTS = "of what a fit tells, and how it is made: the model is the same"
    FIT = "changes all that follows: fits that differ in it share nothing"


class GrowthLimit(NamedTuple):
    """The role of a parameter that only ends growth sooner: a growth with the loosest value serves all.

    Attributes:
        loosest: Returns the loosest of several values.
    """

    loosest: Callable[[list], Any]


def whole(least: int, most: int | None = None) -> Interval:
    """Returns the constraint of whole numbers from the least to the most."""
    return Interval(Integral, least, most, closed="left" if most is None else "both")


class Words(StrOptions):
    """The constraint of one of some words; messages name them in alphabetical order, not in that of a set.

    Args:
        options: The words.
    """

    def __init__(self, options: Iterable[str]):
        super().__init__(set(options))

    def __str__(self) -> str:
        """Returns the words as messages have them."""
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


class AnnotatedParameters:
    """Parameters that are declared once: `Annotated[type, *constraints, role]`, and a text in that class's docstring.

    The constraints have scikit-learn's words. The `Args` of a subclass's docstring list also the parameters that it
    inherits, after its own, each with the text that the nearest class has of it.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {}
    _texts: ClassVar[dict[str, str]] = {}
    roles: ClassVar[dict[str, Role | GrowthLimit]] = {}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Raises InvalidTypeError for a parameter that the class does not have, with the name that it has here."""
        if not parameters.keys() <= vars(cls).get("__dataclass_fields__", {}).keys():
            unknown = first_unknown(cls, parameters)
            if unknown is not None:
                raise InvalidTypeError(f"{cls.__name__} has no parameter {unknown[0]!r}{unknown[1]}")
        return super().__new__(cls)

    def set_params(self, **parameters: Any) -> Self:
        """Sets parameters by name, of nested ones as `estimator__name`, all of them or, if one fails, none.

        Raises:
            InvalidInputError: There is no such parameter; the message has its name here, if another library has it.
        """
        unknown = first_unknown(type(self), [name.partition("__")[0] for name in parameters])
        if unknown is not None:  # in scikit-learn's words
            raise InvalidInputError(f"Invalid parameter {unknown[0]!r} for estimator {self}{unknown[1]}")
        base: Any = super()
        return set_all_parameters(self, base.set_params, parameters)

    def __init_subclass__(cls, **options: Any):
        """Moves constraints and roles out of the annotations, so that a signature has the types alone."""
        super().__init_subclass__(**options)
        hints = inspect.get_annotations(cls)
        marks = {name: hint.__metadata__ for name, hint in hints.items() if get_origin(hint) is Annotated}
        cls.__annotations__ = {name: hint.__origin__ if name in marks else hint for name, hint in hints.items()}
        constraints, roles = {}, {}
        for name, own in marks.items():
            constraints[name] = [mark for mark in own if not isinstance(mark, Role | GrowthLimit)]
            roles[name] = next((mark for mark in own if isinstance(mark, Role | GrowthLimit)), Role.FIT)
        cls._parameter_constraints = _merged(cls, "_parameter_constraints") | constraints
        cls.roles = _merged(cls, "roles") | roles
        before, cls._texts, after = _sections_of(vars(cls).get("__doc__") or "")
        texts = _merged(cls, "_texts")
        if before and texts:
            nearest = dict.fromkeys(name for base in cls.__mro__ for name in vars(base).get("_texts", {}))
            arguments = "\n".join(f"    {name}: {texts[name]}" for name in nearest)
            cls.__doc__ = "\n\n".join(part for part in (before, f"Args:\n{arguments}", after) if part)


def _merged(kind: type, name: str) -> dict[str, Any]:
    """The entries of a dict that a class and its bases have under a name; that of the nearest base counts."""
    return {key: value for base in reversed(kind.__mro__) for key, value in vars(base).get(name, {}).items()}


def _sections_of(doc: str) -> tuple[str, dict[str, str], str]:
    """The parts of a docstring: what comes before its arguments, the text of each, and what comes after them."""
    doc = inspect.cleandoc(doc)
    found = _ARGS.search(doc)
    if found is None:
        first = _SECTION.search(doc)
        place = len(doc) if first is None else first.start()
        return doc[:place].rstrip(), {}, doc[place:]
    texts = {entry[1]: entry[2] for entry in _ENTRY.finditer(found[1])}
    return doc[: found.start()].rstrip(), texts, doc[found.end() :].strip()


def names_of(owner: Any, *roles: Role | type[GrowthLimit]) -> frozenset[str]:
    """Returns the parameters of an estimator, or of a pruning, that have one of some roles.

    >>> from jaxtree import DecisionTreeClassifier
    >>> sorted(names_of(DecisionTreeClassifier, GrowthLimit))
    ['max_depth', 'min_impurity_decrease', 'min_samples_split']
    """
    return frozenset(name for name, role in owner.roles.items() if role in roles or type(role) in roles)


def limits_of(owner: Any) -> dict[str, Callable[[list], Any]]:
    """Returns the parameters of an estimator that only end growth sooner, each with what finds its loosest value."""
    return {name: role.loosest for name, role in owner.roles.items() if isinstance(role, GrowthLimit)}


def first_unknown(kind: type, given: Iterable[str]) -> tuple[str, str] | None:
    """Returns the first parameter that a class does not have, and what to write in its place; None if it has all."""
    unknown = unknown_parameters(kind, given)
    if not unknown:
        return None
    own = [name for name in inspect.signature(kind.__init__).parameters if name != "self"]
    return unknown[0], hint_for(unknown[0], own)


def check_parameters(owner: Any, names: Iterable[str] | None = None) -> None:
    """Raises InvalidInputError if one of the named parameters of an estimator or pruning, or of all, is not allowed."""
    constraints = owner._parameter_constraints
    names = [*filter(functools.partial(hasattr, owner), sorted(constraints))] if names is None else [*names]
    values = [*map(functools.partial(getattr, owner), names)]
    key = (type(owner), *names, *map(type, values), *values)
    is_plain = _PLAIN.issuperset(map(type, values))
    if is_plain and key in _ALLOWED:
        return
    try:
        validate_parameter_constraints(
            constraints, dict(zip(names, values, strict=True)), caller_name=type(owner).__name__
        )
    except InvalidParameterError as error:
        raise InvalidInputError(str(error)) from None
    if is_plain:
        if len(_ALLOWED) >= MOST_ALLOWED:
            _ALLOWED.clear()
        _ALLOWED.add(key)


def configured(owner: Configurable, parameters: dict[str, Any]) -> Configurable:
    """Returns a copy of an estimator, or pruning, with other parameters.

    As `clone(owner).set_params(**parameters)`, but quickly: what does not change is shared, and so is what is fitted.

    Raises:
        ValueError: A name is none of a parameter.
    """
    copied, nested = copy.copy(owner), {}
    for name, value in parameters.items():
        own, _, below = name.partition("__")
        if own not in vars(owner):
            owner.set_params(**{name: value})
        elif below:
            nested.setdefault(own, {})[below] = value
        else:
            setattr(copied, own, value)
    for own, changes in nested.items():
        part = getattr(copied, own)
        if not isinstance(part, BaseEstimator):
            raise InvalidInputError(
                f"{own}={part!r} has no parameters, and {', '.join(map(repr, changes))} are to be set"
            )
        setattr(copied, own, configured(part, changes))
    return copied


def identity(value: Any) -> Hashable:
    """Returns a key that equal values share: of a pruning its parameters, of incomparable values the object."""
    if isinstance(value, AnnotatedParameters):
        return type(value), tuple((name, identity(own)) for name, own in sorted(vars(value).items()))
    return (type(value), value) if isinstance(value, str | int | float | bool | np.generic | None) else id(value)


def overrides(kind: type) -> bool:
    """Returns whether a class from elsewhere has methods of its own, by which models may be made in another way."""
    foreign = itertools.takewhile(lambda own: not own.__module__.startswith("jaxtree."), kind.__mro__)
    methods = types.FunctionType | property | classmethod | staticmethod
    return any(
        isinstance(value, methods) and not name.startswith("__") for own in foreign for name, value in vars(own).items()
    )


def learn_names(estimator: Any, number: int, names: tuple[str, ...] | None) -> None:
    """Learns the number of the columns of a fit, and their names if they came with the table."""
    estimator.n_features_in_ = number
    if names is None:
        vars(estimator).pop("feature_names_in_", None)
    else:
        estimator.feature_names_in_ = np.array(names, object)


def allow_tables(tags: Tags) -> Tags:
    """Sets scikit-learn's tags: tables may hold words and missing values, or be sparse; several targets."""
    for name in ("allow_nan", "sparse", "categorical", "string"):
        setattr(tags.input_tags, name, True)
    tags.target_tags.multi_output = tags.target_tags.single_output = True
    return tags


def key_of(random_state: Any) -> PRNGKeyArray:
    """Returns `jax.random.key(random_state)`, or a key drawn from a generator."""
    forks.check_is_whole("a random key")
    return jax.random.key(_seed_of(random_state))


def host_key_of(random_state: Any) -> UInt32[np.ndarray, "2"]:
    """Returns the key of `key_of`, on the host, without JAX."""
    return keys.key_of_seed(_seed_of(random_state))


def _seed_of(random_state: Any) -> int:
    """Returns a whole number as it is, or a seed drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(generator_of(random_state).randint(2**31 - 1))


@contextlib.contextmanager
def progress_of(
    verbose: int, total: float | None, doing: str = "growing trees", unit: str = "trees"
) -> Iterator[Callable[..., Any] | None]:
    """Yields what to call with the number of further trees, and perhaps with words about them; None for silence.

    A notebook gets a bar of HTML, which needs no widgets; a terminal one of rich, or lines where that is missing; a log
    gets lines on the standard error stream. Work within work that shows a bar shows none.

    Args:
        verbose: 0 for nothing, 1 for a bar, or in a log about ten lines, n for a line every n. For work whose unit
            is the second, or that is one whole, it is a line every n steps that find something.
        total: How many there will be; None if nobody knows.
        doing: The work, in words.
        unit: The unit of `total`; "s" for seconds.
    """
    if not verbose:
        yield None
        return
    from jaxtree.estimators.common.progress import shown_progress

    with shown_progress(verbose, total, doing, unit) as report:
        yield report
