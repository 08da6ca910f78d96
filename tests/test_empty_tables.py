"""Public functions of codes and rows say in words that there are no columns, or no rows of which there is a mean.

Where rows are looked at one by one, none gives an empty result.
"""

import jax
import numpy as np
import pytest

import jaxtree
from jaxtree import boosting, dropout, growth, prune, soft
from jaxtree.errors import InvalidInputError
from jaxtree.explain import shap_values
from jaxtree.soft.model import log_mixture

KEY = jax.random.key(0)
X = np.random.default_rng(0).normal(size=(30, 3))
CLASSES = (X[:, 0] + X[:, 1] > 0).astype(int)
TREE = jaxtree.DecisionTreeClassifier(max_depth=2).fit(X, CLASSES)
NUMBERS = jaxtree.DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
CODES = TREE.encode(X)
RATES = np.full(TREE.tree_.feature.shape, 0.2)
SOFT = soft.init(soft.SoftForm(depth=2, num_features=3, num_outputs=2), key=KEY)
DRAWS = {"key": KEY, "num_draws": 3}


def boosted(rows, evaluations=()):
    learner = boosting.BaseLearner(growth.Limits(), growth.Sizes(num_bins=64, capacity=8))
    data = boosting.BoostData(rows, evaluations=evaluations)
    return boosting.boost(data, boosting.squared(), learner, boosting.Shrinkage(0.1), num_rounds=1)


def scored(codes, y):
    return boosting.ScoredRows(codes, y.astype(float), np.ones(len(y)), {})


def rows_of(codes):
    return codes.T.astype(np.float32)


OF_CODES = {
    "apply": lambda codes, y: growth.apply(TREE.tree_, codes),
    "apply_traced": lambda codes, y: jax.jit(growth.apply)(TREE.tree_, codes),
    "predict_proba": lambda codes, y: growth.predict_proba(TREE.tree_, codes),
    "hold_out_codes": lambda codes, y: prune.hold_out_codes(TREE.tree_, codes, y).passed[0],
    "vote_share": lambda codes, y: dropout.vote_share(TREE.tree_, codes, RATES),
    "soft_apply": lambda codes, y: soft.apply(SOFT, rows_of(codes)),
    "node_probability": lambda codes, y: soft.node_probability(SOFT, rows_of(codes)),
    "log_mixture": lambda codes, y: log_mixture(SOFT, rows_of(codes)),
}
"""Functions of which rows that are none have an empty result."""

OF_ALL_ROWS = {
    "grow": lambda codes, y: growth.grow(
        growth.Data(codes, y.astype(np.int32)),
        None,
        growth.Limits(),
        growth.Rules(growth.Classes(2)),
        growth.Sizes(64, 8),
    ),
    "boost": lambda codes, y: boosted(scored(codes, y)),
    "boost_beside": lambda codes, y: boosted(scored(CODES, CLASSES), (scored(codes, y),)),
    "expected_accuracy": lambda codes, y: dropout.expected_accuracy(TREE.tree_, codes, y, RATES),
    "expected_log_loss": lambda codes, y: dropout.expected_log_loss(TREE.tree_, codes, y, RATES),
    "expected_squared_error": lambda codes, y: dropout.expected_squared_error(
        NUMBERS.tree_, codes, y.astype(float), np.full(NUMBERS.tree_.feature.shape, 0.2)
    ),
    "accuracy_variance": lambda codes, y: dropout.accuracy_variance(TREE.tree_, codes, y, RATES),
    "sampled_accuracy": lambda codes, y: dropout.sampled_accuracy(TREE.tree_, codes, y, RATES, **DRAWS),
    "vote_accuracy": lambda codes, y: dropout.vote_accuracy(TREE.tree_, codes, y, RATES, **DRAWS),
    "tune_dropout": lambda codes, y: dropout.tune(TREE.tree_, codes, y, steps=2),
    "soft_init": lambda codes, y: soft.init(SOFT.form, key=KEY, inputs=rows_of(codes)),
    "soft_train": lambda codes, y: soft.train(SOFT, soft.make_rows(rows_of(codes), y), key=KEY, num_epochs=1),
}
"""Functions that need a row."""


@pytest.mark.parametrize("name", [*OF_CODES, *OF_ALL_ROWS])
def test_a_table_without_columns_is_refused_in_words(name):
    with pytest.raises(InvalidInputError, match=r"codes must have a feature.*\(0, 30\)|\(row, 3\), got \(\d+, 0\)"):
        (OF_CODES | OF_ALL_ROWS)[name](CODES[:0], CLASSES)


@pytest.mark.parametrize("name", OF_ALL_ROWS)
def test_what_needs_a_row_says_so(name):
    with pytest.raises(InvalidInputError, match=r"a row at least|row or more|one at least"):
        OF_ALL_ROWS[name](CODES[:, :0], CLASSES[:0])


@pytest.mark.parametrize("name", OF_CODES)
def test_of_no_rows_there_are_no_results(name):
    given = OF_CODES[name](CODES, CLASSES)
    found = OF_CODES[name](CODES[:, :0], CLASSES[:0])
    assert found.shape[1:] == given.shape[1:] and not np.sum(found)


def test_prunings_by_no_rows_keep_the_root_alone():
    held = prune.hold_out_codes(TREE.tree_, CODES[:, :0], CLASSES[:0])
    assert prune.reduced_error(TREE.tree_, held)[0] and prune.validation_gate(TREE.tree_, held)[0]


def test_explanations_need_a_row():
    for nothing in (X[:0], X[:, :0]):
        with pytest.raises(InvalidInputError, match=r"Found array with 0 (sample|feature)"):
            shap_values(TREE, nothing)
