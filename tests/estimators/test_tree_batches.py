"""Trees of rows that come in batches: after each call the tree has the bits of one fit on all rows so far."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import jaxtree
from jaxtree import CostComplexity, DecisionTreeClassifier, DecisionTreeRegressor, Dropout, ReducedError
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.table import reading

RNG = np.random.default_rng(11)
ROWS = 160
X = np.round(RNG.normal(size=(ROWS, 4)), 1)
X[RNG.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2
NUMBERS = SIGNAL + 0.5 * RNG.normal(size=ROWS) + 20
CLASSES = np.where(NUMBERS > 21.5, "high", np.where(NUMBERS < 20, "low", "middle"))
TWO_OUTPUTS = np.stack([CLASSES, np.where(SIGNAL > 1, "up", "down")], axis=1)
WEIGHT = RNG.integers(0, 4, ROWS)
FRACTIONS = RNG.random(ROWS) + 0.01
WORDS = np.array(["ash", "beech", "cedar", "fir", "oak"])[RNG.integers(0, 5, ROWS)]
SIZES = pd.Categorical(RNG.choice(["small", "big"], ROWS), ["small", "medium", "big"], ordered=True)
FRAME = pd.DataFrame(
    {
        "height": X[:, 0],
        "rings": RNG.integers(0, 90, ROWS),
        "kind": pd.Series(WORDS, dtype=object).where(X[:, 1] < 1.5, None),
        "size": SIZES,
        "sick": X[:, 2] > 0,
        "seen": pd.Timestamp("2020-03-01") + pd.to_timedelta(RNG.integers(0, 400, ROWS), unit="D"),
        "felled": RNG.integers(2, 9, ROWS).astype(np.int8),
    }
)

CLASSIFIER, REGRESSOR = DecisionTreeClassifier, DecisionTreeRegressor
MODELS = {
    "classes": (CLASSIFIER(), X, CLASSES, None),
    "whole weights": (CLASSIFIER(max_depth=6), X, CLASSES, WEIGHT),
    "fractions": (CLASSIFIER(min_weight_fraction_leaf=0.02), X, CLASSES, FRACTIONS),
    "balanced": (CLASSIFIER(max_depth=5, class_weight="balanced"), X, CLASSES, WEIGHT),
    "outputs": (CLASSIFIER(max_depth=5), X, TWO_OUTPUTS, None),
    "bins": (CLASSIFIER(max_bins=8, criterion="entropy"), X, CLASSES, None),
    "columns drawn": (CLASSIFIER(max_features=2, random_state=3), X, CLASSES, None),
    "thresholds drawn": (REGRESSOR(splitter="random", random_state=3), X, NUMBERS, None),
    "shares of rows": (CLASSIFIER(min_samples_split=0.1, min_impurity_decrease=0.002), X, CLASSES, None),
    "held out": (CLASSIFIER(pruning=ReducedError(), random_state=1), FRAME, CLASSES, WEIGHT),
    "price": (REGRESSOR(pruning=CostComplexity("cv", cv=3), random_state=1), FRAME, NUMBERS, None),
    "votes": (CLASSIFIER(max_depth=4, pruning=Dropout(0.1, draws=9), random_state=1), X, CLASSES, None),
    "leaves": (CLASSIFIER(max_leaf_nodes=6, ccp_alpha=0.001), X, CLASSES, None),
    "numbers": (REGRESSOR(), X, NUMBERS, None),
    "weighted numbers": (REGRESSOR(min_samples_leaf=3), X, NUMBERS, FRACTIONS),
    "outputs of numbers": (REGRESSOR(max_depth=5), X, np.stack([NUMBERS, -SIGNAL], axis=1), None),
    "counts": (REGRESSOR(max_depth=5, criterion="poisson"), X, np.round(NUMBERS) - 17, None),
    "monotone": (REGRESSOR(max_depth=5, monotonic_cst=[1, 0, 0, 0]), X, NUMBERS, None),
    "words": (CLASSIFIER(), FRAME, CLASSES, None),
    "weighted words": (REGRESSOR(), FRAME, NUMBERS, WEIGHT),
    "few categories": (CLASSIFIER(max_categories=3), FRAME, CLASSES, None),
    "numbers as words": (CLASSIFIER(categorical_features=["felled"]), FRAME, CLASSES, None),
    "fractions of rows": (CLASSIFIER(missing="fraction"), FRAME, CLASSES, None),
    "single precision": (CLASSIFIER(), X.astype(np.float32), CLASSES, None),
    "sparse": (CLASSIFIER(), scipy.sparse.csr_array(np.nan_to_num(X)), CLASSES, None),
}


def part_of(values, part):
    if values is None:
        return None
    return values.iloc[part] if isinstance(values, pd.DataFrame) else values[part]


def batch_of(name, part):
    return tuple(part_of(values, part) for values in MODELS[name][1:])


def in_batches(name, ends):
    model, start = clone(MODELS[name][0]), 0
    for end in (*sorted(ends), ROWS):
        part_X, part_y, weight = batch_of(name, slice(start, end))
        assert model.partial_fit(part_X, part_y, sample_weight=weight) is model
        start = end
    return model


def content(model, tmp_path):
    model.save(tmp_path / "model.jaxtree")
    return (tmp_path / "model.jaxtree").read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_batches_give_the_file_of_one_fit(name, tmp_path):
    model, table, y, weight = MODELS[name]
    whole = content(clone(model).fit(table, y, weight), tmp_path)
    assert content(in_batches(name, []), tmp_path) == whole
    assert content(in_batches(name, [60, 66, 130]), tmp_path) == whole


@pytest.mark.parametrize("name", ["classes", "words", "weighted words"])
@settings(max_examples=15)
@given(
    ends=st.sets(st.integers(5, ROWS - 5), max_size=6).filter(
        lambda own: np.diff(sorted(own), prepend=0).min(initial=5) > 4
    )
)
def test_no_division_of_the_rows_matters(name, ends, tmp_path_factory):
    folder = tmp_path_factory.mktemp("batches")
    model, table, y, weight = MODELS[name]
    assert content(in_batches(name, ends), folder) == content(clone(model).fit(table, y, weight), folder)


def test_after_every_batch_the_tree_is_that_of_the_rows_so_far(tmp_path):
    model = CLASSIFIER()
    for end in range(1, 40):
        model.partial_fit(X[end - 1 : end], CLASSES[end - 1 : end])
        assert content(model, tmp_path) == content(CLASSIFIER().fit(X[:end], CLASSES[:end]), tmp_path)


@pytest.mark.parametrize("limit", ["jaxtree.table.encoder.MAX_EXACT_ROWS", "jaxtree.table.summary.MAX_FITTED_ROWS"])
def test_bins_of_long_tables_are_those_of_all_rows(limit, monkeypatch, tmp_path):
    """Past some rows a column has 255 bins, and past more of them edges are fitted on a sample."""
    monkeypatch.setattr(limit, 500)
    long = RNG.normal(size=(900, 2))
    y = (long.sum(axis=1) > 0).astype(int)
    model = CLASSIFIER(max_depth=4)
    for part in np.split(np.arange(900), [450, 510, 800]):
        model.partial_fit(long[part], y[part])
        so_far = slice(0, part[-1] + 1)
        assert content(model, tmp_path) == content(CLASSIFIER(max_depth=4).fit(long[so_far], y[so_far]), tmp_path)


def test_a_column_that_has_nothing_yet_may_turn_out_to_be_of_any_kind(tmp_path):
    lacks = pd.DataFrame({"number": [None, None], "word": [None, None], "date": [pd.NaT, pd.NaT]}, dtype=object)
    has = FRAME[["height", "kind", "seen"]].set_axis(lacks.columns, axis=1)
    model = CLASSIFIER().partial_fit(lacks, CLASSES[:2]).partial_fit(has, CLASSES)
    whole = CLASSIFIER().fit([lacks, has], np.append(CLASSES[:2], CLASSES))
    assert content(model, tmp_path) == content(whole, tmp_path)


def test_gaps_may_come_with_any_batch(tmp_path):
    order = np.argsort(np.isnan(X).any(axis=1), kind="stable")
    model = CLASSIFIER().partial_fit(X[order[:60]], CLASSES[order[:60]]).partial_fit(X[order[60:]], CLASSES[order[60:]])
    assert content(model, tmp_path) == content(CLASSIFIER().fit(X[order], CLASSES[order]), tmp_path)


def test_names_are_those_of_the_first_batch(tmp_path):
    """As in predictions, rows without names are taken by their places."""
    named = FRAME[["kind", "sick"]].astype(object)
    model = CLASSIFIER().partial_fit(named[:80], CLASSES[:80]).partial_fit(named[80:].to_numpy(), CLASSES[80:])
    assert content(model, tmp_path) == content(CLASSIFIER().fit(named, CLASSES), tmp_path)


def test_declared_classes_that_have_all_come_are_those_of_the_rows(tmp_path):
    """They have the type of these, too, such as objects of pandas."""
    words = CLASSES.astype(object)
    model = CLASSIFIER().partial_fit(X, words, classes=["high", "low", "middle"])
    assert content(model, tmp_path) == content(CLASSIFIER().fit(X, words), tmp_path)


def test_words_and_rows_without_weight_leave_no_trace(tmp_path):
    words = [["ash"], ["oak"], ["fir"], ["elm"]]
    model = CLASSIFIER().partial_fit(words, ["a", "b", "a", "c"], sample_weight=[1, 1, 1, 0])
    model.partial_fit([["yew"], ["oak"]], ["d", "b"], sample_weight=[0, 2])
    whole = CLASSIFIER().fit([*words[:3], ["oak"]], ["a", "b", "a", "b"], [1, 1, 1, 2])
    assert content(model, tmp_path) == content(whole, tmp_path)
    assert model.schema_.columns[0].categories == ("ash", "fir", "oak")


def test_some_batches_may_have_no_weights(tmp_path):
    model = (
        CLASSIFIER().partial_fit(X[:50], CLASSES[:50]).partial_fit(X[50:], CLASSES[50:], sample_weight=FRACTIONS[50:])
    )
    whole = CLASSIFIER().fit(X, CLASSES, np.append(np.ones(50), FRACTIONS[50:]))
    assert content(model, tmp_path) == content(whole, tmp_path)


def test_classes_may_come_with_any_batch():
    order = np.argsort(CLASSES, kind="stable")
    model = CLASSIFIER()
    seen = []
    for part in np.array_split(order, 8):
        seen += CLASSES[part].tolist()
        assert model.partial_fit(X[part], CLASSES[part]).classes_.tolist() == sorted(set(seen))
    first = CLASSIFIER().partial_fit(X[:3], [7, 7, 7])
    assert first.predict_proba(X[:1]).tolist() == [[1.0]]
    assert first.partial_fit(X[3:5], [7, 300]).classes_.tolist() == [7, 300]


def test_declared_classes_have_columns_of_zeros_until_they_come(tmp_path):
    order = np.argsort(CLASSES, kind="stable")
    start = order[: (CLASSES == "high").sum() + 30]
    classes = ["middle", "low", "high", "huge"]
    model = CLASSIFIER(class_weight={"huge": 3, "low": 2}).partial_fit(X[start], CLASSES[start], classes=classes)
    seen = CLASSIFIER(class_weight={"low": 2}).fit(X[start], CLASSES[start])
    assert model.classes_.tolist() == sorted(classes) and model.n_classes_ == 4
    assert seen.classes_.tolist() == ["high", "low"]
    shares = model.predict_proba(X)
    assert np.array_equal(shares[:, [0, 2]], seen.predict_proba(X)) and not shares[:, [1, 3]].any()
    assert model.predict(X).tolist() == seen.predict(X).tolist()
    for name in ("feature", "threshold", "impurity", "gain", "first_child"):
        assert np.array_equal(getattr(model.tree_, name), getattr(seen.tree_, name))
    content(model, tmp_path)
    assert np.array_equal(jaxtree.load(tmp_path / "model.jaxtree").predict_proba(X), shares)
    rest = order[len(start) :]
    model.partial_fit(X[rest], CLASSES[rest], classes=classes)
    assert not model.predict_proba(X)[:, 1].any()
    model.partial_fit(X[:2], ["huge", "huge"])
    every = np.append(order, [0, 1])
    whole = clone(model).fit(X[every], np.append(CLASSES[order], ["huge", "huge"]))
    assert content(model, tmp_path) == content(whole, tmp_path)


def test_weights_of_classes_may_be_of_those_that_a_dtype_declares():
    """As in a fit of all rows; of a class that nothing declares they are an error."""
    declared = pd.Series(pd.Categorical(CLASSES, ["low", "middle", "high", "huge"]))
    model = CLASSIFIER(class_weight={"huge": 2, "low": 3})
    model.partial_fit(X[:60], declared[:60]).partial_fit(X[60:], declared[60:])
    assert np.array_equal(model.predict_proba(X), clone(model).fit(X, declared).predict_proba(X))
    with pytest.raises(InvalidInputError, match=r"class_weight has weights for \['huge'\]"):
        clone(model).partial_fit(X, CLASSES)


def test_declared_classes_of_several_outputs():
    given = [["high", "low", "middle", "huge"], ["down", "up"]]
    model = CLASSIFIER(max_depth=3).partial_fit(X, TWO_OUTPUTS, classes=given)
    seen = CLASSIFIER(max_depth=3).fit(X, TWO_OUTPUTS)
    assert [own.tolist() for own in model.classes_] == [sorted(own) for own in given]
    assert np.array_equal(model.predict(X), seen.predict(X))
    for own, other, columns in zip(model.predict_proba(X), seen.predict_proba(X), ([0, 2, 3], [0, 1]), strict=True):
        assert np.array_equal(own[:, columns], other)
    assert not model.predict_proba(X)[0][:, 1].any()
    with pytest.raises(InvalidInputError, match="classes must be a list with the classes of each of 2 outputs, got 1"):
        CLASSIFIER().partial_fit(X, TWO_OUTPUTS, classes=[["high"]])


BAD = {
    "more columns": (lambda: (np.ones((2, 5)), CLASSES[:2]), "X has 5 features, but Encoder is expecting 4"),
    "no rows": (lambda: (X[:0], CLASSES[:0]), "0 sample"),
    "lengths": (lambda: (X[:3], CLASSES[:2]), r"inconsistent numbers of samples: \[3, 2\]"),
    "infinite": (lambda: (np.full((2, 4), np.inf), CLASSES[:2]), "infinity in column 'x0'"),
    "words": (lambda: ([["a", 1, 2, 3]], ["low"]), "'x0' has categories in this batch, and numbers in those before"),
    "no class": (lambda: (X[:2], ["low", None]), "Input y contains NaN or another missing value"),
    "numbers for words": (lambda: (X[:2], [1, 2]), "it has 1 in this batch, and 'high' in those before"),
    "outputs": (lambda: (X[:2], TWO_OUTPUTS[:2]), "y must have 1 outputs, as in those before, got 2"),
    "negative weight": (lambda: (X[:2], CLASSES[:2], None, [1, -1]), "Negative values in data"),
    "no weight": (lambda: (X[:2], CLASSES[:2], None, [0, 0]), "sample_weight is zero for every row"),
    "weights": (lambda: (X[:2], CLASSES[:2], None, [1]), "Sample weights must be 1D"),
    "other classes": (lambda: (X[:2], CLASSES[:2], ["low", "high"]), r"those of the first call, \['high', 'low', 'mid"),
    "probabilities": (
        lambda: (X[:2], jaxtree.ClassProbabilities([[0.5, 0.5], [1, 0]], ["low", "high"])),
        "partial_fit takes a class for every row, got ClassProbabilities",
    ),
    "no target": (lambda: (X[:2], None), "the target y is None"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_batch_changes_nothing(name, tmp_path):
    make, message = BAD[name]
    model = CLASSIFIER().partial_fit(X[:100], CLASSES[:100])
    before = content(model, tmp_path)
    with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
        model.partial_fit(*make())
    assert content(model, tmp_path) == before
    model.partial_fit(X[100:], CLASSES[100:])
    assert content(model, tmp_path) == content(CLASSIFIER().fit(X, CLASSES), tmp_path)


def test_a_bad_first_batch_leaves_no_model():
    model = REGRESSOR()
    with pytest.raises(InvalidInputError, match="Input y contains NaN: row 1"):
        model.partial_fit(X[:2], [1.0, np.nan])
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.partial_fit(X, NUMBERS).predict(X).shape == (ROWS,)


def test_columns_keep_their_names_and_order():
    model = CLASSIFIER().partial_fit(FRAME[:80], CLASSES[:80])
    turned = FRAME[80:][FRAME.columns[::-1]]
    with pytest.raises(InvalidInputError, match="must be in the same order as they were in fit"):
        model.partial_fit(turned, CLASSES[80:])
    with pytest.raises(InvalidInputError, match="Feature names unseen at fit time:\n- tall"):
        model.partial_fit(FRAME[80:].rename(columns={"height": "tall"}), CLASSES[80:])
    with pytest.raises(InvalidInputError, match="has the ordered categories"):
        model.partial_fit(
            FRAME[80:].assign(size=SIZES[80:].reorder_categories(["big", "medium", "small"])), CLASSES[80:]
        )
    assert model.tree_.num_rows[0] == 80


def test_a_class_that_is_not_declared_is_refused():
    with pytest.raises(InvalidInputError, match=r"classes of classes=\['high', 'low'\] alone, got 'middle'"):
        CLASSIFIER().partial_fit(X, CLASSES, classes=["low", "high"])
    model = CLASSIFIER().partial_fit(X[:2], ["a", "a"], classes=["a", "b"])
    with pytest.raises(InvalidInputError, match="alone, got 'c'"):
        model.partial_fit(X[:2], ["a", "c"])


def test_constraints_look_at_declared_classes():
    model = CLASSIFIER(monotonic_cst=[1, 0, 0, 0])
    with pytest.raises(InvalidInputError, match="y has 3 classes, and 2 are allowed"):
        model.partial_fit(X[:60], TWO_OUTPUTS[:60, 1], classes=["down", "sideways", "up"])
    shares = (
        model.partial_fit(X[:1], ["down"], classes=["down", "up"]).partial_fit(X, TWO_OUTPUTS[:, 1]).predict_proba(X)
    )
    assert np.array_equal(
        shares, clone(model).fit(np.vstack([X[:1], X]), ["down", *TWO_OUTPUTS[:, 1]]).predict_proba(X)
    )


def test_rows_of_declared_classes_may_be_added():
    model = CLASSIFIER(max_depth=2).partial_fit(X[:60], CLASSES[:60], classes=["high", "huge", "low", "middle"])
    before = model.predict_proba(X[:1])[0]
    after = model.add_rows(X[:1], ["huge"]).predict_proba(X[:1])[0]
    assert before[1] == 0 and after[1] > 0


def test_counts_are_looked_at_in_all_rows():
    model = REGRESSOR(criterion="poisson").partial_fit(X[:5], [0, 0, 1, 0, 0]).partial_fit(X[5:7], [0, 0])
    assert model.tree_.num_rows[0] == 7
    with pytest.raises(InvalidInputError, match="negative"):
        model.partial_fit(X[:1], [-1])


CHANGES = {
    "fit": lambda model, folder: model.fit(X, CLASSES),
    "add_rows": lambda model, folder: model.add_rows(X[:3], CLASSES[:3]),
    "remove_rows": lambda model, folder: model.remove_rows(X[:3], CLASSES[:3]),
    "refit": lambda model, folder: model.refit(X, CLASSES),
    "prune": lambda model, folder: jaxtree.prune_to(model, jaxtree.prune.max_depth(model.tree_, 2)),
    "load": lambda model, folder: model.save(folder / "tree.jaxtree") or jaxtree.load(folder / "tree.jaxtree"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_model_that_has_not_kept_its_rows_says_so(name, tmp_path):
    model = CLASSIFIER().partial_fit(X[:90], CLASSES[:90])
    changed = CHANGES[name](model, tmp_path)
    before = content(changed, tmp_path)
    with pytest.raises(
        InvalidInputError, match="partial_fit goes on from the rows of its earlier calls, and this Deci"
    ):
        changed.partial_fit(X[90:], CLASSES[90:])
    assert content(changed, tmp_path) == before
    again = clone(changed).partial_fit(X, CLASSES)
    assert content(again, tmp_path) == content(CLASSIFIER().fit(X, CLASSES), tmp_path)


def test_copies_go_on_by_themselves(tmp_path):
    model = CLASSIFIER().partial_fit(X[:90], CLASSES[:90])
    before, copies = (
        content(model, tmp_path),
        [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)],
    )
    model.refit(X, CLASSES)  # which returns another model
    whole = content(CLASSIFIER().fit(X, CLASSES), tmp_path)
    for own in copies:
        assert content(own.partial_fit(X[90:], CLASSES[90:]), tmp_path) == whole
    assert content(model, tmp_path) == before
    assert content(model.partial_fit(X[90:], CLASSES[90:]), tmp_path) == whole


def test_rows_are_copied(tmp_path):
    batch, y, weight = X[:90].copy(), NUMBERS[:90].copy(), FRACTIONS[:90].copy()
    model = REGRESSOR().partial_fit(batch, y, weight)
    batch[:], y[:], weight[:] = 0, 0, 1
    model.partial_fit(X[90:], NUMBERS[90:], FRACTIONS[90:])
    assert content(model, tmp_path) == content(REGRESSOR().fit(X, NUMBERS, FRACTIONS), tmp_path)


def test_parameters_are_those_of_the_call(tmp_path):
    model = CLASSIFIER().partial_fit(X[:90], CLASSES[:90]).set_params(max_depth=3, max_bins=9, class_weight="balanced")
    model.partial_fit(X[90:], CLASSES[90:])
    assert content(model, tmp_path) == content(clone(model).fit(X, CLASSES), tmp_path)
    with pytest.raises(InvalidInputError, match="max_depth"):
        model.set_params(max_depth=0).partial_fit(X, CLASSES)


def test_batches_may_be_files_and_sources(tmp_path):
    table = FRAME.drop(columns=["size", "seen", "sick"]).assign(target=CLASSES, weight=FRACTIONS)
    table[:90].to_parquet(tmp_path / "first.parquet", row_group_size=40)
    model = CLASSIFIER().partial_fit(str(tmp_path / "first.parquet"), "target", sample_weight="weight")
    model.partial_fit([table[90:120], table[120:]], "target", sample_weight="weight")
    table.to_parquet(tmp_path / "all.parquet")
    whole = CLASSIFIER().fit(tmp_path / "all.parquet", "target", "weight")
    assert content(model, tmp_path) == content(whole, tmp_path)
    assert model.predict(tmp_path / "all.parquet").tolist() == whole.predict(tmp_path / "all.parquet").tolist()
    none = table.assign(weight=np.arange(ROWS) % 2)
    with pytest.raises(InvalidInputError, match="X is a table in parts, whose rows are not at hand"):
        model.partial_fit([none], "target", sample_weight="weight")


def test_words_of_a_file_stay_words(tmp_path):
    (tmp_path / "first.csv").write_text("code,y\nx,1\n7,2\n")
    (tmp_path / "second.csv").write_text("code,y\n7,3\n8,4\n")
    model = REGRESSOR().partial_fit(tmp_path / "first.csv", "y").partial_fit(tmp_path / "second.csv", "y")
    assert model.schema_.columns[0].categories == ("7", "8", "x")


def test_rows_of_a_table_are_taken_as_if_they_had_come_alone():
    """Categories that no row has go, unless a dtype declares them."""
    rows = np.flatnonzero(~np.isnan(X).any(axis=1) & (WORDS != "oak"))[3:9]
    for table in (X, FRAME):
        taken, alone = reading.read_table(table).take(rows), reading.read_table(reading.take_rows(table, rows, ROWS))
        for own, other in zip(taken.columns, alone.columns, strict=True):
            assert own.kind == other.kind and own.categories == other.categories
            assert own.has_missing == other.has_missing
            np.testing.assert_array_equal(own.values, other.values)
