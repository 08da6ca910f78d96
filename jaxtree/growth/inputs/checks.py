"""Checks of what a user gives growth: every field of every bundle, alone and beside the others.

Shapes and types are checked always, values only where they are known: those of a traced array are not.
"""

import enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtree.arrays import concrete_or_none
from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.growth.inputs.bundles import (
    NO_LIMIT,
    Data,
    Features,
    Limits,
    Missing,
    Rules,
    Selection,
    Sizes,
    as_one_array,
    limit_ranges,
)
from jaxtree.growth.inputs.newton import Newton
from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.standard_objectives import Classes
from jaxtree.tree import SplitKind
from jaxtree.tree.checks import check_range

MOST_BINS = 2**16
"""The most codes of a feature: those of 16 bits."""

MOST_WEIGHT = 2**31 - 1
"""The greatest sum of whole weights of a tree."""


def check_bundles(data: Any, features: Any, limits: Any, rules: Any, sizes: Any) -> None:
    """Checks all that a growth is given.

    Raises:
        InvalidInputError: A shape or a value is not allowed, or two do not fit together.
        InvalidTypeError: Something is of a type that is not allowed.
    """
    for name, bundle, kind in (
        ("data", data, Data), ("limits", limits, Limits), ("rules", rules, Rules), ("sizes", sizes, Sizes),
    ):  # fmt: skip
        if not isinstance(bundle, kind):
            raise InvalidTypeError(f"{name} must be a {kind.__name__}, got {type(bundle).__name__}")
    if not isinstance(features, Features | None):
        raise InvalidTypeError(f"features must be Features or None, got {type(features).__name__}")
    check_rules(rules)
    check_sizes(sizes)
    check_codes(data.codes, sizes.num_bins)
    check_data(data, rules.objective, sizes.num_roots)
    if sizes.entry_capacity is not None:
        check_number("entry_capacity", sizes.entry_capacity, _num_entries(data))
    if features is not None:
        check_features(features, data.codes, rules, sizes.num_bins)
    check_limits(limits, rules.objective, sizes.num_roots)


def check_rules(rules: Rules) -> None:
    """Checks that rules are those that growth knows."""
    if not isinstance(rules.objective, Objective):
        raise InvalidTypeError(f"objective must be an Objective, such as Classes(2), got {rules.objective!r}")
    check_member("missing", rules.missing, Missing)
    check_member("selection", rules.selection, Selection)
    for name in ("counts_rows", "samples_features", "samples_levels", "samples_thresholds", "draws_ties"):
        _check_flag(name, getattr(rules, name))
    for name in ("draws_scores", "grows_best_first"):
        _check_flag(name, getattr(rules, name))
    if rules.draws_scores and not (isinstance(rules.objective, Newton) and rules.selection == Selection.GAIN):
        given = f"{rules.objective!r} and {rules.selection!r}"
        raise InvalidInputError(f"draws_scores needs the objective Newton and Selection.GAIN, got {given}")
    kinds = () if rules.kinds is None else rules.kinds
    if not isinstance(kinds, tuple) or not all(_is_whole(kind) and kind in tuple(SplitKind) for kind in kinds):
        raise InvalidInputError(f"kinds must be a tuple of SplitKind or None, got {rules.kinds!r}")


def check_sizes(sizes: Sizes) -> None:
    """Checks that sizes are whole numbers that tables may have."""
    check_number("num_bins", sizes.num_bins, 1, MOST_BINS)
    check_number("num_roots", sizes.num_roots, 1)
    check_number("capacity", sizes.capacity, -NO_LIMIT)
    if sizes.capacity < sizes.num_roots:
        raise InvalidInputError(f"capacity must be at least num_roots, {sizes.num_roots}, got {sizes.capacity}")
    if sizes.entry_capacity is not None:
        check_number("entry_capacity", sizes.entry_capacity, 1)


def check_codes(codes: Any, num_bins: int) -> None:
    """Checks the shape, type and range of codes."""
    check_array("codes", codes)
    if codes.dtype not in (np.uint8, np.uint16):
        raise InvalidTypeError(f"codes must be of type uint8 or uint16, got {codes.dtype}")
    if codes.ndim != 2:
        raise InvalidInputError(f"codes must have the shape (feature, row), got {codes.shape}")
    if 0 in codes.shape:
        raise InvalidInputError(f"codes must have a feature and a row at least, got the shape {codes.shape}")
    values = concrete_or_none(codes)
    if values is not None and values.size and values.max() >= num_bins:
        raise InvalidInputError(f"codes must be from 0 to {num_bins - 1}, got {values.max()}")


