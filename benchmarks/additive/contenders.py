"""The contenders, each with the defaults of its library and the cores of the machine.

interpret and ours get a table as it is. LightGBM's trees have two leaves and are stopped when the loss of 15 % of the
training rows has not been less for so many rounds. pygam takes numbers alone, without gaps, and two classes at most;
spambase, of 57 columns and 4,601 rows, takes it four minutes of the CPU.
"""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas

OURS = "jaxtree"
MAIN = "-main"
"""The end of the names of models without pairs."""
CORES = len(os.sched_getaffinity(0))
HELD, MOST_ROUNDS, PATIENCE = 0.15, 20_000, 100
"""The early stopping of LightGBM: interpret holds as many rows of a bag, too."""
MOST_ROWS, MOST_COLUMNS = 10_000, 40
"""The largest tables of pygam."""


def why_not(contender: str, X: pandas.DataFrame, y: np.ndarray) -> str:
    """Why a contender does not fit such a table; empty if it does."""
    if contender != "pygam":
        return ""
    if any(dtype.kind not in "iuf" for dtype in X.dtypes) or X.isna().to_numpy().any():
        return "words or gaps"
    if y.dtype.kind != "f" and y.max() > 1:
        return "more than two classes"
    if len(X) > MOST_ROWS or X.shape[1] > MOST_COLUMNS:
        return f"more than {MOST_ROWS:,} rows or {MOST_COLUMNS} columns"
    return ""


def ours(X: pandas.DataFrame, y: np.ndarray, **parameters: Any) -> Any:
    """Fits jaxtree."""
    return _done(_kind(import_module("jaxtree"), "ExplainableBoosting", y)(random_state=0, **parameters).fit(X, y))


def ours_of_file(path: Path, target: str, **parameters: Any) -> Any:
    """Fits jaxtree's classifier to a file."""
    from jaxtree import ExplainableBoostingClassifier

    return _done(ExplainableBoostingClassifier(random_state=0, **parameters).fit(path, y=target))


def _done(model: Any) -> Any:
    """The model, when all of it is computed: JAX may still be computing when `fit` returns."""
    import jax

    jax.block_until_ready([leaf for leaf in jax.tree.leaves(vars(model)) if isinstance(leaf, jax.Array)])
    return model


def interpret(X: pandas.DataFrame, y: np.ndarray, **parameters: Any) -> Any:
    """Fits interpret."""
    return _kind(import_module("interpret.glassbox"), "ExplainableBoosting", y)(n_jobs=CORES, **parameters).fit(X, y)


def interpret_main(X: pandas.DataFrame, y: np.ndarray) -> Any:
    """Fits interpret without pairs."""
    return interpret(X, y, interactions=0)


def ours_main(X: pandas.DataFrame, y: np.ndarray, **parameters: Any) -> Any:
    """Fits jaxtree without pairs."""
    return ours(X, y, **parameters | {"interactions": 0})


def lightgbm(X: pandas.DataFrame, y: np.ndarray) -> Any:
    """Fits LightGBM."""
    import lightgbm as library
    from sklearn.model_selection import train_test_split

    strata = None if y.dtype.kind == "f" else y
    rows, held = train_test_split(np.arange(len(y)), test_size=HELD, random_state=0, stratify=strata)
    return _kind(library, "LGBM", y)(num_leaves=2, n_estimators=MOST_ROUNDS, n_jobs=CORES, verbose=-1).fit(
        X.iloc[rows],
        y[rows],
        eval_set=[(X.iloc[held], y[held])],
        callbacks=[library.early_stopping(PATIENCE, verbose=False)],
    )


def pygam(X: pandas.DataFrame, y: np.ndarray) -> Any:
    """Fits pygam."""
    from pygam import LinearGAM, LogisticGAM

    return (LinearGAM if y.dtype.kind == "f" else LogisticGAM)().fit(X.to_numpy(float), y)


def _kind(module: Any, name: str, y: np.ndarray) -> Any:
    return getattr(module, name + ("Regressor" if y.dtype.kind == "f" else "Classifier"))


CONTENDERS: dict[str, Callable[..., Any]] = {
    OURS: ours, OURS + MAIN: ours_main, "interpret": interpret, "interpret" + MAIN: interpret_main,
    "lightgbm": lightgbm, "pygam": pygam,
}  # fmt: skip
LIBRARIES = {
    OURS: "jaxtree.estimators.additive.estimators", "interpret": "interpret.glassbox",
    "lightgbm": "lightgbm", "pygam": "pygam",
}  # fmt: skip
"""The packages that they import."""


def import_library(contender: str) -> None:
    """Imports all that a contender needs, so that its first fit does not."""
    import_module(LIBRARIES[contender.removesuffix(MAIN)])
