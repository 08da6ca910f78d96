"""Estimators, parameters and prunings as the user writes them: "c45", "max_depth=5", "dropout:p=0.1,q=0.5"."""

import dataclasses
import functools
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import typer

import jaxtree
from jaxtree import boosting
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.conventions import check_parameters
from jaxtree.estimators.common.peers import hint_for
from jaxtree.estimators.common.prunings import PRUNINGS
from jaxtree.losses.names import LOSSES

ALGORITHMS = {
    "cart": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "c45": ("C45Classifier", None),
    "id3": ("ID3Classifier", None),
    "optimal": ("OptimalTreeClassifier", "OptimalTreeRegressor"),
    "forest": ("RandomForestClassifier", "RandomForestRegressor"),
    "soft": ("SoftTreeClassifier", "SoftTreeRegressor"),
    "boosting": ("GradientBoostingClassifier", "GradientBoostingRegressor"),
    "additive": ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor"),
    "ranking": (None, "GradientBoostingRanker"),
    "distribution": (None, "GradientBoostingDistribution"),
    "quantile_forest": (None, "QuantileForest"),
    "survival_forest": (None, "SurvivalForest"),
    "causal_forest": (None, "CausalForest"),
    "instrumental_forest": (None, "InstrumentalForest"),
}
"""Names of algorithms, and the estimators of classes and of numbers."""

LOSSES_WITH_NUMBER = {
    "quantile": "level",
    "expectile": "level",
    "huber": "delta",
    "pseudo_huber": "delta",
    "tweedie": "power",
}
"""Losses of boosting that may be written with a number, as "quantile:0.9", and what that is."""

_WORDS = {"none": None, "true": True, "false": False}
_wrong_setting = functools.partial(typer.BadParameter, param_hint="--set")
_wrong_loss = functools.partial(typer.BadParameter, param_hint="--loss")
_wrong_pruning = functools.partial(typer.BadParameter, param_hint="--prune")
_RANGE = re.compile(r"(-?\d{1,18}):(-?\d{1,18})(?::(\d{1,18}))?")
_MOST_VALUES = 100_000


def make_estimator(
    algorithm: str, task: str, *, seed: int, settings: Sequence[str] = (), prunings: Sequence[str] = ()
) -> Any:
    """Returns an unfitted estimator.

    Args:
        algorithm: One of `ALGORITHMS`.
        task: "classification" or "regression".
        seed: The seed of all that is drawn.
        settings: Parameters, such as "max_depth=5".
        prunings: Prunings, such as "pessimistic:0.25", which unite; "none" is no pruning, also not by default.

    Raises:
        InvalidInputError: The algorithm has no regression.
        typer.BadParameter: A parameter or pruning is none.

    Example:
        >>> make_estimator("cart", "regression", seed=0, settings=["max_depth=5"])
        DecisionTreeRegressor(max_depth=5, random_state=0)
        >>> make_estimator("id3", "classification", seed=0, prunings=["dropout:p=0.1,q=0.5"])
        ID3Classifier(pruning=Dropout(p=0.1, q=0.5), random_state=0)
    """
    for_classes, for_numbers = ALGORITHMS[algorithm]
    name = for_classes if task == "classification" else for_numbers
    if name is None:
        way = (
            "predicts classes, and the target has numbers: --algorithm cart predicts numbers, and --task "
            "classification reads them as classes"
            if for_classes
            else "is for targets of numbers, and the target has classes: --task regression reads them as numbers"
        )
        raise InvalidInputError(f"{algorithm} {way}")
    estimator = getattr(jaxtree, name)(random_state=seed)
    estimator.set_params(**{parameter: parse_value(text) for parameter, text in _settings(estimator, settings)})
    if prunings:
        _set_pruning(estimator, prunings)
    return estimator


def check_early(task: str | None, make: Callable[[str], Any]) -> None:
    """Raises, before a table is read, what making an estimator will raise whatever the task of the target is.

    Args:
        task: "classification" or "regression"; None if it will follow from the target.
        make: Returns an estimator for a task.

    Raises:
        InvalidInputError: A parameter has a value that it cannot have.
        typer.BadParameter: There is no such parameter, or no such pruning.
    """
    found: Exception | None = None
    for own in ("classification", "regression") if task is None else (task,):
        try:
            check_parameters(make(own))
        except (InvalidInputError, InvalidTypeError, typer.BadParameter) as error:
            found = found or error
        else:
            return
    if found is not None:
        raise found


