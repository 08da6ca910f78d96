"""The rows of a boosted fit: table, target, weights, and the extras that a loss asks for."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, Shaped, UInt
from sklearn.model_selection import GroupShuffleSplit

from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import generator_of
from jaxtree.estimators.common.extras import read_extras, split_structured
from jaxtree.estimators.common.growing import padded_rows
from jaxtree.estimators.common.magnitude import check_sums
from jaxtree.estimators.common.parts import read_arguments, values_of
from jaxtree.estimators.common.sample import Sample
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.table.sources import is_source, open_source
from jaxtree.table.summary import read_column
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree.model import encode_known_classes, encode_known_numbers


class GivenRows(NamedTuple):
    """The arguments of a fit.

    Attributes:
        X: The table, without columns that are none of its features.
        y: Its target.
        weight: The weight of every row, or None.
        extras: Arrays by name.
        others: Names of the columns of a source that are no features.
    """

    X: Any
    y: Any
    weight: Any
    extras: Mapping[str, Any]
    others: tuple[str, ...]


class RowsWithExtras(NamedTuple):
    """A table, its target and weights, and what else its rows have.

    Attributes:
        sample: The table, its target and weights.
        extras: Arrays by name, rows first.
    """

    sample: Sample
    extras: dict[str, Shaped[np.ndarray, "row *part"]]

    @property
    def target(self) -> Shaped[np.ndarray, "row *output"]:
        """The target as losses take it: of several outputs a column each."""
        target = self.sample.target
        return target[0] if len(target) == 1 else target.T

    @property
    def weight(self) -> Shaped[np.ndarray, " row"]:
        """The weight of every row."""
        return np.ones(self.sample.num_rows) if self.sample.weight is None else self.sample.weight

    def take(self, rows: Int[np.ndarray, " taken"]) -> "RowsWithExtras":
        """Returns some of the rows."""
        return RowsWithExtras(self.sample.take(rows), {name: values[rows] for name, values in self.extras.items()})

    def without_weightless_rows(self) -> "RowsWithExtras":
        """Returns the rows of some weight."""
        weight = self.sample.weight
        return self if weight is None or weight.all() else self.take(np.flatnonzero(weight))

    def split(self, fraction: float, seed: Any) -> tuple["RowsWithExtras", "RowsWithExtras"]:
        """Divides the rows at random into those to grow on and a share to validate with; groups stay together.

        Raises:
            InvalidInputError: A part would have no row.
        """
        if "group" not in self.extras:
            parts = self.sample.split_rows(fraction, seed)
        else:
            group = self.extras["group"]
            if not 0 < round(fraction * len(np.unique(group))) < len(np.unique(group)):
                raise InvalidInputError(
                    f"validation_fraction {fraction} of {len(np.unique(group))} groups leaves a part without groups; "
                    "pass eval_set, or another fraction"
                )
            divide = GroupShuffleSplit(1, test_size=fraction, random_state=generator_of(seed)).split(
                group, groups=group
            )
            parts = next(iter(divide))
        grown_on, held = (self.take(np.sort(part)) for part in parts)
        return grown_on, held

    def with_codes(self, codes: UInt[np.ndarray, "feature padded_row"]) -> ScoredRows:
        """Returns the rows with their codes, padded to the length of these by rows of weight 0."""
        target, weight, *extras = (
            padded_rows(values.T, codes.shape[1]).T for values in (self.target, self.weight, *self.extras.values())
        )
        return ScoredRows(codes, target, weight, dict(zip(self.extras, extras, strict=True)))


def read_rows(blank: BaseTree, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> RowsWithExtras:
    """Reads the arguments of a fit, and learns what a tree learns from a target.

    Args:
        blank: A tree that does not grow.
        X: The table.
        y: Its target.
        sample_weight: The weight of every row.
        extras: Arrays by name; of a source also names of columns.

    Raises:
        InvalidInputError: The target, the weights or an extra is not allowed.
    """
    given = read_columns(X, y, sample_weight, extras)
    return learn_rows(blank, given, blank.encode_target(given.y))


def learn_rows(blank: BaseTree, given: GivenRows, target: Any, counts: Any = None) -> RowsWithExtras:
    """Learns what a tree learns from a target, and returns the rows.

    Args:
        blank: A tree that does not grow.
        given: The columns of the rows.
        target: Their target as the tree has encoded it.
        counts: The rows of every class of all processes, if there are several; see `BaseTree.learn_sample`.

    Raises:
        InvalidInputError: The target, the weights or an extra is not allowed.
    """
    sample = blank.learn_sample(given.X, target, check_sample_weight(given.weight, target.num_rows), counts)
    if not sample.num_classes:
        check_sums(sample.target, sample.weight)
    blank.other_columns_ = given.others
    return RowsWithExtras(sample, read_extras(given.extras, target.num_rows))


def evaluations_by_name(eval_set: Sequence[Any] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the members of `eval_set` by name."""
    if isinstance(eval_set, Mapping):
        return dict(eval_set)
    return {f"validation_{number}": given for number, given in enumerate(eval_set or ())}


def read_evaluation(blank: BaseTree, given: Any) -> RowsWithExtras:
    """Reads a member of `eval_set`: a table and its target, perhaps weights, perhaps a dict of extras.

    Raises:
        InvalidInputError: It is something else, or has classes that the fit has not.
    """
    if not isinstance(given, list | tuple) or not 2 <= len(given) <= 4:
        raise InvalidInputError(
            f"eval_set must hold pairs (X, y), perhaps with weights and a dict of extras, got {type(given)}"
        )
    *table, extras = given if isinstance(given[-1], dict) else (*given, {})
    X, y, weight = (*table, None)[:3]
    rows = read_given(blank, X, y, weight, extras)
    if np.any(rows.sample.target < 0) and blank.class_names():
        raise InvalidInputError("y of eval_set has a class that y does not have")
    return rows


def read_given(model: Any, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> RowsWithExtras:
    """Reads rows that a model is not fitted on; classes are codes of those that it knows.

    Args:
        model: A tree or a boosted model that has read a target.
        X: The table.
        y: Its target.
        sample_weight: The weight of every row.
        extras: Arrays by name; of a source also names of columns.

    Raises:
        InvalidInputError: The target, the weights or an extra is not allowed.
    """
    given, names = read_columns(X, y, sample_weight, extras), model.class_names()
    target = encode_known_classes(given.y, names) if names else encode_known_numbers(given.y, model.n_outputs_)
    sample = Sample(given.X, target, (), check_sample_weight(given.weight, target.shape[1]))
    return RowsWithExtras(sample, read_extras(given.extras, target.shape[1]))


def read_columns(X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> GivenRows:
    """Reads the columns of a source that are no features, and takes them out of it."""
    X, extras, beside = _columns_of_source(X, extras)
    X, y, weight, others = read_arguments(X, y, sample_weight)
    y, extras = split_structured(y, extras)
    return GivenRows(X, y, weight, extras, (*others, *beside))


def _columns_of_source(X: Any, extras: Mapping[str, Any]) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
    """Reads the extras that are names of columns of a source, and takes these columns out of it."""
    beside = tuple(values for values in extras.values() if isinstance(values, str))
    if not beside or not is_source(X):
        return X, dict(extras), ()
    source = open_source(X, to_fit=True)
    read = {
        name: values_of(read_column(source, values)) if isinstance(values, str) else values
        for name, values in extras.items()
    }
    return source.without(beside), read, beside
