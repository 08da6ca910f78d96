"""Explanations of additive models: terms in the units of the table, rows as sums of terms, Shapley values by
look-up."""

import copy
import dataclasses

import numpy as np
import pandas as pd
import pytest

from jaxtree import ExplainableBoostingRegressor, explain
from jaxtree.additive.explanations import term_place
from jaxtree.errors import InvalidInputError
from jaxtree.explain.shap import shap_values_of
from jaxtree.tree.kinds import ModelKind
from tests.additive.explained import FEW, fitted, rows, table

KINDS = ("two", "numbers", "three", "one")


def encoded(model, X):
    return np.asarray(model.encoder_.values(X), np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_terms_add_up_to_scores(kind):
    model, X = fitted(kind), rows(kind)
    terms = model.eval_terms(X)
    assert terms.shape == (len(X), len(model.term_names_), len(model.intercept_))
    np.testing.assert_allclose(model.intercept_ + terms.sum(axis=1), model.raw_scores(X), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_shapley_values_are_those_of_the_trees(kind):
    model, X = fitted(kind), rows(kind).iloc[:60]
    found, slow = explain.shap_values(model, X), shap_values_of(model.model_, encoded(model, X))
    assert found.values.shape == slow.values.shape
    np.testing.assert_allclose(found.values, slow.values, atol=1e-10)
    np.testing.assert_allclose(found.base, slow.base, atol=1e-10)


@pytest.mark.parametrize("kind", ["two", "three"])
def test_shapley_values_of_any_terms_are_those_of_the_trees_also_where_no_row_was(kind):
    model, X = copy.copy(fitted(kind)), rows(kind).iloc[:40].copy()
    X.loc[:10, "age"], X.loc[5:15, "job"], X.loc[::3, "hours"] = np.nan, np.nan, np.nan
    size = model.additive_.values.shape
    model.set_terms(dataclasses.replace(model.additive_, values=np.random.default_rng(1).normal(size=size)))
    found, slow = explain.shap_values(model, X), shap_values_of(model.model_, encoded(model, X))
    np.testing.assert_allclose(found.values, slow.values, atol=1e-10)
    np.testing.assert_allclose(found.base, slow.base, atol=1e-10)


def test_shapley_interactions_are_those_of_the_trees(monkeypatch):
    model, X = fitted("numbers"), rows("numbers").iloc[:20]
    found = explain.shap_interaction_values(model, X).values
    monkeypatch.setattr("jaxtree.explain.shap.kind_of", lambda estimator: ModelKind.BOOSTED)
    np.testing.assert_allclose(found, explain.shap_interaction_values(model, X).values, atol=1e-10)


def test_edges_hold_the_rows_of_their_bins():
    explained = fitted("numbers").explain_global()
    X, _ = table()
    for name in ("age", "hours"):
        term, values = explained[name], X[name].to_numpy()
        axis = term.axes[0]
        code = np.searchsorted(axis.edges[1:-1], values[~np.isnan(values)])
        np.testing.assert_array_equal(np.bincount(code, minlength=axis.num_known), term.weight[:-1])
        assert term.weight[-1] == np.isnan(values).sum()
        assert (axis.edges[0], axis.edges[-1]) == (np.nanmin(values), np.nanmax(values))
        assert len(axis.labels) == len(term.values)


def test_categories_orders_and_dates_have_their_words():
    explained = fitted("numbers").explain_global()
    job, size, since = (explained[name] for name in ("job", "size", "since"))
    assert job.kind == "categorical" and job.axes[0].labels == ("at sea", "in a mill", "none at all", "missing")
    assert size.kind == "ordered" and size.axes[0].categories == (("S",), ("M",), ("L",))
    assert since.axes[0].unit == "days since 2020-01-02" and "2020" in since.axes[0].labels[0]


def test_columns_of_one_value_or_none_have_terms_of_nothing():
    explained = fitted("numbers").explain_global()
    assert explained["one"].axes[0].labels == ("1", "missing") and explained["nothing"].axes[0].labels == ("missing",)
    assert explained["one"].importance == 0 and len(explained["nothing"].axes[0].edges) == 0
    assert explained["nothing"].missing == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_has_all_bins(kind):
    model = fitted(kind)
    explained = model.explain_global()
    frame = explained.to_dataframe()
    assert len(frame) == model.additive_.values.size
    assert frame["value"].sum() == pytest.approx(model.additive_.values.sum())
    assert explained.to_dataframe(backend="polars").shape == frame.shape
    assert {"age", "hours"} & set(explained._repr_html_().replace("<", ">").split(">"))


def test_terms_are_sorted_and_found_by_name_or_number():
    explained = fitted("numbers").explain_global()
    sizes = [term.importance for term in explained]
    assert sizes == sorted(sizes, reverse=True) and explained[0] is explained.terms[0]
    pair = next(term for term in explained if term.is_pair)
    assert explained[" & ".join(reversed(pair.name.split(" & ")))] is pair
    for wrong in ("agee", len(explained), -1, 1.5, True):
        with pytest.raises(InvalidInputError, match="term must name a term, one of 'age', 'hours'"):
            term_place(["age", "hours"], wrong)
    with pytest.raises(InvalidInputError, match="is a pair"):
        _ = pair.missing


def test_a_row_has_its_values_in_words():
    X = table()[0].iloc[[3]].copy()
    X["hours"] = np.nan
    words = {part.column: part.value for part in fitted("numbers").explain_row(X).contributions}
    assert words["hours"] == "missing" and words["job"] == X["job"].iloc[0]
    assert words["age & job"] == f"{X['age'].iloc[0]:.0f} & {X['job'].iloc[0]}"


def test_intervals_are_wider_for_more_confidence_and_nothing_is_known_of_one_bag():
    model = fitted("two")
    term = model.explain_global()["age"]
    (low, high), (lower, higher) = term.interval(0.5), term.interval(0.95)
    assert (lower <= low).all() and (high <= higher).all() and (lower < term.values).any()
    with pytest.raises(InvalidInputError, match=r"confidence must be above 0 and below 1, got 95\.0"):
        term.interval(95.0)
    X, y = table()
    for options in ({"outer_bags": 1}, {"validation_size": 0, "max_rounds": 20}):
        alone = ExplainableBoostingRegressor(interactions=0, **{**FEW, **options}).fit(X[["age"]], y)
        assert np.isnan(alone.explain_global()["age"].interval()).all()


def cover(seed, num_rows=1000, num_bins=16):
    """The share of bins of a simulated table whose interval holds the true centred curve."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"wave": rng.uniform(-2, 2, num_rows), "line": rng.normal(size=num_rows)})
    curves = {"wave": np.sin(2 * X["wave"]), "line": 0.5 * X["line"]}
    y = sum(curves.values()) + rng.normal(size=num_rows)
    model = ExplainableBoostingRegressor(interactions=0, max_bins=num_bins).fit(X, y)
    explained, codes, held = model.explain_global(), model.encoder_.transform(X), []
    for place, (name, curve) in enumerate(curves.items()):
        term, own = explained[name], codes[place]
        low, high = term.interval(0.95)
        mean = np.bincount(own, curve - curve.mean(), num_bins + 1) / np.maximum(term.weight, 1)
        enough = term.weight >= num_rows / 100
        held.append((low[:, 0] <= mean) & (mean <= high[:, 0]))
        held[-1] = held[-1][enough]
    return np.concatenate(held).mean()


@pytest.mark.slow
def test_intervals_cover_true_curves():
    assert 0.9 <= np.mean([cover(seed) for seed in range(12)]) <= 0.995
