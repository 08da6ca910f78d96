"""Parameters of estimators as JSON, and back: prunings, and criteria that are functions of jaxtree, among them."""

import dataclasses
from typing import Any

import jax
import numpy as np

from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.estimators import prunings
from jaxtree.estimators.prunings.base import Pruning, Union
from jaxtree.export.json_values import from_json, to_json
from jaxtree.growth.criteria import CRITERIA

_PRUNINGS: dict[str, type[Pruning]] = {
    kind.__name__: kind for kind in (*vars(prunings).values(), Union) if isinstance(kind, type) and kind is not Pruning
}


def split_parameters(estimator: Any) -> dict[str, Any]:
    """Returns the parameters of an estimator as JSON.

    Raises:
        InvalidInputError: A parameter cannot be written.
    """
    return {name: write_parameter(name, value) for name, value in estimator.get_params(deep=False).items()}


def write_parameter(name: str, value: Any) -> Any:
    """Returns one parameter as JSON; raises InvalidInputError if that cannot be."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        raise InvalidInputError(
            f"{name} is a random generator, which model files do not keep: set it to None or a seed"
        )
    try:
        return to_json(value, _written)
    except InvalidInputError as error:
        raise InvalidInputError(f"parameter {name} cannot be kept: {error}") from None


def join_parameters(given: Any, estimator: type) -> dict[str, Any]:
    """Returns the parameters of a new estimator.

    Parameters that a file does not have, because they came later, keep their defaults.

    Raises:
        ModelFileError: They are not parameters of such an estimator.
    """
    names = estimator._get_param_names()
    if not isinstance(given, dict) or not set(given) <= set(names):
        raise ModelFileError(f"its parameters are not those of {estimator.__name__}")
    return {name: read_parameter(value) for name, value in given.items()}


def read_parameter(value: Any) -> Any:
    """Returns the parameter that JSON stands for."""
    return from_json(value, _read)


def _written(value: Any) -> Any:
    if isinstance(value, Pruning) and _PRUNINGS.get(type(value).__name__) is type(value):
        described = {name: write_parameter(name, getattr(value, name)) for name in _fields(value)}
        return {"pruning": [type(value).__name__, described]}
    if isinstance(value, jax.Array) and not value.ndim:
        return to_json(np.asarray(value)[()])
    for name, criterion in CRITERIA.items():
        if value is criterion:
            return {"criterion": name}
    return NotImplemented


def _read(value: dict[str, Any]) -> Any:
    match value:
        case {"criterion": str(name)} if name in CRITERIA:
            return CRITERIA[name]
        case {"pruning": [str(name), dict(fields)]} if name in _PRUNINGS:
            kind = _PRUNINGS[name]
            if not set(fields) <= set(_fields(kind)):
                raise ModelFileError(f"its pruning has parameters that {name} does not have")
            try:
                return kind(**{name: read_parameter(field) for name, field in fields.items()})
            except TypeError:
                raise ModelFileError(f"its pruning lacks parameters of {name}") from None
    return NotImplemented


def _fields(pruning: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(pruning)]
