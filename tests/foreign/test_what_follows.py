"""Models of other libraries go on as our own do: they are pruned, cut, refitted, tuned by gradients and served."""

import numpy as np
import sklearn.ensemble
import sklearn.tree

import jaxtree
from jaxtree import serving

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(200, 3))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 1, "yes", "no")


def boosted():
    """A model of scikit-learn."""
    return jaxtree.from_sklearn(sklearn.ensemble.HistGradientBoostingClassifier(max_iter=6).fit(X, Y))


def test_trees_are_pruned():
    theirs = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, Y)
    ours = jaxtree.from_sklearn(theirs)
    pruned = jaxtree.prune_to(ours, jaxtree.prune.max_depth(ours.tree_, 2))
    shallow = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(pruned.predict_proba(X), shallow.predict_proba(X))


def test_rounds_are_cut_and_made_anew():
    model = boosted()
    assert model.truncated(2).n_estimators_ == 2
    refitted = model.refit(X, Y, decay_rate=1.0)
    np.testing.assert_allclose(refitted.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    more = boosted().set_params(warm_start=True, n_estimators=9).fit(X, Y)
    assert more.n_estimators_ == 9 and more.score(X, Y) >= model.score(X, Y)
    np.testing.assert_allclose(more.truncated(6).predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_models_are_fine_tuned_and_served(tmp_path):
    model = boosted()
    tuned = jaxtree.fine_tune(model, X, Y, options=jaxtree.FineTuning(max_epochs=2, random_state=0))
    assert type(tuned) is type(model) and tuned.n_estimators_ == model.n_estimators_
    model.save(tmp_path / "model.jaxtree")
    served = serving.load(tmp_path / "model.jaxtree")
    np.testing.assert_array_equal(served.predict_proba(X), model.predict_proba(X))
