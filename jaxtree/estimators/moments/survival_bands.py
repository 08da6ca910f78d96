"""Bands of forests of survival times: of curves, mortalities, importances and dependence."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.forests.bands import DrawnTargets, ForestBands, check_is_of_fit, with_target
from jaxtree.figures.bands import Band
from jaxtree.forests.redraws import Times, draw_times
from jaxtree.losses.curves import times_of
from jaxtree.table.redraws import RedrawnRows

MOST_TRIES = 100
"""How often a draw is made again that has too few events."""


class SurvivalBands(ForestBands):
    """Bands of a forest of survival times, from forests of the same rows whose times are drawn again.

    Predictions are mortalities; for all else see `jaxtree.estimators.forests.bands.ForestBands`.

    On simulated tables of 500 rows with hazards that follow from a sum of columns, bands of level 0.9 hold 0.93 of the
    true chances of survival, and 0.98 of the mean of forests on such tables.

    See `jaxtree.SurvivalForest.bands`, which makes them.

    Attributes:
        level: The share of rows whose bands are to hold.
        draws: How many draws they are made of.
        seed: The seed of the draws.
    """

    _held_in_simulations = (
        "bands of level 0.9 held 0.93 of the true chances of survival of simulated tables, and 0.98 of the mean of "
        "forests."
    )

    def survival(self, X: Any, *, times: Any = None) -> Band:
        """Returns the chances of rows to have had no event by some times, with their bands.

        Args:
            X: A table.
            times: Where curves are shown; the times of events in the fit if not given.
        """
        at = self._estimator.event_times_ if times is None else times_of(times)
        values, known = self._values_of(X), np.asarray(self._estimator.event_times_)
        chances = np.stack([own.survival_at(values, at) for own in self._members])
        # Curves are 1 before the first time of an event.
        bias = np.append(self._bias[1:], 0.0)[np.searchsorted(known, at, side="right") - 1]
        return self._around(chances, bias).clipped(0, 1)

    def _within(self, band: Band) -> Band:
        return band.clipped(0, np.inf)


class DrawnTimes(DrawnTargets):
    """Rows whose times are drawn again.

    Args:
        estimator: The fitted estimator.
        data: Its rows.
        drawn: How times are drawn.
        times: The times of the rows.
    """

    def __init__(self, estimator: Any, data: Dataset, drawn: RedrawnRows, times: Times):
        super().__init__(estimator, data, drawn)
        self.times = times

    def check_is_of_fit(self) -> None:
        """Raises InvalidInputError if the trees that grow on the rows are not those of the estimator."""
        check_is_of_fit(np.array_equal(np.unique(self.times.time[self.times.is_event]), self.estimator.event_times_))
        super().check_is_of_fit()

    def learn(self) -> Float64[np.ndarray, "row column"]:
        """Learns the curve of every row, and returns it behind its mortality.

        Raises InvalidInputError if there are too few events.
        """
        if not self._has_events(self.times.is_event):
            raise self._few_events()
        held = self.held_out(self.estimator, self.data)
        self.truth = held[:, 1:]
        return held

    def predict(self, forest: Any, values: Float64[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row column"]:
        """Returns mortalities, and the chances to have had no event by the times of events."""
        return np.column_stack([forest.predict_values(values), forest.survival_at(values, self.estimator.event_times_)])

    def draw(self, generator: np.random.Generator) -> Dataset:
        """Returns the rows with times, some of which are those of events.

        Raises InvalidInputError if too many draws have too few of them.
        """
        for _ in range(MOST_TRIES):
            uniform = self.drawn.uniform(generator, 2, self.data.num_rows)
            time, is_event = draw_times(self.times, self.truth, self.estimator.event_times_, uniform)
            if self._has_events(is_event):
                return with_target(self.data, time[None], event=is_event)
        raise self._few_events()

    def _has_events(self, is_event: Bool[np.ndarray, " row"]) -> bool:
        """Returns whether a forest that does not see the rows of a fold sees an event, whatever the fold."""
        return all(np.delete(is_event, held).any() for held in self.folds)

    def _few_events(self) -> InvalidInputError:
        number = int(self.times.is_event.sum())
        return InvalidInputError(f"bands draw the times of events again, for which the rows have too few: {number}")
