"""Bootstrap samples: a stream of draws in which every tree has its place."""

import jax
import numpy as np
import pytest

from jaxtree.forests.bootstrap import draw_counts, draw_rows, expected_rows, largest_count, make_drawing

KEY = jax.random.key(3)


@pytest.mark.parametrize("num_draws", [1, 37, 50])
def test_a_tree_s_rows_do_not_depend_on_the_batch(num_draws):
    drawing = make_drawing(KEY, 41, num_draws)
    together = draw_counts(drawing, 0, 12)
    apart = np.concatenate([draw_counts(drawing, 0, 5), draw_counts(drawing, 5, 1), draw_counts(drawing, 6, 6)])
    assert (together == apart).all()
    assert (together.sum(axis=1) == num_draws).all()
    assert len({tuple(counts) for counts in together}) > 9


def test_entries_are_the_rows_with_a_count(monkeypatch):
    monkeypatch.setattr("jaxtree.forests.bootstrap.CELLS_AT_A_TIME", 90)
    drawing = make_drawing(KEY, 41, 41)
    drawn, counts = draw_rows(drawing, 3, 5), draw_counts(drawing, 3, 5)
    again = np.zeros_like(counts)
    again[drawn.tree, drawn.row] = drawn.weight
    assert (again == counts).all()
    assert drawn.weight.min() == 1
    assert drawn.row.size == np.sum(counts > 0)


def test_another_key_draws_other_rows():
    one, other = (draw_counts(make_drawing(jax.random.key(seed), 41, 41), 0, 1) for seed in (0, 1))
    assert (one != other).any()


def test_rows_are_drawn_alike():
    counts = draw_counts(make_drawing(KEY, 20, 500), 0, 40).sum(axis=0)
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-squared with 19 degrees of freedom: 1 in 1,000


def test_weights_are_chances():
    weight = np.array([1.0, 0.5, 4.0, 2.5, 2.0])
    counts = draw_counts(make_drawing(KEY, 5, 2000, weight), 0, 10).sum(axis=0)
    expected = 20_000 * weight / weight.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 18.5  # 4 degrees of freedom: 1 in 1,000


def test_equal_weights_draw_as_none():
    given, none = make_drawing(KEY, 9, 20, np.full(9, 0.3)), make_drawing(KEY, 9, 20)
    assert (draw_counts(given, 0, 4) == draw_counts(none, 0, 4)).all()


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 201.0)])
def test_numbers_of_rows_are_foreseen(weight):
    drawing = make_drawing(KEY, 200, 200, weight)
    counts = draw_counts(drawing, 0, 200)
    assert abs(np.mean(np.sum(counts > 0, axis=1)) - expected_rows(drawing)) < 2
    assert counts.max() <= largest_count(drawing)
