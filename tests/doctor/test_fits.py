"""Fits on a device are compared field by field with the host's, and what fails is told."""

import dataclasses
import json
import pathlib
import subprocess
import types

import jax
import numpy as np
import pytest

import jaxtree
from jaxtree.doctor import running
from jaxtree.doctor.fingerprints import Fingerprint, fingerprint_of, first_difference
from jaxtree.doctor.fits import FITS, PREDICTED, has_prediction, make_table, predicted_seconds
from jaxtree.doctor.growths import GROWTH, WITH_WARP, grow_at
from jaxtree.doctor.running import FitResult, compare, compare_without_kernel, fit_at, fit_peer

ROWS = 240
BY_NAME = {fit.name: fit for fit in FITS}
TREE = BY_NAME["tree of classes"]


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS)


@pytest.fixture(scope="module")
def host(table):
    return fit_at(TREE, table, jax.devices("cpu")[0])


def test_the_table_has_what_the_fits_are_about(table):
    assert np.bincount(table.classes, minlength=3).min() > ROWS / 10
    assert 0 < np.isnan(table.gaps).mean() < 0.05 and not np.isnan(table.X).any()
    # Divisions by powers of two alone: all numbers are whole ones of so many parts.
    assert (table.X * 2.0**7 % 1 == 0).all() and (table.numbers * 8 % 1 == 0).all()


@pytest.mark.parametrize("name", ["tree of classes", "tree of numbers"])
def test_a_second_device_makes_the_trees_of_the_host(table, name):
    first, second = (fit_at(BY_NAME[name], table, device) for device in jax.devices("cpu")[:2])
    assert first.error is None and first.seconds is not None and min(first.seconds) > 0
    (same,) = compare("cpu:1", [second], [first])
    assert (same.place, same.differs, same.error) == ("cpu:1", None, None) and len(same.digest) == 16


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forest", "boosting", "C4.5 with gaps", "soft tree"])
def test_a_second_device_makes_the_other_models_of_the_host(table, name):
    first, second = (fit_at(BY_NAME[name], table, device, repeats=0) for device in jax.devices("cpu")[:2])
    (same,) = compare("cpu:1", [second], [first])
    assert (same.differs, same.error) == (None, None) and first.fingerprint is not None


def test_a_mismatch_names_the_first_field_that_differs(table, host, monkeypatch):
    def wrong(estimator, X, *, has_same_bits):
        tree = estimator.tree_
        threshold = np.nextafter(tree.threshold, np.inf)
        other = dataclasses.replace(tree, threshold=threshold, depth=tree.depth + 1)
        estimator = types.SimpleNamespace(tree_=other, predict=estimator.predict)
        return fingerprint_of(estimator, X, has_same_bits=has_same_bits)

    monkeypatch.setattr(running, "fingerprint_of", wrong)
    (found,) = compare("cpu:1", [fit_at(TREE, table, jax.devices("cpu")[1])], [host])
    assert found.differs == "threshold" and found.error is None


def test_last_bits_of_gains_and_of_predictions_do_not_matter_where_they_may_differ():
    tree = jaxtree.DecisionTreeClassifier(max_depth=2).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    rows = np.zeros((1, 1))
    own = fingerprint_of(tree, rows, has_same_bits=True)
    for gain, differs in ((tree.tree_.gain * (1 + 1e-9), None), (tree.tree_.gain + 0.01, "gain")):
        other = types.SimpleNamespace(tree_=dataclasses.replace(tree.tree_, gain=gain), predict=tree.predict_proba)
        assert first_difference(fingerprint_of(other, rows, has_same_bits=True), own) == differs
    said = types.SimpleNamespace(tree_=tree.tree_, predict=lambda X: tree.predict_proba(X) + 1e-16)
    changed = fingerprint_of(said, rows + 1, has_same_bits=True)
    assert first_difference(changed, own) == "predictions" and changed.digest == own.digest
    assert first_difference(Fingerprint({}, {"predictions": [0.5]}, 1e-3), Fingerprint({}, {"predictions": []}, 1e-3))


def test_a_fit_that_fails_is_one_line_and_goes_on(table, host):
    def broken():
        raise MemoryError("no\nroom in /home")

    failed = fit_at(TREE._replace(make=broken), table, jax.devices("cpu")[0])
    assert failed == FitResult(TREE.name, None, None, "MemoryError: no room in /home")
    (found,) = compare("gpu:0", [failed], [host])
    assert (found.digest, found.differs, found.error) == ("", None, failed.error)


