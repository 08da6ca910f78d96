"""Rows that fitted trees and forests take and give back: sums are exact, so that no order and no detour shows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import jaxtree
from jaxtree.errors import InvalidInputError, ModelFileError, UnseenWordsWarning
from jaxtree.tree.nodes import ancestors

RNG = np.random.default_rng(7)
ROWS = 240
X = np.round(RNG.normal(size=(ROWS, 3)), 2)
X[RNG.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
NUMBERS = SIGNAL + 0.5 * RNG.normal(size=ROWS) + 30
CLASSES = np.where(NUMBERS > 31.5, "high", np.where(NUMBERS < 30, "low", "middle"))
FRACTIONS = RNG.random(ROWS) + 0.01
FIRST, LAST = slice(0, 170), slice(170, None)
TWO_CLASSES = np.stack([CLASSES, np.where(SIGNAL > 1, "up", "down")], axis=1)

MODELS = {
    "tree": (jaxtree.DecisionTreeClassifier(), CLASSES, None),
    "pruned": (jaxtree.DecisionTreeClassifier(max_depth=6, pruning=jaxtree.CostComplexity(0.005)), CLASSES, None),
    "outputs": (jaxtree.DecisionTreeClassifier(max_depth=5), TWO_CLASSES, None),
    "whole weights": (jaxtree.DecisionTreeClassifier(max_depth=5), CLASSES, RNG.integers(1, 4, ROWS)),
    "factors": (jaxtree.DecisionTreeClassifier(max_depth=5, class_weight={"low": 3}), CLASSES, None),
    "forest": (jaxtree.RandomForestClassifier(5, bootstrap=False, random_state=0), CLASSES, None),
    "extra trees": (jaxtree.ExtraTreesClassifier(5, random_state=0), CLASSES, None),
}
"""Models whose nodes have the sums of all rows as soon as they are fitted."""

REFITTED = {
    "weights": (jaxtree.DecisionTreeClassifier(max_depth=5), CLASSES, FRACTIONS),
    "entropy": (jaxtree.DecisionTreeClassifier(criterion="entropy"), CLASSES, None),
    "monotone": (jaxtree.DecisionTreeRegressor(max_depth=5, monotonic_cst=[1, 0, 0]), NUMBERS, None),
    "reduced error": (jaxtree.DecisionTreeClassifier(pruning=jaxtree.ReducedError(), random_state=0), CLASSES, None),
    "bootstrap": (jaxtree.RandomForestClassifier(5, random_state=0), CLASSES, None),
    "honest": (jaxtree.ExtraTreesClassifier(5, honest=True, random_state=0), CLASSES, None),
    "numbers": (jaxtree.DecisionTreeRegressor(min_samples_leaf=3), NUMBERS, None),
    "weighted numbers": (jaxtree.DecisionTreeRegressor(min_samples_leaf=3), NUMBERS, FRACTIONS),
    "outputs of numbers": (jaxtree.DecisionTreeRegressor(max_depth=5), np.stack([NUMBERS, -SIGNAL], axis=1), None),
    "counts": (jaxtree.DecisionTreeRegressor(max_depth=5, criterion="poisson"), np.round(NUMBERS), None),
    "forest of numbers": (jaxtree.RandomForestRegressor(5, random_state=0), NUMBERS, None),
    "extra trees of numbers": (jaxtree.ExtraTreesRegressor(5, random_state=0), NUMBERS, FRACTIONS),
}
"""Models whose sums are kept from a refit on."""

ALL = MODELS | REFITTED


def rows(name, part):
    y, weight = ALL[name][1:]
    return X[part], y[part], None if weight is None else weight[part]


def fitted(name):
    model, y, weight = ALL[name]
    return clone(model).fit(X, y, weight)


def counted(name):
    """A model that takes rows: as it was fitted, or with its rows counted once more."""
    return fitted(name) if name in MODELS else fitted(name).refit(*rows(name, slice(None)))


def content(model, tmp_path):
    model.save(tmp_path / "model.jaxtree")
    return (tmp_path / "model.jaxtree").read_bytes()


def nodes_of(model):
    return model.model_.tree


@pytest.mark.parametrize("name", ALL)
def test_removing_what_was_added_leaves_the_file_as_it_was(name, tmp_path):
    model = counted(name)
    before, given = content(model, tmp_path), rows(name, LAST)
    assert model.add_rows(*given) is model
    assert content(model, tmp_path) != before
    assert content(model.remove_rows(*given), tmp_path) == before
    assert content(model.remove_rows(*given).add_rows(*given), tmp_path) == before


@pytest.mark.parametrize("name", ALL)
def test_a_model_without_rows_is_that_of_a_refit_on_the_others(name, tmp_path):
    """Without a trace of them: the file has the same bits."""
    removed = counted(name).remove_rows(*rows(name, LAST))
    assert content(removed, tmp_path) == content(fitted(name).refit(*rows(name, FIRST)), tmp_path)


@pytest.mark.parametrize("name", ALL)
def test_neither_order_nor_batches_matter(name, tmp_path):
    at_once = counted(name).add_rows(*rows(name, LAST))
    order, model = RNG.permutation(np.arange(ROWS)[LAST]), counted(name)
    for part in np.array_split(order, [3, 4, 30]):
        model.add_rows(*rows(name, part))
    assert content(model, tmp_path) == content(at_once, tmp_path)


@pytest.mark.parametrize("name", ["tree", "outputs", "whole weights", "entropy", "numbers", "forest of numbers"])
def test_nodes_have_the_sums_and_impurities_of_their_rows(name):
    """Against a loop over nodes; gains and splits stay."""
    model = counted(name).remove_rows(*rows(name, LAST)).add_rows(*rows(name, slice(200, 210)))
    there = np.r_[np.arange(ROWS)[FIRST], 200:210]
    X_there, y_there, weight = rows(name, there)
    weight = np.ones(len(there)) if weight is None else weight
    nodes, old = nodes_of(model), nodes_of(fitted(name))
    values = model.encoder_.values(X_there)
    through = ancestors(nodes)
    inside = np.zeros((nodes.node_count, len(there)), bool)
    for end in model.model_.predictor.ends_in_trees(values).T:
        inside |= through[end].toarray().T.astype(bool)
    for node, of_node in enumerate(inside):
        own, total = y_there[of_node].reshape(of_node.sum(), y_there.size // len(y_there)), weight[of_node].sum()
        assert nodes.num_rows[node] == of_node.sum()
        assert nodes.weight[node] == pytest.approx(total)
        if not nodes.num_classes:
            assert nodes.target_sum[node] == pytest.approx(weight[of_node] @ own)
            spread = ((own - own.mean(axis=0)) ** 2).mean() if len(own) else 0.0
            assert nodes.impurity[node] == pytest.approx(spread, abs=1e-9)
            continue
        impurities, counts = [], []
        for output, names in enumerate(model.class_names()):
            count = np.array([weight[of_node][own[:, output] == word].sum() for word in names])
            counts.extend(count)
            share = count / max(total, 1)
            positive = share[share > 0]
            gini = total > 0 and 1 - (share**2).sum()
            impurities.append(-(positive * np.log2(positive)).sum() if name == "entropy" else gini)
        assert nodes.count[node].tolist() == counts
        assert nodes.impurity[node] == pytest.approx(np.mean(impurities), abs=1e-12)
    for field in ("feature", "threshold", "gain", "first_child"):
        assert np.array_equal(getattr(nodes, field), getattr(old, field))


def test_every_tree_of_a_refitted_forest_has_all_rows():
    forest = fitted("bootstrap").refit(X[FIRST], CLASSES[FIRST])
    assert (forest.forest_.nodes.num_rows[forest.forest_.first_node[:-1]] == 170).all()
    assert forest.score(X, CLASSES) > 0.8


def test_a_refit_leaves_the_model_as_it_was_and_repeats_what_fit_counted(tmp_path):
    tree = fitted("tree")
    before = content(tree, tmp_path)
    again = tree.refit(X, CLASSES)
    assert again is not tree
    assert content(tree, tmp_path) == content(again, tmp_path) == before
    numbers = fitted("numbers")
    assert numbers.refit(X, NUMBERS).predict(X) == pytest.approx(numbers.predict(X), rel=1e-11)


def test_a_leaf_without_rows_predicts_as_the_nearest_node_above_that_has_some():
    tree = fitted("tree").refit(X[:3], CLASSES[:3])
    nodes = tree.tree_
    assert (nodes.num_rows[nodes.parent[nodes.num_rows == 0]] == 0).any()
    proba, labels = tree.predict_proba(X), tree.predict(X)
    for end, share, label in zip(tree.apply(X), proba, labels, strict=True):
        node = end
        while nodes.num_rows[node] == 0:
            node = nodes.parent[node]
        assert share.tolist() == (nodes.count[node] / nodes.weight[node]).tolist()
        assert label == tree.classes_[nodes.count[node].argmax()]
    numbers = fitted("forest of numbers").refit(X[:2], NUMBERS[:2])
    assert numbers.refit(X[:1], NUMBERS[:1]).predict(X) == pytest.approx(np.full(ROWS, NUMBERS[0]))
    assert ((numbers.predict(X) >= NUMBERS[:2].min() - 1e-9) & (numbers.predict(X) <= NUMBERS[:2].max() + 1e-9)).all()


@pytest.mark.parametrize("name", ["tree", "weights", "monotone", "forest of numbers"])
def test_a_file_and_a_pickle_take_rows_as_the_model_does(name, tmp_path):
    model = counted(name)
    model.save(tmp_path / "kept.jaxtree")
    copies = jaxtree.load(tmp_path / "kept.jaxtree"), pickle.loads(pickle.dumps(model))
    expected = content(model.add_rows(*rows(name, LAST)), tmp_path)
    for other in copies:
        assert content(other.add_rows(*rows(name, LAST)), tmp_path) == expected


def test_files_of_before_have_no_sums_of_rows(tmp_path):
    from jaxtree.files.container import ModelFile, read_model_file, write_model_file

    tree = fitted("numbers")
    tree.save(tmp_path / "tree.jaxtree")
    header, arrays = read_model_file(tmp_path / "tree.jaxtree")
    del header["fitted"]["row_sums"]
    write_model_file(tmp_path / "old.jaxtree", ModelFile(header, arrays))
    assert np.array_equal(jaxtree.load(tmp_path / "old.jaxtree").predict(X), tree.predict(X))


def test_a_damaged_file_is_refused_for_its_sums(tmp_path):
    from jaxtree.files.container import ModelFile, read_model_file, write_model_file

    counted("numbers").save(tmp_path / "tree.jaxtree")
    header, arrays = read_model_file(tmp_path / "tree.jaxtree")
    for name, value, words in (("target", 0.0, "unit that is none"), ("sums", None, "not those of its nodes")):
        sums = {"RowSums": {**header["fitted"]["row_sums"]["RowSums"], name: value}}
        changed = {**header, "fitted": {**header["fitted"], "row_sums": sums}}
        own = {key: array for key, array in arrays.items() if value is not None or key != "row_sums.sums"}
        write_model_file(tmp_path / "damaged.jaxtree", ModelFile(changed, own))
        with pytest.raises(ModelFileError, match=words):
            jaxtree.load(tmp_path / "damaged.jaxtree")


def test_a_new_fit_and_a_clone_know_nothing_of_rows(tmp_path):
    model = counted("numbers")
    assert content(model.fit(X, NUMBERS), tmp_path) == content(fitted("numbers"), tmp_path)
    with pytest.raises(NotFittedError):
        clone(counted("tree")).add_rows(X, CLASSES)


def test_constraints_hold_whatever_rows_come():
    """The target falls where the splits were chosen for one that rises."""
    model = fitted("monotone").refit(X, -NUMBERS)
    grid = np.column_stack([np.linspace(-3, 3, 50), np.zeros(50), np.zeros(50)])
    assert (np.diff(model.predict(grid)) >= -1e-12).all()
    model.add_rows(X, 3 * NUMBERS).remove_rows(X, -NUMBERS)
    assert (np.diff(model.predict(grid)) >= -1e-12).all()
    assert np.ptp(model.predict(grid)) > 1


def test_weights_are_rows_so_often():
    weight = MODELS["whole weights"][2]
    by_weight = fitted("tree").add_rows(X, CLASSES, weight)
    by_rows = fitted("tree").add_rows(np.repeat(X, weight, axis=0), np.repeat(CLASSES, weight))
    assert np.array_equal(by_weight.predict_proba(X), by_rows.predict_proba(X))
    without = fitted("tree").add_rows(X, CLASSES, np.where(np.arange(ROWS) < 100, 1, 0))
    assert np.array_equal(without.predict_proba(X), fitted("tree").add_rows(X[:100], CLASSES[:100]).predict_proba(X))


def test_rows_go_where_predictions_go():
    table = pd.DataFrame({"color": np.array(["red", "green", "blue"])[np.arange(90) % 3], "size": np.arange(90) % 7})
    y = np.where((table["color"] == "red") ^ (table["size"] > 3), "yes", "no")
    tree = jaxtree.DecisionTreeClassifier(missing="branch").fit(table, y)
    new = pd.DataFrame({"color": ["violet", "red", None], "size": [2, np.nan, 5]})
    with pytest.warns(UnseenWordsWarning):
        ends = tree.apply(new)
    before = tree.tree_.num_rows[ends]
    with pytest.warns(UnseenWordsWarning):
        tree.add_rows(new, ["yes", "no", "no"])
    assert (tree.tree_.num_rows[ends] - before == [(ends == end).sum() for end in ends]).all()


def test_a_source_names_its_target(tmp_path):
    table = pd.DataFrame(np.nan_to_num(X), columns=["a", "b", "c"]).assign(y=CLASSES)
    table.to_parquet(tmp_path / "rows.parquet")
    tree = jaxtree.DecisionTreeClassifier().fit(str(tmp_path / "rows.parquet"), "y")
    before = content(tree, tmp_path)
    table[LAST].to_parquet(tmp_path / "last.parquet")
    tree.remove_rows(str(tmp_path / "last.parquet"), "y").add_rows(table.drop(columns="y")[LAST], CLASSES[LAST])
    assert content(tree, tmp_path) == before


def test_one_core_and_two_count_alike():
    one, two = (
        clone(MODELS["extra trees"][0]).set_params(n_jobs=n_jobs).fit(X, CLASSES).remove_rows(X[LAST], CLASSES[LAST])
        for n_jobs in (1, 2)
    )
    assert np.array_equal(nodes_of(one).count, nodes_of(two).count)
    assert np.array_equal(nodes_of(one).impurity, nodes_of(two).impurity)


def test_entropies_keep_all_but_the_last_bits_of_the_kernel_s():
    tree = fitted("entropy")
    changed = fitted("entropy").add_rows(X, CLASSES).remove_rows(X, CLASSES)
    assert np.array_equal(nodes_of(changed).count, nodes_of(tree).count)
    assert nodes_of(changed).impurity == pytest.approx(nodes_of(tree).impurity, abs=1e-14)


UNFIT = {
    "bootstrap": "bootstrap=True counts a row as often as",
    "honest": "honest=True fills the leaves",
    "numbers": "does not keep the whole numbers",
    "monotone": "monotonic_cst=.* moves the values",
    "reduced error": "may have held rows out",
    "weights": "weights of the fit are no whole numbers",
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_fit_that_has_no_exact_sums_asks_for_a_refit(name):
    model, given = fitted(name), rows(name, LAST)
    for change in (model.add_rows, model.remove_rows):
        with pytest.raises(InvalidInputError, match=UNFIT[name] + r".*call refit\(X, y\) once"):
            change(*given)


def fails(change, words, *given):
    with pytest.raises(InvalidInputError, match=words):
        change(*given)


@pytest.mark.parametrize("name", ["tree", "extra trees", "numbers", "weights"])
def test_removing_more_than_there_is_changes_nothing(name, tmp_path):
    model = counted(name)
    before, given = content(model, tmp_path), rows(name, LAST)
    everything = rows(name, slice(None))
    twice = [None if part is None else np.concatenate([part, part]) for part in everything]
    fails(model.remove_rows, "the leaf of row .* has fewer of them than are to be removed", *twice)
    fails(model.remove_rows, "must leave a row", *everything)
    assert content(model, tmp_path) == before
    model.remove_rows(*given)
    fails(model.remove_rows, "the leaf of row", *given)


def test_the_row_that_was_not_there_is_named():
    tree = jaxtree.DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    fails(tree.remove_rows, "leaf of row 1 ", [[1.0], [0.0], [2.0]], ["b", "b", "b"])
    fails(tree.remove_rows, "leaf of row 0 ", [[0.5]], ["b"])


def test_arguments_that_are_not_allowed_are_named(tmp_path):
    tree, whole, numbers = fitted("tree"), fitted("tree"), counted("numbers")
    fails(tree.add_rows, "row 1 has 'none'; fit again for new classes", X[:2], ["low", "none"])
    fails(tree.add_rows, "weights must be whole numbers", X[:2], CLASSES[:2], [0.5, 1])
    fails(tree.add_rows, "inconsistent numbers of samples", X[:3], CLASSES[:2])
    fails(tree.refit, "y must have 1 outputs", X, TWO_CLASSES)
    fails(tree.add_rows, "too large to be added", X[:5], CLASSES[:5], np.full(5, 2.0**29))
    fails(tree.add_rows, "largest weight from", X[:1], CLASSES[:1], [2.0**31 - 1])
    fails(numbers.add_rows, "too large to be added", X[:1], [1e40])
    fails(numbers.add_rows, "sizes of targets must be", X[:1], [1e300])
    fails(counted("weights").add_rows, "is too small beside", X[:2], CLASSES[:2], [1.0, 1e-30])
    fails(counted("counts").add_rows, "negative", X[:1], [-1.0])
    shares = jaxtree.ClassProbabilities([[0.5, 0.5, 0.0]], classes=["high", "low", "middle"])
    fails(tree.add_rows, "y has probabilities", X[:1], shares)
    assert content(tree, tmp_path) == content(whole, tmp_path)


def test_models_that_do_not_add_up_are_refused():
    votes = jaxtree.DecisionTreeClassifier(pruning=jaxtree.Dropout(0.2, 0.5, draws=5), random_state=0).fit(X, CLASSES)
    fails(votes.refit, "are votes", X, CLASSES)
    shared = jaxtree.DecisionTreeClassifier(missing="fraction").fit(X, CLASSES)
    fails(shared.add_rows, "missing='fraction' shares", X, CLASSES)
    balanced = jaxtree.DecisionTreeClassifier(class_weight="balanced", max_depth=3).fit(X, CLASSES)
    fails(balanced.add_rows, "class_weight='balanced'", X, CLASSES)
    assert np.allclose(balanced.refit(X, CLASSES).predict_proba(X), balanced.predict_proba(X))


def test_a_warm_start_on_other_rows_asks_for_a_refit():
    forest = clone(MODELS["extra trees"][0]).set_params(warm_start=True).fit(X, CLASSES)
    forest.add_rows(X[LAST], CLASSES[LAST]).set_params(n_estimators=7).fit(X, CLASSES)
    fails(forest.remove_rows, "trees may have other rows than one another", X[LAST], CLASSES[LAST])
    again = forest.refit(X, CLASSES).remove_rows(X[LAST], CLASSES[LAST])
    assert (nodes_of(again).num_rows[again.forest_.first_node[:-1]] == 170).all()


def test_out_of_bag_results_are_those_of_other_leaves_and_go():
    forest = jaxtree.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, CLASSES)
    assert not hasattr(forest.refit(X, CLASSES), "oob_score_")
    assert forest.oob_score_ > 0.5
