"""scikit-learn's conventions: checks of parameters and names of columns, tags, seeds, and what a notebook shows."""

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from sklearn.utils import Tags, check_random_state, estimator_html_repr
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints
from sklearn.utils.validation import validate_data

from jaxtree.errors import InvalidInputError
from jaxtree.export.pictures import small_html
from jaxtree.table.reading import default_names, names_apart


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


def set_column_names(estimator: Any, names: tuple[str, ...], *, is_named: bool | None = None) -> None:
    """Learns the names of columns of tables that scikit-learn's `validate_data` does not know.

    Args:
        estimator: Gets `n_features_in_`, and `feature_names_in_` if the columns have names.
        names: The names of the columns.
        is_named: Whether they came with the table; if not given, unless they are those of columns without names.
    """
    estimator.n_features_in_ = len(names)
    if names != default_names(len(names)) if is_named is None else is_named:
        estimator.feature_names_in_ = np.array(names, object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def allow_tables(tags: Tags) -> Tags:
    """scikit-learn's tags, changed: tables may hold words and missing values, or be sparse; several targets."""
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    tags.target_tags.multi_output = True
    tags.target_tags.single_output = True
    return tags


def key_of(random_state: int | np.random.RandomState | None) -> PRNGKeyArray:
    """Returns `jax.random.key(random_state)`, or a key drawn from a generator."""
    if isinstance(random_state, int | np.integer):
        return jax.random.key(int(random_state))
    return jax.random.key(check_random_state(random_state).randint(2**31 - 1))


class ShownWithTree:
    """Lets the display of an estimator in a notebook have its tree once it is fitted; before it is scikit-learn's own.

    It stands before `BaseEstimator`, whose `_repr_html_` and `_repr_mimebundle_` show what `_html_repr` returns.
    """

    def _html_repr(self) -> str:
        own: Any = self
        diagram = estimator_html_repr(own)
        return diagram + small_html(own) if hasattr(own, "tree_") else diagram
