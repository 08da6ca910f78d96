"""Pages of many classes: nothing is done once a class for each of the classes."""

import numpy as np
import pytest

import jaxtree
from jaxtree.page import cards
from jaxtree.page import model as pages


def test_equal_numbers_are_written_once_and_look_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    numbers = np.concatenate(
        [rng.normal(size=50), np.zeros(500), [-0.0, np.nan, np.inf, -np.inf, np.nan, 2.0**60, 1e-300]]
    )
    rng.shuffle(numbers)
    expected = [cards.compacted([number])[0] for number in numbers]
    written, short = [], cards._short
    monkeypatch.setattr(cards, "_short", lambda *own: written.append(own) or short(*own))
    assert list(map(repr, cards.compacted(numbers))) == list(map(repr, expected))
    assert len(written) <= 50 + 7


@pytest.mark.parametrize("number", [3, 30])
def test_the_names_of_classes_are_listed_as_often_for_30_as_for_3(number, monkeypatch):
    y = np.arange(120) % number
    X = np.stack([y, np.arange(120) % 7], axis=1)
    model = jaxtree.DecisionTreeClassifier(max_depth=3).fit(X, y)
    listed, labels = [], pages.output_labels
    monkeypatch.setattr(pages, "output_labels", lambda *own: listed.append(own) or labels(*own))
    jaxtree.to_html(model, X=X, y=y)
    assert not listed
