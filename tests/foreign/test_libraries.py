"""Models of the libraries that are installed, compared with what these predict of other rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.linear_model import LinearRegression

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError

DRAW = np.random.default_rng(0)
NUMBERS = DRAW.normal(size=(300, 3))
NUMBERS[:, 2] = DRAW.integers(0, 5, 300)
NUMBERS[::6, 0] = np.nan
WHOLE = np.nan_to_num(NUMBERS)
OTHERS = DRAW.normal(size=(400, 3))
OTHERS[:, 2] = DRAW.integers(0, 6, 400)
OTHERS[::5, 0] = np.nan
TARGET = np.nan_to_num(NUMBERS[:, 0]) + NUMBERS[:, 1] * NUMBERS[:, 2]
CLASSES = np.array(["high", "low", "middle"])[np.digitize(TARGET, [-1.0, 1.0])]
POSITIVE = np.exp(TARGET / 4)
PAIR = np.stack([TARGET, -NUMBERS[:, 1]], axis=1)
FRAME = pd.DataFrame(
    {
        "size": NUMBERS[:, 0],
        "color": pd.Categorical(DRAW.choice(["red", "green", "blue"], 300)),
        "grade": pd.Categorical(DRAW.choice([3, 7, 9], 300)),
        "is_new": NUMBERS[:, 1] > 0,
        "number": NUMBERS[:, 2].astype(int),
    }
)
OF_FRAME = TARGET + 3.0 * (FRAME["color"] == "green") + 2.0 * (FRAME["grade"] == 7)
HOLES = FRAME.copy()
HOLES.loc[::7, "color"] = np.nan
HOLES.loc[::9, "grade"] = np.nan
FEW = {"n_estimators": 8, "max_depth": 4}


def few_fast(names, *fast):
    """The names of models, of which some are for the fast tests."""
    return [name if name in fast else pytest.param(name, marks=pytest.mark.slow) for name in names]


def answers(model, rows):
    """Probabilities of classes, or numbers, a column each."""
    with warnings.catch_warnings(action="ignore"):
        made = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
    return np.asarray(made, float).reshape(len(made), -1)


def check(ours, theirs, tolerance, rows=OTHERS):
    """Predictions of rows of float64 and float32 are alike, by the size of the greatest."""
    tables = [rows] if isinstance(rows, pd.DataFrame) else [rows, rows.astype(np.float32)]
    for table in tables:
        expected = answers(theirs, table)
        np.testing.assert_allclose(answers(ours, table), expected, rtol=0, atol=tolerance * np.abs(expected).max())


OF_XGBOOST = {
    "numbers": (lambda own: own.XGBRegressor(**FEW), TARGET),
    "dropped trees": (lambda own: own.XGBRegressor(**FEW, booster="dart", rate_drop=0.5), TARGET),
    "two classes": (lambda own: own.XGBClassifier(**FEW), TARGET > 1),
    "classes": (lambda own: own.XGBClassifier(**FEW), np.digitize(TARGET, [-1, 1])),
    "a forest of classes": (lambda own: own.XGBRFClassifier(**FEW), np.digitize(TARGET, [-1, 1])),
    "a tree of two numbers": (
        lambda own: own.XGBRegressor(**FEW, multi_strategy="multi_output_tree", tree_method="hist"),
        PAIR,
    ),
    "two numbers": (lambda own: own.XGBRegressor(**FEW), PAIR),
    "shares": (lambda own: own.XGBRegressor(**FEW, objective="reg:logistic"), np.clip(POSITIVE / 9, 0, 1)),
    "a quantile": (lambda own: own.XGBRegressor(**FEW, objective="reg:quantileerror", quantile_alpha=0.8), TARGET),
    "quantiles": (
        lambda own: own.XGBRegressor(**FEW, objective="reg:quantileerror", quantile_alpha=np.array([0.2, 0.8])),
        TARGET,
    ),
    "Cox": (
        lambda own: own.XGBRegressor(**FEW, objective="survival:cox"),
        POSITIVE * np.where(np.arange(300) % 3, 1, -1),
    ),
    **{
        name: (lambda own, name=name: own.XGBRegressor(**FEW, objective=name), POSITIVE)
        for name in (
            *("count:poisson", "reg:gamma", "reg:tweedie", "reg:pseudohubererror", "reg:absoluteerror"),
            "reg:squaredlogerror",
        )
    },
}


@pytest.mark.parametrize("name", few_fast(OF_XGBOOST, "classes", "a tree of two numbers", "Cox"))
def test_xgboost(name):
    make, target = OF_XGBOOST[name]
    theirs = make(pytest.importorskip("xgboost")).fit(NUMBERS, target)
    check(jaxtree.from_xgboost(theirs), theirs, 5e-6 if name == "Cox" else 2e-6)
    ours = jaxtree.from_xgboost(bytes(theirs.get_booster().save_raw("ubj")))
    np.testing.assert_array_equal(answers(ours, OTHERS), answers(jaxtree.from_xgboost(theirs), OTHERS))


@pytest.mark.parametrize("objective", few_fast(["rank:ndcg", "rank:map", "rank:pairwise"], "rank:map"))
def test_ranks_of_xgboost(objective):
    ranker = pytest.importorskip("xgboost").XGBRanker(**FEW, objective=objective)
    theirs = ranker.fit(NUMBERS, TARGET > 1, qid=np.arange(300) // 10)
    check(jaxtree.from_xgboost(theirs), theirs, 1e-6)


def test_failure_times_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    table = xgboost.DMatrix(NUMBERS)
    table.set_float_info("label_lower_bound", POSITIVE)
    table.set_float_info("label_upper_bound", np.where(np.arange(300) % 3, POSITIVE, np.inf))
    parameters = {"objective": "survival:aft", "aft_loss_distribution": "logistic", "aft_loss_distribution_scale": 1.3}
    theirs = xgboost.train(parameters, table, 6)
    ours = jaxtree.from_xgboost(theirs)
    expected = theirs.predict(xgboost.DMatrix(OTHERS))
    np.testing.assert_allclose(ours.predict(OTHERS), expected, rtol=1e-6)
    assert ours.loss_.parameters[1][1] == pytest.approx(1.3)
    with pytest.raises(InvalidInputError, match="does not know the baseline"):
        ours.predict_median(OTHERS)


def test_words_of_xgboost():
    xgboost = pytest.importorskip("xgboost", minversion="3.1")
    theirs = xgboost.XGBRegressor(**FEW, enable_categorical=True, max_cat_to_onehot=2).fit(FRAME, OF_FRAME)
    ours = jaxtree.from_xgboost(theirs)
    check(ours, theirs, 1e-6, HOLES)
    assert [column.categories for column in ours.schema_.columns[1:3]] == [("blue", "green", "red"), (3, 7, 9)]
    assert "number <= 2:" in jaxtree.export_text(ours.estimators_[0]) + "".join(
        map(jaxtree.export_text, ours.estimators_)
    )


def test_rounds_of_early_stopping_are_those_that_predict():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=60, learning_rate=1.0, max_depth=6, early_stopping_rounds=3)
    theirs = model.fit(NUMBERS[:200], TARGET[:200], eval_set=[(NUMBERS[200:], TARGET[200:])], verbose=False)
    ours, whole = jaxtree.from_xgboost(theirs), jaxtree.from_xgboost(theirs.get_booster())
    check(ours, theirs, 1e-6)
    assert ours.n_estimators_ == theirs.best_iteration + 1 < whole.n_estimators_
    np.testing.assert_array_equal(whole.truncated(ours.n_estimators_).predict(OTHERS), ours.predict(OTHERS))
    with pytest.raises(InvalidInputError, match="reads -1 as missing"):
        jaxtree.from_xgboost(xgboost.XGBRegressor(n_estimators=2, missing=-1).fit(WHOLE, TARGET))
    with pytest.raises(InvalidInputError, match="is linear"):
        jaxtree.from_xgboost(xgboost.XGBRegressor(n_estimators=2, booster="gblinear").fit(WHOLE, TARGET))
    with pytest.raises(InvalidInputError, match="no objective 'binary:hinge'"):
        jaxtree.from_xgboost(xgboost.XGBClassifier(n_estimators=2, objective="binary:hinge").fit(NUMBERS, TARGET > 0))


LEAVES = {"n_estimators": 8, "num_leaves": 8, "verbose": -1}
OF_LIGHTGBM = {
    "numbers": (lambda own: own.LGBMRegressor(**LEAVES), TARGET),
    "dropped trees": (lambda own: own.LGBMRegressor(**LEAVES, boosting_type="dart"), TARGET),
    "a mean": (
        lambda own: own.LGBMRegressor(**LEAVES, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
        TARGET,
    ),
    "missing as zeros": (lambda own: own.LGBMRegressor(**LEAVES, use_missing=False), TARGET),
    "two classes": (lambda own: own.LGBMClassifier(**LEAVES), CLASSES == "high"),
    "a steep link": (lambda own: own.LGBMClassifier(**LEAVES, sigmoid=2.0), CLASSES == "high"),
    "classes": (lambda own: own.LGBMClassifier(**LEAVES), CLASSES),
    "shares": (lambda own: own.LGBMRegressor(**LEAVES, objective="cross_entropy"), np.clip(POSITIVE / 9, 0, 1)),
    **{
        name: (lambda own, name=name: own.LGBMRegressor(**LEAVES, objective=name, alpha=0.7), POSITIVE)
        for name in ("poisson", "gamma", "tweedie", "huber", "fair", "mape", "regression_l1", "quantile")
    },
}


@pytest.mark.parametrize("name", few_fast(OF_LIGHTGBM, "classes", "a mean", "missing as zeros"))
def test_lightgbm(name):
    make, target = OF_LIGHTGBM[name]
    theirs = make(pytest.importorskip("lightgbm")).fit(NUMBERS, target)
    ours = jaxtree.from_lightgbm(theirs)
    check(ours, theirs, 1e-14)
    if hasattr(ours, "classes_"):
        with warnings.catch_warnings(action="ignore"):
            np.testing.assert_array_equal(ours.predict(OTHERS), theirs.predict(OTHERS))
    gains = theirs.booster_.feature_importance("gain")
    np.testing.assert_allclose(ours.feature_importances_, gains / gains.sum(), rtol=1e-4)


def test_words_and_whole_numbers_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    few = {**LEAVES, "min_data_per_group": 1, "cat_smooth": 1, "max_cat_to_onehot": 1}
    theirs = lightgbm.LGBMRegressor(**few).fit(FRAME, OF_FRAME)
    check(jaxtree.from_lightgbm(theirs), theirs, 1e-14, HOLES)
    codes = np.stack([NUMBERS[:, 0], DRAW.choice([0, 2, 5, 40], 300)], axis=1)
    theirs = lightgbm.LGBMRegressor(**few).fit(codes, TARGET + 3 * (codes[:, 1] == 5), categorical_feature=[1])
    codes[::3, 1], codes[::4, 1] = 7, np.nan
    check(jaxtree.from_lightgbm(theirs), theirs, 1e-14, codes)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"zero_as_missing": True}, "takes zeros for missing"),
        ({"linear_tree": True}, "has linear trees"),
        ({"objective": "cross_entropy_lambda"}, "logarithms of sums of exponentials"),
        ({"reg_sqrt": True}, "predicts squares of sums"),
    ],
)
def test_what_lightgbm_has_alone_is_refused(parameters, words):
    lightgbm = pytest.importorskip("lightgbm")
    rows = np.where(np.nan_to_num(NUMBERS) > 1, 0, np.nan_to_num(NUMBERS))
    theirs = lightgbm.LGBMRegressor(**LEAVES, **parameters).fit(rows, np.clip(POSITIVE / 9, 0, 1))
    with pytest.raises(InvalidInputError, match=words):
        jaxtree.from_lightgbm(theirs)


ITERATIONS = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}
OF_CATBOOST = {
    "numbers": (lambda own: own.CatBoostRegressor(**ITERATIONS), TARGET),
    "missing above": (lambda own: own.CatBoostRegressor(**ITERATIONS, nan_mode="Max"), TARGET),
    "depthwise": (lambda own: own.CatBoostRegressor(**ITERATIONS, grow_policy="Depthwise"), TARGET),
    "lossguide": (lambda own: own.CatBoostRegressor(**ITERATIONS, grow_policy="Lossguide"), TARGET),
    "two numbers": (lambda own: own.CatBoostRegressor(**ITERATIONS, loss_function="MultiRMSE"), PAIR),
    "two classes": (lambda own: own.CatBoostClassifier(**ITERATIONS), CLASSES == "high"),
    "classes": (lambda own: own.CatBoostClassifier(**ITERATIONS), CLASSES),
    **{
        name: (lambda own, name=name: own.CatBoostRegressor(**ITERATIONS, loss_function=name), POSITIVE)
        for name in ("MAE", "Quantile:alpha=0.3", "Poisson", "Tweedie:variance_power=1.3", "Huber:delta=2", "MAPE")
    },
}


@pytest.mark.parametrize("name", few_fast(OF_CATBOOST, "missing above", "lossguide"))
def test_catboost(name):
    make, target = OF_CATBOOST[name]
    theirs = make(pytest.importorskip("catboost")).fit(NUMBERS, target)
    check(jaxtree.from_catboost(theirs), theirs, 1e-14)


def test_words_of_catboost():
    catboost = pytest.importorskip("catboost")
    frame = FRAME.assign(color=FRAME["color"].astype(str), grade=FRAME["grade"].astype(int))
    words = ["color", "grade"]
    pool = catboost.Pool(frame, OF_FRAME, cat_features=words)
    theirs = catboost.CatBoostRegressor(**ITERATIONS, one_hot_max_size=9).fit(pool)
    unseen = frame.assign(color=np.where(np.arange(300) % 5, frame["color"], "never seen"))
    check(jaxtree.from_catboost(theirs, pool=pool), theirs, 1e-14, unseen)
    with pytest.raises(InvalidInputError, match="the model knows hashes alone"):
        jaxtree.from_catboost(theirs)
    with pytest.raises(InvalidInputError, match="splits by OnlineCtr, statistics of the target"):
        jaxtree.from_catboost(catboost.CatBoostRegressor(**ITERATIONS, one_hot_max_size=1).fit(pool), pool=pool)


SMALL = {"max_depth": 4, "random_state": 0}
AVERAGES = {
    "tree": (sklearn.tree.DecisionTreeClassifier(random_state=0), CLASSES),
    "random tree": (sklearn.tree.ExtraTreeClassifier(**SMALL), CLASSES),
    "tree of numbers": (sklearn.tree.DecisionTreeRegressor(random_state=0), TARGET),
    "forest": (sklearn.ensemble.RandomForestClassifier(6, **SMALL), CLASSES),
    "forest of numbers": (sklearn.ensemble.RandomForestRegressor(6, **SMALL), TARGET),
    "forest of two numbers": (sklearn.ensemble.RandomForestRegressor(6, **SMALL), PAIR),
    "extra trees": (sklearn.ensemble.ExtraTreesClassifier(6, **SMALL), CLASSES),
    "extra trees of numbers": (sklearn.ensemble.ExtraTreesRegressor(6, **SMALL), TARGET),
}


@pytest.mark.parametrize("name", few_fast(AVERAGES, "tree", "forest of two numbers", "extra trees"))
def test_averages_of_scikit_learn_are_the_same_bit_for_bit(name):
    estimator, target = AVERAGES[name]
    theirs = estimator.fit(NUMBERS, target)
    ours = jaxtree.from_sklearn(theirs)
    check(ours, theirs, 0.0)
    np.testing.assert_array_equal(ours.predict(OTHERS), theirs.predict(OTHERS))
    expected = "DecisionTree" if "tree" in name.split() else type(theirs).__name__
    assert type(ours).__name__.startswith(expected) and type(ours).__module__.startswith("jaxtree")


SUMS = {
    **{
        name: (sklearn.ensemble.GradientBoostingRegressor(n_estimators=8, loss=name), TARGET)
        for name in ("squared_error", "absolute_error", "huber", "quantile")
    },
    "from zero": (sklearn.ensemble.GradientBoostingRegressor(n_estimators=8, init="zero"), TARGET),
    "two classes": (sklearn.ensemble.GradientBoostingClassifier(n_estimators=8), CLASSES == "high"),
    "exponential": (
        sklearn.ensemble.GradientBoostingClassifier(n_estimators=8, loss="exponential"),
        CLASSES == "high",
    ),
    "classes": (sklearn.ensemble.GradientBoostingClassifier(n_estimators=8), CLASSES),
    **{
        f"histograms, {name}": (
            sklearn.ensemble.HistGradientBoostingRegressor(max_iter=8, loss=name, quantile=0.3),
            POSITIVE,
        )
        for name in ("squared_error", "absolute_error", "poisson", "gamma", "quantile")
    },
    "histograms, two classes": (sklearn.ensemble.HistGradientBoostingClassifier(max_iter=8), CLASSES == "high"),
    "histograms, classes": (sklearn.ensemble.HistGradientBoostingClassifier(max_iter=8), CLASSES),
    "histograms, places of categories": (
        sklearn.ensemble.HistGradientBoostingRegressor(max_iter=8, categorical_features=[2]),
        TARGET,
    ),
}


@pytest.mark.parametrize("name", few_fast(SUMS, "exponential", "classes", "histograms, places of categories"))
def test_sums_of_scikit_learn(name):
    estimator, target = SUMS[name]
    takes_missing = "histograms" in name
    theirs = estimator.fit(NUMBERS if takes_missing else WHOLE, target)
    check(jaxtree.from_sklearn(theirs), theirs, 1e-14, OTHERS if takes_missing else np.nan_to_num(OTHERS))


def test_words_of_scikit_learn():
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=8).fit(FRAME, OF_FRAME)
    ours = jaxtree.from_sklearn(theirs)
    check(ours, theirs, 1e-14, HOLES)
    assert list(ours.feature_names_in_) == list(FRAME)
    assert ours.schema_.columns[1].categories == ("blue", "green", "red")


def test_what_scikit_learn_has_alone_is_refused():
    theirs = sklearn.ensemble.GradientBoostingRegressor(n_estimators=2, init=LinearRegression()).fit(WHOLE, TARGET)
    with pytest.raises(InvalidInputError, match=r"begins with LinearRegression \(init\)"):
        jaxtree.from_sklearn(theirs)
    with pytest.raises(InvalidTypeError, match="got IsolationForest"):
        jaxtree.from_sklearn(sklearn.ensemble.IsolationForest().fit(WHOLE))
    for read in (jaxtree.from_xgboost, jaxtree.from_lightgbm, jaxtree.from_catboost):
        with pytest.raises(InvalidTypeError, match="got GradientBoostingRegressor"):
            read(theirs)
