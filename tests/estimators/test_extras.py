"""Extras go wherever targets go: into fits, scores, searches and pages, by whatever name or form they come."""

import functools

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate

import jaxtree
from jaxtree.boosting import Loss, accelerated_failure_time, cox
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.losses.names import LOSSES
from jaxtree.resampling import cross_validate as cross_validate_together
from tests.marks import are_slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
TIME = RNG.exponential(np.exp(X[:, 0]))
EVENT = RNG.random(150) < 0.7
OFFSET = RNG.normal(size=150)
RATES = {"learning_rate": [0.1, 0.3]}


def own(scores, target, extras):
    return extras["scale"] * (scores[0] - target) ** 2


MODELS = {
    "cox": (jaxtree.GradientBoostingRegressor(3, loss="cox"), TIME, {"event": EVENT, "offset": OFFSET}),
    "failure time": (
        jaxtree.GradientBoostingRegressor(3, loss="accelerated_failure_time"),
        TIME,
        {"upper": np.where(EVENT, TIME, np.inf)},
    ),
    "offset of numbers": (jaxtree.GradientBoostingRegressor(3), TIME, {"offset": OFFSET}),
    "offset of classes": (jaxtree.GradientBoostingClassifier(3), EVENT, {"offset": OFFSET}),
    "one's own": (
        jaxtree.GradientBoostingRegressor(3, loss=Loss(own, needs=("scale",))),
        TIME,
        {"scale": np.exp(OFFSET)},
    ),
}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@functools.cache
def expected_scores(name):
    """The scores of fits one by one."""
    model, y, extras = MODELS[name]
    scores = []
    for train, test in SPLITS:
        of_train, of_test = ({name: values[rows] for name, values in extras.items()} for rows in (train, test))
        scores.append(sklearn.clone(model).fit(X[train], y[train], **of_train).score(X[test], y[test], **of_test))
    return np.array(scores)


SPLITS = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]


@pytest.mark.parametrize("name", are_slow(MODELS, "cox", "failure time"))
def test_scikit_learn_routes_extras(name, routing):
    model, y, extras = MODELS[name]
    expected = expected_scores(name)
    scores = cross_validate(model, X, y, cv=SPLITS, params=extras, error_score="raise")["test_score"]
    np.testing.assert_array_equal(scores, expected)
    search = GridSearchCV(model, RATES, cv=SPLITS, error_score="raise").fit(X, y, **extras)
    assert search.cv_results_["split0_test_score"][0] == expected[0]


@pytest.mark.parametrize("name", are_slow(MODELS, "cox", "failure time"))
def test_own_searches_hand_extras_on(name):
    model, y, extras = MODELS[name]
    expected = expected_scores(name)
    scores = cross_validate_together(model, X, y, cv=SPLITS, fit_params=extras)["test_score"]
    np.testing.assert_array_equal(scores, expected)
    search = jaxtree.SearchCV(model, RATES, cv=SPLITS, error_score="raise").fit(X, y, **extras)
    np.testing.assert_allclose(search.cv_results_["split0_test_score"][0], expected[0], rtol=1e-6)
    np.testing.assert_allclose(search.cv_results_["split1_test_score"][0], expected[1], rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_pages_take_extras(name):
    model, y, extras = MODELS[name]
    model = sklearn.clone(model).fit(X, y, **extras)
    held = {f"{extra}_val": values for extra, values in extras.items()}
    page = jaxtree.to_html(model, X, y, X_val=X, y_val=y, **extras, **held)
    shown = f"{model.score(X, y, **extras):.4f}"
    assert page.count(shown) >= 2


def test_pages_of_trees_take_none():
    model = jaxtree.DecisionTreeClassifier(max_depth=1).fit(X, EVENT)
    with pytest.raises(InvalidTypeError, match="to_html of a DecisionTreeClassifier takes no 'event'"):
        jaxtree.to_html(model, X, EVENT, event=EVENT)


def test_requests_can_be_withdrawn(routing):
    model = jaxtree.GradientBoostingRegressor(3, loss="cox").set_score_request(event=False)
    with pytest.raises(InvalidInputError, match="needs the extra 'event'"):
        cross_validate(model, X, TIME, cv=SPLITS, params={"event": EVENT}, error_score="raise")


def structured(event, time, names=("event", "time")):
    y = np.empty(len(time), dtype=[(names[0], bool), (names[1], float)])
    y[names[0]], y[names[1]] = event, time
    return y


@pytest.mark.parametrize("loss", are_slow(["cox", "accelerated_failure_time"], "cox"))
def test_structured_targets_are_events_and_times(loss):
    y = structured(EVENT, TIME, ("died", "days"))
    model = jaxtree.GradientBoostingRegressor(3, loss=loss)
    given = sklearn.clone(model).fit(X, y, eval_set=[(X, y)])
    apart = sklearn.clone(model).fit(X, TIME, event=EVENT, eval_set=[(X, TIME, {"event": EVENT})])
    np.testing.assert_array_equal(given.predict(X), apart.predict(X))
    assert given.score(X, y) == apart.score(X, TIME, event=EVENT)
    assert given.evals_result_ == apart.evals_result_
    search = jaxtree.SearchCV(model, RATES, cv=SPLITS, error_score="raise").fit(X, y)
    assert np.isfinite(search.best_score_)


def test_fields_that_are_no_survival_times_are_refused():
    y = np.zeros(150, dtype=[("a", float), ("b", float)])
    with pytest.raises(InvalidInputError, match=r"y has the fields 'a', 'b': pass one as y"):
        jaxtree.GradientBoostingRegressor(1).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"squared\(\) asks for no 'event'"):
        jaxtree.GradientBoostingRegressor(1).fit(X, structured(EVENT, TIME))
    with pytest.raises(InvalidTypeError, match=r"y has the fields 'event', 'time': .*loss=\"cox\""):
        jaxtree.DecisionTreeRegressor().fit(X, structured(EVENT, TIME))


