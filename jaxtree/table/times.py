"""Dates and durations as numbers of days.

A *time* is an instant (a date, or a date and a time of day) or a duration. Instants become days since the first one of
the fitted column, its *origin*; durations become days. Instants with a time zone are those of UTC; instants without one
are another kind of column. Fractions of a nanosecond are cut off.

The same time gives the same number whatever its unit: whole days are subtracted as integers, and the rest, a whole
number of nanoseconds, is divided by those of a day. So float64 separates nanoseconds within a day or so of the
origin, and microseconds within 280 years.
"""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, Shaped

from jaxtree.errors import InvalidTypeError
from jaxtree.table.numerals import decimal_at_most, exact_decimal

NANOSECONDS = 86_400 * 10**9
"""The nanoseconds of a day."""

KINDS = {"instant": "dates", "utc": "dates with a time zone", "duration": "durations"}
"""Kinds of times, and their names in messages."""

DATE_IN_WORDS = re.compile(
    r"(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./-]\d{1,2}[./-]\d{1,2}"
    r"|\d{1,2}[. -]+[A-Za-z]{3,9}[., -]+\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})(?:[T ,]+\d{1,2}:\d{2}.*)?",
    re.ASCII,
)
"""Words that are dates to a reader, in any of the usual orders."""

_TICKS = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": NANOSECONDS}
_FINE = ("ps", "fs", "as")
_UNITS = (
    ("days", NANOSECONDS),
    ("h", 3600 * 10**9),
    ("min", 60 * 10**9),
    ("s", 10**9),
    ("ms", 10**6),
    ("us", 10**3),
    ("ns", 1),
)
_ROUND = (10**9, 10**6, 10**3, 1)  # nanoseconds of a second and less
_MOST_LETTERS = 12
_MOST_DAYS_OF_NANOSECONDS = 100_000
_TOLERANCE = 0.25  # of a microsecond, beyond the rounding of days within 280 years of the origin


