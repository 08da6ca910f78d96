"""ID3 and CART as estimators: textbook trees, the paper's table, scikit-learn's conventions and bad input."""

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import jaxtree
from jaxtree import C45Classifier, DecisionTreeClassifier, ID3Classifier, export_text
from jaxtree.errors import InvalidInputError, InvalidTypeError, JaxtreeError
from jaxtree.estimators.trees.base import BaseTreeClassifier


@pytest.fixture(scope="module")
def cars():
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, binary=True)
    return X[:1296], X[1296:], y[:1296], y[1296:]


def root_gains(table):
    """Gain of every column at the root, from trees of one split on one column each."""
    return [ID3Classifier(max_depth=1).fit(column[:, None], table.target).tree_.gain[0] for column in table.data.T]


# The paper


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("encoding", ["native", "onehot"])
def test_table_2_of_the_dropout_paper(cars, criterion, encoding):
    """Zhu and Zhou (2023), table 2: test accuracies by depth; without a limit the lowest column decides a tie."""
    right = {3: 390, 4: 354, 5: 372, 6: 372, 7: 372, None: 366}
    for max_depth, expected in right.items():
        limits = dict(criterion=criterion, max_depth=max_depth, min_samples_split=20)
        tree = DecisionTreeClassifier(categorical_splits="one_vs_rest", ties="first", **limits)
        if encoding == "onehot":
            tree = make_pipeline(OneHotEncoder(sparse_output=False, handle_unknown="ignore"), tree)
        assert round(tree.fit(cars[0], cars[2]).score(cars[1], cars[3]) * 432) == expected


def test_unpruned_one_hot_id3(cars):
    """83 nodes, depth 12, training accuracy 1, test accuracy 372 of 432 (the paper's data, lowest column in a tie)."""
    tree = ID3Classifier(encoding="onehot").fit(cars[0], cars[2])
    assert (tree.tree_.node_count, tree.get_depth()) == (83, 12)
    assert tree.score(cars[0], cars[2]) == 1
    assert round(tree.score(cars[1], cars[3]) * 432) == 372


@pytest.mark.parametrize(("binary", "expected"), [(False, (408, 296, 6)), (True, (248, 182, 6))])
def test_multiway_id3_on_all_cars(binary, expected):
    """Sizes computed by an independent program; the root is safety."""
    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, as_frame=True, binary=binary)
    tree = ID3Classifier().fit(X, y)
    assert (tree.tree_.node_count, tree.get_n_leaves(), tree.get_depth()) == expected
    assert tree.schema_.column_names[tree.tree_.feature[0]] == "safety"
    assert tree.score(X, y) == 1


def test_root_gains_of_the_cars():
    """Computed by an independent program, for four classes."""
    table = jaxtree.datasets.load_car_evaluation()
    np.testing.assert_allclose(root_gains(table), [0.0964, 0.0737, 0.0045, 0.2197, 0.0300, 0.2622], atol=5e-5)


# Textbooks


def test_play_tennis():
    """Quinlan (1986): entropy 0.940286, gains, and the tree of eight nodes."""
    table = jaxtree.datasets.load_play_tennis()
    np.testing.assert_allclose(root_gains(table), [0.246750, 0.029223, 0.151836, 0.048127], atol=5e-7)
    tree = ID3Classifier().fit(table.data, table.target)
    assert tree.tree_.impurity[0] == pytest.approx(0.940286, abs=5e-7)
    assert tree.tree_.node_count == 8
    assert [table.feature_names[f] for f in tree.tree_.feature[~tree.tree_.is_leaf]] == ["outlook", "windy", "humidity"]


def test_contact_lenses():
    """Cendrowska (1987): entropy 1.326088, nine leaves, 24 of 24 right."""
    table = jaxtree.datasets.load_contact_lenses()
    np.testing.assert_allclose(root_gains(table), [0.039397, 0.039511, 0.377005, 0.548795], atol=5e-7)
    tree = ID3Classifier().fit(table.data, table.target)
    assert tree.tree_.impurity[0] == pytest.approx(1.326088, abs=5e-7)
    assert (tree.get_n_leaves(), tree.score(table.data, table.target)) == (9, 1)