def check_data(data: Data, objective: Objective, num_roots: int) -> None:
    """Checks targets, and the row, root and weight of every entry, beside codes that are right."""
    num_rows, target = data.codes.shape[1], data.target
    check_array("target", target)
    if target.ndim not in (1, 2) or target.shape[-1] != num_rows:
        raise InvalidInputError(
            f"target must have the shape (row,) or (output, row), with {num_rows} rows as the codes have, got "
            f"{target.shape}"
        )
    num_outputs = len(target) if target.ndim == 2 else 1
    wanted = objective.num_channels if objective.has_fractions else objective.num_outputs
    if num_outputs != wanted:
        raise InvalidInputError(f"target must have {wanted} outputs, got {num_outputs}")
    _check_numbers("target", target)
    if data.row is not None:
        _check_indices("row", data.row, num_rows)
        if not data.row.size:
            raise InvalidInputError(f"row must have one entry or more, got the shape {data.row.shape}")
    entry_shape = (_num_entries(data),)
    for name, values in (("weight", data.weight), ("root", data.root)):
        if values is None:
            continue
        check_array(name, values)
        if values.shape != entry_shape:
            raise InvalidInputError(f"{name} must have one value an entry, shape {entry_shape}, got {values.shape}")
    if data.entry_target is not None:
        check_array("entry_target", data.entry_target)
        _check_numbers("entry_target", data.entry_target)
        if data.entry_target.shape != (*target.shape[:-1], *entry_shape):
            wanted = (*target.shape[:-1], *entry_shape)
            raise InvalidInputError(
                f"entry_target must have a target an entry, shape {wanted}, got {data.entry_target.shape}"
            )
    if data.root is not None:
        _check_indices("root", data.root, num_roots)
    if data.weight is not None:
        check_weight(data.weight, data.root)
    _check_used_target(data, objective)


def check_features(features: Features, codes: Any, rules: Rules, num_bins: int) -> None:
    """Checks how features may be split, beside codes and rules that are right."""
    for name in ("split_kind", "num_codes", "num_values", "monotone", "in_average"):
        values = getattr(features, name)
        if values is not None or name in ("split_kind", "num_codes"):
            _check_of_features(name, values, len(codes))
    check_range("split_kind", features.split_kind, len(SplitKind))
    check_range("num_codes", features.num_codes, num_bins + 1)
    _check_num_codes(features.num_codes, codes)
    _check_num_values(features)
    _check_monotone(features, rules.objective)
    in_average = concrete_or_none(features.in_average)
    if rules.selection == Selection.GAIN_RATIO and in_average is not None and in_average.size and not in_average.any():
        raise InvalidInputError("in_average must be true for some feature, got none")
    _check_tables(features, num_bins)


def check_limits(limits: Limits, objective: Objective, num_roots: int) -> None:
    """Checks limits: numbers, or one a root."""
    for name, (kind, least, most) in limit_ranges().items():
        values = getattr(limits, name)
        is_whole = kind is np.int32
        if not isinstance(values, np.ndarray | jax.Array | np.number | int | float) or isinstance(values, bool):
            raise InvalidTypeError(f"{name} must be a number or an array of one number a root, got {values!r}")
        dtype = np.result_type(getattr(values, "dtype", values))
        if not jnp.issubdtype(dtype, jnp.integer) and (is_whole or not jnp.issubdtype(dtype, jnp.floating)):
            wanted = "whole numbers of an integer type" if is_whole else "numbers"
            raise InvalidTypeError(f"{name} must hold {wanted}, got {dtype}")
        if np.shape(values) not in ((), (num_roots,)):
            raise InvalidInputError(
                f"{name} must be one number or one for each of {num_roots} roots, got shape {np.shape(values)}"
            )
        values = concrete_or_none(values)
        if values is not None and not np.all((values >= least) & (values <= most)):
            raise InvalidInputError(f"{name} must be from {least} to {most}, got {_first(values, least, most)}")
    _check_parameters(limits.parameters, objective, num_roots)


def _check_parameters(parameters: Any, objective: Objective, num_roots: int) -> None:
    """Checks the numbers of the objective."""
    if not isinstance(parameters, tuple):
        check_array("parameters", parameters)
    elif not all(isinstance(value, np.ndarray | jax.Array | np.number | int | float) for value in parameters):
        raise InvalidTypeError(f"parameters must be numbers, got {parameters!r}")
    else:
        parameters = as_one_array(parameters)
    shape = np.shape(parameters)
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != num_roots):
        raise InvalidInputError(
            f"parameters must have the shape (parameter,), or one row for each of {num_roots} roots, got {shape}"
        )
    if shape[-1]:
        _check_numbers("parameters", parameters if hasattr(parameters, "dtype") else np.asarray(parameters))
    values = concrete_or_none(parameters)
    if values is not None and np.any(np.isnan(values)):
        raise InvalidInputError(f"parameters must be numbers, got {values.tolist()}")
    objective.check_parameters(shape, values)


