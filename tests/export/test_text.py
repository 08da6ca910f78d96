"""jaxtree's own text of a tree: weights that are not whole, groups of categories, missing values, several targets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from jaxtree import DecisionTreeClassifier, export_text
from jaxtree.errors import InvalidInputError
from tests.export.fitted import NOWHERE, fitted
from tests.reference.c45_oracle import Node

COLORS = pd.DataFrame(
    {
        "color": pd.Categorical(["green", "black", "white", "black", None]),
        "weight": [1.0, 2.0, 3.0, np.nan, 4.0],
        "ripe": pd.Categorical(["no", "yes", "yes", "no", "no"]),
    }
)
GOOD = pd.Series(pd.Categorical(["bad", "good", "good", "bad", "good"]))


def split(attribute, kind, **fields):
    """A root with two leaves."""
    children = [Node(np.array([2.0, 0.5]), 0), Node(np.array([0.0, 2.5]), 1)]
    return Node(np.array([2.0, 3.0]), 1, attribute, kind, children=children, **fields)


def text(root, missing_branch=NOWHERE, **options):
    return export_text(fitted(root, COLORS, GOOD, missing_branch=missing_branch), **options)


def test_weights_have_up_to_two_decimals():
    lines = text(split("weight", "threshold", threshold=2.5)).splitlines()
    assert lines == [
        "root: good (bad 2, good 3)",
        "|-- weight <= 2.5: bad (bad 2, good 0.5)",
        "|-- weight > 2.5: good (good 2.5)",
    ]


def test_a_subset_lists_its_categories_or_the_others_if_these_are_fewer():
    lines = text(split("color", "subset", categories=("black", "green"))).splitlines()
    assert lines[1:] == [
        "|-- color in {white}: good (good 2.5)",
        "|-- color not in {white}: bad (bad 2, good 0.5)",
    ]
    lines = text(split("color", "subset", categories=("green",))).splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["|-- color not in {green}", "|-- color in {green}"]


def test_a_category_beyond_the_first_word_of_bits():
    codes = [f"c{number:02}" for number in range(40)]
    X = pd.DataFrame({"letter": pd.Categorical(codes)})
    y = pd.Series(pd.Categorical(["bad", "good"] * 20))
    tree = fitted(split("letter", "subset", categories=("c01",)), X, y)
    bits = np.array([[1 << 1, 1 << 7], [0, 0], [0, 0]], np.uint32)
    tree.tree_ = dataclasses.replace(tree.tree_, subset=bits)
    assert "letter in {c01, c39}" in export_text(tree)


@pytest.mark.parametrize(
    ("branch", "marked"), [(0, "color not in {green} or missing"), (1, "color in {green} or missing")]
)
def test_the_branch_of_missing_values_is_marked(branch, marked):
    lines = text(split("color", "subset", categories=("green",)), branch).splitlines()
    assert [marked in line for line in lines] == [False, branch == 0, branch == 1]


def test_nothing_is_marked_where_nothing_was_missing_or_missing_values_are_shared_out():
    assert "missing" not in text(split("ripe", "one_vs_rest", categories=("yes",)), 1)
    assert "missing" not in text(split("color", "one_vs_rest", categories=("green",)), NOWHERE)
    assert "color = green or missing" in text(split("color", "one_vs_rest", categories=("green",)), 1)


def test_known_against_missing_is_not_said_twice():
    words = text(split("weight", "threshold", threshold=np.inf), 1)
    assert "weight is known:" in words
    assert "weight is missing:" in words


def test_numbers_as_targets_have_a_mean_and_a_weight():
    tree = fitted(split("weight", "threshold", threshold=2.5), COLORS, GOOD)
    sums = np.array([[12.5, 5.0], [5.0, 0.0], [7.5, 5.0]])
    tree.tree_ = dataclasses.replace(tree.tree_, count=np.zeros((3, 0)), target_sum=sums, num_classes=())
    assert export_text(tree).splitlines() == [
        "root: 2.5, 1 (weight 5)",
        "|-- weight <= 2.5: 2, 0 (weight 2.5)",
        "|-- weight > 2.5: 3, 2 (weight 2.5)",
    ]
    with pytest.raises(InvalidInputError, match="style 'weka' is for classes of one output, the tree has numbers"):
        export_text(tree, style="weka")


def test_several_outputs_have_a_class_each():
    tree = fitted(split("weight", "threshold", threshold=2.5), COLORS, GOOD)
    count = np.array([[2.0, 3.0, 1.0, 4.0, 0.0], [2.0, 0.5, 0.0, 2.5, 0.0], [0.0, 2.5, 1.0, 1.5, 0.0]])
    tree.tree_ = dataclasses.replace(tree.tree_, count=count, num_classes=(2, 3))
    tree.classes_, tree.class_order_ = [np.array(["bad", "good"]), np.array([1, 2, 3])], [np.arange(2), np.arange(3)]
    assert export_text(tree).splitlines() == [
        "root: good, 2 (bad 2, good 3; 1 1, 2 4)",
        "|-- weight <= 2.5: bad, 2 (bad 2, good 0.5; 2 2.5)",
        "|-- weight > 2.5: good, 2 (good 2.5; 1 1, 2 1.5)",
    ]
    with pytest.raises(InvalidInputError, match="the tree has 2 outputs"):
        export_text(tree, style="c45")


def test_other_names_of_the_columns():
    words = text(split("weight", "threshold", threshold=2.5), feature_names=["colour", "mass", "is_ripe"], style="weka")
    assert words.startswith("mass <= 2.5: bad (2.5/0.5)")


def test_weights_that_are_integers():
    tree = fitted(Node(np.array([2, 3]), 1), COLORS, GOOD)
    assert export_text(tree) == "root: good (bad 2, good 3)"


def test_no_name_or_word_breaks_a_line():
    X = pd.DataFrame({"a\nb": ["x\n|-- forged: yes (yes 3)", "y\u2028z"] * 3})
    lines = export_text(DecisionTreeClassifier().fit(X, ["p\r", "q"] * 3)).splitlines()
    assert len(lines) == 3 and lines[2] == r"|-- a\nb in {y\u2028z}: q (q 3)"
