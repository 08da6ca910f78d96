"""Programs are let go before a process's memory maps run out, whatever they stand under, and slow ones are told of."""

import gc
import logging
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Jaxpr

import jaxtree
from jaxtree import compilation
from jaxtree import traces as jax_traces
from jaxtree.compilation import PROGRAMS, compiled, num_maps

needs_maps = pytest.mark.skipif(num_maps() is None, reason="the operating system does not list memory maps")
ROOM = 800
EVENT = "/jax/core/compile/backend_compile_duration"
MOST_BYTES = 6 * 2**30
KINDS = (jaxtree.DecisionTreeClassifier, jaxtree.DecisionTreeRegressor, jaxtree.RandomForestClassifier)


def folded(x, times):
    """A program of some hundred memory maps."""

    def step(_, x):
        for number in range(4):
            x = jnp.sort(jnp.sin(x * number + times)) + jnp.cumsum(jnp.where(x > number, x, 0.0))
        return x

    return jax.lax.fori_loop(0, 2, step, x)


@pytest.fixture
def little_room(monkeypatch):
    PROGRAMS.clear()
    monkeypatch.setattr(PROGRAMS, "most_maps", ROOM)


def made():
    return compiled("times")(lambda x, *, times: folded(x, times))


def rows(size):
    return np.linspace(-1, 1, size, dtype=np.float32)


@pytest.mark.slow
@needs_maps
def test_programs_of_many_shapes_leave_room_for_others(little_room):
    function = made()
    function(rows(10), times=1)
    maps_of_one = PROGRAMS.total_maps
    assert 20 < maps_of_one < ROOM / 2
    PROGRAMS.clear()
    start, num_shapes = num_maps(), 3 * ROOM // maps_of_one
    for size in range(11, 11 + num_shapes):
        function(rows(size), times=1)
        assert num_maps() - start <= ROOM + maps_of_one
        assert PROGRAMS.total_maps <= ROOM
    assert function.num_programs() == num_shapes


@needs_maps
def test_the_program_used_last_stays(little_room):
    function = made()
    function(rows(10), times=1)
    for size in range(11, 21):
        function(rows(10), times=1)
        function(rows(size), times=1)
    assert function.num_programs() == 11
    function(rows(11), times=1)
    assert function.num_programs() == 12, "all fit in: the test shows nothing"


def test_programs_of_few_maps_count_for_the_memory_they_take(little_room):
    function = compiled()(lambda x: x + 1)
    sizes = range(10, 11 + ROOM // compilation.MAPS_BESIDES)
    for size in (*sizes, sizes[0]):
        function(rows(size))
        assert PROGRAMS.total_maps <= ROOM
    assert function.num_programs() == len(sizes) + 1


@pytest.mark.slow
@needs_maps
def test_memory_is_handed_back_when_programs_are_let_go(little_room, monkeypatch):
    trims = []
    monkeypatch.setattr(compilation, "trim_heap", lambda: trims.append(0))
    function, size = made(), 10
    while PROGRAMS.total_maps < ROOM / 2:
        function(rows(size), times=1)
        size += 1
    assert not trims
    for more in range(size, 3 * size + 10):
        function(rows(more), times=1)
    assert trims and set(trims) == {0}


def test_static_keywords_and_types_are_told_apart():
    function = made()
    for dtype in (np.float32, np.float16):
        for times in (1, 2):
            x = rows(7).astype(dtype)
            np.testing.assert_allclose(function(x, times=times), folded(x, times), rtol=1e-2)


def test_a_compiled_function_stands_under_transformations():
    @compiled("power")
    def total(x, *, power):
        return jnp.sum(x**power)

    x = jnp.arange(1.0, 4.0)
    assert total(x, power=2) == 14
    assert jax.jit(lambda x: 2 * total(x, power=2))(x) == 28
    assert jax.vmap(lambda x: total(x, power=3))(jnp.stack([x, 2 * x])).tolist() == [36, 288]
    assert jax.grad(lambda x: total(x, power=2))(x).tolist() == [2, 4, 6]


def test_what_is_only_traced_is_let_go_too(little_room):
    function = made()
    for size in range(5, 5 + 2 * ROOM // compilation.LEAST_MAPS):
        jax.eval_shape(lambda x: function(x, times=1), rows(size))
    assert 0 < PROGRAMS.total_maps <= ROOM


def test_threads_share_programs(little_room):
    function = made()
    sizes = [5, 6, 7] * 8
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda size: np.asarray(function(rows(size), times=1)), sizes))
    for size, values in zip(sizes, found, strict=True):
        np.testing.assert_array_equal(values, found[sizes.index(size)])


def test_a_slow_compilation_is_told_once(monkeypatch, caplog):
    monkeypatch.setattr(compilation, "SLOW_COMPILATION", 0.0)
    caplog.set_level(logging.INFO, "jaxtree")
    function = compiled(what=lambda x: f"a sum of {x.size} rows")(lambda x: jnp.sum(x) * 3)
    for _ in range(2):
        function(rows(11))
    (record,) = caplog.records
    assert record.name == "jaxtree"
    assert record.getMessage().startswith("compiled a sum of 11 rows in ")
    assert record.getMessage().endswith(f" s; kept in {jax.config.jax_compilation_cache_dir} for other processes")


