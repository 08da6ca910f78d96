"""Fits a peer in its own environment, and prints its predictions and seconds as JSON; no part of jaxtree is needed.

python peer_worker.py 'gradtree'|'grande'|'grande, 512 trees' PARTS.npz SEED
"""

import importlib
import json
import sys
import time
from functools import partial
from typing import Any

import numpy as np
import pandas
import sklearn.preprocessing
import sklearn.utils.class_weight  # noqa: F401


def fit_gradtree(parts: list[tuple[Any, Any]], num_classes: int, seed: int) -> Any:
    """GradTree with its default parameters."""
    GradTree = importlib.import_module("GradTree").GradTree

    model = GradTree(params={}, args={**_args(num_classes), "random_seed": seed})
    return _fit(model, parts)


def fit_grande(parts: list[tuple[Any, Any]], num_classes: int, seed: int, **params: int) -> Any:
    """GRANDE with its default parameters but for those given."""
    GRANDE = importlib.import_module("GRANDE").GRANDE

    model = GRANDE(params=params, args={**_args(num_classes), "random_seed": seed})
    return _fit(model, parts)


def _args(num_classes: int) -> dict[str, Any]:
    objective = "binary" if num_classes == 2 else "classification"
    epochs = {"epochs": 1000, "early_stopping_epochs": 25, "batch_size": 64}  # as in the examples of both
    return {"objective": objective, "cat_idx": [], "verbose": 0, **epochs}


def _fit(model: Any, parts: list[tuple[Any, Any]]) -> Any:
    tables = [(pandas.DataFrame(X), y) for X, y in parts[:2]]
    model.fit(X_train=tables[0][0], y_train=tables[0][1], X_val=tables[1][0], y_val=tables[1][1])
    return model


FITS = {
    "gradtree": fit_gradtree,
    "grande": fit_grande,
    "grande, 512 trees": partial(fit_grande, n_estimators=512),
}


def main() -> None:
    """Fits, predicts, prints."""
    name, place, seed = sys.argv[1:]
    with np.load(place) as arrays:
        parts = [(arrays[f"X{at}"], arrays[f"y{at}"]) for at in range(3)]
    num_classes = int(max(y.max() for _, y in parts)) + 1
    began = time.perf_counter(), time.process_time()
    model = FITS[name](parts, num_classes, int(seed))
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    epochs = len(model.history.epoch)  # which predicting forgets
    shares = np.asarray(model.predict(pandas.DataFrame(parts[2][0])))
    predicted = shares.argmax(axis=1) if shares.ndim == 2 and shares.shape[1] > 1 else np.round(shares.ravel())
    print(json.dumps({"predicted": predicted.astype(int).tolist(), "seconds": seconds, "epochs": epochs}))


if __name__ == "__main__":
    main()
