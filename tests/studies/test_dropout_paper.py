"""The experiment end to end: its numbers, that it repeats byte for byte, and the command that runs it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from jaxtree_studies import dropout_paper

EXPECTED_AT_TENTH = [0.8440, 0.8448, 0.8455, 0.8461, 0.8466, 0.8470, 0.8472, 0.8477, 0.8483, 0.8490, 0.8498]


@pytest.fixture(scope="module")
def study():
    return dropout_paper.run(200, 0)


@pytest.mark.slow
def test_table_2_is_the_paper_s(study):
    """Where the paper prints two values for the unlimited tree, ours is one of them."""
    for row in study[0]["table2"]:
        if row["max_depth"] is not None:
            assert row["accuracy"] == pytest.approx(row["paper"][0], abs=5e-7), row
        else:
            assert row["accuracy"] == pytest.approx(0.847222, abs=5e-7)


def test_the_unpruned_tree_and_the_roc(study):
    results = study[0]
    assert results["classic"]["num_nodes"] == 83
    assert results["classic"]["depth"] == 12
    assert results["classic"]["train_accuracy"] == 1
    assert results["classic"]["test_accuracy"] == pytest.approx(0.861111, abs=5e-7)
    assert results["auc"] == pytest.approx(0.981155, abs=5e-7)


def test_expectations_and_draws(study):
    results, draws = study
    dropout = results["dropout"]
    np.testing.assert_allclose(dropout["expected_test"][dropout["p"].index(0.1)], EXPECTED_AT_TENTH, atol=1e-4)
    assert draws["test"].shape == draws["train"].shape == (6, 11, 200)
    assert np.max(dropout["max_test"]) == pytest.approx(414 / 432)
    np.testing.assert_allclose(dropout["mean_test"], draws["test"].mean(axis=-1), atol=1e-6)
    for table in ("expected_test", "expected_train", "mean_test", "share_above_classic", "vote_test"):
        assert np.shape(dropout[table]) == (6, 11), table


def test_shuffled_trees_are_those_grown_alone(study):
    """All 100 shuffled trees are roots of one growth; without dropout each scores what it scores alone."""
    from jaxtree import ID3Classifier
    from jaxtree.datasets import load_car_evaluation

    X, y = load_car_evaluation(return_X_y=True, binary=True)
    chance = np.random.default_rng(0)
    for shuffle in range(2):
        order = chance.permutation(y.size)
        train, test = order[:1296], order[1296:]
        tree = ID3Classifier(encoding="onehot").fit(X[train], y[train])
        assert study[0]["shuffled"]["accuracy"][0][0][shuffle] == pytest.approx(tree.score(X[test], y[test]))


@pytest.mark.slow
def test_the_command_repeats_byte_for_byte_on_one_and_two_devices(tmp_path):
    reports = []
    for devices in (1, 2):
        out = tmp_path / f"report{len(reports)}"
        environment = os.environ | {
            "JAX_NUM_CPU_DEVICES": str(devices),
            "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        }
        command = [sys.executable, "-c", "from jaxtree.cli import main; main()", "reproduce", "--draws", "20"]
        subprocess.run([*command, "--out", str(out)], check=True, env=environment, capture_output=True)
        report = json.loads((out / "report.json").read_text())
        del report["seconds"]
        reports.append(json.dumps(report))
    assert reports[0] == reports[1]


def test_a_folder_that_cannot_be_made_is_said_before_the_work(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    command = [sys.executable, "-c", "from jaxtree.cli import main; main()", "reproduce", "--out", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "out_dir must be a folder" in done.stderr
