"""What estimators learn from a table beside their trees: schema, classes, and the shape of the target."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int32, Shaped

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


class Classes(NamedTuple):
    """The classes of every output, as a file has them.

    Attributes:
        names: Those of each output in ascending order.
        places: The place of each among the names, in the order in which they were declared.
    """

    names: list[Shaped[np.ndarray, " class"]]
    places: list[Int32[np.ndarray, " class"]]


def split_learnt(estimator: Any) -> ModelFile:
    """Returns what a fitted estimator has learned beside its nodes or parameters."""
    parts = split_schema(estimator.encoder_.schema_)
    options = {name: write_parameter(name, getattr(estimator.encoder_, name)) for name in _OPTIONS}
    header = {
        **parts.header,
        "encoder": options,
        "is_sampled": bool(getattr(estimator.encoder_, "_is_sampled", False)),
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
    """Gives a tree what it has learned beside its nodes; returns the numbers of classes, empty for numbers.

    Raises:
        ModelFileError: The parts do not fit, or not each other.
    """
    join_columns(estimator, parts)
    for name, attribute in (("max_features", "max_features_"), ("num_declared", "_num_declared")):
        if parts.header.get(name) is not None:
            setattr(estimator, attribute, _count(parts.header, name))
    if not hasattr(type(estimator), "predict_proba"):
        estimator._is_vector = read_truth(parts.header, "is_vector")
        return ()
    names, places = read_classes(parts.header)
    is_one = len(names) == 1
    estimator.n_outputs_ = len(names)
    estimator.classes_ = names[0] if is_one else names
    estimator.n_classes_ = len(names[0]) if is_one else np.array([len(classes) for classes in names])
    estimator.class_order_ = places[0] if is_one else places
    return tuple(len(classes) for classes in names)


def join_columns(estimator: Any, parts: ModelFile) -> None:
    """Gives an estimator its encoder, and the columns of its table.

    Raises:
        ModelFileError: The parts do not fit, or not each other.
    """
    header = parts.header
    estimator.encoder_ = _join_encoder(parts)
    names = estimator.encoder_.schema_.column_names
    estimator.n_features_in_ = len(names)
    if read_truth(header, "is_named"):
        estimator.feature_names_in_ = np.array(names, object)
    elif names != default_names(len(names)):
        raise ModelFileError("its columns have names, and it says that they have none")
    estimator._beside = _names(header.get("beside"))


def read_classes(header: dict[str, Any]) -> Classes:
    """Returns the classes of every output.

    Raises:
        ModelFileError: They are none.
    """
    given = header.get("classes")
    if not isinstance(given, list) or not given:
        raise ModelFileError("it has no classes")
    classes = [_classes(names) for names in given]
    order = header.get("class_order")
    if order is None:
        order = [list(range(len(names))) for names in classes]
    if not isinstance(order, list) or len(order) != len(classes):
        raise ModelFileError("its classes have no order")
    return Classes(classes, [_order(place, len(names)) for place, names in zip(order, classes, strict=True)])


def join_pruning(estimator: Any, parts: ModelFile) -> None:
    """Gives a tree the pruning that it was pruned by."""
    pruning = read_parameter(parts.header.get("pruning"))
    if pruning is not None and not isinstance(pruning, Pruning):
        raise ModelFileError("its pruning is none")
    estimator.pruning_ = pruning


def read_truth(header: dict[str, Any], name: str) -> bool:
    """Returns what a header says of something; raises ModelFileError if that is neither true nor false."""
    value = header.get(name)
    if not isinstance(value, bool):
        raise ModelFileError(f"it says of {name} neither true nor false")
    return value


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
    encoder._is_sampled = read_truth(parts.header, "is_sampled")
    return encoder


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
    return list(parts) if isinstance(parts, list | tuple) else [parts]


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ModelFileError("its columns beside the features are no names")
    return tuple(value)


def _count(header: dict[str, Any], name: str) -> int:
    value = header[name]
    if type(value) is not int or not 0 <= value < 2**31:
        raise ModelFileError(f"its {name} is no number of things")
    return value
