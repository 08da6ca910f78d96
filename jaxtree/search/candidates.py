"""The settings of a space: all of a grid, or some that are drawn from lists and distributions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import generator_of
from jaxtree.search.settings import Parameters


def settings_of(space: Any, number: int | None, random_state: Any, name: str) -> list[Parameters]:
    """Returns the settings of a space.

    Args:
        space: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a list
            of one.
        number: How many settings are drawn; all of a grid if None.
        random_state: The seed of what is drawn.
        name: What the space is called in errors.

    Raises:
        InvalidInputError: There is no setting, or a distribution and no number.

    Example:
        >>> settings_of({"max_depth": [2, 3], "criterion": "gini"}, None, None, "param_grid")
        [{'criterion': 'gini', 'max_depth': 2}, {'criterion': 'gini', 'max_depth': 3}]
    """
    spaces = [space] if isinstance(space, dict) else space
    spaces = [{parameter: _listed(values) for parameter, values in own.items()} for own in spaces]
    drawn = [parameter for own in spaces for parameter, values in own.items() if hasattr(values, "rvs")]
    if number is None and drawn:
        raise InvalidInputError(
            f"{name} has a distribution of {drawn[0]!r}: n_iter must be the number of settings to draw, got None"
        )
    try:
        own = (
            ParameterGrid(spaces)
            if number is None
            else ParameterSampler(spaces, number, random_state=generator_of(random_state))
        )
        settings = list(own)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: {error}") from error
    if not settings:
        raise InvalidInputError(f"{name} must have one setting or more, got {space!r}")
    return settings


def _listed(values: Any) -> Any:
    """A list of one for a single value."""
    if hasattr(values, "rvs") or isinstance(values, np.ndarray | range):
        return values
    is_several = isinstance(values, Sequence) and not isinstance(values, str)
    return values if is_several else [values]
