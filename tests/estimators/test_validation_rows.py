"""Validation rows have the same names in every fit, and weights of which 0 leaves a row out and 2 doubles it."""

import numpy as np
import pytest
from sklearn.base import clone

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.fine_tuning.fine_tune import FineTuning, fine_tune

ROWS = 120
X = np.random.default_rng(0).normal(size=(ROWS, 3)).round(2)
Y = X[:, 0] + np.sin(3 * X[:, 1]) + np.random.default_rng(1).normal(size=ROWS) / 3
IS_HELD = np.arange(ROWS) % 3 == 0
TRAINING, HELD = np.flatnonzero(~IS_HELD), np.flatnonzero(IS_HELD)
SOFT = {"depth": 2, "max_epochs": 30, "batch_size": 64, "random_state": 0}
ROUNDS = {"n_estimators": 40, "learning_rate": 0.5, "early_stopping": True, "n_iter_no_change": 2}


def tuned(X, y, **given):
    model = jaxtree.GradientBoostingRegressor(5).fit(X, y)
    return fine_tune(model, X, y, **given, options=FineTuning(max_epochs=6, random_state=0))


FITS = {
    "pruned tree": jaxtree.DecisionTreeRegressor(pruning=jaxtree.ReducedError()).fit,
    "pruned classes": lambda X, y, **given: jaxtree.DecisionTreeClassifier(pruning=jaxtree.ReducedError()).fit(
        X, y > 0, **given | {"y_val": given["y_val"] > 0}
    ),
    "boosting": jaxtree.GradientBoostingRegressor(**ROUNDS).fit,
    "boosted classes": lambda X, y, **given: jaxtree.GradientBoostingClassifier(**ROUNDS).fit(
        X, y > 0, **given | {"y_val": given["y_val"] > 0}
    ),
    "soft": jaxtree.SoftTreeRegressor(**SOFT).fit,
    "fine-tuned": tuned,
}
"""Fits that compare models on validation rows."""


def fitted(name, rows, weight=None):
    return FITS[name](X[TRAINING], Y[TRAINING], X_val=X[rows], y_val=Y[rows], sample_weight_val=weight)


@pytest.mark.parametrize("name", FITS)
def test_weights_of_validation_rows_count_rows(name):
    doubled = np.concatenate([HELD, HELD[::2]])
    counts = 1.0 + (np.arange(len(HELD)) % 2 == 0)
    some = fitted(name, HELD[::2]).predict(X).astype(float)
    np.testing.assert_allclose(fitted(name, HELD, counts).predict(X), fitted(name, doubled).predict(X), rtol=1e-6)
    np.testing.assert_allclose(fitted(name, HELD, counts - 1).predict(X), some, rtol=1e-6)
    assert np.abs(some - fitted(name, HELD[1::2]).predict(X)).max() > 1e-3, "the rows decide nothing"


def test_they_are_the_first_member_of_eval_set():
    event, group = (Y > -1).astype(int), np.arange(ROWS) // 4
    kinds = (
        (jaxtree.GradientBoostingRegressor(**ROUNDS, loss="cox"), np.exp(Y), "event", event),
        (jaxtree.GradientBoostingRanker(**ROUNDS), (Y > 0).astype(int), "group", group),
        (jaxtree.GradientBoostingRegressor(**ROUNDS, loss="poisson"), np.exp(Y).round(), "offset", X[:, 2] / 9),
    )
    for blank, y, name, extra in kinds:
        of = {name: extra[TRAINING]}
        rows = X[HELD], y[HELD]
        members = [(*rows, {name: extra[HELD]}), (X[TRAINING], y[TRAINING], {name: extra[TRAINING]})]
        one = clone(blank).fit(X[TRAINING], y[TRAINING], eval_set=members, **of)
        held = {"X_val": rows[0], "y_val": rows[1], f"{name}_val": extra[HELD]}
        other = blank.fit(X[TRAINING], y[TRAINING], eval_set=members[1:], **of, **held)
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        assert list(other.evals_result_) == ["validation_0", "validation_1"]
        for table, losses in one.evals_result_.items():
            for metric, curve in losses.items():
                np.testing.assert_array_equal(curve, other.evals_result_[table][metric])


@pytest.mark.parametrize("name", ["pruned tree", "boosting", "soft", "fine-tuned"])
def test_halves_of_validation_rows_are_refused(name):
    for given in ({"X_val": X}, {"y_val": Y}, {"X_val": None, "y_val": None, "sample_weight_val": Y}):
        said = "sample_weight_val is for validation rows" if len(given) > 1 else "X_val and y_val go together"
        with pytest.raises(InvalidInputError, match=said):
            FITS[name](X, Y, **given)


def test_extras_of_no_validation_rows_are_refused():
    with pytest.raises(InvalidInputError, match="event_val is for validation rows: also pass X_val and y_val"):
        jaxtree.GradientBoostingRegressor(2, loss="cox").fit(X, np.exp(Y), event=Y > 0, event_val=Y > 0)
    with pytest.raises(InvalidInputError, match="event_val is for validation rows"):
        jaxtree.SoftTreeRegressor(loss="cox").fit(X, np.exp(Y), event=Y > 0, event_val=Y > 0)


def test_a_table_of_their_name_is_refused():
    model = jaxtree.GradientBoostingRegressor(2)
    with pytest.raises(InvalidInputError, match="a table of eval_set must have another name"):
        model.fit(X, Y, X_val=X, y_val=Y, eval_set={"validation_0": (X, Y)})
    assert [*model.fit(X, Y, X_val=X, y_val=Y, eval_set={"own": (X, Y)}).evals_result_] == ["validation_0", "own"]


@pytest.mark.parametrize(
    ("model", "way"),
    [
        (jaxtree.RandomForestClassifier(2), "oob_score"),
        (jaxtree.ExtraTreesRegressor(2), "oob_score"),
        (jaxtree.ExplainableBoostingRegressor(), "validation_size"),
    ],
)
def test_a_family_without_validation_rows_says_so(model, way):
    for name in ("X_val", "eval_set"):
        with pytest.raises(InvalidInputError, match=f"takes no '{name}': .*{way}"):
            model.fit(X, Y, **{name: X})
