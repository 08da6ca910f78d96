"""Fits of additive models: what is exact, what is pure, and what no way of computing may change."""

import warnings

import numpy as np
import pandas as pd
import pytest

from jaxtree import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from jaxtree.additive import fit
from jaxtree.additive.bags import SharedRows
from jaxtree.additive.coded_rows import CodedRows
from jaxtree.additive.loop import boost_terms
from jaxtree.additive.purify import purify
from jaxtree.additive.row_loss import SquaredErrors, rows_of_loss
from jaxtree.additive.rules import AdditiveRules, BoostingPlan, Ending
from jaxtree.boosting import Loss, logistic, quantile, squared
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.errors import SeparableClassesWarning
from tests.additive import problems, reference
from tests.additive.engines import both

FEW = {"outer_bags": 2, "max_rounds": 200}
RULES = AdditiveRules(
    learning_rate=0.1, reg_lambda=1.0, reg_alpha=0.0, max_delta_step=np.inf, min_samples_leaf=2, min_hessian=1e-4,
    cat_smooth=3.0, max_leaves=3, greedy_ratio=1.0, gram_memory=2**30,
)  # fmt: skip


def table(num_rows=300, seed=0):
    """Numbers, words and gaps, and two targets that have main effects and one of two columns together."""
    draw = np.random.default_rng(seed)
    X = pd.DataFrame({"number": draw.normal(size=num_rows).round(2), "other": draw.normal(size=num_rows).round(1)})
    X["word"] = draw.choice(["a", "b", "c", "d"], num_rows)
    X.loc[draw.random(num_rows) < 0.1, "number"] = np.nan
    score = X["number"].fillna(1.5).abs() + (X["word"] == "b") + X["other"] * (X["word"] > "b")
    numbers = (score + draw.normal(0, 0.3, num_rows)).to_numpy()
    return X, numbers, np.where(numbers > np.median(numbers), "yes", "no")


def fitted(kind, **options):
    X, numbers, classes = table()
    if kind == "classes":
        return ExplainableBoostingClassifier(**FEW, **options).fit(X, classes)
    return ExplainableBoostingRegressor(**FEW, **options).fit(X, numbers)


def same_terms(one, other):
    """Whether two models have the same terms, bit for bit."""
    models = [(model.additive_.values.tobytes(), model.intercept_.tobytes()) for model in (one, other)]
    return models[0] == models[1]


