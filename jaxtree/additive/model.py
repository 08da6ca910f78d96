"""A fitted additive model: an intercept, and the values of all bins of its terms."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float64, UInt

from jaxtree.kernels.layout import Layout
from jaxtree.table.schema import Schema


@dataclasses.dataclass(frozen=True, eq=False)
class AdditiveModel:
    """The sum of an intercept and of terms of one feature or two.

    The weighted mean of every term over the rows of the fit is 0, and that of every row and column of a pair's surface.

    Attributes:
        schema: The columns and features of the table.
        layout: The terms.
        intercept: The mean scores.
        values: The contribution of every bin to the scores.
        errors: The standard errors of the values, from how much bags differ; 0 of one bag, and of bags of the same
            rows.
        weight: The weight of the rows of the fit in every bin.
    """

    schema: Schema
    layout: Layout
    intercept: Float64[np.ndarray, " score"]
    values: Float64[np.ndarray, "place score"]
    errors: Float64[np.ndarray, "place score"]
    weight: Float64[np.ndarray, " place"]

    @property
    def num_scores(self) -> int:
        """The number of scores."""
        return len(self.intercept)

    @property
    def term_names(self) -> tuple[str, ...]:
        """The names of the terms: of pairs both names, as "age & hours"."""
        names = self.schema.column_names
        return tuple(" & ".join(names[own] for own in pair if own >= 0) for pair in self.layout.features.tolist())

    def term_values(self, codes: UInt[np.ndarray, "feature row"]) -> Float64[np.ndarray, "row term score"]:
        """Returns what every term adds to the scores of rows.

        Args:
            codes: The codes of the rows.
        """
        layout = self.layout
        places = [layout.first[term] + layout.bins_of(term, codes) for term in range(layout.num_terms)]
        if not places:
            return np.zeros((codes.shape[1], 0, self.num_scores))
        return np.stack([self.values[own] for own in places], axis=1)

    def importances(self) -> Float64[np.ndarray, " term"]:
        """Returns the mean size of every term over the rows of the fit, all scores together."""
        size = np.abs(self.values).mean(axis=1) * self.weight
        first, total = self.layout.first[:-1], max(float(self.weight[self.layout.places(0)].sum()), 1e-300)
        return np.add.reduceat(size, first) / total if len(first) else np.zeros(0)


def in_own_unit(values: Float64[np.ndarray, "*bin"], measure: Callable[[np.ndarray], Any]) -> Any:
    """Returns a measure in the unit of its values that squares them: of any size, as no square of 1e200 is a number.

    >>> in_own_unit(np.array([3e200, 4e200]), np.linalg.norm) / 1e200
    np.float64(5.0)
    """
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ldexp(measure(np.ldexp(values, -exponent)), exponent)
