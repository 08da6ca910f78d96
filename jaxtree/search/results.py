"""Results of a search: a table of its settings, the best first, and how much each parameter counts."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.inspection import permutation_importance

from jaxtree import notebook
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.forests.forests import RandomForestRegressor

MOST_SHOWN = 10
"""The number of settings that a notebook, or a terminal, shows."""

LEAST_SETTINGS = 4
"""Fewer scores say nothing of parameters."""


class Leaderboard(dict):
    """Columns by name, of equal length, with a row a setting: `pandas.DataFrame(board)` makes a frame of them.

    The columns are `rank`, the name of what is measured (such as `log_loss`), `std` over the folds, the mean number of
    `rounds`, the `weight` in the ensemble, the `setting`'s number in `cv_results_`, and the parameters.
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


def make_leaderboard(
    measure: str,
    settings: Sequence[dict[str, Any]],
    shown: Float[np.ndarray, "setting fold"],
    better: Float[np.ndarray, " setting"],
    num_rounds: Float[np.ndarray, " setting"],
    weights: Float[np.ndarray, " setting"],
) -> Leaderboard:
    """Returns the settings, the best first.

    Args:
        measure: The name of what is measured.
        settings: The parameters.
        shown: The measures on every fold, as they are shown.
        better: The mean scores, greater if better.
        num_rounds: The mean numbers of rounds.
        weights: The weights in the ensemble.

    Example:
        >>> losses = np.array([[0.5, 0.7], [0.25, 0.35]])
        >>> settings = [{"max_depth": 2}, {"max_depth": 3}]
        >>> make_leaderboard("loss", settings, losses, -losses.mean(axis=1), np.array([8.0, 9.0]), np.array([0.0, 1.0]))
        rank  loss   std  rounds  weight  setting  max_depth
           1   0.3  0.05       9       1        1          3
           2   0.6   0.1       8       0        0          2
    """
    order = np.argsort(-better, kind="stable")
    columns = {
        "rank": np.arange(1, len(order) + 1),
        measure: shown.mean(axis=1)[order],
        "std": shown.std(axis=1)[order],
        "rounds": num_rounds[order],
        "weight": weights[order],
        "setting": order,
    }
    names = list(dict.fromkeys(name for own in settings for name in own))
    parameters = {name: np.array([settings[place].get(name) for place in order.tolist()]) for name in names}
    return Leaderboard(columns | parameters)


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
