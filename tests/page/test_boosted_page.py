"""The page of boosted trees: one whole file without a script, whose curves are the model's own numbers."""

import re

import numpy as np
import pytest

from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor, to_html
from jaxtree.errors import InvalidInputError
from jaxtree.page.boosted import dependence, dependences, learning_curves
from jaxtree.page.curves import HEIGHT, WIDTH, Line, make_chart
from tests.page.pages import HOSTILE, elements_of, table

X, Y = table()
X_VAL, Y_VAL = table(seed=1)
FEW = {"n_estimators": 12, "max_depth": 3, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def model():
    return GradientBoostingClassifier(**FEW).fit(X, Y, eval_set=[(X_VAL, Y_VAL), (X, Y)])


@pytest.fixture(scope="module")
def page(model):
    return to_html(model, X, Y, X_val=X_VAL, y_val=Y_VAL, title="Three & more")


def points(path):
    return np.array([pair.split() for pair in re.findall(r"[ML]([-\d.]+ [-\d.]+)", path)], float)


def test_the_page_is_one_file_without_a_script(page):
    assert page.startswith("<!doctype html>") and "<title>Three &amp; more</title>" in page
    assert not re.search(r"https?:|//www|src=|href=|@import|url\(", page)
    assert "script" not in elements_of(page).names
    assert "default-src 'none'; style-src 'unsafe-inline'" in page


def test_the_curve_has_the_losses_of_every_evaluation(model):
    (curve,) = learning_curves(model)
    losses = np.array([next(iter(metrics.values())) for metrics in model.evals_result_.values()])
    low, high = losses.min(), losses.max()
    for (_, _, path), own in zip(curve.paths, losses, strict=True):
        np.testing.assert_allclose(points(path)[:, 0], np.linspace(0, WIDTH, 12), atol=0.06)
        np.testing.assert_allclose(points(path)[:, 1], HEIGHT * (high - own) / (high - low), atol=0.06)
    best = int(losses[0].argmin())
    assert curve.mark == pytest.approx(WIDTH * best / 11)
    assert curve.title == f"log_loss; least at round {best + 1} of 12"


def test_early_stopping_marks_the_round_of_the_model():
    target = np.where(np.arange(300) % 2, 1.0, -1.0)
    stopped = GradientBoostingRegressor(60, max_depth=3, early_stopping=True, n_iter_no_change=3, random_state=0)
    (curve,) = learning_curves(stopped.fit(X, target))
    ((losses,),) = (metrics.values() for metrics in stopped.evals_result_.values())
    assert stopped.n_estimators_ < len(losses)
    assert curve.title == f"squared_error; the model has the trees up to round {stopped.n_estimators_} of {len(losses)}"
    assert learning_curves(GradientBoostingRegressor(2).fit(X, target)) == []


@pytest.mark.parametrize("feature", [0, 2])
def test_a_dependence_is_the_mean_score_of_changed_rows(model, feature):
    values = model.encoder_.values(X)[:40]
    tried = np.unique(values[:, feature])[:3]
    found = dependence(model.model_, values, feature, tried)
    for value, means in zip(tried, found, strict=True):
        changed = values.copy()
        changed[:, feature] = value
        np.testing.assert_allclose(means, model.model_.predict(changed).mean(axis=0), rtol=1e-12)


def test_columns_stand_in_the_order_of_their_importances(model, page):
    charts = dependences(model, X)
    order = np.argsort(-model.feature_importances_)
    assert [chart.title for chart in charts] == [X.columns[place] for place in order]
    assert [[name for name, _, _ in chart.paths] for chart in charts] == [["low", "middle", "top"]] * 3
    (words,) = (chart for chart in charts if chart.has_dots)
    assert [word for _, word in words.across] == ["blue", "green", "red"]
    section = page.split('id="importances"')[1].split("</section>")[0]
    assert re.findall(r'class="cut">(\w+)<', section) == [chart.title for chart in charts]


def test_the_first_trees_and_scores_are_shown(model, page):
    assert [text for text in re.findall(r"<h2>(Tree \d+)</h2>", page)] == ["Tree 0", "Tree 1", "Tree 2"]
    assert re.findall(r"<h2>(Tree \d+)</h2>", to_html(model, tree=11)) == ["Tree 11"]
    for rows in ((X, Y), (X_VAL, Y_VAL)):
        assert f"{model.score(*rows):.4f}" in page
    with pytest.raises(InvalidInputError, match="tree must be a whole number from 0 to 11, got 12"):
        to_html(model, tree=12)
    with pytest.raises(InvalidInputError, match="go together"):
        to_html(model, X)


def test_names_cannot_break_the_page():
    rows = X.rename(columns={"tall": HOSTILE, "hue": "<!--"})
    classes = np.where(Y == "low", HOSTILE, "<img src=x onerror=alert(1)>")
    model = GradientBoostingClassifier(2, min_samples_leaf=5).fit(rows, classes)
    names = elements_of(to_html(model, rows, classes, title=HOSTILE)).names
    assert "img" not in names and "script" not in names and 'id="broken"' not in to_html(model, title=HOSTILE)


def test_gaps_in_a_curve_stay_gaps():
    chart = make_chart("", np.arange(3.0), [Line("loss", "#000000", np.array([1.0, np.nan, 0.5]))])
    assert chart.paths[0][2] == f"M0.0 0.0h0M{WIDTH} {HEIGHT}h0"


def test_every_metric_has_a_curve(model):
    twice = GradientBoostingClassifier(**FEW).fit(X, Y, eval_set={"test": (X_VAL, Y_VAL)}, eval_metric="accuracy")
    curves = learning_curves(twice)
    assert [curve.title.split(";")[0] for curve in curves] == ["log_loss", "accuracy"]
    assert curves[1].mark is None and [name for name, _, _ in curves[1].paths] == ["test"]
    assert to_html(twice).count("<path") == 2
