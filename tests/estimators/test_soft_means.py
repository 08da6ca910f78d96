"""Soft estimators whose columns of many words are means of the target: fits, files, and hard trees of subsets."""

import pickle

import numpy as np
import pandas as pd
import pytest

import jaxtree
from jaxtree import DecisionTreeClassifier, SoftTreeClassifier, SoftTreeRegressor
from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.explain import shap_values
from jaxtree.soft.statistics import Statistics
from jaxtree.soft.walk import hard_leaves
from jaxtree.tree import SplitKind
from tests.export.test_shipping import compile_c, compiler, run_c, run_onnx, run_sql  # noqa: F401

ROWS, WORDS = 240, 40
FEW = {"depth": 3, "max_epochs": 4, "batch_size": 64, "random_state": 0}
DECIDED = {"depth": 4, "max_epochs": 40, "first_temperature": 0.3}


def words_table():
    """A column of 40 words of which some rows have none, a number, and a column of three words; numbers that follow."""
    draw = np.random.default_rng(0)
    word, effect = draw.integers(0, WORDS, ROWS), draw.normal(size=WORDS)
    names = pd.Series([f"w{number}" for number in word], dtype=object)
    number = draw.normal(size=ROWS)
    few = pd.Series(draw.choice(list("abc"), ROWS), dtype=object)
    X = pd.DataFrame({"word": names.mask(np.arange(ROWS) % 13 == 5, None), "number": number, "few": few})
    return X, 2 * effect[word] + number + 0.3 * draw.normal(size=ROWS)


X, NUMBERS = words_table()
CLASSES = np.where(NUMBERS > 0.5, "yes", "no")


def new_rows():
    """The rows with other words, unseen ones and none."""
    draw = np.random.default_rng(1)
    words = np.array([*(f"w{number}" for number in range(WORDS)), "unseen", None], object)
    return X.assign(word=pd.Series(draw.choice(words, ROWS), dtype=object), number=draw.normal(size=ROWS))


NEW = new_rows()


def fitted(gate="hard", **parameters):
    return SoftTreeClassifier(gate=gate, **FEW | parameters).fit(X, CLASSES)


@pytest.fixture(scope="module")
def hard_gates():
    return fitted(**DECIDED)


def statistics_of(estimator):
    return [scale for scale in estimator.inputs_.scales if isinstance(scale, Statistics)]


def test_a_hard_tree_has_subsets_and_takes_every_row_where_its_gates_do(hard_gates):
    assert hard_gates.inputs_.names[0] == "mean(word)"
    hard = hard_gates.harden(refit=False, drop_unreached_by="rows")
    kinds = hard.tree_.split_kind[~hard.tree_.is_leaf]
    assert (kinds == SplitKind.SUBSET).any()
    for rows in (X, NEW):
        values = hard_gates.encoder_.values(rows)
        leaves = hard_leaves(hard_gates.soft_model_, hard_gates.inputs_.transform(values))
        ends = hard.apply(rows)
        reached = np.unique(hard_leaves(hard_gates.soft_model_, hard_gates.inputs_.transform(hard_gates._rows.values)))
        known = np.isin(leaves, reached)
        pairs = np.unique(np.stack([leaves[known], ends[known]]), axis=1)
        assert known.mean() > 0.9 and pairs.shape[1] == len(np.unique(leaves[known])) == len(np.unique(ends[known]))
    assert hard.agreement_ == 1


def test_a_hard_tree_of_subsets_has_the_forms_of_other_trees(hard_gates, compiler, tmp_path):  # noqa: F811
    hard = hard_gates.harden()
    assert "word in {" in jaxtree.export_text(hard)
    shares = hard.predict_proba(NEW)
    hard.save(tmp_path / "hard.jaxtree")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "hard.jaxtree").predict_proba(NEW), shares)
    np.testing.assert_array_equal(run_onnx(hard, NEW, np.float64)["label"], hard.predict(NEW))
    assert run_sql(jaxtree.to_sql(hard), NEW) == hard.predict(NEW).tolist()
    explained = shap_values(hard, NEW)
    np.testing.assert_allclose(explained.base + explained.values.sum(axis=1), shares, atol=1e-6)


def test_planes_have_means_in_words_and_in_other_programs(compiler, tmp_path):  # noqa: F811
    hard = fitted("oblique").harden()
    assert "mean(word)" in hard.export_text()
    label = hard.predict(NEW)
    assert len(np.unique(hard.apply(NEW))) > 2
    np.testing.assert_array_equal(run_onnx(hard, NEW, np.float64)["label"], label)
    assert run_sql(jaxtree.to_sql(hard), NEW) == label.tolist()
    _, places = run_c(compile_c(compiler, jaxtree.to_c(hard), tmp_path), hard, NEW)
    np.testing.assert_array_equal(hard.classes_[places], label)
    hard.save(tmp_path / "hard.jaxtree")
    np.testing.assert_array_equal(jaxtree.load(tmp_path / "hard.jaxtree").apply(NEW), hard.apply(NEW))


