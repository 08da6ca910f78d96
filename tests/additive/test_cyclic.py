"""Cyclic boosting: steps and gradients are those of the reference bit for bit."""

import numpy as np
import pytest

from jaxtree.kernels.additive import (
    NUM_REALS,
    Members,
    StepRules,
    bin_sums,
    boost_on_grams,
    boost_on_rows,
    gram_sums,
)
from jaxtree.kernels.cyclic_steps import TracedRules
from jaxtree.kernels.layout import TermKind
from tests.additive import reference
from tests.additive.engines import ENGINES, both, use
from tests.additive.problems import one_term, random_problem
from tests.growth.native_trees import needs_kernel
from tests.marks import marked

RULES = {
    "plain": StepRules(0.3),
    "two leaves, penalties": StepRules(0.1, l2=5.0, l1=700.0, max_leaves=2),
    "bounded steps, least rows": StepRules(0.5, l2=0.5, max_step=60.25, min_rows=9, min_hessian=12.5, smoothing=10.0),
    "many leaves": StepRules(0.2, max_leaves=6, smoothing=3.5, l1=20.0),
    "greedy": StepRules(0.4, l2=1.0, greedy_steps=7, min_rows=3),
    "nothing is allowed": StepRules(0.4, min_rows=10_000),
}

SLOW_ENGINES = [ENGINES[0], marked("xla", pytest.mark.slow)]
"""Programs of further shapes are for the slow step: each compiles for some seconds."""


def boosting(problem, *, num_grams=1):
    """The arguments of `boost` but rules: the first gram is of all rows, others leave out some."""
    layout, codes, weight, residual = problem
    weights = [np.where(np.arange(len(weight)) % 5 == at - 1, 0, weight).astype(np.int32) for at in range(num_grams)]
    grams = [gram_sums(layout, codes, own, engines=both()) for own in weights]
    rows = np.stack(
        [bin_sums(layout, codes, (own > 0).astype(np.int64), engine=both().of_host) for own in weights]
    ).astype(np.int32)
    gradient = np.stack([bin_sums(layout, codes, -own * residual, engine=both().of_host) for own in weights])
    return layout, grams, gradient, rows, weights


def boosted(layout, grams, rows, gradient, rules, num_passes):
    """The steps and gradients of one member after some passes."""
    members = Members(gradient, np.zeros(1, np.int32), [rules])
    return boost_on_grams(layout, grams, rows, members, num_passes=num_passes, engine=both().of_device)


def assert_boosts_as_reference(problem, rules, num_passes, *, num_grams=1, num_threads=None):
    """Boosts members of all rules and grams at once, and each by the reference."""
    layout, grams, gradient, rows, weights = boosting(problem, num_grams=num_grams)
    members = [(own, gram) for own in rules for gram in range(num_grams)]
    of_gram = np.array([gram for _, gram in members], np.int32)
    given = Members(gradient[of_gram], of_gram, [own for own, _ in members])
    engine = both().of_device
    steps, left = boost_on_grams(
        layout, grams, rows, given, num_passes=num_passes, engine=engine, num_threads=num_threads
    )
    for at, (own, gram) in enumerate(members):
        matrix = reference.gram(layout, problem[1], weights[gram])
        hessian, held = np.diagonal(matrix), rows[gram].astype(np.int64)
        total, after = reference.boost_on_gram(layout, matrix, gradient[gram], hessian, held, own, num_passes)
        np.testing.assert_array_equal(steps[at], total)
        np.testing.assert_array_equal(left[at], after)
    return steps


@needs_kernel
@pytest.mark.parametrize("num_rows", [60, 900])
@pytest.mark.parametrize("name", RULES)
def test_steps_are_those_of_the_reference(name, num_rows):
    steps = assert_boosts_as_reference(random_problem(num_rows, num_rows, 8), [RULES[name]], 4)
    assert np.any(steps) == (name != "nothing is allowed")


@needs_kernel
def test_members_of_several_rules_and_rows():
    for num_threads in (1, 2):
        problem = random_problem(7, 300, 6)
        assert_boosts_as_reference(problem, list(RULES.values()), 2, num_grams=2, num_threads=num_threads)


@pytest.mark.parametrize(("seed", "most", "shift"), [(7, 3, 0), (11, 3_000_000, 26)])
def test_members_of_one_program_of_xla(seed, most, shift, monkeypatch):
    """Small numbers; and gradients of more than 53 bits, whose differences are exact."""
    use("xla", monkeypatch)
    layout, codes, weight, residual = random_problem(seed, 300, 6, most=most)
    assert_boosts_as_reference((layout, codes, weight, residual << shift), list(RULES.values()), 2, num_grams=2)


@pytest.mark.parametrize("engine", SLOW_ENGINES)
@pytest.mark.parametrize("num_codes", [2, 3, 19, 40])
def test_any_number_of_bins(num_codes, engine, monkeypatch):
    """Vectors hold eight: fewer bins, and numbers of bins that are no multiples."""
    use(engine, monkeypatch)
    assert_boosts_as_reference(random_problem(num_codes, 400, num_codes), [StepRules(0.3, max_leaves=4)], 2)


@pytest.mark.parametrize("engine", SLOW_ENGINES)
def test_codes_of_16_bits(engine, monkeypatch):
    use(engine, monkeypatch)
    problem = random_problem(5, 1500, 270, dtype=np.uint16, terms=(0, 2, 3, 6))
    assert_boosts_as_reference(problem, [StepRules(0.3, greedy_steps=2)], 2)


