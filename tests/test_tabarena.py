"""TabArena's protocol: the rating by hand, runs that go on, and jaxtree as a model of AutoGluon."""

import itertools
import json
import math
import sys
import types

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from benchmarks.tabarena import __main__ as runner
from benchmarks.tabarena.tasks import Task, splits_of


def task_of(name, kind, loaded, rows=120):
    X, y = loaded
    chosen = np.random.default_rng(0).permutation(len(y))[:rows]
    return Task(name, kind, X.iloc[chosen].reset_index(drop=True), y.iloc[chosen].reset_index(drop=True))


def binary():
    return task_of("cancer", "binary", load_breast_cancer(return_X_y=True, as_frame=True))


def multiclass():
    return task_of("iris", "multiclass", load_iris(return_X_y=True, as_frame=True))


def regression():
    return task_of("diabetes", "regression", load_diabetes(return_X_y=True, as_frame=True))


TASKS = {"binary": binary, "multiclass": multiclass, "regression": regression}


def test_outer_splits_are_three_folds_a_repeat():
    task = multiclass()
    splits = splits_of(task, 2)
    assert len(splits) == 6
    for repeat in (splits[:3], splits[3:]):
        assert sorted(np.concatenate([test for _, test in repeat])) == list(range(len(task.y)))
    for train, test in splits:
        assert not set(train) & set(test)
        assert set(task.y[test]) == {0, 1, 2}
    assert not np.array_equal(splits[0][1], splits[3][1])


def test_defaults_come_before_drawn_settings_and_first_splits_before_others():
    cells = list(runner.cells_of(["a", "b"], ["ours", "RF"], 2, 1))
    assert len(set(cells)) == len(cells) == 2 * 2 * 2 * 2
    assert [cell.setting for cell in cells] == ["default"] * 8 + ["drawn-0"] * 8
    assert [cell.split for cell in cells[:8]] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [(cell.table, cell.method) for cell in cells[:4]] == [
        ("a", "ours"), ("a", "RF"), ("b", "ours"), ("b", "RF"),
    ]  # fmt: skip


class Fits:
    """A stand-in for the fits of a run, which counts them."""

    def __init__(self, end_at):
        self.done, self.end_at = [], end_at

    def module(self):
        module = types.ModuleType("benchmarks.tabarena.fits")
        module.METHODS = {"ours": None, "RF": None}
        module.settings_of = lambda method, number: {"default": {"rate": 0.1}}
        module.warm_up = lambda method, task: None
        module.fit_cell = self.fit
        module.write_predictions = lambda path, predictions: path.write_bytes(predictions)
        return module

    def fit(self, method, setting, task, split, seconds):
        if len(self.done) == self.end_at:
            raise KeyboardInterrupt
        self.done.append((task.name, method))
        if method == "RF":
            raise ValueError("too large")
        return {"error": 0.5, "cpu_train_s": 1.0}, b"predictions"


def test_a_run_that_was_ended_goes_on_and_a_failure_is_a_result(tmp_path, monkeypatch):
    for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.setenv(name, "1")  # the run sets them for its process, which other tests share
    monkeypatch.setattr(
        "benchmarks.tabarena.tasks.read_task", lambda name, data, rows: multiclass()._replace(name=name)
    )
    given = ["--tables", "wine", "glass", "--splits", "1", "--out", str(tmp_path)]
    first, second = Fits(end_at=3), Fits(end_at=None)
    monkeypatch.setitem(sys.modules, "benchmarks.tabarena.fits", first.module())
    with pytest.raises(KeyboardInterrupt):
        runner.main(given)
    monkeypatch.setitem(sys.modules, "benchmarks.tabarena.fits", second.module())
    runner.main(given)
    assert first.done == [("wine", "ours"), ("wine", "RF"), ("glass", "ours")]
    assert second.done == [("glass", "RF")]
    kept = json.loads((tmp_path / "wine" / "0-ours-default.json").read_text())
    assert (kept["error"], kept["parameters"], kept["kind"]) == (0.5, {"rate": 0.1}, "multiclass")
    assert json.loads((tmp_path / "glass" / "0-RF-default.json").read_text())["failed"] == "ValueError: too large"
    assert len(list(tmp_path.glob("*/*.npz"))) == 2


@pytest.fixture
def report():
    pytest.importorskip("bencheval")
    from benchmarks.tabarena import report

    return report


def entries(report, **errors):
    return [
        report.Entry(f"{method} (default)", f"t{place}", 0, error, 1.0, 1.0, 1.0)
        for method, own in errors.items()
        for place, error in enumerate(own)
    ]


def test_the_rating_of_two_methods_is_that_of_their_odds(report):
    found = report.board_of(report.complete(entries(report, RF=[2, 2, 2, 1], ours=[1, 1, 1, 2]), 4))["elo"]
    assert found["RF (default)"] == 1000
    assert found["ours (default)"] == pytest.approx(1000 + 400 * math.log10(3), abs=0.1)


