"""How growth may split the features of a table, and how many codes these have.

Constraints of columns say how predictions may go as one rises, and which may occur together on a path from the root.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int, Int32, Real, UInt32

from jaxtree import buckets
from jaxtree.dataset.sample import Outputs
from jaxtree.errors import InvalidInputError
from jaxtree.growth.device.open_features import sets_in_bits
from jaxtree.growth.inputs.bundles import Features
from jaxtree.table.names import column_place
from jaxtree.table.schema import Schema
from jaxtree.tree import SplitKind, Tree
from jaxtree.tree.nodes import children_of, class_shares, target_means


class FeatureOptions(NamedTuple):
    """How growth may split the features of a table.

    Attributes:
        category_kind: How categorical features are split.
        monotone: The constraint of every feature, or None.
        sets: The sets that every feature belongs to, a bit each, if only those of one may occur on a path.
        closest: How far apart values must lie to be cut apart.
        most_average_categories: Categorical features of at least so many are left out of C4.5's average gain.
        draws_thresholds: Whether thresholds are drawn between values, not codes.
    """

    category_kind: SplitKind = SplitKind.SUBSET
    monotone: Int[np.ndarray, " feature"] | None = None
    sets: UInt32[np.ndarray, "feature word"] | None = None
    closest: float = 0.0
    most_average_categories: float = np.inf
    draws_thresholds: bool = False


class Widths(NamedTuple):
    """The number of values of every feature, which is its code for a missing one, and of its codes."""

    num_values: Int32[np.ndarray, " feature"]
    num_codes: Int32[np.ndarray, " feature"]

    @property
    def num_bins(self) -> int:
        """The number of bins of all features, padded to a bucket."""
        return buckets.bin_bucket(max(int(self.num_codes.max()), 2))


def widths_of(schemas: Sequence[Schema]) -> Widths:
    """Returns the widths that suit the codes of all schemas."""
    if len(schemas) == 1:
        return Widths(schemas[0].num_values, schemas[0].num_codes)
    num_values = np.max([schema.num_values for schema in schemas], axis=0)
    has_missing = np.any([schema.num_codes > schema.num_values for schema in schemas], axis=0)
    return Widths(num_values, (num_values + has_missing).astype(np.int32))


def features_of(schema: Schema, options: FeatureOptions, widths: Widths, padding: int) -> Features:
    """Returns the features of growth: how each may be split, padded with empty ones.

    Args:
        schema: The features of the table.
        options: How they may be split.
        widths: Their numbers of codes.
        padding: The number of empty features behind them.
    """
    kind = np.where(schema.is_categorical, options.category_kind, SplitKind.THRESHOLD)
    in_average = ~schema.is_categorical | (schema.num_values < options.most_average_categories)
    in_average = in_average if in_average.any() else np.ones_like(in_average)
    apart = schema.next_separable(options.closest) if options.closest else None
    if apart is not None:
        apart = np.pad(apart, ((0, padding), (0, max(widths.num_bins - apart.shape[1], 0))))
    monotone = None if options.monotone is None else options.monotone.astype(np.int32)
    padded = (kind.astype(np.int32), widths.num_codes, widths.num_values, monotone, in_average)
    if padding:
        padded = (None if values is None else np.pad(values, (0, padding)) for values in padded)
    position = _positions(schema, widths.num_bins, padding) if options.draws_thresholds else None
    sets = None if options.sets is None else np.pad(options.sets, ((0, padding), (0, 0)))
    return Features(*padded, next_separable=apart, position=position, sets=sets)


def _positions(schema: Schema, num_bins: int, padding: int) -> Float64[np.ndarray, "feature code"]:
    """Returns the middle of every bin, and the codes themselves where a feature has none."""
    position = np.tile(np.arange(num_bins, dtype=np.float64), (schema.num_features + padding, 1))
    bins = schema.columns.bins
    feature = np.repeat(np.arange(schema.num_features), bins.num_bins)
    position[feature, np.arange(len(feature)) - bins.start[feature]] = bins.low / 2 + bins.high / 2
    return position


MOST_STEPS = 8
"""Last bits by which a sum is moved until its quotient keeps a bound; one or two are enough."""

ROUNDING = 1e-9
"""The part of the greatest value by which rounding may have put two others out of order."""


def read_monotone(
    monotonic_cst: Any, schema: Schema, outputs: Outputs | None = None, *, name: str = "monotonic_cst"
) -> Int[np.ndarray, " feature"] | None:
    """Returns the constraint of every feature: 1 rising, -1 falling, 0 none; None if there is no constraint.

    Args:
        monotonic_cst: One number a column, or a dict from columns, by name or place.
        schema: The columns.
        outputs: The kind of the target, if it is looked at, too.
        name: The name of the parameter.

    Raises:
        InvalidInputError: There is not one number a column, a number is not -1, 0 or 1, there is no such column, a
            categorical column is constrained, or there are several outputs or more than two classes.
    """
    if monotonic_cst is None:
        return None
    names = schema.column_names
    if isinstance(monotonic_cst, dict):
        of_place = {column_place(given, names, name): own for given, own in monotonic_cst.items()}
        if len(of_place) < len(monotonic_cst):
            raise InvalidInputError(f"{name} must name every column once, got {monotonic_cst}")
        monotonic_cst = [of_place.get(place, 0) for place in range(len(names))]
    sign = np.asarray(monotonic_cst)
    if sign.shape != (len(names),):
        raise InvalidInputError(
            f"{name} has shape {sign.shape[0] if sign.ndim == 1 else sign.shape} but the input data X has "
            f"{len(names)} features."
        )
    if not np.isin(sign, (-1, 0, 1)).all():
        raise InvalidInputError(f"{name} must be None or an array-like of -1, 0 or 1, but got {monotonic_cst}")
    for place, own in schema.columns.described.items():
        if own.kind == "categorical" and sign[place]:
            raise InvalidInputError(
                f"{name} constrains column {names[place]!r}, which is categorical and has no order: "
                "set it to 0, or make the column ordered"
            )
    if not sign.any():
        return None
    if outputs is not None and outputs.number > 1:
        raise InvalidInputError("Monotonicity constraints are not supported with multiple outputs.")
    if outputs is not None and max(outputs.num_classes, default=0) > 2:
        raise InvalidInputError(
            "Monotonicity constraints are not supported with multiclass classification; y has "
            f"{outputs.num_classes[0]} classes, and 2 are allowed"
        )
    return sign.astype(np.int32)


def clip_to_bounds(tree: Tree, monotone: Int[np.ndarray, " feature"]) -> Tree:
    """Returns the tree with the values of nodes clipped to the bounds that the constrained splits above them set.

    A split on a constrained feature lets the middle of its branches' values bound both (scikit-learn's rule); a
    later split on another feature may leave those bounds, and is brought back to them here. One class has nothing that
    could rise or fall.
    """
    if tree.num_classes == (1,):
        return tree
    value = class_shares(tree)[:, 1] if tree.num_classes else target_means(tree)[:, 0]
    lower, upper = _bounds(tree, monotone, value)
    within = np.clip(value, lower, upper)
    own = tree.count[:, 1] if tree.num_classes else tree.target_sum[:, 0]
    above = np.where(within == value, own, within * tree.weight)
    above = _rounded_within(above, tree.weight, lower, upper, is_share=bool(tree.num_classes))
    if tree.num_classes:
        return dataclasses.replace(tree, count=np.stack([tree.weight - above, above], axis=1))
    return dataclasses.replace(tree, target_sum=above[:, None])


def check_kept_trees(tree: Tree, monotonic_cst: Any, schema: Schema, num_ordered: int = 1) -> None:
    """Checks that the trees which a warm start keeps are in the order that constraints ask for.

    Args:
        tree: The trees in one table.
        monotonic_cst: The constraints, see `read_monotone`.
        schema: The columns.
        num_ordered: How many of the first scores are constrained.

    Raises:
        InvalidInputError: A tree was grown without these constraints.
    """
    monotone = read_monotone(monotonic_cst, schema)
    if monotone is None:
        return
    value = class_shares(tree)[:, 1:2].T if tree.num_classes else target_means(tree)[:, :num_ordered].T
    least, most, slack = value.copy(), value.copy(), ROUNDING * np.abs(value).max()
    is_split = ~tree.is_leaf
    for depth in reversed(range(tree.max_depth)):
        node = np.flatnonzero((tree.depth == depth) & is_split)
        children = children_of(tree, node)
        first = np.cumsum(tree.num_children[node]) - tree.num_children[node]
        if node.size:
            least[:, node] = np.minimum.reduceat(least[:, children], first, axis=1)
            most[:, node] = np.maximum.reduceat(most[:, children], first, axis=1)
        sign = np.where(tree.split_kind[node] == SplitKind.THRESHOLD, monotone[tree.feature[node]], 0)
        left = tree.first_child[node[sign != 0]]
        low, high = np.where(sign[sign != 0] > 0, (left, left + 1), (left + 1, left))
        if np.any(most[:, low] > least[:, high] + slack):
            raise InvalidInputError(
                f"warm_start keeps trees that were grown without monotonic_cst={monotonic_cst!r}, and do not keep to "
                "it: fit with warm_start=False"
            )


def _rounded_within(
    above: Float[np.ndarray, " node"],
    weight: Real[np.ndarray, " node"],
    lower: Float[np.ndarray, " node"],
    upper: Float[np.ndarray, " node"],
    *,
    is_share: bool,
) -> Float[np.ndarray, " node"]:
    """Returns sums, moved by last bits until what is predicted from them, a rounded quotient, keeps the bounds.

    Args:
        above: The weight of class 1, or the sum of the target.
        weight: The weight.
        lower: The least share or mean.
        upper: The greatest.
        is_share: Whether it is a share, so that that of class 0 keeps its bounds, too.
    """
    above, divisor = above.astype(np.float64), np.where(weight > 0, weight, 1)
    for _ in range(MOST_STEPS):
        value, rest = above / divisor, (weight - above) / divisor
        is_low = (value < lower) | (is_share & (rest > 1 - lower))
        is_high = (value > upper) | (is_share & (rest < 1 - upper))
        moves = (is_low != is_high) & (weight > 0)
        if not moves.any():
            break
        above[moves] = np.nextafter(above[moves], np.where(is_low[moves], np.inf, -np.inf))
    return above


def _bounds(
    tree: Tree, monotone: Int[np.ndarray, " feature"], value: Float[np.ndarray, " node"]
) -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
    """Returns the bounds of every node, level by level; all trees of a table at once."""
    lower, upper = np.full(value.size, -np.inf), np.full(value.size, np.inf)
    for depth in range(tree.max_depth):
        node = np.flatnonzero((tree.depth == depth) & ~tree.is_leaf)
        children, parent = children_of(tree, node), np.repeat(node, tree.num_children[node])
        lower[children], upper[children] = lower[parent], upper[parent]
        sign = np.where(tree.split_kind[node] == SplitKind.THRESHOLD, monotone[tree.feature[node]], 0)
        left, sign = tree.first_child[node[sign != 0]], sign[sign != 0]
        # Rows that have not chosen the splits may lie outside the bounds from above, which the middle must not leave.
        first, second = (np.clip(value[child], lower[child], upper[child]) for child in (left, left + 1))
        middle = (first + second) / 2
        upper[np.where(sign > 0, left, left + 1)] = middle
        lower[np.where(sign > 0, left + 1, left)] = middle
    return lower, upper


def read_interactions(interaction_cst: Any, schema: Schema) -> UInt32[np.ndarray, "feature word"] | None:
    """Returns the sets that every feature belongs to, a bit each; None if any columns may occur together.

    Args:
        interaction_cst: Sets of columns, by name or place; "pairwise" or "no_interactions". Columns in no set form one
            more.
        schema: The columns.

    Raises:
        InvalidInputError: It is not a sequence of sets of columns.
    """
    if interaction_cst is None:
        return None
    names = schema.column_names
    sets = [
        {column_place(given, names, "interaction_cst") for given in members}
        for members in _listed(interaction_cst, len(names))
    ]
    rest = set(range(len(names))).difference(*sets)
    sets += [rest] if rest else []
    return sets_in_bits(sets, len(names))


def _listed(interaction_cst: Any, num_columns: int) -> Sequence[Iterable[Any]]:
    """Returns the sets as they are given, or those that a word stands for."""
    if isinstance(interaction_cst, str) and interaction_cst == "no_interactions":
        return [{column} for column in range(num_columns)]
    if isinstance(interaction_cst, str) and interaction_cst == "pairwise":
        return list(itertools.combinations(range(num_columns), 2))
    is_sequence = isinstance(interaction_cst, Iterable) and not isinstance(interaction_cst, str)
    sets = list(interaction_cst) if is_sequence else []
    if not is_sequence or any(isinstance(own, str) or not isinstance(own, Iterable) for own in sets):
        raise InvalidInputError(
            'interaction_cst must be a sequence of sets of columns, "pairwise", "no_interactions" or None, '
            f"got {interaction_cst!r}"
        )
    return sets
