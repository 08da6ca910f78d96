"""Models written for XGBoost and LightGBM: these libraries, and our own readers, predict what the model does."""

import numpy as np
import pytest

import jaxtree
from jaxtree import boosting
from jaxtree.errors import InvalidInputError, InvalidTypeError
from tests.examples import mixed_classes, mixed_numbers, mixed_table
from tests.foreign.test_libraries import few_fast

ROWS = mixed_table()
CLASSES = mixed_classes(ROWS)
NUMBERS = mixed_numbers(ROWS)
FEW = {"n_estimators": 4, "max_depth": 3, "min_samples_leaf": 4}
REGRESSOR, CLASSIFIER = jaxtree.GradientBoostingRegressor, jaxtree.GradientBoostingClassifier
EVENT = np.arange(len(ROWS)) % 4 > 0
TIMES = np.exp(NUMBERS / 10)
MODELS = {
    "numbers": lambda: REGRESSOR(**FEW).fit(ROWS, NUMBERS),
    "several branches": lambda: REGRESSOR(**FEW, categorical_splits="multiway").fit(ROWS, NUMBERS),
    "one category and the rest": lambda: REGRESSOR(**FEW, categorical_splits="one_vs_rest").fit(ROWS, NUMBERS),
    "two classes": lambda: CLASSIFIER(**FEW).fit(ROWS, CLASSES == "low"),
    "classes": lambda: CLASSIFIER(**FEW).fit(ROWS, CLASSES),
    "a tree a class": lambda: CLASSIFIER(**FEW, multi_strategy="one_output_per_tree").fit(ROWS, CLASSES),
    "folds": lambda: CLASSIFIER(20, max_depth=2, early_stopping="cv", cv=3).fit(ROWS, CLASSES),
    "counts": lambda: REGRESSOR(**FEW, loss="poisson").fit(ROWS, np.round(TIMES)),
    "sizes": lambda: REGRESSOR(**FEW, loss="gamma").fit(ROWS, TIMES),
    "tweedie": lambda: REGRESSOR(**FEW, loss=boosting.tweedie(1.3)).fit(ROWS, TIMES),
    "a quantile": lambda: REGRESSOR(**FEW, loss=boosting.quantile(0.9)).fit(ROWS, NUMBERS),
    "huber": lambda: REGRESSOR(**FEW, loss="huber").fit(ROWS, NUMBERS),
    "absolute": lambda: REGRESSOR(**FEW, loss="absolute_error").fit(ROWS, NUMBERS),
    "ranks": lambda: jaxtree.GradientBoostingRanker(**FEW).fit(ROWS, EVENT, group=np.arange(len(ROWS)) // 6),
    "tree": lambda: jaxtree.DecisionTreeRegressor(max_depth=4).fit(ROWS, NUMBERS),
    "forest": lambda: jaxtree.RandomForestRegressor(3, max_depth=4, random_state=0).fit(ROWS, NUMBERS),
}
OF_XGBOOST_ALONE = {
    "two numbers": lambda: REGRESSOR(**FEW).fit(ROWS, np.stack([NUMBERS, -NUMBERS], axis=1)),
    "Cox": lambda: REGRESSOR(**FEW, loss="cox").fit(ROWS, TIMES, event=EVENT),
    "failure times": lambda: REGRESSOR(**FEW, loss="accelerated_failure_time").fit(
        ROWS, TIMES, upper=np.where(EVENT, TIMES, np.inf)
    ),
    "pseudo_huber": lambda: REGRESSOR(**FEW, loss="pseudo_huber").fit(ROWS, NUMBERS),
}


def beside(model):
    """Rows on both sides of every threshold, with all words and without."""
    values = model.encoder_.values(ROWS)
    return np.concatenate([values, np.nextafter(values, np.inf), np.roll(values, 1, axis=0)]).astype(np.float32)


def shaped(made, like):
    """Probabilities of two classes as a column each, and one number a row as a column."""
    made = np.asarray(made, float)
    if like.shape[1] == 2 and made.ndim == 1:
        return np.stack([1 - made, made], axis=1)
    return made.reshape(like.shape)


def answers(model, rows):
    """The predictions of a model that was read back."""
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", few_fast([*MODELS, *OF_XGBOOST_ALONE], "several branches", "classes", "failure times"))
def test_xgboost_predicts_what_the_model_does(name):
    xgboost = pytest.importorskip("xgboost")
    model = (MODELS | OF_XGBOOST_ALONE)[name]()
    rows, text = beside(model), jaxtree.to_xgboost(model)
    expected = model.predict_values(rows)
    booster = xgboost.Booster(model_file=bytearray(text, "utf-8"))
    described = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
    made = booster.predict(xgboost.DMatrix(rows, **described, enable_categorical=True))
    tolerance = 2e-6 * np.abs(expected).max()
    np.testing.assert_allclose(shaped(made, expected), expected, rtol=0, atol=tolerance)
    back = jaxtree.from_xgboost(text.encode())
    np.testing.assert_allclose(shaped(answers(back, rows), expected), expected, rtol=0, atol=tolerance)
    again = jaxtree.from_xgboost(jaxtree.to_xgboost(back).encode())
    np.testing.assert_allclose(answers(again, rows), answers(back, rows), rtol=1e-6, atol=tolerance)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", few_fast(MODELS, "several branches", "a tree a class", "forest"))
def test_lightgbm_predicts_what_the_model_does(name):
    lightgbm = pytest.importorskip("lightgbm")
    model = MODELS[name]()
    rows, text = beside(model), jaxtree.to_lightgbm(model)
    expected = model.predict_values(rows)
    made = lightgbm.Booster(model_str=text).predict(rows)
    tolerance = 1e-13 * np.abs(expected).max()
    np.testing.assert_allclose(shaped(made, expected), expected, rtol=0, atol=tolerance)
    back = jaxtree.from_lightgbm(text.encode())
    np.testing.assert_allclose(shaped(answers(back, rows), expected), expected, rtol=0, atol=tolerance)


def test_what_other_libraries_do_not_have_is_refused():
    tree = jaxtree.DecisionTreeClassifier(max_depth=2).fit(ROWS, CLASSES)
    distribution = jaxtree.GradientBoostingDistribution(2, max_depth=2).fit(ROWS, NUMBERS)
    shared = jaxtree.DecisionTreeRegressor(max_depth=3, missing="fraction").fit(ROWS, NUMBERS)
    for write in (jaxtree.to_xgboost, jaxtree.to_lightgbm):
        with pytest.raises(InvalidInputError, match="adds up trees, and DecisionTreeClassifier does not"):
            write(tree)
        with pytest.raises(InvalidInputError, match="has no objective that predicts"):
            write(distribution)
        with pytest.raises(InvalidInputError, match="shares out rows"):
            write(shared)
        with pytest.raises(InvalidTypeError, match="harden"):
            write(jaxtree.SoftTreeRegressor(max_epochs=1).fit(ROWS, NUMBERS))
        assert write(shared, no_missing=True)
    with pytest.raises(InvalidInputError, match="LightGBM has no objective that predicts as cox"):
        jaxtree.to_lightgbm(OF_XGBOOST_ALONE["Cox"]())
