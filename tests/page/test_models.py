"""Pages of models: one whole file, whose numbers are scikit-learn's and the model's own."""

import re

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, r2_score

from jaxtree import (
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingDistribution,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    RandomForestClassifier,
    explain_row,
    to_html,
)
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.page.trees import MOST_OUTLINED, mean_steps
from tests.page.pages import HOSTILE, elements_of, table, told_by

X, Y = table()
X_VAL, Y_VAL = table(seed=1)
NUMBER = X["tall"] ** 2 + (X["hue"] == "red")
FEW = {"n_estimators": 12, "max_depth": 3, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def model():
    return GradientBoostingClassifier(**FEW).fit(X, Y, eval_set=[(X_VAL, Y_VAL), (X, Y)])


@pytest.fixture(scope="module")
def page(model):
    return to_html(model, X, Y, X_val=X_VAL, y_val=Y_VAL, title="Three & more")


@pytest.fixture(scope="module")
def cards(page):
    return told_by(page)["cards"]


def test_the_page_is_one_file_that_asks_for_nothing(page):
    assert page.startswith("<!doctype html>") and "<title>Three &amp; more</title>" in page
    assert not re.search(r"https?:|//www|src=|href=|@import|url\(", page)
    assert elements_of(page).names.count("script") == 2
    assert "hessian" not in re.sub(r'<table class="parameters">.*?</table>', "", page, flags=re.DOTALL)


def test_a_confusion_matrix_is_scikit_learn_s(model, cards):
    charts = cards["confusion"]["charts"]
    for place, (rows, target) in enumerate([(X, Y), (X_VAL, Y_VAL)]):
        chart = charts[str(place)]
        np.testing.assert_array_equal(chart["cells"], confusion_matrix(target, model.predict(rows)))
        assert chart["value"] == pytest.approx(model.score(rows, target))
    assert chart["names"] == ["low", "middle", "top"]


def test_weights_count_and_rows_of_weight_0_are_left_out(model):
    weight = np.arange(300) % 3
    told = told_by(to_html(model, X, Y, sample_weight=weight))
    chart = told["cards"]["confusion"]["charts"]["0"]
    np.testing.assert_allclose(chart["cells"], confusion_matrix(Y, model.predict(X), sample_weight=weight))
    assert told["rows"][0]["size"] == 200 and all(number % 3 for number in told["rows"][0]["number"])
    with pytest.raises(InvalidInputError, match="sample_weight"):
        to_html(model, X, Y, sample_weight=np.where(weight, weight, np.nan))
    with pytest.raises(InvalidTypeError, match="to_html of a DecisionTreeClassifier takes no 'group'"):
        to_html(DecisionTreeClassifier(max_depth=1).fit(X, Y), X, Y, group=weight)


def test_the_curve_has_the_losses_of_every_evaluation(model, cards):
    chart = cards["curve"]["charts"][""]
    losses = [next(iter(metrics.values())) for metrics in model.evals_result_.values()]
    for series, own in zip(chart["series"], losses, strict=True):
        np.testing.assert_allclose(series["y"], own, rtol=1e-6)
    assert chart["mark"] == 1 + int(np.argmin(losses[0])) and "of 12" in chart["caption"]
    twice = GradientBoostingClassifier(**FEW).fit(X, Y, eval_set={"test": (X_VAL, Y_VAL)}, eval_metric="accuracy")
    assert {"curve", "curve-1"} <= set(told_by(to_html(twice))["cards"])


def test_shapley_values_of_a_row_add_up_to_its_score(model, page):
    rows = told_by(page)["rows"][1]
    scores = model.raw_scores(X_VAL)
    for place, number in enumerate(rows["number"]):
        output = rows["of"][place]
        assert model.classes_[output] == rows["said"][place] == model.predict(X_VAL)[number]
        total = rows["base"][output] + sum(rows["values"][place])
        assert total == pytest.approx(scores[number, output], abs=1e-6)
        assert rows["total"][place] == pytest.approx(scores[number, output], abs=1e-6)
    assert rows["cells"][2][0] == X_VAL["hue"].iloc[rows["number"][0]]


def test_the_sentence_of_a_row_is_that_of_its_explanation(model, page):
    rows = told_by(page)["rows"][1]
    for place, number in enumerate(rows["number"][:5]):
        assert rows["sentences"][place] == explain_row(model, X_VAL.iloc[[number]]).sentence


def test_a_dependence_is_the_mean_probability_of_changed_rows(model, cards):
    rows = X.copy()
    chart = cards["dependence-0"]["charts"][""]
    assert cards["dependence-0"]["title"] == "tall"
    edges = chart["series"][0]["x"]
    assert all(series["kind"] == "steps" for series in chart["series"]) and edges[0] == pytest.approx(X["tall"].min())
    for place in (0, 3, len(edges) - 2):
        drawn = [series["y"][place] for series in chart["series"] if series["name"]]
        for share in (0.01, 0.5, 0.99):  # everywhere between two limits
            rows["tall"] = (1 - share) * edges[place] + share * edges[place + 1]
            np.testing.assert_allclose(drawn, model.predict_proba(rows).mean(axis=0), rtol=1e-4)
    items = {item["name"]: item for item in cards["dependence-2"]["charts"][""]["items"]}
    rows = X.assign(hue="red").astype({"hue": X["hue"].dtype})
    found = [value for value, _ in items["red"]["dots"]]
    np.testing.assert_allclose(found, model.predict_proba(rows).mean(axis=0), rtol=1e-4)
    assert float(items["red"]["words"].rstrip("%")) == pytest.approx(100 * (X["hue"] == "red").mean(), abs=0.05)


def test_numbers_have_their_residuals():
    model = GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    told = told_by(to_html(model, X, NUMBER))
    chart = told["cards"]["predictions"]["charts"]["0"]
    assert chart["value"] == pytest.approx(r2_score(NUMBER, model.predict(X)))
    np.testing.assert_allclose(chart["series"][0]["x"], NUMBER, rtol=1e-4)
    np.testing.assert_allclose(chart["series"][0]["y"], model.predict(X), rtol=1e-4)
    assert sum(told["cards"]["residuals"]["charts"]["0"]["series"][0]["y"]) == 300


@pytest.mark.slow
def test_distributions_say_how_many_targets_their_intervals_hold():
    model = GradientBoostingDistribution(**FEW).fit(X, NUMBER)
    told = told_by(to_html(model, X, NUMBER))
    low, high = model.predict_dist(X).interval(0.9).T
    inside = np.mean((low <= NUMBER) & (high >= NUMBER))
    assert told["cards"]["coverage"]["charts"]["0"]["value"] == pytest.approx(inside, abs=1e-9)
    below = model.predict_dist(X).cdf(NUMBER.to_numpy())
    expected = np.histogram(below, 10, (0, 1))[0] / 300
    np.testing.assert_allclose(told["cards"]["pit"]["charts"]["0"]["series"][0]["y"], expected, rtol=1e-4)


def test_survival_has_concordance_and_kaplan_and_meier_s_curves():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(np.exp(X["tall"])), (rng.random(300) < 0.7).astype(int)
    model = GradientBoostingRegressor(**FEW, loss="cox").fit(X, time, event=event)
    told = told_by(to_html(model, X, time, event=event))
    chart = told["cards"]["survival"]["charts"]["0"]
    risk = model.predict(X)
    first, second = np.nonzero((time[:, None] < time) & (event[:, None] == 1))
    expected = np.mean((risk[first] > risk[second]) + 0.5 * (risk[first] == risk[second]))
    assert chart["value"] == pytest.approx(expected)
    assert told["rows"][0]["truth"][0].endswith("event" if event[0] else "or later")
    assert sum(series["kind"] == "steps" for series in chart["series"]) == 4


@pytest.mark.slow
def test_ranks_have_the_gain_of_every_group():
    group, target = np.arange(300) // 10, np.digitize(X["tall"], [-0.5, 0.5])
    model = GradientBoostingRanker(**FEW).fit(X, target, group=group)
    told = told_by(to_html(model, X, target, group=group))
    value = told["cards"]["ndcg"]["charts"]["0"]["value"]
    assert value == pytest.approx(model.score(X, target, group=group), abs=1e-6)
    assert {"ranks", "worst"} <= set(told["cards"])


def test_a_forest_has_its_own_curve_and_rows_out_of_bag():
    forest = RandomForestClassifier(7, max_depth=4, random_state=0, oob_score=True).fit(X, Y)
    told = told_by(to_html(forest, X, Y, X_val=X_VAL, y_val=Y_VAL))
    curves = {series["name"]: series["y"] for series in told["cards"]["curve"]["charts"][""]["series"]}
    assert curves["training rows"][-1] == pytest.approx(1 - forest.score(X, Y), abs=1e-6)
    assert curves["validation rows"][-1] == pytest.approx(1 - forest.score(X_VAL, Y_VAL), abs=1e-6)
    assert curves["out of bag"][-1] == pytest.approx(1 - forest.oob_score_, abs=1e-6)
    assert curves["training rows"][0] == pytest.approx(1 - forest.estimators_[0].score(X, Y), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_the_mean_of_boosted_models_is_shown_as_one(kind):
    target = Y if kind is GradientBoostingClassifier else NUMBER
    model = kind.mean_of([kind(4, max_depth=2).fit(X, target), kind(6, max_depth=3).fit(X, target)], [1, 3])
    page = to_html(model, X, target)
    rows, scores = told_by(page)["rows"][0], model.raw_scores(X)
    assert re.search(r"members\D+2\b", page) and "No learning curve" not in page
    np.testing.assert_allclose(rows["total"], scores[rows["number"], rows["of"]], rtol=1e-6)


def test_trees_say_what_nodes_add_to_the_score(model, page):
    assert re.findall(r"<h3>(Tree \d+)</h3>", page) == [f"Tree {number}" for number in range(12)]
    assert page.count(" hidden>\n<h3>Tree") == 9 and "Trees 0 to 11 of 12 are in this page." in page
    assert re.findall(r"<h3>(Tree \d+)</h3>", to_html(model, tree=11)) == ["Tree 11"]
    rows = model.forest_[0].num_rows
    assert f"{int(rows[1])} rows" in page and "of a row that ends there" in page
    with pytest.raises(InvalidInputError, match="tree must be a whole number from 0 to 11, got 12"):
        to_html(model, tree=12)


def test_a_page_has_as_many_trees_as_it_has_room_for():
    forest = RandomForestClassifier(30, random_state=0).fit(X, Y)
    page = to_html(forest, tree=3)
    last = max(int(number) for number in re.findall(r"<h3>Tree (\d+)</h3>", page))
    assert 5 < last < 29 and page.count('class="outlined"') <= MOST_OUTLINED
    assert f"Trees 3 to {last} of 30 are in this page; to_html with tree={last + 1} begins at the next." in page
    assert len(page) < 600_000
    tree = forest.estimators_[last]
    share = tree.predict_proba(X).max()
    assert f"{tree.tree_.node_count:,} nodes, {tree.get_n_leaves():,} leaves" in page and share > 0.9


def test_steps_of_nodes_are_means_of_those_of_their_rows(model):
    tree = model.forest_[0]
    ends = model.apply(X)[:, 0]
    steps = mean_steps(tree)
    by_row = model.estimators_[0].predict(X)
    np.testing.assert_allclose(steps[ends], by_row, rtol=1e-6)
    np.testing.assert_allclose(steps[0], by_row.mean(axis=0), atol=1e-6)


def test_without_targets_a_page_has_all_but_how_right_it_is(model):
    told = told_by(to_html(model, X))
    assert {"dependence-0", "swarm", "curve"} <= set(told["cards"])
    assert not {"confusion", "roc", "calibration"} & set(told["cards"])
    assert "truth" not in told["rows"][0] and "off" not in told["rows"][0]
    tree = to_html(DecisionTreeClassifier(max_depth=2).fit(X, Y), X)
    assert "dependence-0" in told_by(tree)["cards"]
    with pytest.raises(InvalidInputError, match="X_val and y_val go together"):
        to_html(model, X_val=X)


@pytest.mark.slow
def test_rows_of_one_class_and_one_row_have_a_page(model):
    told = told_by(to_html(model, X[Y == "low"], Y[Y == "low"], X_val=X[:1], y_val=["another"]))
    assert "No curve" in told["cards"]["roc"]["charts"]["0,0"]["caption"]
    assert told["cards"]["confusion"]["charts"]["1"]["names"][-1] == "not seen in fit"
    assert told["rows"][1]["truth"] == ["not seen in fit"]
    assert (
        "predictions" in told_by(to_html(GradientBoostingRegressor(**FEW).fit(X, NUMBER), X[:1], NUMBER[:1]))["cards"]
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_that_are_no_numbers_are_refused(value):
    model, target = GradientBoostingRegressor(2, max_depth=1).fit(X, NUMBER), NUMBER.copy()
    target[3] = value
    with pytest.raises(InvalidInputError, match="y"):
        to_html(model, X, target)


def test_names_cannot_break_the_page():
    rows = X.rename(columns={"tall": HOSTILE, "hue": "<!--", "wide": 'a "quoted" & very long name ' * 9})
    classes = np.where(Y == "low", HOSTILE, "<img src=x onerror=alert(1)>")
    model = GradientBoostingClassifier(2, min_samples_leaf=5).fit(rows, classes)
    page = to_html(model, rows, classes, title=HOSTILE)
    names = elements_of(page).names
    assert "img" not in names and names.count("script") == 2 and 'id="broken"' not in page
    assert set(told_by(page)["rows"][0]["columns"]) == set(rows.columns)


def test_a_page_counts_rounds_where_each_has_a_tree_a_class():
    options = FEW | {"n_estimators": 30, "learning_rate": 0.8, "early_stopping": True, "n_iter_no_change": 3}
    apart = GradientBoostingClassifier(**options, multi_strategy="one_output_per_tree")
    apart.fit(X, Y, eval_set=[(X_VAL, Y_VAL)])
    page = to_html(apart, X, Y, tree=1)
    number = len(apart.evals_result_["validation_0"]["log_loss"])
    assert apart.trees_per_round_ == 3 and apart.n_estimators_ < number
    assert f"The model has the trees up to round {apart.n_estimators_} of {number}, marked by the line." in page
    # The second tree is of the second class alone.
    steps = mean_steps(apart.forest_[1])
    assert not steps[:, [0, 2]].any() and steps[:, 1].any()


def test_curves_of_folds_are_as_long_as_their_models_made_rounds():
    options = FEW | {"n_estimators": 60, "learning_rate": 0.3, "n_iter_no_change": 3, "random_state": 0}
    model = GradientBoostingClassifier(**options, early_stopping="cv", cv=4).fit(X, Y, eval_set=[(X_VAL, Y_VAL)])
    measured = [own["log_loss"] for own in model.evals_result_.values()]
    lengths = [len(curve) for curve in measured]
    assert max(lengths) > lengths[0] > min(lengths), "the first fold is to be neither the shortest nor the longest"
    chart = told_by(to_html(model))["cards"]["curve"]["charts"][""]
    for series, curve in zip(chart["series"], measured, strict=True):
        np.testing.assert_allclose(series["y"], curve, rtol=1e-6)
        assert series["x"] == list(range(1, len(curve) + 1))
    kept = model.folds_.num_trees
    assert chart["mark"] == model.best_iteration_ and min(kept) <= chart["mark"] <= max(kept)
    assert f"the trees up to its best round, {min(kept)} to {max(kept)}: the line marks" in chart["caption"]
