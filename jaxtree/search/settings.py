"""The settings of a search: which of them one growth serves, and how loosely that has to grow."""

import copy
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from jaxtree.errors import InvalidInputError, JaxtreeError
from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.checks import check_parameters
from jaxtree.estimators.prunings import Pruning

Parameters = dict[str, Any]


Configurable = TypeVar("Configurable", bound=BaseEstimator)


def configured(owner: Configurable, parameters: Parameters) -> Configurable:
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


def group_by_growth(estimator: BaseTree, candidates: Sequence[Parameters]) -> list[list[int]]:
    """Returns the numbers of the candidates that one growth serves, group by group.

    A candidate whose parameters are not allowed stands alone.
    """
    groups: dict[Hashable, list[int]] = {}
    checked: dict[Hashable, bool] = {}
    names = {name for parameters in candidates for name in parameters}
    for number, parameters in enumerate(candidates):
        setting = configured(estimator, parameters)
        kind = _growth_of(setting, names) if _is_allowed(setting, parameters, checked) else number
        groups.setdefault(kind, []).append(number)
    return list(groups.values())


def loosest(estimator: BaseTree, candidates: Sequence[Parameters]) -> BaseTree:
    """Returns the estimator with parameters that grow a tree of which those of all candidates are parts."""
    settings = [configured(estimator, parameters) for parameters in candidates]
    loose = copy.copy(settings[0])
    for name, loosest_of in estimator._limit_parameters.items():
        setattr(loose, name, loosest_of([getattr(setting, name) for setting in settings]))
    return loose


def identity(value: Any) -> Hashable:
    """Returns what tells a value from others: of a pruning its parameters, of what cannot be compared the object."""
    if isinstance(value, Pruning):
        return type(value), tuple((name, identity(own)) for name, own in sorted(vars(value).items()))
    return (type(value), value) if isinstance(value, str | int | float | bool | np.generic | None) else id(value)


def _growth_of(setting: BaseTree, names: set[str]) -> Hashable:
    """What settings have in common whose trees are parts of one; of the parameters that any setting changes."""
    masking = {*setting._limit_parameters, *setting._pruning_parameters}
    if not setting._draws_growth():
        masking.add("random_state")
    growing = {name for name in names if name.split("__")[0] not in masking}
    fraction = None if setting.pruning is None else setting.pruning.validation_fraction
    if fraction is not None:
        growing.add("random_state")
    return fraction, tuple((name, identity(getattr(setting, name))) for name in sorted(growing))


def _is_allowed(setting: BaseTree, parameters: Parameters, checked: dict[Hashable, bool]) -> bool:
    """Whether the parameters are allowed; every value is looked at once."""
    for name in {name.split("__")[0] for name in parameters}:
        value = getattr(setting, name)
        kind = (name, identity(value))
        if kind not in checked:
            checked[kind] = _passes(setting, name)
        if not checked[kind]:
            return False
    return True


def _passes(setting: BaseTree, name: str) -> bool:
    try:
        check_parameters(setting, [name])
        if name == "pruning" and setting.pruning is not None:
            setting.pruning.check()
    except JaxtreeError:
        return False
    return True
