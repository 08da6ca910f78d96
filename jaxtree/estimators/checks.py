"""Checks of parameters, by scikit-learn's constraints."""

from collections.abc import Iterable
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from jaxtree.errors import InvalidInputError


def check_parameters(owner: Any, names: Iterable[str] | None = None) -> None:
    """Raises InvalidInputError if a parameter of an estimator or pruning is not allowed; all are looked at, or some."""
    given = owner.get_params(deep=False) if names is None else {name: getattr(owner, name) for name in names}
    try:
        validate_parameter_constraints(owner._parameter_constraints, given, caller_name=type(owner).__name__)
    except InvalidParameterError as error:
        raise InvalidInputError(str(error)) from None