def test_a_table_counts_once_however_many_splits_it_has(report):
    once = entries(report, RF=[2, 1], ours=[1, 2])
    more = [entry._replace(split=split) for split in range(1, 5) for entry in once if entry.table == "t0"]
    assert report.board_of(report.complete(once + more, 2))["elo"]["ours (default)"] == pytest.approx(1000, abs=0.1)


def test_a_board_has_the_splits_of_all_its_methods_alone(report):
    given = entries(report, RF=[1, 1, 1], ours=[2, 2, 2], slow=[3, 3], rare=[4])
    found = report.complete(given, 2)
    assert set(found["method"]) == {"RF (default)", "ours (default)", "slow (default)"}
    assert set(found["table"]) == {"t0", "t1"}


def test_tuned_entries_choose_by_rows_that_no_model_has_seen_and_take_the_time_of_all(report, tmp_path):
    pytest.importorskip("tabarena")
    from benchmarks.tabarena.fits import Predictions, write_predictions

    y, unseen = np.array([0, 0, 1, 1]), np.array([1, 0, 0, 1])
    chances = {"default": [0.6, 0.2, 0.5, 0.9], "drawn-0": [0.2, 0.6, 0.8, 0.7]}
    cells = {}
    for setting, error_val in {"default": 0.25, "drawn-0": 0.0}.items():
        cell = runner.Cell("cancer", 0, "ours", setting)
        cells[cell] = {
            "kind": "binary", "metric": "roc_auc", "error_val": error_val, "error": 0.0 if error_val else 0.75,
            "time_train_s": 2.0, "time_infer_s": 1.0, "cpu_train_s": 1.5,
        }  # fmt: skip
        cell.figures_in(tmp_path).parent.mkdir(exist_ok=True)
        own = np.array(chances[setting])
        write_predictions(cell.predictions_in(tmp_path), Predictions(own, own, y, unseen))
    fewer = next(iter(cells))._replace(method="slow")
    entries = report.entries_of(cells | {fewer: cells[fewer._replace(method="ours")]}, tmp_path)
    found = {entry.method: entry for entry in entries}
    assert set(found) == {"ours (default)", "ours (tuned)", "ours (tuned + ensemble)", "slow (default)"}
    assert found["ours (default)"][3:] == (0.0, 2.0, 1.0, 1.5)
    assert found["ours (tuned)"][3:] == (0.75, 4.0, 1.0, 3.0)
    # The drawn bag ranks all unseen rows right, so that greedy selection takes it alone; of four test pairs one.
    assert found["ours (tuned + ensemble)"][3:] == (pytest.approx(0.75), 4.0, 1.0, 3.0)


class StandIn:
    """As much of AutoGluon's `AbstractModel` as the class uses, for environments without AutoGluon."""

    def __init__(self, problem_type, hyperparameters=None, **_):
        self.problem_type, self.params = problem_type, dict(hyperparameters or {})
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self.params.setdefault(name, value)

    def _get_model_params(self):
        return dict(self.params)

    def preprocess(self, X, **_):
        return X

    def _convert_proba_to_unified_form(self, proba):
        return proba[:, 1] if self.problem_type == "binary" else proba

    def fit(self, X, y, **given):
        self._fit(X, y, **given)
        return self


@pytest.fixture(params=["stand-in", "AutoGluon"])
def model_class(request, monkeypatch):
    if request.param == "AutoGluon":
        pytest.importorskip("autogluon.core")
    else:
        models = types.ModuleType("autogluon.core.models")
        models.AbstractModel = StandIn
        for name in ("autogluon", "autogluon.core"):
            monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        monkeypatch.setitem(sys.modules, "autogluon.core.models", models)
    sys.modules.pop("benchmarks.tabarena.submission.model", None)
    from benchmarks.tabarena.submission.model import JaxtreeModel

    yield JaxtreeModel
    del sys.modules["benchmarks.tabarena.submission.model"]  # of the one base class; the next test may have the other


FEW = {"n_estimators": 20, "random_state": 0}


@pytest.mark.parametrize("kind", TASKS)
def test_the_model_predicts_rows_that_its_members_have_not_seen(model_class, kind):
    task = TASKS[kind]()
    model = model_class(problem_type=kind, hyperparameters=FEW)
    model.fit(X=task.X, y=task.y, num_cpus=1)
    assert len(model.model.folds_) == 8
    unseen = model.predict_proba_oof(X=task.X, y=task.y)
    assert unseen.shape == ((len(task.y), 3) if kind == "multiclass" else (len(task.y),))
    if kind == "regression":
        wrong = [np.mean((own - task.y) ** 2) for own in (model.model.predict(task.X), unseen)]
    else:
        told = unseen > 0.5 if kind == "binary" else unseen.argmax(axis=1)
        wrong = [np.mean(own != task.y) for own in (model.model.predict(task.X), told)]
    assert 1.05 * wrong[0] < wrong[1], "predictions of unseen rows are those of models that have seen them"


