"""Laws of the numbers of charts: a row of weight 2 is two rows, and scales of parameters are alike everywhere."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator

import jaxtree
from jaxtree.figures.classes import calibration_of
from jaxtree.figures.dependence import dependence_on, plane_of
from jaxtree.figures.forests import errors_by_trees, unseen_rows
from jaxtree.figures.importances import importances_of
from jaxtree.figures.nodes import Visits, bars_of_nodes, visits_of
from jaxtree.figures.numbers import intervals_of, residuals_of
from jaxtree.figures.prunings import JudgedRows, dropout_scores, pruning_path
from jaxtree.figures.ranks import ranked_groups
from jaxtree.figures.searches import LARGE_RATIO, ScoredSettings
from jaxtree.metrics import ndcg
from jaxtree.page.settings import scatter_card
from jaxtree.plot import plot_search_scatter
from tests.marks import in_turn

RNG = np.random.default_rng(0)
NUMBER, TARGET = RNG.normal(size=80).round(3), RNG.normal(size=80)
WEIGHT = np.arange(80) % 4.0
TWICE = np.repeat(np.arange(80), WEIGHT.astype(int))


FOREST = jaxtree.RandomForestRegressor(3, max_depth=3, random_state=0).fit(NUMBER[:, None], TARGET)


def dependence(number, target, weight):
    model = jaxtree.DecisionTreeRegressor(max_depth=4).fit(NUMBER[:, None], TARGET)
    kept = weight > 0
    rows = model.encoder_.values(number[kept, None])
    found = dependence_on(model.schema_, rows, 0, model.predict_values, weight[kept])
    return found.values, found.means


def pruned(number, target, weight):
    model = jaxtree.DecisionTreeRegressor(max_depth=4).fit(NUMBER[:, None], TARGET).model_
    return pruning_path(model, JudgedRows(number[:, None], target, weight))


def dropped(number, target, weight):
    tree = jaxtree.DecisionTreeRegressor(max_depth=3).fit(NUMBER[:, None], TARGET)
    rates = np.array([0.0, 0.4])
    return dropout_scores(tree.model_, tree.encode(number[:, None]), target, weight, rates, rates)


def plane(number, target, weight):
    rows = np.stack([number, target, number**2], axis=1)
    schema = jaxtree.DecisionTreeRegressor(max_depth=1).fit(rows, target).schema_
    kept = weight > 0
    return [plane_of(schema, rows[kept], weight[kept], [0, 1], (3, 0.1)).points]


def bars(number, target, weight):
    visits = Visits(np.arange(len(number)), np.zeros(len(number), int))
    there, stack = weight > 0, (target > 0).astype(int)
    found = bars_of_nodes(
        visits.those(there), np.abs(number[there]).round().clip(0, 2), np.array([3]), stack[there], 2, weight[there]
    )
    return found.heights


LAWS = {
    "pruning path": pruned,
    "dropout": dropped,
    "plane": plane,
    "bars": bars,
    "forest": lambda number, target, weight: [errors_by_trees(FOREST.model_, number[:, None], target, weight)],
    "calibration": calibration_of,
    "residuals": lambda number, target, weight: residuals_of(target, number, weight)[1:],
    "intervals": lambda number, target, weight: [
        intervals_of(np.stack([number - 1, number + 1], axis=1), target, weight).share
    ],
    "dependence": dependence,
}


@pytest.mark.parametrize("name", LAWS)
def test_a_row_of_weight_two_is_two_rows(name):
    weighted = LAWS[name](NUMBER, TARGET, WEIGHT)
    repeated = LAWS[name](NUMBER[TWICE], TARGET[TWICE], np.ones(len(TWICE)))
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_calibrated_bins_do_not_hang_on_the_order_of_rows():
    chance, order = NUMBER.round(1), RNG.permutation(80)
    one = calibration_of(chance, TARGET, WEIGHT)
    other = calibration_of(chance[order], TARGET[order], WEIGHT[order])
    np.testing.assert_allclose(one.observed, other.observed)
    assert one.weight.sum() == WEIGHT.sum() and one.gap == pytest.approx(other.gap)


class Search(BaseEstimator):
    def fit(self):
        """Finds nothing: scikit-learn asks whether there is such a method."""


@pytest.mark.parametrize(
    ("least", "factor"), in_turn([0.5, 0.0, -1.0], [LARGE_RATIO * 0.9, LARGE_RATIO * 1.3, LARGE_RATIO * 3])
)
def test_plots_and_pages_have_the_same_scale(least, factor):
    values = [least, 1.0, 2.0, factor]
    mean, settings = np.arange(4.0), [{"c": value} for value in values]
    search = Search()
    search.cv_results_, search.refit, search.best_index_ = {"params": settings, "mean_test_score": mean}, True, 3
    ax = plot_search_scatter(search, "c")
    scored = ScoredSettings(
        settings, mean[:, None], "score", False, {}, np.zeros(4), None, None, None, None, np.zeros(4, np.int64)
    )
    (chart,) = scatter_card(scored, []).charts.values()
    assert ("ticks" in chart["x"]) == (ax.get_xscale() in ("log", "symlog"))
    pyplot.close("all")


def test_columns_of_equal_importance_keep_their_order():
    X = pd.DataFrame({"a": NUMBER, "b": np.zeros(80), "c": np.zeros(80)})
    found = importances_of(jaxtree.DecisionTreeRegressor(max_depth=1).fit(X, TARGET))
    assert found.names == ["a", "b", "c"] and found.values.tolist() == [1.0, 0.0, 0.0]


def test_a_group_of_weight_two_is_two_groups():
    group, relevance = np.arange(80) // 8, np.arange(80) * 7 % 3
    weight = 1.0 + group % 2
    one = ranked_groups(group, relevance, NUMBER, weight)
    twice = np.repeat(np.arange(80), weight.astype(int))
    copy = np.arange(len(twice)) - np.searchsorted(twice, twice)
    other = ranked_groups(2 * group[twice] + copy, relevance[twice], NUMBER[twice], np.ones(len(twice)))
    assert one.mean == pytest.approx(other.mean)
    assert one.mean == pytest.approx(ndcg(relevance, NUMBER, group=group, sample_weight=weight))
    for ours, theirs in zip(one[4:6], other[4:6], strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_a_forest_s_last_errors_are_those_of_all_its_trees():
    model = jaxtree.RandomForestRegressor(30, max_depth=2, random_state=0, oob_score=True).fit(NUMBER[:, None], TARGET)
    errors = errors_by_trees(model.model_, NUMBER[:, None], TARGET, np.ones(80))
    assert errors[-1] ** 2 == pytest.approx(np.mean((model.predict(NUMBER[:, None]) - TARGET) ** 2))
    unseen = unseen_rows(model.estimators_samples_, 80)
    of_bag = errors_by_trees(model.model_, NUMBER[:, None], TARGET, np.ones(80), unseen)
    assert 1 - of_bag[-1] ** 2 / TARGET.var() == pytest.approx(model.oob_score_)
    assert unseen_rows(model.estimators_samples_, 10) is None


def test_rows_stand_at_every_node_above_their_end():
    tree = jaxtree.DecisionTreeRegressor(max_depth=3).fit(NUMBER[:, None], TARGET)
    visits = visits_of(tree.tree_, np.arange(80), tree.apply(NUMBER[:, None]), 80)
    np.testing.assert_array_equal(np.bincount(visits.node), tree.tree_.num_rows)
    assert (visits.row[visits.node == 0] == np.arange(80)).all()
