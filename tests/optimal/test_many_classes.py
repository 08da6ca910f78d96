"""How much is compared where classes are many: work that does not grow with their number."""

import numpy as np
import pytest

from jaxtree import OptimalTreeClassifier
from jaxtree.errors import InvalidInputError
from jaxtree.optimal import search, thresholds
from jaxtree.optimal.costs import cost_of_classes
from jaxtree.optimal.nodes import CodedTable
from jaxtree.optimal.search import SearchLimits
from tests.marks import in_turn

TABLE = CodedTable(np.arange(400, dtype=np.uint16).reshape(1, -1), np.array([400]), np.array([False]))
LOSSES = {"errors": None, "losses": "any"}


def target_of(classes, losses=None):
    rng = np.random.default_rng(0)
    loss = None if losses is None else rng.integers(0, 9, (classes, classes))
    return cost_of_classes(np.arange(400) % classes, classes, None, loss=loss)


@pytest.mark.parametrize(("losses", "depth"), in_turn(LOSSES.values(), [1, 2, 3, 4]))
def test_leaves_times_their_terms_do_not_grow_with_classes(losses, depth, monkeypatch):
    monkeypatch.setitem(search.GOOD_NUMBER, depth, 64)
    levels = min(depth, 3)
    for classes in (2, 30, 300):
        target = target_of(classes, losses)
        number = search._thresholds_of_column(TABLE, [np.arange(399)], target, SearchLimits(depth), is_swept=False)
        assert number == 64 if classes == 2 else number < 64
        assert number == 1 or number**levels * target.cost.num_terms <= 64**levels * search.FEW_TERMS


def test_cells_of_all_thresholds_times_predictions_do_not_grow_with_classes():
    most = thresholds.MOST_CELLS * thresholds.FEW_PREDICTIONS
    for classes in (2, 4, 10, 100, 1000):
        assert thresholds.cells_within(target_of(classes), np.inf) * classes <= most
    assert thresholds.cells_within(target_of(4), np.inf) == thresholds.MOST_CELLS


def test_too_many_thresholds_for_the_classes_are_refused(monkeypatch):
    monkeypatch.setitem(search.MOST_INDICATORS, 2, 64)
    X, y = np.arange(400.0).reshape(-1, 1), np.arange(400) % 100
    with pytest.raises(InvalidInputError, match=r"up to 18 thresholds and categories for 100 classes.*has 40"):
        OptimalTreeClassifier(max_depth=2, max_thresholds=40).fit(X, y)
    assert OptimalTreeClassifier(max_depth=2, max_thresholds=18, refine_thresholds=False).fit(X, y).get_n_leaves() == 4