@pytest.mark.parametrize("seed", range(30))
def test_squared_errors_are_boosted_as_row_by_row(seed):
    layout, codes, weight, residual = problems.random_problem(seed, 60 + 7 * seed, 5 + seed % 4)
    weight = weight.astype(float)
    rows = ScoredRows(codes, residual * 10.0 ** (seed % 7 - 3) / 3, weight, {})
    errors = rows_of_loss(squared(), rows, np.array([0.25]), None)
    assert isinstance(errors, SquaredErrors)
    (made,) = boost_terms(layout, CodedRows(codes, both()), errors, BoostingPlan(RULES, [Ending(20, 10**6, 0.0)]))
    own = RULES.of_steps(
        errors.weight_unit, errors.score_unit, 1.0, errors.whole.sum() / (weight > 0).sum(), layout.num_terms
    )
    steps, _ = reference.boost_on_rows(
        layout, codes, errors.whole.astype(np.int64), errors.residual[0], own, made.num_rounds // 2
    )
    assert made.num_rounds == 20
    np.testing.assert_array_equal(made.steps[0], steps)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rows_that_are_read_make_the_same_model(kind):
    assert same_terms(fitted(kind), fitted(kind, gram_memory=0.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_model_is_the_same_without_the_kernel(kind, monkeypatch):
    # Few bins: without the kernel every shape is compiled, and steps take long.
    small = {"interactions": 1, "max_bins": 12, "max_interaction_bins": 6, "max_leaves": 3}
    model = fitted(kind, **small)
    monkeypatch.setattr("jaxtree.kernels.choose.is_there", lambda: False)
    other = fitted(kind, **small)
    assert same_terms(model, other)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_pairs_are_pure_and_terms_centred(kind):
    model = fitted(kind, interactions=3).additive_
    assert (model.layout.features[:, 1] >= 0).sum() == 3
    for term in range(model.layout.num_terms):
        places = model.layout.places(term)
        weight, values = model.weight[places], model.values[places]
        np.testing.assert_allclose(weight @ values / weight.sum(), 0, atol=1e-12)
        surface = values.reshape(*model.layout.num_bins[term], -1)
        cells = weight.reshape(model.layout.num_bins[term])
        if model.layout.features[term, 1] >= 0:
            for axis in (0, 1):
                np.testing.assert_allclose((cells[..., None] * surface).sum(axis=axis), 0, atol=1e-9)


def test_purity_moves_values_and_changes_no_score():
    draw, codes = np.random.default_rng(1), np.random.default_rng(2).integers(0, 6, (2, 400)).astype(np.uint8)
    from jaxtree.additive.terms import axis_bins, pair_terms
    from jaxtree.kernels.layout import TermKind, join_layouts

    mains = join_layouts([problems.one_term(TermKind.ORDERED, [feature], [np.arange(6)]) for feature in (0, 1)])
    axes = [axis_bins(np.bincount(own, minlength=6), 4) for own in codes]
    layout = join_layouts([mains, pair_terms([(0, 1)], axes)])
    values = draw.normal(size=(layout.num_places, 2))
    weight = np.concatenate([np.bincount(layout.bins_of(t, codes), minlength=layout.size[t]) for t in range(3)])
    intercept, pure = purify(layout, values, weight.astype(float))
    places = [layout.first[t] + layout.bins_of(t, codes) for t in range(3)]
    before, after = (sum(own[place] for place in places) for own in (values, pure))
    np.testing.assert_allclose(after + intercept, before, atol=1e-12)


def test_interacting_columns_are_found():
    draw = np.random.default_rng(3)
    X = draw.normal(size=(800, 5))
    y = X[:, 0] + 2 * np.sign(X[:, 1] * X[:, 3]) + draw.normal(0, 0.1, 800)
    model = ExplainableBoostingRegressor(outer_bags=1, interactions=1).fit(X, y)
    assert model.term_names_[-1] == "x1 & x3"
    assert model.score(X, y) > 0.95
    named = ExplainableBoostingRegressor(outer_bags=1, interactions=[("x3", 1)]).fit(X, y)
    assert named.term_names_ == model.term_names_ and same_terms(named, model)


@pytest.mark.parametrize(("heredity", "number"), [(None, 3), ("weak", 2), ("strong", 0)])
def test_heredity_keeps_pairs_of_columns_that_matter(heredity, number):
    draw = np.random.default_rng(4)
    X = draw.integers(0, 2, (600, 3)).astype(float)
    y = 5 * X[:, 0] + (X[:, 1] == X[:, 2]) + 0.1 * draw.normal(size=600)
    model = ExplainableBoostingRegressor(outer_bags=1, interactions=3, heredity=heredity).fit(X, y)
    assert len(model.term_names_) - 3 <= number
    assert ("x1 & x2" in model.term_names_) == (heredity is None)


def test_a_wide_table_and_a_long_word_are_fitted():
    draw = np.random.default_rng(5)
    X = draw.integers(0, 4, (200, 1000)).astype(float)
    y = X[:, 7] + 0.1 * draw.normal(size=200)
    model = ExplainableBoostingRegressor(outer_bags=1, interactions=0, max_rounds=50).fit(X, y)
    assert model.term_importances_.argmax() == 7
    words = np.array([f"w{number}" for number in range(1000)])[draw.integers(0, 1000, 4000)]
    target = np.char.str_len(words) + 0.1 * draw.normal(size=4000)
    rare = ExplainableBoostingRegressor(outer_bags=1, min_cat_samples=5).fit(pd.DataFrame({"word": words}), target)
    assert rare.score(pd.DataFrame({"word": words}), target) > 0.5


@pytest.mark.parametrize("column", [[1.0], [np.nan]])
def test_a_column_that_tells_nothing_has_a_flat_term(column):
    X, y = np.repeat(np.array([column]), 50, axis=0), np.arange(50) % 2
    model = ExplainableBoostingClassifier(**FEW).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.5, atol=1e-9)


def test_separable_classes_have_finite_curves_and_are_told():
    X = np.linspace(-1, 1, 400)[:, None]
    with pytest.warns(SeparableClassesWarning, match="no limit"):
        model = ExplainableBoostingClassifier(outer_bags=2).fit(X, X[:, 0] > 0)
    assert np.isfinite(model.additive_.values).all() and np.abs(model.decision_function(X)).max() < 50
    assert model.score(X, X[:, 0] > 0) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparableClassesWarning)
        fitted("classes")


def test_your_own_loss_is_fitted():
    def asymmetric(scores, target, extras):
        error = scores[0] - target
        return (1 + 4 * (error > 0)) * error**2

    X, numbers, _ = table()
    own = ExplainableBoostingRegressor(loss=Loss(asymmetric), **FEW).fit(X, numbers)
    assert np.mean(own.predict(X) > numbers) < 0.4


def test_quantiles_are_not_exceeded_more_often():
    draw = np.random.default_rng(6)
    X = draw.random((2000, 2))
    y = X[:, 0] + draw.exponential(size=2000)
    model = ExplainableBoostingRegressor(loss=quantile(0.8), interactions=0, **FEW).fit(X, y)
    assert 0.75 < np.mean(y <= model.predict(X)) < 0.85


