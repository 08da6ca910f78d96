"""Columns of many words as means of the target: what a row knows of its own, and what the means do not depend on."""

import numpy as np
import pytest

from jaxtree import DecisionTreeClassifier
from jaxtree.errors import InvalidInputError
from jaxtree.soft import fit_inputs, from_tree
from jaxtree.soft.statistics import Statistics, fit_statistics, ordered_statistics
from jaxtree.table import Encoder
from tests.soft.tables import mixed_table

ROWS, WORDS = 60, 7


def rows(seed=0):
    """Codes of words, some missing and one that no row has, two targets, weights, and an order."""
    draw = np.random.default_rng(seed)
    code = np.where(draw.random(ROWS) < 0.1, np.nan, draw.integers(0, WORDS - 1, ROWS))
    target = np.stack([draw.normal(size=ROWS), draw.random(ROWS) < 0.3], axis=1).astype(float)
    return code, target, draw.integers(1, 4, ROWS).astype(float), draw.permutation(ROWS)


def test_a_mean_is_that_of_the_rows_of_the_word_and_of_one_more():
    code, target, weight, order = rows()
    statistics = fit_statistics(code, WORDS, target, weight)
    mean = np.average(target, axis=0, weights=weight)
    np.testing.assert_allclose(statistics.mean, mean)
    deviation = np.sqrt(np.average((target - mean) ** 2, axis=0, weights=weight))
    np.testing.assert_allclose(statistics.unit, deviation)
    at = np.argsort(order)  # the place of every row in the order

    def mean_of(chosen):
        total = weight[chosen] @ target[chosen] + mean
        return (total / (weight[chosen].sum() + 1) - mean) / statistics.unit

    for word in range(WORDS):
        np.testing.assert_allclose(statistics.value[word], mean_of(code == word), atol=1e-12)
    ordered = ordered_statistics(statistics, code, target, weight, order)
    for row in range(ROWS):
        if np.isnan(code[row]):
            assert np.isnan(ordered[row]).all()
        else:
            np.testing.assert_allclose(ordered[row], mean_of((code == code[row]) & (at < at[row])), atol=1e-12)
    assert (statistics.value[WORDS - 1] == 0).all()


def test_the_own_target_of_a_row_is_not_in_its_mean():
    code, target, weight, order = rows()
    statistics = fit_statistics(code, WORDS, target, weight)
    before = ordered_statistics(statistics, code, target, weight, order)
    changed = 0
    for row in range(ROWS):
        other = target.copy()
        other[row] += 1e6 / 3
        after = ordered_statistics(statistics, code, other, weight, order)
        np.testing.assert_array_equal(after[row], before[row])
        changed += not np.allclose(after, before, equal_nan=True)
    assert changed > ROWS / 2


def test_a_weight_is_a_repeated_row():
    code, target, weight, _ = rows()
    number = weight.astype(int)
    by_weight = fit_statistics(code, WORDS, target, weight)
    by_rows = fit_statistics(np.repeat(code, number), WORDS, np.repeat(target, number, axis=0), np.ones(number.sum()))
    for one, other in zip(by_weight, by_rows, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_the_unit_of_the_target_the_order_of_words_and_that_of_rows_do_not_matter():
    code, target, weight, order = rows()
    first = fit_statistics(code, WORDS, target, weight)
    ordered = ordered_statistics(first, code, target, weight, order)
    moved = 1000 - 2.5 * target
    other = fit_statistics(code, WORDS, moved, weight)
    np.testing.assert_allclose(other.value, -first.value, atol=1e-9)
    np.testing.assert_allclose(ordered_statistics(other, code, moved, weight, order), -ordered, atol=1e-9)
    names = np.random.default_rng(1).permutation(WORDS)
    renamed = np.where(np.isnan(code), np.nan, names[np.nan_to_num(code).astype(int)])
    other = fit_statistics(renamed, WORDS, target, weight)
    np.testing.assert_allclose(other.value[names], first.value, atol=1e-12)
    np.testing.assert_allclose(ordered_statistics(other, renamed, target, weight, order), ordered, atol=1e-12)
    shuffle = np.random.default_rng(2).permutation(ROWS)
    parts = code[shuffle], target[shuffle], weight[shuffle]
    np.testing.assert_allclose(fit_statistics(parts[0], WORDS, *parts[1:]).value, first.value, atol=1e-12)
    same_order = np.argsort(shuffle)[order]
    again = ordered_statistics(first, *parts, same_order)
    np.testing.assert_allclose(again, ordered[shuffle], atol=1e-12)


def test_targets_that_do_not_vary_and_words_of_one_row_each_are_allowed():
    code = np.arange(5.0)
    constant = fit_statistics(code, 5, np.full((5, 1), 7.0), np.ones(5))
    assert (constant.value == 0).all() and constant.unit[0] > 0
    none = fit_statistics(np.full(5, np.nan), 0, np.arange(5.0)[:, None], np.ones(5))
    assert none.value.shape == (0, 1)
    own = ordered_statistics(constant, code, np.arange(5.0)[:, None], np.ones(5), np.arange(5))
    assert (own == 0).all()


def learned(most, num_targets=1, missing=0.2):
    X, score = mixed_table(80, 0, missing=missing)
    encoder = Encoder().fit(X)
    target = np.stack([score] * num_targets, axis=1)
    values = encoder.values(X)
    return fit_inputs(values, encoder.schema_, one_hot_max_size=most, target=target), encoder, values, target


def test_columns_of_more_words_than_allowed_become_means():
    inputs, _, values, target = learned(6)
    assert [isinstance(scale, Statistics) for scale in inputs.scales] == [False, False, True, False, False]
    assert inputs.names[:5] == ("x0", "x1", "mean(x2)", "x3 = x", "x3 = y")
    x = inputs.transform(values)
    assert x.shape == (80, inputs.num_features) == (80, len(inputs.names))
    is_missing = np.isnan(values[:, 2])
    assert (x[is_missing, 2] == 0).all() and (x[~is_missing, 2] != 0).all()
    np.testing.assert_array_equal(x[:, inputs.names.index("x2 is missing")], is_missing)
    one_hot = learned(7)[0]
    assert not one_hot.has_statistics and one_hot.num_features == inputs.num_features + 6
    ordered = inputs.transform_ordered(values, target, np.ones(80), np.arange(80))
    np.testing.assert_array_equal(np.delete(ordered, 2, axis=1), np.delete(x, 2, axis=1))
    first = np.flatnonzero(values[:, 2] == values[~is_missing, 2][0])[0]
    assert ordered[first, 2] == 0 != x[first, 2]


def test_every_column_of_the_target_has_a_mean_where_words_are_more():
    inputs = learned(0, num_targets=3)[0]
    assert inputs.names[2:7] == ("mean(x2, 0)", "mean(x2, 1)", "mean(x2, 2)", "x3 = x", "x3 = y")
    assert list(inputs.columns_of(2)) == [2, 3, 4] and inputs.missing[2] == (2, 3, 4)
    assert not learned(0, num_targets=7)[0].has_statistics


def test_trees_on_words_do_not_begin_with_means():
    X, score = mixed_table(80, 0)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, score > 3)
    values = tree.encoder_.values(X)
    inputs = fit_inputs(values, tree.schema_, one_hot_max_size=2, target=score[:, None])
    with pytest.raises(InvalidInputError, match="one_hot_max_size=None"):
        from_tree(tree.tree_, inputs)
