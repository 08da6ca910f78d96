"""scikit-learn's conventions: whole fits, checks of parameters and names of columns, tags, seeds, and progress."""

import contextlib
import enum
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, cast, get_origin

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from jaxtree import forks
from jaxtree.compilation import is_out_of_memory
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.splitting import generator_of
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.peers import hint_for, unknown_parameters
from jaxtree.sklearn_compat import Interval, InvalidParameterError, StrOptions, validate_parameter_constraints
from jaxtree.table.reading import default_names, is_plain_array, names_apart
from jaxtree.table.sources import is_source, open_source

SEED = ("random_state", np.random.Generator)
"""The constraints of a seed: a number, None, or one of NumPy's generators, the older or the newer."""

MOST_ALLOWED = 1000
"""Settings of parameters that are kept as allowed: scikit-learn's checks take a tenth of the time of a small fit."""

Method = TypeVar("Method", bound=Callable[..., Any])

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


class GrowthLimit(NamedTuple):
    """The role of a parameter that only ends growth sooner: a growth with the loosest value serves all.

    Attributes:
        loosest: Returns the loosest of several values.
    """

    loosest: Callable[[list], Any]


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
        try:
            result = change(beside, *arguments, **options)
        except KeyboardInterrupt:
            if kept is not None and kept in vars(beside) and kept not in vars(self):
                self.__dict__ = beside.__dict__
            raise
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            if is_out_of_memory(error):
                raise MemoryError(f"there is not enough memory for {change.__name__}: {error}") from error
            raise
        self.__dict__ = beside.__dict__
        return self if result is beside else result

    return cast(Method, changed)


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
    """Parameters that are annotated with what they may be, in scikit-learn's words, and with their role.

    A field is `Annotated[type, *constraints, role]`; one without a role changes all that follows in a fit.
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {}
    roles: ClassVar[dict[str, Role | GrowthLimit | None]] = {}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Raises InvalidTypeError for a parameter that the class does not have, with the name that it has here."""
        if not parameters.keys() <= vars(cls).get("__dataclass_fields__", {}).keys():
            unknown = first_unknown(cls, parameters)
            if unknown is not None:
                raise InvalidTypeError(f"{cls.__name__} has no parameter {unknown[0]!r}{unknown[1]}")
        return super().__new__(cls)

    def set_params(self, **parameters: Any) -> Self:
        """Sets parameters by name, as scikit-learn's estimators do; of nested ones as `estimator__name`.

        Raises:
            InvalidInputError: There is no such parameter; the message has its name here, if another library has it.
        """
        unknown = first_unknown(type(self), [name.partition("__")[0] for name in parameters])
        if unknown is not None:  # in scikit-learn's words
            raise InvalidInputError(f"Invalid parameter {unknown[0]!r} for estimator {self}{unknown[1]}")
        base: Any = super()
        return base.set_params(**parameters)

    def __init_subclass__(cls, **options: Any):
        """Moves constraints and roles out of the annotations: the signature of a dataclass has the types alone."""
        super().__init_subclass__(**options)
        hints = inspect.get_annotations(cls)
        marks = {name: hint.__metadata__ for name, hint in hints.items() if get_origin(hint) is Annotated}
        cls.__annotations__ = {name: hint.__origin__ if name in marks else hint for name, hint in hints.items()}
        constraints, roles = {}, {}
        for name, own in marks.items():
            constraints[name] = [mark for mark in own if not isinstance(mark, Role | GrowthLimit)]
            roles[name] = next((mark for mark in own if isinstance(mark, Role | GrowthLimit)), None)
        cls._parameter_constraints = _merged(cls, "_parameter_constraints") | constraints
        cls.roles = _merged(cls, "roles") | roles


def _merged(kind: type, name: str) -> dict[str, Any]:
    """The entries of a dict that a class and its bases have under a name; that of the nearest base counts."""
    return {key: value for base in reversed(kind.__mro__) for key, value in vars(base).get(name, {}).items()}


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


def learn_names(estimator: Any, data: Dataset) -> None:
    """Learns the number and the names of the columns of a fit."""
    X, names = data.sample.X, data.schema.column_names
    if data.across is not None:
        set_column_names(estimator, names)
    elif is_source(X):
        set_column_names(estimator, names, is_named=bool(open_source(X).names))
    else:
        check_names(estimator, X)


def check_names(estimator: Any, X: Any, *, reset: bool = True) -> None:
    """Learns the names of a table's columns in fit, or compares them with those of the fit.

    scikit-learn does so for the tables that it reads. Names of other tables are learned here, and the encoder compares
    them.
    """
    if reset and is_plain_array(X):
        # What scikit-learn does with an array, in a tenth of the time.
        set_column_names(estimator, default_names(X.shape[1]))
        return
    names = names_apart(X)
    if names is None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    elif reset:
        set_column_names(estimator, names, is_named=True)


def set_column_names(estimator: Any, names: tuple[str, ...], *, is_named: bool | None = None) -> None:
    """Learns the names of columns of tables that scikit-learn's `validate_data` does not read.

    Args:
        estimator: Gets `n_features_in_`, and `feature_names_in_` if the columns have names.
        names: The names of the columns.
        is_named: Whether they came with the table; if not given, unless they are those of columns without names.
    """
    estimator.n_features_in_ = len(names)
    if names != default_names(len(names)) if is_named is None else is_named:
        estimator.feature_names_in_ = np.array(names, object)
    else:
        vars(estimator).pop("feature_names_in_", None)


def allow_tables(tags: Tags) -> Tags:
    """Sets scikit-learn's tags: tables may hold words and missing values, or be sparse; several targets."""
    for name in ("allow_nan", "sparse", "categorical", "string"):
        setattr(tags.input_tags, name, True)
    tags.target_tags.multi_output = tags.target_tags.single_output = True
    return tags


def key_of(random_state: Any) -> PRNGKeyArray:
    """Returns `jax.random.key(random_state)`, or a key drawn from a generator."""
    forks.check_is_whole("a random key")
    if isinstance(random_state, int | np.integer):
        return jax.random.key(int(random_state))
    return jax.random.key(generator_of(random_state).randint(2**31 - 1))


@contextlib.contextmanager
def progress_of(
    verbose: int, total: float | None, doing: str = "growing trees", unit: str = "trees"
) -> Iterator[Callable[..., Any] | None]:
    """Yields what to call with the number of further trees, and perhaps with words about them; None for silence.

    A notebook gets a bar of HTML, which needs no widgets; a terminal one of rich, or lines where that is missing; a log
    gets lines on the standard error stream. Work within work that shows a bar shows none.

    Args:
        verbose: 0 for nothing, 1 for a bar, or in a log about ten lines, n for a line every n. Of work whose unit is
            the second, or that is one whole, it is a line every n steps that find something.
        total: How many there will be; None if nobody knows.
        doing: What is done, in words.
        unit: What is counted; "s" for seconds.
    """
    if not verbose:
        yield None
        return
    from jaxtree.estimators.common.progress import shown_progress

    with shown_progress(verbose, total, doing, unit) as report:
        yield report
