"""Fitted estimators in files: `save` and `load`, and what an estimator must have for them."""

import dataclasses
import importlib
import inspect
import os
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError, InvalidTypeError, ModelFileError, warn_user
from jaxtree.files.container import ModelFile, read_model_file, write_model_file
from jaxtree.files.kept import KEPT, class_name_of, loading
from jaxtree.files.predictions import check_predictions
from jaxtree.files.records import from_json, read_record, require, to_json, write_record
from jaxtree.files.trees import FittedTable, OutputClasses
from jaxtree.table.encoder import Encoder


class KeptInFiles:
    """An estimator that goes into files: its parameters, and a record of what it has learned."""

    encoder_: Encoder
    n_features_in_: int
    feature_names_in_: Shaped[np.ndarray, " column"]
    classes_: Any
    outputs: Callable[[], Outputs]

    other_columns_: tuple[str, ...] = ()
    """Columns of the fitted source that are no features: target and weights."""
    is_vector_: bool

    file_notes_: Mapping[str, Any] = MappingProxyType({})
    """Values of JSON that a program keeps in the model's file, such as the words of missing cells in its tables."""

    def kept_parameters(self) -> dict[str, Any]:
        """Returns the parameters that a file has: those of the class of jaxtree, not of one derived from it.

        A loss that is given as a function is kept as the `Loss` that it makes.
        """
        parameters = {name: getattr(self, name) for name in inspect.signature(_kept_class(type(self))).parameters}
        if callable(loss := parameters.get("loss")):
            from jaxtree.losses.names import loss_of  # with which most losses are loaded

            fitted = getattr(self, "loss_", None)
            num_scores = getattr(self, "n_classes_", 1) if fitted is None else fitted.num_scores
            parameters["loss"] = loss_of(loss, {}, num_scores)
        return parameters

    def fitted_state(self) -> Any:
        """Returns what fitting has learned, as a record; a subclass annotates of which class."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        """Takes what `fitted_state` of an estimator with these parameters returned, as what it has learned itself.

        Raises:
            InvalidInputError: A parameter is not allowed.
            ModelFileError: The parts of the record do not fit each other, or the parameters.
        """
        raise NotImplementedError

    def fitted_table(self) -> FittedTable:
        """Returns what the estimator has learned of its table and target; raises NotFittedError without a fit."""
        check_is_fitted(self)
        outputs = self.outputs()
        return FittedTable(
            columns=tuple(self.encoder_.schema_.columns),
            options=dataclasses.replace(self.encoder_),
            is_named=hasattr(self, "feature_names_in_"),
            beside=tuple(self.other_columns_),
            max_features=vars(self).get("max_features_"),
            num_outputs=outputs.number,
            outputs=tuple(
                OutputClasses(names, np.asarray(order, np.int64))
                for names, order in zip(outputs.classes, self.class_orders(), strict=True)
            ),
            is_vector=bool(outputs.is_vector),
        )

    def class_orders(self) -> tuple[Int[np.ndarray, " class"], ...]:
        """Returns the places of the classes of every output in the order that decides between equal ones."""
        return tuple(np.arange(number) for number in self.outputs().num_classes)

    def restore_table(self, table: FittedTable) -> None:
        """Takes what `fitted_table` of another estimator returned.

        Raises:
            ModelFileError: It has classes, and the estimator predicts numbers, or the other way round.
        """
        table.restore(self, of_classes=is_classifier(self))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the fitted estimator into a file, which `jaxtree.load` reads.

        The file has the safetensors format: arrays, and a header of JSON with the parameters and the schema. A file at
        the path is replaced when the new one is complete, which keeps its permissions; a device or a named pipe is
        written into.

        An estimator of a class of the user's own that derives from one of jaxtree is saved as this one, with a warning:
        a file has no code. `joblib.dump` keeps such a class, for programs that can import it.

        Args:
            path: Where to write, such as "model.jaxtree".

        Raises:
            InvalidInputError: A parameter cannot be kept: a function that is not jaxtree's, such as a criterion; a
                random generator; an optimiser; a splitter of scikit-learn; the tree that a soft one began with. Set it
                to something else first; what is fitted does not change. A loss of boosting that is the user's own is
                kept by its name alone, and `load` takes the loss again.
            InvalidTypeError: The estimator is of a class that no class of jaxtree's own files is a base of.
        """
        header, kind = describe_estimator(self), _kept_class(type(self))
        state = write_record(self.fitted_state(), _state_of(kind))
        if kind is not type(self):
            warn_user(
                f"{type(self).__name__} is saved as the {kind.__name__} that it derives from, which load returns: what "
                "it adds, such as methods and parameters, is code, and no file of models has any; joblib.dump keeps it"
            )
        notes = {"notes": dict(self.file_notes_)} if self.file_notes_ else {}
        write_model_file(path, ModelFile({**header, **notes, "fitted": state.header}, state.arrays))


