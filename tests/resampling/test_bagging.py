"""Bags of boosted models: each is the fit of its sample, and rows are predicted by models that have not drawn them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import r2_score

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.resampling import bag
from jaxtree.resampling import bagging as module

generator = np.random.default_rng(0)
X = generator.normal(size=(120, 3))
NUMBER = np.sin(2 * X[:, 0]) + X[:, 1] + generator.normal(0, 0.3, 120)
WORD = np.where(NUMBER > 1.5, "high", np.where(NUMBER > 0, "middle", "low"))
REGRESSOR = jaxtree.GradientBoostingRegressor(5, max_depth=2, learning_rate=0.5)
CLASSIFIER = jaxtree.GradientBoostingClassifier(3, max_depth=2)


@pytest.fixture
def drawn(monkeypatch):
    """The samples, in the order in which they are fitted."""
    parts, really = [], module.fit_parts

    def kept(estimator, X, y, own, *more, **options):
        parts.extend(own)
        return really(estimator, X, y, own, *more, **options)

    monkeypatch.setattr(module, "fit_parts", kept)
    return parts


@pytest.mark.parametrize("max_samples", [None, 0.6])
@pytest.mark.parametrize(("estimator", "target"), [(REGRESSOR, NUMBER), (CLASSIFIER, WORD)], ids=["numbers", "classes"])
def test_every_model_is_the_fit_of_its_sample(estimator, target, max_samples, drawn):
    weight = np.linspace(0.5, 2, 120)
    bagged = bag(estimator, X, target, n_estimators=4, max_samples=max_samples, fit_params={"sample_weight": weight})
    encoder, alone = estimator.make_encoder().fit(X), []
    for rows in drawn:
        own = clone(estimator)
        alone.append(own.fit_task(own.read_task(X[rows], target[rows], weight[rows], encoder=encoder)))
    expected = np.array([model.raw_scores(X) for model in alone])
    np.testing.assert_allclose(bagged.model.raw_scores(X), expected.mean(axis=0), rtol=1e-12)
    has = np.array([np.isin(np.arange(120), rows) for rows in drawn])
    for row in range(120):
        own = expected[~has[:, row], row]
        mean = own.mean(axis=0) if len(own) else np.full(expected.shape[2], np.nan)
        np.testing.assert_allclose(bagged.out_of_bag[row], mean if target is NUMBER else softmax(mean), rtol=1e-12)
    sizes = {len(rows) for rows in drawn}
    assert sizes == ({120} if max_samples is None else {sum(round(0.6 * n) for n in _sizes(target))})
    assert all(len(np.unique(rows)) == len(rows) for rows in drawn) == (max_samples is not None)


def _sizes(target):
    return [120] if target is NUMBER else np.unique(target, return_counts=True)[1]


def test_out_of_bag_predictions_are_honest():
    target = generator.normal(size=120)
    deep = jaxtree.GradientBoostingRegressor(30, learning_rate=0.5, min_samples_leaf=1)
    bagged = bag(deep, X, target, n_estimators=8, max_samples=0.5)
    known = ~np.isnan(bagged.out_of_bag[:, 0])
    assert r2_score(target, bagged.model.predict(X)) > 0.6
    assert r2_score(target[known], bagged.out_of_bag[known, 0]) < 0.1


def test_a_seed_gives_the_same_models_and_the_file_keeps_them(tmp_path):
    frame = pd.DataFrame({"word": np.where(X[:, 0] > 0, "a", "b"), "number": X[:, 1]})
    first, second = (bag(CLASSIFIER, frame, WORD, n_estimators=2, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.out_of_bag, second.out_of_bag)
    first.model.save(tmp_path / "bag.jaxtree")
    loaded = jaxtree.load(tmp_path / "bag.jaxtree")
    np.testing.assert_array_equal(loaded.predict_proba(frame), second.model.predict_proba(frame))


def test_samples_read_words_and_dates_as_the_whole_table_does():
    frame = pd.DataFrame({"word": np.arange(120) % 50, "day": pd.date_range("2024-01-01", periods=120)})
    frame["word"] = "w" + frame["word"].astype(str)
    bagged = bag(REGRESSOR, frame, NUMBER, n_estimators=3, max_samples=0.2)
    assert len(bagged.model.schema_.columns[0].categories) == 50
    expected = np.mean([own.predict(frame) for own in bagged.members], axis=0)
    np.testing.assert_allclose(bagged.model.predict(frame), expected, rtol=1e-12)


def test_a_rare_class_is_in_every_sample():
    target = np.where(np.arange(120) == 5, "rare", WORD)
    bagged = bag(CLASSIFIER, X, target, n_estimators=3, max_samples=0.3)
    assert all(list(model.classes_) == ["high", "low", "middle", "rare"] for model in bagged.members)


@pytest.mark.parametrize(
    ("estimator", "options", "words"),
    [
        (jaxtree.DecisionTreeRegressor(), {}, "got DecisionTreeRegressor; RandomForestClassifier and"),
        (REGRESSOR, {"n_estimators": 0}, "n_estimators must be at least 1, got 0"),
        (REGRESSOR, {"max_samples": 1.0}, "max_samples must be above 0 and below 1, or None, got 1.0"),
        (jaxtree.GradientBoostingRegressor(early_stopping=True), {}, "early_stopping needs samples without"),
    ],
)
def test_what_cannot_be_bagged_is_refused(estimator, options, words):
    with pytest.raises(InvalidInputError, match=words):
        bag(estimator, X, NUMBER, **options)
