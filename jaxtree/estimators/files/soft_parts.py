"""Parameters of soft trees and forests as arrays, their inputs too, and back."""

import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.errors import ModelFileError
from jaxtree.estimators.files.learnt import read_truth
from jaxtree.export.model_file import ModelFile
from jaxtree.soft.forest import SoftForest, no_mixing
from jaxtree.soft.inputs import Inputs
from jaxtree.soft.model import SoftForm, SoftTree, init
from jaxtree.soft.scaling import Quantile, Scale, Standard
from jaxtree.table.schema import Schema

MOST_LEVELS = 16
"""Of the depth of a soft estimator."""
MOST_TREES = 2**20

_MODEL, _NUMBERS, _INDICATED = "model", "inputs.numbers", "inputs.with_indicator"
_FLOAT = ("float32", "float64")
_FORM = ("depth", "num_outputs", "gate", "step", "selector", "leaf")
"""What is kept of a form; the rest follows from the inputs."""


def split_inputs(inputs: Inputs) -> ModelFile:
    """Returns the scales, and which features have an indicator; the schema is kept elsewhere.

    A feature is described by null, one-hot; "standard", which has a mean and a deviation among the numbers; or a
    number of knots of a quantile scale, whose values and then shares stand there.
    """
    described = [
        None if scale is None else "standard" if isinstance(scale, Standard) else scale.value.size
        for scale in inputs.scales
    ]
    numbers = [np.ravel(np.array(scale, np.float64)) for scale in inputs.scales if scale is not None]
    arrays = {
        _NUMBERS: np.concatenate([np.zeros(0), *numbers]),
        _INDICATED: np.asarray(inputs.with_indicator, np.int64),
    }
    return ModelFile({"scales": described}, arrays)


def join_inputs(parts: ModelFile, schema: Schema) -> Inputs:
    """Returns the inputs whose parts these are.

    Args:
        parts: The content of a file of unknown origin.
        schema: What the values mean.

    Raises:
        ModelFileError: They are not those of inputs of such values.
    """
    described = parts.header.get("scales")
    if not isinstance(described, list) or len(described) != schema.num_features:
        raise ModelFileError("it does not have one scale a feature")
    sizes = [_num_numbers(scale) for scale in described]
    numbers = parts.arrays.get(_NUMBERS)
    if numbers is None or numbers.dtype != np.float64 or numbers.shape != (sum(sizes),):
        raise ModelFileError(f"array {_NUMBERS!r} is missing, or not of the type and length that scales have")
    ends = np.cumsum(sizes, dtype=np.int64)[:-1]
    scales = [_scale(scale, part.copy()) for scale, part in zip(described, np.split(numbers, ends), strict=True)]
    if any((scale is None) != bool(is_word) for scale, is_word in zip(scales, schema.is_categorical, strict=True)):
        raise ModelFileError("a feature has a scale that is not for its kind")
    widths = np.where(schema.is_categorical, schema.num_values, 1).astype(np.int64)
    return Inputs(schema, tuple(scales), np.cumsum(widths) - widths, _indicated(parts, schema.num_features))


def _num_numbers(described: Any) -> int:
    """The numbers that a scale is made of."""
    if described is None:
        return 0
    if described == "standard":
        return 2
    if type(described) is not int or not 1 <= described < 2**31:
        raise ModelFileError("it has a scale that is none")
    return 2 * described


def _scale(described: Any, numbers: Float64[np.ndarray, " number"]) -> Scale | None:
    if not np.isfinite(numbers).all():
        raise ModelFileError("it has a scale of infinite numbers")
    if described is None:
        return None
    if described == "standard":
        mean, deviation = numbers.tolist()
        if deviation <= 0:
            raise ModelFileError("it has a scale whose deviation is not positive")
        return Standard(mean, deviation)
    value, share = np.split(numbers, 2)
    if (np.diff(value) <= 0).any() or (np.diff(share) <= 0).any() or share[0] <= 0 or share[-1] >= 1:
        raise ModelFileError("it has a scale of quantiles that do not ascend")
    return Quantile(value, share)