@dataclass(frozen=True)
class TimeScale:
    """How the times of a column become numbers.

    Attributes:
        kind: "instant", "utc" for instants of UTC, or "duration".
        origin: Where days are counted from: whole days since 1970-01-01, and nanoseconds of that day; (0, 0) for
            durations.

    >>> scale = TimeScale("instant", (18_262, 0))
    >>> scale.numbers(np.array(["2020-01-01", "2020-01-02T12"], "datetime64[s]"))
    array([0. , 1.5])
    >>> scale.in_words(1.5), scale.unit
    ('2020-01-02 12:00', 'days since 2020-01-01')
    >>> TimeScale("duration", (0, 0)).in_words(0.25)
    '6 h'
    """

    kind: str
    origin: tuple[int, int]

    def numbers(self, values: Shaped[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
        """Returns the number of days of every time, NaN where it is missing."""
        day, nanosecond = _split(values)
        # Both differences are exact, and so is the sum's order: a later time is never a smaller number.
        numbers = (day - self.origin[0]) + (nanosecond - self.origin[1]) / NANOSECONDS
        return np.where(np.isnat(values), np.nan, numbers)

    def value(self, number: float) -> Any:
        """Returns the time of a number: NumPy's, or Python's own in UTC."""
        if self.kind == "duration":
            if abs(number) < _MOST_DAYS_OF_NANOSECONDS:
                return np.timedelta64(round(number * NANOSECONDS), "ns")
            return np.timedelta64(round(number * _TICKS["us"]), "us")
        instant: Any = self._instant(number)
        return instant.item().replace(tzinfo=datetime.UTC) if self.kind == "utc" else instant

    def in_words(self, number: float) -> str:
        """Writes the time of a number: "2020-01-02 12:00", or "6 h"."""
        return self._written(self._tick(number))

    def limit_in_words(self, limit: float, low: float) -> str:
        """Writes a limit so that times up to `low` lie at or below it, and those of greater numbers than it above it.

        Args:
            limit: The limit as a number.
            low: The greatest number of a time at or below it; minus infinity if there is none.

        >>> scale = TimeScale("instant", (18_262, 0))
        >>> scale.limit_in_words(1.49999, 1.0), scale.limit_in_words(1.5 + 1e-12, 1.5)
        ('2020-01-02 11:59:59', '2020-01-02 12:00')
        """
        return self._written(self._roundest_tick(limit, low))

    def number_at_most(self, limit: float, low: float) -> float:
        """Returns the number of the time that `limit_in_words` writes."""
        return self._number(self._roundest_tick(limit, low))

    def limit_of_databases(self, limit: float) -> str:
        """Writes a limit of instants as the last microsecond at or below it, with all digits, as texts compare."""
        days, rest = divmod(self._last_tick(limit) // 1000, _TICKS["us"])
        seconds, microseconds = divmod(rest, 10**6)
        return f"{_date(days)} {_clock(seconds, 0)}.{microseconds:06d}"

    @property
    def unit(self) -> str:
        """The unit of the numbers: "days since 2020-01-01", or "days"."""
        return "days" if self.kind == "duration" else f"days since {self.in_words(0.0)}"

    def _instant(self, number: float) -> np.datetime64:
        """The instant, to the microsecond; one that rounding has moved a little below a microsecond lies on it."""
        whole = np.floor(number)
        microseconds = (number - whole) * _TICKS["us"] + self.origin[1] / 1000
        days = np.datetime64(self.origin[0] + int(whole), "D").astype("datetime64[us]")
        return days + np.timedelta64(int(np.floor(microseconds + _TOLERANCE)), "us")

    # A tick is a nanosecond since 1970-01-01, or of a duration; Python's integers have room for those of any year.

    def _number(self, tick: int) -> float:
        """The number of a tick, as `numbers` has it."""
        rest = abs(tick) % NANOSECONDS * (-1 if tick < 0 else 1) if self.kind == "duration" else tick % NANOSECONDS
        return float((tick - rest) // NANOSECONDS - self.origin[0]) + (rest - self.origin[1]) / NANOSECONDS

    def _last_tick(self, number: float) -> int:
        """The last tick whose number is not above a number."""
        whole = int(np.floor(number))
        tick = (self.origin[0] + whole) * NANOSECONDS + self.origin[1] + round((number - whole) * NANOSECONDS)
        slack = 2 + int(2 * NANOSECONDS * np.spacing(abs(number) + 1.0))
        low, high = tick - slack, tick + slack
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._number(middle) <= number else (low, middle)
        return low

    def _tick(self, number: float) -> int:
        """The tick of a number: of those that have it the roundest; of a number of none, the roundest next to it."""
        last = self._last_tick(number)
        slack = 0.0 if self._number(last) == number else np.spacing(abs(number) + 1.0)
        for unit in _ROUND:
            tick = (last + unit // 2) // unit * unit
            if abs(self._number(tick) - number) <= slack:
                return tick
        return last

    def _roundest_tick(self, limit: float, low: float) -> int:
        """The roundest tick at or below a limit that is not below the greatest time there."""
        last = self._last_tick(limit)
        first = self._tick(low) if np.isfinite(low) else min(0, 2 * last)
        if self.kind == "duration":
            size = _unit_of(last)[1]
            tick = int(Fraction(decimal_at_most(last / size, first / size)) * size // 1)
            if first <= tick <= last:
                return tick
        return next((at for unit in _ROUND if (at := last // unit * unit) >= first), max(first, last))

    def _written(self, tick: int) -> str:
        """A tick in words, without zeros at the end."""
        if self.kind == "duration":
            return _duration_in_words(tick)
        days, rest = divmod(tick, NANOSECONDS)
        clock = f" {_clock(*divmod(rest, 10**9))}".removesuffix(":00") if rest else ""
        return _date(days) + clock + (" UTC" if self.kind == "utc" else "")


class Days(float):
    """A number of days with its scale, by which it is written as a time."""

    scale: TimeScale

    @classmethod
    def of(cls, scale: TimeScale, number: float) -> "Days":
        """Returns a number on a scale."""
        days = cls(number)
        days.scale = scale
        return days


def as_times(name: str, values: Sequence) -> tuple[Shaped[np.ndarray, " row"], bool]:
    """Returns dates, or durations, of Python, NumPy and pandas as an array, in which None is NaT.

    The second result is whether they are dates with a time zone. Raises InvalidTypeError if only some of them have one.
    """
    is_known = [value is not None for value in values]
    has_zone = {_has_zone(value) for value in values if value is not None}
    if len(has_zone) > 1:
        raise InvalidTypeError(
            f"column {name!r} mixes dates with and without a time zone: give all of them one, or none"
        )
    known = np.array([_as_numpy(value) for value in values if value is not None] or [np.datetime64("NaT", "s")])
    times = np.full(len(values), "NaT", known.dtype)
    times[is_known] = known
    return times, has_zone == {True}


def origin_of(values: Shaped[np.ndarray, " row"]) -> tuple[int, int]:
    """Returns the first of some instants: days since 1970-01-01, and nanoseconds of that day.

    >>> origin_of(np.array(["2020-01-02T00:00:01", "NaT"], "datetime64[s]"))
    (18263, 1000000000)
    """
    day, nanosecond = _split(np.nanmin(values)[None])
    return int(day[0]), int(nanosecond[0])


def _split(values: Shaped[np.ndarray, " row"]) -> tuple[Int64[np.ndarray, " row"], Int64[np.ndarray, " row"]]:
    """Returns whole days and the nanoseconds beyond them: both negative for negative durations, anything for NaT."""
    ticks = _TICKS[np.datetime_data(values.dtype)[0]]
    count = values.view(np.int64)
    rest = (np.fmod if values.dtype.kind == "m" else np.mod)(count, ticks)
    return (count - rest) // ticks, rest * (NANOSECONDS // ticks)


def in_ticks(name: str, values: Shaped[np.ndarray, " row"]) -> Shaped[np.ndarray, " row"]:
    """Returns NumPy's times of any unit in seconds, or in milli-, micro- or nanoseconds, one after the other.

    Raises InvalidTypeError of durations in months or years, which have no fixed length.
    """
    unit, letter = np.datetime_data(values.dtype)[0], values.dtype.kind
    if letter == "m" and unit in ("Y", "M"):
        raise InvalidTypeError(
            f"column {name!r} has dtype {values.dtype}: months and years have no fixed length, turn them into days or "
            "numbers"
        )
    if unit == "generic" and not np.isnat(values).all():
        raise InvalidTypeError(f"column {name!r} has dtype {values.dtype}, without a unit: give it one, such as 's'")
    ticks = unit if unit in _TICKS else "ns" if unit in _FINE else "s"
    return np.ascontiguousarray(values.astype(f"{letter}8[{ticks}]", copy=False))


def _has_zone(value: Any) -> bool:
    return getattr(value, "tzinfo", None) is not None


def _as_numpy(value: Any) -> np.datetime64 | np.timedelta64:
    if _has_zone(value):
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if hasattr(value, "to_numpy"):  # of pandas
        return value.to_numpy()
    return np.datetime64(value) if isinstance(value, datetime.date | np.datetime64) else np.timedelta64(value)


def _date(days: int) -> str:
    return str(np.datetime64(days, "D"))


def _clock(seconds: int, nanoseconds: int) -> str:
    fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def _unit_of(tick: int) -> tuple[str, int]:
    """The greatest unit of which there is one."""
    return next(((name, size) for name, size in _UNITS if abs(tick) >= size), _UNITS[0])


def _duration_in_words(tick: int) -> str:
    """A duration as a short number of a unit, or as days and a clock."""
    name, size = _unit_of(tick)
    decimal = exact_decimal(tick / size)
    if len(decimal) <= _MOST_LETTERS and Fraction(decimal) * size == tick:
        return f"{decimal} {name}"
    days, rest = divmod(tick, NANOSECONDS)
    return f"{days} days {'+' * (days < 0)}{_clock(*divmod(rest, 10**9))}"
