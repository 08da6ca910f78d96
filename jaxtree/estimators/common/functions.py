"""Fitted estimators as pure functions, and their predictions of arrays of JAX, traced or on a device.

Rows are raw numbers: of a column of words the code of the category, as `encoder_.values` has it, and NaN where a value
is missing.
"""

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import AnyArray
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.export.functions import Function, RowAnswer
from jaxtree.losses.loss import shifted

OF = ("predictions", "scores")
"""The results of a model as a function."""


class _Kept(NamedTuple):
    """The function of a fitted model, and its parameters, kept while the model is the same."""

    model: Any
    parameters: Any
    function: Function


_KEPT: weakref.WeakKeyDictionary[Any, dict[Any, _Kept]] = weakref.WeakKeyDictionary()
"""The functions of estimators by type of floats."""


def functional(estimator: Any, of: str) -> tuple[Any, Callable[[Any, Any], Any]]:
    """Returns the parameters of an estimator and the function of these and of rows, see `EstimatorOnTables`."""
    if of not in OF:
        raise InvalidInputError(f"of must be one of {', '.join(map(repr, OF))}, got {of!r}")
    kept = _kept(estimator, jnp.result_type(float))
    if of == "scores":
        row = jax.ShapeDtypeStruct((1, estimator.schema_.num_features), jnp.result_type(float))
        scores_of(estimator, jax.eval_shape(kept.function, kept.parameters, row))

    def apply(parameters: Any, X: Float[AnyArray, "row column"]) -> Any:
        answer = kept.function(parameters, _rows(estimator, X))
        return scores_of(estimator, answer) if of == "scores" else numbers_of(estimator, answer)

    return kept.parameters, apply


def answer_of_array(estimator: Any, method: str, X: Any, offset: Any = None) -> Any:
    """Returns what a method predicts of an array of JAX, as such an array.

    Args:
        estimator: The fitted estimator.
        method: The name of the method.
        X: Raw numbers of rows.
        offset: The numbers that are added to scores; None for none.

    Raises:
        InvalidInputError: X has another shape than in fit, or the model has no scores.
        InvalidTypeError: Classes are words, which no array of JAX holds.
    """
    kept = _kept(estimator, np.dtype(X.dtype if X.dtype == np.float64 else np.float32))
    answer = _answers(kept.parameters, _rows(estimator, X), function=kept.function)
    if offset is not None:
        answer = _with_offset(estimator, answer, jnp.asarray(offset))
    if method in ("raw_scores", "decision_function"):
        scores = scores_of(estimator, answer)
        return scores[:, 0] if method == "decision_function" and scores.shape[1] == 1 else scores
    if method == "predict" and answer.label is not None:
        return _classes_of(estimator, answer)
    numbers = numbers_of(estimator, answer)
    return jax.tree.map(jnp.log, numbers) if method == "predict_log_proba" else numbers


@compiled("function", options=options_of_small_programs)
def _answers(parameters: Any, rows: Float[Array, "row column"], *, function: Function) -> RowAnswer:
    return function(parameters, rows)


def _kept(estimator: Any, dtype: Any) -> _Kept:
    """The function of an estimator as it is fitted now."""
    check_is_fitted(estimator)
    model, of_types = estimator.model_of_function, _KEPT.setdefault(estimator, {})
    own = of_types.get(dtype)
    if own is None or own.model is not model:
        # A user's trace must have no part in what is kept.
        with jax.ensure_compile_time_eval(), jax.enable_x64(dtype == np.float64):
            own = of_types[dtype] = _Kept(model, *estimator.parts_of_function(dtype))
    return own


def _rows(estimator: Any, X: Any) -> Float[Array, "row column"]:
    values, number = jnp.asarray(X), estimator.schema_.num_features
    if values.ndim != 2 or values.shape[1] != number:
        raise InvalidInputError(f"X must have the shape (row, {number}), as in fit, got {values.shape}")
    return values if jnp.issubdtype(values.dtype, jnp.floating) else values.astype(float)


def scores_of(estimator: Any, answer: RowAnswer) -> Float[Array, "row score"]:
    """Returns the scores of an answer.

    Raises:
        InvalidInputError: The model has none.
    """
    if answer.scores is None:
        raise InvalidInputError(f"{type(estimator).__name__} has no scores, from which predictions follow")
    return answer.scores


def numbers_of(estimator: Any, answer: RowAnswer) -> Any:
    """Returns the shares of classes, of several outputs in a list, or the numbers, of an answer as `predict` does."""
    if is_classifier(estimator):
        sizes = [len(names) for names in estimator.class_names()]
        shares = jnp.split(answer.numbers, np.cumsum(sizes)[:-1].tolist(), axis=1)
        return shares[0] if len(shares) == 1 else shares
    is_vector = getattr(estimator, "is_vector_", True) and answer.numbers.shape[1] == 1
    return answer.numbers[:, 0] if is_vector else answer.numbers


def _with_offset(estimator: Any, answer: RowAnswer, offset: Shaped[Array, "row *score"]) -> RowAnswer:
    """The answer of scores to which an offset is added."""
    loss, scores = estimator.loss_, scores_of(estimator, answer)
    if offset.shape not in (scores.shape[:1], scores.shape):
        raise InvalidInputError(f"offset must have the shape {scores.shape[:1]} or {scores.shape}, got {offset.shape}")
    moved = shifted(scores.T, offset, loss.has_location)
    numbers = loss.predict(moved).T
    if answer.label is None:
        return RowAnswer(numbers, moved.T)
    shares = jnp.concatenate([1 - numbers, numbers], axis=1) if numbers.shape[1] == 1 else numbers
    return RowAnswer(shares, moved.T, jnp.argmax(shares, axis=1)[None])


def _classes_of(estimator: Any, answer: RowAnswer) -> Shaped[Array, "row *output"]:
    """The predicted classes.

    Raises:
        InvalidTypeError: They are words, which no array of JAX holds.
    """
    columns = []
    for names, label in zip(estimator.class_names(), present(answer.label), strict=True):
        if names.dtype.kind not in "iufb":
            raise InvalidTypeError(
                f"classes of {type(estimator).__name__} are words, which no array of JAX holds: take predict_proba, "
                "whose columns are those of classes_, or give rows of NumPy"
            )
        columns.append(jnp.asarray(names)[label])
    return columns[0] if len(columns) == 1 else jnp.stack(columns, axis=1)
