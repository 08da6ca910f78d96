"""Who takes part; a library is imported only in the processes where it does."""

from importlib import import_module

from benchmarks.suite.contenders.base import Contender
from benchmarks.suite.tasks import Task

OURS = "jaxtree"
PLACES = {
    OURS: "ours:JaxTree",
    "lightgbm": "of_lightgbm:LightGBM",
    "xgboost": "of_xgboost:XGBoost",
    "ydf": "of_ydf:YDF",
    "sklearn": "of_sklearn:SklearnExact",
    "sklearn-hist": "of_sklearn:SklearnHistogram",
    "sklearn-loop": "of_sklearn:SklearnLoop",
    "jaxtree-search": "searches:JaxTreeSearch",
    "sklearn-search": "searches:SklearnSearch",
}
"""Module and class of every contender; the names of ours begin with that of the library."""


def make_contender(name: str, task: Task) -> Contender:
    """Returns a contender that is ready for a task; imports its library."""
    module, kind = PLACES[name].split(":")
    return getattr(import_module(f"{__name__}.{module}"), kind)(task)


def is_ours(name: str) -> bool:
    """Whether a contender is jaxtree."""
    return name.startswith(OURS)
