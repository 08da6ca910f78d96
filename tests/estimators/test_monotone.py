"""The law of monotone constraints: a prediction never falls as a rising column rises, however the model was made."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree import GradientBoostingClassifier, GradientBoostingDistribution, GradientBoostingRegressor
from jaxtree.boosting import Loss, cox, quantile, quantiles
from jaxtree.errors import InvalidInputError
from jaxtree.tree.nodes import target_means
from tests.marks import marked, rest_is_slow, rows_are_slow

ROWS, STEPS, SIGNS = 240, 25, {"a": 1, "b": -1}


def pinball(scores, target, extras):
    return jnp.maximum(0.3 * (target - scores[0]), 0.7 * (scores[0] - target))


def two_scores(scores, target, extras):
    return (scores[0] - target) ** 2 + (scores[1] - 1) ** 2


OWN = Loss(pinball, hessian="one", is_convex=True, renewal=0.3)


def made_up():
    """Numbers with gaps and a column of words; the target wobbles as it rises with `a`, and falls with `b`."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"]).mask(rng.random((ROWS, 3)) < 0.1)
    X["word"] = rng.choice(list("pqrst"), ROWS)
    known = X[["a", "b", "c"]].fillna(0)
    y = np.sin(3 * known.a) + 0.7 * known.a - known.b + (X.word == "p") + rng.normal(size=ROWS)
    return X, y.to_numpy()


TABLE, NUMBER = made_up()
POSITIVE = np.exp(NUMBER)


def worst(predict, columns=None):
    """The greatest change against the constraints, of any column of what is predicted; 0 if there is none."""
    rows, wrong = TABLE.iloc[:40], 0.0
    for column, sign in SIGNS.items():
        grid = rows.loc[rows.index.repeat(STEPS)].reset_index(drop=True)
        grid[column] = np.tile(np.linspace(-3, 3, STEPS), len(rows))
        predicted = np.asarray(predict(grid)).reshape(len(rows), STEPS, -1)[..., :columns]
        wrong = min(wrong, (sign * np.diff(predicted, axis=1)).min())
    return wrong


SAMPLINGS = {
    "all": {},
    "subsample": {"subsample": 0.6, "random_state": 0},
    "goss": {"sampling": "goss", "random_state": 0},
    "mvs": {"sampling": "mvs", "subsample": 0.5, "random_state": 0},
    "dart": {"drop_rate": 0.3, "random_state": 0},
    "deep": {"max_depth": None, "max_leaf_nodes": 31, "learning_rate": 1.0, "min_samples_leaf": 1},
    "columns": {"colsample_bytree": 0.7, "random_state": 0},
    "branch": {"missing": "branch", "categorical_splits": "multiway"},
}
LOSSES = {
    "squared_error": NUMBER,
    "absolute_error": NUMBER,
    quantile(0.8): NUMBER,
    quantiles([0.1, 0.5, 0.9]): NUMBER,
    OWN: NUMBER,
    "huber": NUMBER,
    "pseudo_huber": NUMBER,
    "poisson": np.floor(POSITIVE),
    "gamma": POSITIVE,
    "tweedie": np.floor(POSITIVE),
}
QUICK = [
    ("squared_error", "deep"),
    ("absolute_error", "dart"),
    (quantile(0.8), "goss"),
    (quantiles([0.1, 0.5, 0.9]), "subsample"),
    (OWN, "mvs"),
    ("poisson", "branch"),
]


def follows_the_law(loss, sampling):
    given = {"n_estimators": 12, "loss": loss, "monotonic_cst": SIGNS, "min_samples_leaf": 5, "max_leaf_nodes": 31}
    given |= SAMPLINGS[sampling]
    target = LOSSES[loss]
    model = GradientBoostingRegressor(**given).fit(TABLE, target)
    assert worst(model.predict) == 0 and len(model.forest_.nodes.feature) > 50
    if sampling != "dart":
        # Some nodes have no row here, and keep their steps.
        for decay_rate in (0.0, 0.5):
            again = model.refit(TABLE.iloc[:90], target[:90] + 1, decay_rate=decay_rate)
            assert worst(again.predict) == 0


