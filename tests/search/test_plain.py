"""A tuning returns the estimator as it is given unless something else is better on the same folds, and says so."""

import dataclasses
import types

import numpy as np
import pytest
from sklearn.metrics import log_loss

import jaxtree
from jaxtree import GradientBoostingClassifier, tune
from jaxtree.search import tune as tune_module
from jaxtree.search.verdict import time_in_words
from tests.examples import mixed_classes, mixed_table

FRAME = mixed_table()
WORDS = mixed_classes(FRAME)
QUICK = {"cv": 3, "verbose": 0, "minutes": 600, "n_iter": 1}
PLAIN = GradientBoostingClassifier(10, max_leaf_nodes=4, min_samples_leaf=3)


@pytest.fixture(scope="module")
def poor():
    """A tuning whose settings have one round."""
    space_for = tune_module.space_for
    with pytest.MonkeyPatch.context() as patched:
        one = {"n_estimators": 1, "early_stopping": True, "n_iter_no_change": 1}
        patched.setattr(
            tune_module, "space_for", lambda *shape, **more: space_for(*shape, **more)._replace(fixed=one, finals=None)
        )
        return tune(FRAME, WORDS, estimator=PLAIN, **QUICK)


def test_the_plain_estimator_is_returned_where_nothing_else_is_better(poor):
    assert poor.tuned_.is_plain and poor.best_score_ == poor.tuned_.plain.scores.mean()
    assert poor.best_score_ > poor.tuned_.plain.found.mean()
    alone = GradientBoostingClassifier(10, max_leaf_nodes=4, min_samples_leaf=3, random_state=0).fit(FRAME, WORDS)
    np.testing.assert_array_equal(poor.predict_proba(FRAME), alone.predict_proba(FRAME))


def test_its_scores_are_those_of_its_own_fits_on_the_folds(poor):
    plain = poor.tuned_.plain
    for test, score, constant in zip(poor.tuned_.tests, plain.scores, plain.constant, strict=True):
        train = np.setdiff1d(np.arange(len(FRAME)), test)
        model = GradientBoostingClassifier(10, max_leaf_nodes=4, min_samples_leaf=3, random_state=0)
        model.fit(FRAME.iloc[train], WORDS[train])
        chances = model.predict_proba(FRAME.iloc[test])
        assert score == pytest.approx(-log_loss(WORDS[test], chances, labels=model.classes_), rel=1e-6)
        np.testing.assert_allclose(poor.oof_predictions_[test], chances, rtol=1e-6)
        shares = np.array([np.mean(WORDS[train] == label) for label in model.classes_])
        assert constant == pytest.approx(
            -log_loss(WORDS[test], np.tile(shares, (len(test), 1)), labels=model.classes_), rel=1e-9
        )


def test_the_verdict_is_on_the_page_and_in_a_notebook(poor, tmp_path):
    said = poor.verdict()
    assert said.startswith("The defaults win: log loss ") and "A constant has " in said
    assert "As many settings as were asked for, 1, were tried in " in said
    assert said in poor.to_html() and said[:40] in poor._html_repr()
    assert "The defaults are returned" in poor.to_html()
    poor.save(tmp_path / "m")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "m").predict(FRAME), poor.predict(FRAME))
    assert poor.leaderboard()["weight"].tolist() == [0.0]


def test_what_is_better_is_returned_with_its_gain():
    search = tune(FRAME, WORDS, estimator=GradientBoostingClassifier(1), **QUICK)
    plain = search.tuned_.plain
    assert not search.tuned_.is_plain and search.best_score_ > plain.scores.mean()
    assert search.best_score_ == plain.found.mean()
    gain = np.mean(plain.found - plain.scores)
    assert f"better than the defaults ({-plain.scores.mean():.4f}) by {gain:.4f} (" in search.verdict()


@dataclasses.dataclass
class Tried:
    """Settings of known scores."""

    scores: np.ndarray
    was_cut: np.ndarray

    @property
    def settings(self):
        return [{}] * len(self.scores)


@pytest.mark.parametrize(
    ("scores", "cut", "interrupted", "said"),
    [
        ([1], [0], False, "Time did not suffice for a second setting"),
        ([1, 2], [0, 1], False, "Time did not suffice for all rounds of 1 of 2 settings"),
        ([1, 3, 2, 0], [0] * 4, False, "Time sufficed: of 4 settings tried in 7 s, the last 2 were no better"),
        ([1, 0, 2, 3], [0] * 4, False, "The best of 4 settings came late, as number 4"),
        ([1, 0, 2], [0] * 3, True, "It was interrupted after 3 settings in 7 s"),
        ([1] * 9, [0] * 9, False, "As many settings as were asked for, 9, were tried in 7 s"),
    ],
)
def test_the_verdict_says_whether_time_sufficed(scores, cut, interrupted, said):
    tried = Tried(np.array(scores)[:, None], np.array(cut, bool))
    tuned = types.SimpleNamespace(tried=tried, seconds=7.0, was_interrupted=interrupted, most_settings=9)
    assert time_in_words(tuned).startswith(said)