def describe_estimator(estimator: Any) -> dict[str, Any]:
    """Returns what a file says of an estimator beside what it has learned: the version, its class, and its parameters.

    Raises:
        InvalidInputError: A parameter cannot be kept.
        InvalidTypeError: The estimator is of a class that no class of jaxtree's own files is a base of.
    """
    kind = _kept_class(type(estimator))
    version = importlib.import_module("jaxtree").__version__
    return {"jaxtree": version, "class": kind.__name__, "parameters": _write_parameters(estimator)}


def load(path: str | os.PathLike, *, loss: Any = None) -> Any:
    """Returns the fitted estimator in a file that `save` has written: it predicts as the saved one did.

    Nothing in the file is executed, and everything is checked before it is used, so that a file may come from anywhere.

    Args:
        path: The file.
        loss: The loss of a model that was fitted with one of the user's own, which no file holds: a `Loss`, or its
            function alone. Without it the model has scores, and predictions if the link is one that jaxtree has;
            what needs more is an error that names the loss.

    Raises:
        ModelFileError: The file is damaged, made up, or of another format; the message names the fault. Or the loss is
            none that belongs there.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile, pathlib
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     DecisionTreeClassifier(max_depth=2).fit(X, y).save(pathlib.Path(folder) / "iris.jaxtree")
        ...     load(pathlib.Path(folder) / "iris.jaxtree").score(X, y)
        0.96
    """
    with loading(path):
        return _estimator_of(read_model_file(path), loss)


def _estimator_of(content: ModelFile, loss: Any) -> Any:
    header = content.header
    name = class_name_of(content)
    fitted: Any = header.get("fitted")
    kind = _class_of(name)
    try:
        estimator = kind(**from_json({"dict": list(header["parameters"].items())}))
    except (AttributeError, LookupError, TypeError):
        raise ModelFileError(f"its parameters are not those of {name}") from None
    state = read_record(ModelFile(fitted, content.arrays), _state_of(kind))
    if loss is not None:
        state = importlib.import_module("jaxtree.files.boosting").with_loss(state, estimator, loss)
    estimator.restore(state)
    notes = header.get("notes", {})
    require(isinstance(notes, dict), "its notes are no object")
    if notes:
        estimator.file_notes_ = notes
    check_predictions(estimator)
    return estimator


def _class_of(name: str) -> Any:
    return getattr(importlib.import_module("jaxtree"), name)


def _kept_class(kind: type) -> Any:
    """The class that goes into a file for a class: itself, or the nearest base that does.

    Raises InvalidTypeError if there is none.
    """
    for own in kind.__mro__:
        if own.__name__ in KEPT and own is _class_of(own.__name__):
            return own
    raise InvalidTypeError(f"estimators of these classes are saved: {', '.join(KEPT)}; got {kind.__name__}")


def _state_of(kind: Any) -> Any:
    """The class of an estimator's records."""
    return typing.get_type_hints(kind.fitted_state)["return"]


def _write_parameters(estimator: Any) -> dict[str, Any]:
    parameters = {}
    for name, value in estimator.kept_parameters().items():
        try:
            parameters[name] = to_json(value)
        except InvalidInputError as error:
            raise InvalidInputError(f"parameter {name} cannot be kept: {error}") from None
    return parameters
