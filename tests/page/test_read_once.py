"""A page reads and encodes its rows once, and says of them what the estimator does."""

import collections
import pathlib
import sys

import numpy as np
import pytest

import jaxtree
from tests.examples import EXTRAS, example, mixed_numbers, mixed_table, unfitted
from tests.page.pages import told_by

READERS = {"read_arguments", "values", "encode_known_classes", "encode_known_numbers", "read_table", "read_fields"}
MODELS = [
    "cart",
    "optimal_cost",
    "c45",
    "forest",
    "boosted",
    "boosted_regression",
    "boosted_distribution",
    "boosted_ranker",
    "additive",
    "hardened",
]


def calls_of(work):
    """How often the package's functions that read tables, targets and fields are called."""
    found, package = collections.Counter(), str(pathlib.Path(jaxtree.__file__).parent)

    def count(frame, event, _):
        code = frame.f_code
        is_reader = code.co_name in READERS and code.co_filename.startswith(package)
        if event == "call" and is_reader and pathlib.Path(code.co_filename).parent.name in ("table", "dataset", "tree"):
            found[code.co_name] += 1

    earlier = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(earlier)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_read_and_encoded_once(name, monkeypatch):
    """The card of the data has columns as they came, and reads them by itself."""
    monkeypatch.setattr(jaxtree.page.page, "data_card", lambda *_: None)
    _, X, y = unfitted()[name]
    model = example(name)
    found = calls_of(lambda: jaxtree.to_html(model, X, y, **EXTRAS.get(name, {})))
    assert found["values"] == 1 and set(found.values()) == {1}, found


@pytest.mark.parametrize("name", MODELS)
def test_classes_and_scores_are_those_of_the_estimator(name):
    _, X, y = unfitted()[name]
    model, extras = example(name), EXTRAS.get(name, {}) | {"sample_weight": np.arange(len(y)) % 3.0}
    page = jaxtree.to_html(model, X, y, **extras)
    (rows,) = told_by(page)["rows"]
    if hasattr(model, "classes_"):
        assert rows["said"] == [str(one) for one in model.predict(X)[rows["number"]]]
    if '"nodes":' in page:  # a tree with sliders has its scores there
        return
    words = jaxtree.page.page.score_in_words(model.score(X, y, **extras))
    assert f"training {model.score_name_}" in page and words in page


def test_intervals_move_with_the_offset():
    table, number = mixed_table(), mixed_numbers(mixed_table())
    offset = np.stack([np.linspace(-9, 9, len(table)), np.zeros(len(table))], axis=1)
    model = jaxtree.GradientBoostingDistribution(4, max_depth=2, min_samples_leaf=4).fit(table, number, offset=offset)
    cards = told_by(jaxtree.to_html(model, table, number, offset=offset))["cards"]
    low, high = model.predict_dist(table, offset=offset).interval(0.9).T
    share = np.mean((low <= number) & (number <= high))
    assert cards["intervals"]["charts"]["0"]["caption"].startswith(f"{share:.1%}")
    below = model.predict_dist(table, offset=offset).cdf(number)
    held = np.mean(2 * np.abs(below - 0.5) <= 0.9)
    assert cards["coverage"]["charts"]["0"]["value"] == pytest.approx(held)


def test_costs_decide_what_rows_are_said_to_be():
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.array(["no"] * 8 + ["yes"] * 2 + ["no"] * 4 + ["yes"] * 6)
    tree = jaxtree.OptimalTreeClassifier(max_depth=1, cost_matrix=[[0, 1], [9, 0]]).fit(X, y)
    assert set(tree.predict(X)) == {"yes"} and tree.predict_proba(X)[:, 0].max() > 0.5
    (rows,) = told_by(jaxtree.to_html(tree, X, y))["rows"]
    assert set(rows["said"]) == {"yes"} and rows["isWrong"] == (y == "no").tolist()
