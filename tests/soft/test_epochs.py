"""How many models a CPU trains side by side, and that it makes no difference."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.compilation import PROGRAMS
from jaxtree.soft import epochs as epochs_module
from jaxtree.soft import init
from jaxtree.soft.epochs import Hyperparameters, TrainingConfig, make_rows, models_at_once
from jaxtree.soft.form import SoftForm
from jaxtree.soft.model import log_mixture
from jaxtree.soft.training import train_many

KEYS = jax.random.split(jax.random.key(0), 5)


def trees(depth):
    return jax.vmap(lambda key: init(SoftForm(depth, 3, 2), key=key))(KEYS)


def test_small_trees_go_side_by_side_and_large_ones_one_by_one():
    assert models_at_once(trees(3), 256, "cpu") == 5
    assert models_at_once(trees(10), 256, "cpu") == 1
    assert models_at_once(trees(9), 256, "cpu") == 2
    assert models_at_once(trees(10), 256, "gpu") == 5
    assert models_at_once({"any": jnp.zeros((5, 2))}, 256, "cpu") == 5


@pytest.mark.slow
def test_side_by_side_or_not_is_the_same(monkeypatch):
    x = np.random.default_rng(0).normal(size=(90, 3))
    rows = make_rows(x, (x[:, 0] > 0).astype(int))
    found = []
    for width in (2**18, 64 * 8 * 2, 0):
        monkeypatch.setattr(epochs_module, "NUMBERS_IN_CACHE", width)
        PROGRAMS.clear()
        config = TrainingConfig(predict=log_mixture, batch_size=64)
        numbers = Hyperparameters(noise=0.1, averaging=0.9)
        found.append(train_many(trees(3), rows, keys=KEYS, num_epochs=3, config=config, hyperparameters=numbers))
    for other in found[1:]:
        for ours, theirs in zip(jax.tree.leaves(found[0].model), jax.tree.leaves(other.model), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)
