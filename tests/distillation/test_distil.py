"""Students learn what a teacher says of rows that it has not seen."""

from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold
from sklearn.preprocessing import StandardScaler

from jaxtree import (
    ClassProbabilities,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Distillation,
    RandomForestClassifier,
    RandomForestRegressor,
    SoftTreeRegressor,
    distil,
    distil_sizes,
    refine,
    teacher_labels,
)
from jaxtree.distillation.synthetic import NEAR, SWAPPED, with_synthetic_rows
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.trees import base

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
NUMBER = X[:, 0] + X[:, 1] ** 2 + RNG.normal(scale=0.5, size=120)
LABEL = np.array(["no", "yes"])[(NUMBER > 1).astype(int)]
FEW_ROWS = Distillation(n_synthetic=30)


class Memory(RegressorMixin, BaseEstimator):
    """Says of a row that it has seen its number, and of any other 1000."""

    def fit(self, X, y):
        self.known_ = {row.tobytes(): own for row, own in zip(X, y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.known_.get(row.tobytes(), 1000.0) for row in X])


class Prior(ClassifierMixin, BaseEstimator):
    """Says how often it has seen every class."""

    def fit(self, X, y):
        self.classes_, number = np.unique(y, return_counts=True)
        self.share_ = number / len(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))


@pytest.mark.parametrize(
    "folds", [5, KFold(3), [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]]
)
def test_no_teacher_has_seen_what_it_labels(folds):
    assert (teacher_labels(Memory(), X, NUMBER, cv=folds) == 1000).all()


def test_a_fitted_teacher_is_taken_as_it_is():
    teacher = Memory().fit(X, NUMBER)
    np.testing.assert_array_equal(teacher_labels(teacher, X, cv=None), NUMBER)
    tree = distil(teacher, DecisionTreeRegressor(), X, cv=None)
    np.testing.assert_allclose(tree.predict(X), NUMBER)


def test_labels_are_mixed_with_those_of_the_table():
    labels = teacher_labels(Memory(), X, NUMBER, alpha=0.25)
    np.testing.assert_allclose(labels, 250 + 0.75 * NUMBER)
    mixed = teacher_labels(Prior(), X, LABEL, alpha=0.5)
    assert isinstance(mixed, ClassProbabilities) and mixed.classes.tolist() == ["no", "yes"]
    share = (LABEL == "yes").mean()
    np.testing.assert_allclose(mixed.probabilities[:, 1], (share + (LABEL == "yes")) / 2, atol=0.02)


def test_a_class_that_a_part_lacks_has_no_probability_there():
    label = np.where(np.arange(120) < 40, "a", np.where(np.arange(120) < 80, "b", "c"))
    labels = teacher_labels(
        Prior(), X, label, cv=[(np.arange(40, 120), np.arange(40)), (np.arange(80), np.arange(40, 120))]
    )
    np.testing.assert_allclose(labels.probabilities[0], [0, 0.5, 0.5])
    np.testing.assert_allclose(labels.probabilities[119], [0.5, 0.5, 0])


def test_students_of_numbers_are_of_any_library():
    ridge = distil(DecisionTreeRegressor(max_depth=3), Ridge(), X, NUMBER)
    np.testing.assert_allclose(
        ridge.coef_, Ridge().fit(X, teacher_labels(DecisionTreeRegressor(max_depth=3), X, NUMBER)).coef_
    )
    assert distil(Ridge(), SoftTreeRegressor(depth=2, max_epochs=30, random_state=0), X, NUMBER).score(X, NUMBER) > 0


