"""Results of a search: a table of its settings, the best first, and how much each parameter counts."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.inspection import permutation_importance

from jaxtree import notebook
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.forests.forests import RandomForestRegressor
from jaxtree.figures.searches import ScoredSettings

MOST_SHOWN = 10
"""The number of settings that a notebook, or a terminal, shows."""

LEAST_SETTINGS = 4
"""Fewer scores say nothing of parameters."""


class Leaderboard(dict):
    """Columns by name, of equal length, with a row a setting: `pandas.DataFrame(board)` makes a frame of them.

    The columns are `rank`, the name of what is measured (such as `log_loss`, the mean over the folds), its standard
    error `se` by their spread, of models with rounds the mean number of `rounds`, the `seconds` of the fits on all
    folds (a share by rounds where settings make these side by side), of an ensemble the `weight` in it, the `setting`'s
    number in `cv_results_`, and the parameters.
    """

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """Returns the first rows, each by the names of the columns; all if no number is given."""
        number = len(self["rank"]) if most is None else min(most, len(self["rank"]))
        return [{name: column[place] for name, column in self.items()} for place in range(number)]

    def __repr__(self) -> str:
        """Returns the first rows in columns of equal width."""
        cells = [list(self), *self._cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        left = len(self["rank"]) - MOST_SHOWN
        return "\n".join([*lines, *([f"and {left:,} more"] if left > 0 else [])])

    def _repr_html_(self) -> str:
        """Returns the first rows as a table."""
        return notebook.table(list(self), self._cells(), len(self["rank"]) - MOST_SHOWN)

    def _cells(self) -> list[list[str]]:
        return [[_in_words(value) for value in row.values()] for row in self.rows(MOST_SHOWN)]


def make_leaderboard(scored: ScoredSettings) -> Leaderboard:
    """Returns the settings of a search, the best first.

    Example:
        >>> losses, settings = np.array([[0.5, 0.7], [0.25, 0.35]]), [{"max_depth": 2}, {"max_depth": 3}]
        >>> make_leaderboard(ScoredSettings(settings, -losses, "log loss", True, {}, np.array([1.5, 2.5]), None, None,
        ...                                 None, None, np.zeros(2, int)))
        rank  log_loss    se  seconds  setting  max_depth
           1       0.3  0.05      2.5        1          3
           2       0.6   0.1      1.5        0          2
    """
    order, settings = scored.order(), scored.settings
    columns = {
        "rank": np.arange(1, len(order) + 1),
        scored.measure.replace(" ", "_"): scored.shown(scored.means[order]),
        "se": scored.errors[order],
        "rounds": None if scored.num_rounds is None else scored.num_rounds[order],
        "seconds": scored.seconds[order],
        "weight": None if scored.weights is None else scored.weights[order],
        "setting": order,
    }
    columns = {name: column for name, column in columns.items() if column is not None}
    names = list(dict.fromkeys(name for own in settings for name in own))
    parameters = {name: _of_one_kind([settings[place].get(name) for place in order.tolist()]) for name in names}
    return Leaderboard(columns | parameters)


def _of_one_kind(values: list[Any]) -> Shaped[np.ndarray, " setting"]:
    """The values of a parameter in a column: lists and other objects stand there as they are."""
    column = np.empty(len(values), object)
    column[:] = values
    kinds = {type(value) for value in values}
    is_plain = all(issubclass(kind, bool | int | float | str | np.generic) for kind in kinds)
    return np.array(values) if is_plain and len(kinds) == 1 else column


def _in_words(value: Any) -> str:
    """A cell: numbers in four digits, and a score that no fit has as a word."""
    if not isinstance(value, float | np.floating):
        return str(value)
    return f"{value:z.4g}" if np.isfinite(value) else "failed"


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

    def ranked(self) -> list[tuple[str, float]]:
        """Returns parameters by how much they count, the greatest first; less than nothing is nothing."""
        named = zip(self.names, np.maximum(self.mean, 0.0).tolist(), strict=True)
        return sorted(named, key=lambda own: -own[1])


def parameter_importances(
    results: dict[str, Any], metric: str, *, n_repeats: int, random_state: int
) -> ParameterImportances:
    """Returns how much each parameter counts for the mean scores of a search.

    A random forest predicts the score from the settings (as in Hutter, Hoos and Leyton-Brown, *An efficient approach
    for assessing hyperparameter importance*, ICML 2014); what counts is what it loses when the values of one parameter
    are shuffled among the settings (permutation importance: Breiman, *Random forests*, 2001). Where
    settings were stopped at different rounds, the forest knows these, too. Words are numbered in alphabetical order.

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
