"""The textbook tables have the entropies and gains that their books print."""

import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from jaxtree.datasets import load_contact_lenses, load_play_tennis, load_watermelon
from jaxtree.errors import InvalidInputError, MissingExtraError

LOADERS = [load_play_tennis, load_contact_lenses, load_watermelon]


def entropy(labels: np.ndarray) -> float:
    share = np.array(list(Counter(labels).values())) / len(labels)
    return float(-(share * np.log2(share)).sum())


def gain(column: np.ndarray, labels: np.ndarray) -> float:
    """Information gain of one branch a value, times the share of rows whose value is known."""
    known = np.array([value is not None for value in column])
    column, labels = column[known], labels[known]
    branches = [labels[column == value] for value in sorted(set(column))]
    remaining = sum(len(branch) / len(labels) * entropy(branch) for branch in branches)
    return float(known.mean() * (entropy(labels) - remaining))


def best_threshold(column: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    values = sorted(set(column))
    thresholds = [(low + high) / 2 for low, high in pairwise(values)]
    return max(((gain(column <= t, labels), t) for t in thresholds), key=lambda candidate: candidate[0])


def gains(bunch) -> list[float]:
    return [gain(column, bunch.target) for column in bunch.data.T]


def test_play_tennis_has_quinlans_gains():
    """Quinlan (1986), section 4: entropy .940, gains .246 .029 .151 .048 (there cut, not rounded)."""
    tennis = load_play_tennis()
    assert tennis.data.shape == (14, 4) and Counter(tennis.target) == {"yes": 9, "no": 5}
    assert entropy(tennis.target) == pytest.approx(0.940286, abs=1e-6)
    assert gains(tennis) == pytest.approx([0.246750, 0.029223, 0.151836, 0.048127], abs=1e-6)


def test_numeric_play_tennis_agrees_with_the_words():
    words, numbers = load_play_tennis(), load_play_tennis(numeric=True)
    for column, word, lowest in [(1, "hot", 80), (2, "high", 85)]:
        named = words.data[:, column] == word
        assert all(isinstance(value, float) for value in numbers.data[:, column])
        np.testing.assert_array_equal(numbers.data[:, column].astype(float) >= lowest, named)
    np.testing.assert_array_equal(numbers.data[:, [0, 3]], words.data[:, [0, 3]])


def test_contact_lenses_have_the_known_gains():
    lenses = load_contact_lenses()
    assert lenses.data.shape == (24, 4) and Counter(lenses.target) == {"none": 15, "soft": 5, "hard": 4}
    assert len({tuple(row) for row in lenses.data}) == 24
    assert entropy(lenses.target) == pytest.approx(1.326088, abs=1e-6)
    assert gains(lenses) == pytest.approx([0.039397, 0.039511, 0.377005, 0.548795], abs=1e-6)


def test_watermelon_2_has_the_books_gains():
    """Zhou, *Machine Learning*, section 4.2: entropy .998; gains .109 .143 .141 .381 .289 .006, from rounded sums."""
    melons = load_watermelon()
    assert melons.data.shape == (17, 6) and Counter(melons.target) == {"yes": 8, "no": 9}
    assert entropy(melons.target) == pytest.approx(0.9975, abs=5e-5)
    assert gains(melons) == pytest.approx([0.108, 0.143, 0.141, 0.381, 0.289, 0.006], abs=5e-4)


@pytest.mark.parametrize(("column", "threshold", "expected"), [(6, 0.3815, 0.262), (7, 0.126, 0.349)])
def test_watermelon_3_has_the_books_thresholds(column, threshold, expected):
    """Zhou, *Machine Learning*, section 4.4.1."""
    melons = load_watermelon("3.0")
    assert melons.feature_names[6:] == ["density", "sugar"]
    assert best_threshold(melons.data[:, column], melons.target) == pytest.approx((expected, threshold), abs=5e-4)
    np.testing.assert_array_equal(melons.data[:, :6], load_watermelon().data)


def test_watermelon_alpha_is_blank_where_the_book_is():
    """Zhou, *Machine Learning*, table 4.4 and the gains of section 4.4.2."""
    blanks = {1: "color", 2: "touch", 3: "knock", 5: "color", 6: "navel", 8: "texture", 9: "root", 10: "texture"}
    blanks |= {11: "touch", 12: "knock", 13: "color", 15: "navel", 17: "root"}
    full, melons = load_watermelon(), load_watermelon("2.0-alpha")
    found = {(row + 1, melons.feature_names[column]) for row, column in np.argwhere(melons.data == None)}  # noqa: E711
    assert found == set(blanks.items())
    known = melons.data != None  # noqa: E711
    np.testing.assert_array_equal(melons.data[known], full.data[known])
    assert gains(melons) == pytest.approx([0.252, 0.171, 0.145, 0.424, 0.289, 0.006], abs=5e-4)


def test_unknown_version_names_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"one of '2\.0', '3\.0', '2\.0-alpha', got '4\.0'"):
        load_watermelon("4.0")


@pytest.mark.parametrize("load", LOADERS)
def test_pair_and_bunch_hold_the_same(load):
    bunch, (data, target) = load(), load(return_X_y=True)
    np.testing.assert_array_equal(data, bunch.data)
    np.testing.assert_array_equal(target, bunch.target)
    assert data.shape == (len(target), len(bunch.feature_names))
    assert set(target) == set(bunch.target_names) and "Source:" in bunch.DESCR


def test_frame_knows_numbers_from_words():
    pandas = pytest.importorskip("pandas")
    frame = load_watermelon("3.0", as_frame=True).frame
    numeric = [name for name in frame if pandas.api.types.is_float_dtype(frame[name])]
    assert numeric == ["density", "sugar"] and list(frame)[-1] == "good"
    assert load_watermelon("2.0-alpha", as_frame=True).data.isna().to_numpy().sum() == 13


def test_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r'pip install "jaxtree\[frames\]"'):
        load_play_tennis(as_frame=True)
    assert load_play_tennis().frame is None