def test_a_growth_is_that_of_the_host_and_predicts_nothing():
    first, second = (grow_at(device, num_rows=1_000) for device in jax.devices("cpu")[:2])
    (same,) = compare("cpu:1", [second], [first])
    assert (same.fit, same.differs, same.error) == (GROWTH, None, None) and len(same.digest) == 16
    assert first.seconds is not None and first.seconds[2] is None
    (broken,) = compare("cpu:1", [grow_at(jax.devices("cpu")[1], num_rows=-1)], [first])
    assert broken.error is not None and broken.error.startswith("ValueError")


def test_scikit_learn_is_timed_where_it_has_the_model(table):
    peer = fit_peer(TREE, table)
    assert peer is not None and peer.place == "scikit-learn's DecisionTreeClassifier"
    assert min(peer.first, peer.later, peer.predict) > 0
    assert fit_peer(BY_NAME["soft tree"], table) is None


@pytest.fixture
def small(monkeypatch):
    """Comparisons without the kernel of one fit."""
    monkeypatch.setattr(running, "OF_TREES", (TREE,))


def test_the_process_without_the_kernel_is_read(small, host, capsys, monkeypatch):
    def run(command, *, env, **_):
        assert env["JAXTREE_NATIVE"] == "0" and env["JAX_PLATFORMS"] == "cpu"
        running.print_fingerprints(ROWS)
        return subprocess.CompletedProcess(command, 0, capsys.readouterr().out, "")

    monkeypatch.setattr(running.subprocess, "run", run)
    (same,) = compare_without_kernel(ROWS, [host])
    assert (same.place, same.differs, same.error) == ("host without kernel", None, None)


def test_a_process_that_ends_badly_is_an_error_of_its_fits(small, host, monkeypatch):
    ended = subprocess.CompletedProcess([], -4, "", "")
    monkeypatch.setattr(running.subprocess, "run", lambda *_, **__: ended)
    (failed,) = compare_without_kernel(ROWS, [host])
    assert (failed.digest, failed.error) == ("", "the process ended with status -4")

    def late(*_, **__):
        raise subprocess.TimeoutExpired([], 1)

    monkeypatch.setattr(running.subprocess, "run", late)
    (failed,) = compare_without_kernel(ROWS, [host])
    assert failed.error == "the process was not done after 300 s"


@pytest.mark.slow
def test_xla_makes_the_trees_of_the_kernel(table):
    """In a process of its own, as the command does it."""
    expected = [fit_at(fit, table, jax.devices("cpu")[0], repeats=0) for fit in FITS[:-1]]
    compared = compare_without_kernel(ROWS, expected)
    assert [own.fit for own in compared] == [fit.name for fit in FITS[:-1]]
    assert not [own for own in compared if own.differs or own.error]


KINDS = {
    "H100": "NVIDIA H100 80GB HBM3",
    "H200": "NVIDIA H200",
    "A100": "NVIDIA A100-SXM4-80GB",
    "T4": "Tesla T4",
    "L4": "NVIDIA L4",
    "v5e": "TPU v5 lite",
}
"""What JAX calls the devices of the predictions."""

WORKLOADS = {GROWTH: "tree", WITH_WARP: "tree, kernel"}


def test_predictions_are_of_the_fits_that_are_timed():
    predicted = json.loads(PREDICTED.read_text())
    assert set(predicted) == set(KINDS.values())
    for kind, seconds in predicted.items():
        assert set(seconds) <= {*BY_NAME, *WORKLOADS}, kind
        assert all(0 < own < 60 for own in seconds.values()), kind
    assert predicted_seconds("Tesla T4", GROWTH) == predicted["Tesla T4"][GROWTH] and has_prediction("Tesla T4")
    assert predicted_seconds("no such device", GROWTH) is None and not has_prediction("no such device")


def test_predictions_are_the_likely_ones_of_the_newest_page():
    results = pathlib.Path(__file__).parents[2] / "benchmarks" / "results"
    pages = sorted(results.glob("roofline-*.json"))
    if not pages:
        pytest.skip("no times were predicted")
    made = json.loads(pages[-1].read_text())["predictions"]
    for name, kind in KINDS.items():
        for fit, workload in WORKLOADS.items():
            likely = made[workload].get(name, {}).get("seconds", {}).get("likely")
            assert predicted_seconds(kind, fit) == (None if likely is None else float(f"{likely:.3g}")), (kind, fit)
