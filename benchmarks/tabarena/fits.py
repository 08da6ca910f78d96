"""One cell: a method with one setting on one outer split, as a bag of eight folds by AutoGluon's own class.

A method is a model class and a generator of settings, as TabArena registers them: the first setting is the defaults.
"""

import logging
import resource
import time
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from autogluon.core.data import LabelCleaner
from autogluon.core.metrics import get_metric
from autogluon.core.models import BaggedEnsembleModel
from autogluon.features.generators import AutoMLPipelineFeatureGenerator

from benchmarks.tabarena.tasks import Task
from tabarena.models.utils import get_configs_generator_from_name
from tabarena.models.warmup import warmup_model_cls

NUM_FOLDS = 8
"""The folds of a bag."""
OURS = "jaxtree"


class Method(NamedTuple):
    """A method of the board.

    Attributes:
        registered: Its name in TabArena's registry; empty for those of this folder.
        package: The distribution whose version is written.
    """

    registered: str
    package: str


METHODS = {
    OURS: Method("", "jaxtree"),
    "CatBoost": Method("CatBoost", "catboost"),
    "LightGBM": Method("LightGBM", "lightgbm"),
    "XGBoost": Method("XGBoost", "xgboost-cpu"),
    "EBM": Method("ExplainableBM", "interpret-core"),
    "RF": Method("RandomForest", "scikit-learn"),
    "hessboost": Method("", "hessboost"),
}


class Predictions(NamedTuple):
    """Predictions of a cell, as AutoGluon has them: of two classes the chance of the second.

    Attributes:
        validation: By models that have not seen the row.
        test: By the bag.
        y_validation: The targets.
        y_test: The targets of the test rows.
    """

    validation: np.ndarray
    test: np.ndarray
    y_validation: np.ndarray
    y_test: np.ndarray


def generator_of(method: str) -> Any:
    """Returns a method's generator of settings, which has its class."""
    if method == OURS:
        from benchmarks.tabarena.submission.hpo import gen_jaxtree

        return gen_jaxtree
    if method == "hessboost":
        from benchmarks.tabarena.hessboost_model import gen_hessboost

        return gen_hessboost
    return get_configs_generator_from_name(METHODS[method].registered)


def settings_of(method: str, number: int) -> dict[str, dict[str, Any]]:
    """Returns the defaults and a number of drawn settings, the first of the sequence that TabArena draws, by name."""
    generator = generator_of(method)
    drawn = generator.get_searcher_configs(number) if number else []
    return {"default": generator.manual_configs[0]} | {f"drawn-{place}": own for place, own in enumerate(drawn)}


def warm_up(method: str, task: Task) -> None:
    """Imports and compiles what needs no table."""
    warmup_model_cls(generator_of(method).model_cls, problem_type=task.kind, num_cpus=1, num_gpus=0)


def fit_cell(
    method: str, setting: dict[str, Any], task: Task, split: tuple[np.ndarray, np.ndarray], seconds: float
) -> tuple[dict[str, Any], Predictions]:
    """Fits a bag, and returns its figures and its predictions."""
    logging.getLogger("autogluon").setLevel(logging.ERROR)
    train, test = split
    features, labels = (
        AutoMLPipelineFeatureGenerator(verbosity=0),
        LabelCleaner.construct(task.kind, task.y.iloc[train]),
    )
    X = features.fit_transform(task.X.iloc[train].reset_index(drop=True))
    X_test = features.transform(task.X.iloc[test].reset_index(drop=True))
    y, y_test = (labels.transform(task.y.iloc[rows].reset_index(drop=True)) for rows in (train, test))
    metric = get_metric(task.metric, task.kind)
    own = {name: value for name, value in setting.items() if not name.startswith("ag_args")}
    for_bag = generator_of(method).model_cls._get_default_ag_args_ensemble() | setting.get("ag_args_ensemble", {})
    with TemporaryDirectory() as folder:
        model = generator_of(method).model_cls(
            path=folder, problem_type=task.kind, eval_metric=metric, hyperparameters=own
        )
        bag = BaggedEnsembleModel(model, path=folder, hyperparameters=for_bag, random_state=0)
        bag.params["fold_fitting_strategy"] = "sequential_local"
        began, cpu = time.perf_counter(), _cpu_seconds()
        bag = bag.fit(X=X, y=y, k_fold=NUM_FOLDS, num_cpus=1, num_gpus=0, time_limit=seconds)
        wall, cpu = time.perf_counter() - began, _cpu_seconds() - cpu
        began = time.perf_counter()
        predicted = bag.predict_proba(X_test)
        infer = time.perf_counter() - began
        predictions = Predictions(bag.predict_proba_oof(), predicted, y.to_numpy(), y_test.to_numpy())
        figures = {
            "error_val": float(metric.error(predictions.y_validation, predictions.validation)),
            "error": float(metric.error(predictions.y_test, predictions.test)),
            "time_train_s": wall,
            "time_infer_s": infer,
            "cpu_train_s": cpu,
            "models": bag.n_children,
            "version": version(METHODS[method].package),
        }
    return figures, predictions


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Writes the predictions of a cell in a file."""
    np.savez_compressed(path, **predictions._asdict())


def read_predictions(path: Path) -> Predictions:
    """Reads the predictions of a cell."""
    with np.load(path) as file:
        return Predictions(**{name: file[name] for name in Predictions._fields})


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
