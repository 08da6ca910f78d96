"""Fitted models as shared libraries: the program of `jaxtree.to_c`, compiled, and behind it the model's file."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from jaxtree.blocks import for_blocks
from jaxtree.errors import InvalidInputError, MissingExtraError, ModelFileError
from jaxtree.files.container import as_library
from jaxtree.files.writing import check_writable, write_file
from jaxtree.kernels.compiled import ROWS_FUNCTION, CompiledRows
from jaxtree.tree.model import FittedModel
from jaxtree.tree.predictor import Predictor

_FLAGS = ("-std=c99", "-O3", "-ffp-contract=off", "-shared", "-fPIC")
"""No multiplication is fused with an addition, which would round otherwise."""

_ENTRY = f"""
/* What {{function}} does, by the name that jaxtree.serving looks for. */
void {ROWS_FUNCTION}(const double *rows, size_t number, double *output) {{{{ {{function}}(rows, number, output); }}}}
"""

_ROWS_OF_THREAD = 2048
"""Rows that are worth a thread of their own."""


def to_library(estimator: Any, path: str | os.PathLike, *, name: str = "tree", compiler: str | None = None) -> None:
    """Writes a fitted tree, forest, boosting or additive model as a shared library.

    Programs in C call the functions that `jaxtree.to_c` describes; `jaxtree.serving.load` returns a model that predicts
    by them, with the bits of the estimator. The library needs no other than the C library's `libm`, and runs on every
    processor of the architecture that it is compiled on. The model's file stands behind it, where `jaxtree.load` finds
    it too.

    Args:
        estimator: The fitted estimator, or a search that has one.
        path: The file to write: at once or not at all, so that a process that has the old one open keeps it.
        name: The beginning of the names of functions.
        compiler: The C compiler; the variable `CC`, or the first of cc, gcc and clang, if not given.

    Raises:
        InvalidInputError: `jaxtree.to_c` has no form of the estimator, or the compiler fails.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits.
        MissingExtraError: There is no compiler.
        OSError: The file cannot be written.

    Example:
        >>> import pathlib, shutil, tempfile
        >>> from jaxtree import DecisionTreeClassifier, serving
        >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "yes", "yes"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "model.so"
        ...     if any(map(shutil.which, ("cc", "gcc", "clang"))):
        ...         to_library(model, path)
        ...         assert serving.load(path).predict([[2.5]]).tolist() == ["yes"]
    """
    from jaxtree.export.models import best_of_search  # with JAX, which served models do without
    from jaxtree.export.programs import to_c

    check_writable(path)
    command = _find_compiler(compiler)
    text = to_c(estimator, name=name)
    function = re.search(r"^void (\w+_rows)\(", text, re.MULTILINE)
    text += _ENTRY.format(function=function[1] if function else "")
    with tempfile.TemporaryDirectory() as folder:
        source, made, model = (Path(folder) / file for file in ("model.c", "model.so", "model.jaxtree"))
        source.write_text(text)
        _compile([command, *_FLAGS, str(source), "-o", str(made), "-lm"])
        best_of_search(estimator).save(model)
        data = as_library(made.read_bytes(), model.read_bytes())
    write_file(path, data)


def _find_compiler(given: str | None) -> str:
    """Returns the compiler; raises MissingExtraError if there is none."""
    names = [given] if given else [name for name in (os.environ.get("CC"), "cc", "gcc", "clang") if name]
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise MissingExtraError(
            f"a shared library needs a C compiler, and {', '.join(names)} is not there: apt install gcc, "
            "xcode-select --install, or name one by compiler= or the variable CC"
        )
    return found


def _compile(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:200])
        raise InvalidInputError(f"{command[0]} did not compile the model: {said or f'exit status {done.returncode}'}")


class CompiledTrees(Predictor):
    """The trees of a library, which computes the means of their values; all else is done as without it.

    Args:
        model: The model.
        path: The library.

    Raises:
        ModelFileError: The system cannot load the library, such as one of another architecture.
    """

    def __init__(self, model: FittedModel, path: str | os.PathLike):
        super().__init__(model.forest)
        self._values = model.node_value
        try:
            self._rows = CompiledRows(path)
        except (OSError, AttributeError) as error:
            raise ModelFileError(f"the system cannot load it as a library: {error}") from None

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        """Stores the trees alone, which predict the same without the library, wherever they are loaded."""
        return Predictor, (self._forest,)

    def mean(
        self, values: Float[np.ndarray, "row feature"], node_value: Float[np.ndarray, "node column"]
    ) -> Float64[np.ndarray, "row column"]:
        """The mean over the trees of the values of the nodes where a row ends."""
        if node_value is not self._values:
            return super().mean(values, node_value)
        rows, means = np.ascontiguousarray(values, np.float64), np.empty((len(values), node_value.shape[1]))

        def predict(block: slice) -> None:
            self._rows(rows[block], means[block])

        for_blocks(predict, len(rows), _ROWS_OF_THREAD)
        return means
