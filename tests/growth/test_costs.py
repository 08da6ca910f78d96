"""The costs by which products of matrices take the place of a scatter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree.growth.plan import costs
from jaxtree.growth.plan.costs import Sums

KINDS = {"CPU": costs.CPU, "GPU": costs.GPU, "GPU with Warp": costs.GPU_WITH_WARP, "TPU": costs.TPU}
ROOT = Sums(
    num_slots=1, num_channels=2, num_bins=256, num_features=28, num_values=2, num_digits=2, num_entries=10**6,
    num_models=1,
)  # fmt: skip
DISFAVOURS_PRODUCTS = ("num_slots", "num_channels", "num_bins", "num_digits")
FAVOURS_PRODUCTS = ("num_features", "num_values", "num_entries", "num_models")
POWERS = [2**power for power in range(12)]

any_sums = st.builds(
    Sums, st.integers(1, 1024), st.integers(1, 30), st.integers(2, 1024), st.integers(1, 200), st.integers(1, 30),
    st.integers(1, 8), st.integers(1, 10**7), st.integers(1, 1000),
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@given(any_sums, st.sampled_from(Sums._fields), st.integers(1, 100))
def test_what_favours_a_way_never_disfavours_it(kind, sums, field, more):
    own, grown = KINDS[kind], sums._replace(**{field: getattr(sums, field) + more})
    less, greater = own.prefers_product(sums), own.prefers_product(grown)
    assert less >= greater if field in DISFAVOURS_PRODUCTS else less <= greater


def test_every_size_favours_one_way():
    assert {*DISFAVOURS_PRODUCTS, *FAVOURS_PRODUCTS} == {*Sums._fields}


@pytest.mark.parametrize(
    ("kind", "sums", "most_slots"),
    [
        ("CPU", ROOT._replace(num_models=32, num_bins=32), 0),
        # Of one model the codes as zeros and ones cost more than its additions.
        ("GPU", ROOT, 0),
        ("GPU", ROOT._replace(num_models=32), 4),
        ("GPU", ROOT._replace(num_models=32, num_bins=32), 32),
        ("GPU", ROOT._replace(num_models=32, num_digits=6), 0),
        # The host would wait for longer than all additions take.
        ("GPU", ROOT._replace(num_models=32, num_entries=1000), 0),
        # Shared memory is added to in half the time.
        ("GPU with Warp", ROOT, 0),
        ("GPU with Warp", ROOT._replace(num_models=32), 1),
        ("GPU with Warp", ROOT._replace(num_models=32, num_bins=32), 16),
        ("TPU", ROOT, 256),
        ("TPU", ROOT._replace(num_digits=6), 8),
    ],
)
def test_typical_levels(kind, sums, most_slots):
    preferred = [slots for slots in POWERS if KINDS[kind].prefers_product(sums._replace(num_slots=slots))]
    assert max(preferred, default=0) == most_slots
