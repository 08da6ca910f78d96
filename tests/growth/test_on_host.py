"""Growth by the kernel in C++ on the host: the trees of its program, without a program."""

import jax
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import jaxtree
from jaxtree import compilation, criteria
from jaxtree.errors import InternalError, InvalidInputError
from jaxtree.growth import Classes, Data, Limits, Missing, Rules, Selection, grow
from jaxtree.growth import native as native_growth
from jaxtree.growth.host import grow_on_host
from jaxtree.growth.loop.grow import grow_until_it_fits
from jaxtree.kernels import choose
from jaxtree.kernels.choose import Engine
from tests.estimators.forking import in_forked_child
from tests.growth.native_trees import BRANCHES, MIXED, THRESHOLDS, arguments, assert_same, needs_kernel, on_host

CASES = {
    "subsets of classes": {"kinds": MIXED, "num_classes": 3},
    "weights of floats, two outputs": {"kinds": MIXED, "weight": "floats", "num_classes": 3, "num_outputs": 2},
    "C4.5 with shared rows": {
        "kinds": BRANCHES,
        "criterion": criteria.entropy,
        "selection": Selection.GAIN_RATIO,
        "missing": Missing.FRACTION,
    },
    "several numbers": {"kinds": MIXED, "of_numbers": True, "num_outputs": 2, "weight": "floats"},
    "many trees, drawn features and thresholds": {
        "kinds": THRESHOLDS,
        "num_roots": 3,
        "max_features": 3,
        "draws_thresholds": True,
    },
    "best first, monotone": {"kinds": MIXED, "max_leaf_nodes": 9, "monotone": (1, -1, 0, 1, 0, 0, 0, 0)},
    "no column but one": {"kinds": (0,) * 7, "has_missing": False, "draws_ties": True},
}


@needs_kernel
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("large", [0, 2**62], ids=["in threads", "in one thread"])
def test_the_tree_is_that_of_the_program(name, large, monkeypatch):
    monkeypatch.setattr(choose, "LARGE", large)
    with jax.enable_x64(True):
        expected = grow(*arguments(**CASES[name]), key=jax.random.key(3))
    assert expected.complete
    assert_same(on_host(**CASES[name]), expected.tree)


@needs_kernel
def test_a_fit_of_a_new_shape_compiles_no_program():
    X, y = load_iris(return_X_y=True)
    numbers = load_diabetes().target
    seconds = compilation._CLOCK.seconds
    for num_rows in (41, 1043):
        rows = np.resize(np.arange(150), num_rows)
        jaxtree.DecisionTreeClassifier().fit(X[rows], y[rows])
        jaxtree.DecisionTreeRegressor(max_depth=3).fit(X[rows], numbers[rows])
    assert compilation._CLOCK.seconds == seconds


@needs_kernel
def test_a_tree_holds_no_memory_that_the_kernel_worked_in():
    tree = on_host(**CASES["subsets of classes"])
    fields = [field for field in jax.tree.leaves(tree) if field.size]
    assert all(field.base is None or field.base.nbytes <= 2 * field.nbytes for field in fields)


@needs_kernel
def test_the_kernel_refuses_on_the_host_as_in_a_program():
    with pytest.raises(InvalidInputError, match="attributes are missing or of another type: additions"):
        choose.call_kernel("jaxtree_grow", [((1,), np.int32)], [np.zeros((2, 5), np.uint8)], choose.Attributes({}))


@needs_kernel
def at_an_odd_address(array):
    """A copy of an array that begins at an odd address."""
    memory = np.zeros(array.nbytes + 2, np.uint8)
    odd = memory[1 - memory.ctypes.data % 2 :][: array.nbytes].view(array.dtype).reshape(array.shape)
    odd[...] = array
    assert not odd.flags.aligned
    return odd


@needs_kernel
def test_arrays_at_odd_addresses_grow_the_same_tree():
    codes, weight = np.array([[0, 1, 2, 3], [1, 0, 1, 0]], np.uint16), np.array([1.0, 2.0, 0.5, 1.0])
    data = Data(codes, np.array([0, 1, 1, 0], np.int32), weight)
    trees = [
        grow_on_host(own, None, Limits(), Rules(Classes(2)), 4, np.zeros(1, np.uint32))
        for own in (data, data._replace(codes=at_an_odd_address(codes), weight=at_an_odd_address(weight)))
    ]
    assert_same(*trees)


@needs_kernel
def test_a_growth_with_another_number_of_arrays_is_refused(monkeypatch):
    really = native_growth.call_kernel
    monkeypatch.setattr(
        native_growth, "call_kernel", lambda name, made, arrays, rest: really(name, made, arrays[:-1], rest)
    )
    with pytest.raises(InvalidInputError, match="another number of arrays"):
        jaxtree.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])


@needs_kernel
def test_codes_past_the_table_are_an_error():
    """Codes of estimators are right; a fault of theirs is not to grow another tree."""
    data = Data(np.array([[0, 1, 2, 3]], np.uint8), np.array([0, 1, 0, 1], np.int32))
    with pytest.raises(InternalError, match="codes must be from 0 to 2, got 3"):
        grow_on_host(data, None, Limits(), Rules(Classes(2)), 3, np.zeros(1, np.uint32))


def test_a_forked_child_grows_after_its_parent_has_had_threads(monkeypatch):
    monkeypatch.setattr(choose, "LARGE", 0)
    case = CASES["subsets of classes"]
    expected = on_host(**case)
    assert in_forked_child(lambda: on_host(**case).feature.tolist()) == (expected.feature.tolist(), None)


@needs_kernel
def test_limits_beyond_whole_numbers_are_no_limits_of_rows():
    rng = np.random.default_rng(0)
    data = Data(rng.integers(0, 9, (2, 50)).astype(np.uint8), rng.integers(0, 2, 50).astype(np.int32))
    rules = Rules(jaxtree.growth.Classes(2), counts_rows=True)
    tree = grow_until_it_fits(
        data, None, Limits(min_samples_split=1e12), rules, jaxtree.growth.Sizes(9, 64), engine=Engine.HOST
    )
    assert tree.node_count == 1