def test_watermelon_2():
    """Z.-H. Zhou, *Machine Learning*, table 4.1 and figure 4.4: gains and the tree."""
    table = jaxtree.datasets.load_watermelon(version="2.0")
    np.testing.assert_allclose(root_gains(table), [0.108, 0.143, 0.141, 0.381, 0.289, 0.006], atol=6e-4)
    tree = ID3Classifier().fit(table.data, table.target)
    assert tree.tree_.impurity[0] == pytest.approx(0.9975, abs=5e-5)
    assert export_text(tree, feature_names=table.feature_names).splitlines()[1:] == [
        "|-- texture = blurry: no (no 4, yes 1)",
        "|   |-- touch = smooth: no (no 4)",
        "|   |-- touch = soft: yes (yes 1)",
        "|-- texture = clear: yes (no 2, yes 7)",
        "|   |-- root = curled: yes (yes 5)",
        "|   |-- root = slightly: yes (no 1, yes 2)",
        "|   |   |-- color = black: no (no 1, yes 1)",
        "|   |   |   |-- touch = smooth: yes (yes 1)",
        "|   |   |   |-- touch = soft: no (no 1)",
        "|   |   |-- color = green: yes (yes 1)",
        "|   |   |-- color = white: yes (no rows)",
        "|   |-- root = stiff: no (no 1)",
        "|-- texture = fuzzy: no (no 3)",
    ]


def test_watermelon_3_thresholds():
    """The same book, section 4.4.1: density 0.3815 with gain 0.262, sugar 0.126 with gain 0.349."""
    table = jaxtree.datasets.load_watermelon(version="3.0")
    for column, threshold, gain in ((6, 0.3815, 0.262), (7, 0.126, 0.349)):
        tree = ID3Classifier(max_depth=1).fit(table.data[:, [column]].astype(float), table.target).tree_
        assert tree.threshold[0] == pytest.approx(threshold, abs=6e-4)
        assert tree.gain[0] == pytest.approx(gain, abs=6e-4)


def test_missing_categories_are_a_branch_and_numbers_take_the_upper_one():
    table = jaxtree.datasets.load_watermelon(version="2.0-alpha")
    tree = ID3Classifier().fit(table.data, table.target)
    assert "x3 is missing" in export_text(tree)
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    y = np.array([0, 0, 1, 1])
    tree = DecisionTreeClassifier().fit(X, y)
    assert tree.tree_.threshold[0] == np.inf
    np.testing.assert_array_equal(tree.predict([[-5.0], [1e300], [np.nan]]), [0, 0, 1])


# scikit-learn beside it


def test_limits_mean_what_they_mean_in_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    for limits in (
        dict(min_samples_split=0.2),
        dict(min_samples_leaf=0.05),
        dict(min_samples_leaf=20),
        dict(min_impurity_decrease=0.01),
        dict(criterion="entropy", min_samples_split=30, max_depth=4),
    ):
        ours = DecisionTreeClassifier(max_bins=None, **limits).fit(X, y)
        theirs = sklearn.tree.DecisionTreeClassifier(random_state=0, **limits).fit(X, y)
        assert ours.get_n_leaves() == theirs.get_n_leaves(), limits