def make_loss(text: str) -> Any:
    """Returns the loss of numbers that a text names, as boosting takes it: a name, or one made with a number.

    Raises:
        typer.BadParameter: There is no such loss, or the number is none that it allows.

    Example:
        >>> make_loss("poisson"), make_loss("quantile:0.9"), make_loss("huber:delta=2")
        ('poisson', quantile(level=0.9), huber(delta=2.0))
    """
    name, _, argument = text.partition(":")
    name = name.replace("-", "_")
    if not argument and name in LOSSES:
        return name
    number = parse_value(argument.removeprefix(f"{LOSSES_WITH_NUMBER.get(name)}="))
    if name not in LOSSES_WITH_NUMBER or type(number) not in (int, float):
        with_number = ", ".join(f"{known}:{what.upper()}" for known, what in LOSSES_WITH_NUMBER.items())
        raise _wrong_loss(f"must be one of {', '.join(LOSSES)}, or with a number {with_number}, got {text!r}")
    try:
        return getattr(boosting, name)(number)
    except InvalidInputError as error:
        raise _wrong_loss(str(error)) from None


def make_grid(estimator: Any, settings: Sequence[str]) -> dict[str, list[Any]]:
    """Returns the values of every parameter of a search, such as those of "max_depth=2:20" and "ccp_alpha=0,0.01".

    Raises:
        typer.BadParameter: A parameter is none of the estimator's, or appears twice, or the settings are too
            many.

    Example:
        >>> from jaxtree import DecisionTreeClassifier
        >>> make_grid(DecisionTreeClassifier(), ["max_depth=2:8:3,none", "ccp_alpha=0,0.01"])
        {'max_depth': [2, 5, 8, None], 'ccp_alpha': [0, 0.01]}
    """
    grid: dict[str, list[Any]] = {}
    for name, text in _settings(estimator, settings):
        if name in grid:
            raise _wrong_setting(f"parameter {name!r} appears twice")
        grid[name] = [value for part in text.split(",") for value in _range(part)]
    num_settings = math.prod(map(len, grid.values()))
    if num_settings > _MOST_VALUES:
        raise _wrong_setting(f"must give at most {_MOST_VALUES} settings in all, and gives {num_settings}")
    return grid


def make_pruning(text: str) -> Any:
    """Returns the pruning that a text names, with its parameters in order or by name; None for "none".

    Raises:
        typer.BadParameter: There is no such pruning, or its parameters are none.

    Example:
        >>> make_pruning("cost-complexity:cv,rule=1se")
        CostComplexity(rule='1se')
    """
    kinds = _kinds_of_prunings()
    name, _, arguments = text.partition(":")
    if name == "none" and not arguments:
        return None
    if name not in kinds:
        raise _wrong_pruning(f"must be one of none, {', '.join(kinds)}, got {name!r}")
    fields = [field.name for field in dataclasses.fields(kinds[name])]
    given: dict[str, Any] = {}
    for place, argument in enumerate(arguments.split(",") if arguments else ()):
        by_place = "=".join([*fields[place : place + 1], argument])
        field, _, value = (argument if "=" in argument else by_place).partition("=")
        if field not in fields or field in given:
            raise _wrong_pruning(f"parameters of {name} are {', '.join(fields)}, got {argument!r}")
        given[field] = parse_value(value)
    try:
        return kinds[name](**given)
    except InvalidInputError as error:
        raise _wrong_pruning(str(error)) from None
    except TypeError:
        raise _wrong_pruning(f"{name} needs {', '.join(fields)}") from None


def parse_value(text: str) -> Any:
    """Returns the value that a text is: a whole number, a number, none, true, false, else the text.

    >>> [parse_value(text) for text in ("5", "1e-3", "none", "gini")]
    [5, 0.001, None, 'gini']
    """
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return _WORDS.get(text.lower(), text)


def _range(text: str) -> list[Any]:
    """The values of "2:20", both ends among them, or of "2:20:3" in steps of 3; else the one value."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return [parse_value(text)]
    start, stop, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if not step or not 0 <= stop - start < _MOST_VALUES * step:
        raise _wrong_setting(f"a range is first:last or first:last:step, ascending, got {text!r}")
    return list(range(start, stop + 1, step))


def _set_pruning(estimator: Any, texts: Sequence[str]) -> None:
    parameters = estimator.get_params(deep=False)
    if "pruning" not in parameters:
        raise _wrong_pruning(f"{type(estimator).__name__} is not pruned")
    prunings = [make_pruning(text) for text in texts]
    if None in prunings and len(prunings) > 1:
        raise _wrong_pruning("none cannot be combined with others")
    if prunings == [None] and "confidence" in parameters:
        estimator.set_params(confidence=None)
    estimator.set_params(pruning=functools.reduce(operator.or_, prunings))


def _kinds_of_prunings() -> dict[str, Any]:
    return {re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "-", kind.__name__).lower(): kind for kind in PRUNINGS}


def _settings(estimator: Any, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Names and values of parameters, checked to be the estimator's."""
    names, settings = sorted(estimator.get_params(deep=False)), []
    for text in texts:
        name, _, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not value:
            raise _wrong_setting(f"a parameter is written NAME=VALUE, got {text!r}")
        if name not in names:
            raise _wrong_setting(f"{type(estimator).__name__} has no parameter {name!r}{hint_for(name, names)}")
        settings.append((name, value))
    return settings
