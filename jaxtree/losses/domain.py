"""The targets that a loss allows, and the message that says which."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped

from jaxtree.errors import InvalidInputError


class Domain(NamedTuple):
    """Numbers that are allowed: an interval, perhaps of whole numbers alone.

    Attributes:
        lowest: The end below, infinite if there is none.
        highest: The end above.
        is_open: Whether the ends themselves are not allowed.
        is_whole: Whether numbers must be whole.
        has_positive: Whether one of those that a model is fitted to must be above 0; of measured ones none need be.
        num_shares: The number of columns of targets that are shares, from 0 to 1 and whatever else is said; 0 if none
            may be.

    Example:
        >>> Domain(0, is_open=True).words
        'above 0'
        >>> Domain(0, 2, is_whole=True).words
        'a whole number from 0 to 2'
    """

    lowest: float = -math.inf
    highest: float = math.inf
    is_open: bool = False
    is_whole: bool = False
    has_positive: bool = False
    num_shares: int = 0

    @property
    def words(self) -> str:
        """The allowed targets, in words."""
        kind = "a whole number" if self.is_whole else "" if math.isfinite(self.lowest) else "a finite number"
        return f"{kind} {self._interval}".strip()

    @property
    def _interval(self) -> str:
        if not math.isfinite(self.lowest):
            return ""
        if not math.isfinite(self.highest):
            return f"above {self.lowest:g}" if self.is_open else f"{self.lowest:g} or more"
        if self.is_open:
            return f"between {self.lowest:g} and {self.highest:g}, without these"
        return f"from {self.lowest:g} to {self.highest:g}"

    def check(self, values: Shaped[np.ndarray, "row *output"], what: str) -> None:
        """Raises if a number is not allowed, whatever the others are.

        Args:
            values: The numbers.
            what: Their name in the message: `"a target"`.

        Raises:
            InvalidInputError: One is not allowed; the message has the first such one.
        """
        if values.dtype.kind not in "biuf":
            raise InvalidInputError(f"{what} must be {self.words}, got an array of {values.dtype}")
        allowed = self.allows(values)
        if not allowed.all():
            raise InvalidInputError(f"{what} must be {self.words}, got {values[~allowed][0]}")

    def check_together(self, values: Shaped[np.ndarray, "row *output"], what: str) -> None:
        """Raises if a model cannot be fitted to the numbers, each of which is allowed; see `check`."""
        if self.has_positive and not (values > 0).any():
            raise InvalidInputError(f"{what} of some row must be above 0, got 0 in all {len(values)} rows")

    def allows(self, values: Shaped[np.ndarray, "row *output"]) -> Bool[np.ndarray, "row *output"]:
        """Returns which numbers are allowed.

        >>> Domain(0, is_open=True).allows(np.array([-1.0, 0.0, 1.0])).tolist()
        [False, False, True]
        """
        if self.num_shares and values.shape[1:] == (self.num_shares,):
            return (values >= 0) & (values <= 1)
        inside = (values > self.lowest) & (values < self.highest) if self.is_open else self._within(values)
        allowed = np.isfinite(values) & inside
        return allowed & (values == np.floor(values)) if self.is_whole else allowed

    def _within(self, values: Shaped[np.ndarray, "row *output"]) -> Shaped[np.ndarray, "row *output"]:
        return (values >= self.lowest) & (values <= self.highest)


NUMBERS = Domain()
"""Any finite number."""


MOST_EXPONENT = 428
"""Squares of numbers between 2**-428 and 2**428, times weights, are numbers; so are those of derivatives.
Losses of logarithms have no larger means, see `growth`."""


def check_magnitude(values: Shaped[np.ndarray, "row *output"], what: str) -> None:
    """Raises if squares of numbers that are as large as targets may be infinite, or 0.

    Args:
        values: The targets; those that are 0 have any magnitude.
        what: The largest in words, for the message.

    Raises:
        InvalidInputError: The largest is beyond 2**-428 or 2**428.
    """
    largest = float(np.max(np.abs(values), initial=0)) if values.dtype.kind == "f" else 0.0
    if largest and abs(np.frexp(largest)[1]) > MOST_EXPONENT:
        raise InvalidInputError(
            f"{what} must be between {2.0**-MOST_EXPONENT:.1e} and {2.0**MOST_EXPONENT:.1e}, since derivatives are "
            f"squared, got {largest:g}: multiply y by a constant"
        )


def require(is_allowed: Any, message: str, value: object) -> None:
    """Raises `InvalidInputError` with the message and the value given, unless it is allowed."""
    if not is_allowed:
        raise InvalidInputError(f"{message}, got {value}")
