"""The kernel for CUDA GPUs on Warp's CPU device: its sums are the scatter's. None of this runs on a GPU."""

import functools
import json
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxtree.growth import Classes, Data, Limits, Numbers, Rules, Sizes, grow
from jaxtree.growth.device import warp_histogram
from jaxtree.growth.device.cells import bases_of, places_of, scatter_at_once
from jaxtree.growth.inputs.bundles import Missing, ResolvedRules, Selection
from jaxtree.growth.loop import prepare
from jaxtree.growth.plan import backends
from jaxtree.kernels import choose

pytest.importorskip("warp", reason="Warp is not installed: pip install 'jaxtree[gpu]'")

NUM_TABLES, NUM_FEATURES = 3, 5


@pytest.fixture
def all_threads():
    """Warp's CPU device runs all threads of a block, not one."""
    import warp

    kernels = (warp_histogram.make_kernel, warp_histogram._jax_kernel)
    before, warp.config.enable_cpu_blocks = warp.config.enable_cpu_blocks, True
    for kernel in kernels:
        kernel.cache_clear()
    yield
    warp.config.enable_cpu_blocks = before
    for kernel in kernels:
        kernel.cache_clear()


def rules_of(objective, counts_rows=False):
    return ResolvedRules(
        objective, Missing.BRANCH, Selection.GAIN, counts_rows, *(False,) * 6, kinds=None, is_scaled=False,
        has_missing=False, has_missing_branch=False, has_monotone=False, has_close_values=False, has_sets=False,
    )  # fmt: skip


RULES = {
    "classes": rules_of(Classes(3)),
    "classes, rows counted": rules_of(Classes(2), counts_rows=True),
    "classes of two outputs": rules_of(Classes(2, num_outputs=2), counts_rows=True),
    "numbers": rules_of(Numbers()),
    "numbers of two outputs, rows counted": rules_of(Numbers(num_outputs=2), counts_rows=True),
}


def entries_of(rules, *, num_entries, num_slots, num_bins, code_type, order="any"):
    """Codes, features, rows, cell bases and values; a tenth of the entries are in no slot."""
    rng = np.random.default_rng(0)
    strip = num_slots * rules.num_channels * num_bins
    slot = rng.integers(0, num_slots, num_entries)
    slot = np.sort(slot) if order == "sorted" else slot
    is_outside = rng.random(num_entries) < (1 if order == "outside" else 0.1)
    bases = []
    for label, channel in bases_of(rules):
        channels = channel if label < 0 else channel + rng.integers(0, rules.objective.classes[label], num_entries)
        bases.append(np.where(is_outside, strip, (slot * rules.num_channels + channels) * num_bins))
    value_type, most = (np.int64, 2**50) if rules.has_wide_sums else (np.int32, 9)
    num_values = 1 + max(added for _, _, added in rules.additions)
    value = rng.integers(-most, most, (num_values, num_entries)).astype(value_type)
    value[0] = np.maximum(value[0], 0)
    codes = rng.integers(0, num_bins, (NUM_FEATURES, 1000)).astype(code_type)
    # Some are past all features, as those of padding are.
    features = rng.integers(0, NUM_FEATURES + 1, (NUM_TABLES, num_slots)).astype(np.int32)
    row = rng.integers(0, 1000, num_entries).astype(np.int32)
    return codes, features, row, np.stack(bases).astype(np.int32), value


