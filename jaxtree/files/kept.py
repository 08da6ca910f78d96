"""The estimators that go into files, and the errors of files that hold none of them."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from jaxtree.errors import JaxtreeError, ModelFileError
from jaxtree.files.container import ModelFile, shortened
from jaxtree.files.records import require

KEPT = (
    *("DecisionTreeClassifier", "DecisionTreeRegressor", "C45Classifier", "ID3Classifier"),
    *("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
    *("SoftTreeClassifier", "SoftTreeRegressor", "SoftForestClassifier", "SoftForestRegressor"),
    *("HardTreeClassifier", "HardTreeRegressor", "OptimalTreeClassifier", "OptimalTreeRegressor", "PolicyTree"),
    *("HardForestClassifier", "HardForestRegressor"),
    *("GradientBoostingClassifier", "GradientBoostingRegressor"),
    *("GradientBoostingRanker", "GradientBoostingDistribution"),
    *("ExplainableBoostingClassifier", "ExplainableBoostingRegressor"),
    *("CausalForest", "InstrumentalForest"),
    *("QuantileForest", "SurvivalForest", "LocalLinearForest"),
)
"""The estimators that go into files: names of the package, which loads a class when it is asked for."""


def class_name_of(content: ModelFile) -> str:
    """Returns the name of the class of the estimator in a file; raises ModelFileError if it is none that is kept."""
    name: Any = content.header.get("class")
    require(name in KEPT, f"it holds an estimator of class {shortened(name)}; known are {', '.join(KEPT)}")
    return name


@contextlib.contextmanager
def loading(path: str | os.PathLike) -> Iterator[None]:
    """Makes errors of jaxtree in a block those of a file that cannot be loaded: ModelFileError with its path."""
    try:
        yield
    except JaxtreeError as error:
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: {error}") from None
    except RecursionError:
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: its header is nested too deeply") from None
