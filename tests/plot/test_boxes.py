"""No label of a plot covers another, leaves the figure or lies under a node, whatever words and numbers it is of."""

import json

import numpy as np
import pytest
from matplotlib import pyplot

from jaxtree.plot import plot_tree
from tests.plot.boxes import NARROW, STORED, STORED_TABLES, TABLES, faults_of, fitted, measured, plots_of


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    pyplot.close("all")


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
    for kind in set(plots_of(name)) - (WITH_LEGENDS if name in ("long_words", "two_classes") else set()):
        figure, ax = pyplot.subplots(figsize=NARROW, layout="constrained")
        plots_of(name)[kind](ax)
        faults[kind] = faults_of(figure)
        pyplot.close(figure)
    assert not {kind: found for kind, found in faults.items() if found}


def test_the_check_sees_faults():
    """A label is moved onto another, and one out of the figure."""
    ax = plot_tree(fitted("two_classes")[0])
    assert not faults_of(ax.figure)
    first, second, third = ax.texts[1], ax.texts[2], ax.texts[3]
    first.set_position(second.get_position())
    third.set_x(-1000)
    faults = faults_of(ax.figure)
    assert any("on one another" in fault for fault in faults) and any("outside" in fault for fault in faults)


@pytest.mark.slow
def test_boxes_are_where_they_were():
    """`python -m tests.plot.boxes` writes the file anew where a change is intended."""
    stored, found = json.loads(STORED.read_text(encoding="utf-8")), measured()
    assert list(stored) == list(found) and len(STORED_TABLES) == 2
    for name, own in found.items():
        assert [box[0] for box in own] == [box[0] for box in stored[name]], name
        np.testing.assert_allclose([box[1:] for box in own], [box[1:] for box in stored[name]], atol=6, err_msg=name)
