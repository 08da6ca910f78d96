"""How much each parameter of a search counts: what a forest that predicts scores from settings loses without it."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.inspection import permutation_importance

from jaxtree.errors import InvalidInputError
from jaxtree.estimators.forests.forests import RandomForestRegressor

LEAST_SETTINGS = 4
"""Fewer scores say nothing of parameters."""


class ParameterImportances(NamedTuple):
    """How much each parameter counts.

    Attributes:
        names: The parameters in which settings differ.
        mean: The mean loss of the coefficient of determination when the values of a parameter are shuffled.
        std: Its standard deviation over the shuffles.
    """

    names: list[str]
    mean: Float[np.ndarray, " parameter"]
    std: Float[np.ndarray, " parameter"]


def parameter_importances(
    results: dict[str, Any], metric: str, *, n_repeats: int, random_state: int
) -> ParameterImportances:
    """Returns how much each parameter counts for the mean scores of a search.

    A random forest predicts the score from the settings (as in Hutter, Hoos and Leyton-Brown, *An efficient approach
    for assessing hyperparameter importance*, ICML 2014); what counts is what it loses when the values of one parameter
    are shuffled among the settings (permutation importance: Breiman, *Random forests*, 2001). For settings that were
    stopped at different rounds the forest knows the rounds, too. Words are numbered in alphabetical order.

    Args:
        results: The `cv_results_` of a search.
        metric: The name of the metric.
        n_repeats: How often every parameter is shuffled.
        random_state: The seed of the forest and the shuffles.

    Raises:
        InvalidInputError: There is no such metric, or too few settings have scores, or they do not differ.
    """
    if f"mean_test_{metric}" not in results:
        known = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
        raise InvalidInputError(f"metric must be one of {', '.join(known)}, got {metric!r}")
    score = np.asarray(results[f"mean_test_{metric}"], np.float64)
    is_scored = np.isfinite(score)
    settings = [own for own, counts in zip(results["params"], is_scored, strict=True) if counts]
    names = sorted({name for own in settings for name in own})
    columns = {name: _column([own.get(name) for own in settings]) for name in names}
    columns = {name: own for name, own in columns.items() if len(np.unique(own)) > 1}
    if len(settings) < LEAST_SETTINGS or not columns:
        raise InvalidInputError(
            f"importances need scores of at least {LEAST_SETTINGS} different settings, got {len(settings)}"
        )
    rounds = [np.asarray(results["n_resources"], np.float64)[is_scored]] if "n_resources" in results else []
    table = np.column_stack([*columns.values(), *rounds])
    forest = RandomForestRegressor(100, min_samples_leaf=2, random_state=random_state).fit(table, score[is_scored])
    lost: Any = permutation_importance(forest, table, score[is_scored], n_repeats=n_repeats, random_state=random_state)
    number = len(columns)
    return ParameterImportances(list(columns), lost.importances_mean[:number], lost.importances_std[:number])


def _column(values: Sequence[Any]) -> Float[np.ndarray, " setting"]:
    """The values of a parameter as numbers, by size where all are numbers."""
    if all(isinstance(value, Real) for value in values):
        return np.array(values, np.float64)
    words = [f"{type(value).__name__} {value!r}" for value in values]
    numbers = {word: number for number, word in enumerate(sorted(set(words)))}
    return np.array([numbers[word] for word in words], np.float64)