def test_scores_far_from_their_targets_do_not_diverge():
    """Newton steps of rows that a model is sure and wrong of would be of thousands."""
    draw = np.random.default_rng(7)
    X = draw.integers(0, 3, (600, 3)).astype(float)
    y = (X[:, 0] == 2) ^ (draw.random(600) < 0.01)
    rows = rows_of_loss(
        logistic(), ScoredRows(np.zeros((0, 600), np.uint8), y.astype(float), np.ones(600), {}), np.zeros(1), None
    )
    sure = np.rint(np.where(X[:, 0] == 2, 30.0, -30.0) / rows.score_unit).astype(np.int64)[None]
    reading = rows.read(sure, renews=True)
    weight, gradient = reading.weight * rows.weight_unit, reading.gradient * (rows.score_unit * rows.weight_unit)
    assert np.abs(gradient / weight).max() <= 2.0 + 1e-6


def test_an_interrupt_keeps_what_is_fitted(monkeypatch):
    original, calls = fit.boost_terms, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        return original(*args, **kwargs)

    def stop(futures):
        done = [future.result() for future in futures]
        if len(calls) == 4:
            raise KeyboardInterrupt
        return iter(done)

    monkeypatch.setattr(fit, "boost_terms", interrupted)
    monkeypatch.setattr(fit, "as_completed", stop)
    X, numbers, _ = table()
    with pytest.warns(UserWarning, match="fit was interrupted"):
        model = ExplainableBoostingRegressor(max_leaves=3, **FEW).fit(X, numbers)
    assert model.score(X, numbers) > 0.5


def test_scores_go_one_way_with_pairs_beside_them():
    draw = np.random.default_rng(8)
    X = draw.normal(size=(500, 3))
    y = X[:, 0] * (1 + X[:, 1]) + draw.normal(size=500)
    model = ExplainableBoostingRegressor(interactions=3, monotone_constraints=[1, 0, 0], **FEW).fit(X, y)
    assert model.term_names_ == ["x0", "x1", "x2", "x1 & x2"]
    for other in (-1.0, 1.0):
        line = np.column_stack([np.linspace(-2, 2, 50), np.full(50, other), np.zeros(50)])
        assert (np.diff(model.predict(line)) >= 0).all()
    with pytest.raises(ValueError, match="pair of 'x0' and 'x1', one of which monotone_constraints bounds"):
        ExplainableBoostingRegressor(interactions=[(0, 1)], monotone_constraints=[1, 0, 0]).fit(X, y)


def test_bags_of_long_tables_have_rows_of_their_own():
    X, _, classes = table(400)
    model = ExplainableBoostingClassifier(outer_bags=3, max_samples=200, max_rounds=100).fit(X, classes)
    assert model.score(X, classes) > 0.8
    np.testing.assert_allclose(model.additive_.weight[model.additive_.layout.places(0)].sum(), 400)
    whole = ExplainableBoostingClassifier(outer_bags=1, max_samples=400, max_rounds=100).fit(X, classes)
    assert same_terms(whole, ExplainableBoostingClassifier(outer_bags=1, max_rounds=100).fit(X, classes))
    assert not same_terms(
        whole, ExplainableBoostingClassifier(outer_bags=1, max_samples=399, max_rounds=100).fit(X, classes)
    )


def test_bags_share_sums_over_pairs_of_bins_bit_by_bit(monkeypatch):
    X, numbers, _ = table(2000)
    weight, options = np.random.default_rng(9).integers(0, 4, 2000), {"max_bins": 8, "interactions": 0, **FEW}
    original, grams = SharedRows._of_all, []
    monkeypatch.setattr(
        SharedRows, "_of_all", lambda *given, **kept: grams.append(original(*given, **kept)) or grams[-1]
    )
    shared = ExplainableBoostingRegressor(**options).fit(X, numbers, sample_weight=weight)
    assert grams and all(gram is not None for gram in grams)
    monkeypatch.setattr(SharedRows, "_of_all", lambda *_, **__: None)
    assert same_terms(shared, ExplainableBoostingRegressor(**options).fit(X, numbers, sample_weight=weight))


def test_the_order_of_classes_is_of_no_account():
    draw = np.random.default_rng(10)
    X = pd.DataFrame({"word": draw.choice(list("abcdefghijkl"), 900), "number": draw.normal(size=900).round(1)})
    late = (X["word"] > "f").to_numpy()
    y = (draw.normal(size=900) + late * np.sign(X["number"])).to_numpy()
    classes = np.digitize(y, [-0.7, 0.7])
    # The last becomes the first, so that other curves come first.
    turned = np.array([1, 2, 0])[classes]
    one, other = (
        ExplainableBoostingClassifier(outer_bags=1, validation_size=0, max_interaction_bins=5, max_rounds=60).fit(
            X, own
        )
        for own in (classes, turned)
    )
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X)[:, [1, 2, 0]], atol=1e-9)