def assert_sums_are_the_scatters(rules, num_bins, entries, *, per_slot=False):
    codes, features, row, base, value = entries
    bins_of_slot = rules.num_channels * num_bins
    strip = features.shape[1] * bins_of_slot
    features = features if per_slot else features[:, :1]
    at = features[:, np.minimum(base[0] // bins_of_slot, features.shape[1] - 1)]
    code = codes[np.minimum(at, len(codes) - 1), row].astype(np.int32)
    past = num_bins * max(place.past for place in places_of(rules))
    with jax.enable_x64(True):
        # The numbers in the tables stay.
        tables = jnp.ones((len(features), strip + past + num_bins), value.dtype)
        where = {"num_bins": num_bins, "rules": rules}
        expected = scatter_at_once(tables, *map(jnp.asarray, (base, code, value)), **where)
        add = jax.jit(functools.partial(warp_histogram.add_at_once, **where))
        sums = add(tables, *map(jnp.asarray, (codes, features, row, base, value)))
        np.testing.assert_array_equal(sums[:, :strip], expected[:, :strip])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("per_slot", [False, True], ids=["", "features of slots"])
def test_sums_are_the_scatters(name, per_slot):
    entries = entries_of(RULES[name], num_entries=3000, num_slots=8, num_bins=32, code_type=np.uint8)
    assert_sums_are_the_scatters(RULES[name], 32, entries, per_slot=per_slot)


@pytest.mark.parametrize("order", ["any", "sorted", "outside"])
@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_sums_are_the_scatters_where_a_level_has_more_cells_than_a_block(name, order):
    rules, num_bins = RULES[name], 512
    sizes = {"num_entries": 2 * warp_histogram.ENTRIES + 5, "num_slots": 32, "num_bins": num_bins}
    assert 32 * num_bins * rules.num_channels > warp_histogram.BYTES // 4
    entries = entries_of(rules, **sizes, code_type=np.uint16, order=order)
    assert_sums_are_the_scatters(rules, num_bins, entries)


@pytest.mark.parametrize("num_slots", [1, 3, 64])
def test_threads_of_a_block_share_their_cells(num_slots, all_threads):
    """With few slots, threads add to copies of the cells."""
    rules = RULES["classes, rows counted"]
    entries = entries_of(rules, num_entries=4000, num_slots=num_slots, num_bins=256, code_type=np.uint8)
    assert_sums_are_the_scatters(rules, 256, entries)


@pytest.mark.parametrize("number", [2**32 - 1, 2**31, 2**62 + 2**32 - 1, -1, -(2**32), -(2**62) - 1])
def test_halves_of_wide_sums_carry(number, all_threads):
    rules = RULES["numbers"]
    *where, value = entries_of(rules, num_entries=1500, num_slots=2, num_bins=4, code_type=np.uint8)
    assert_sums_are_the_scatters(rules, 4, (*where, np.full_like(value, number)))


def test_the_kernel_is_tried_before_it_is_used():
    assert warp_histogram.sums_as_numpy(jax.devices("cpu")[0])


def test_the_kernel_is_tried_while_a_program_is_traced():
    """As where `grow` is a part of the user's program."""
    found = []
    jax.jit(lambda x: found.append(warp_histogram.sums_as_numpy(jax.devices("cpu")[0])) or x)(1)
    jax.vmap(lambda x: found.append(warp_histogram.sums_as_numpy(jax.devices("cpu")[0])) or x)(jnp.ones(2))
    assert found == [True, True]


def test_wrong_sums_are_noticed(monkeypatch):
    usual = warp_histogram._add
    monkeypatch.setattr(warp_histogram, "_add", lambda *given, **where: usual(*given, **where).at[0, 0].add(1))
    assert not warp_histogram.sums_as_numpy(jax.devices("cpu")[0])


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Warp believes that there is a GPU."""
    import warp

    monkeypatch.setattr(warp, "is_cuda_available", lambda: True)
    monkeypatch.setattr(jax, "local_devices", lambda backend: jax.devices("cpu"))
    monkeypatch.delenv("JAXTREE_NATIVE", raising=False)
    warp_histogram.is_available.cache_clear()
    yield
    warp_histogram.is_available.cache_clear()


def test_a_gpu_sums_in_shared_memory_where_the_kernel_works(on_a_gpu):
    assert prepare.backend_of("gpu") == backends.GPU_WITH_WARP
    assert prepare.backend_of("gpu", 2) == backends.GPU
    assert prepare.backend_of("tpu") == backends.TPU


def test_a_variable_switches_the_kernel_off(on_a_gpu, monkeypatch):
    monkeypatch.setenv("JAXTREE_NATIVE", "0")
    assert prepare.backend_of("gpu") == backends.GPU


def test_nothing_is_tried_without_a_gpu(monkeypatch):
    monkeypatch.setattr(warp_histogram, "sums_as_numpy", lambda device: pytest.fail("it was tried"))
    warp_histogram.is_available.cache_clear()
    if jax.devices()[0].platform != "gpu":
        assert prepare.backend_of("gpu") == backends.GPU


@pytest.mark.parametrize("failure", [RuntimeError("no compiler"), None], ids=["fails to compile", "wrong sums"])
def test_xla_sums_where_the_kernel_fails_after_one_warning(failure, on_a_gpu, monkeypatch):
    def fail(device):
        if failure is not None:
            raise failure
        return False

    monkeypatch.setattr(warp_histogram, "sums_as_numpy", fail)
    with pytest.warns(UserWarning, match="no compiler" if failure else "its sums are wrong"):
        assert prepare.backend_of("gpu") == backends.GPU
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert prepare.backend_of("gpu") == backends.GPU


@pytest.mark.slow
def test_several_weights_at_a_time(monkeypatch):
    """Growth under `jax.vmap` calls the kernel once for each."""
    monkeypatch.setattr(choose, "is_there", lambda: False)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 16, (3, 200)).astype(np.uint8)
    target = ((codes[0] > 8) ^ (codes[1] > 5)).astype(np.int32)
    weights = rng.integers(0, 3, (3, 200)).astype(np.int32)

    def grow_with(weight):
        limits, rules, sizes = Limits(max_depth=4), Rules(Classes(2)), Sizes(num_bins=16, capacity=64)
        return grow(Data(codes, target, weight), None, limits, rules, sizes).tree

    one_by_one = [grow_with(weight) for weight in weights]
    monkeypatch.setattr(prepare, "backend_of", lambda *_: backends.GPU_WITH_WARP)
    together = jax.vmap(grow_with)(weights)
    for number, tree in enumerate(one_by_one):
        for field in ("feature", "code", "num_rows", "first_child"):
            np.testing.assert_array_equal(getattr(together, field)[number], getattr(tree, field))


@pytest.mark.slow
@pytest.mark.parametrize("sum_type", ["int32", "int64"])
def test_it_compiles_for_an_h200(sum_type, tmp_path):
    import warp

    kernel = warp_histogram.make_kernel("uint8", sum_type)
    kernel.module.options["block_dim"] = warp_histogram.THREADS
    (path,) = warp.compile_aot_module(kernel.module, arch=90, module_dir=tmp_path, use_ptx=True)
    text = path.read_text()
    # Words of 32 bits are added to a block's cells at once, those of 64 would be compared and tried again.
    assert set(re.findall(r"\b(?:atom|red)\.shared\.\S+", text)) == {"atom.shared.add.u32"}
    assert set(re.findall(r"\b(?:atom|red)\.global\.\S+", text)) == {f"atom.global.add.u{sum_type[3:]}"}
    (sizes,) = (json.loads(file.read_text()) for file in tmp_path.glob("*.meta"))
    assert list(sizes.values()) == [warp_histogram.BYTES]
