"""Shares of classes: the kernel and XLA's programs grow the same trees, those of rows of one class each."""

import jax
import numpy as np
import pytest

from jaxtree import criteria
from jaxtree.growth import Classes, Data, Limits, Rules, Shares, Sizes, grow

RNG = np.random.default_rng(3)
CODES = RNG.integers(0, 8, (4, 128)).astype(np.uint8)
SHARES = RNG.dirichlet([0.5, 0.5, 0.5], 128).T
SHARES[:, ::4] = np.eye(3)[:, CODES[0, ::4] % 3]
SIZES = Sizes(num_bins=8, capacity=64)


def grown(data, objective):
    with jax.enable_x64(True):
        return jax.tree.map(
            np.asarray, grow(data, None, Limits(max_depth=3), Rules(objective, counts_rows=True), SIZES).tree
        )


@pytest.mark.parametrize("criterion", [criteria.gini, criteria.entropy], ids=lambda own: own.__name__)
def test_the_kernel_and_xla_grow_the_tree_of_rows_of_one_class(criterion, monkeypatch):
    native = grown(Data(CODES, SHARES), Shares(3, criterion))
    label = np.repeat(np.arange(3, dtype=np.int32), 128)
    repeated = grown(Data(np.tile(CODES, 3), label, SHARES.reshape(-1)), Classes(3, criterion))
    monkeypatch.setattr("jaxtree.kernels.choose.is_there", lambda: False)
    of_xla = grown(Data(CODES, SHARES), Shares(3, criterion))
    size = int(native.num_nodes)
    assert size == of_xla.num_nodes == repeated.num_nodes == 15
    for name in ("feature", "code", "num_rows", "count", "weight"):
        np.testing.assert_array_equal(getattr(native, name)[:size], getattr(of_xla, name)[:size], err_msg=name)
    np.testing.assert_array_equal(native.feature[:size], repeated.feature[:size])
    np.testing.assert_allclose(native.count[:size], repeated.count[:size], atol=1e-12)


def test_shares_beyond_1_are_refused():
    with pytest.raises(ValueError, match="shares must be from 0 to 1, got 0"):
        grown(Data(CODES, 2 * np.eye(3)[:, CODES[0] % 3]), Shares(3))
    with pytest.raises(ValueError, match="target must have 3 outputs, got 2"):
        grown(Data(CODES, SHARES[:2]), Shares(3))
    with pytest.raises(ValueError, match="of one output, got 2"):
        Shares(3, num_outputs=2)