def _indicated(parts: ModelFile, num_features: int) -> Int64[np.ndarray, " indicator"]:
    given = parts.arrays.get(_INDICATED)
    if given is None or given.dtype != np.int64 or given.ndim != 1:
        raise ModelFileError(f"array {_INDICATED!r} is missing, or not of its type")
    if (np.diff(given) <= 0).any() or (given < 0).any() or (given >= num_features).any():
        raise ModelFileError("it has indicators of features that there are not")
    return given.copy()


def split_model(model: SoftTree | SoftForest) -> ModelFile:
    """Returns the parameters of a soft tree or forest under the names of their fields."""
    form = model.trees.form if isinstance(model, SoftForest) else model.form
    header: dict[str, Any] = {"form": {name: getattr(form, name) for name in _FORM}}
    if isinstance(model, SoftForest):
        header |= {"num_trees": int(model.num_trees), "is_mixed": model.mixing is not None}
    return ModelFile(header, {name: np.asarray(array) for name, array in _named(model).items()})


def join_model(parts: ModelFile, inputs: Inputs, num_outputs: int, *, is_forest: bool) -> Any:
    """Returns the soft tree or forest whose parts these are.

    Args:
        parts: The content of a file of unknown origin.
        inputs: What it reads.
        num_outputs: How many numbers it says.
        is_forest: Whether it is a forest.

    Raises:
        ModelFileError: They are not those of such a model.
    """
    form = _join_form(parts.header.get("form"), inputs)
    if form.num_outputs != num_outputs:
        raise ModelFileError(f"its model says {form.num_outputs} numbers of a row, and {num_outputs} are to be said")
    wanted = _shapes_of_forest(form, parts.header) if is_forest else _shapes(form)
    arrays = [_parameters(parts, name, part.shape) for name, part in _named(wanted).items()]
    return jax.tree.unflatten(jax.tree.structure(wanted), arrays)


def _join_form(given: Any, inputs: Inputs) -> SoftForm:
    if not isinstance(given, dict) or set(given) != set(_FORM):
        raise ModelFileError("it does not say what its model is made of")
    for name in _FORM:
        if type(given[name]) is not (int if name in ("depth", "num_outputs") else str):
            raise ModelFileError("it does not say what its model is made of")
    if given["depth"] > MOST_LEVELS:
        raise ModelFileError(f"its model has a depth of more than {MOST_LEVELS}")
    return SoftForm(**given, num_features=inputs.num_features, missing=inputs.missing)


@functools.lru_cache(maxsize=16)
def _shapes(form: SoftForm) -> SoftTree:
    """A tree of such a form, with shapes in the place of its arrays."""
    return jax.eval_shape(lambda: init(form, key=jax.random.key(0)))


def _shapes_of_forest(form: SoftForm, header: dict[str, Any]) -> SoftForest:
    number, is_mixed = header.get("num_trees"), read_truth(header, "is_mixed")
    if not isinstance(number, int) or not 1 <= number <= MOST_TREES:
        raise ModelFileError("its number of trees is none")
    trees = jax.tree.map(lambda part: jax.ShapeDtypeStruct((number, *part.shape), part.dtype), _shapes(form))
    return SoftForest(trees, jax.eval_shape(lambda: no_mixing(form, number)) if is_mixed else None)


def _named(model: Any) -> dict[str, Any]:
    """The arrays of a model by their names in a file."""
    pairs = jax.tree_util.tree_leaves_with_path(model)
    return {f"{_MODEL}.{jax.tree_util.keystr(path, simple=True, separator='.')}": array for path, array in pairs}


def _parameters(parts: ModelFile, name: str, shape: tuple[int, ...]) -> Any:
    array = parts.arrays.get(name)
    if array is None or array.dtype.name not in _FLOAT or array.shape != shape:
        raise ModelFileError(f"array {name!r} is missing, or not of the type and shape that its model has")
    if np.isnan(array).any():
        raise ModelFileError(f"array {name!r} has NaN")
    return array.copy()
