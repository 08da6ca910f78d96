"""One prediction in words."""

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.datasets import load_play_tennis
from jaxtree.errors import InvalidInputError
from jaxtree.explain.rows import explain_row
from tests.examples import example
from tests.export.shipping import SHARING, TREES, edge_rows
from tests.marks import rest_is_slow


def test_the_path_and_the_contrast_of_a_row():
    weather, _ = load_play_tennis(return_X_y=True, as_frame=True)
    said = str(explain_row(example("id3"), weather.iloc[[4]]))
    assert said == ("yes (100%)\nbecause outlook = rainy\n    and windy = FALSE\nwould be no if windy were TRUE")


def test_rows_come_as_lists_mappings_and_tables():
    weather, _ = load_play_tennis(return_X_y=True, as_frame=True)
    first = weather.iloc[0]
    for row in (weather.head(1), first.to_dict(), first.tolist(), first.to_numpy(), [first.tolist()]):
        assert explain_row(example("id3"), row).conditions == ("outlook = sunny", "humidity = high")
    with pytest.raises(InvalidInputError, match="one row, got 14"):
        explain_row(example("id3"), weather)
    with pytest.raises(InvalidInputError, match="'outlook' is not there"):
        explain_row(example("id3"), {"windy": "TRUE"})


@pytest.mark.parametrize("name", rest_is_slow([name for name in (*TREES, *SHARING) if name != "regression"], 4))
def test_the_contrast_is_true_and_none_is_smaller(name):
    """The changed row is predicted as the contrast says; where none is named, no category on the path helps."""
    estimator = example(name)
    X = edge_rows(estimator, 12)
    for number in range(12):
        row = X.iloc[[number]] if isinstance(X, pd.DataFrame) else X[[number]]
        explained = explain_row(estimator, row)
        assert explained.prediction == estimator.predict(row)[0]
        if explained.contrast is not None:
            assert explained.contrast.prediction != explained.prediction
            assert predict_changed(estimator, row, explained.contrast) == explained.contrast.prediction
        on_path = {words.split(" ")[0] for words in explained.conditions}
        for column in estimator.schema_.columns:
            if explained.contrast is None and column.kind == "categorical" and column.name in on_path:
                changes = [jaxtree.explain.rows.Contrast(column.name, value, None) for value in column.categories]
                assert {predict_changed(estimator, row, change) for change in changes} == {explained.prediction}


def predict_changed(estimator, row, contrast):
    if isinstance(row, pd.DataFrame):
        return estimator.predict(row.assign(**{contrast.column: [contrast.value]}))[0]
    changed = row.copy()
    changed[0, estimator.schema_.column_names.index(contrast.column)] = contrast.value
    return estimator.predict(changed)[0]


def test_the_nearest_of_several_numbers_is_named():
    X = np.array([[1.0], [2.0], [5.0], [9.0]])
    tree = jaxtree.DecisionTreeClassifier().fit(X, ["a", "a", "b", "c"])
    assert explain_row(tree, [6.5]).contrast == ("x0", 9.0, "c")
    assert explain_row(tree, [3.9]).contrast == ("x0", 3.5, "a")
    assert str(explain_row(tree, [3.9])).splitlines()[1] == "because 3.5 < x0 <= 7"


def test_numbers_have_a_path_and_no_contrast():
    estimator = example("regression")
    explained = explain_row(estimator, edge_rows(estimator, 1, known=True))
    assert explained.contrast is None and explained.share is None and explained.conditions


def test_a_missing_value_that_is_shared_out_is_named():
    estimator = example("c45_words")
    explained = explain_row(estimator, [None, "mild", "high", "TRUE"])
    assert explained.rows_to_share == "outlook" and "outlook is missing" in str(explained)
