"""Checks of parameters, by scikit-learn's constraints, and of the names of columns."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints
from sklearn.utils.validation import validate_data

from jaxtree.errors import InvalidInputError
from jaxtree.table.reading import names_apart


def check_parameters(owner: Any, names: Iterable[str] | None = None) -> None:
    """Raises InvalidInputError if a parameter of an estimator or pruning is not allowed; all are looked at, or some."""
    given = owner.get_params(deep=False) if names is None else {name: getattr(owner, name) for name in names}
    try:
        validate_parameter_constraints(owner._parameter_constraints, given, caller_name=type(owner).__name__)
    except InvalidParameterError as error:
        raise InvalidInputError(str(error)) from None


def check_names(estimator: Any, X: Any, *, reset: bool = True) -> None:
    """Learns the names of a table's columns in fit, or compares them with those of the fit.

    scikit-learn does so for tables that it knows. Of others they are learned here; the encoder compares them.
    """
    names = names_apart(X)
    if names is None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    elif reset:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, object)
