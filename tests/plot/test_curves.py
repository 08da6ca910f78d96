"""Curves of learning, prediction intervals, survival and scores of searches: what is drawn is what is computed."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

import jaxtree
from jaxtree import boosting
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.figures.survival import groups_by_risk
from jaxtree.metrics import KaplanMeier
from jaxtree.plot import plot_intervals, plot_learning_curve, plot_search_scatter, plot_survival
from jaxtree.resampling import ConformalRegressor
from tests.examples import example, mixed_numbers, mixed_table

TABLE = mixed_table()
NUMBER = mixed_numbers(TABLE)
PLAIN = TABLE[["number", "is_new"]].to_numpy(float)


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_curves_of_rounds_are_what_was_measured():
    model = jaxtree.GradientBoostingRegressor(6, max_depth=2, min_samples_leaf=4)
    data = {"training": (TABLE, NUMBER), "other": (TABLE[:20], -NUMBER[:20])}
    model.fit(TABLE, NUMBER, eval_set=data, eval_metric="r2")
    ax = plot_learning_curve(model)
    for line, name in zip(ax.lines, data, strict=False):
        np.testing.assert_array_equal(line.get_ydata(), model.evals_result_[name]["squared_error"])
    best = model.best_iteration_
    assert ax.lines[-1].get_xdata()[0] == best and legend_of(ax)[-1] == f"best, round {best}"
    other = plot_learning_curve(model, "r2")
    assert other.get_ylabel() == "r2" and legend_of(other) == [*data, f"best, round {best}"]
    with pytest.raises(InvalidInputError, match="metric must be one of squared_error, r2, got 'accuracy'"):
        plot_learning_curve(model, "accuracy")


def test_early_stopping_marks_the_rounds_that_were_kept():
    model = example("boosted")
    assert legend_of(plot_learning_curve(model))[-1] == f"kept, {model.n_estimators_} rounds"
    with pytest.raises(InvalidInputError, match="fitted with eval_set= or early_stopping=True"):
        plot_learning_curve(example("boosted_regression"))


@pytest.mark.parametrize("kind", ["conformal", "distribution", "quantiles"])
def test_intervals_are_those_that_are_predicted(kind):
    if kind == "conformal":
        model = ConformalRegressor(jaxtree.DecisionTreeRegressor(max_depth=2), cv=3).fit(TABLE, NUMBER)
        ends = model.predict_interval(TABLE, coverage=0.8)
    elif kind == "distribution":
        model = example("boosted_distribution")
        ends = model.predict_dist(TABLE).interval(0.8)
    else:
        loss = boosting.quantiles([0.1, 0.5, 0.9])
        model = jaxtree.GradientBoostingRegressor(4, max_depth=2, min_samples_leaf=4, loss=loss).fit(TABLE, NUMBER)
        ends = model.predict(TABLE)[:, [0, 2]]
    ax = plot_intervals(model, TABLE, NUMBER, coverage=0.8)
    drawn = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    order = np.argsort(ends.mean(axis=1), kind="stable")
    np.testing.assert_allclose(drawn, ends[order])
    inside = (ends[:, 0] <= NUMBER) & (ends[:, 1] >= NUMBER)
    assert legend_of(ax) == [f"inside {inside.mean():.0%}", f"outside {(~inside).mean():.0%}"]
    np.testing.assert_allclose(np.sort(ax.collections[1].get_offsets()[:, 1]), np.sort(NUMBER[inside]))


def test_other_intervals_are_refused():
    with pytest.raises(InvalidTypeError, match="must predict intervals, as a ConformalRegressor"):
        plot_intervals(example("regression"), TABLE, NUMBER)
    with pytest.raises(InvalidTypeError, match="got DecisionTreeRegressor"):
        plot_intervals(example("regression_outputs"), TABLE, NUMBER)
    with pytest.raises(InvalidInputError, match="coverage must be between 0 and 1, got 90"):
        plot_intervals(example("boosted_distribution"), TABLE, NUMBER, coverage=90)
    with pytest.raises(InvalidInputError, match=r"one number for each of 60 rows, at least one, got \(3,\)"):
        plot_intervals(example("boosted_distribution"), TABLE, NUMBER[:3])


def test_survival_is_the_product_of_shares_at_risk():
    """The data of Freireich et al. (1963) in Cox (1972): remission under 6-MP; S(6) = 0.857, S(22) = 0.538."""
    time = np.array([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35.0])
    event = np.array([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], bool)
    curve = KaplanMeier.of(time, event=event)
    assert curve.time.tolist() == [0, 6, 7, 10, 13, 16, 22, 23]
    np.testing.assert_allclose(curve.share[1:], [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448], atol=5e-4)
    np.testing.assert_allclose([curve.low[1], curve.high[1]], [0.620, 0.952], atol=5e-3)
    assert ((curve.low <= curve.share) & (curve.share <= curve.high)).all()
    with_events = KaplanMeier.of(time, event=np.zeros(len(time), bool))
    assert with_events.share.tolist() == [1.0]


def cox_model():
    event = np.arange(len(PLAIN)) % 4 > 0
    time = np.exp(-0.1 * np.nan_to_num(PLAIN[:, 0])) + np.arange(len(PLAIN)) % 5
    few = {"n_estimators": 4, "max_depth": 2, "min_samples_leaf": 4}
    return jaxtree.GradientBoostingRegressor(**few, loss="cox").fit(PLAIN, time, event=event), time, event


def test_groups_are_those_of_predicted_risk():
    model, time, event = cox_model()
    ax = plot_survival(model, PLAIN, time, event, num_groups=2)
    groups = groups_by_risk(model.predict(PLAIN), np.ones(len(time)), 2)
    for line, own in zip([ax.lines[0], ax.lines[2]], groups, strict=True):
        np.testing.assert_allclose(line.get_ydata()[:-1], KaplanMeier.of(time[own], event=event[own]).share)
    structured = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    again = plot_survival(model, PLAIN, structured, num_groups=2)
    np.testing.assert_array_equal(again.lines[0].get_ydata(), ax.lines[0].get_ydata())
    later = plot_survival(model, PLAIN, 1000 * time, event, num_groups=2)
    np.testing.assert_allclose(later.lines[0].get_xdata(), 1000 * ax.lines[0].get_xdata())


class WithCurves(BaseEstimator):
    """A model of hazards whose survival functions are exponentials."""

    def __init__(self, model):
        self.predicts, self.predict = model.predicts, model.predict

    def fit(self):
        """As scikit-learn asks of estimators."""

    def __sklearn_is_fitted__(self):
        return True

    def predict_survival_function(self, X, *, times, return_array):
        assert return_array
        return np.exp(-np.outer(self.predict(X), times))


def test_predicted_curves_are_the_means_of_the_groups():
    model, time, event = cox_model()
    ax = plot_survival(WithCurves(model), PLAIN, time, event, num_groups=2)
    dashed = [line for line in ax.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    for line, own in zip(dashed, groups_by_risk(model.predict(PLAIN), np.ones(len(time)), 2), strict=True):
        at = line.get_xdata()
        expected = np.exp(-np.outer(model.predict(PLAIN)[own], at)).mean(axis=0)
        np.testing.assert_allclose(line.get_ydata(), expected)
    assert legend_of(ax)[-1] == "predicted"


def test_survival_data_are_checked():
    model, time, event = cox_model()
    with pytest.raises(InvalidInputError, match="event must say of every row"):
        plot_survival(model, PLAIN, time)
    with pytest.raises(InvalidInputError, match="finite and at least 0, and event 0 or 1"):
        plot_survival(model, PLAIN, -time, event)
    with pytest.raises(InvalidInputError, match="finite and at least 0, and event 0 or 1"):
        plot_survival(model, PLAIN, time, event[:4])
    with pytest.raises(InvalidInputError, match="no fewer than num_groups=100"):
        plot_survival(model, PLAIN, time, event, num_groups=100)


@pytest.fixture(scope="module")
def searched():
    space = {"max_depth": [1, 2, None], "ccp_alpha": [0.001, 0.1], "criterion": ["squared_error"]}
    return GridSearchCV(jaxtree.DecisionTreeRegressor(), space, cv=2, scoring="r2").fit(TABLE, NUMBER)


def test_points_are_settings(searched):
    ax = plot_search_scatter(searched, "ccp_alpha")
    points, best = (np.asarray(part.get_offsets()) for part in ax.collections[1:])
    np.testing.assert_allclose(points[:, 0], [own["ccp_alpha"] for own in searched.cv_results_["params"]])
    np.testing.assert_allclose(points[:, 1], searched.cv_results_["mean_test_score"])
    np.testing.assert_allclose(best[0], [searched.best_params_["ccp_alpha"], searched.best_score_])
    assert ax.get_xscale() == "log" and ax.get_ylabel() == "mean test score"


def test_values_that_are_no_numbers_have_lines(searched):
    ax = plot_search_scatter(searched)
    assert ax.get_ylabel() == "max_depth"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "None"]
    points = np.asarray(ax.collections[1].get_offsets())
    depths = [{1: 0, 2: 1, None: 2}[own["max_depth"]] for own in searched.cv_results_["params"]]
    np.testing.assert_array_equal(np.round(points[:, 1]), depths)


def test_several_metrics_and_unknown_names(searched):
    scoring = {"r2": "r2", "error": "neg_mean_absolute_error"}
    model = jaxtree.DecisionTreeRegressor()
    search = RandomizedSearchCV(model, {"max_depth": [1, 2, 3]}, n_iter=2, cv=2, scoring=scoring, refit="error")
    search.fit(TABLE, NUMBER)
    assert plot_search_scatter(search).get_ylabel() == "mean test error"
    drawn = plot_search_scatter(search, metric="r2").collections[1].get_offsets()[:, 1]
    np.testing.assert_allclose(drawn, search.cv_results_["mean_test_r2"])
    with pytest.raises(InvalidInputError, match="metric must be one of r2, error, got 'f1'"):
        plot_search_scatter(search, metric="f1")
    with pytest.raises(InvalidInputError, match="parameter must be one of ccp_alpha, criterion, max_depth, got"):
        plot_search_scatter(searched, "depth")
