"""Known times of events: the first and the last time of every row that its event may be at."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxtree.dataset.fields import split_structured
from jaxtree.errors import InvalidInputError


class Observed(NamedTuple):
    """The bounds of the time of every row's event.

    Attributes:
        lower: The first time: that of the event, or of the end of watching.
        upper: The last time: that of the event, or infinity.
    """

    lower: Float[np.ndarray, " row"]
    upper: Float[np.ndarray, " row"]

    @property
    def is_exact(self) -> Bool[np.ndarray, " row"]:
        """Whether the time is known."""
        return self.lower == self.upper

    @property
    def is_event(self) -> Bool[np.ndarray, " row"]:
        """The same: of rows that are watched until an event or an end, whether it is an event."""
        return self.is_exact


def read_times(time: Any, *, event: Any = None, upper: Any = None) -> Observed:
    """Reads times and events, or bounds.

    Args:
        time: The time of every row, or a structured array of events and times.
        event: 1 or True of rows with the event; all have it if neither this nor `upper` is given.
        upper: The last time that the event may be at.

    Raises:
        InvalidInputError: Both are given, an argument has another number of rows, or a value is not allowed.

    >>> read_times([2.0, 3.0], event=[True, False]).upper.tolist()
    [2.0, inf]
    """
    if event is not None and upper is not None:
        raise InvalidInputError("event and upper say the same: give one of them, got both")
    given = {"event": event} if event is not None else {}
    time, extras = split_structured(time, given)
    event = extras.get("event")
    lower = numbers_of_rows("time", time, None)
    if upper is not None:
        last = numbers_of_rows("upper", upper, len(lower), is_infinite=True)
        if (last < lower).any():
            row = int(np.flatnonzero(last < lower)[0])
            raise InvalidInputError(f"upper must not be below time, got {last[row]} for {lower[row]} in row {row}")
        return Observed(lower, last)
    if event is None:
        return Observed(lower, lower)
    events = numbers_of_rows("event", event, len(lower))
    if not np.isin(events, (0, 1)).all():
        wrong = events[~np.isin(events, (0, 1))][0]
        raise InvalidInputError(f"event must be 1 or True of rows with the event, and 0 of others, got {wrong}")
    return Observed(lower, np.where(events == 1, lower, np.inf))


def numbers_of_rows(
    name: str, given: Any, num_rows: int | None, *, is_infinite: bool = False
) -> Float[np.ndarray, " row"]:
    """Returns a number for each row.

    Raises:
        InvalidInputError: There are none, or others than so many, or one is missing, or infinite where it must not be.
    """
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be a number for each row, got {type(given).__name__}") from None
    if values.ndim != 1 or (num_rows is not None and len(values) != num_rows):
        wanted = "one axis" if num_rows is None else f"shape ({num_rows},)"
        raise InvalidInputError(f"{name} must be a number for each row, of {wanted}, got shape {values.shape}")
    is_wrong = np.isnan(values) if is_infinite else ~np.isfinite(values)
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong)[0])
        raise InvalidInputError(f"{name} must be finite numbers, got {values[row]} in row {row}")
    return values
