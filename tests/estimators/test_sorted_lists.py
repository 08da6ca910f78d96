"""Sums of sorted lists are those of all pairs, to the bit."""

import numpy as np
import pytest

from jaxtree.estimators.common.sorted_lists import SortedLists


def of_all_pairs(numbers, list_, center, place):
    """The definition, which looks at every sum."""
    return np.partition(center[:, list_] + numbers, place - 1, axis=1)[:, place - 1]


KINDS = {
    "different": lambda numbers, center: (numbers, center),
    "ties": lambda numbers, center: (np.round(numbers, 1), np.round(center, 1)),
    "all alike": lambda numbers, center: (np.zeros_like(numbers), np.ones_like(center)),
    "lost beside centers": lambda numbers, center: (numbers * 1e-17, center),
    "of any size": lambda numbers, center: (np.where(numbers > 1, np.exp(300 * numbers), numbers), center * 1e200),
    "infinite": lambda numbers, center: (np.where(numbers > 1.5, np.inf, numbers), center),
    "lists far apart": lambda numbers, center: (numbers, center + 100 * np.arange(center.shape[1])),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("number", "lists"), [(1, 1), (40, 1), (60, 60), (700, 5), (3000, 20)])
def test_sums_are_those_of_all_pairs(number, lists, kind):
    generator = np.random.default_rng(number)
    numbers, center = np.abs(generator.normal(size=number)), generator.normal(size=(30, lists))
    numbers, center = KINDS[kind](numbers, center)
    list_ = np.append(np.arange(lists), generator.integers(0, lists, number - lists))
    sorted_lists = SortedLists.of(numbers, list_, lists)
    for place in sorted({1, -(-number // 2), -(-9 * number // 10), number}):
        found = sorted_lists.smallest_sums(center, place)
        np.testing.assert_array_equal(found, of_all_pairs(numbers, list_, center, place))


def test_few_of_many_sums_are_looked_at(monkeypatch):
    """The sums of 2,000 rows with 20,000 numbers are 40 million; cuts look at some hundreds a row."""
    looked_at, cut = [], SortedLists._cut

    def counting(self, center, ranges, pivot, *, holds_equal):
        looked_at.append(center.size * int((ranges.end - ranges.first).max()).bit_length())
        return cut(self, center, ranges, pivot, holds_equal=holds_equal)

    monkeypatch.setattr(SortedLists, "_cut", counting)
    generator = np.random.default_rng(0)
    lists = SortedLists.of(generator.exponential(size=20_000), np.arange(20_000) % 5, 5)
    lists.smallest_sums(generator.normal(size=(2_000, 5)), 18_000)
    assert sum(looked_at) / 2_000 < 3_000


def test_sums_that_are_no_numbers_end():
    lists = SortedLists.of(np.arange(40.0), np.arange(40) % 2, 2)
    assert np.isnan(lists.smallest_sums(np.full((1, 2), np.nan), 30)).all()
