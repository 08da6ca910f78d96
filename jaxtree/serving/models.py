"""`ServedModel`: an estimator's predictions, without the estimator."""

import os
from collections.abc import Mapping
from typing import Any

from jaxtree.files.records import from_json, require
from jaxtree.files.trees import FittedTable
from jaxtree.serving.rows import ReadsTables
from jaxtree.table.schema import Schema
from jaxtree.tree.model import FittedModel


class Parameters:
    """The parameters of the estimator in a file, of which a few say how it predicts.

    Args:
        given: The parameters as JSON.

    Raises:
        ModelFileError: They are none.
    """

    def __init__(self, given: Any):
        require(isinstance(given, dict), "its parameters are no object")
        self._given: Mapping[str, Any] = given

    def read(self, name: str) -> Any:
        """Returns a parameter; None if it is absent."""
        return from_json(self._given.get(name))

    @property
    def num_jobs(self) -> int | None:
        """The cores that predictions may use; None for all."""
        number = self.read("n_jobs")
        require(number is None or (type(number) is int and number != 0), "its n_jobs is no number of cores")
        return number


class ServedModel(ReadsTables):
    """A model of a file, which predicts with the bits of the estimator.

    Args:
        name: The class of the estimator.
        table: The columns and the target.
        model: The nodes, and what is predicted at each.
        n_jobs: The cores that a prediction may use, as in the estimator.

    Attributes:
        n_features_in_: The number of columns.
        feature_names_in_: The names of columns, if the table of the fit had names.
        n_outputs_: The number of targets.
        classes_: The classes of a model of classes; of several outputs a list.
        schema_: The columns in words.
    """

    n_features_in_: int
    n_outputs_: int = 1
    _of_classes = False

    def __init__(self, name: str, table: FittedTable, model: FittedModel, n_jobs: int | None):
        self.estimator_name, self.n_jobs, self._model = name, n_jobs, model
        table.restore(self, of_classes=self._of_classes)

    def __repr__(self) -> str:
        """Returns the class of the estimator and the number of its columns."""
        return f"{type(self).__name__}({self.estimator_name} of {self.n_features_in_} columns)"

    def predict_by_library(self, path: str | os.PathLike) -> None:
        """Predicts by a library of the same model from now on; see `jaxtree.to_library`.

        Raises:
            ModelFileError: The system cannot load it.
        """
        from jaxtree.serving.libraries import CompiledTrees  # few models are libraries

        self._model.__dict__["predictor"] = CompiledTrees(self._model, path)

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table."""
        return self.encoder_.schema_