def test_losses_are_known_by_name():
    for name in LOSSES:
        jaxtree.GradientBoostingRegressor(loss=name).check_parameters()
    for named, made in {"cox": cox(), "accelerated_failure_time": accelerated_failure_time()}.items():
        assert jaxtree.GradientBoostingRegressor(1, loss=named).fit(X, TIME, event=EVENT).loss_ == made


@pytest.mark.parametrize(
    ("kind", "given", "way"),
    [
        (jaxtree.GradientBoostingRegressor, "quantile", r"jaxtree\.boosting\.quantile\(level\)"),
        (jaxtree.GradientBoostingRegressor, "reg:squarederror", "'squared_error'"),
        (jaxtree.GradientBoostingRegressor, "MAE", "'absolute_error'"),
        (jaxtree.GradientBoostingRegressor, "survival:cox", "'cox'"),
        (jaxtree.GradientBoostingRegressor, "survival:aft", "'accelerated_failure_time'"),
        (jaxtree.GradientBoostingRegressor, "log_loss", "a GradientBoostingClassifier"),
        (jaxtree.GradientBoostingRegressor, "lambdarank", "a GradientBoostingRanker"),
        (jaxtree.GradientBoostingRanker, "rank:ndcg", "'ndcg'"),
        (jaxtree.GradientBoostingRanker, "lambdarank", "'ndcg'"),
    ],
)
def test_losses_of_other_libraries_are_told(kind, given, way):
    with pytest.raises(InvalidInputError, match=f"got '{given}'; that is {way}"):
        kind(1, loss=given).check_parameters()


def test_distributions_of_other_libraries_are_told():
    with pytest.raises(InvalidInputError, match="got 'gaussian'; that is 'normal' here"):
        jaxtree.GradientBoostingDistribution(1, distribution="gaussian").fit(X, TIME)


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ({"base_margin": OFFSET}, "pass offset=base_margin"),
        ({"init_score": OFFSET}, "pass offset=init_score"),
        ({"early_stopping_rounds": 5}, "early_stopping=True"),
        ({"evals": [(X, TIME)]}, "give X_val and y_val"),
    ],
)
def test_arguments_of_other_libraries_are_told(given, way):
    for model in (jaxtree.GradientBoostingRegressor(1), jaxtree.GradientBoostingRanker(1)):
        with pytest.raises(InvalidInputError, match=way):
            model.fit(X, TIME.astype(int), **given)


def test_groups_of_other_libraries_are_told():
    for model, way in (
        (jaxtree.GradientBoostingRanker(1), "pass group=qid"),
        (jaxtree.GradientBoostingRegressor(1), "early_stopping='cv'"),
    ):
        with pytest.raises(InvalidInputError, match=way):
            model.fit(X, TIME.astype(int), qid=np.zeros(150))


@pytest.mark.slow
def test_a_warm_start_without_rounds_left_looks_at_its_table():
    model = jaxtree.GradientBoostingRegressor(2, warm_start=True).fit(X, TIME)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.fit(X, TIME).predict(X), expected)
    with pytest.raises(InvalidInputError, match="2 features"):
        model.fit(X[:, :2], TIME)
    with pytest.raises(InvalidInputError, match="infinity"):
        model.fit(np.where(X > 2, np.inf, X), TIME)
    with pytest.raises(InvalidInputError, match="takes no 'event'"):
        model.fit(X, TIME, event=EVENT)
    forest = jaxtree.RandomForestRegressor(2, warm_start=True, random_state=0).fit(X, TIME)
    with pytest.raises(InvalidInputError, match="columns"):
        forest.fit(X[:, :2], TIME)
