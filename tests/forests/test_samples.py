"""Samples of trees: a stream of draws, in which every tree has its place, and sums of rounded weights and targets."""

import jax
import numpy as np
import pytest

from jaxtree.forests.samples import (
    draw_rows,
    make_drawing,
    restore_sums,
    round_targets,
    round_weights,
)

KEY = jax.random.key(3)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("num_draws", [1, 37, 50])
def test_a_tree_s_rows_do_not_depend_on_the_batch(num_draws):
    drawing = make_drawing(KEY, 41, num_draws)
    together = drawing.draw_counts(0, 12)
    apart = np.concatenate([drawing.draw_counts(0, 5), drawing.draw_counts(5, 1), drawing.draw_counts(6, 6)])
    assert (together == apart).all()
    assert (together.sum(axis=1) == num_draws).all()
    assert len({tuple(counts) for counts in together}) > 9


def test_entries_are_the_rows_with_a_count(monkeypatch):
    monkeypatch.setattr("jaxtree.forests.samples.CELLS_AT_A_TIME", 90)
    drawing = make_drawing(KEY, 41, 41)
    drawn, counts = draw_rows(drawing, 3, 5), drawing.draw_counts(3, 5)
    again = np.zeros_like(counts)
    again[drawn.tree, drawn.row] = drawn.weight
    assert (again == counts).all()
    assert drawn.weight.min() == 1
    assert drawn.row.size == np.sum(counts > 0)


def test_rows_are_drawn_alike():
    counts = make_drawing(KEY, 20, 500).draw_counts(0, 40).sum(axis=0)
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-squared with 19 degrees of freedom: 1 in 1,000


def test_weights_are_chances():
    weight = np.array([1.0, 0.5, 4.0, 2.5, 2.0])
    counts = make_drawing(KEY, 5, 2000, weight).draw_counts(0, 10).sum(axis=0)
    expected = 20_000 * weight / weight.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 18.5  # 4 degrees of freedom: 1 in 1,000


def test_equal_weights_draw_as_none():
    given, none = make_drawing(KEY, 9, 20, np.full(9, 0.3)), make_drawing(KEY, 9, 20)
    assert (given.draw_counts(0, 4) == none.draw_counts(0, 4)).all()


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 201.0)])
def test_numbers_of_rows_are_foreseen(weight):
    drawing = make_drawing(KEY, 200, 200, weight)
    counts = drawing.draw_counts(0, 200)
    assert abs(np.mean(np.sum(counts > 0, axis=1)) - drawing.expected_rows()) < 2
    assert counts.max() <= drawing.largest_count()


@pytest.mark.parametrize("scale,offset", [(1.0, 0.0), (1e-9, 1e9), (1e12, -3.0), (0.0, 7.0)])
def test_sums_of_targets_are_exact(scale, offset):
    target = (scale * RNG.normal(size=(2, 1000)) + offset).astype(np.float64)
    counts = RNG.multinomial(1000, np.full(1000, 1e-3))
    rounded = round_targets(target, total=1000.0, most_count=16, centred=True)
    reach = np.max(np.abs(target - rounded.offset[:, None]))
    assert np.max(np.abs(rounded.values + rounded.offset[:, None] - target)) <= 2**-34 * reach + 2e-16 * abs(offset)
    for order in (np.arange(1000), RNG.permutation(1000)):
        products = (rounded.values * counts)[:, order]
        one_by_one, by_centre = np.cumsum(products, axis=1)[:, -1], np.zeros(2)
        for output in range(2):
            used = rounded.values[output][counts > 0]
            centre = used.min() / 2 + used.max() / 2
            by_centre[output] = np.sum((rounded.values[output] - centre) * counts) + centre * counts.sum()
        assert (one_by_one == np.sum(rounded.values * counts, axis=1)).all()
        assert (by_centre == one_by_one).all()


def test_sums_are_restored():
    target = RNG.normal(size=(1, 100)) + 1e6
    rounded = round_targets(target, total=100.0, most_count=1, centred=True)
    restored = restore_sums(rounded.values.sum(axis=1)[None], np.array([100], np.int32), rounded.offset)
    np.testing.assert_allclose(restored, target.sum(axis=1)[None], rtol=1e-14)


def test_targets_that_must_be_positive_are_not_centred():
    rounded = round_targets(np.array([[3.0, 5.5, 0.0]]), total=3.0, most_count=1, centred=False)
    assert rounded.values.tolist() == [[3.0, 5.5, 0.0]]
    assert rounded.offset.tolist() == [0.0]


def test_weights_are_multiples_of_one_unit():
    weight = RNG.random(1000)
    rounded = round_weights(weight, 1.0, 1000)
    assert np.max(np.abs(rounded - weight)) <= 2**-40
    assert (rounded * 2.0**39 == np.round(rounded * 2.0**39)).all()
    assert (rounded != weight).any()
