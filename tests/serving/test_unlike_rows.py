"""Rows that are unlike those of the fit: predictions warn of them, once a column and call, in memory and served."""

import functools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jaxtree
from jaxtree import serving
from jaxtree.errors import InvalidInputError, MissingColumnWarning, UnseenWordsWarning
from jaxtree.table import Encoder

RNG = np.random.default_rng(0)
ROWS = 120
X = pd.DataFrame(
    {
        "age": RNG.normal(size=ROWS),
        "pay": RNG.normal(size=ROWS),
        "town": RNG.choice(["Bonn", "Kiel"], ROWS),
        "holes": np.where(np.arange(ROWS) % 5, RNG.normal(size=ROWS), np.nan),
        "is_new": np.arange(ROWS) % 2 == 0,
    }
)
Y = np.where(X.age > 0, "yes", "no")
NEW = X[:4].assign(age=np.nan, town=["Ulm", "Bonn", None, "Ulm"], holes=np.nan)
SAID = {
    MissingColumnWarning: "column 'age' is missing in every row, but was never missing in the fit, so the model has "
    "not learned what that means",
    UnseenWordsWarning: "column 'town': 2 rows have a word that the fit has not seen, such as 'Ulm'; it counts as "
    "missing",
}


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(warning.filename == __file__ for warning in caught)
    return [(warning.category, str(warning.message)) for warning in caught]


@functools.cache
def fitted(kind):
    return {
        "tree": jaxtree.DecisionTreeClassifier(max_depth=3),
        "forest": jaxtree.RandomForestClassifier(4, random_state=0),
        "boosting": jaxtree.GradientBoostingClassifier(4),
        "additive": jaxtree.ExplainableBoostingClassifier(max_rounds=2, outer_bags=1),
    }[kind].fit(X, Y)


FORMS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "records": lambda frame: frame.to_dict("records"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_prediction_warns_once_a_column_in_every_form_of_table(form):
    assert dict(warned(lambda: fitted("tree").predict(FORMS[form](NEW)))) == SAID
    assert warned(lambda: fitted("tree").predict(FORMS[form](X[:4]))) == []


@pytest.mark.parametrize("kind", ["tree", "forest", "boosting", "additive"])
def test_models_warn_in_memory_and_served(kind, tmp_path):
    model = fitted(kind)
    model.save(tmp_path / "model.jaxtree")
    served = serving.load(tmp_path / "model.jaxtree")
    for own in (model, served):
        for method in (own.predict, own.predict_proba):
            found = warned(lambda method=method: method(NEW))
            assert len(found) == len(SAID) and dict(found) == SAID


def test_one_row_alone_warns_and_a_filter_makes_it_an_error():
    row = NEW[:1]
    with pytest.warns(UnseenWordsWarning, match="'town': 1 row has a word"):
        fitted("tree").predict(row)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenWordsWarning)
        warnings.simplefilter("ignore", MissingColumnWarning)
        with pytest.raises(UnseenWordsWarning):
            fitted("tree").predict(row)


def test_arrays_warn_of_lost_columns():
    numbers = X[["age", "pay"]].to_numpy()
    model = jaxtree.DecisionTreeClassifier(max_depth=2).fit(numbers, Y)
    lost = numbers[:3].copy()
    lost[:, 1] = np.nan
    for given in (lost, lost.astype(np.float32), lost.tolist(), np.asfortranarray(lost)):
        ((category, text),) = warned(lambda given=given: model.predict(given))
        assert category is MissingColumnWarning and "'x1'" in text
    lost[0, 1] = 0.5  # a value in some row
    assert warned(lambda: model.predict(lost)) == []


def test_missing_values_that_the_fit_had_are_no_news():
    known = X[:3].assign(holes=np.nan)
    assert warned(lambda: fitted("tree").predict(known)) == []


def test_categories_that_no_row_has_are_no_news():
    declared = X[:4].assign(town=pd.Categorical(["Bonn"] * 4, ["Bonn", "Ulm"]))
    assert warned(lambda: fitted("tree").predict(declared)) == []


def test_rare_words_share_a_category_so_that_new_ones_are_no_news():
    frame = pd.DataFrame({"word": [f"w{number % 300}" for number in range(1200)] + ["once"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = jaxtree.DecisionTreeRegressor(max_depth=2).fit(frame, np.arange(1201.0))
    assert warned(lambda: model.predict(pd.DataFrame({"word": ["never seen"]}))) == []


def test_folds_within_a_fit_are_no_news():
    """The words of a fold that the others lack."""
    rare = X.assign(town=["rare" if place == 7 else word for place, word in enumerate(X.town)])
    for estimator in (jaxtree.DecisionTreeClassifier(), jaxtree.GradientBoostingClassifier(2)):
        search = jaxtree.SearchCV(estimator, {"max_depth": [1, 2]}, cv=3)
        assert warned(lambda search=search: search.fit(rare, Y)) == []
    of_folds = jaxtree.resampling.ConformalRegressor(jaxtree.DecisionTreeRegressor(max_depth=2), cv=3)
    assert warned(lambda: of_folds.fit(rare, X["pay"].to_numpy())) == []
    tree = jaxtree.DecisionTreeClassifier(max_depth=2).fit(rare, Y)
    assert warned(lambda: tree.predict(NEW)) != []  # and predictions after a fit warn again


def test_an_encoder_says_nothing_of_its_own_accord():
    encoder = Encoder().fit(X)
    assert warned(lambda: (encoder.transform(NEW), encoder.values(NEW))) == []
    with pytest.raises(InvalidInputError, match="never seen in fit: Ulm"):
        Encoder(unseen="error").fit(X).values(NEW, warns=True)


def test_a_lone_row_without_a_value_is_no_lost_column():
    numbers = X[["age", "pay"]].to_numpy()
    model = jaxtree.DecisionTreeClassifier(max_depth=2).fit(numbers, Y)
    assert warned(lambda: model.predict([[0.5, np.nan]])) == []
    assert warned(lambda: fitted("tree").predict(X[:1].assign(age=np.nan))) == []
