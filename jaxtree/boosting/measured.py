"""What is measured of rows that no tree is grown on, after every round: a column for each pair of rows and metric."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64


class Measure(NamedTuple):
    """What a column of measured numbers is.

    Attributes:
        evaluation: The name of the rows.
        metric: The name of the metric.
    """

    evaluation: str
    metric: str


class Measured(NamedTuple):
    """What was measured after every round.

    Attributes:
        measures: What the columns are.
        values: The numbers.
    """

    measures: tuple[Measure, ...]
    values: Float64[np.ndarray, "round measure"]

    def first(self, number: int) -> "Measured":
        """Returns what was measured after the first rounds."""
        return self._replace(values=self.values[:number])

    def as_dict(self) -> dict[str, dict[str, list[float]]]:
        """Returns the numbers of every round by names of rows and metric."""
        result: dict[str, dict[str, list[float]]] = {}
        for (evaluation, metric), column in zip(self.measures, self.values.T, strict=True):
            result.setdefault(evaluation, {})[metric] = column.tolist()
        return result
