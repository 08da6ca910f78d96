"""ROC and calibration of several classes at once: the numbers of scikit-learn, class by class."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score, roc_curve

from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.plot import plot_calibration, plot_roc
from tests.examples import example, mixed_classes, mixed_table

TABLE = mixed_table()
CLASS = mixed_classes(TABLE)
WEIGHT = np.arange(len(TABLE)) % 3


def test_curves_are_those_of_scikit_learn():
    forest = example("forest")
    shares = forest.predict_proba(TABLE)
    ax = plot_roc(forest, TABLE, CLASS, sample_weight=WEIGHT)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    for place, name in enumerate(forest.classes_):
        wrong, right, _ = roc_curve(name == CLASS, shares[:, place], sample_weight=WEIGHT)
        np.testing.assert_allclose(ax.lines[1 + place].get_data(), [wrong, right])
        area = roc_auc_score(name == CLASS, shares[:, place], sample_weight=WEIGHT)
        assert words[place] == f"{name}, area {area:.3f}"


@pytest.mark.slow
def test_two_classes_have_one_curve():
    model = example("boosted")
    ax = plot_roc(model, TABLE, CLASS == "low")
    assert len(ax.lines) == 2 and ax.get_xlabel() == "share of others taken for True"
    other = plot_roc(model, TABLE, CLASS == "low", of_class=False)
    np.testing.assert_allclose(np.sort(other.lines[1].get_xdata()), np.sort(1 - ax.lines[1].get_ydata()))


def test_classes_that_are_not_among_the_rows_are_left_out():
    rows = CLASS != "middle"
    assert len(plot_roc(example("forest"), TABLE[rows], CLASS[rows]).lines) == 3
    with pytest.raises(InvalidInputError, match="y must have rows of high, low, middle and rows of other"):
        plot_roc(example("forest"), TABLE[:2], ["other", "other"])


def test_calibration_is_that_of_scikit_learn():
    forest = example("forest")
    ax = plot_calibration(forest, TABLE, CLASS, of_class="high", num_bins=4)
    share, mean = calibration_curve(CLASS == "high", forest.predict_proba(TABLE)[:, 0], n_bins=4, strategy="quantile")
    np.testing.assert_allclose(ax.lines[1].get_data(), [mean, share], atol=1e-12)
    ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    assert ((ends[:, 0] <= share) & (share <= ends[:, 1])).all() and ((ends >= -1e-12) & (ends <= 1 + 1e-12)).all()


def test_what_cannot_be_drawn_is_named():
    forest = example("forest")
    with pytest.raises(InvalidInputError, match="of_class must be one of high, low, middle, got 'none'"):
        plot_roc(forest, TABLE, CLASS, of_class="none")
    with pytest.raises(InvalidInputError, match="one value for each of 60 rows"):
        plot_calibration(forest, TABLE, CLASS[:3])
    with pytest.raises(InvalidInputError, match="Negative values"):
        plot_roc(forest, TABLE, CLASS, sample_weight=-np.ones(60))
    with pytest.raises(InvalidInputError, match="num_bins must be at least 1"):
        plot_calibration(forest, TABLE, CLASS, num_bins=0)
    with pytest.raises(InvalidTypeError, match="got LinearRegression"):
        plot_roc(LinearRegression(), TABLE, CLASS)
    with pytest.raises(InvalidInputError, match="one output of classes, and the estimator has 2"):
        plot_roc(example("cart_outputs"), TABLE, CLASS)


def test_targets_in_a_column_are_vectors():
    forest, y = example("forest"), CLASS[:, None]
    for draw in (plot_roc, plot_calibration):
        own, same = draw(forest, TABLE, y), draw(forest, TABLE, CLASS)
        for one, other in zip(own.lines, same.lines, strict=True):
            np.testing.assert_array_equal(one.get_data(), other.get_data())