def test_a_mean_in_words_is_in_the_unit_of_the_target():
    soft = SoftTreeRegressor(**FEW).fit(X, NUMBERS)
    tree = soft.harden().tree_
    tree.normal[0], tree.offset[0] = 0.0, -0.5
    tree.normal[0, 0] = 1.0
    (own,) = statistics_of(soft)
    words, limit = tree.plane_in_words(0)
    coefficient = float(words.split()[0])
    assert words.endswith("mean(word)")
    np.testing.assert_allclose(coefficient * own.unit[0], 1, rtol=1e-5)
    np.testing.assert_allclose(limit / coefficient, own.mean[0] + 0.5 * own.unit[0], rtol=1e-4)


def test_the_seed_alone_draws_the_order_and_files_and_pickles_keep_the_means(hard_gates, tmp_path):
    again, other = (fitted(**DECIDED, random_state=seed) for seed in (0, 1))
    shares = hard_gates.predict_proba(NEW)
    np.testing.assert_array_equal(again.predict_proba(NEW), shares)
    assert (other.predict_proba(NEW) != shares).any()
    np.testing.assert_array_equal(statistics_of(other)[0].value, statistics_of(again)[0].value)
    hard_gates.save(tmp_path / "soft.jaxtree")
    for copy in (pickle.loads(pickle.dumps(hard_gates)), jaxtree.load(tmp_path / "soft.jaxtree")):
        np.testing.assert_array_equal(copy.predict_proba(NEW), shares)


@pytest.mark.parametrize("part", ["short", "unit"])
def test_a_file_without_a_mean_for_every_word_is_refused(hard_gates, tmp_path, part):
    own = hard_gates.inputs_.scales[0]
    wrong = own._replace(value=own.value[:-1]) if part == "short" else own._replace(unit=-own.unit)
    broken = pickle.loads(pickle.dumps(hard_gates))
    object.__setattr__(broken.inputs_, "scales", (wrong, *broken.inputs_.scales[1:]))
    broken.save(tmp_path / "soft.jaxtree")
    with pytest.raises(ModelFileError, match="statistics"):
        jaxtree.load(tmp_path / "soft.jaxtree")


def means_of(estimator, y, **fields):
    """The statistics of the words, which are learned before training."""
    estimator.read_rows(X, y, **fields)
    return statistics_of(estimator)


def test_targets_of_every_kind_have_their_means():
    of_three = X["word"].nunique(), 3
    assert means_of(SoftTreeClassifier(), np.digitize(NUMBERS, [-1, 1]))[0].value.shape == of_three
    shares = np.stack([NUMBERS > 9, NUMBERS < 0.5, NUMBERS >= 0.5], axis=1) * 0.5 + 0.5 / 3
    assert means_of(SoftTreeClassifier(), jaxtree.ClassProbabilities(shares))[0].value.shape == of_three
    value = means_of(SoftTreeRegressor(), np.stack([NUMBERS, -NUMBERS], axis=1))[0].value
    np.testing.assert_allclose(value[:, 0], -value[:, 1], atol=1e-5)
    assert len(means_of(jaxtree.SoftForestRegressor(loss="poisson"), np.round(np.exp(NUMBERS / 3)))) == 1


def test_words_stay_one_hot_where_none_or_a_tree_or_times_ask_for_it():
    assert means_of(SoftTreeClassifier(one_hot_max_size=39), CLASSES) == []
    assert means_of(SoftTreeClassifier(one_hot_max_size=None), CLASSES) == []
    grown = DecisionTreeClassifier(max_depth=2).fit(X, CLASSES)
    assert means_of(SoftTreeClassifier(init=grown), CLASSES) == []
    assert means_of(SoftTreeRegressor(loss="cox"), np.exp(NUMBERS), event=NUMBERS > -1) == []
    with pytest.raises(InvalidInputError, match="one_hot_max_size"):
        SoftTreeClassifier(one_hot_max_size=-1).fit(X, CLASSES)


def test_further_rows_keep_the_means_of_the_first():
    soft = SoftTreeClassifier(**FEW)
    soft.partial_fit(X[:120], CLASSES[:120])
    first = statistics_of(soft)[0]
    soft.partial_fit(X[120:], CLASSES[120:])
    assert statistics_of(soft)[0] is first
    whole = SoftTreeClassifier(warm_start=True, **FEW).fit(X, CLASSES)
    kept, before = statistics_of(whole)[0], whole.predict_proba(NEW)
    whole.fit(X, CLASSES)
    assert statistics_of(whole)[0] is kept and (whole.predict_proba(NEW) != before).any()
