"""A column that is given by its name is that column, whatever names are: numbers, tuples, truth values.

See `jaxtree.table.names`: a number is a name where columns are named by numbers, and a place where none are.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from jaxtree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Distillation,
    ExplainableBoostingRegressor,
    distil,
    explain_row,
    export_text,
    load,
)
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.features import read_interactions, read_monotone
from jaxtree.plot import plot_decision_boundary, plot_dependence, plot_shap_waterfall, plot_terms
from jaxtree.resampling import BorutaSelector
from jaxtree.table import Encoder
from jaxtree.table.names import column_place, name_in_words
from tests.marks import in_turn

ROWS = np.random.default_rng(0).integers(0, 9, size=(60, 3)).astype(float)
Y = ROWS @ [1.0, 0.2, 0.1]

NAMES = {
    "numbers that fall": [2, 1, 0],
    "numbers of NumPy": np.array([2, 1, 0]),
    "numbers with gaps": [5, 0, 2],
    "years": [2019, 2020, "age"],
    "floats": [2.0, 1.0, 0.5],
    "those of pandas": [0, 1, 2],
    "levels": pd.MultiIndex.from_tuples([("pay", 5), ("pay", 6), ("age", "")]),
    "strange ones": [7, True, 2.5],
    "truth values": [False, True, "age"],
}


@pytest.fixture(scope="module")
def fitted():
    """A tree and an additive model of every table."""
    frames = {key: pd.DataFrame(ROWS, columns=names) for key, names in NAMES.items()}
    additive = ExplainableBoostingRegressor(max_rounds=2, outer_bags=1, interactions=0)
    return {
        key: (
            X,
            DecisionTreeRegressor(max_depth=3).fit(X, Y),
            ExplainableBoostingRegressor(**additive.get_params()).fit(X, Y),
        )
        for key, X in frames.items()
    }


def constrained(X, given):
    return int(np.flatnonzero(read_monotone({given: 1}, Encoder().fit(X).schema_))[0])


WAYS = {
    "categorical_features": lambda X, tree, model, name: [
        own.name for own in Encoder(categorical_features=[name]).fit(X).schema_.columns if own.kind == "categorical"
    ],
    "monotonic_cst": lambda X, tree, model, name: [tree.schema_.column_names[constrained(X, name)]],
    "plot_dependence": lambda X, tree, model, name: [plot_dependence(tree, X, name).get_xlabel()],
    "flatten": lambda X, tree, model, name: [str(model.flatten(name).edits_[0]).split(":")[0]],
    "set_values": lambda X, tree, model, name: [str(model.set_values(name, 1.0, low=3).edits_[0]).split(":")[0]],
    "monotonize": lambda X, tree, model, name: [str(model.monotonize(name).edits_[0]).split(":")[0]],
    "scale": lambda X, tree, model, name: [str(model.scale(name, 2).edits_[0]).split(":")[0]],
    "remove_terms": lambda X, tree, model, name: sorted(
        set(model.term_names_) - set(model.remove_terms(name).term_names_)
    ),
    "remove_terms in a list": lambda X, tree, model, name: sorted(
        set(model.term_names_) - set(model.remove_terms([name]).term_names_)
    ),
    "explain_global": lambda X, tree, model, name: [model.explain_global()[name].name],
    "plot_terms": lambda X, tree, model, name: [plot_terms(model, name).get_xlabel()],
}


@pytest.mark.parametrize(("way", "key"), in_turn(WAYS, NAMES))
def test_a_name_is_that_column(fitted, way, key):
    X, tree, model = fitted[key]
    for name, own in zip(X.columns, tree.schema_.column_names, strict=True):
        # Numbers of this one are places by importance.
        if (way, key) != ("explain_global", "those of pandas"):
            assert WAYS[way](X, tree, model, name) == [own]
        assert WAYS[way](X, tree, model, own) == [own]


@pytest.mark.parametrize("key", NAMES)
def test_two_names_are_those_columns(fitted, key):
    X, tree, _ = fitted[key]
    first, second, third = X.columns
    names = tree.schema_.column_names
    model = ExplainableBoostingRegressor(max_rounds=2, outer_bags=1, interactions=[(third, first)]).fit(X, Y)
    assert model.term_names_[-1] == f"{names[0]} & {names[2]}"
    sets = read_interactions([{first, second}, {third}], tree.schema_)
    np.testing.assert_array_equal(sets, read_interactions([{0, 1}, {2}], Encoder().fit(ROWS).schema_))
    label = np.where(Y > 6, "yes", "no")
    ax = plot_decision_boundary(DecisionTreeClassifier(max_depth=1).fit(X, label), X, features=[third, first])
    assert [ax.get_xlabel(), ax.get_ylabel()] == [names[2], names[0]]


@pytest.mark.parametrize("key", NAMES)
def test_a_row_by_names_is_that_row(fitted, key):
    X, tree, model = fitted[key]
    for estimator in (tree, model):
        turned = dict(reversed([*X.iloc[0].items()]))
        assert str(explain_row(estimator, turned if key != "those of pandas" else dict(X.iloc[0]))) == str(
            explain_row(estimator, X.iloc[[0]])
        )
    plot_shap_waterfall(tree, dict(X.iloc[0]))
    if key != "those of pandas":
        assert str(explain_row(tree, X.iloc[0].iloc[::-1])) == str(explain_row(tree, X.iloc[[0]]))


@pytest.mark.parametrize("key", NAMES)
def test_tables_of_any_names_are_drawn_from(fitted, key):
    X, tree, _ = fitted[key]
    student = distil(tree, DecisionTreeRegressor(max_depth=2), X, Y, options=Distillation(n_synthetic=20))
    assert student.schema_.column_names == tree.schema_.column_names
    selector = BorutaSelector(DecisionTreeRegressor(max_depth=3), max_rounds=2).fit(X, Y)
    assert hasattr(selector, "feature_names_in_") == (key != "those of pandas")
    assert export_text(tree, feature_names=X.columns).count("\n") == export_text(tree).count("\n")


@pytest.mark.parametrize("key", ["numbers that fall", "those of pandas", "years"])
def test_a_target_in_a_source_may_be_named_by_a_number(key):
    X = pd.DataFrame(ROWS + 1, columns=NAMES[key])
    tree = DecisionTreeRegressor(max_depth=1).fit([X, X], NAMES[key][0], sample_weight=NAMES[key][1])
    alike = DecisionTreeRegressor(max_depth=1).fit(
        np.tile(ROWS[:, 2:] + 1, (2, 1)), np.tile(ROWS[:, 0] + 1, 2), sample_weight=np.tile(ROWS[:, 1] + 1, 2)
    )
    assert tree.other_columns_ == (str(NAMES[key][0]), str(NAMES[key][1]))
    np.testing.assert_array_equal(tree.predict(X[[NAMES[key][2]]]), alike.predict(ROWS[:, 2:] + 1))


def test_numbers_are_places_only_where_no_column_is_named_by_one():
    words, years = ["age", "pay", "zip"], ["2019", "2020", "age"]
    assert [column_place(place, words, "column") for place in range(3)] == [0, 1, 2]
    assert column_place(np.int64(2020), years, "column") == 1
    assert column_place("2020", years, "column") == 1
    assert column_place(2.0, ["2", "1"], "column") == column_place(2, ["2.0", "1.0"], "column") == 0
    for given, names in ((0, years), (True, words), (3, words), (-1, words), (0.0, words), (None, words), ("", words)):
        with pytest.raises(InvalidInputError, match=r"column must name a column, one of .*, got"):
            column_place(given, names, "column")
    with pytest.raises(InvalidInputError, match="numbers are names here"):
        column_place(0, years, "column")
    with pytest.raises(InvalidInputError, match="interactions must name a column"):
        ExplainableBoostingRegressor(interactions=[(0, 1)]).fit(pd.DataFrame(ROWS, columns=NAMES["years"]), Y)


def test_strings_of_digits_are_names_as_numbers_are():
    X = pl.DataFrame(dict(zip(["2", "1", "0"], ROWS.T, strict=True)))
    tree = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    assert plot_dependence(tree, X, 2).get_xlabel() == plot_dependence(tree, X, "2").get_xlabel() == "2"


def test_a_name_that_two_columns_have_is_refused():
    for names in ([1, "1", 2], ["a", "a", "b"], [None, "None", 1]):
        with pytest.raises(InvalidInputError, match="unique"):
            DecisionTreeRegressor().fit(pd.DataFrame(ROWS, columns=names), Y)
    with pytest.raises(InvalidInputError, match="must name every column once"):
        DecisionTreeRegressor(monotonic_cst={2: 1, "2": -1}).fit(pd.DataFrame(ROWS, columns=[2, 1, 0]), Y)


def test_numbers_as_names_are_kept_in_files(tmp_path):
    X = pd.DataFrame(ROWS, columns=[2, 1, 0])
    given = {"monotonic_cst": {2: 1}, "interaction_cst": [{2, 1}, {0}], "categorical_features": [np.int64(0)]}
    tree = DecisionTreeRegressor(max_depth=2, **given).fit(X, Y)
    tree.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    np.testing.assert_array_equal(again.fit(X, Y).predict(X), tree.predict(X))


def test_names_in_words_are_those_of_messages():
    assert name_in_words(np.int64(5)) == "5" and name_in_words(None) == "None"
