"""Scores of a page stand beside what a constant reaches, and have intervals on rows that no tree has seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from jaxtree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingDistribution,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    OptimalTreeClassifier,
    to_html,
)
from jaxtree.errors import InvalidInputError
from jaxtree.page.model import page_model, read_table, score_of_table
from jaxtree.page.page import summary_of
from jaxtree.page.scores import constant_of, fact_of_score, interval_of_score, ranked_of
from tests.page.pages import table, told_by

X, Y = table()
X_VAL, Y_VAL = table(seed=1)
NUMBERS, NUMBERS_VAL = (np.nan_to_num(own["tall"].to_numpy()) ** 2 + 1 for own in (X, X_VAL))
EVENT = np.arange(300) % 3 > 0
GROUP = np.arange(300) // 10
FEW = {"n_estimators": 4, "max_depth": 2}


def facts(estimator, y_val, **extras):
    model = page_model(estimator)
    rows = read_table(model, "validation", X_VAL, y_val, extras)
    return model, rows, fact_of_score(model, rows, "score")


def test_classes_stand_beside_the_most_frequent_one():
    model, rows, fact = facts(DecisionTreeClassifier(max_depth=3).fit(X, Y), Y_VAL)
    most = pd.Series(Y_VAL).value_counts(normalize=True)
    assert constant_of(model, rows) == (f"always {most.index[0]}", pytest.approx(most.iloc[0]))
    found = interval_of_score(model, rows)
    assert found.low < score_of_table(model, rows) < found.high
    assert fact.note == f"95 %: {found.low:.4f} to {found.high:.4f}; always {most.index[0]}: {most.iloc[0]:.4f}"
    seen = read_table(model, "training", X, Y, {})
    assert fact_of_score(model, seen, "score").note.startswith("always ")


def test_groups_are_drawn_together():
    """Rows that stand ten times in the table say no more than once."""
    tree, ten = DecisionTreeClassifier(max_depth=3).fit(X, Y), np.repeat(np.arange(100), 10)
    model = page_model(tree)
    rows, groups = X_VAL.iloc[ten], {"groups": np.char.add("patient ", ten.astype(str))}
    together = interval_of_score(model, read_table(model, "validation", rows, Y_VAL[ten], groups))
    once = interval_of_score(model, read_table(model, "validation", X_VAL[:100], Y_VAL[:100], {}))
    apart = interval_of_score(model, read_table(model, "validation", rows, Y_VAL[ten], {}))
    width = once.high - once.low
    assert together.high - together.low == pytest.approx(width, rel=0.2)
    assert apart.high - apart.low < 0.5 * width
    page = to_html(tree, X, Y, X_val=rows, y_val=Y_VAL[ten], groups_val=ten, groups=GROUP)
    assert f"95 %: {together.low:.4f}"[:9] in page
    with pytest.raises(InvalidInputError):
        to_html(tree, X, Y, groups=GROUP[:-1])


def test_numbers_stand_beside_the_mean():
    tree = DecisionTreeRegressor(max_depth=3).fit(X, NUMBERS)
    model, rows, fact = facts(tree, NUMBERS_VAL)
    found, score = interval_of_score(model, rows), r2_score(NUMBERS_VAL, tree.predict(X_VAL))
    assert found.low < score < found.high and fact.note.endswith("the mean: 0.0000")


def test_losses_stand_beside_the_score_before_the_first_tree():
    boosted = GradientBoostingDistribution(**FEW).fit(X, NUMBERS)
    model, rows, _ = facts(boosted, NUMBERS_VAL)
    blank = GradientBoostingDistribution(**FEW | {"learning_rate": 1e-12}).fit(X, NUMBERS)
    constant = constant_of(model, rows)
    assert constant.score == pytest.approx(blank.score(X_VAL, NUMBERS_VAL), rel=1e-6)
    found = interval_of_score(model, rows)
    assert found.low < boosted.score(X_VAL, NUMBERS_VAL) < found.high


def test_orders_stand_beside_chance():
    hazard = GradientBoostingRegressor(**FEW, loss="cox").fit(X, NUMBERS, event=EVENT)
    model, rows, _ = facts(hazard, NUMBERS_VAL, event=EVENT)
    assert constant_of(model, rows).score == 0.5
    found = interval_of_score(model, rows)
    assert found.low < hazard.score(X_VAL, NUMBERS_VAL, event=EVENT) < found.high
    relevance = np.arange(300) % 3
    ranker = GradientBoostingRanker(**FEW).fit(X, relevance, group=GROUP)
    model, rows, _ = facts(ranker, relevance, group=GROUP)
    rng = np.random.default_rng(0)
    shuffled = [rows._replace(predicted=rng.random((300, 1))) for _ in range(50)]
    by_chance = np.mean([ranked_of(model, own).mean for own in shuffled])
    assert constant_of(model, rows).score == pytest.approx(by_chance, abs=0.01)
    found = interval_of_score(model, rows)
    assert found.low < score_of_table(model, rows) < found.high


def test_a_confusion_matrix_says_what_one_class_alone_reaches():
    chart = told_by(to_html(GradientBoostingClassifier(**FEW).fit(X, Y), X, Y))["cards"]["confusion"]["charts"]["0"]
    most = pd.Series(Y).value_counts(normalize=True)
    assert chart["caption"].endswith(f"are predicted correctly; always {most.index[0]}: {most.iloc[0]:.1%}.")


@pytest.mark.parametrize(
    ("found", "words"),
    [("proven", "proven best"), ("proven on bins", "proven best on bins"), (0.125, "within 12.5% of the best")],
)
def test_the_page_of_an_optimal_tree_says_how_far_it_is_proven(found, words):
    tree = OptimalTreeClassifier(max_depth=2).fit(X, Y)
    assert summary_of(page_model(tree), [], None)[0].value == tree.optimality_ + " best"
    tree.optimality_ = found
    fact = summary_of(page_model(tree), [], None)[0]
    assert fact.value == words and fact.note.startswith("among all trees of at most 2 levels of splits")
