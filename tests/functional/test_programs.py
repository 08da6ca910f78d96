"""One program serves all numbers of a form, and a second call compiles nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.functional import Boosting, FitRows, Hyper, bins, fit
from jaxtree.functional.fit import _fit
from tests.functional.tables import FORM, table


def test_one_trace_serves_all_numbers():
    _, codes, y = table()
    traces = []

    def loss(scores, target):
        traces.append(None)
        return (scores - target) ** 2

    program = jax.jit(lambda hyper, key: fit(loss, 4, FORM)(codes, y, hyper, key).scores)
    hypers = [
        Hyper(0.1 * number, number, min_samples_leaf=number, reg_lambda=number, subsample=1 / number,
              colsample_bytree=1 / number, n_estimators=number, max_leaf_nodes=1 + number)
        for number in (1, 2, 3)
    ]  # fmt: skip
    found = [program(hyper, jax.random.key(number)) for number, hyper in enumerate(hypers)]
    assert program._cache_size() == 1 and not np.array_equal(found[0], found[1])
    number = len(traces)
    program(hypers[2], jax.random.key(9))
    assert len(traces) == number


def test_a_second_fit_compiles_nothing():
    _, codes, y = table()
    boost = fit(lambda scores, target: (scores - target) ** 2, 5, FORM)
    before = _fit.num_programs()
    for rate in (0.1, 0.2):
        boost(codes, y, Hyper(rate))
        boost(codes, y + 1, Hyper(rate, reg_lambda=2.0))
    assert _fit.num_programs() == before + 1


def test_a_program_has_one_body_of_rounds():
    _, codes, y = table()
    sizes = []
    for num_rounds in (2, 50):
        boost = fit(lambda scores, target: (scores - target) ** 2, num_rounds, FORM)
        text = jax.jit(lambda y, boost=boost: boost(codes, y)).lower(y).as_text()
        sizes.append(text.count("\n"))
    assert sizes[0] == sizes[1]


FAULTS = {
    "learning_rate must be a number from 0 to inf, got -1": lambda codes, y: fit(sum)(codes, y, Hyper(-1)),
    "max_depth must be one number, got shape": lambda codes, y: fit(sum)(codes, y, Hyper(max_depth=np.ones(3, int))),
    "target must have the shape": lambda codes, y: fit(sum)(codes, y[:5]),
    "codes must be from 0 to 4, got": lambda codes, y: fit(sum, 3, Boosting(num_bins=4))(codes, y),
    "codes must be of type uint8": lambda codes, y: fit(sum)(codes.astype(np.int32), y),
    "codes must have the shape": lambda codes, y: fit(sum)(codes[0], y),
    "weight must have the shape": lambda codes, y: fit(sum)(codes, y, weight=np.ones(3)),
    "weight must be at least 0, got -1": lambda codes, y: fit(sum)(codes, y, weight=-np.ones_like(y)),
    "key must be made by": lambda codes, y: fit(sum)(codes, y, key=3),
    "loss must return one number, or one for each": lambda codes, y: fit(lambda s, t: s[:3])(codes, y),
    "loss must be a loss": lambda codes, y: fit("squared"),
    "num_rounds must be from 1": lambda codes, y: fit(sum, 0),
    "form must be a Boosting": lambda codes, y: fit(sum, 1, 3),
    "num_leaves must be from 1": lambda codes, y: Boosting(num_leaves=0),
    "num_bins must be from 2": lambda codes, y: bins(codes.T, 1),
    "X must have the shape": lambda codes, y: bins(y, 3),
    "n_iter_no_change needs held": lambda codes, y: fit(sum)(codes, y, Hyper(n_iter_no_change=3)),
    "held must have the features": lambda codes, y: fit(sum)(codes, y, held=FitRows(codes[:3], y)),
    "start must be a number": lambda codes, y: fit(lambda s, t: s)(codes, y, start=np.zeros(3)),
    "gradient must have the shape": lambda codes, y: FORM.update(FORM.init(codes, 1), y[:3], None),
    "hessian must have one of the shapes": lambda codes, y: FORM.update(FORM.init(codes, 1), y, y[:3]),
}


@pytest.mark.parametrize("message", FAULTS)
def test_errors_name_the_argument(message):
    _, codes, y = table()
    with pytest.raises((ValueError, TypeError), match=message):
        FAULTS[message](codes, y)


def test_traced_numbers_are_brought_into_range():
    _, codes, y = table()
    boost = fit(lambda scores, target: (scores - target) ** 2, 2, FORM)
    clipped = jax.jit(lambda rate, part: boost(codes, y, Hyper(rate, subsample=part)).scores)(-3.0, 7.0)
    np.testing.assert_array_equal(clipped, boost(codes, y, Hyper(0.0)).scores)
    assert not jnp.any(clipped)


@pytest.mark.parametrize("has_missing", [False, True])
def test_traced_codes_and_weights_are_brought_into_range(has_missing):
    _, codes, y = table()
    form = Boosting(num_bins=16, num_leaves=8, has_missing=has_missing)
    boost = fit(lambda scores, target: (scores - target) ** 2, 2, form)
    past = np.where(np.arange(len(y)) % 5 == 0, 200, codes).astype(np.uint8)
    held = np.minimum(past, form.num_codes - 1)
    fit_traced = jax.jit(lambda codes, weight: boost(codes, y, weight=weight))
    weight = np.where(np.arange(len(y)) % 3 == 0, -1.0, 1.0)
    made, wanted = fit_traced(past, weight), fit_traced(held, np.maximum(weight, 0))
    np.testing.assert_array_equal(made.scores, wanted.scores)
    np.testing.assert_array_equal(jax.jit(lambda codes: form.apply(made.stack, codes))(past), wanted(held))
