"""The inputs of the functions of trees are checked: codes, masks, roots, rows, targets and weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth import apply
from jaxtree.prune.raising import prune_with_raising
from jaxtree.prune.validation import hold_out_codes
from jaxtree.tree.checks import check_codes_of, check_mask, check_weights
from jaxtree.tree.forest import take_tree

X = np.array([[0.0, 1], [1, 0], [2, 1], [3, 0], [4, 1], [5, 0]])
FITTED = jaxtree.DecisionTreeClassifier().fit(X, [0, 1, 0, 1, 1, 0])
TREE, CODES = FITTED.tree_, FITTED.encode(X)
CLASSES, NUMBERS = np.array([0, 1, 0, 1, 1, 0], np.int32), np.arange(6.0)
REGRESSION = jaxtree.DecisionTreeRegressor().fit(X, NUMBERS)
MASK = np.zeros(TREE.capacity, bool)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_codes_of(TREE, CODES[0]), r"shape \(feature, row\), got \(6,\)"),
        (lambda: apply(TREE, CODES[:1]), "splits on feature 1, got codes of 1 features"),
        (
            lambda: apply(jax.tree.map(jnp.asarray, TREE), CODES[:1]),
            "splits on feature 1, got codes of 1",
        ),
        (lambda: apply(TREE, CODES, MASK[:-1]), "collapsed must have one value for each"),
        (lambda: apply(TREE, CODES, np.append(MASK, False)), "collapsed must have one value for each"),
        (lambda: jaxtree.growth.predict_proba(TREE, CODES[:1]), "splits on feature 1"),
        (lambda: jaxtree.growth.predict_proba(TREE, CODES, output=1), "output must be one of 1 outputs"),
        (lambda: jaxtree.growth.predict_proba(TREE, CODES, output=-1), "output must be one of 1 outputs"),
        (lambda: jaxtree.growth.predict_proba(REGRESSION.tree_, CODES), "output must be one of 0 outputs"),
        (lambda: take_tree(TREE, root=-1), "root must be one of"),
        (lambda: take_tree(TREE, root=TREE.capacity), "root must be one of"),
        (lambda: take_tree(TREE, collapsed=MASK[:-1]), "collapsed must have one value for each"),
        (lambda: TREE.apply(X[:, :1]), "X must have 2 features"),
        (lambda: TREE.predict(np.c_[X, X]), "X must have 2 features"),
        (lambda: TREE.decision_path(X[0]), r"shape \(row, feature\)"),
        (lambda: hold_out_codes(TREE, CODES[:1], CLASSES), "splits on feature 1"),
        (lambda: hold_out_codes(TREE, CODES, CLASSES + 1), "whole numbers below 2"),
        (lambda: hold_out_codes(TREE, CODES, CLASSES, -np.ones(6)), "weight must be from 0 on"),
        (lambda: hold_out_codes(TREE, CODES, CLASSES, np.full(6, np.nan)), "weight must be from 0 on"),
        (lambda: hold_out_codes(REGRESSION.tree_, CODES, np.full(6, np.nan)), "target must be finite, got nan"),
        (lambda: prune_with_raising(TREE, CODES, CLASSES + 1), "target must be from 0 to 1, got 1 to 2"),
        (lambda: prune_with_raising(TREE, CODES, CLASSES, np.full(6, np.inf)), "weight must be from 0 on"),
        (lambda: jaxtree.dropout.expected_accuracy(TREE, CODES[:1], CLASSES, MASK * 0.5), "splits on feature 1"),
        (lambda: jaxtree.dropout.expected_accuracy(TREE, CODES, CLASSES, MASK[1:] * 0.5), "rates must have"),
        (lambda: check_weights("weight", np.array([np.inf])), "finite sum"),
    ],
)
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(InvalidInputError, match=words):
        call()


def test_types_that_are_none():
    with pytest.raises(InvalidTypeError, match="codes must be of an integer type, got float64"):
        check_codes_of(TREE, CODES.astype(float))
    with pytest.raises(InvalidTypeError, match="collapsed must hold booleans, got int32"):
        check_mask(TREE, MASK.astype(np.int32))


def test_what_is_traced_is_brought_into_range():
    """Codes and trees of unknown content end at some node of the table, whatever it is."""
    nowhere = jax.tree.map(lambda column: np.full_like(column, 2**30) if column.dtype == np.int32 else column, TREE)
    for tree in (TREE, nowhere):
        ends = jax.jit(lambda tree, codes: apply(tree, codes))(tree, CODES[:1])
        assert ends.shape == (6,)
