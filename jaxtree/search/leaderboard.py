"""The settings of a tuning, the best first, as a table that a notebook shows and that data frames are made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree import notebook

MOST_SHOWN = 10
"""The number of settings that a notebook, or a terminal, shows."""


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