def test_validation_rows_end_the_rounds_of_one_model(model_class):
    task = binary()
    train, held = splits_of(task, 1)[0]
    model = model_class(problem_type="binary", hyperparameters={"random_state": 0})
    given = {"X_val": task.X.iloc[held], "y_val": task.y.iloc[held], "num_cpus": 1}
    model.fit(X=task.X.iloc[train], y=task.y.iloc[train], **given)
    assert model.model.folds_ is None
    assert model.model.n_estimators_ == model.model.best_iteration_ < 1000
    assert model.model.max_leaf_nodes == 8  # that of a model of a fold, below 1,000 rows


def test_the_time_limit_ends_the_rounds_of_one_model(model_class, monkeypatch):
    task = regression()
    given = {"X_val": task.X, "y_val": task.y, "num_cpus": 1}  # the rows that it learns from: more rounds are better

    def rounds(time_limit):
        clock = itertools.chain([0.0], itertools.repeat(99.0))  # at the first question, and at all others
        monkeypatch.setattr(
            sys.modules[model_class.__module__], "time", types.SimpleNamespace(monotonic=clock.__next__)
        )
        model = model_class(problem_type="regression", hyperparameters={"n_estimators": 300, "random_state": 0})
        return model.fit(X=task.X, y=task.y, time_limit=time_limit, **given).model.n_estimators_

    assert rounds(100.0) < 100 < rounds(200.0)


def test_more_rows_columns_classes_and_folds_take_more_memory(model_class):
    def estimate(rows, columns, classes, folds):
        X = pandas.DataFrame(np.zeros((rows, columns)))
        given = {"hyperparameters": {"cv": folds}, "num_classes": classes}
        return model_class._estimate_memory_usage_static(X=X, **given)

    base = estimate(10_000, 10, 2, 8)
    assert 6e8 < base < 1e9
    larger = [(20_000, 10, 2, 8), (10_000, 20, 2, 8), (10_000, 10, 3, 8), (10_000, 10, 2, 9)]
    assert all(estimate(*own) > base for own in larger)


def test_the_warm_up_needs_no_table(model_class):
    model_class.warmup(problem_type="binary", num_cpus=1, num_gpus=0, hyperparameters={})


@pytest.mark.parametrize("kind", TASKS)
def test_a_bag_of_autogluon_takes_the_folds_of_the_model(kind):
    pytest.importorskip("tabarena")
    from benchmarks.tabarena.fits import fit_cell, settings_of

    task = TASKS[kind]()
    figures, predictions = fit_cell("jaxtree", settings_of("jaxtree", 0)["default"], task, splits_of(task, 1)[0], 60)
    train, test = splits_of(task, 1)[0]
    assert figures["models"] == 1
    assert len(predictions.validation) == len(predictions.y_validation) == len(train)
    assert len(predictions.test) == len(test)
    assert figures["error"] >= 0
    assert figures["time_train_s"] > 0


def test_the_registry_of_tabarena_takes_the_model():
    registry = pytest.importorskip("tabarena.models")
    from benchmarks.tabarena.submission.info import jaxtree_info

    registry.register_model_info(jaxtree_info)
    assert registry.get_model_registry()["Jaxtree"].model_cls.ag_key == "JAXTREE"
    experiments = jaxtree_info.search_space.generate_all_bag_experiments(num_random_configs=2)
    assert [own.name for own in experiments] == ["Jaxtree_c1_BAG_L1", "Jaxtree_r1_BAG_L1", "Jaxtree_r2_BAG_L1"]
    assert jaxtree_info.method_metadata.config_default == experiments[0].name
    assert not jaxtree_info.search_space.manual_configs[0]


def test_an_experiment_of_tabarena_runs_the_model(tmp_path, monkeypatch):
    tasks = pytest.importorskip("tabarena.benchmark.task")
    from benchmarks.tabarena.submission.hpo import gen_jaxtree

    monkeypatch.chdir(tmp_path)  # AutoGluon writes its models there
    own = binary()
    table = own.X.assign(target=own.y.map({0: "malignant", 1: "benign"}).astype("category"))
    (train, test), *_ = splits_of(own, 1)
    splits = {0: {0: (train.tolist(), test.tolist())}}
    given = {"target_feature": "target", "problem_type": "classification", "eval_metric": "roc_auc", "splits": splits}
    task = tasks.UserTask(task_name="cancer").create_task(dataset=table, **given)
    (experiment,) = gen_jaxtree.generate_all_bag_experiments(0, fold_fitting_strategy="sequential_local")
    found = experiment.run(task, 0, "cancer", cache_task_key="cancer")
    assert found["framework"] == "Jaxtree_c1_BAG_L1"
    assert found["metric_error"] < 0.2
    assert found["metric_error_val"] < 0.2
