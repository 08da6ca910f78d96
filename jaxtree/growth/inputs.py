"""What a caller of growth may say about features and limits, and the checks of it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Bool, Float, Int

from jaxtree.arrays import AnyArray, FloatLike, IntLike
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.criteria import NumberCriterion

NO_LIMIT = 2**31 - 1


class Features(NamedTuple):
    """How the features may be split.

    Attributes:
        split_kind: A `SplitKind` for every feature.
        num_codes: How many codes a feature has, a missing value's included; 0 for padding, which stands last.
        num_values: The code that means missing, which is the number of known codes; `num_codes` if not given.
        monotone: 1 if the value (the mean, or the share of class 1) may only rise with the codes of a threshold
            feature, -1 if it may only fall, else 0.
        in_average: Whether the feature counts for C4.5's average gain; it does if not given.
        first_apart: For every code the first code that a threshold may separate it from, if some lie too close.
        position: Where every code lies on the number line, for random thresholds; the codes themselves if not given.
    """

    split_kind: Int[AnyArray, " feature"]
    num_codes: Int[AnyArray, " feature"]
    num_values: Int[AnyArray, " feature"] | None = None
    monotone: Int[AnyArray, " feature"] | None = None
    in_average: Bool[AnyArray, " feature"] | None = None
    first_apart: Int[AnyArray, "feature code"] | None = None
    position: Float[AnyArray, "feature code"] | None = None


class Limits(NamedTuple):
    """When a node is not split: numbers, or arrays with one number for every root.

    Attributes:
        max_depth: The depth at which every node is a leaf.
        min_samples_split: The least number of rows of a node that is split; a row counts its weight, unless
            `grow` is told to count rows beside weights.
        min_samples_leaf: The least number of rows of a branch (of a multiway split: of every branch in use, under
            C4.5's rules of two), counted the same way.
        min_weight_leaf: The least weight of a branch.
        min_gain: The least gain of a split.
        min_impurity_decrease: The least gain times the node's share of its tree's weight.
        max_features: How many random features a node looks at, of those that a `key` draws.
        mdl_correction: Factor of C4.5's correction of numeric gains, 0 or 1.
        num_declared_classes: Classes that the target declares, for C4.5; as many as there are if 0.
    """

    max_depth: IntLike = NO_LIMIT
    min_samples_split: FloatLike = 2
    min_samples_leaf: FloatLike = 1
    min_weight_leaf: FloatLike = 0.0
    min_gain: FloatLike = 0.0
    min_impurity_decrease: FloatLike = 0.0
    max_features: IntLike = NO_LIMIT
    mdl_correction: FloatLike = 1.0
    num_declared_classes: FloatLike = 0


LIMIT_TYPES = Limits(
    np.int32, np.float64, np.float64, np.float64, np.float64, np.float64, np.int32, np.float64, np.float64
)


def as_type(values: Any, dtype: Any, num_roots: int | None = None) -> Any:
    """The values as one type, on the host if they are there; with `num_roots`, one for every root."""
    library = jnp if isinstance(values, jax.Array) else np
    values = library.asarray(values)
    values = values if values.dtype == dtype else values.astype(dtype)
    return values if num_roots is None else library.broadcast_to(values, (num_roots,))


def is_concrete(*values: Any) -> bool:
    """Whether all the values can be read: arrays on the host, or on a device, but not traced ones."""
    return not any(isinstance(value, Tracer) for value in values)


def check_arrays(codes: Any, target: Any, weight: Any, entry_row: Any, entry_root: Any, criterion: Any) -> None:
    """Raises InvalidInputError or InvalidTypeError if shapes or types do not fit together."""
    if codes.ndim != 2 or target.ndim not in (1, 2) or target.shape[-1] != codes.shape[1]:
        raise InvalidInputError(
            "codes must have the shape (feature, row) and target the shape (row,) or (output, row), "
            f"got {codes.shape} and {target.shape}"
        )
    if not isinstance(criterion, NumberCriterion) and not jnp.issubdtype(target.dtype, jnp.integer):
        raise InvalidTypeError(f"target must hold the classes as whole numbers of an integer type, got {target.dtype}")
    entry_shape = codes.shape[1:] if entry_row is None else entry_row.shape
    for name, value in (("weight", weight), ("entry_root", entry_root)):
        if value is not None and value.shape != entry_shape:
            raise InvalidInputError(f"{name} must have one value an entry, shape {entry_shape}, got {value.shape}")
    if weight is not None and not jnp.issubdtype(weight.dtype, jnp.number):
        raise InvalidTypeError(f"weight must hold numbers, got {weight.dtype}")


def check_sizes(codes: Any, target: Any, num_bins: int, num_classes: int, capacity: int, num_roots: int) -> None:
    """Checks what no error would show later; arrays on a device, or traced, are taken on trust."""
    if capacity < num_roots:
        raise InvalidInputError(f"capacity must be at least num_roots, {num_roots}, got {capacity}")
    bounded = [("codes", codes, num_bins)] + ([("target", target, num_classes)] if num_classes else [])
    for name, values, limit in bounded:
        if isinstance(values, np.ndarray) and values.size and not (values.min() >= 0 and values.max() < limit):
            raise InvalidInputError(f"{name} must be from 0 to {limit - 1}, got {values.min()} to {values.max()}")
