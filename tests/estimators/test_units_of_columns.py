"""The unit of columns, their order, the memory that they lie in and the names of classes change no prediction.

Where a law does not hold in a family the table says why: draws take rows, columns and classes by their places.
"""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

import jaxtree
from tests.marks import are_slow, in_turn

RNG = np.random.default_rng(0)
ROWS = 80
X = np.round(RNG.normal(size=(ROWS, 4)), 2)
X[:, 3] = RNG.integers(0, 4, ROWS)
NEW = np.round(RNG.normal(size=(20, 4)), 2) + 0.0013
NUMBER = np.round(X[:, 0] + X[:, 1] ** 2 + 0.3 * RNG.normal(size=ROWS), 2)
CLASS = np.where(X[:, 0] + X[:, 1] > 0, "a", "b")
WEIGHT = RNG.integers(1, 5, ROWS).astype(float)
FEW: dict = {"n_estimators": 4, "max_depth": 2, "min_samples_leaf": 1, "learning_rate": 0.3, "random_state": 0}
SOFT: dict = {"depth": 2, "max_epochs": 3, "random_state": 0}
MODELS = {
    "tree": (jaxtree.DecisionTreeRegressor(max_depth=4, ties="first"), NUMBER),
    "tree of few bins": (jaxtree.DecisionTreeRegressor(max_depth=4, max_bins=16, ties="first"), NUMBER),
    "tree of classes": (jaxtree.DecisionTreeClassifier(max_depth=4, ties="first"), CLASS),
    "drawn tree": (jaxtree.DecisionTreeRegressor(max_depth=4, splitter="random", random_state=0), NUMBER),
    "C4.5": (jaxtree.C45Classifier(), CLASS),
    "ID3": (jaxtree.ID3Classifier(), CLASS),
    "optimal": (jaxtree.OptimalTreeClassifier(max_depth=2), CLASS),
    "optimal of numbers": (jaxtree.OptimalTreeRegressor(max_depth=2), NUMBER),
    "forest": (jaxtree.RandomForestRegressor(3, random_state=0), NUMBER),
    "forest of classes": (jaxtree.RandomForestClassifier(3, random_state=0), CLASS),
    "extra trees": (jaxtree.ExtraTreesRegressor(3, random_state=0), NUMBER),
    "boosting": (jaxtree.GradientBoostingRegressor(**FEW), NUMBER),
    "boosting of classes": (jaxtree.GradientBoostingClassifier(**FEW), CLASS),
    "distribution": (jaxtree.GradientBoostingDistribution(**FEW), NUMBER),
    "additive": (jaxtree.ExplainableBoostingRegressor(max_rounds=5, random_state=0), NUMBER),
    "additive of classes": (jaxtree.ExplainableBoostingClassifier(max_rounds=5, random_state=0), CLASS),
    "soft": (jaxtree.SoftTreeRegressor(**SOFT), NUMBER),
    "soft of classes": (jaxtree.SoftTreeClassifier(**SOFT), CLASS),
    "soft forest": (jaxtree.SoftForestRegressor(n_estimators=2, **SOFT), NUMBER),
}
FAST = ("tree", "boosting")
NAMES = are_slow(MODELS, *set(MODELS) - set(FAST))

POWERS = {
    "mixed": np.array([300, -300, 0, 100]),
    "least": np.array([-1000, -1000, -900, -300]),
    "most": np.array([1000, 1020, 900, 300]),
    "some": np.array([30, 0, 10, 1]),
}
BY_DRAWS = "draws take the order of values, columns or rows"
NO_REVERSAL = {
    **dict.fromkeys(["drawn tree", "extra trees", "forest", "forest of classes"], BY_DRAWS),
    **dict.fromkeys(["soft", "soft of classes", "soft forest"], BY_DRAWS),
    **dict.fromkeys(
        ["additive", "additive of classes"], "the first leaves of equal gain are those of the least values"
    ),
    **dict.fromkeys(["boosting", "distribution"], "of cuts that part the rows of a node alike the first is taken"),
    "optimal": "of trees that are equally good the first is taken",
}
NO_ORDER_OF_ROWS = {
    **dict.fromkeys(["forest", "forest of classes"], BY_DRAWS),
    **dict.fromkeys(["additive", "additive of classes"], "bags hold out rows by their places"),
    **dict.fromkeys(["soft", "soft of classes", "soft forest"], "batches are drawn by places"),
}
NO_ORDER_OF_COLUMNS = {
    **dict.fromkeys(["drawn tree", "extra trees", "forest", "forest of classes"], BY_DRAWS),
    **dict.fromkeys(["soft", "soft of classes", "soft forest"], BY_DRAWS),
    **dict.fromkeys(["additive", "additive of classes"], "columns are boosted in turn"),
}
WITHOUT_TIES = {
    "tree of few bins": {"max_depth": 2},
    "tree of classes": {"max_depth": 2},
    "C4.5": {"max_depth": 2},
    "ID3": {"max_depth": 2},
}
"""Limits by which no node is so small that columns part its rows alike, where the first of them is taken."""

LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strides": lambda table: np.repeat(np.repeat(table, 2, 0), 3, 1)[::2, ::3],
    "backwards": lambda table: table[::-1, ::-1].copy()[::-1, ::-1],
    "big endian": lambda table: table.astype(">f8"),
    "objects": lambda table: table.astype(object),
    "lists": lambda table: table.tolist(),
    "CSR": scipy.sparse.csr_matrix,
    "CSC": scipy.sparse.csc_array,
    "frame": lambda table: pd.DataFrame(table.copy(), columns=list("abcd")),
}


def says(model, new=NEW):
    is_of_classes = hasattr(model, "predict_proba") and not isinstance(model, jaxtree.GradientBoostingDistribution)
    return np.asarray(model.predict_proba(new) if is_of_classes else model.predict(new))


def fit(name, table=X, target=None, **given):
    model, own = MODELS[name]
    return clone(model).fit(table, own if target is None else target, **given)


@functools.cache
def usual(name):
    """The predictions of a fit of the table as it is."""
    return says(fit(name))


@pytest.mark.parametrize("powers", POWERS)
@pytest.mark.parametrize("name", NAMES)
def test_powers_of_two(name, powers):
    if name == "C4.5" and powers in ("mixed", "least"):
        pytest.skip("values closer than 1e-5 are one value, as in Quinlan's program")
    scale = POWERS[powers]
    np.testing.assert_array_equal(says(fit(name, np.ldexp(X, scale)), np.ldexp(NEW, scale)), usual(name))


@pytest.mark.parametrize("name", NAMES)
def test_origin(name):
    whole, new = np.round(100 * X), np.floor(100 * NEW)
    np.testing.assert_array_equal(says(fit(name, whole + 2.0**20), new + 2.0**20), says(fit(name, whole), new))


@pytest.mark.parametrize("name", NAMES)
def test_sign(name):
    if name in NO_REVERSAL:
        pytest.skip(NO_REVERSAL[name])
    np.testing.assert_allclose(says(fit(name, -X), -NEW), usual(name), rtol=1e-12)


@pytest.mark.parametrize(("name", "layout"), in_turn(NAMES, LAYOUTS))
def test_memory(name, layout):
    form = LAYOUTS[layout]
    np.testing.assert_array_equal(says(fit(name, form(X)), form(NEW)), usual(name))


@pytest.mark.parametrize(("name", "dtype"), in_turn(NAMES, [np.float32, np.float16, np.int8, np.uint64]))
def test_types_of_numbers(name, dtype):
    whole, new = np.abs(np.round(10 * X)), np.abs(np.floor(10 * NEW))
    np.testing.assert_array_equal(says(fit(name, whole.astype(dtype)), new.astype(dtype)), says(fit(name, whole), new))


@pytest.mark.parametrize("name", NAMES)
def test_order_of_rows(name):
    if name in NO_ORDER_OF_ROWS:
        pytest.skip(NO_ORDER_OF_ROWS[name])
    order = RNG.permutation(ROWS)
    np.testing.assert_allclose(says(fit(name, X[order], MODELS[name][1][order])), usual(name), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_order_of_columns(name):
    if name in NO_ORDER_OF_COLUMNS:
        pytest.skip(NO_ORDER_OF_COLUMNS[name])
    model, target = MODELS[name]
    model = clone(model).set_params(**WITHOUT_TIES.get(name, {}))
    wanted = says(clone(model).fit(X, target))
    for order in ([3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]):
        moved = clone(model).fit(X[:, order], target)
        np.testing.assert_allclose(says(moved, NEW[:, order]), wanted, rtol=1e-12)
        if hasattr(moved, "tree_"):
            feature = moved.tree_.feature[~moved.tree_.is_leaf]
            own = clone(model).fit(X, target).tree_
            np.testing.assert_array_equal(np.array(order)[feature], own.feature[~own.is_leaf])


@pytest.mark.parametrize("name", ["tree", "tree of classes", "C4.5", "ID3"])
def test_the_first_of_columns_that_part_rows_alike_is_taken(name):
    """Beside a copy of the table, all splits are of the columns in front."""
    alone = fit(name).tree_
    copied = fit(name, np.hstack([X, X])).tree_
    np.testing.assert_array_equal(copied.feature, alone.feature)
    np.testing.assert_array_equal(copied.threshold, alone.threshold)


@pytest.mark.parametrize("name", NAMES)
def test_weights(name):
    """Sums of forests are rounded to 2**-31 of the largest; those of whole weights and of others differently."""
    if name == "C4.5":
        pytest.skip("the pruning of C4.5 asks how many rows there are, which are weights")
    whole = says(fit(name, sample_weight=WEIGHT))
    for power in (-1000, -300, -1, 3, 300, 900):
        moved = says(fit(name, sample_weight=np.ldexp(WEIGHT, power)))
        np.testing.assert_allclose(moved, whole, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "names"),
    in_turn(
        are_slow([name for name in MODELS if MODELS[name][1] is CLASS], "forest of classes"),
        [{"a": "x", "b": "y"}, {"a": False, "b": True}, {"a": -3, "b": 10**18}],
    ),
)
def test_names_of_classes(name, names):
    renamed = np.array([names[own] for own in CLASS])
    np.testing.assert_array_equal(says(fit(name, X, renamed)), usual(name))
