"""Pages of forests whose leaves keep rows, or hazards: intervals of rows, coverage, and curves of risk groups."""

import re

import numpy as np
import pytest

import jaxtree
from jaxtree import plot
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.explain import shap_values
from jaxtree.figures.survival import groups_by_risk
from jaxtree.metrics import KaplanMeier, concordance_index
from tests.examples import mixed_numbers, mixed_table
from tests.page.pages import told_by

TABLE = mixed_table()
NUMBER = mixed_numbers(TABLE)
TIME = np.exp(NUMBER / 10)
EVENT = np.arange(60) % 4 > 0
FEW = {"n_estimators": 8, "min_samples_leaf": 3, "random_state": 0}


@pytest.fixture(scope="module")
def quantiles():
    return jaxtree.QuantileForest(**FEW).fit(TABLE, NUMBER)


@pytest.fixture(scope="module")
def survival():
    return jaxtree.SurvivalForest(**FEW, oob_score=True).fit(TABLE, TIME, event=EVENT)


def test_intervals_of_quantiles_hold_the_share_that_is_said(quantiles):
    cards = told_by(jaxtree.to_html(quantiles, TABLE, NUMBER))["cards"]
    low, high = quantiles.predict_interval(TABLE, coverage=0.9).T
    share = np.mean((low <= NUMBER) & (high >= NUMBER))
    assert cards["intervals"]["charts"]["0"]["caption"] == f"{share:.1%} of 60 rows are in their interval."
    held = cards["coverage"]["charts"]["0"]["series"][0]
    for level, own in zip(held["x"][::6], held["y"][::6], strict=True):
        low, high = quantiles.predict_interval(TABLE, coverage=level).T
        assert own == pytest.approx(np.mean((low <= NUMBER) & (high >= NUMBER)), abs=1e-6)
    assert {"predictions", "residuals", "calibration", "importances", "dependence-0"} <= {*cards}
    assert "shapley" not in cards


def test_curves_of_risk_groups_stand_beside_what_happened(survival):
    page = jaxtree.to_html(survival, TABLE, TIME, event=EVENT)
    told = told_by(page)
    chart = told["cards"]["survival"]["charts"]["0"]
    index = concordance_index(TIME, survival.predict(TABLE), event=EVENT)
    assert chart["value"] == pytest.approx(index) and chart["caption"].startswith(f"Concordance {index:.4f}")
    groups = groups_by_risk(survival.predict(TABLE), np.ones(60), 4)
    first = KaplanMeier.of(TIME[groups[0]], event=EVENT[groups[0]])
    np.testing.assert_allclose(chart["series"][0]["y"][:-1], first.share, rtol=1e-6)
    times = np.array(chart["series"][1]["x"])
    mean = survival.predict_survival_function(TABLE.iloc[groups[0]], times=times, return_array=True).mean(axis=0)
    # The last time is rounded beyond the last event, or before it.
    np.testing.assert_allclose(chart["series"][1]["y"][:-1], mean[:-1], rtol=1e-4, atol=1e-6)
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert facts["training concordance"] == f"{index:.4f}"
    (rows,) = told["rows"]
    total = np.array(rows["values"]).sum(axis=1) + rows["base"][0]
    np.testing.assert_allclose(total, survival.predict(TABLE)[rows["number"]], rtol=1e-6)
    assert rows["unit"] == "mortality" and rows["truth"][0].endswith((", event", " or later"))


def test_a_page_of_times_takes_their_events_alone(survival):
    with pytest.raises(InvalidTypeError, match="takes no 'group'"):
        jaxtree.to_html(survival, TABLE, TIME, group=EVENT)


def test_survival_of_a_forest_is_drawn_with_its_curves(survival):
    ax = plot.plot_survival(survival, TABLE, TIME, EVENT, num_groups=2)
    assert [line.get_linestyle() for line in ax.lines].count("--") == 3  # two groups, and the legend
    assert ax.get_legend().get_texts()[-1].get_text() == "predicted"


def test_shapley_values_of_quantiles_compare_with_other_rows(quantiles):
    found = shap_values(quantiles, TABLE[:4], background=TABLE[10:16])
    expected = quantiles.predict(TABLE[:4])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base, expected, rtol=1e-9)
    with pytest.raises(InvalidInputError, match="has no rows to compare one with: call shap_values with background"):
        shap_values(quantiles, TABLE[:1])
    with pytest.raises(InvalidTypeError, match="predicts from the rows that its leaves keep: shap_values with backgr"):
        jaxtree.explain_row(quantiles, TABLE[:1])


def test_survival_forests_are_functions_of_their_nodes(survival):
    found = shap_values(survival, TABLE[:5])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base, survival.predict(TABLE[:5]), rtol=1e-9)
    assert str(jaxtree.explain_row(survival, TABLE[:1])).splitlines()[1].startswith("mean ")
