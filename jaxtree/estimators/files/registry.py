"""Which estimators go into files, and how: each kind has a way to take a fitted one apart, and to put it together."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidTypeError, JaxtreeError, ModelFileError
from jaxtree.estimators.checks import check_parameters
from jaxtree.estimators.files.parameters import join_parameters, split_parameters
from jaxtree.export.model_file import ModelFile, read_model_file, write_model_file


class Kind(NamedTuple):
    """How estimators of a class go into files.

    Attributes:
        split: Returns what fitting left behind, as JSON and arrays.
        join: Gives what fitting left behind to a new estimator that has its parameters. It is handed the content of a
            file of unknown origin, and raises ModelFileError unless all of it fits.
    """

    split: Callable[[Any], ModelFile]
    join: Callable[[Any, ModelFile], None]


class _Entry(NamedTuple):
    estimator: type
    kind: Kind


_ENTRIES: dict[str, _Entry] = {}


def register(estimator: type, kind: Kind) -> None:
    """Makes estimators of a class, and of no subclass, go into files; the name of the class stands in these."""
    _ENTRIES[estimator.__name__] = _Entry(estimator, kind)


def save(estimator: Any, path: str | os.PathLike) -> None:
    """Writes a fitted estimator into a file; see `KeptInFiles.save`."""
    name = type(estimator).__name__
    if name not in _ENTRIES or _ENTRIES[name].estimator is not type(estimator):
        raise InvalidTypeError(f"estimators of these classes are saved: {', '.join(_ENTRIES)}; got {name}")
    check_is_fitted(estimator)
    parts = _ENTRIES[name].kind.split(estimator)
    header = {
        "jaxtree": _version(),
        "class": name,
        "parameters": split_parameters(estimator),
        "learnt": parts.header,
    }
    write_model_file(path, ModelFile(header, parts.arrays))


def load(path: str | os.PathLike) -> Any:
    """Returns the fitted estimator in a file that `save` has written: it predicts as the saved one did.

    Nothing in the file is executed, and everything is checked before it is used, so that a file may come from anywhere.
    A file that a jaxtree of any version has written can be read by all later ones.

    Args:
        path: The file.

    Raises:
        ModelFileError: The file is damaged, made up, or written by a newer jaxtree; the message says which.
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
    try:
        content = read_model_file(path)
        return _join(content)
    except JaxtreeError as error:
        raise ModelFileError(f"cannot load {os.fspath(path)!r}: {error}") from None


def _join(content: ModelFile) -> Any:
    header = content.header
    name, learnt = header.get("class"), header.get("learnt")
    if not isinstance(name, str) or name not in _ENTRIES:
        raise ModelFileError(f"it holds an estimator of class {str(name)[:40]!r}; known are {', '.join(_ENTRIES)}")
    if not isinstance(learnt, dict):
        raise ModelFileError("it does not say what the estimator has learnt")
    entry = _ENTRIES[name]
    estimator = entry.estimator(**join_parameters(header.get("parameters"), entry.estimator))
    estimator._check_parameters()
    entry.kind.join(estimator, ModelFile(learnt, content.arrays))
    return estimator


def _version() -> str:
    import jaxtree  # which imports this module

    return jaxtree.__version__


class KeptInFiles:
    """What estimators have that go into files."""

    def save(self, path: str | os.PathLike) -> None:
        """Writes the fitted estimator into a file, which `jaxtree.load` reads.

        The file has the safetensors format: arrays, and a header of JSON with the parameters and the schema. What
        stands at the path is replaced when the new file is complete.

        Args:
            path: Where to write, such as "model.jaxtree".

        Raises:
            InvalidInputError: A parameter cannot be kept: a function that is not jaxtree's, such as a loss; a random
                generator; an optimiser; a splitter of scikit-learn; the tree that a soft one began with. Set it to
                something else first; what is fitted does not change.
            InvalidTypeError: The estimator is of a class that is not jaxtree's own.
        """
        save(self, path)

    def _check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_parameters(self)
