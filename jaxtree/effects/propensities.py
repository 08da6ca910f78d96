"""Overlap: at every x rows of each treatment must be possible, or nothing tells their outcomes apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxtree import notebook
from jaxtree.errors import InvalidInputError, OverlapWarning, warn_user
from jaxtree.metrics.survival import numbers_of_rows, weights_of_rows

LEAST = 0.05
"""Estimates suffer from propensities that are closer to 0 or 1; a weight of a row is above 20 there."""


@dataclass(frozen=True, repr=False)
class Overlap:
    """The overlap of propensities.

    Attributes:
        low: The least propensity.
        high: The greatest.
        share_below: The share of rows whose propensity is below `least`.
        share_above: The share of rows whose propensity is above `1 - least`.
        least: The bound.
    """

    low: float
    high: float
    share_below: float
    share_above: float
    least: float

    @property
    def is_good(self) -> bool:
        """Whether all propensities are within the bounds."""
        return self.share_below == 0 and self.share_above == 0

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the words."""
        return notebook.lines(repr(self))

    def __repr__(self) -> str:
        """Returns the overlap in words, with advice where it lacks."""
        words = f"propensities are between {self.low:.3g} and {self.high:.3g}"
        if self.is_good:
            return f"{words}, all within {self.least:g} and {1 - self.least:g}"
        parts = [
            f"{share:.1%} of the rows {side}"
            for share, side in (
                (self.share_below, f"are below {self.least:g}"),
                (self.share_above, f"are above {1 - self.least:g}"),
            )
            if share > 0
        ]
        return f"{words}: {' and '.join(parts)}; {self._advice()}"

    def _advice(self) -> str:
        if self.share_above == 0:
            best = (
                'target="treated" needs no effect of rows that are never treated, and target="overlap" none of either'
            )
        elif self.share_below == 0:
            best = (
                'target="control" needs no effect of rows that are always treated, and target="overlap" none of either'
            )
        else:
            best = 'target="overlap" counts such rows little'
        return f"{best}; or leave these rows out (Crump, Hotz, Imbens and Mitnik, 2009)"


def overlap(propensity: Any, *, least: float = LEAST, sample_weight: Any = None) -> Overlap:
    """Returns how far propensities are from 0 and 1.

    Args:
        propensity: The chance of every row to be treated; of one arm where there are several.
        least: The bound: propensities from it to one less it are good.
        sample_weight: The weight of every row; 1 if not given.

    Raises:
        InvalidInputError: A propensity is not between 0 and 1, or the bound not between 0 and 1/2.

    Example:
        >>> overlap([0.5, 0.4, 0.01, 0.6])  # doctest: +ELLIPSIS
        propensities are between 0.01 and 0.6: 25.0% of the rows are below 0.05; target="treated" needs ...
        >>> overlap([0.5, 0.4])
        propensities are between 0.4 and 0.5, all within 0.05 and 0.95
    """
    if not 0 <= least < 0.5:
        raise InvalidInputError(f"least must be at least 0 and below 0.5, got {least}")
    chance = read_propensity("propensity", propensity, None)
    weight = weights_of_rows(sample_weight, len(chance))
    is_in = weight > 0
    if not is_in.any():
        raise InvalidInputError("propensity must have a row of some weight, got none")
    chance, weight = chance[is_in], weight[is_in]
    below, above = (float(weight @ outside / weight.sum()) for outside in (chance < least, chance > 1 - least))
    return Overlap(float(chance.min()), float(chance.max()), below, above, least)


def read_propensity(name: str, given: Any, num_rows: int | None) -> Float[np.ndarray, " row"]:
    """Reads chances; raises InvalidInputError if one is not between 0 and 1, or there are not `num_rows`.

    >>> read_propensity("treatment_hat", [0, 0.5], 2)
    array([0. , 0.5])
    """
    chance = numbers_of_rows(name, given, num_rows)
    is_wrong = (chance < 0) | (chance > 1)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise InvalidInputError(f"{name} must be between 0 and 1, got {chance[row]} in row {row}")
    return chance


def warn_without_overlap(name: str, propensity: Float[np.ndarray, " row"], sides: tuple[int, ...] = (0, 1)) -> None:
    """Warns of propensities that are close to 0 or 1, with their numbers.

    Args:
        name: The name of the propensities in the message.
        propensity: The chance of every row.
        sides: The ends that matter.
    """
    found = overlap(propensity)
    if any((found.share_below, found.share_above)[side] for side in sides):
        warn_user(f"{name}: {found!r}", OverlapWarning)
