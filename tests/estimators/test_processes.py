"""Fits by two processes on this machine, over loopback."""

import os
import pathlib
import re
import socket
import subprocess
import sys

import jax
import numpy as np
import pandas as pd
import pytest
from jax.sharding import Mesh
from sklearn.base import clone

import jaxtree
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.trees.base import check_fits_together
from tests.estimators.one_process import assert_same

SCRIPT = pathlib.Path(__file__).parent / "one_process.py"
PAGE = pathlib.Path(__file__).parents[2] / "notebooks" / "how_do_i" / "run_on_a_cluster.md"
SECONDS = 240


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def run_both(what):
    """The standard output of both processes, without the lines of JAX's transport."""
    port = free_port()
    return outputs_of(
        subprocess.Popen([sys.executable, SCRIPT, str(rank), port, what], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    )


def outputs_of(started):
    processes = list(started)
    try:
        said = [process.communicate(timeout=SECONDS)[0].splitlines() for process in processes]
        return ["\n".join(line for line in lines if not line.startswith("[Gloo]")) for lines in said]
    finally:
        for process in processes:
            process.kill()


def variables_of_kubeflow(rank, port):
    return {"JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}", "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": str(rank)}


def variables_of_slurm(rank, port):
    of_task = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "JAX_COORDINATOR_PORT": port}
    return of_task | {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_NTASKS": "2"}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["same", "classical"])
def test_two_processes_grow_the_tree_of_one(what):
    """Classes and numbers, weights, values missing in one part, and words that only one part has."""
    assert run_both(what) == ["same trees"] * 2


@pytest.mark.slow
def test_two_processes_make_the_rounds_of_one():
    assert run_both("boosting") == ["same rounds"] * 2


@pytest.mark.slow
def test_two_processes_make_the_terms_of_one():
    assert run_both("additive") == ["same terms"] * 2


@pytest.mark.slow
def test_additive_fits_that_differ_between_processes_are_refused_in_both():
    first, other = (said.splitlines() for said in run_both("wrong additive"))
    common = (
        "InvalidInputError: random_state must be an integer over several processes",
        "InvalidInputError: sample_weight must be given in all processes or in none",
        "InvalidInputError: what the loss asks for must be given in all processes",
        "InvalidInputError: softmax(num_classes=3, hessian='diagonal'): the extra 'offset'",
    )
    for said in (first, other):
        assert [own.startswith(message) for own, message in zip(said[:4], common, strict=True)] == [True] * 4
    assert first[4].startswith("DistributedError: process 1 of 2 gave up, so nothing was fitted")
    assert other[4].startswith("InvalidInputError: The 'max_rounds' parameter")


@pytest.mark.slow
def test_two_processes_take_the_same_statistics_of_many_words():
    assert run_both("words") == ["same statistics"] * 2


@pytest.mark.slow
def test_boosting_that_needs_all_rows_in_one_process_is_refused_in_both():
    first, other = (said.splitlines() for said in run_both("wrong boosting"))
    assert first == other
    messages = (
        "early_stopping over several processes needs eval_set", "warm_start is for fits in one process",
        "random_state must be an integer over several processes",
        "eval_set must hold the same rows in all processes",
    )  # fmt: skip
    assert [said.startswith(message) for said, message in zip(first, messages, strict=True)] == [True] * 4


@pytest.mark.slow
@pytest.mark.parametrize("variables", [variables_of_kubeflow, variables_of_slurm], ids=["Kubeflow", "Slurm"])
def test_the_script_for_clusters_grows_the_tree_of_all_parts(variables, tmp_path):
    """The script of the page, with the variables that a cluster sets."""
    rng = np.random.default_rng(0)
    for part in range(2):
        frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
        frame.assign(label=np.where(frame.a > frame.b, "yes", "no")).to_parquet(tmp_path / f"part-{part}.parquet")
    (script,) = re.findall(r"^```text\n(import os\n.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    port = free_port()
    outputs_of(
        subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, **variables(rank, port)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    )
    together = jaxtree.load(tmp_path / "model.jaxtree")
    parts = [tmp_path / f"part-{part}.parquet" for part in range(2)]
    assert_same(together, clone(together).fit(parts, y="label"))


@pytest.mark.slow
def test_parts_with_other_columns_are_refused_in_both_processes():
    for said in run_both("columns"):
        assert "process 1 has ['x0', 'x1', 'x2', 'x3'], and process 0 has ['x0', 'x1', 'x2']" in said


@pytest.mark.slow
def test_a_process_without_rows_is_told_to_both():
    whole, empty = run_both("no rows")
    assert empty == "InvalidInputError: every process must have at least one row, got none"
    assert whole == f"DistributedError: process 1 of 2 gave up, so nothing was fitted: {empty}"


@pytest.mark.slow
@pytest.mark.parametrize("when", ["dies", "dies in growth", "dies in additive"])
def test_the_death_of_a_process_is_told_and_leaves_no_half_fitted_tree(when):
    survivor, dead = run_both(when)
    assert not dead
    seconds, message = survivor.split(" s: ")
    assert float(seconds) < 60
    assert message.startswith("process 0 of 2 lost touch with another one")


@pytest.mark.slow
def test_one_process_with_a_mesh_grows_the_same_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + X[:, 1] > 0
    mesh = Mesh(np.array(jax.devices()[:2]), ("rows",))
    alone, divided = jaxtree.DecisionTreeClassifier().fit(X, y), jaxtree.DecisionTreeClassifier().fit(X, y, mesh=mesh)
    for name in ("feature", "threshold", "first_child", "count", "num_rows"):
        np.testing.assert_array_equal(getattr(alone.tree_, name), getattr(divided.tree_, name))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (jaxtree.C45Classifier(), "which subtree_raising=True does not allow"),
        (jaxtree.DecisionTreeClassifier(pruning=jaxtree.ReducedError()), r"which pruning=ReducedError\(.*does not"),
        (jaxtree.DecisionTreeClassifier(max_features=1), "random_state must be an integer"),
    ],
)
def test_what_several_processes_cannot_do_is_refused_before_they_meet(estimator, message):
    with pytest.raises(InvalidInputError, match=message):
        check_fits_together(estimator)
