"""Trees of dates are trees of days, and say dates wherever they speak."""

import re
import sqlite3

import numpy as np
import pandas as pd
import pytest

import jaxtree

CHANCE = np.random.default_rng(0)
DAY = CHANCE.integers(0, 700, 60)
JOINED = np.datetime64("2020-01-01", "s") + np.append(0, DAY[1:]).astype("timedelta64[D]")
JOINED[[5, 9]] = np.datetime64("NaT")
WAITED = pd.to_timedelta(CHANCE.integers(1, 90, 60), "min")
TABLE = pd.DataFrame({"joined": JOINED, "waited": WAITED})
IN_DAYS = pd.DataFrame({"joined": (TABLE["joined"] - JOINED[0]).dt.days, "waited": WAITED.total_seconds() / 86_400})
Y = np.where((np.datetime64("2020-09-01") < JOINED) & (pd.Timedelta("1h") > WAITED), "yes", "no")


@pytest.fixture(scope="module")
def tree():
    return jaxtree.DecisionTreeClassifier(max_depth=4).fit(TABLE, Y)


def test_dates_give_the_tree_of_their_days(tree):
    numbers = jaxtree.DecisionTreeClassifier(max_depth=4).fit(IN_DAYS, Y)
    np.testing.assert_array_equal(tree.tree_.threshold, numbers.tree_.threshold)
    np.testing.assert_array_equal(tree.tree_.feature, numbers.tree_.feature)
    np.testing.assert_array_equal(tree.predict_proba(TABLE), numbers.predict_proba(IN_DAYS))
    assert tree.score(TABLE, Y) == 1


def test_a_warm_start_keeps_the_origin():
    forest = jaxtree.RandomForestClassifier(1, max_depth=3, random_state=0, warm_start=True).fit(TABLE, Y)
    forest.n_estimators = 2
    with pytest.raises(ValueError, match="first dates of the first fit"):
        forest.fit(TABLE.iloc[1:], Y[1:])


def test_every_text_has_dates(tree):
    inner = tree.tree_
    on_dates = np.flatnonzero(~np.asarray(inner.is_leaf) & (np.asarray(inner.feature) == 0))[0]
    words = tree.schema_.columns[0].time.in_words(float(inner.threshold[on_dates]))
    assert re.match(r"202[01]-\d\d-\d\d", words)
    texts = [jaxtree.export_text(tree), jaxtree.to_graphviz(tree), jaxtree.to_html(tree, TABLE, Y)]
    for text in [*texts, " ".join(map(str, jaxtree.to_dataframe(tree)["condition"]))]:
        assert words in str(text)
    assert "joined (days since 2020-01-01)" in texts[-1]
    assert re.search(r"waited <= \d+(\.\d+)? min", texts[0])
    assert "joined, days since 2020-01-01" in jaxtree.to_c(tree)
    assert re.search("joined .*202[01]-", str(jaxtree.explain_row(tree, TABLE[Y == "yes"].iloc[[0]])))


def test_weka_s_layouts_have_dates():
    tree = jaxtree.C45Classifier().fit(TABLE, Y)
    for style in ("weka", "c45"):
        assert "joined <= 20" in jaxtree.export_text(tree, style=style)


def test_a_row_given_by_its_values(tree):
    row = {"joined": pd.Timestamp("2021-01-05"), "waited": pd.Timedelta("10min")}
    assert jaxtree.explain_row(tree, row).prediction == "yes"
    assert jaxtree.explain_row(tree, list(row.values())).prediction == "yes"


def test_databases_compare_their_own_dates(tree):
    rows = TABLE.assign(joined=TABLE["joined"].dt.strftime("%Y-%m-%d"), waited=IN_DAYS["waited"])
    with sqlite3.connect(":memory:") as connection:
        rows.to_sql("rows", connection, index=False)
        answers = [answer for (answer,) in connection.execute(f"SELECT {jaxtree.to_sql(tree)} FROM rows")]
    assert answers == tree.predict(TABLE).tolist()


def test_a_search_has_an_origin_for_every_fold():
    searches = [
        jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2, 4]}, cv=2).fit(X, Y)
        for X in (TABLE, IN_DAYS)
    ]
    scores = [search.cv_results_["mean_test_score"].tolist() for search in searches]
    assert scores[0] == scores[1]
