"""Pages of forests of effects: their numbers are those of the rows of the fit, and need no table."""

import re

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.arrays import spread
from jaxtree.effects import average_effect
from jaxtree.errors import InvalidInputError
from jaxtree.figures.effects import effect_rows, groups_by_effect
from tests.examples import effects
from tests.page.pages import HOSTILE, elements_of, told_by


@pytest.fixture(scope="module")
def forest():
    return effects("causal")[0]


@pytest.fixture(scope="module")
def page(forest):
    return jaxtree.to_html(forest, effects("causal")[1])


@pytest.fixture(scope="module")
def cards(page):
    return told_by(page)["cards"]


def facts_of(page):
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))


def test_the_head_has_the_average_effect_with_its_interval(forest, page):
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    facts, found = facts_of(page), forest.average_treatment_effect()
    assert facts["rows of the fit"] == "240" and facts["trees"] == "48"
    words = facts["average effect, drug beside placebo"].replace(" 95 % interval", "").replace(" to", ",")
    np.testing.assert_allclose([*map(float, words.split(","))], [found.estimate, *found.interval()], atol=0.006)


def test_averages_are_those_of_the_forest(forest, cards):
    items = cards["average"]["charts"][""]["items"]
    targets = ["all", "treated", "control", "overlap"]
    assert [own["name"] for own in items] == ["all rows", "the treated", "the control", "where both are likely"]
    for item, target in zip(items, targets, strict=True):
        found = forest.average_treatment_effect(target)
        np.testing.assert_allclose(item["dots"][0][0], found.estimate, rtol=1e-4)
        np.testing.assert_allclose(item["bars"][0][:2], found.interval(), rtol=1e-4)
    assert "It raises the outcome on average." in cards["average"]["charts"][""]["caption"]


def test_effects_stand_in_their_order_with_their_intervals(forest, cards):
    chart = cards["effects"]["charts"][""]
    band, line = chart["series"][:2]
    np.testing.assert_allclose(line["y"], np.sort(forest.oob_prediction_)[spread(240, 200)], rtol=1e-5)
    middle = (np.array(band["y"]) + np.array(band["y0"])) / 2
    np.testing.assert_allclose(middle, np.array(line["y"]), rtol=1e-4, atol=1e-4)
    above = np.mean(forest.oob_prediction_ - 1.959964 * forest.oob_std_ > 0)
    assert chart["caption"].startswith(f"{above:.0%} of the intervals lie above 0")


def test_quarters_have_what_is_predicted_and_what_outcomes_show(forest, cards):
    items = cards["gainers"]["charts"][""]["items"]
    rows = effect_rows(forest)
    scores = forest.doubly_robust_scores()
    assert [own["name"] for own in items] == ["quarter 1 (smallest)", "quarter 2", "quarter 3", "quarter 4 (largest)"]
    for item, group in zip(items, groups_by_effect(rows), strict=True):
        found = average_effect(scores, subset=group.rows)
        np.testing.assert_allclose(item["dots"][0][0], found.estimate, rtol=1e-4)
        np.testing.assert_allclose(item["dots"][1][0], forest.oob_prediction_[group.rows].mean(), rtol=1e-4)
    predicted = [own["dots"][1][0] for own in items]
    assert predicted == sorted(predicted)
    assert "the difference exceeds chance" in cards["gainers"]["charts"][""]["caption"]


def test_calibration_and_overlap_are_those_of_the_forest(forest, cards):
    items, found = cards["calibration"]["charts"][""]["items"], forest.calibration_test()
    np.testing.assert_allclose([own["dots"][0][0] for own in items], found.estimate, rtol=1e-4)
    assert "the forest captures the differences" in cards["calibration"]["charts"][""]["caption"]
    treated, others = cards["overlap"]["charts"][""]["series"]
    arms = forest.training_.treatment[0]
    assert sum(treated["y"]) == arms.sum() and sum(others["y"][:-1]) == (1 - arms).sum()


def test_rows_of_the_greatest_effects_are_told_from_those_of_the_least(forest, cards):
    chart, X = cards["differences"]["charts"][""], effects("causal")[1]
    effect = forest.oob_prediction_
    order = np.argsort(effect, kind="stable")
    least, greatest = X["number"].iloc[order[:60]].mean(), X["number"].iloc[order[-60:]].mean()
    own = next(item for item in chart["items"] if item["name"] == "number")
    assert own["words"] == f"{greatest:.3g} and {least:.3g}"
    deviation = np.nanstd(X["number"])
    np.testing.assert_allclose(own["dots"][1][0] - own["dots"][0][0], (greatest - least) / deviation, rtol=1e-3)
    assert chart["items"][0]["name"] == "number"


def test_a_small_tree_says_who_gains(page):
    (words,) = re.findall(r"<h3>Effect of drug beside placebo</h3>.*?</section>", page, re.DOTALL)
    assert "number &lt;=" in words and "nodes" in words and "240 rows" in words


def test_rows_are_listed_with_their_effects(forest, page):
    (rows,) = told_by(page)["rows"]
    expected = forest.predict(effects("causal")[1])[rows["number"]]
    np.testing.assert_allclose(np.array(rows["said"], float), expected, rtol=1e-3, atol=1e-4)
    total = np.array(rows["values"]).sum(axis=1) + rows["base"][0]
    np.testing.assert_allclose(total, rows["total"], rtol=1e-6, atol=1e-6)
    assert rows["unit"] == "effect" and "truth" not in rows


def test_a_page_needs_no_rows(forest):
    told = told_by(jaxtree.to_html(forest))
    assert {"average", "effects", "gainers", "calibration", "gain", "overlap", "importances"} == {*told["cards"]}
    assert told["rows"] == []


@pytest.mark.parametrize(
    ("name", "options", "lacks"),
    [("arms", ["great", "small"], {"calibration"}), ("dose", [], {"overlap"}), ("instrumental", [], {"calibration"})],
)
def test_other_treatments_have_the_cards_that_they_can_have(name, options, lacks):
    forest, X, _ = effects(name)
    cards = told_by(jaxtree.to_html(forest, X))["cards"]
    every = {"average", "effects", "gainers", "calibration", "gain", "overlap", "differences"}
    assert every - {*cards} == lacks
    if options:
        assert cards["effects"]["choices"] == [["Treatment", options]] and len(cards["effects"]["charts"]) == 2


def test_targets_are_refused(forest):
    _, X, y = effects("causal")
    with pytest.raises(InvalidInputError, match="CausalForest takes X and no y: nobody observes effects"):
        jaxtree.to_html(forest, X, y)


def test_a_lack_of_overlap_is_said_and_names_do_no_harm():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({HOSTILE: rng.random(240), "b": rng.random(240)})
    chance = np.where(X["b"] > 0.7, 0.01, 0.5)
    arm = np.where(rng.random(240) < chance, HOSTILE, "other")
    forest = jaxtree.CausalForest(48, control="other", random_state=0)
    page = jaxtree.to_html(forest.fit(X, rng.random(240), treatment=arm, y_hat=[0.5] * 240, treatment_hat=chance), X)
    assert elements_of(page).names.count("script") == 2 and "<b id=" not in page
    share = np.mean(chance < 0.05)
    assert f"{share:.1%} of the rows are below 0.05" in page and "Little overlap" in page
    assert "trust the average where both are likely" in told_by(page)["cards"]["overlap"]["charts"][""]["caption"]