@pytest.mark.parametrize(("loss", "sampling"), rows_are_slow(QUICK), ids=str)
def test_boosted_numbers_keep_their_order(loss, sampling):
    follows_the_law(loss, sampling)


def test_inner_nodes_take_quantiles_where_there_are_constraints():
    """Bounds lie between them. Here none is set, as the column that is constrained has one value."""
    X = np.stack([np.sin(np.arange(240.0)), np.zeros(240)], axis=1)
    given: dict = {
        "loss": quantile(0.3),
        "learning_rate": 0.5,
        "max_depth": 4,
        "max_leaf_nodes": 16,
        "min_samples_leaf": 5,
    }
    model = GradientBoostingRegressor(2, monotonic_cst=[0, 1], **given).fit(X, NUMBER)
    scores = np.full(ROWS, model.start_[0])
    for tree, ends in zip(model.forest_, model.apply(X).T, strict=True):
        step = target_means(tree)[:, 0]
        for node in range(tree.node_count):
            is_below, at = np.zeros(ROWS, bool), ends.copy()
            for _ in range(5):
                is_below |= at == node
                at = tree.parent[at]
            expected = 0.5 * np.quantile((NUMBER - scores)[is_below], 0.3, method="inverted_cdf")
            assert step[node] == pytest.approx(expected, rel=1e-12), node
        assert tree.node_count > 6
        scores += step[ends]


