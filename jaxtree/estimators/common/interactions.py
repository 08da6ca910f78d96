"""Interaction constraints: reading which columns may occur together on a path from the root."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import UInt32

from jaxtree.errors import InvalidInputError
from jaxtree.growth.open_features import sets_in_bits
from jaxtree.table.schema import Schema


def read_interactions(interaction_cst: Any, schema: Schema) -> UInt32[np.ndarray, "feature word"] | None:
    """Returns the sets that every feature belongs to, a bit each; None if any columns may occur together.

    Args:
        interaction_cst: Sets of columns, by number or name; "pairwise" or "no_interactions". Columns in no set form one
            more.
        schema: The columns.

    Raises:
        InvalidInputError: It is not a sequence of sets of columns.
    """
    if interaction_cst is None:
        return None
    names = schema.column_names
    sets = [{_column(given, names) for given in members} for members in _listed(interaction_cst, len(names))]
    rest = set(range(len(names))).difference(*sets)
    sets += [rest] if rest else []
    of_column = sets_in_bits(sets, len(names))
    return of_column[[feature.column for feature in schema.features]]


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


def _column(given: Any, names: Sequence[str]) -> int:
    """Returns the number of a column that is given by number or name."""
    if isinstance(given, int | np.integer) and 0 <= given < len(names):
        return int(given)
    if isinstance(given, str) and given in names:
        return list(names).index(given)
    allowed = f"numbers from 0 to {len(names) - 1}, or names among {list(names)}"
    raise InvalidInputError(f"interaction_cst must hold columns, {allowed}, got {given!r}")
