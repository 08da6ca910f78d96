"""Forests: the same whatever the batches, and each tree the one that its rows give."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtree.forests.forest as growing
from jaxtree.forests.forest import Course, Rows, Sampling, grow_forest, sampler_of
from jaxtree.growth.inputs.bundles import NO_LIMIT, Data, Features, Limits, Rules, Sizes
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.growth.loop.grow import grow_until_it_fits, root_seeds
from jaxtree.kernels import choose
from jaxtree.tree import take_tree

GROW = "grow_on_host" if choose.is_there() else "grow_checked"
"""The function that grows a batch of trees here."""

KEY = jax.random.key(11)
NUM_ROWS, NUM_TREES = 300, 7
RNG = np.random.default_rng(5)
CODES = RNG.integers(0, 8, (8, NUM_ROWS)).astype(np.uint8)
FEATURES = Features(np.zeros(8, np.int32), np.full(8, 8, np.int32))
CLASSES = Rows(CODES, ((CODES[0] + CODES[1] > 7) ^ (RNG.random(NUM_ROWS) < 0.1)).astype(np.int32)[None], 2, 8)
NUMBERS = Rows(CODES, (CODES[2] * 3.7 + 1e6 + RNG.normal(size=NUM_ROWS))[None], 0, 8)
LIMITS = Limits(max_features=3)
BOOTSTRAP = Sampling(NUM_ROWS)


def rules_of(rows):
    objective = Classes(rows.num_classes) if rows.num_classes else Numbers()
    return Rules(objective, samples_features=True)


def forest_of(rows, num_trees=NUM_TREES, *, limits=LIMITS, sampling=BOOTSTRAP, key=KEY, first_tree=0, **course):
    trees = range(first_tree, first_tree + num_trees)
    return grow_forest(rows, FEATURES, limits, sampling, rules_of(rows), key=key, trees=trees, course=Course(**course))


@pytest.fixture(scope="module", params=["classes", "numbers"])
def grown(request):
    rows = CLASSES if request.param == "classes" else NUMBERS
    return rows, forest_of(rows)


def assert_same(one, other, *, but=()):
    assert one.first_node.tolist() == other.first_node.tolist()
    for field in dataclasses.fields(one.nodes):
        if field.name not in but:
            assert np.array_equal(getattr(one.nodes, field.name), getattr(other.nodes, field.name)), field.name


@pytest.mark.parametrize("course", [dict(trees_per_batch=1), dict(trees_per_batch=3), dict(num_threads=2)], ids=str)
def test_the_forest_does_not_depend_on_batches_and_threads(grown, course):
    rows, forest = grown
    # The impurity of numbers is reported from squares, which are rounded.
    assert_same(forest_of(rows, **course), forest, but=() if rows.num_classes else ("impurity", "gain"))


def test_a_forest_is_a_part_of_a_larger_one(grown):
    rows, forest = grown
    fewer, rest = forest_of(rows, 4), forest_of(rows, NUM_TREES - 4, first_tree=4)
    parts = [*fewer, *rest]
    for number, tree in enumerate(forest):
        assert np.array_equal(tree.code, parts[number].code)
        assert np.array_equal(tree.count, parts[number].count)
        assert np.array_equal(tree.target_sum, parts[number].target_sum)


def test_trees_differ_and_so_do_keys(grown):
    rows, forest = grown
    assert len({tree.code.tobytes() for tree in forest}) == NUM_TREES
    assert forest_of(rows, key=jax.random.key(12))[0].code.tobytes() != forest[0].code.tobytes()


def test_a_tree_is_the_one_of_its_rows_as_copies(grown):
    rows, forest = grown
    counts = sampler_of(rows, BOOTSTRAP, KEY).draw_counts(1, 1)[0]
    copies = np.repeat(np.arange(NUM_ROWS, dtype=np.int32), counts)
    ones, padding = np.ones(NUM_ROWS, np.int32), (0, 2048 - NUM_ROWS)
    own_key = jax.random.fold_in(jax.random.split(KEY)[1], 1)
    with jax.enable_x64(True):
        data = Data(
            *(np.pad(values, ((0, 0), padding)) for values in (CODES, rows.target)),
            *(np.pad(values, padding) for values in (ones, copies)),
            root=np.zeros(2048, int),
        )
        sizes = Sizes(num_bins=8, capacity=4096, num_roots=16)
        seeds = np.asarray(root_seeds(jnp.stack([own_key] * 16), 16))
        given = {"root_seed": seeds, "engine": choose.choose("cpu")}
        table = grow_until_it_fits(data, FEATURES, LIMITS, rules_of(rows), sizes, **given)
    alone, tree = take_tree(table), forest[1]
    for name in ("feature", "code", "next_code", "num_children", "parent", "depth", "weight", "count"):
        assert np.array_equal(getattr(alone, name), getattr(tree, name)), name
    assert (alone.num_rows >= tree.num_rows).all()
    assert np.allclose(alone.target_sum, tree.target_sum, rtol=1e-12)


def test_trees_of_a_batch_may_have_limits_of_their_own():
    depths = np.array([1, 2, 3, 4, 5, 6, NO_LIMIT])
    forest = forest_of(CLASSES, limits=Limits(max_features=3, max_depth=depths), trees_per_batch=3)
    for number in (0, 2, 3, 6):
        alone = forest_of(CLASSES, 1, first_tree=number, limits=Limits(max_features=3, max_depth=int(depths[number])))
        assert np.array_equal(forest[number].count, alone[0].count)
        assert forest[number].max_depth <= depths[number]
    assert forest[6].max_depth > 6


def test_the_least_share_is_one_of_each_tree_s_weight():
    share = 0.1
    forest = forest_of(CLASSES, sampling=BOOTSTRAP._replace(least_share=share))
    branches = forest.nodes.weight[forest.nodes.depth > 0]
    assert branches.min() >= share * NUM_ROWS
    assert branches.min() < 2 * share * NUM_ROWS


@pytest.mark.slow
def test_classes_of_a_sample_are_balanced():
    sampling = Sampling(50, balances_classes=True)
    forest = forest_of(CLASSES, sampling=sampling)
    counts = sampler_of(CLASSES, sampling, KEY).draw_counts(0, NUM_TREES)
    for number, tree in enumerate(forest):
        assert np.allclose(tree.count[0], 25)
        drawn = np.bincount(CLASSES.target[0], counts[number])
        leaf = tree.is_leaf
        whole = tree.count[leaf] * drawn / 25
        assert np.allclose(whole, np.round(whole), atol=1e-6)


def test_too_little_memory_makes_batches_smaller(grown, monkeypatch):
    rows, forest = grown
    sizes = []

    def grow_if_small(*arrays, **keywords):
        entries = arrays[0].root
        sizes.append(int(entries.max()) + 1)
        if sizes[-1] > 2:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes")
        return growing_grow(*arrays, **keywords)

    growing_grow = getattr(growing, GROW)
    monkeypatch.setattr(growing, GROW, grow_if_small)
    assert_same(forest_of(rows), forest, but=() if rows.num_classes else ("impurity", "gain"))
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]


def test_too_little_room_for_nodes_is_widened(grown, monkeypatch):
    """In a program the first calls say that the table was full; the kernel on the host makes room."""
    rows, forest = grown
    rooms = []

    def grow_if_roomy(*arrays, **keywords):
        *others, sizes, seeds = arrays
        rooms.append(sizes.capacity)
        growth = growing_grow(*others, sizes._replace(capacity=4096, entry_capacity=None), seeds, **keywords)
        return growth._replace(complete=growth.complete & (rooms[-1] > 1000))

    growing_grow = growing.grow_checked
    monkeypatch.setattr(growing, "engine_of", lambda *_, **__: choose.Engine.PROGRAM)
    monkeypatch.setattr(growing, "grow_checked", grow_if_roomy)
    monkeypatch.setattr(growing, "capacity_bucket", lambda size, num_classes: size)
    monkeypatch.setattr(growing, "NODES_PER_ENTRY", 0.1)
    again = forest_of(rows, trees_per_batch=4)
    assert_same(again, forest, but=() if rows.num_classes else ("impurity", "gain"))
    # The second batch begins with the room that the first has found.
    assert len(rooms) == (4 if rows.num_classes else 2)
    assert rooms[-1] == rooms[-2] > 1000


def test_an_interrupt_leaves_the_trees_before_it(grown, monkeypatch):
    rows, forest = grown
    calls = []

    def grow_twice(*arrays, **keywords):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(keywords)
        return growing_grow(*arrays, **keywords)

    growing_grow = getattr(growing, GROW)
    monkeypatch.setattr(growing, GROW, grow_twice)
    kept = forest_of(rows, trees_per_batch=2)
    assert len(kept) == 4
    for number in range(4):
        assert np.array_equal(kept[number].code, forest[number].code)
