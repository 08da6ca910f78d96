"""No label of a plot covers another, leaves the figure or lies under a node, whatever words and numbers it is of."""

import pytest
from matplotlib import pyplot

from jaxtree.plot import plot_tree
from tests.plot.boxes import NARROW, TABLES, faults_of, fitted, plots_of

FAST = {"signs"}


@pytest.mark.parametrize("name", [own if own in FAST else pytest.param(own, marks=pytest.mark.slow) for own in TABLES])
def test_labels_stand_clear(name):
    faults = {}
    for kind, draw in plots_of(name).items():
        figure = draw(None).figure
        faults[kind] = faults_of(figure)
        pyplot.close(figure)
    assert not {kind: found for kind, found in faults.items() if found}


WITH_LEGENDS = {"roc", "dependence", "shap_bar"}
"""Drawings whose legends of many long names need a figure of their own."""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TABLES))
def test_labels_in_narrow_axes_stand_clear(name):
    faults = {}
    for kind in set(plots_of(name)) - (WITH_LEGENDS if name == "long_words" else set()):
        figure, ax = pyplot.subplots(figsize=NARROW, layout="constrained")
        plots_of(name)[kind](ax)
        faults[kind] = faults_of(figure)
        pyplot.close(figure)
    assert not {kind: found for kind, found in faults.items() if found}


def test_the_check_sees_faults():
    """A label is moved onto another, and one out of the figure."""
    ax = plot_tree(fitted("long_words")[0])
    assert not faults_of(ax.figure)
    first, second, third = ax.texts[1], ax.texts[2], ax.texts[3]
    first.set_position(second.get_position())
    third.set_x(-1000)
    faults = faults_of(ax.figure)
    assert any("on one another" in fault for fault in faults) and any("outside" in fault for fault in faults)