def _num_entries(data: Data) -> int:
    return data.codes.shape[1] if data.row is None else data.row.shape[0]


def check_weight(weight: Any, root: Any = None) -> None:
    """Checks that weights are numbers from 0 on, whose sums growth can hold."""
    _check_numbers("weight", weight)
    if jnp.issubdtype(weight.dtype, jnp.bool_):
        raise InvalidTypeError(f"weight must hold numbers, got {weight.dtype}")
    values, root = concrete_or_none(weight), concrete_or_none(root)
    if values is None or not values.size:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)
    # A sum that is a number has no part that is none.
    if not (values.min() >= 0 and np.isfinite(total)):
        wrong = _first(values, 0, np.finfo(np.float64).max)
        raise InvalidInputError(f"weight must be from 0 on, with a finite sum, got {wrong} in a sum of {total}")
    if jnp.issubdtype(weight.dtype, jnp.integer) and total > MOST_WEIGHT:
        most = total if root is None else np.bincount(root, values).max()
        if most > MOST_WEIGHT:
            raise InvalidInputError(
                f"whole weights of a tree must have a sum of at most {MOST_WEIGHT}, got {most:.0f}; give them as floats"
            )


def _check_used_target(data: Data, objective: Objective) -> None:
    """Checks the targets of rows of some weight; padding may have any."""
    given = data.target if data.entry_target is None else data.entry_target
    target, weight, row = concrete_or_none(given), concrete_or_none(data.weight), concrete_or_none(data.row)
    if target is None or (weight is None and data.weight is not None) or (row is None and data.row is not None):
        objective.check_target(given)
        return
    if data.entry_target is not None:
        row = None
    if weight is not None:
        row = np.flatnonzero(weight > 0) if row is None else row[weight > 0]
    target = target if row is None else target[..., row]
    objective.check_target(target)
    if not objective.classes and not np.isfinite(target).all():
        raise InvalidInputError(f"target must be finite, got {target[~np.isfinite(target)][0]}")


def _check_of_features(name: str, values: Any, num_features: int) -> None:
    """Checks the shape and type of what has one value a feature."""
    check_array(name, values)
    if values.shape != (num_features,):
        raise InvalidInputError(f"{name} must have one value a feature, shape ({num_features},), got {values.shape}")
    if not jnp.issubdtype(values.dtype, jnp.bool_ if name == "in_average" else jnp.integer):
        wanted = "booleans" if name == "in_average" else "whole numbers of an integer type"
        raise InvalidTypeError(f"{name} must hold {wanted}, got {values.dtype}")


def _check_num_codes(num_codes: Any, codes: Any) -> None:
    """Checks that no feature has a code past its own; one that has none is not looked at."""
    number, codes = concrete_or_none(num_codes), concrete_or_none(codes)
    if number is None:
        return
    if codes is None or not codes.size:
        return
    greatest = codes.max(axis=1)
    wrong = np.flatnonzero((number > 0) & (greatest >= number))
    if wrong.size:
        feature = int(wrong[0])
        raise InvalidInputError(
            f"codes of feature {feature} must be from 0 to {number[feature] - 1}, as it has num_codes "
            f"{number[feature]}, got {greatest[feature]}"
        )


def _check_num_values(features: Features) -> None:
    """Checks that a feature has as many known codes as codes, or one less."""
    values, codes = concrete_or_none(features.num_values), concrete_or_none(features.num_codes)
    if values is None or codes is None:
        return
    wrong = np.flatnonzero((values < 0) | (codes < values) | (codes - values > 1))
    if wrong.size:
        feature = int(wrong[0])
        raise InvalidInputError(
            f"num_values must be num_codes, or one less where a value may be missing, got {values[feature]} of "
            f"{codes[feature]} for feature {feature}"
        )


