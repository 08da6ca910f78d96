"""What estimators learn from a table beside their trees: schema, classes, and the shape of the target."""

from typing import Any

import numpy as np
from jaxtyping import Shaped

from jaxtree.errors import ModelFileError
from jaxtree.estimators.files.parameters import read_parameter, write_parameter
from jaxtree.estimators.prunings import Pruning
from jaxtree.export.json_values import from_json, to_json
from jaxtree.export.model_file import ModelFile
from jaxtree.export.schema_parts import join_schema, split_schema
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import default_names

_OPTIONS: dict[str, tuple[type, ...]] = {
    "encoding": (str,),
    "max_bins": (str, int, type(None)),
    "max_categories": (int, type(None)),
    "categorical_features": (str, list, tuple, np.ndarray, type(None)),
    "unseen": (str,),
}
"""The options of encoders, and the types that they may have."""


def split_learnt(estimator: Any) -> ModelFile:
    """Returns what a fitted tree or forest has learned beside its nodes."""
    parts = split_schema(estimator.schema_)
    options = {name: write_parameter(name, getattr(estimator.encoder_, name)) for name in _OPTIONS}
    header = {
        **parts.header,
        "encoder": options,
        "is_sampled": bool(estimator.encoder_._is_sampled),
        "is_named": hasattr(estimator, "feature_names_in_"),
        "beside": list(estimator._beside),
        "max_features": getattr(estimator, "max_features_", None),
        "num_declared": getattr(estimator, "_num_declared", None),
        "pruning": write_parameter("pruning_", getattr(estimator, "pruning_", None)),
    }
    if hasattr(estimator, "classes_"):
        classes = _by_output(estimator, "classes_")
        order = _by_output(estimator, "class_order_") if hasattr(estimator, "class_order_") else None
        header["classes"] = [to_json(names) for names in classes]
        header["class_order"] = order and [np.asarray(places).tolist() for places in order]
    else:
        header["is_vector"] = bool(estimator._is_vector)
    return ModelFile(header, parts.arrays)


def join_learnt(estimator: Any, parts: ModelFile) -> tuple[int, ...]:
    """Gives an estimator what it has learned beside its nodes; returns the numbers of classes, empty for numbers.

    Raises:
        ModelFileError: The parts do not fit, or not each other.
    """
    header = parts.header
    estimator.encoder_ = _join_encoder(parts)
    names = estimator.encoder_.schema_.column_names
    estimator.n_features_in_ = len(names)
    if _truth(header, "is_named"):
        estimator.feature_names_in_ = np.array(names, object)
    elif names != default_names(len(names)):
        raise ModelFileError("its columns have names, and it says that they have none")
    estimator._beside = _names(header.get("beside"))
    for name, attribute in (("max_features", "max_features_"), ("num_declared", "_num_declared")):
        if header.get(name) is not None:
            setattr(estimator, attribute, _count(header, name))
    return _join_classes(estimator, header)


def join_pruning(estimator: Any, parts: ModelFile) -> None:
    """Gives a tree the pruning that it was pruned by."""
    pruning = read_parameter(parts.header.get("pruning"))
    if pruning is not None and not isinstance(pruning, Pruning):
        raise ModelFileError("its pruning is none")
    estimator.pruning_ = pruning


def _join_encoder(parts: ModelFile) -> Encoder:
    options = parts.header.get("encoder")
    if not isinstance(options, dict) or set(options) != set(_OPTIONS):
        raise ModelFileError("its encoder does not have the options of one")
    values = {name: read_parameter(option) for name, option in options.items()}
    if not all(type(value) in _OPTIONS[name] for name, value in values.items()):
        raise ModelFileError("its encoder has options that are none")
    encoder = Encoder(**values)
    encoder._check_options()
    encoder.schema_ = join_schema(parts, onehot=encoder.encoding == "onehot")
    encoder._is_sampled = _truth(parts.header, "is_sampled")
    return encoder


def _join_classes(estimator: Any, header: dict[str, Any]) -> tuple[int, ...]:
    if not hasattr(type(estimator), "predict_proba"):
        estimator._is_vector = _truth(header, "is_vector")
        return ()
    given = header.get("classes")
    if not isinstance(given, list) or not given:
        raise ModelFileError("it has no classes")
    classes = [_classes(names) for names in given]
    order = header.get("class_order")
    if order is None:
        order = [list(range(len(names))) for names in classes]
    if not isinstance(order, list) or len(order) != len(classes):
        raise ModelFileError("its classes have no order")
    places = [_order(place, len(names)) for place, names in zip(order, classes, strict=True)]
    is_one = len(classes) == 1
    estimator.n_outputs_ = len(classes)
    estimator.classes_ = classes[0] if is_one else classes
    estimator.n_classes_ = len(classes[0]) if is_one else np.array([len(names) for names in classes])
    estimator.class_order_ = places[0] if is_one else places
    return tuple(len(names) for names in classes)


def _classes(given: Any) -> Shaped[np.ndarray, " class"]:
    names = from_json(given)
    if not isinstance(names, np.ndarray) or not names.size:
        raise ModelFileError("its classes are no array")
    if len(set(names.tolist())) != names.size or (names.dtype.kind == "f" and not np.isfinite(names).all()):
        raise ModelFileError("its classes are not distinct values")
    return names


def _order(place: Any, size: int) -> Shaped[np.ndarray, " class"]:
    if not isinstance(place, list) or not all(type(number) is int for number in place):
        raise ModelFileError("its classes have no order")
    if sorted(place) != list(range(size)):
        raise ModelFileError("the order of its classes does not name each of them once")
    return np.array(place, np.int32)


def _by_output(estimator: Any, name: str) -> list:
    parts = getattr(estimator, name)
    return [parts] if estimator.n_outputs_ == 1 else list(parts)


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ModelFileError("its columns beside the features are no names")
    return tuple(value)


def _count(header: dict[str, Any], name: str) -> int:
    value = header[name]
    if type(value) is not int or not 0 <= value < 2**31:
        raise ModelFileError(f"its {name} is no number of things")
    return value


def _truth(header: dict[str, Any], name: str) -> bool:
    value = header.get(name)
    if not isinstance(value, bool):
        raise ModelFileError(f"it says of {name} neither true nor false")
    return value