def test_further_rows_are_labelled_by_the_mean_of_the_clones_and_weigh_as_much_as_the_table():
    class Recorder(DecisionTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            self.given = X, y, sample_weight
            return super().fit(X, y, sample_weight)

    teacher = Ridge()
    student = distil(teacher, Recorder(max_leaf_nodes=4), X, NUMBER, options=Distillation(n_synthetic=480))
    table, labels, weight = student.given
    np.testing.assert_array_equal(table[:120], X)
    np.testing.assert_array_equal(labels[:120], teacher_labels(teacher, X, NUMBER))
    assert table.shape == (600, 3) and weight[:120].sum() == weight[120:].sum() == 120
    far = np.abs(labels[120:] - Ridge().fit(X, NUMBER).predict(table[120:])).max()
    assert far < 0.1 < np.ptp(labels)


def test_rows_of_weight_0_teach_nobody():
    """Clones of the teacher do not learn from them, whatever stands in them."""
    weight = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    wrong = np.where(weight > 0, NUMBER, 1e6)
    given = {"cv": KFold(3, shuffle=True, random_state=0)}
    labels = [teacher_labels(DecisionTreeRegressor(max_depth=3), X, y, weight, **given) for y in (NUMBER, wrong)]
    np.testing.assert_array_equal(*labels)
    assert np.abs(labels[0]).max() <= np.abs(NUMBER).max()


def test_cells_of_further_rows_are_those_of_rows_near_them():
    size = np.arange(1000.0)
    frame = pd.DataFrame({"size": size, "twice": 2 * size, "kind": pd.Categorical(np.where(size < 500, "a", "b"))})
    frame.loc[999, "size"] = np.nan
    new, whole = with_synthetic_rows(frame, 4000, np.random.RandomState(0))
    pd.testing.assert_frame_equal(whole.iloc[:1000], frame)
    pd.testing.assert_frame_equal(whole.iloc[1000:].reset_index(drop=True), new.reset_index(drop=True))
    assert new.dtypes.tolist() == frame.dtypes.tolist()
    assert set(new["size"].dropna()) <= set(size[:999]) and 0 < new["size"].isna().sum() < 20
    away = (new["twice"] / 2 - new["size"]).dropna()
    assert 0.9 < away.std() / (np.sqrt(2) * NEAR * 1000) < 1.1, "both have moved, each its own way"
    other = ((new["kind"] == "a") != (new["twice"] < 1000))[(new["twice"] - 1000).abs() > 300].mean()
    assert 0.6 < other / (SWAPPED / 2) < 1.4, "half of the other rows have the same category"


def test_further_rows_of_tables_of_all_kinds():
    new, whole = with_synthetic_rows([["x", 1], ["y", 2]], 4, np.random.RandomState(0))
    assert whole[:2] == [["x", 1], ["y", 2]] and {row[0] for row in new} <= {"x", "y"}
    date = pd.date_range("2024-01-01", periods=30)
    new, _ = with_synthetic_rows(pd.DataFrame({"date": date, 3: np.nan}), 40, np.random.RandomState(0))
    assert set(new["date"]) <= set(date) and new["3"].isna().all()
    ends = [pl.Series("a", [1, 2, 3]), pl.Series("b", ["x", None, "y"])]
    new, whole = with_synthetic_rows(pl.DataFrame(ends), 5, np.random.RandomState(0))
    assert isinstance(new, pl.DataFrame) and whole[:3].equals(pl.DataFrame(ends)) and len(whole) == 8
    for table in (scipy.sparse.csr_matrix(np.eye(3)), "rows.parquet", np.zeros((2, 2, 2))):
        with pytest.raises(InvalidInputError, match="n_synthetic is for tables"):
            with_synthetic_rows(table, 5, np.random.RandomState(0))


def test_sizes_are_scored_on_rows_that_nobody_has_seen():
    table = distil_sizes(Memory(), DecisionTreeRegressor(), X, NUMBER, sizes=(2, 4), cv=3)
    assert (table.teacher[:, 0] > 900).all() and (table.distilled[..., 0] > 900).all()
    assert (table.on_labels[..., 0] < 3).all() and table.parameter == "max_leaf_nodes"
    own = DecisionTreeRegressor(max_leaf_nodes=2)
    splits = list(KFold(3, shuffle=True, random_state=np.random.RandomState(0)).split(X))
    errors = [np.sqrt(np.mean((own.fit(X[a], NUMBER[a]).predict(X[b]) - NUMBER[b]) ** 2)) for a, b in splits]
    np.testing.assert_allclose(table.on_labels[0, :, 0], errors)


def test_students_of_all_sizes_grow_at_once(monkeypatch):
    """Students fitted to labels are parts of one tree, those of the teacher of another, and both are one growth."""
    grown, really = [], base.grow_tables
    monkeypatch.setattr(base, "grow_tables", lambda tasks, *mesh: grown.append(len(tasks)) or really(tasks, *mesh))
    distil_sizes(Memory(), DecisionTreeRegressor(), X, NUMBER, sizes=(2, 4, 8), cv=3, options=FEW_ROWS)
    assert grown == [2, 2, 2]


def test_a_table_of_sizes_as_words_and_as_a_frame():
    table = distil_sizes(LogisticRegression(), DecisionTreeClassifier(), X, LABEL, sizes={"max_depth": (1, 2)}, cv=3)
    frame = table.to_dataframe()
    assert frame["max_depth"].tolist()[:2] == [1, 2] and np.isnan(frame["max_depth"].iloc[2])
    assert frame["accuracy distilled"].iloc[0] == table.distilled[0, :, 0].mean()
    assert frame["log_loss"].iloc[2] == table.teacher[:, 1].mean()
    head, *rows = str(table).splitlines()
    assert head.split() == ["max_depth", "accuracy", "distilled", "log_loss", "distilled"]
    assert [row.split()[0] for row in rows] == ["1", "2", "teacher"]
    assert table.measures == ("accuracy", "log_loss") and (table.on_labels[..., 0] <= 1).all()


def test_a_class_that_a_part_lacks_is_scored_as_impossible():
    label = np.where(np.arange(120) < 6, "rare", LABEL)
    folds = [(np.arange(6, 120), np.arange(6)), (np.arange(100), np.arange(100, 120))]
    table = distil_sizes(Prior(), DecisionTreeClassifier(), X, label, sizes=(2,), cv=folds)
    assert table.teacher[0, 0] == table.distilled[0, 0, 0] == 0
    impossible = log_loss(["rare", "other"], [[1, 0], [1, 0]], labels=["other", "rare"])
    assert table.teacher[0, 1] == pytest.approx(2 * impossible, rel=1e-12)
    assert table.teacher[1, 1] < 1


def test_what_cannot_be_distilled_says_so():
    tree, of_numbers = DecisionTreeClassifier(), DecisionTreeRegressor()
    with pytest.raises(InvalidInputError, match=r"both predict classes or both numbers: .*Regressor predicts numbers"):
        distil(of_numbers, tree, X, NUMBER)
    with pytest.raises(InvalidTypeError, match=r"learns from probabilities.*LogisticRegression"):
        distil(tree, LogisticRegression(), X, LABEL)
    with pytest.raises(InvalidInputError, match="teacher must be a classifier or regressor, got StandardScaler"):
        teacher_labels(StandardScaler(), X, NUMBER)
    with pytest.raises(InvalidInputError, match="cv needs y"):
        distil(of_numbers, of_numbers, X)
    with pytest.raises(InvalidInputError, match=r"alpha must be from 0 to 1.*got 1\.5"):
        teacher_labels(of_numbers, X, NUMBER, alpha=1.5)
    with pytest.raises(InvalidInputError, match=r"alpha=0\.5 mixes the teacher's labels with y, and y is None"):
        teacher_labels(Memory().fit(X, NUMBER), X, cv=None, alpha=0.5)
    with pytest.raises(InvalidInputError, match=r"'n_synthetic' parameter of Distillation must be .* Got -1"):
        distil(of_numbers, of_numbers, X, NUMBER, options=Distillation(n_synthetic=-1))
    with pytest.raises(InvalidInputError, match=r"'alpha' parameter of Distillation must be .* Got 1\.5"):
        distil(of_numbers, of_numbers, X, NUMBER, options=Distillation(alpha=1.5))
    with pytest.raises(InvalidInputError, match=r"'n_restarts' parameter of Distillation must be .* Got -1"):
        distil_sizes(of_numbers, of_numbers, X, NUMBER, options=Distillation(n_restarts=-1))
    with pytest.raises(InvalidTypeError, match=r"n_restarts chooses splits of a tree again, .* got Ridge"):
        distil(of_numbers, Ridge(), X, NUMBER, options=Distillation(n_restarts=1))
    with pytest.raises(InvalidInputError, match=r"cv must be 2 or more, .* got 1"):
        teacher_labels(of_numbers, X, NUMBER, cv=1)
    with pytest.raises(InvalidInputError, match="cv must label every row, and row 0 is in no part"):
        teacher_labels(of_numbers, X, NUMBER, cv=[(np.arange(60), np.arange(60, 120))])
    with pytest.raises(InvalidInputError, match="sizes must be those of a parameter of the student"):
        distil_sizes(of_numbers, of_numbers, X, NUMBER, sizes={"leaves": (1, 2)})
    with pytest.raises(InvalidInputError, match="sizes must have a value"):
        distil_sizes(of_numbers, of_numbers, X, NUMBER, sizes=())
    with pytest.raises(InvalidInputError, match="y must have one output"):
        distil_sizes(of_numbers, of_numbers, X, np.column_stack([NUMBER, NUMBER]))


@pytest.mark.parametrize(
    "given", [lambda y: y[:, None], lambda y: pd.DataFrame({"y": y}), lambda y: y[:, None].tolist()]
)
def test_targets_in_a_column_are_vectors(given):
    tree, label_tree = DecisionTreeRegressor(max_depth=2), DecisionTreeClassifier(max_depth=2)
    for model, y in ((tree, NUMBER), (label_tree, LABEL)):
        for alpha in (1.0, 0.5):
            own, same = (
                distil(model, model, X, target, cv=2, options=Distillation(alpha=alpha)) for target in (given(y), y)
            )
            np.testing.assert_array_equal(own.predict(X), same.predict(X))
        own, same = (distil_sizes(model, model, X, target, sizes=(2,), cv=2) for target in (given(y), y))
        np.testing.assert_array_equal(own.distilled, same.distilled)
    fitted = tree.fit(X, NUMBER)
    labels = teacher_labels(fitted, X, given(NUMBER), cv=None, alpha=0.5)
    np.testing.assert_array_equal(labels, fitted.predict(X) / 2 + NUMBER / 2)


def test_further_rows_of_a_frame_that_numbers_its_columns():
    frame = pd.DataFrame(X)
    new, whole = with_synthetic_rows(frame, 5, np.random.RandomState(0))
    other, _ = with_synthetic_rows(X, 5, np.random.RandomState(0))
    np.testing.assert_array_equal(new.to_numpy(), other)
    assert list(new.columns) == list(whole.columns) == [0, 1, 2] and len(whole) == 125


class Recorded(GroupKFold):
    """Parts of groups, and the groups that `split` was given."""

    given: ClassVar[list] = []

    def split(self, X, y=None, groups=None):
        self.given.append(groups)
        return super().split(X, y, groups)


def test_groups_reach_the_splitter():
    """No clone of a teacher labels a row of a group that it has seen; `groups` was no argument."""
    table, y, group = X[:60], NUMBER[:60], np.array(list("abcdef"))[np.arange(60) // 10]
    teacher, student = DecisionTreeRegressor(random_state=0), DecisionTreeRegressor(max_depth=2)
    pairs = list(GroupKFold(3).split(table, y, group))
    for groups in (group, group.tolist(), pd.Series(group, index=np.arange(60)[::-1])):
        labels = teacher_labels(teacher, table, y, cv=GroupKFold(3), groups=groups)
        np.testing.assert_array_equal(labels, teacher_labels(teacher, table, y, cv=pairs))
    by_groups = distil(teacher, student, table, y, cv=GroupKFold(3), groups=group).predict(table)
    np.testing.assert_array_equal(by_groups, distil(teacher, student, table, y, cv=pairs).predict(table))
    weight = np.where(np.arange(60) % 7, 1.0, 0.0)
    found = distil_sizes(teacher, student, table, y, sizes=(2,), cv=Recorded(3), groups=group, sample_weight=weight)
    assert found.distilled.shape == (1, 3, 2)
    assert [given.tolist() for given in Recorded.given] == [group[weight > 0].tolist()]
    with pytest.raises(InvalidInputError, match=r"cv=GroupKFold\(4\), got cv=4"):
        distil(teacher, student, table, y, cv=4, groups=group)
    with pytest.raises(InvalidTypeError, match="of rows it takes sample_weight and groups"):
        distil(teacher, student, table, y, group=group)


def make_boxes(number, seed):
    """Rows with classes whose best tree of few leaves needs its splits chosen together."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(number, 3))
    return table, np.where((table[:, 0] > 0.2) ^ (table[:, 1] > -0.1), "in", "out")


BOXES, SIDE = make_boxes(300, 1)
NUMBERS_OF_BOXES = (SIDE == "in") + 0.1 * BOXES[:, 2]
SMALL, SMALL_OF_NUMBERS = DecisionTreeClassifier(max_leaf_nodes=4), DecisionTreeRegressor(max_leaf_nodes=4)


def expected_errors(tree, table, labels):
    place = np.searchsorted(tree.classes_, tree.predict(table))
    return (1 - labels.probabilities[np.arange(len(table)), place]).sum()


def test_a_refined_student_is_a_better_one_on_the_rows_that_it_learned_from():
    teacher = RandomForestClassifier(20, random_state=0)
    labels = teacher_labels(teacher, BOXES, SIDE, alpha=0.5)
    plain, refined_, better = (
        distil(teacher, SMALL, BOXES, SIDE, options=Distillation(alpha=0.5, n_restarts=number))
        for number in (None, 0, 8)
    )
    errors = [expected_errors(tree, BOXES, labels) for tree in (plain, refined_, better)]
    assert errors[0] > errors[1] >= errors[2] and better.get_n_leaves() <= 4
    assert better.score(*make_boxes(500, 2)) > plain.score(*make_boxes(500, 2)) + 0.1
    same = refine(SMALL.fit(BOXES, labels), BOXES, labels)
    np.testing.assert_array_equal(refined_.predict_proba(BOXES), same.predict_proba(BOXES))


def test_refined_students_of_numbers_learn_from_further_rows_too():
    given = {"teacher": RandomForestRegressor(20, random_state=0), "X": BOXES, "y": NUMBERS_OF_BOXES}
    options = [Distillation(alpha=0.5, n_synthetic=400, n_restarts=number) for number in (None, 4)]
    plain, better = (distil(student=SMALL_OF_NUMBERS, **given, options=own) for own in options)
    assert better.get_n_leaves() <= 4 and better.tree_.num_rows[0] == 700
    X_new, side = make_boxes(500, 2)
    numbers = (side == "in") + 0.1 * X_new[:, 2]
    assert better.score(X_new, numbers) > plain.score(X_new, numbers) + 0.1


def test_the_same_seed_gives_the_same_student(monkeypatch):
    options = Distillation(alpha=0.5, n_synthetic=50, n_restarts=3)
    given = {
        "teacher": DecisionTreeClassifier(max_depth=4),
        "student": SMALL,
        "X": BOXES,
        "y": SIDE,
        "options": options,
    }
    first, again = distil(**given), distil(**given)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = distil(**given)
    for other in (again, alone):
        np.testing.assert_array_equal(first.tree_.threshold, other.tree_.threshold)
        np.testing.assert_array_equal(first.predict_proba(BOXES), other.predict_proba(BOXES))


def test_sizes_are_those_of_refined_students():
    options = Distillation(alpha=0.5, n_restarts=2)
    teacher = DecisionTreeClassifier(max_depth=4, random_state=0)
    plain, refined_ = (
        distil_sizes(teacher, DecisionTreeClassifier(), BOXES, SIDE, sizes=(2, 4), cv=2, options=own)
        for own in (Distillation(alpha=0.5), options)
    )
    np.testing.assert_array_equal(plain.on_labels, refined_.on_labels)
    assert (refined_.distilled[1, :, 0] > plain.distilled[1, :, 0]).all()


def test_a_row_of_weight_0_may_have_a_class_that_the_teacher_does_not_know():
    label, weight = np.where(np.arange(120) == 7, "strange", LABEL), np.where(np.arange(120) == 7, 0.0, 1.0)
    given = {"cv": [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))], "alpha": 0.5}
    teacher = DecisionTreeClassifier(max_depth=2)
    labels, whole = (teacher_labels(teacher, X, own, weight, **given) for own in (label, LABEL))
    rest = np.delete(np.arange(120), 7)
    np.testing.assert_array_equal(labels.probabilities[rest], whole.probabilities[rest])
    with pytest.raises(InvalidInputError, match=r"y has the classes \['strange'\]; the teacher knows \['no', 'yes'\]"):
        teacher_labels(Prior().fit(X, LABEL), X, label, cv=None, alpha=0.5)
