"""The costs by which products of matrices take the place of a scatter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtree.growth.plan import costs
from jaxtree.growth.plan.costs import Sums

KINDS = {"CPU": costs.CPU, "GPU": costs.GPU, "GPU with Warp": costs.GPU_WITH_WARP, "TPU": costs.TPU}
DISFAVOURS_PRODUCTS = ("num_slots", "num_channels", "num_bins", "num_digits")
FAVOURS_PRODUCTS = ("num_features", "num_values", "num_entries", "num_models")

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


@pytest.mark.parametrize("kind", KINDS)
@given(any_sums, st.sampled_from([2.0**-20, 2.0**20]))
def test_the_unit_of_time_is_of_no_account(kind, sums, unit):
    own = KINDS[kind]
    times = {name: getattr(own, name) * unit for name in ("wait", "multiply_add", "byte", "scatter")}
    assert own._replace(**times).prefers_product(sums) == own.prefers_product(sums)
