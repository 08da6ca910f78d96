"""Models of files to be served: read and checked as estimators are, and made without their classes."""

import importlib
import os
import typing
from typing import Any

from jaxtree.errors import InvalidInputError
from jaxtree.files.container import ModelFile, is_library, read_model_file
from jaxtree.files.kept import class_name_of, loading
from jaxtree.files.records import read_record
from jaxtree.serving.models import Parameters, ServedModel

_MAKERS = {
    "DecisionTree": "trees.serve_tree",
    "C45": "trees.serve_tree",
    "ID3": "trees.serve_tree",
    "OptimalTree": "trees.serve_tree",
    "PolicyTree": "trees.serve_tree",
    "RandomForest": "trees.serve_forest",
    "ExtraTrees": "trees.serve_forest",
    "GradientBoosting": "scores.serve_boosted",
    "ExplainableBoosting": "scores.serve_additive",
}
"""The functions that make served models of records, by the beginning of the estimator's name; loaded when needed."""


def load(path: str | os.PathLike) -> ServedModel:
    """Returns the model in a file that `save` of an estimator has written: it predicts with the same bits.

    It loads neither JAX nor scikit-learn nor pandas, so that a process which loads a model and predicts a row is ready
    in a fraction of the time and the memory that `jaxtree.load` takes. Rows are walked by the kernel in C++, or by
    NumPy where that is not installed. The model has what predictions need: `predict`, `predict_proba`,
    `decision_function`, `raw_scores`, `predict_dist` as the estimator has them, and `classes_`, `feature_names_in_` and
    `schema_`. It can be forked, pickled, and used by threads. Trees, forests, boosting and additive models are served;
    `jaxtree.load` returns the estimator itself.

    The code of a library that `jaxtree.to_library` has written is run, as that of every library: load one only if you
    trust its source. A model file runs none.

    Args:
        path: The file, or a library.

    Raises:
        ModelFileError: The file is damaged, made up, or of another format.
        InvalidInputError: It holds another model, such as a soft tree.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile, pathlib
        >>> from jaxtree import DecisionTreeClassifier, serving
        >>> X, y = [["red", 1.0], ["green", 2.0], [None, 3.0]], ["no", "yes", "yes"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     DecisionTreeClassifier().fit(X, y).save(pathlib.Path(folder) / "tree.jaxtree")
        ...     model = serving.load(pathlib.Path(folder) / "tree.jaxtree")
        >>> model, model.predict([["green", 2.5]]).tolist(), model.predict_proba([["green", 2.5]]).tolist()
        (ServedClassifier(DecisionTreeClassifier of 2 columns), ['yes'], [[0.0, 1.0]])
    """
    with loading(path):
        content = read_model_file(path)
        name = class_name_of(content)
        place = next((place for beginning, place in _MAKERS.items() if name.startswith(beginning)), None)
    if place is None:
        raise InvalidInputError(
            f"{os.fspath(path)!r} holds a {name}, and trees, forests, boosting and additive models are served: "
            "jaxtree.load(path) returns the estimator, which predicts with JAX"
        )
    with loading(path):
        module, function = place.split(".")
        make = getattr(importlib.import_module(f"jaxtree.serving.{module}"), function)
        state = _read_state(content, typing.get_type_hints(make)["state"])
        model = make(name, state, Parameters(content.header.get("parameters")))
        if is_library(path):
            model.predict_by_library(path)
    return model


def _read_state(content: ModelFile, kind: type) -> Any:
    """Returns the record of an estimator, without its pruning, which says nothing of predictions any more."""
    fitted: Any = content.header.get("fitted")
    if isinstance(fitted, dict) and "pruning" in fitted:
        fitted = {**fitted, "pruning": None}
    return read_record(ModelFile(fitted, content.arrays), kind)
