"""Parameters of which some are for the slow step alone."""

import itertools

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


def in_turn(*lists):
    """Rows of a value of each list, in which all have their turn: the law of each value holds whatever the others are.

    A product of the lists would test every law once more for each value of the others.
    """
    lists = [[own if hasattr(own, "marks") else _row(own) for own in values] for values in lists]
    rows = itertools.islice(zip(*map(itertools.cycle, lists), strict=True), max(map(len, lists)))
    return [
        pytest.param(
            *itertools.chain.from_iterable(own.values for own in row),
            marks=list(itertools.chain.from_iterable(own.marks for own in row)),
        )
        for row in rows
    ]


def _row(value):
    return pytest.param(*value) if isinstance(value, tuple) else pytest.param(value)


def _with_mark(values, those, mark):
    values = list(values)
    assert set(those) <= set(values), "no such parameter"
    return [marked(value, mark) if value in those else value for value in values]


def rows_are_slow(rows, number=1):
    """All values of several parameters; those after the first are for the slow step."""
    rows = [row if hasattr(row, "marks") else pytest.param(*row) for row in rows]
    return rest_is_slow(rows, number)
