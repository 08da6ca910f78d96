"""The card of the data: the facts and warnings of `describe`, as one table of a page."""

import warnings

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree.description import describe
from jaxtree.page.described import MOST_CLASSES, MOST_COLUMNS, card_of
from tests.page.pages import HOSTILE, elements_of, table

X, Y = table()


def lines_of(page):
    """The card's lines of text; none of a page without one."""
    _, found, rest = page.partition('<section class="card rows-card data-card"')
    return rest.partition("</section>")[0] if found else ""


def test_the_card_has_a_line_a_column_with_bars():
    card = card_of(describe(X, Y))
    assert [cells[0].words for cells in card.columns] == ["tall", "wide", "hue"]
    missing = 100 * X["wide"].isna().mean()
    assert card.columns[1][2].percent == pytest.approx(missing, abs=0.05) and not card.columns[0][2].percent
    assert {name: round(cell.percent * 3) for name, cell in card.classes} == pd.Series(Y).value_counts().to_dict()
    assert sum(cell.percent for _, cell in card.classes) == pytest.approx(100)
    assert card_of(describe(X, np.arange(300.0))).target.startswith("numbers from 0 to 299")


def test_many_classes_are_words_and_many_columns_are_left_out():
    many = card_of(
        describe(np.zeros((300, MOST_COLUMNS + 5)), np.arange(300) % (MOST_CLASSES + 1), task="classification")
    )
    assert not many.classes and many.target.startswith("13 classes: ")
    assert len(many.columns) == MOST_COLUMNS and many.left_out == 5


@pytest.mark.parametrize(
    "estimator",
    [
        jaxtree.DecisionTreeClassifier(max_depth=2),
        jaxtree.RandomForestClassifier(3, random_state=0),
        jaxtree.GradientBoostingClassifier(2),
        jaxtree.ExplainableBoostingClassifier(max_rounds=2, outer_bags=1),
    ],
    ids=lambda own: type(own).__name__,
)
def test_every_page_with_rows_has_the_card(estimator):
    page = jaxtree.to_html(estimator.fit(X, Y), X, Y)
    card = lines_of(page)
    assert ">Balance of the target<" in card and '<th scope="row">wide</th>' in card
    assert 'href="#data"' not in page
    assert lines_of(jaxtree.to_html(estimator)) == ""


def test_warnings_stand_in_the_card_and_are_named_above():
    strange = X.assign(**{HOSTILE: [f"r{row}" for row in range(300)]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = jaxtree.DecisionTreeClassifier(max_depth=2).fit(strange, Y)
        page = jaxtree.to_html(model, strange[:200], Y[:200], X_val=strange[180:], y_val=Y[180:])
    assert '<a href="#data">Warnings about the data: 2</a>' in page
    card = lines_of(page)
    assert "has a different word in every row" in card and "20 of 120 validation rows (16.7%)" in card
    assert "broken" not in elements_of(page).texts


def test_weights_and_events_of_rows_are_those_of_the_description():
    time, event = np.round(np.abs(X["tall"].to_numpy()) + 0.1, 2), np.arange(300) % 2 == 0
    model = jaxtree.GradientBoostingRegressor(2, loss="cox").fit(X, time, event=event)
    card = lines_of(jaxtree.to_html(model, X, time, event=event, sample_weight=np.arange(300) % 3))
    assert "3 columns, 200 rows" in card and "events 50.0%" in card


def test_a_table_in_parts_has_the_card(tmp_path):
    frame = pd.concat([X.astype({"hue": object}), pd.Series(Y, name="level")], axis=1)
    frame.to_parquet(tmp_path / "t.parquet")
    path = str(tmp_path / "t.parquet")
    model = jaxtree.DecisionTreeClassifier(max_depth=2).fit(path, "level")
    with_target, alone = (lines_of(jaxtree.to_html(model, path, y)) for y in ("level", None))
    assert "3 columns, 300 rows" in with_target and "3 columns, 300 rows" in alone
    assert ">Balance of the target<" in with_target and ">Balance of the target<" not in alone
