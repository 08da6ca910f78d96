"""Numbers as decimals: of those that mean the same the shortest.

A decimal has at least six significant digits and all digits of its whole part, without zeros at its end: so whole
numbers are whole, and only numbers of more than 21 places, or that begin at the fifth place after the point or later,
have an exponent. Further digits are written where fewer would mean another number.
"""

from collections.abc import Iterator, Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal

import numpy as np

LEAST_DIGITS = 6
"""Significant digits that are written, if there are as many."""

MOST_DIGITS = 17
"""Significant digits that tell any two doubles apart."""

LEAST_EXPONENT, MOST_EXPONENT = -4, 20
"""The powers of ten between which a number is written without an exponent."""

SMALLEST_SCORE = 1e-3
"""The score below which four decimals have fewer than two digits."""

SHARE_OF_SPREAD = 1e-4
"""The largest error of decimals that stand together, as a share of the distance between the outermost."""


TENTHS_UP_TO = 9.95
"""Shorter times, in seconds, have a decimal."""

MINUTE, HOUR, DAY = 60, 3600, 86400

DURATIONS = ((90, "s", 1), (90 * MINUTE, "min", MINUTE), (36 * HOUR, "h", HOUR))
"""Seconds up to which a time stands in a unit, the unit, and its seconds."""


def exact_decimal(value: int | float) -> str:
    """Writes a number in the fewest digits that read back as it.

    >>> [exact_decimal(value) for value in (0.1, 2.0, 20180102.0, 1e6, 1e-7, 1.5e300, -0.0)]
    ['0.1', '2', '20180102', '1000000', '1e-07', '1.5e+300', '0']
    """
    if isinstance(value, int) or not np.isfinite(value):
        return str(value)
    whole = int(value)
    is_short = whole == value and abs(value) < 10 ** (MOST_EXPONENT + 1)
    return str(whole) if is_short else _written(Decimal(repr(float(value))))


def decimal_between(value: float, low: float, high: float) -> str:
    """Writes a limit so that what is at most `low` lies at or below it, and what is at least `high` above it.

    If two decimals are equally near, it is the lower one: among whole numbers it is a limit as the middle of two is.

    Args:
        value: The limit; `low <= value < high`, or the decimal is exact.
        low: The greatest number at or below it.
        high: The least number above it.

    >>> decimal_between(2.4499999999999997, 1.9, 3.0), decimal_between(20180102.5, 20180102.0, 20180103.0)
    ('2.45', '20180102')
    >>> decimal_between(1234567.25, 1234567.0, 1234567.5), decimal_between(0.123456789, 0.12345678, 0.123456798)
    ('1234567', '0.12345679')
    >>> decimal_between(3.9999999, 3.0, 4.0)
    '3'
    """
    if np.isfinite(value) and low <= value < high:
        for decimal in _ever_longer(value):
            lowest = _rounded(low, len(decimal.as_tuple().digits), ROUND_HALF_UP) if np.isfinite(low) else decimal
            for own in (decimal, lowest):
                if low <= float(own) < high:
                    return _written(own)
    return exact_decimal(value)


def decimal_at_most(value: float, low: float) -> str:
    """Writes a number that is no greater than a limit, and no less than `low`, which is not above it.

    >>> decimal_at_most(2.45, 1.9), decimal_at_most(2.4499999999999997, 1.9)
    ('2.45', '2.44999')
    """
    if np.isfinite(value):
        for decimal in _ever_longer(value):
            lower = _rounded(value, len(decimal.as_tuple().digits), ROUND_FLOOR)
            for own in (decimal, lower):
                if low <= float(own) <= value:
                    return _written(own)
    return exact_decimal(value)


def decimal_near(value: float, tolerance: float = np.inf, least_digits: int = LEAST_DIGITS) -> str:
    """Writes a measured number, at most so far off.

    >>> decimal_near(152.13348416), decimal_near(1234567.89), decimal_near(1234567.89, 0.01), decimal_near(1e-13 / 3)
    ('152.133', '1234568', '1234567.89', '3.33333e-14')
    """
    if np.isfinite(value):
        for decimal in _ever_longer(value, least_digits):
            if abs(float(decimal) - value) <= tolerance:
                return _written(decimal)
    return exact_decimal(value)


def score_in_words(value: float) -> str:
    """Writes a score with four decimals, or if it is too small for these with four digits.

    >>> score_in_words(0.98765), score_in_words(-12.5), score_in_words(1.23456e-9)
    ('0.9877', '-12.5000', '1.235e-09')
    """
    return f"{value:.4g}" if 0 < abs(value) < SMALLEST_SCORE else f"{value:z.4f}"


def duration_in_words(seconds: float) -> str:
    """Writes how long something takes, in a unit in which one reads it.

    >>> [duration_in_words(seconds) for seconds in (0.04, 2.0, 42.0, 480.0, 30506.2, 400_000.0)]
    ['0.0 s', '2.0 s', '42 s', '8 min', '8 h', '5 days']
    """
    if seconds < TENTHS_UP_TO:
        return f"{seconds:z.1f} s"
    for most, unit, size in DURATIONS:
        if seconds < most:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / DAY:.0f} days"


def decimals_together(values: Sequence[float], least_digits: int = LEAST_DIGITS) -> list[str]:
    """Writes measured numbers of one kind, such as the means of a tree's nodes, so that they can be told apart.

    >>> decimals_together([1700000000.25, 1700000001.5]), decimals_together([0.25, 152.13348416])
    (['1700000000.25', '1700000001.5'], ['0.25', '152.133'])
    """
    finite = [value for value in values if np.isfinite(value)]
    tolerance = SHARE_OF_SPREAD * (max(finite) - min(finite)) if finite else 0.0
    return [decimal_near(value, tolerance or np.inf, least_digits) for value in values]


def _ever_longer(value: float, least_digits: int = LEAST_DIGITS) -> Iterator[Decimal]:
    """A finite number in more and more digits, from as many as are written at least."""
    halves = ROUND_HALF_DOWN if value > 0 else ROUND_HALF_UP
    exponent = Decimal(value).adjusted() if value else 0
    first = max(least_digits, exponent + 1 if exponent <= MOST_EXPONENT else 0)
    yield from (_rounded(value, digits, halves) for digits in range(first, MOST_DIGITS + 1))


def _rounded(value: float, digits: int, rounding: str) -> Decimal:
    exact = Decimal(value)
    if not value:
        return exact
    return exact.quantize(Decimal((0, (1,), exact.adjusted() - digits + 1)), rounding)


def _written(decimal: Decimal) -> str:
    """A decimal without zeros at its end; "e" stands before an exponent of two digits or more, as Python has it."""
    sign, digits, exponent = decimal.normalize().as_tuple()
    if digits == (0,):
        return "0"
    power = len(digits) - 1 + int(exponent)
    if LEAST_EXPONENT <= power <= MOST_EXPONENT:
        return f"{decimal.normalize():f}"
    first, *rest = map(str, digits)
    point = "." if rest else ""
    return f"{'-' * sign}{first}{point}{''.join(rest)}e{'-' if power < 0 else '+'}{abs(power):02d}"
