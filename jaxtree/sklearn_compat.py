"""The private parts of scikit-learn that jaxtree uses, in one place.

These names may change with any release of scikit-learn: `pyproject.toml` says which releases are allowed, and the tests
run with the oldest and the newest of them. Where a release differs, this file makes up for it, and no other does.
"""

import re
import sys
from collections.abc import Mapping
from typing import Any

from sklearn.metrics._scorer import _MultimetricScorer as MultimetricScorer
from sklearn.metrics._scorer import _Scorer as Scorer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._split import _CVIterableWrapper as SplitsGiven
from sklearn.model_selection._validation import _insert_error_scores as insert_error_scores
from sklearn.model_selection._validation import _score as score_by_scorer
from sklearn.model_selection._validation import _warn_or_raise_about_fit_failures as warn_about_failures
from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED
from sklearn.tree._tree import Tree as SklearnTree
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import Interval as NumbersBetween
from sklearn.utils._set_output import _get_output_config as output_config
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_method_params

__all__ = [
    "NODE_DTYPE",
    "TREE_LEAF",
    "TREE_UNDEFINED",
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "MultimetricScorer",
    "RealNotInt",
    "Scorer",
    "SklearnTree",
    "SplitsGiven",
    "StrOptions",
    "check_method_params",
    "insert_error_scores",
    "output_config",
    "safe_indexing",
    "safe_split",
    "score_by_scorer",
    "validate_parameter_constraints",
    "warn_about_failures",
]


class Interval(NumbersBetween):
    """The constraint of numbers between two ends that a float of 64 bits holds, too.

    True is none, though to Python it is the integer 1.
    """

    def is_satisfied_by(self, val: Any) -> bool:
        """Says whether a value is such a number."""
        is_too_large = isinstance(val, int) and abs(val) > sys.float_info.max
        return not (isinstance(val, bool) or is_too_large) and super().is_satisfied_by(val)


_OF_VALIDATION = re.compile("eval_set|.*_val")
"""The names of arguments that are of validation rows."""


def check_method_params(X: Any, params: Mapping[str, Any], indices: Any = None) -> dict[str, Any]:
    """Returns arguments of a method for some rows of a table: those with a value for each row are cut.

    Validation rows (`X_val`, other names that end in `_val`, and `eval_set`) are no rows of the table, and stay whole.
    scikit-learn cuts them where they happen to be as many.

    >>> check_method_params([[1], [2]], {"sample_weight": [3, 4], "y_val": [5, 6]}, indices=[1])
    {'sample_weight': [4], 'y_val': [5, 6]}
    """
    parts = _check_method_params(X, params=params, indices=indices)
    for name in filter(_OF_VALIDATION.fullmatch, params):
        parts[name] = params[name]
    return parts