@pytest.mark.parametrize("engine", SLOW_ENGINES)
def test_equal_gains_take_the_first(engine, monkeypatch):
    """With gradients that mirror each other both ends gain the same."""
    use(engine, monkeypatch)
    layout = one_term(TermKind.ORDERED, [0], [np.arange(6)])
    codes = np.repeat(np.arange(5, dtype=np.uint8), 4)[None]
    residual = np.repeat(np.array([64, 0, 0, 0, 64]), 4)
    problem = layout, codes, np.ones(20, np.int32), residual
    for max_leaves in (2, 3):
        steps = assert_boosts_as_reference(problem, [StepRules(1.0, max_leaves=max_leaves)], 1)[0]
        assert steps[0] == 64
        assert steps[4] == (16 if max_leaves == 2 else 64)
    pair = one_term(TermKind.PAIR, [0, 1], [np.arange(3), np.arange(3)])
    codes = np.stack([np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)]).astype(np.uint8)
    residual = np.array([-2, 0, 3, 0, 2, -3, 3, -3, -3])
    (steps,) = assert_boosts_as_reference((pair, codes, np.ones(9, np.int32), residual), [StepRules(1.0)], 1)
    assert not np.array_equal(steps.reshape(3, 3), steps.reshape(3, 3).T)


@pytest.mark.parametrize("engine", SLOW_ENGINES)
def test_categories_of_equal_gradients_stay_in_order(engine, monkeypatch):
    """The third category is too small for a leaf of its own: the first of two equal ones is parted from it."""
    use(engine, monkeypatch)
    layout = one_term(TermKind.SUBSET, [0], [np.arange(3)])
    codes = np.repeat(np.arange(3, dtype=np.uint8), [2, 5, 1])[None]
    problem = layout, codes, np.ones(8, np.int32), np.array([64] * 7 + [-600])
    (steps,) = assert_boosts_as_reference(problem, [StepRules(1.0, min_rows=2, max_leaves=2)], 1)
    assert steps.tolist() == [64, -47, -47]


@needs_kernel
def test_large_numbers():
    """Steps as large as they may be, and gradients of more than 53 bits, whose differences are exact."""
    layout, codes, weight, residual = random_problem(11, 400, 7, most=3_000_000)
    problem = layout, codes, weight, residual << 26
    assert_boosts_as_reference(problem, [StepRules(0.9), StepRules(0.9, greedy_steps=3)], 2)


@pytest.mark.parametrize("engine", SLOW_ENGINES)
def test_rows_are_counted_by_themselves(engine, monkeypatch):
    """Bins of weight in which no row counts make no step, but their weights are shared."""
    use(engine, monkeypatch)
    layout, grams, gradient, rows, weights = boosting(random_problem(13, 300, 6))
    rows[:, ::4] = 0
    codes = random_problem(13, 300, 6)[1]
    rules = StepRules(0.3, max_leaves=4)
    steps, left = boosted(layout, grams, rows, gradient, rules, 3)
    matrix = reference.gram(layout, codes, weights[0])
    expected, after = reference.boost_on_gram(
        layout, matrix, gradient[0], np.diagonal(matrix), rows[0].astype(np.int64), rules, 3
    )
    np.testing.assert_array_equal(steps[0], expected)
    np.testing.assert_array_equal(left[0], after)


@needs_kernel
def test_the_model_is_that_of_boosting_row_by_row():
    layout, codes, weight, residual = random_problem(17, 250, 7)
    own, grams, gradient, rows, _ = boosting((layout, codes, weight % 2, residual))
    rules = StepRules(0.3, greedy_steps=2)
    steps, left = boosted(own, grams, rows, gradient, rules, 3)
    expected, after = reference.boost_on_rows(layout, codes, weight % 2, residual, rules, 3)
    np.testing.assert_array_equal(steps[0], expected)
    np.testing.assert_array_equal(left[0], after)


@pytest.mark.parametrize("engine", SLOW_ENGINES)
def test_boosting_that_reads_rows_makes_the_same_steps(engine, monkeypatch):
    use(engine, monkeypatch)
    layout, codes, weight, residual = random_problem(23, 300, 6)
    rules = StepRules(0.3, l2=1.0, max_leaves=4, greedy_steps=2, min_rows=2)
    gradient = -weight * residual
    steps, left = boost_on_rows(layout, codes, weight, gradient, rules, num_passes=2, engines=both())
    matrix, rows = reference.gram(layout, codes, weight), reference.sums(layout, codes, weight > 0)
    sums = reference.sums(layout, codes, gradient)
    expected, after = reference.boost_on_gram(layout, matrix, sums, np.diagonal(matrix), rows, rules, 2)
    np.testing.assert_array_equal(steps, expected)
    np.testing.assert_array_equal(reference.sums(layout, codes, left), after)


@needs_kernel
def test_passes_go_on_where_they_ended():
    """Without greedy steps: these know the gains of earlier looks."""
    layout, grams, gradient, rows, _ = boosting(random_problem(19, 300, 6))
    rules = StepRules(0.3)
    whole, left = boosted(layout, grams, rows, gradient, rules, 5)
    first, between = boosted(layout, grams, rows, gradient, rules, 2)
    second, after = boosted(layout, grams, rows, between, rules, 3)
    np.testing.assert_array_equal(first + second, whole)
    np.testing.assert_array_equal(after, left)


def test_rules_have_no_other_fields():
    """They are those of programs, and the kernel's, in one order."""
    assert StepRules._fields == TracedRules._fields
    assert [type(own) for own in StepRules(0.5)] == [float] * NUM_REALS + [int] * 3
