"""Sums as products of matrices are the scatter's, bit for bit."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxtree.growth import Classes, Data, Numbers, Rules
from jaxtree.growth.device import cells, histogram
from jaxtree.growth.inputs.bundles import all_thresholds, resolve
from tests.marks import rest_is_slow

NUM_SLOTS, NUM_BINS, NUM_ENTRIES, NUM_FEATURES = 4, 5, 64, 3
BITS = {np.int32: 31, np.int64: 63}


def resolved(rules):
    """Rules with the facts of data that have nothing special."""
    data = Data(np.zeros((1, 1), np.uint8), np.zeros((rules.objective.num_outputs, 1), np.int32))
    return resolve(rules, data, all_thresholds(1, 2))


RULES = {
    "classes, rows counted": resolved(Rules(Classes(3), counts_rows=True)),
    "numbers": resolved(Rules(Numbers())),
    "two outputs of classes": resolved(Rules(Classes(2, num_outputs=2))),
}


@functools.cache
def ways(rules):
    """The scatter and the product."""
    adds = (cells.scatter_at_once, cells.compare)
    return [jax.jit(functools.partial(add, num_bins=NUM_BINS, rules=RULES[rules])) for add in adds]


def entries_of(rules, seed, values):
    """The bases, codes and values of entries: some slots are empty, and a fifth of the entries is outside all."""
    rng, own = np.random.default_rng(seed), RULES[rules]
    code = rng.integers(0, NUM_BINS, (NUM_FEATURES, NUM_ENTRIES)).astype(np.int32)
    in_use = rng.permutation(NUM_SLOTS)[: rng.integers(1, NUM_SLOTS + 1)]
    slot = np.where(rng.random(NUM_ENTRIES) < 0.2, NUM_SLOTS, rng.choice(in_use, NUM_ENTRIES))
    classes = own.objective.classes
    label = rng.integers(0, max(classes, default=1), (len(classes), NUM_ENTRIES)).astype(np.int32)
    channel = np.asarray(histogram._first_channels(jnp.asarray(label), own)) * (slot < NUM_SLOTS)
    base = (slot * own.num_channels + channel) * NUM_BINS
    return base.astype(np.int32), code, np.resize(values, (own.objective.num_outputs + 1, NUM_ENTRIES))


def values_of(dtype):
    """Whole numbers of any size, many of them beside the borders of digits; their sums wrap around."""
    powers = [2**power for power in range(BITS[dtype])]
    near = [sign * power + step for power in powers for sign in (1, -1) for step in (-1, 0, 1)]
    inside = [number for number in near if abs(number) < 2 ** BITS[dtype]]
    anywhere = st.integers(-(2 ** BITS[dtype]), 2 ** BITS[dtype] - 1)
    return st.lists(st.just(0) | st.sampled_from(inside) | anywhere, min_size=1, max_size=NUM_ENTRIES)


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("rules", rest_is_slow(RULES, 2))
def test_products_have_the_bits_of_the_scatter(rules, dtype):
    @example(0, [0])
    @example(1, [-1])
    @example(2, [255, 256, -256, -257])
    @example(3, [-(2 ** BITS[dtype]), 2 ** BITS[dtype] - 1])
    @settings(max_examples=60)
    @given(st.integers(0, 2**16), values_of(dtype))
    def check(seed, values):
        arrays = entries_of(rules, seed, np.array(values, dtype))
        num_cells = (NUM_SLOTS + 1) * RULES[rules].num_channels * NUM_BINS
        before = np.random.default_rng(seed).integers(-1000, 1000, (NUM_FEATURES, 2 * num_cells)).astype(dtype)
        with jax.enable_x64(True):
            expected, found = (way(*map(jnp.asarray, (before, *arrays))) for way in ways(rules))
        # The cells of entries outside all slots are never read.
        used = NUM_SLOTS * RULES[rules].num_channels * NUM_BINS
        assert found.dtype == dtype
        np.testing.assert_array_equal(found[:, :used], expected[:, :used])

    check()


@pytest.mark.parametrize("digits", [(-256, -256), (255, 255), (255, 254), (-256, -255), (255, -256)])
def test_sums_of_a_product_reach_what_float32_holds(digits):
    """All entries add to one cell; those of -256 alone reach -2**24."""
    rules, size = RULES["numbers"], cells.MOST_ENTRIES
    value = np.resize(np.array(digits, np.int32), (2, size))
    zero = jnp.zeros((1, size), jnp.int32)
    before = jnp.zeros((1, 2 * NUM_BINS), jnp.int32)
    found = cells.compare(before, zero, zero, jnp.asarray(value), num_bins=NUM_BINS, rules=rules)
    assert found[0, 0] == found[0, NUM_BINS] == value[0].sum()


def test_more_entries_than_float32_can_sum_are_refused():
    size = cells.MOST_ENTRIES + 1
    base, value = jnp.zeros((1, size), jnp.int32), jnp.ones((2, size), jnp.int32)
    with pytest.raises(AssertionError, match="65537 entries are too many for an exact product"):
        cells.compare(jnp.zeros((1, 10), jnp.int32), base, base, value, num_bins=5, rules=RULES["numbers"])
