"""The order of entries for a scan."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.growth.device import sorted_scan


@pytest.mark.parametrize("bits", [sorted_scan.BITS_OF_WORD, 16], ids=["in one word", "in two"])
def test_entries_are_sorted_by_slot_and_code_in_their_old_order(bits, monkeypatch):
    monkeypatch.setattr(sorted_scan, "BITS_OF_WORD", bits)
    rng, num_slots, num_codes = np.random.default_rng(0), 7, 300
    slot = np.sort(rng.integers(0, num_slots + 1, 1000))
    code = np.where(slot < num_slots, rng.integers(0, num_codes, 1000), 0)
    with jax.enable_x64(True):
        sizes = {"num_slots": num_slots, "num_codes": num_codes}
        place, sorted_code = sorted_scan._sorted_places(jnp.asarray(slot), jnp.asarray(code), **sizes)
    order = np.lexsort((code, slot))
    np.testing.assert_array_equal(place, order)
    np.testing.assert_array_equal(sorted_code, code[order])
