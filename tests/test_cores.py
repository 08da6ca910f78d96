"""Cores are counted in one place, and `n_jobs` bounds all threads of an estimator."""

import os
import pathlib
import re
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import jaxtree
from jaxtree import cores
from jaxtree.blocks import in_threads, threads_for
from jaxtree.cores import num_cores, using_cores, with_share_of_cores
from jaxtree.kernels import library
from tests.marks import in_turn, rest_is_slow

PACKAGE = pathlib.Path(cores.__file__).parent


@pytest.fixture
def four(monkeypatch):
    """A process that may use four cores, where nothing else is said."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    cores._count.cache_clear()
    yield
    cores._count.cache_clear()


def test_cores_are_counted_in_one_place():
    asks = re.compile(r"cpu_count|len\(os\.sched_getaffinity")
    found = {path.name for path in PACKAGE.rglob("*.py") if asks.search(path.read_text())}
    assert found == {"cores.py"}


def test_a_quota_counts_and_the_variable_of_openmp_takes_fewer(four, monkeypatch):
    assert num_cores() == 4 and threads_for(10**6) == 4
    for value, expected in (("3", 3), ("2,1", 2), ("9", 4), ("0", 4), ("many", 4), ("", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert num_cores() == expected, value


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes are not bound to cores here")
def test_affinity_counts_and_may_change(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    allowed = os.sched_getaffinity(0)
    before = num_cores()
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert num_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert num_cores() == before


def test_jobs_count_as_in_joblib_and_an_outer_number_bounds_an_inner_one(four):
    for n_jobs, expected in ((1, 1), (3, 3), (8, 8), (-1, 4), (-2, 3), (-9, 1)):
        with using_cores(n_jobs):
            assert num_cores() == expected
    for n_jobs, expected in ((1, 1), (3, 2), (-1, 2), (-2, 1)):
        with using_cores(2), using_cores(n_jobs):
            assert num_cores() == expected
    assert num_cores() == 4


def test_threads_share_the_cores_of_their_caller(four):
    seen = in_threads(lambda _: num_cores(), range(2), num_threads=2)
    assert seen == [2, 2]
    with using_cores(1), ThreadPoolExecutor(3) as pool:
        assert list(pool.map(with_share_of_cores(lambda _: num_cores(), 3), range(3))) == [1, 1, 1]


def seconds_of(work):
    """The processor's time of some work in this thread, and in all others, also those that have ended."""
    before = time.thread_time(), time.process_time()
    work()
    own, total = time.thread_time() - before[0], time.process_time() - before[1]
    return own, total - own


FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")

USES = {
    "fit": lambda forest, X, y: forest.fit(X, y),
    "predict": lambda forest, X, _: [forest.predict(X) for _ in range(5)],
    "apply": lambda forest, X, _: [forest.apply(X) for _ in range(5)],
    "search": lambda forest, X, y: jaxtree.SearchCV(forest, {"ccp_alpha": [0.0, 1e-4]}, cv=2).fit(X, y),
}


@pytest.mark.skipif(library.load() is None, reason="without the kernel, XLA has its own threads")
@pytest.mark.parametrize(("kind", "use"), in_turn(rest_is_slow(FORESTS), USES))
def test_one_job_is_one_thread(kind, use):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140_000, 6))
    y = X[:, 0] + rng.normal(size=len(X)) > 0
    forest = getattr(jaxtree, kind)(8, max_depth=9, n_jobs=1, random_state=0).fit(X, y)
    own, others = seconds_of(lambda: USES[use](forest, X, y))
    assert others < 0.02 + own / 20, (own, others)


@pytest.mark.skipif(library.load() is None, reason="the kernel has threads of its own")
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads of a process are not counted here")
def test_threads_that_fit_at_once_share_those_of_the_kernel_and_get_what_each_gets_alone():
    X = np.random.default_rng(0).normal(size=(4_000, 8)).astype(np.float32)
    targets = [(X[:, column] * X[:, column + 1] > 0).astype(int) for column in range(6)]

    def fitted(y):
        return jaxtree.GradientBoostingClassifier(8, max_leaf_nodes=15).fit(X, y).predict_proba(X)

    def num_threads():
        return len(os.listdir("/proc/self/task"))

    alone = [fitted(y) for y in targets]
    before = num_threads()
    with ThreadPoolExecutor(len(targets)) as pool:
        beside = list(pool.map(fitted, targets))
    for own, other in zip(alone, beside, strict=True):
        np.testing.assert_array_equal(own, other)
    # A thread that has ended is there for a moment.
    end = time.monotonic() + 10
    while num_threads() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert num_threads() <= before
