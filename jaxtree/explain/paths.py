"""The path of one row through a tree, in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Condition, condition
from jaxtree.table.names import are_places, name_in_words
from jaxtree.table.schema import Schema
from jaxtree.table.words import value_in_words
from jaxtree.tree import Tree


def as_table(row: Any, names: tuple[str, ...]) -> Any:
    """Returns one row as a table: it may be a list, a vector or a mapping from the names of the columns.

    A series of pandas whose index has the names of the columns, in any order, is such a mapping.

    Raises InvalidInputError if a mapping lacks a column.

    >>> as_table({2: 0.5, 1: 7.0}, ("1", "2"))
    [[7.0, 0.5]]
    """
    is_series = hasattr(row, "items") and getattr(row, "ndim", None) == 1
    if isinstance(row, Mapping) or is_series:
        of_name = {name_in_words(name): value for name, value in row.items()}
        lost = [name for name in names if name not in of_name]
        if not lost:
            return [[of_name[name] for name in names]]
        if not is_series and not are_places([*row]):
            raise InvalidInputError(f"row must have a value for every column, and {lost[0]!r} is not there")
        row = [*row.values()] if isinstance(row, Mapping) else row
    is_vector = getattr(row, "ndim", None) == 1 or (
        isinstance(row, list | tuple) and not any(isinstance(part, list | tuple | np.ndarray) for part in row)
    )
    return [list(row)] if is_vector else row


def path_to(parent: Int[AnyArray, " node"], end: int) -> list[int]:
    """Returns the nodes below the root on the way to a node, given the node above each; the root is its own."""
    path = []
    while int(parent[end]) != end:
        path.append(end)
        end = int(parent[end])
    return path[::-1]


def conditions_on(
    tree: Tree, schema: Schema, path: list[int], values: Float[np.ndarray, " feature"]
) -> tuple[str, ...]:
    """Returns the conditions for every column on a path, in words."""
    asked: dict[int, list[Condition]] = {}
    for node in path:
        parent = int(tree.parent[node])
        column = int(tree.feature[parent])
        is_missing = np.isnan(values[column])
        missing = Condition(schema.columns[column].name, "is missing", ())
        asked.setdefault(column, []).append(missing if is_missing else condition(tree, schema, node))
    return tuple(_together(conditions) for conditions in asked.values())


def _together(conditions: list[Condition]) -> str:
    """The conditions on one column in few words."""
    name = conditions[0].column
    if all(asked.relation in ("<=", ">") and isinstance(asked.values[0], float) for asked in conditions):
        above = [asked.values[0] for asked in conditions if asked.relation == ">"]
        below = [asked.values[0] for asked in conditions if asked.relation == "<="]
        if above and below:
            return f"{value_in_words(max(above))} < {name} <= {value_in_words(min(below))}"
        return f"{name} > {value_in_words(max(above))}" if above else f"{name} <= {value_in_words(min(below))}"
    equal = [asked.in_words() for asked in conditions if asked.relation == "="]
    return equal[0] if equal else " and ".join(dict.fromkeys(asked.in_words() for asked in conditions))