def _check_monotone(features: Features, objective: Objective) -> None:
    """Checks the directions of features."""
    if features.monotone is None:
        return
    if isinstance(objective, Classes) and objective.num_classes < 2:
        raise InvalidInputError(
            f"monotone is a direction of the share of class 1, which {objective.num_classes} class does not have"
        )
    sign, kind = concrete_or_none(features.monotone), concrete_or_none(features.split_kind)
    if sign is None:
        return
    if not np.isin(sign, (-1, 0, 1)).all():
        raise InvalidInputError(f"monotone must be -1, 0 or 1, got {_first(sign, -1, 1)}")
    if kind is not None and np.any((sign != 0) & (kind != SplitKind.THRESHOLD)):
        feature = int(np.argmax((sign != 0) & (kind != SplitKind.THRESHOLD)))
        raise InvalidInputError(
            f"monotone must be 0 for features that are not split by thresholds, got {sign[feature]} for feature "
            f"{feature}"
        )


def _check_tables(features: Features, num_bins: int) -> None:
    """Checks what has a row a feature."""
    num_features = features.split_kind.shape[0]
    for name, least in (("next_separable", num_bins), ("position", num_bins), ("sets", 1)):
        table = getattr(features, name)
        if table is None:
            continue
        check_array(name, table)
        if table.ndim != 2 or table.shape[0] != num_features or table.shape[1] < least:
            raise InvalidInputError(
                f"{name} must have a row for each of {num_features} features, of {least} columns at least, got shape "
                f"{table.shape}"
            )
    if features.next_separable is not None and not jnp.issubdtype(features.next_separable.dtype, jnp.integer):
        raise InvalidTypeError(
            f"next_separable must hold codes of an integer type, got {features.next_separable.dtype}"
        )
    if features.sets is not None and features.sets.dtype != np.uint32:
        raise InvalidTypeError(f"sets must be of type uint32, got {features.sets.dtype}")
    if features.position is not None:
        _check_position(features)


def _check_position(features: Features) -> None:
    """Checks that the numbers of codes are finite and rise."""
    _check_numbers("position", present(features.position))
    position = concrete_or_none(features.position)
    number = concrete_or_none(features.num_codes if features.num_values is None else features.num_values)
    kind = concrete_or_none(features.split_kind)
    if position is None or number is None or kind is None:
        return
    is_used = (np.arange(position.shape[1]) < number[:, None]) & (kind == SplitKind.THRESHOLD)[:, None]
    falls = is_used[:, 1:] & ~(position[:, 1:] >= position[:, :-1])
    wrong = np.flatnonzero(falls.any(axis=1) | (is_used & ~np.isfinite(position)).any(axis=1))
    if wrong.size:
        feature = int(wrong[0])
        raise InvalidInputError(
            f"position must be finite and rise with the code, which it does not for feature {feature}"
        )


def _check_indices(name: str, values: Any, limit: int) -> None:
    """Checks indices, one an entry."""
    check_array(name, values)
    if not jnp.issubdtype(values.dtype, jnp.integer):
        raise InvalidTypeError(f"{name} must hold whole numbers of an integer type, got {values.dtype}")
    if values.ndim != 1:
        raise InvalidInputError(f"{name} must have the shape (entry,), got {values.shape}")
    check_range(name, values, limit)


def check_array(name: str, values: Any) -> None:
    """Checks that a value is an array."""
    if not isinstance(values, np.ndarray | jax.Array):
        raise InvalidTypeError(f"{name} must be an array of NumPy or JAX, got {type(values).__name__}")


def _check_numbers(name: str, values: Any) -> None:
    if not any(jnp.issubdtype(values.dtype, kind) for kind in (jnp.integer, jnp.floating, jnp.bool_)):
        raise InvalidTypeError(f"{name} must hold numbers, got {values.dtype}")


def check_member(name: str, value: Any, kinds: type[enum.IntEnum]) -> None:
    """Checks that a static value is one of an enumeration."""
    if not _is_whole(value) or value not in tuple(kinds):
        allowed = ", ".join(f"{kinds.__name__}.{kind.name}" for kind in kinds)
        raise InvalidInputError(f"{name} must be one of {allowed}, got {value!r}")


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError(f"{name} must be True or False, got {value!r}")


def check_number(name: str, value: Any, least: int, most: int = NO_LIMIT) -> None:
    """Checks that a static value is a whole number from the least to the most."""
    if not _is_whole(value):
        raise InvalidTypeError(f"{name} must be a whole number, got {value!r}")
    if not least <= value <= most:
        raise InvalidInputError(f"{name} must be from {least} to {most}, got {value}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _first(values: Any, least: Any, most: Any) -> Any:
    """The first value that does not lie between two others, or the first of all."""
    outside = values[~((values >= least) & (values <= most))]
    return outside[0] if outside.size else np.ravel(values)[0]
