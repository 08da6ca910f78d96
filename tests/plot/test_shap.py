"""Drawings of Shapley values: what is drawn is what `shap_values` returns."""

import numpy as np
import pytest

from jaxtree.errors import InvalidInputError
from jaxtree.explain import shap_values
from jaxtree.plot import plot_shap_bar, plot_shap_beeswarm, plot_shap_waterfall
from tests.examples import example, mixed_table, rows_of

TABLE = mixed_table()


def row_labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_mean_absolute_values():
    model = example("boosted_regression")
    worth = np.abs(shap_values(model, TABLE).values).mean(axis=0)
    ax = plot_shap_bar(model, TABLE, max_columns=3)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], np.sort(worth)[::-1][:3])
    assert row_labels(ax) == [TABLE.columns[place] for place in np.argsort(-worth, kind="stable")[:3]]
    assert ax.get_xlabel() == "mean absolute Shapley value (prediction)"


def test_bars_of_classes_stand_end_to_end():
    forest = example("forest")
    worth = np.abs(shap_values(forest, TABLE).values).mean(axis=0)
    ax = plot_shap_bar(forest, TABLE)
    ends = max(bar.get_x() + bar.get_width() for bar in ax.patches)
    np.testing.assert_allclose(ends, worth.sum(axis=1).max())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == forest.classes_.tolist()
    one = plot_shap_bar(forest, TABLE, of_class="low")
    np.testing.assert_allclose([bar.get_width() for bar in one.patches], np.sort(worth[:, 1])[::-1])
    assert one.get_xlabel().endswith("(probability of low)")


def test_two_classes_have_the_values_of_the_second():
    values = shap_values(example("boosted"), TABLE).values
    for ax in (plot_shap_bar(example("boosted"), TABLE), plot_shap_bar(example("boosted"), TABLE, of_class=True)):
        np.testing.assert_allclose(ax.patches[0].get_width(), np.abs(values).mean(axis=0).max())
        assert ax.get_xlabel().endswith("(log odds of True)")


def test_a_swarm_has_a_point_a_row_at_its_value():
    model = example("boosted_regression")
    values = shap_values(model, TABLE).values
    ax = plot_shap_beeswarm(model, TABLE)
    order = np.argsort(-np.abs(values).mean(axis=0), kind="stable")
    for points, column in zip(ax.collections, order, strict=False):
        np.testing.assert_allclose(points.get_offsets()[:, 0], values[:, column])
        assert (np.abs(np.diff(points.get_offsets()[:, 1])) < 1).all()
    number = ax.collections[row_labels(ax).index("number")].get_facecolors()
    cells = TABLE["number"].to_numpy()
    np.testing.assert_allclose(number[np.isnan(cells)][:, :3], 0.6)
    assert number[np.nanargmax(cells), 0] > number[np.nanargmin(cells), 0]
    color = ax.collections[row_labels(ax).index("color")].get_facecolors()
    np.testing.assert_allclose(color[:, :3], 0.6)


@pytest.mark.parametrize("name", ["boosted", "boosted_classes", "forest", "regression", "id3_onehot", "boosted_counts"])
def test_a_waterfall_leads_from_the_base_to_the_score(name):
    model, table = example(name), rows_of(name)
    row = table[:1]
    explanation = shap_values(model, row)
    label = 0
    if explanation.values.ndim == 3:
        label = int(np.flatnonzero(model.classes_ == model.predict(row)[0])[0])
    ax = plot_shap_waterfall(model, row, max_columns=1)
    values = explanation.values.reshape(explanation.values.shape[1], -1)[:, label]
    base = np.ravel(explanation.base)[label]
    last = ax.patches[-1].get_x()
    np.testing.assert_allclose(last, base)
    np.testing.assert_allclose(ax.patches[0].get_x() + ax.patches[0].get_width(), base + values.sum())
    np.testing.assert_allclose(sum(bar.get_width() for bar in ax.patches), values.sum(), atol=1e-12)


def test_cells_are_in_words_also_one_hot():
    ax = plot_shap_waterfall(example("id3_onehot"), TABLE.iloc[[1]])
    said = dict(label.split(" = ") for label in row_labels(ax))
    assert said["color"] == str(TABLE["color"].iloc[1]) and said["is_new"] == str(TABLE["is_new"].iloc[1])
    missing = plot_shap_waterfall(example("boosted_regression"), TABLE.iloc[[3]])
    assert "number = missing" in row_labels(missing)


def test_ensembles_and_given_values_are_drawn():
    ensemble, table = example("boosted_regression"), rows_of("boosted_regression")
    given = shap_values(ensemble, table)
    doubled = given._replace(values=2 * given.values)
    one, two = plot_shap_bar(ensemble, table, given), plot_shap_bar(ensemble, table, doubled)
    np.testing.assert_allclose(two.patches[0].get_width(), 2 * one.patches[0].get_width())


def test_what_cannot_be_drawn_is_named():
    forest = example("forest")
    with pytest.raises(InvalidInputError, match="of_class= must name one of high, low, middle"):
        plot_shap_beeswarm(forest, TABLE)
    with pytest.raises(InvalidInputError, match="of_class must be one of high, low, middle, got 'other'"):
        plot_shap_bar(forest, TABLE, of_class="other")
    with pytest.raises(InvalidInputError, match="none, since numbers are predicted"):
        plot_shap_bar(example("regression"), TABLE, of_class="low")
    with pytest.raises(InvalidInputError, match="row must be one row, got 2"):
        plot_shap_waterfall(example("regression"), TABLE.iloc[:2])
    with pytest.raises(InvalidInputError, match="got 5 rows and values of shape"):
        plot_shap_bar(forest, TABLE[:5], shap_values(forest, TABLE[:4]))
    with pytest.raises(InvalidInputError, match="max_columns must be at least 1"):
        plot_shap_bar(forest, TABLE, max_columns=0)
