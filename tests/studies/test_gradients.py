"""The comparison of ensembles trained by gradients: tables, divisions, scores, going on, the peer, sentences, page."""

import io
import json
import stat
import sys
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from typer.testing import CliRunner

from benchmarks.defaults import part_of
from jaxtree.cli import app
from jaxtree.errors import InvalidInputError
from jaxtree_studies import gradients, peer_worker, peers
from jaxtree_studies.gradients import BOOSTING, FOREST, GRADIENTS, OBLIQUE, Division, GradientsPlan, Table
from jaxtree_studies.gradients_page import BOOSTING_CHOSEN_ON, score_rows, write_report
from jaxtree_studies.gradients_verdict import verdict
from jaxtree_studies.tables import owners
from jaxtree_studies.tables.download import SOURCES, download
from jaxtree_studies.tables.owners import NAMES

GRANDE = "GRANDE, 512 trees"
KEPT = ["transfusion", "wdbc", "heart-failure", "hepatitis", "zoo", "cmc"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of two tables: numbers of two classes with names, and words of three classes with gaps."""
    data = tmp_path_factory.mktemp("data")
    (data / "gradtree").mkdir()
    chance = np.random.default_rng(0)
    numbers = pd.DataFrame(chance.normal(size=(60, 3)).round(3), columns=["a", "b", "c"])
    numbers.assign(constant=1, died=(numbers["a"] > 0) * 1).to_csv(data / "gradtree" / "heart-failure.csv", index=False)
    words = pd.DataFrame({"class": chance.integers(1, 4, 60), "form": chance.choice(["round", "long", "?"], 60)})
    words.assign(size=chance.integers(0, 9, 60)).to_csv(
        data / "gradtree" / "lymphography.data", index=False, header=False
    )
    return data


def plan_of(folder, **changes):
    return GradientsPlan(folder, ("heart-failure", "lymphography"), seeds=2)._replace(**changes)


class Counted(DummyClassifier):
    """A constant that counts its fits, and is interrupted before one of them."""

    fits = 0
    interrupt_at = -1

    def fit(self, X, y, sample_weight=None):
        if Counted.fits == Counted.interrupt_at:
            raise KeyboardInterrupt
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture
def cheap_ways(monkeypatch):
    """Constants in place of the ensembles, for tests that are about something else."""
    Counted.fits, Counted.interrupt_at = 0, -1
    names = (GRADIENTS, OBLIQUE, BOOSTING, FOREST)
    monkeypatch.setattr(gradients, "our_ways", lambda *, quick: dict.fromkeys(names, lambda seed: Counted()))


def record_of(table, seed, way, macro_f1=0.8, loss=0.5):
    figures = {"macro_f1": macro_f1, "accuracy": 0.8, "log_loss": loss, "constant": 0.69}
    return {"table": table, "seed": seed, "way": way, **figures, "seconds": 2.0, "cpu_seconds": 1.5, "version": "x 1"}


def results_of(change=lambda table, way: {}, tables=(*KEPT, "glass"), ways=(GRADIENTS, OBLIQUE, BOOSTING, FOREST)):
    """Made-up results of two divisions, all alike but for what `change` says of a table and way."""
    X = pd.DataFrame({"c0": [1.0, np.nan], "c1": pd.Categorical(["a", "b"])})
    results = {
        "plan": {"seeds": 2, "quick": False, "peer_trees": 512},
        "tables": [gradients.describe(table, Table(X, np.array([0, 1]))) for table in tables],
        "skipped": [{"name": "vote", "reason": "its file vote/vote.arff is absent"}],
        "records": [
            record_of(table, seed, way, **change(table, way)) for table in tables for seed in (0, 1) for way in ways
        ],
        "failed": [],
        "versions": {"jax": "1"},
        "seconds": {"in all": 12.5},
    }
    return {**results, **gradients.summary(results)}


# Tables and divisions.


def test_tables_have_their_columns_and_classes(folder):
    found, skipped = gradients.study_tables(plan_of(folder))
    numbers, words = found["heart-failure"], found["lymphography"]
    assert numbers.X.shape == (60, 3) and words.X.shape == (60, 2) and not skipped
    assert np.array_equal(numbers.y, numbers.X["c0"] > 0)
    described = gradients.describe("lymphography", words)
    assert (described["words"], described["classes"]) == (1, 3) and described["gaps"] > 0 and described["is_kept"]


def test_a_missing_file_is_skipped_and_no_file_is_refused(folder):
    found, skipped = gradients.study_tables(plan_of(folder, tables=("wdbc", "heart-failure")))
    assert list(found) == ["heart-failure"]
    assert skipped == [{"name": "wdbc", "reason": "its file gradtree/wdbc.data is absent"}]
    with pytest.raises(InvalidInputError, match=r"vote: its file vote/vote\.arff is absent"):
        gradients.study_tables(plan_of(folder, tables=("vote",)))
    with pytest.raises(InvalidInputError, match=r"tables must be among .* got 'votes'"):
        gradients.study_tables(plan_of(folder, tables=("votes",)))


@pytest.mark.parametrize("name", [*gradients.TITLES])
def test_every_table_reads(real_data, name):
    table = gradients.read_table(name, real_data)
    assert len(table.X) == len(table.y) > 90 and 2 <= table.y.max() + 1 <= 7
    assert all(table.X[column].unique().size > 1 for column in table.X)


def test_a_division_has_every_row_once():
    y = np.array([0] * 50 + [1] * 45 + [2] * 5)
    one, other = gradients.divide(y, 0), gradients.divide(y, 1)
    assert sorted(np.concatenate(one).tolist()) == list(range(100))
    assert [len(rows) for rows in one] == [64, 16, 20]
    assert np.array_equal(one.others, np.setdiff1d(np.arange(100), one.test))
    assert not np.array_equal(one.test, other.test) and np.array_equal(one.test, gradients.divide(y, 0).test)
    assert abs((y[one.test] == 1).sum() - 9) <= 1


# Scores.


def test_scores_of_a_worked_example():
    y = np.array([0, 0, 0, 1, 0, 1, 1])
    division = Division(np.array([0, 1]), np.array([2, 3]), np.array([4, 5, 6]))
    shares = np.array([[3.0, 1.0], [0.2, 0.8], [1.0, 0.0]])
    found = gradients.scores(y, division, shares)
    # One of two rows called 0 is, and one of two rows of class 1 is found.
    assert found["macro_f1"] == pytest.approx(2 / 3) and found["accuracy"] == pytest.approx(2 / 3)
    assert found["log_loss"] == pytest.approx(-(np.log(0.75) + np.log(0.8) + np.log(1e-7)) / 3)
    assert found["constant"] == pytest.approx(log_loss(y[4:], [[0.75, 0.25]] * 3))


def test_a_class_that_a_model_has_not_seen_has_no_share():
    table = Table(pd.DataFrame({"c0": np.arange(6.0)}), np.array([0, 2, 0, 2, 1, 2]))
    division = Division(np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))
    found = gradients.measure(DummyClassifier(), table, division)
    assert found["log_loss"] == pytest.approx(-(np.log(1e-7) + np.log(0.5)) / 2)
    assert found["cpu_seconds"] >= 0 and found["version"].startswith("jaxtree ")


# The run.


def test_a_run_goes_on_where_it_was_interrupted(folder, tmp_path, cheap_ways):
    Counted.interrupt_at = 9
    with pytest.raises(KeyboardInterrupt):
        gradients.run(plan_of(folder), tmp_path)
    kept = json.loads((tmp_path / "report.json").read_text())["records"]
    assert len(kept) == 8
    Counted.interrupt_at = -1
    steps = []
    results = gradients.run(plan_of(folder), tmp_path, lambda doing, number: steps.append((doing, number)))
    assert results["records"][:8] == kept and len(results["records"]) == 16 and Counted.fits == 9 + 8
    assert steps[0] == ("Heart Failure, division 1", 4) and len(steps) == 4
    gradients.run(plan_of(folder, seeds=3), tmp_path)
    assert Counted.fits == 17 + 8


def test_records_of_another_kind_are_refused(folder, tmp_path, cheap_ways):
    gradients.run(plan_of(folder, seeds=1), tmp_path)
    with pytest.raises(InvalidInputError, match="which has the records of a whole run"):
        gradients.run(plan_of(folder, quick=True), tmp_path)
    (tmp_path / "report.json").write_text('{"plan": {}}')
    with pytest.raises(InvalidInputError, match="out must be a new folder or that of an earlier run"):
        gradients.run(plan_of(folder), tmp_path)


# The peer.


def test_a_peer_that_is_absent_is_named_once_and_the_page_is_written(folder, tmp_path, cheap_ways):
    results = gradients.run(plan_of(folder, peer=Path(sys.executable)), tmp_path)
    assert [failure["reason"] for failure in results["failed"]] == ["ModuleNotFoundError: No module named 'GRANDE'"]
    assert results["ways"] == [GRADIENTS, OBLIQUE, BOOSTING, FOREST]
    page = write_report(results, tmp_path)[0].read_text()
    assert "GRANDE has no figures for 1 division: ModuleNotFoundError" in page


def peer_that_prints(tmp_path, text):
    peer = tmp_path / "peer"
    peer.write_text(f"#!/bin/sh\necho noise\necho '{text}'\n")
    peer.chmod(peer.stat().st_mode | stat.S_IEXEC)
    return peer


def test_a_fit_that_fails_does_not_end_the_others(folder, tmp_path, cheap_ways):
    peer = peer_that_prints(tmp_path, '{"failed": "ValueError: too few rows"}')
    results = gradients.run(plan_of(folder, peer=peer), tmp_path / "out")
    assert [failure["reason"] for failure in results["failed"]] == ["ValueError: too few rows"] * 4


def test_what_a_peer_reports_is_scored(folder, tmp_path, cheap_ways):
    shares = [[0.25, 0.75]] * 12
    reported = {"shares": shares, "seconds": 3.0, "cpu_seconds": 2.0, "epochs": 7, "version": "grande 0.1.6"}
    peer = peer_that_prints(tmp_path, json.dumps(reported))
    results = gradients.run(plan_of(folder, tables=("heart-failure",), peer=peer), tmp_path / "out")
    own = [record for record in results["records"] if record["way"] == GRANDE]
    assert len(own) == 2 and own[0]["epochs"] == 7 and "shares" not in own[0]
    y = gradients.read_table("heart-failure", folder).y
    test = y[gradients.divide(y, 0).test]
    assert own[0]["log_loss"] == pytest.approx(log_loss(test, shares)) and own[0]["cpu_seconds"] == 2.0
    assert results["ways"][-1] == GRANDE and "grande 0.1.6" in results["versions"]["measured with"]


def test_a_python_that_does_not_run_is_no_peer(folder, tmp_path):
    table = gradients.read_table("heart-failure", folder)
    with pytest.raises(peers.NoPeerError, match="does not run") as caught:
        peers.fit_grande(tmp_path / "no", table.X, table.y, gradients.divide(table.y, 0), trees=8, seed=0)
    assert not caught.value.is_of_fit


class FakeGrande:
    """A stand-in that keeps its arguments, and predicts even shares of the classes of the training rows."""

    def __init__(self, params, args):
        FakeGrande.last = self
        self.params, self.args = params, args

    def fit(self, X_train, y_train, X_val, y_val):
        self.train, self.held = (X_train, y_train), (X_val, y_val)
        self.history = type("History", (), {"epoch": [0, 1, 2]})

    def predict(self, X):
        number = self.train[1].nunique()
        return np.full((len(X), number), 1 / number)


@pytest.mark.parametrize("classes", [[0, 2], [0, 1, 2]])
def test_the_worker_hands_tables_without_gaps(monkeypatch, classes):
    monkeypatch.setattr(peer_worker, "version", lambda package: "0.1.6")
    columns = [[1.0, None, 5.0, None, 100.0, 2.0], ["a", None, "b", "a", "b", "a"]]
    y = [classes[0], classes[1], classes[-1], classes[0], 1, 2]
    division = [[0, 1, 2], [3], [4, 5]]
    handed = {"columns": columns, "words": [1], "y": y, "division": division, "trees": 8, "seed": 3}
    report = peer_worker.fit(FakeGrande, handed)
    model = FakeGrande.last
    assert model.params == {"n_estimators": 8, "use_class_weights": True} and model.args["cat_idx"] == [1]
    assert model.args["objective"] == ("binary" if len(classes) == 2 else "classification")
    # The median is that of the rows to fit.
    assert model.train[0]["c0"].tolist() == [1.0, 3.0, 5.0] and model.held[0]["c0"].tolist() == [3.0]
    assert model.train[0]["c1"].tolist() == ["a", "missing", "b"]
    assert model.train[1].index.equals(model.train[0].index) and model.held[1].index.equals(model.held[0].index)
    assert model.train[1].dtype == (float if len(classes) == 2 else int)
    expected = np.zeros(3)
    expected[classes] = 1 / len(classes)
    np.testing.assert_allclose(report["shares"], [expected] * 2)
    assert report["epochs"] == 3 and report["version"] == "grande 0.1.6"


# The sentences.


def test_no_difference_is_not_sure():
    sentences = verdict(results_of())
    assert sentences[0] == (
        "Over the kept tables “gradients” is surely better by macro F1 than none and by log loss than none, and surely "
        "worse by macro F1 than none and by log loss than none."
    )
    assert sentences[1].startswith("By macro F1 the mean ranks on 6 kept tables are: “gradients” 2.50")
    assert "Friedman's test does not find a difference (p = 1.000)" in sentences[2]
    assert sentences[4] == (
        "“gradients” less “boosting by folds”: macro F1 ±0.000 (±0.000 to ±0.000) over 6 tables, higher on 0; log loss "
        "±0.000 (±0.000 to ±0.000) over 6 tables, lower on 0."
    )


def test_a_sure_gain_and_a_sure_loss_are_stated():
    def change(table, way):
        step = 0.01 * (1 + KEPT.index(table)) if table in KEPT else 0.5
        if way == FOREST:
            return {"macro_f1": 0.8 - step, "loss": 0.5 - step / 5}
        return {"macro_f1": 0.9} if way == OBLIQUE and table == "zoo" else {}

    sentences = verdict(results_of(change))
    assert sentences[0] == (
        "Over the kept tables “gradients” is surely better by macro F1 than “random forest” and by log loss than none, "
        "and surely worse by macro F1 than none and by log loss than “random forest”."
    )
    assert "“random forest” 4.00" in sentences[1]
    assert "“random forest” 1.00" in sentences[2] and "test finds a difference" in sentences[2]
    less = next(s for s in sentences if s.startswith("“gradients” less “random forest”"))
    assert "macro F1 +0.035 (" in less and "over 6 tables, higher on 6; log loss +0.007 (" in less
    assert less.endswith("over 6 tables, lower on 0.")
    # The table that chose the defaults is in no rank and interval.
    assert "to “random forest” +0.500 and +0.100" in sentences[-1]


def test_the_worst_ratio_names_its_table():
    sentences = verdict(results_of(lambda table, way: {"loss": 1.38} if (table, way) == ("cmc", BOOSTING) else {}))
    ratios = next(s for s in sentences if s.startswith("The highest ratio"))
    assert "“boosting by folds” 2.00 (Contraceptive)" in ratios and "“random forest” 0.72" in ratios
    assert "“random forest” 1.50" in next(s for s in sentences if s.startswith("The median CPU seconds"))


def test_without_kept_tables_there_are_no_ranks(tmp_path):
    results = results_of(tables=("glass",))
    assert results["ranks"] == {} and results["differences"] == []
    assert verdict(results)[0].startswith("The highest ratio")
    assert verdict(results_of(tables=KEPT[:4]))[0].startswith("By macro F1 the mean ranks on 4 kept tables")
    assert "ranks_macro_f1" not in write_report(results, tmp_path)[0].read_text()


def test_a_way_that_lacks_a_division_has_no_mean_there():
    results = results_of(ways=(GRADIENTS, OBLIQUE, BOOSTING, FOREST, GRANDE))
    assert results["ranked"] == KEPT
    results["records"] = [r for r in results["records"] if (r["table"], r["seed"], r["way"]) != ("zoo", 1, GRANDE)]
    found = gradients.summary(results)
    assert found["ranked"] == [name for name in KEPT if name != "zoo"] and GRANDE not in found["means"]["zoo"]
    numbers = {row["way"]: row["number"] for row in found["differences"]}
    assert numbers == {OBLIQUE: 6, BOOSTING: 6, FOREST: 6, GRANDE: 5}
    cells = next(row for row in score_rows({**results, **found}, "log_loss") if row["name"] == "zoo")["cells"]
    assert [cell["figure"] for cell in cells] == [0.5] * 4 + [None]


# The page and the command.


def test_the_page_has_every_table_and_marks_the_best(tmp_path):
    results = results_of(lambda table, way: {"macro_f1": 0.912, "loss": 0.123} if way == BOOSTING else {})
    paths = write_report(results, tmp_path)
    names = ["report.html", "report.json", "ranks_macro_f1.png", "ranks_log_loss.png"]
    assert [path.name for path in paths] == names
    text = paths[0].read_text()
    assert text.count("data:image/png;base64,") == 2 and text.count('<td class="best">0.912</td>') == 7
    assert text.count('<td class="best">0.123</td>') == 7 and '<th scope="row">Glass*</th>' in text
    assert "Skipped: vote (its file vote/vote.arff is absent)." in text and "What was tried without gain" in text
    assert all(title in text for title in gradients.CHOSEN_ON.values())
    assert json.loads(paths[1].read_text())["verdict"] == verdict(results)
    assert not any(word in text for word in ("http:", "https:", "url(", "<script", "<link"))


def test_tables_that_chose_boosting_s_defaults_are_named():
    assert [name for name in gradients.KEPT if name in NAMES and part_of(name) == "chosen"] == BOOSTING_CHOSEN_ON


def test_the_command_goes_on_and_prints(folder, tmp_path, cheap_ways):
    options = ["--data", str(folder), "--tables", "heart-failure,zoo", "--seeds", "2", "--out", str(tmp_path)]
    for _ in range(2):
        done = CliRunner().invoke(app, ["study", "gradients", *options])
        assert done.exit_code == 0, done.output
        assert Counted.fits == 8
    assert "skipped: zoo, its file gradtree/zoo.data is absent" in " ".join(done.output.split())
    assert json.loads((tmp_path / "report.json").read_text())["plan"]["seeds"] == 2


@pytest.mark.slow
def test_the_quick_command_fits_all_ways(folder, tmp_path):
    options = ["--data", str(folder), "--tables", "heart-failure,lymphography", "--quick", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, ["study", "gradients", *options])
    assert done.exit_code == 0, done.output
    records = json.loads((tmp_path / "report.json").read_text())["records"]
    assert len(records) == 8 and all(0 <= record["macro_f1"] <= 1 for record in records)
    # The class of the numbers is the sign of one of them.
    forest = next(r for r in records if (r["table"], r["way"]) == ("heart-failure", FOREST))
    assert forest["log_loss"] < forest["constant"]


class Archive:
    """An archive of files that answers like a server, or fails."""

    def __init__(self, content, error=None):
        self.content, self.error, self.asked = content, error, []

    def __call__(self, address, timeout):
        self.asked.append(address)
        if self.error is not None:
            raise self.error
        return io.BytesIO(self.content)


def test_tables_are_downloaded_once_into_their_places(tmp_path):
    archive, told = Archive(b"1,2\n"), []
    download(["zoo", "horse-colic", "credit-g"], tmp_path / "data", told.append, archive)
    assert told == ["gradtree/zoo.data", "gradtree/horse-colic.data", "gradtree/horse-colic.test"]
    assert (tmp_path / "data" / "gradtree" / "zoo.data").read_bytes() == b"1,2\n"
    download(["zoo"], tmp_path / "data", told.append, Archive(b"", OSError("none")))
    assert len(told) == 3


def test_files_are_taken_out_of_archives(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("Absenteeism_at_work.csv", "a;b")
    download(["absenteeism"], tmp_path, lambda file: None, Archive(packed.getvalue()))
    assert (tmp_path / "gradtree" / "absenteeism.csv").read_text() == "a;b"
    with pytest.raises(InvalidInputError, match=r"cannot download .*Absenteeism_at_work_AAA.zip"):
        download(["absenteeism"], tmp_path / "other", lambda file: None, Archive(b"no archive"))


def test_without_a_network_the_address_and_the_place_are_said(tmp_path, monkeypatch):
    error = urllib.error.URLError("Name or service not known")
    monkeypatch.setattr("urllib.request.urlopen", Archive(b"", error))
    arguments = ["study", "gradients", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    missing = CliRunner().invoke(app, arguments)
    assert missing.exit_code != 0 and "--download" in missing.output
    failed = CliRunner().invoke(app, [*arguments, "--quick", "--download"])
    said = failed.output + str(failed.exception)
    assert failed.exit_code != 0 and "hepatitis/hepatitis.data (Name or service not known)" in said.replace("\n", " ")
    assert "gradtree" in said and not (tmp_path / "data").exists()


def test_every_source_is_where_the_study_reads_it():
    formats = {**owners.FORMATS, **gradients.FORMATS}
    for name, sources in SOURCES.items():
        assert name in gradients.TITLES and tuple(source.file for source in sources) == formats[name].files
