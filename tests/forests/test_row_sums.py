"""Sums over rows in whole numbers: their units, and their room."""

from fractions import Fraction

import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.forests.row_sums import GivenRows, check_can_add, check_has_room, first_at, sum_rows, units_of_rows
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 2))
Y = 1000 + np.cumsum(RNG.normal(size=300))
TREE = jaxtree.DecisionTreeRegressor(max_depth=3).fit(X, Y).model_


def given(part=slice(None), *, shift=0.0, weight=None):
    target = Y[None, part] + shift
    return GivenRows(X[part], target, np.ones(target.shape[1]) if weight is None else weight[part])


def test_units_are_those_of_other_rows_of_the_kind():
    """Nothing of single rows is in them: neither their number, nor their least and greatest target."""
    whole, some = (units_of_rows(given(part), Numbers()) for part in (slice(None), np.argsort(Y)[3:-3]))
    assert whole.center.tolist() == some.center.tolist()
    assert (whole.weight, whole.target, whole.moment) == (some.weight, some.target, some.moment)
    step = 2.0 ** np.ceil(np.log2(np.ptp(Y)))
    assert whole.center[0] % step == 0
    assert abs(whole.center[0] - (Y.min() + Y.max()) / 2) <= step / 2


@pytest.mark.parametrize("weight", [None, RNG.random(300) + 0.1], ids=["whole", "fractions"])
def test_sums_are_exact_to_two_to_the_minus_37_of_a_row(weight):
    """Against sums of fractions; float64 alone has lost more where targets are large."""
    rows = given(weight=weight)
    units = units_of_rows(rows, Numbers())
    known = sum_rows(TREE.predictor, TREE.tree, rows, Numbers(), units)
    exact = sum(
        (Fraction(w) * (Fraction(y) - Fraction(units.center[0])) for w, y in zip(rows.weight, Y, strict=True)),
        Fraction(0),
    )
    size = np.abs((Y - units.center[0]) * rows.weight).max()
    assert abs(int(known.sums[1, 0]) * Fraction(units.target) - exact) <= 300 * Fraction(size) * Fraction(2) ** -37
    assert known.num_rows[0] == 300
    assert known.sums[:, 0].tolist() == known.sums[:, TREE.tree.is_leaf].sum(axis=1).tolist()


def test_there_is_room_for_sixteen_million_rows():
    rows = given()
    units = units_of_rows(rows, Numbers())
    known = sum_rows(TREE.predictor, TREE.tree, rows, Numbers(), units)
    most = 2**24 // 300
    many = known._replace(sums=most * known.sums)
    check_can_add(rows, units, Numbers())
    check_has_room(many, (), units)
    for check in (
        lambda: check_can_add(given(shift=1e12), units, Numbers()),
        lambda: check_has_room(known._replace(sums=1000 * many.sums), (), units),
    ):
        with pytest.raises(InvalidInputError, match="too large to be added"):
            check()


def test_the_first_row_of_a_node_is_found():
    leaf = np.flatnonzero(TREE.tree.is_leaf)[1]
    ends = TREE.predictor.ends_in_trees(X)[:, 0]
    assert first_at(TREE.predictor, given(), np.array([leaf])) == np.flatnonzero(ends == leaf)[0]
    assert first_at(TREE.predictor, given(ends != leaf), np.array([leaf])) is None


def test_blocks_of_rows_are_summed_alike(monkeypatch):
    target = (Y > 1000).astype(np.int32)[None]
    tree = jaxtree.ExtraTreesClassifier(3, random_state=0).fit(X, target[0]).model_
    rows = GivenRows(X, target, np.ones(300))
    units = units_of_rows(rows, Classes(2))
    whole = sum_rows(tree.predictor, tree.tree, rows, Classes(2), units)
    monkeypatch.setattr("jaxtree.forests.row_sums.ENDS_AT_A_TIME", 3 * 7)
    in_blocks = sum_rows(tree.predictor, tree.tree, rows, Classes(2), units)
    assert np.array_equal(whole.sums, in_blocks.sums)
    assert np.array_equal(whole.sums.T, tree.tree.count)
