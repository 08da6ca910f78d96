"""Drawings of effects: what is drawn is what the forest says of the rows of its fit."""

import numpy as np
import pytest

import jaxtree
from jaxtree import plot
from jaxtree.arrays import spread
from jaxtree.errors import InvalidInputError, InvalidTypeError
from tests.examples import effects, example, rows_of


@pytest.fixture(scope="module")
def forest():
    return effects("causal")[0]


def test_effects_stand_in_order_with_their_bands(forest):
    ax = plot.plot_effects(forest)
    order = np.argsort(forest.oob_prediction_, kind="stable")[spread(240, 200)]
    effect, width = forest.oob_prediction_[order], 1.959964 * forest.oob_std_[order]
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), effect)
    ends = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert ends.min() == pytest.approx((effect - width).min()) and ends.max() == pytest.approx((effect + width).max())
    assert ax.get_ylabel() == "effect of drug beside placebo"


def test_groups_have_predicted_and_shown_effects(forest):
    ax = plot.plot_effect_groups(forest, num_groups=3)
    predicted, shown = ax.lines[1].get_ydata(), ax.lines[2].get_ydata()
    assert len(predicted) == len(shown) == 3 and (np.diff(predicted) > 0).all()
    scores, rank = forest.doubly_robust_scores(), np.argsort(np.argsort(forest.oob_prediction_, kind="stable"))
    np.testing.assert_allclose(shown[0], scores[rank < 80].mean())
    with pytest.raises(InvalidInputError, match="num_groups must be at least 1"):
        plot.plot_effect_groups(forest, num_groups=0)


def test_overlap_counts_the_rows_of_both_arms(forest):
    ax = plot.plot_overlap(forest)
    arms = forest.training_.treatment[0]
    assert [own.get_data().values.sum() for own in ax.patches[::2]] == [arms.sum(), (1 - arms).sum()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["drug", "placebo"]
    with pytest.raises(InvalidInputError, match="these are numbers"):
        plot.plot_overlap(effects("dose")[0])
    instrument = plot.plot_overlap(effects("instrumental")[0])
    assert instrument.get_xlabel() == "chance of instrument"


def test_an_arm_is_chosen_by_its_name():
    forest = effects("arms")[0]
    ax = plot.plot_effects(forest, treatment="small")
    place = forest.names_of_predictions().index("small")
    assert ax.lines[-1].get_ydata()[-1] == pytest.approx(forest.oob_prediction_[:, place].max())
    with pytest.raises(InvalidInputError, match="treatment must be one of great, small, got 'none'"):
        plot.plot_effects(forest, treatment="none")


def test_a_targeting_curve_has_its_bands(forest):
    found = forest.rank_average_treatment_effect(effects("causal")[1]["number"].fillna(0).to_numpy())
    ax = plot.plot_targeting_curve(found)
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), found.curve[0])
    with pytest.raises(InvalidTypeError, match="must be a RankAverageEffect, got float"):
        plot.plot_targeting_curve(1.0)


def test_other_models_and_targets_are_refused(forest):
    with pytest.raises(InvalidTypeError, match="a forest of treatment effects, such as CausalForest, got DecisionTree"):
        plot.plot_effects(example("regression"))
    with pytest.raises(InvalidTypeError, match="nobody observes, and no targets: plot_effects draws them"):
        plot.plot_intervals(forest, rows_of("regression"), np.zeros(60))
    with pytest.raises(InvalidInputError, match=r"must be a single tree, got a forest$"):
        plot.plot_dropout(forest, *effects("causal")[1:])
    assert jaxtree.plot.plot_importances(forest).get_xlabel().startswith("share of the differences between branches")
