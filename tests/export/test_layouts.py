"""Trees of the slow oracle, written in the layouts of other programs: what those programs printed, letter for letter.

So one comparison tests both, oracle and layout. The logs stand beside a checkout, as the data do; a few trees stand
here.
"""

import numpy as np
import pandas as pd
import pytest

from jaxtree import export_text
from jaxtree.datasets import load_contact_lenses, load_play_tennis
from jaxtree.errors import InvalidInputError
from tests.examples import example
from tests.export.fitted import fitted
from tests.reference.c45_oracle import Node, grow_c45, grow_id3, grow_simple_cart
from tests.reference.weka import declared, printed_sizes, printed_text, read_r8, read_weka

WEKA_DATA = ["weather.nominal", "weather.numeric", "contact-lenses", "iris", "labor"]
J48 = {"J48_unpruned": {}, "J48_unpruned_nocollapse": {"collapse": False}}
UNTOUCHED_BY_PRUNING = [
    ("weather.numeric", "J48_binary", {"binary_splits": True}),
    ("labor", "J48_binary", {"binary_splits": True}),
    ("iris", "J48_noMDL", {"mdl_correction": False}),
    ("iris", "J48_M5", {"min_samples_leaf": 5}),
]
RELEASE_8 = {"default": {}, "gain": {"gain": "information"}, "m5": {"min_samples_leaf": 5}}


@pytest.mark.parametrize("config", J48)
@pytest.mark.parametrize("name", WEKA_DATA)
def test_j48_before_pruning(real_data, logs, name, config):
    X, y = read_weka(real_data, name)
    tree, path = grow_c45(X, y, **J48[config]), logs / "j48" / f"{name}__{config}.txt"
    assert export_text(fitted(tree, X, y), style="weka") == printed_text(path)
    assert (len(tree.leaves()), tree.size()) == printed_sizes(path)


@pytest.mark.parametrize(("name", "config", "options"), UNTOUCHED_BY_PRUNING)
def test_j48_with_options_where_pruning_changes_nothing(real_data, logs, name, config, options):
    X, y = read_weka(real_data, name)
    text = export_text(fitted(grow_c45(X, y, **options), X, y, **options), style="weka")
    assert text == printed_text(logs / "j48" / f"{name}__{config}.txt")


@pytest.mark.parametrize("name", WEKA_DATA)
def test_simple_cart_before_pruning(real_data, logs, name):
    X, y = read_weka(real_data, name)
    text = export_text(fitted(grow_simple_cart(X, y), X, y), style="simplecart")
    assert text == printed_text(logs / "j48" / f"{name}__SimpleCart_noprune.txt")


@pytest.mark.parametrize("config", RELEASE_8)
@pytest.mark.parametrize("name", ["golf", "monk1", "monk2", "monk3"])
def test_c45_release_8_before_pruning(real_data, logs, name, config):
    X, y = read_r8(real_data, name)
    tree = grow_c45(X, y, release_8=True, **RELEASE_8[config])
    assert export_text(fitted(tree, X, y), style="c45") == printed_text(logs / "c45_r8" / f"{name}__{config}.txt")


def test_contact_lenses_in_the_layouts_of_weka():
    X, y = declared(load_contact_lenses)
    assert export_text(fitted(grow_c45(X, y, binary_splits=True), X, y), style="weka").splitlines()[:6] == [
        "tears = reduced: none (12.0)",
        "tears != reduced",
        "|   astigmatism = no: soft (6.0/1.0)",
        "|   astigmatism != no",
        "|   |   prescription = myope: hard (3.0)",
        "|   |   prescription != myope: none (3.0/1.0)",
    ]
    assert export_text(fitted(grow_id3(X, y), X, y), style="id3").splitlines()[:3] == [
        "tears = reduced: none",
        "tears = normal",
        "|  astigmatism = no",
    ]
    assert export_text(fitted(grow_simple_cart(X, y), X, y), style="simplecart").splitlines() == [
        "tears=(normal)",
        "|  astigmatism=(yes)",
        "|  |  prescription=(hypermetrope): none(2.0/1.0)",
        "|  |  prescription!=(hypermetrope): hard(3.0/0.0)",
        "|  astigmatism!=(yes)",
        "|  |  age=(presbyopic): none(1.0/1.0)",
        "|  |  age!=(presbyopic): soft(4.0/0.0)",
        "tears!=(normal): none(12.0/0.0)",
        "",
        "Number of Leaf Nodes: 5",
        "",
        "Size of the Tree: 9",
    ]


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("weka", ": yes (9.34/4.0)\n\nNumber of Leaves  : \t1\n\nSize of the tree : \t1"),
        ("c45", " yes (9.3/4.0)"),
        ("id3", ": yes"),
        ("simplecart", ": yes(5.33/4.0)\n\nNumber of Leaf Nodes: 1\n\nSize of the Tree: 1"),
    ],
)
def test_a_tree_of_one_leaf(style, text):
    X, y = declared(load_play_tennis)
    leaf = Node(np.array([4.0, 5.336]), 1)
    assert list(y.cat.categories) == ["no", "yes"]
    assert export_text(fitted(leaf, X, y), style=style) == text


def test_the_first_declared_class_wins_a_tie_and_an_empty_leaf_has_its_parents():
    X, y = declared(load_play_tennis)
    y = y.cat.reorder_categories(["yes", "no"])
    children = [Node(np.array([2.0, 2.0]), 0), Node(np.array([0.0, 0.0]), 1), Node(np.array([1.0, 3.0]), 1)]
    root = Node(
        np.array([3.0, 5.0]), 1, "outlook", "multiway", categories=("sunny", "overcast", "rainy"), children=children
    )
    assert export_text(fitted(root, X, y), style="weka").splitlines()[:3] == [
        "outlook = sunny: yes (4.0/2.0)",
        "outlook = overcast: no (0.0)",
        "outlook = rainy: no (4.0/1.0)",
    ]
    assert "outlook = overcast: null" in export_text(fitted(root, X, y), style="id3")


def test_c45_names_the_categories_of_both_sides_of_a_group():
    X, y = declared(load_play_tennis)
    children = [Node(np.array([4.0, 0.0]), 0), Node(np.array([0.0, 4.0]), 1)]
    root = Node(np.array([4.0, 4.0]), 0, "outlook", "subset", categories=("sunny", "rainy"), children=children)
    lines = ["outlook in {sunny,rainy}: no (4.0)", "outlook = overcast: yes (4.0)"]
    assert export_text(fitted(root, X, y), style="c45").splitlines() == lines


def test_c45_names_the_categories_of_both_sides_of_a_one_hot_split():
    lines = export_text(example("id3_onehot"), style="c45").splitlines()
    assert "|   color in {blue,green,grey}: low (17.0)" in lines and "|   color = red:" in lines


def test_a_style_that_does_not_exist_is_refused():
    X, y = declared(load_play_tennis)
    leaf = fitted(Node(np.array([5.0, 9.0]), 1), X, y)
    with pytest.raises(InvalidInputError, match=r"style must be one of 'jaxtree', 'weka'.*got 'latex'"):
        export_text(leaf, style="latex")


# Differences of Release 8 from J48


def test_release_8_splits_on_no_gain_and_solves_exclusive_or():
    corners = [(a, b) for a in "01" for b in "01"] * 4
    X = pd.DataFrame(
        {name: pd.Categorical(values) for name, values in zip("ab", zip(*corners, strict=True), strict=True)}
    )
    y = pd.Series(pd.Categorical([str(int(a != b)) for a, b in corners]))
    assert grow_c45(X, y).size() == 1
    assert grow_c45(X, y, release_8=True).size() == 7