def test_scikit_learn_s_names_and_tools():
    matplotlib.use("Agg")
    X, y = load_iris(return_X_y=True)
    X[:, 3] = 0  # petal width ties with petal length, and scikit-learn draws ties
    ours, theirs = (
        DecisionTreeClassifier(max_depth=2).fit(X, y),
        sklearn.tree.DecisionTreeClassifier(max_depth=2).fit(X, y),
    )
    a, b = ours.tree_, theirs.tree_
    assert (a.node_count, a.max_depth, a.n_leaves, a.n_outputs) == (b.node_count, b.max_depth, b.n_leaves, b.n_outputs)
    # Breadth first against depth first; with the left child of the root a leaf they agree.
    for name in ("children_left", "children_right", "n_node_samples", "weighted_n_node_samples"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_allclose(a.threshold, b.threshold, rtol=1e-7)  # theirs are midpoints of float32 values
    np.testing.assert_allclose(a.value, b.value)
    np.testing.assert_allclose(a.impurity, b.impurity)
    assert a.feature[1] == a.threshold[1] == -2
    assert "feature_2 <= 2.45" in sklearn.tree.export_text(ours)
    assert len(sklearn.tree.plot_tree(ours)) >= 5
    assert "digraph" in sklearn.tree.export_graphviz(ours)
    np.testing.assert_array_equal(ours.decision_path(X).toarray().sum(axis=1) - 1, a.depth[ours.apply(X)])
    np.testing.assert_allclose(ours.feature_importances_.sum(), 1)


@pytest.mark.parametrize("kind", ["subset", "one_vs_rest", "multiway"])
def test_trees_by_category_have_no_children_for_scikit_learn_s_tools(kind):
    """These compare values with `threshold`, which such a split has not."""
    matplotlib.use("Agg")
    table = jaxtree.datasets.load_play_tennis()
    tree = DecisionTreeClassifier(categorical_splits=kind).fit(table.data, table.target)
    for name in ("children_left", "children_right", "missing_go_to_left"):
        with pytest.raises(AttributeError, match="to_sklearn"):
            getattr(tree.tree_, name)
    for draw in (sklearn.tree.plot_tree, sklearn.tree.export_text, sklearn.tree.export_graphviz):
        with pytest.raises(AttributeError, match=r"jaxtree\.export_text and jaxtree\.plot\.plot_tree draw it"):
            draw(tree)
    stump = DecisionTreeClassifier(max_leaf_nodes=2, categorical_splits=kind).fit([[1.0], [2.0]], [0, 1]).tree_
    assert stump.children_left.tolist() == [1, -1, -1]


def test_missing_values_go_where_scikit_learn_s_name_says():
    X = np.array([[1.0], [2.0], [3.0], [np.nan]])
    for y, left in (([0, 1, 1, 0], 1), ([0, 1, 1, 1], 0)):
        tree = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
        assert tree.missing_go_to_left.tolist() == [left, 0, 0]
    with pytest.raises(AttributeError, match="shares it out"):
        _ = DecisionTreeClassifier(missing="fraction").fit(X, [0, 1, 1, 0]).tree_.missing_go_to_left


def test_pruning_changes_no_threshold():
    """Numbers with gaps between those of a node, where the threshold's code is not the code of a row."""
    X, y = load_breast_cancer(return_X_y=True)
    whole = DecisionTreeClassifier().fit(X, y).tree_
    pruned = DecisionTreeClassifier(pruning=jaxtree.Dropout(0.3), random_state=1).fit(X, y).tree_
    assert 1 < pruned.node_count < whole.node_count
    split = ~pruned.is_leaf
    kept = {(f, t) for f, t in zip(whole.feature, whole.threshold, strict=True)}
    assert {(f, t) for f, t in zip(pruned.feature[split], pruned.threshold[split], strict=True)} <= kept


# Programs


def test_the_user_s_configuration_is_left_alone():
    DecisionTreeClassifier().fit(*load_iris(return_X_y=True))
    assert not jax.config.jax_enable_x64
    assert jnp.ones(1).dtype == jnp.float32


# Bad input


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (dict(max_depth=-3), "max_depth.*-3"),
        (dict(max_depth=2.5), "max_depth.*2.5"),
        (dict(max_depth=True), "max_depth.*True"),
        (dict(min_samples_split=1), "min_samples_split.*1"),
        (dict(min_samples_leaf=0), "min_samples_leaf.*0"),
        (dict(min_impurity_decrease=-0.1), "min_impurity_decrease.*-0.1"),
        (dict(criterion="giny"), "criterion.*giny"),
        (dict(max_bins=1), "max_bins.*1"),
        (dict(pruning="dropout"), "pruning.*dropout"),
    ],
)
def test_bad_parameters_name_what_was_given(parameters, words):
    with pytest.raises(InvalidInputError, match=words):
        DecisionTreeClassifier(**parameters).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((0, 2)), []),
        (np.zeros((3, 0)), [0, 1, 0]),
        (np.zeros((2, 2, 2)), [0, 1]),
        (np.zeros(3), [0, 1, 0]),
        ([[1, 2], [3]], [0, 1]),
        (np.array([["a"], [1]], object), [0, 1]),
        (np.array([[1.0], [np.inf]]), [0, 1]),
        (np.zeros((3, 1)), [0, 1]),
        (np.zeros((3, 1)), [0.5, 1.25, 3.7]),
        (np.zeros((3, 1)), [0, np.nan, 1]),
        (np.zeros((3, 1)), None),
    ],
    ids=[
        "no rows",
        "no columns",
        "3-D",
        "1-D",
        "ragged",
        "mixed",
        "infinite",
        "lengths",
        "continuous y",
        "NaN y",
        "no y",
    ],
)
def test_bad_tables_and_targets(X, y):
    with pytest.raises((InvalidInputError, InvalidTypeError)) as caught:
        DecisionTreeClassifier().fit(X, y)
    assert isinstance(caught.value, JaxtreeError)


def test_base_is_not_an_estimator_by_itself():
    with pytest.raises(TypeError, match="abstract"):
        BaseTreeClassifier()


@pytest.mark.slow
def test_room_for_shared_rows_counts_nowhere():
    """Rows shared out need room behind the entries, which sorting by slot must not take for rows of the root.

    There is a sort only where a column has more values than a histogram has bins.
    """
    rng = np.random.default_rng(0)
    number, size = rng.normal(size=2100), rng.normal(size=2100)
    word = rng.choice(["ash", "birch", "cedar"], 2100)
    label = np.where(word == "ash", number > 0, size > 0)
    number[:40] = np.nan
    table = pd.DataFrame({"n": number, "s": size, "w": word})
    tree = C45Classifier(max_depth=3, confidence=None).fit(table, label).tree_
    assert tree.feature[0] != 0
    complete = np.flatnonzero((tree.feature == 1) | (tree.feature == 2))
    for node in complete[tree.num_rows[complete] > 0]:
        children = slice(tree.first_child[node], tree.first_child[node] + tree.num_children[node])
        assert tree.num_rows[children].sum() == tree.num_rows[node]
    assert tree.n_leaves > 6