def test_a_log_says_that_a_program_is_not_kept(monkeypatch, caplog):
    monkeypatch.setattr(compilation, "SLOW_COMPILATION", 0.0)
    caplog.set_level(logging.INFO, "jaxtree")
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        compiled()(lambda x: jnp.sum(x) * 5)(rows(11))
    finally:
        jax.config.update("jax_enable_compilation_cache", True)
    assert caplog.text.endswith(" s; not kept for other processes\n")


def test_quick_compilations_are_not_told_of(caplog):
    caplog.set_level(logging.INFO, "jaxtree")
    compiled()(lambda x: jnp.sum(x) * 7)(rows(11))
    assert not caplog.records


@pytest.fixture
def sweeps_often(monkeypatch):
    monkeypatch.setattr(compilation, "PROGRAMS_PER_SWEEP", 4)


def helped(x):
    """A program that calls functions of `jax.numpy` which JAX traces by themselves."""
    x = jnp.where(x > 0, jnp.sort(x), jnp.cumsum(x)) + jnp.take(x, jnp.arange(3)).sum()
    return jax.vmap(lambda a: jnp.clip(a, 0, 1))(x).at[0].set(jnp.mean(x)) + jnp.searchsorted(x, 0.5)


def num_traces():
    gc.collect()
    return sum(isinstance(each, Jaxpr) for each in gc.get_objects())


@pytest.mark.slow
def test_traces_of_programs_of_many_shapes_are_dropped(little_room, sweeps_often):
    """JAX keeps those of its own functions without a limit, some 20 for every program here."""
    function, traces = compiled()(helped), []
    for size in range(5, 38):
        jax.eval_shape(lambda x: function(x), rows(size))
        if size in (21, 29, 37):
            traces.append(num_traces())
    assert max(traces) <= min(traces) + 20 * compilation.PROGRAMS_PER_SWEEP


def test_dropping_traces_compiles_and_traces_nothing_again():
    """Neither programs of the package, nor programs of the user, nor operations by themselves."""
    seen, x = [], jnp.asarray(rows(9))

    @jax.jit
    def users(x):
        seen.append("traced")
        return helped(x)

    own = compiled()(helped)

    def run():
        alone = jnp.where(x > 0, jnp.sort(x), jnp.cumsum(x)) + jnp.clip(x, 0, 1) * jnp.mean(x)
        return [np.asarray(each) for each in (users(rows(9)), own(rows(9)), alone)]

    first = run()
    seen.clear()
    listener = lambda event, _, **__: seen.append(event)  # noqa: E731
    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        jax_traces.drop_traces_of_jax()
        jax.eval_shape(users, rows(9))
        again = run()
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)
    assert "traced" not in seen
    assert EVENT not in seen
    np.testing.assert_array_equal(first, again)


@pytest.mark.slow
@needs_maps
def test_memory_of_a_process_that_traces_ever_new_shapes_levels_off(little_room, sweeps_often):
    """It grew by 150 kB for every shape, for ever."""
    function = compiled()(helped)

    def trace(sizes):
        for size in sizes:
            jax.eval_shape(lambda x: jax.vmap(function)(x), np.ones((3, size), np.float32))
        return resident_bytes()

    before = trace(range(5, 35))
    assert trace(range(35, 185)) - before < 15 * 2**20


@pytest.mark.slow
def test_threads_trace_while_traces_are_dropped(monkeypatch):
    monkeypatch.setattr(compilation, "PROGRAMS_PER_SWEEP", 1)
    function = compiled()(helped)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda size: function(rows(size)), range(5, 29)))
    for size, values in zip(range(5, 29), found, strict=True):
        np.testing.assert_allclose(values, helped(jnp.asarray(rows(size))), rtol=1e-6)


@pytest.mark.exhaustive
@needs_maps
def test_a_process_survives_500_shapes():
    """Half of a process's maps, and the memory of such programs: thrice that of optimised ones of as many maps."""
    rng = np.random.default_rng(0)
    for number in range(500):
        num_rows, num_columns = int(rng.integers(20, 500)), int(rng.integers(2, 13))
        X, label = rng.normal(size=(num_rows, num_columns)), rng.integers(0, rng.integers(2, 40), num_rows)
        X[:, : rng.integers(num_columns)] //= 0.5
        X[rng.random(X.shape) < rng.choice([0, 0.1])] = np.nan
        weight = rng.random(num_rows) if rng.random() < 0.3 else None
        kind = KINDS[number % len(KINDS)]
        size = {"n_estimators": int(rng.integers(2, 100))} if "Forest" in kind.__name__ else {}
        estimator = kind(max_depth=int(rng.integers(1, 12)), random_state=number, **size)
        estimator.fit(X, label, sample_weight=weight).predict(X)
        assert PROGRAMS.total_maps <= compilation.MOST_MAPS
        assert num_maps() < 1.5 * compilation.MOST_MAPS
        assert resident_bytes() < MOST_BYTES, f"after {number} fits"
    # They are no programs of this file's other tests.
    PROGRAMS.clear()


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
