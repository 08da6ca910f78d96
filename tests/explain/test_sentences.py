"""Predictions in sentences, principal reasons, and Shapley values for shap: effects add up to what is predicted."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_classifier

import jaxtree
from jaxtree import explain_row
from jaxtree.errors import InvalidInputError
from jaxtree.explain import reason_codes, shap_values
from jaxtree.explain.shap import ShapValues

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "income": RNG.normal(3000, 900, 200).round(),
        "purpose": RNG.choice(["car", "house", "boat"], 200),
        "years": RNG.integers(0, 9, 200),
        "noise": RNG.normal(size=200),
    }
)
SUM = (X["income"] - 3000) / 900 + 0.8 * (X["purpose"] == "house") - 0.3 * X["years"] + RNG.normal(size=200) / 4
LOAN = np.where(SUM > -1, "good", "bad")
THREE = np.where(SUM > 0, "yes", np.where(SUM > -2, "perhaps", "no"))
COUNTS = np.maximum(np.round(4 + SUM), 0)
BOOSTED = {"n_estimators": 12, "max_depth": 3, "random_state": 0}
MODELS = {
    "boosted": (jaxtree.GradientBoostingClassifier(**BOOSTED), LOAN, {}),
    "boosted, three": (jaxtree.GradientBoostingClassifier(**BOOSTED), THREE, {}),
    "forest": (jaxtree.RandomForestClassifier(8, random_state=0), THREE, {}),
    "additive": (jaxtree.ExplainableBoostingClassifier(outer_bags=1, max_rounds=30, random_state=0), THREE, {}),
    "numbers": (jaxtree.GradientBoostingRegressor(**BOOSTED), SUM, {}),
    "counts": (jaxtree.GradientBoostingRegressor(loss="poisson", **BOOSTED), COUNTS, {}),
    "risks": (jaxtree.GradientBoostingRegressor(loss="cox", **BOOSTED), COUNTS + 1, {"event": np.ones(200)}),
    "mean": (jaxtree.RandomForestRegressor(8, random_state=0), SUM, {}),
    "additive counts": (
        jaxtree.ExplainableBoostingRegressor(outer_bags=1, max_rounds=30, loss="poisson", random_state=0), COUNTS, {},
    ),
}  # fmt: skip
UNITS = {"risks": "relative risk "}


@pytest.fixture(scope="module")
def models():
    made = {}

    def fitted(name):
        if name not in made:
            estimator, y, extras = MODELS[name]
            made[name] = estimator.fit(X, y, **extras)
        return made[name]

    return fitted


@pytest.mark.parametrize("name", MODELS)
def test_effects_add_up_to_the_prediction(name, models):
    model = models(name)
    for place in range(5):
        row = X.iloc[[place]]
        why = explain_row(model, row)
        predicted = model.predict_proba(row).max() if is_classifier(model) else model.predict(row)[0]
        assert why.general + sum(part.effect for part in why.contributions) == pytest.approx(predicted)
        assert str(why).splitlines()[0] == why.sentence
        if not is_classifier(model):
            assert re.match(rf"{UNITS.get(name, '')}-?[\d.]+ \(in general -?[\d.]+\); ", why.sentence)
        else:
            assert why.sentence.startswith(f"{predicted:.0%} {model.predict(row)[0]}; ")
        # The column named first is that of the greatest effect on its side.
        best = max(why.contributions, key=lambda part: part.effect)
        side = re.search(r"(?:most for it|most raises it): ([^(]*) \(", why.sentence)
        assert (side is None) == (best.effect <= 0) or abs(best.effect) < 1e-3
        if side is not None:
            assert side[1] == f"{best.column} is {best.value}"


def test_the_effects_of_two_classes_are_those_of_the_probability(models):
    """They are those of the class that is predicted: what speaks for one speaks against the other."""
    model, signs = models("boosted"), set()
    for place in range(20):
        why = explain_row(model, X.iloc[[place]])
        sign = 1 if why.prediction == "good" else -1
        signs.add(sign)
        assert all(np.sign(part.effect) == sign * np.sign(part.score) for part in why.contributions)
    assert signs == {1, -1}


@pytest.mark.parametrize("kind", ["pandas", "polars", "list", "mapping"])
@pytest.mark.parametrize("name", ["boosted", "additive", "tree"])
def test_unseen_words_and_missing_values_are_named(kind, name, models):
    model = (
        jaxtree.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, THREE) if name == "tree" else models(name)
    )
    cells = {"income": None, "purpose": "yacht", "years": 2, "noise": None}
    row = {
        "pandas": pd.DataFrame([cells]).astype({"income": float, "noise": float}),
        "polars": pl.DataFrame({own: [value] for own, value in cells.items()}, schema_overrides={"income": pl.Float64}),
        "list": [np.nan, "yacht", 2, np.nan],
        "mapping": cells,
    }[kind]
    why = explain_row(model, row)
    assert "income is missing" in why.sentence
    assert ("purpose is yacht, which the fit has not seen" in why.sentence) == any(
        gap.startswith("purpose") for gap in why.gaps
    )
    if name != "tree":
        assert "purpose is yacht, which the fit has not seen" in str(why) and why.sentence.count("income") == 1
    known = explain_row(model, X.iloc[[0]])
    assert not known.gaps and "missing" not in known.sentence and "not seen" not in known.sentence


def test_a_model_without_columns_says_so():
    model = jaxtree.GradientBoostingClassifier(2).fit([[0.0]] * 20, [0] * 15 + [1] * 5)
    assert explain_row(model, [0.0]).sentence == "75% 0; no column changes it"
    tree = jaxtree.DecisionTreeClassifier().fit([[0.0]] * 4, [0, 0, 0, 1])
    assert explain_row(tree, [0.0]).sentence == "75% 0 in every case"


@pytest.mark.parametrize("name", ["boosted", "boosted, three", "forest", "additive", "numbers"])
def test_reasons_are_the_points_furthest_below_the_average(name, models):
    model, rows = models(name), X.iloc[:12]
    wanted = model.classes_[-1] if is_classifier(model) else "high"
    values = shap_values(model, rows).values
    if values.ndim == 3:
        values = values[..., -1] - (values.mean(axis=2) if model.model_kind.adds_up else 0)
    for place, reasons in enumerate(reason_codes(model, rows, wanted=wanted)):
        order = [own for own in np.argsort(values[place], kind="stable") if values[place, own] < 0][:4]
        assert [reason.column for reason in reasons] == [X.columns[own] for own in order]
        np.testing.assert_allclose([reason.below for reason in reasons], -values[place, order])
        cells = rows.iloc[place]
        assert all(reason.value == f"{cells[reason.column]}" for reason in reasons if reason.column == "purpose")
    # Who wants the contrary has the other columns against him.
    if not is_classifier(model):
        (few,), (others,) = (reason_codes(model, rows.iloc[[0]], wanted=own, n_reasons=9) for own in ("high", "low"))
        assert not {own.column for own in few} & {own.column for own in others}


def test_reasons_are_compared_with_a_reference(models):
    model, rows, passed = models("boosted"), X.iloc[:5], X[SUM > 1]
    points, usual = shap_values(model, rows).values, shap_values(model, passed).values.mean(axis=0)
    for place, reasons in enumerate(reason_codes(model, rows, wanted="good", n_reasons=2, reference=passed)):
        order = np.argsort(points[place] - usual, kind="stable")[: len(reasons)]
        assert [reason.column for reason in reasons] == [X.columns[own] for own in order] and len(reasons) <= 2
    (mirrored,) = reason_codes(model, rows.iloc[[0]], wanted="bad", n_reasons=9)
    assert {own.column for own in mirrored} == {X.columns[own] for own in np.flatnonzero(points[0] > 0)}


def test_an_unseen_word_is_a_reason_in_words(models):
    row = X.iloc[[0]].assign(purpose="yacht", income=0.0)
    said = [str(own) for own in reason_codes(models("boosted"), row, wanted="good", n_reasons=9)[0]]
    assert said[0] == "income is 0"
    assert all("which the fit has not seen" in own for own in said if own.startswith("purpose"))


def test_what_has_no_reasons_is_refused_in_words(models):
    for name, options, words in (
        ("boosted", {"wanted": "better"}, "wanted must be one of the classes bad, good, got 'better'"),
        ("numbers", {"wanted": "good"}, "wanted must be 'high' or 'low' of a model of numbers, got 'good'"),
        ("boosted", {"wanted": "good", "n_reasons": 0}, "n_reasons must be a whole number above 0, got 0"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            reason_codes(models(name), X[:1], **options)
    several = jaxtree.GradientBoostingRegressor(2, loss=jaxtree.boosting.quantiles([0.1, 0.9])).fit(X, SUM)
    with pytest.raises(InvalidInputError, match=r"reasons are of a model of one number, and this .* has 2"):
        reason_codes(several, X[:1], wanted="high")


@pytest.mark.parametrize("name", ["boosted", "forest", "additive", "mean"])
def test_values_for_shap_are_the_same(name, models):
    shap = pytest.importorskip("shap")
    model, rows = models(name), X.iloc[:9].assign(purpose=["yacht", *X["purpose"][1:9]])
    found = shap_values(model, rows)
    own = found.to_shap()
    assert isinstance(own, shap.Explanation) and own.feature_names == list(X.columns)
    np.testing.assert_array_equal(own.values, found.values)
    total = own.values.sum(axis=1) + own.base_values
    if name == "forest":
        np.testing.assert_allclose(total, model.predict_proba(rows), atol=1e-12)
        np.testing.assert_array_equal(own[:, :, "perhaps"].values, found.values[..., 1])
    if name == "mean":
        np.testing.assert_allclose(total, model.predict(rows))
    assert own.display_data[1, 1] == rows["purpose"].iloc[1] and own.display_data[0, 1] == "missing"
    np.testing.assert_array_equal(own.data[:, 0], rows["income"])


def test_the_plots_of_shap_draw_them(models):
    shap = pytest.importorskip("shap")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    one, several = (shap_values(models(name), X.iloc[:20]).to_shap() for name in ("boosted", "forest"))
    for own in (one, several[:, :, "no"]):
        for draw, values in (
            (shap.plots.waterfall, own[0]), (shap.plots.beeswarm, own), (shap.plots.bar, own),
            (shap.plots.scatter, own[:, "income"]),
        ):  # fmt: skip
            draw(values, show=False)
            labels = [label.get_text() for ax in pyplot.gcf().axes for label in (*ax.get_yticklabels(), ax.xaxis.label)]
            assert any("income" in label for label in labels), draw
            pyplot.close("all")


def test_values_that_do_not_know_their_rows_are_refused():
    with pytest.raises(InvalidInputError, match="the values that shap_values has returned"):
        ShapValues(np.zeros((1, 2)), 0.0).to_shap()
