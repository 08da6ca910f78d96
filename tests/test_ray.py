"""Fits on two workers of a Ray cluster on this machine."""

import os
import signal
import sys
import time

import numpy as np
import pandas as pd
import pytest
import sklearn.tree

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from jaxtree.estimators.common import growing
from jaxtree.files.container import read_model_file


@pytest.fixture(scope="module")
def ray():
    """Ray with two CPUs, which sends no statistics and looks often whether workers live."""
    ray = pytest.importorskip("ray", reason='this test needs Ray: pip install "jaxtree[ray]"')
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")
        environment.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
        import ray.data
        import ray.train

        ray.data.DataContext.get_current().enable_progress_bars = False
        ray.init("local", num_cpus=2, object_store_memory=100 * 2**20, include_dashboard=False, log_to_driver=False)
        yield ray
        ray.shutdown()


def make_frame():
    """Numbers of which some are missing, words that differ between the halves, and classes that follow from both."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(900, 2)).round(2), columns=["a", "b"])
    frame["word"] = np.where(np.arange(900) < 450, rng.choice(["p", "q"], 900), rng.choice(["r", "q"], 900))
    frame["label"] = np.array(["x", "y", "z"])[(frame.a + frame.b > 0) + (frame.word == "p").astype(int)]
    frame.loc[:40, "b"] = np.nan
    return frame


def make_tree(**parameters):
    """A tree without subsets, whose words are padded differently on a mesh where there are no kernels."""
    return jaxtree.DecisionTreeClassifier(max_depth=4, categorical_splits="one_vs_rest", **parameters)


def fit(ray, frame, folder, estimator=None, num_workers=2, label="label", max_failures=0):
    """`jaxtree.ray.fit` on a frame in blocks of uneven length."""
    blocks = [frame[:600], frame[600:650], frame[650:]]
    failures = ray.train.FailureConfig(max_failures=max_failures)
    return jaxtree.ray.fit(
        make_tree() if estimator is None else estimator,
        ray.data.from_pandas([block for block in blocks if len(block)] or blocks[:1]),
        label=label,
        scaling_config=ray.train.ScalingConfig(num_workers=num_workers),
        run_config=ray.train.RunConfig(storage_path=str(folder), failure_config=failures),
    )


def assert_same_file(tree, alone, folder):
    """All bits of both files are the same, but for the last ones of reported gains and impurities."""
    together, single = folder / "together.jaxtree", folder / "single.jaxtree"
    tree.save(together)
    alone.save(single)
    together, single = read_model_file(together), read_model_file(single)
    assert together.header == single.header
    assert together.arrays.keys() == single.arrays.keys()
    for name, values in single.arrays.items():
        if name.split(".")[-1] in ("gain", "impurity"):
            np.testing.assert_allclose(together.arrays[name], values, rtol=1e-12, atol=1e-14, err_msg=name)
        else:
            np.testing.assert_array_equal(together.arrays[name], values, err_msg=name)


@pytest.mark.slow
def test_two_workers_grow_the_tree_of_one_process_though_one_dies(ray, tmp_path, monkeypatch):
    """Ray replaces the one that is killed in growth, and all begin again. One test, for workers take long to start."""
    fit_part, has_died = jaxtree.ray._fit_part, tmp_path / "has died"

    def fit_part_and_die_once(config):
        def die(*arrays, **keywords):
            has_died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

        if ray.train.get_context().get_world_rank() == 1 and not has_died.exists():
            growing.grow_until_it_fits = die
        fit_part(config)

    monkeypatch.setattr(jaxtree.ray, "_fit_part", fit_part_and_die_once)
    frame, tree = make_frame(), make_tree()
    together = fit(ray, frame, tmp_path, tree, max_failures=1)
    assert has_died.exists()
    assert not hasattr(tree, "tree_")
    assert_same_file(together, tree.fit([frame], y="label"), tmp_path)


@pytest.mark.slow
def test_workers_get_rows_in_the_order_of_the_dataset(ray, tmp_path):
    """Also if the first block is ready last."""

    def wait_for_others(batch):
        (tmp_path / str(batch["id"][0])).touch()
        while batch["id"][0] == 0 and len(list(tmp_path.iterdir())) < 4:
            time.sleep(0.1)
        time.sleep(0.5 * (batch["id"][0] == 0))
        return batch

    dataset = ray.data.range(8, override_num_blocks=4).map_batches(wait_for_others, batch_size=None)
    parts = jaxtree.ray._split_rows(dataset, 3)
    assert [[row["id"] for row in part.take_all()] for part in parts] == [[0, 1], [2, 3, 4], [5, 6, 7]]
    assert not dataset.context.execution_options.preserve_order


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"label": "lable"}, InvalidInputError, r"must be columns .*\['a', 'b', 'word', 'label'\], got \['lable'\]"),
        ({"frame": make_frame()[:0]}, InvalidInputError, "must have a row for each of 2 workers, got 0 rows"),
        ({"frame": make_frame()[:1]}, InvalidInputError, "must have a row for each of 2 workers, got 1 rows"),
        ({"num_workers": (1, 2)}, InvalidInputError, r"an integer num_workers >= 1, got .*num_workers=\(1, 2\)"),
        (
            {"estimator": sklearn.tree.DecisionTreeClassifier()},
            InvalidTypeError,
            "must be a single tree of jaxtree, .*got sklearn.tree._classes.DecisionTreeClassifier",
        ),
        ({"estimator": jaxtree.RandomForestClassifier()}, InvalidTypeError, "single tree.*RandomForestClassifier"),
        ({"estimator": jaxtree.C45Classifier()}, InvalidInputError, "which subtree_raising=True does not allow"),
        ({"estimator": make_tree(max_bins=1)}, InvalidInputError, "'max_bins' parameter .* Got 1"),
        ({"estimator": make_tree(criterion=lambda weight: weight)}, InvalidInputError, "criterion cannot be kept"),
    ],
)
def test_mistakes_are_told_before_workers_start(ray, tmp_path, changed, kind, message):
    with pytest.raises(kind, match=message):
        fit(**{"ray": ray, "frame": make_frame(), "folder": tmp_path, **changed})
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_table_that_is_no_dataset_is_refused(ray):
    with pytest.raises(InvalidTypeError, match=r"must be a ray.data.Dataset, got DataFrame"):
        jaxtree.ray.fit(make_tree(), make_frame(), label="label", scaling_config=ray.train.ScalingConfig())


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.train", None)
    with pytest.raises(MissingExtraError, match=r'jaxtree.ray.fit needs ray.train: pip install "jaxtree\[ray\]"'):
        jaxtree.ray.fit(make_tree(), None, label="label", scaling_config=None)
