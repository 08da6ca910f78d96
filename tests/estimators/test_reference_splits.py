"""Splits and gains of Weka's SimpleCart, rpart and a textbook, which need no printed tree to compare whole."""

import numpy as np
import pytest

from jaxtree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from jaxtree.datasets import load_watermelon
from tests.reference.weka import printed_tree, read_arff


def parse(lines, depth=0):
    """A printed SimpleCart tree as (test, below, above), a leaf being None."""
    branches = []
    for _ in range(2):
        test, _, label = lines.pop(0)[3 * depth :].partition(":")
        branches.append((test, None if label else parse(lines, depth + 1)))
    return branches[0][0], branches[0][1], branches[1][1]


def assert_has_splits(fitted, printed, number=0):
    """The tree has every printed split in its place; it may go on where the printed one stops."""
    if printed is None:
        return
    tree, (test, first, second) = fitted.tree_, printed
    name, value = test.split(" < ") if " < " in test else test.rstrip(")").split("=(")
    assert fitted.schema_.column_names[tree.feature[number]] == name
    if " < " in test:
        assert tree.threshold[number] == pytest.approx(float(value))
        order = [0, 1]
    else:
        categories = fitted.schema_.columns[tree.feature[number]].categories
        side = [(int(tree.subset[number, 0]) >> code) & 1 for code in range(len(categories))]
        inside = {side[code] for code, category in enumerate(categories) if category in value.split(",")}
        outside = {side[code] for code, category in enumerate(categories) if category not in value.split(",")}
        assert len(inside) == len(outside) == 1 and inside != outside
        order = [inside.pop(), outside.pop()]
    for branch, below in zip(order, (first, second), strict=True):
        assert_has_splits(fitted, below, int(tree.first_child[number]) + branch)


def test_simple_cart_on_iris():
    """Weka 3.9, SimpleCart -U: thresholds are midpoints; it stops where its best split leaves too few rows."""
    from sklearn.datasets import load_iris

    table = load_iris(as_frame=True)
    X, y = table.data.set_axis(["sepallength", "sepalwidth", "petallength", "petalwidth"], axis=1), table.target
    low = ("petallength < 4.95", None, ("petalwidth < 1.55", None, None))
    printed = ("petallength < 2.45", None, ("petalwidth < 1.75", low, ("petallength < 4.85", None, None)))
    assert_has_splits(DecisionTreeClassifier(min_samples_leaf=2, ties="first").fit(X, y), printed)


@pytest.mark.parametrize("name", ["iris", "contact-lenses"])
def test_simple_cart_as_it_was_printed(real_data, logs, name):
    path = logs / "j48" / f"{name}__SimpleCart_noprune.txt"
    lines = [line for line in printed_tree(path).splitlines() if line and not line.startswith("CART")]
    X, y = read_arff(real_data / name / f"{name}.arff")
    printed = parse(lines)
    assert_has_splits(DecisionTreeClassifier(min_samples_leaf=2, ties="first").fit(X, y), printed)
    assert not lines


def test_the_smallest_test_of_rpart():
    """Deviances 82.5; 10, 10; 2, .5, .5, 2; all weights doubled, all doubled, and the same tree."""
    x = np.array([[10, 9, 8, 7, 6, 5, 4, 1, 2, 3], [1, 3, 5, 7, 9, 2, 4, 6, 8, 0]], float).T
    y = np.arange(1.0, 11)
    trees = [
        DecisionTreeRegressor(min_samples_split=4).fit(x, y, sample_weight=weight).tree_
        for weight in (None, np.full(10, 2.0), np.full(10, 0.1))
    ]
    for tree, factor in zip(trees, (1, 2, 0.1), strict=True):
        deviance = tree.impurity * tree.weight / factor
        np.testing.assert_allclose(deviance[0], 82.5)
        np.testing.assert_allclose(deviance[1:3], [10, 10])
        np.testing.assert_allclose(np.sort(deviance[3:]), [0.5, 0.5, 2, 2])
        np.testing.assert_array_equal(tree.feature, trees[0].feature)
        np.testing.assert_array_equal(tree.threshold, trees[0].threshold)
        np.testing.assert_array_equal(tree.num_rows, trees[0].num_rows)


def test_watermelon_with_missing_values():
    """Z.-H. Zhou, *Machine Learning*, section 4.4.2: the share of known rows times the gain over them."""
    table = load_watermelon(version="2.0-alpha")
    gains = [
        ID3Classifier(max_depth=1, missing="fraction").fit(column[:, None], table.target).tree_.gain[0]
        for column in table.data.T
    ]
    np.testing.assert_allclose(gains, [0.252, 0.171, 0.145, 0.424, 0.289, 0.006], atol=6e-4)
    tree = ID3Classifier(missing="fraction").fit(table.data, table.target).tree_
    assert table.feature_names[tree.feature[0]] == "texture"
    # The rows whose texture is missing, 8 and 10, go into all branches: 7 + 9/15, 5 + 4/15 ... of 15 known.
    children = tree.first_child[0] + np.arange(tree.num_children[0])
    np.testing.assert_allclose(np.sort(tree.weight[children]), np.sort([k + 2 * k / 15 for k in (7, 5, 3)]))
