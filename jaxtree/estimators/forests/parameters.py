"""Parameters that all forests have, and what is allowed."""

from numbers import Integral
from typing import Any

from sklearn.utils._param_validation import Interval, RealNotInt

FOREST_CONSTRAINTS: dict[str, Any] = {
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "bootstrap": ["boolean"],
    "oob_score": ["boolean", callable],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
    "max_samples": [None, Interval(RealNotInt, 0, None, closed="neither"), Interval(Integral, 1, None, closed="left")],
}


def keep_parameters(estimator: Any, parameters: dict[str, Any]) -> None:
    """Makes attributes of what a constructor was given, its `locals()`, as scikit-learn asks of it."""
    for name in estimator._get_param_names():
        setattr(estimator, name, parameters[name])
