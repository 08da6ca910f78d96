"""Parameters of which some are for the slow step alone."""

import pytest


def marked(value, mark):
    """The parameter with one more mark."""
    values, marks, name = (value.values, value.marks, value.id) if hasattr(value, "marks") else ((value,), (), None)
    return pytest.param(*values, marks=[*marks, mark], id=name)


def slow(value):
    """The parameter, for the slow step."""
    return marked(value, pytest.mark.slow)


def rest_is_slow(values, number=1):
    """All values of one parameter; those after the first are for the slow step: the same law in other settings."""
    values = list(values)
    return [*values[:number], *map(slow, values[number:])]


def are_slow(values, *those):
    """All values of one parameter; those that are named are for the slow step."""
    return _with_mark(values, those, pytest.mark.slow)


def are_exhaustive(values, *those):
    """All values of one parameter; those that are named are tested by hand: two of the others together."""
    return _with_mark(values, those, pytest.mark.exhaustive)


def _with_mark(values, those, mark):
    values = list(values)
    assert set(those) <= set(values), "no such parameter"
    return [marked(value, mark) if value in those else value for value in values]


def rows_are_slow(rows, number=1):
    """All values of several parameters; those after the first are for the slow step."""
    rows = [row if hasattr(row, "marks") else pytest.param(*row) for row in rows]
    return rest_is_slow(rows, number)
