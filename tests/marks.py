"""Parameters of which some are for the slow step alone."""

import pytest


def slow(value):
    """The parameter, whatever marks it has, for the slow step."""
    values, marks, name = (value.values, value.marks, value.id) if hasattr(value, "marks") else ((value,), (), None)
    return pytest.param(*values, marks=[*marks, pytest.mark.slow], id=name)


def rest_is_slow(values, number=1):
    """All values of one parameter; those after the first are for the slow step: the same law in other settings."""
    values = list(values)
    return [*values[:number], *map(slow, values[number:])]


def are_slow(values, *those):
    """All values of one parameter; those that are named are for the slow step."""
    values = list(values)
    assert set(those) <= set(values), "no such parameter"
    return [slow(value) if value in those else value for value in values]


def rows_are_slow(rows, number=1):
    """All values of several parameters; those after the first are for the slow step."""
    rows = [row if hasattr(row, "marks") else pytest.param(*row) for row in rows]
    return rest_is_slow(rows, number)