@pytest.mark.parametrize("name", rest_is_slow(["normal", "gamma"]))
def test_of_a_distribution_the_location_is_bound_and_the_rest_is_free(name):
    """The scale of the noise rises and falls with `a`, while the location rises."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (600, 2))
    is_wide = np.abs(X[:, 0]) < 1
    shape = np.where(is_wide, 0.7, 40.0)
    y = rng.normal(3 * X[:, 0], np.where(is_wide, 1.5, 0.1))
    y = y if name == "normal" else np.exp(X[:, 0]) * rng.gamma(shape, 1 / shape)
    free, bound = (
        GradientBoostingDistribution(
            40, distribution=name, monotonic_cst=cst, max_leaf_nodes=8, min_samples_leaf=20
        ).fit(X, y)
        for cst in (None, [1, 0])
    )
    grid = np.stack([np.tile(np.linspace(-2, 2, 50), 2), np.repeat([-1.0, 1.0], 50)], axis=1)
    location, other = bound.raw_scores(grid).reshape(2, 50, 2).transpose(2, 0, 1)
    assert np.diff(location).min() >= 0
    assert np.diff(other).min() < -0.3 and np.diff(other).max() > 0.3
    assert bound.score(X, y) > free.score(X, y) - 0.15


def test_a_score_that_constraints_do_not_know_is_an_error():
    with pytest.raises(
        InvalidInputError, match=r"two_scores.* has 2 scores, the first of which is none .*has_location"
    ):
        GradientBoostingRegressor(2, loss=Loss(two_scores, 2), monotonic_cst=SIGNS).fit(TABLE, NUMBER)
    located = Loss(two_scores, 2, has_location=True)
    model = GradientBoostingRegressor(5, loss=located, monotonic_cst=SIGNS).fit(TABLE, NUMBER)
    assert worst(model.predict, 1) == 0
    for y in (np.stack([NUMBER, NUMBER], axis=1), np.digitize(NUMBER, [-1, 1]).astype(str)):
        kind = GradientBoostingRegressor if y.ndim == 2 else GradientBoostingClassifier
        with pytest.raises(InvalidInputError, match="Monotonicity constraints are not supported with multi"):
            kind(2, monotonic_cst=SIGNS).fit(TABLE, y)


@pytest.mark.slow
def test_classes_and_hazards_keep_their_order():
    signs, event = NUMBER > 0, np.arange(ROWS) % 3 > 0
    model = GradientBoostingClassifier(12, monotonic_cst=SIGNS, class_weight="balanced").fit(TABLE, signs)
    assert worst(lambda rows: model.predict_proba(rows)[:, 1]) == 0 == worst(lambda rows: model.predict(rows) * 1)
    hazards = GradientBoostingRegressor(12, loss=cox(), monotonic_cst=SIGNS).fit(TABLE, POSITIVE, event=event)
    assert worst(hazards.predict) == 0


@pytest.mark.slow
def test_a_warm_start_keeps_to_the_constraints_or_says_that_it_cannot():
    model = GradientBoostingRegressor(6, loss="absolute_error", monotonic_cst=SIGNS, warm_start=True)
    model.fit(TABLE, NUMBER).set_params(n_estimators=12).fit(TABLE, NUMBER)
    assert model.n_estimators_ == 12 and worst(model.predict) == 0
    for free in (
        GradientBoostingRegressor(6, warm_start=True),
        jaxtree.RandomForestRegressor(3, warm_start=True, random_state=0),
        jaxtree.ExtraTreesClassifier(3, warm_start=True, random_state=0),
    ):
        y = NUMBER > 0 if isinstance(free, jaxtree.ExtraTreesClassifier) else NUMBER
        free.fit(TABLE, y).set_params(n_estimators=8, monotonic_cst=SIGNS)
        with pytest.raises(InvalidInputError, match="warm_start keeps trees that were grown without monotonic_cst"):
            free.fit(TABLE, y)


FEW = {"n_estimators": 8, "random_state": 0}
GROWN = {
    "tree": (jaxtree.DecisionTreeRegressor, {}),
    "cut tree": (jaxtree.DecisionTreeRegressor, {"max_leaf_nodes": 20, "ccp_alpha": 0.001}),
    "poisson": (jaxtree.DecisionTreeRegressor, {"criterion": "poisson"}),
    "extra tree": (jaxtree.DecisionTreeRegressor, {"splitter": "random", "random_state": 0}),
    "classes": (jaxtree.DecisionTreeClassifier, {"class_weight": "balanced", "categorical_splits": "multiway"}),
    "shared": (jaxtree.DecisionTreeClassifier, {"missing": "fraction", "max_depth": 4}),
    "votes": (jaxtree.DecisionTreeClassifier, {"pruning": jaxtree.Dropout(0.2, 0.5, draws=5)}),
    "pruned": (jaxtree.DecisionTreeClassifier, {"pruning": jaxtree.Pessimistic()}),
    "forest": (jaxtree.RandomForestRegressor, FEW),
    "class forest": (jaxtree.RandomForestClassifier, FEW),
    "extra trees": (jaxtree.ExtraTreesRegressor, FEW | {"missing": "branch"}),
    "class extra trees": (jaxtree.ExtraTreesClassifier, FEW | {"criterion": "entropy"}),
}
FAST = ("tree", "cut tree", "poisson", "extra tree")
MARKS = dict.fromkeys(("class forest", "class extra trees"), pytest.mark.exhaustive)
"""Cases of two others together: classes, and many trees."""


@pytest.mark.parametrize(
    "name",
    [name if name in FAST else marked(name, MARKS.get(name, pytest.mark.slow)) for name in GROWN],
)
def test_trees_and_forests_keep_their_order(name):
    kind, options = GROWN[name]
    is_classes = name in ("classes", "shared", "votes", "pruned") or name.startswith("class ")
    y = NUMBER > 0 if is_classes else POSITIVE
    model = kind(monotonic_cst=SIGNS, **options).fit(TABLE, y)
    share = (lambda rows: model.predict_proba(rows)[:, 1]) if is_classes else model.predict
    assert worst(share) == 0


def test_refining_does_not_forget_constraints():
    for options in ({"monotonic_cst": SIGNS}, {"interaction_cst": "no_interactions"}):
        tree = jaxtree.DecisionTreeRegressor(max_depth=3, **options).fit(TABLE, NUMBER)
        with pytest.raises(InvalidInputError, match=f"refine chooses splits without a look at {next(iter(options))}="):
            jaxtree.refine(tree, TABLE, NUMBER)
