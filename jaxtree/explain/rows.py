"""One prediction in words: the path of a row, and the smallest change of one column that would change the class."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Condition, condition
from jaxtree.export.models import exported_model
from jaxtree.table.schema import Column, Schema, value_in_words
from jaxtree.tree import FittedModel, SplitKind, Tree


class Contrast(NamedTuple):
    """A change of one column, and what would be predicted then.

    Attributes:
        column: The column.
        value: Its value then, a number or a category.
        prediction: The class then.
    """

    column: str
    value: Any
    prediction: Any


@dataclass(frozen=True)
class Explanation:
    """Why an estimator predicts what it does of a row; `str()` has it in words.

    Attributes:
        prediction: The class, or the number.
        share: The class's share there; nothing for numbers.
        conditions: What the path asks, in words, a column's questions together, in the order in which columns come.
        held_up: The column for whose missing value the row was shared out among branches, or stayed.
        contrast: The smallest change of one column on the path by which the class would be another; nothing for
            numbers, and where no such change is enough. The size of a change of a number is its share of the column's
            range in fit, of an ordered category that of the steps, and of other categories 1.
    """

    prediction: Any
    share: float | None
    conditions: tuple[str, ...]
    held_up: str | None
    contrast: Contrast | None

    def __str__(self) -> str:
        """The explanation in a few lines."""
        share = "" if self.share is None else f" ({self.share:.0%})"
        lines = [f"{value_in_words(self.prediction)}{share}"]
        lines += [f"{'because' if not number else '    and'} {words}" for number, words in enumerate(self.conditions)]
        if self.held_up is not None:
            lines.append(f"    and {self.held_up} is missing or unseen, so that it goes no single way from there")
        if self.contrast is not None:
            column, value, prediction = self.contrast
            lines.append(f"would be {value_in_words(prediction)} if {column} were {value_in_words(value)}")
        return "\n".join(lines)


def explain_row(estimator: Any, row: Any) -> Explanation:
    """Explains what a fitted tree predicts of one row.

    Args:
        estimator: A fitted tree of one output.
        row: A table of one row; or its values in a list, a vector, or a mapping from the names of the columns.

    Raises:
        InvalidInputError: The row is not one row of such a table, or the estimator is a forest or has several outputs.
        InvalidTypeError: The estimator is no tree of jaxtree.

    Example:
        >>> from jaxtree import C45Classifier
        >>> from jaxtree.datasets import load_play_tennis
        >>> X, y = load_play_tennis(return_X_y=True, as_frame=True)
        >>> print(explain_row(C45Classifier().fit(X, y), X.iloc[[0]]))
        no (100%)
        because outlook = sunny
            and humidity = high
        would be yes if humidity were normal
    """
    model = exported_model(estimator)
    if model.averages_trees:
        raise InvalidInputError("a forest has a path for every tree: explain one of its members, `estimators_`")
    tree, schema = model.tree, model.schema
    table = _as_table(row, schema.column_names)
    values = np.asarray(estimator.encoder_.values(table), np.float64)
    if len(values) != 1:
        raise InvalidInputError(f"row must be one row, got {len(values)}")
    end, predicted = int(model.predictor.ends(values)[0]), model.predict(values)[0]
    path = _path(tree, end)
    held_up = None if tree.is_leaf[end] else schema.columns[_column(tree, schema, end)].name
    conditions = tuple(_conditions(tree, schema, path, values[0]))
    if not model.classes:
        return Explanation(float(predicted[0]), None, conditions, held_up, None)
    label = int(model.predict_label(values)[0, 0])
    prediction = model.classes[0].tolist()[label]
    contrast = _contrast(model, values, path, prediction)
    return Explanation(prediction, float(predicted[label]), conditions, held_up, contrast)


def _as_table(row: Any, names: tuple[str, ...]) -> Any:
    if isinstance(row, Mapping):
        lost = [name for name in names if name not in row]
        if lost:
            raise InvalidInputError(f"row must have a value for every column, and {lost[0]!r} is not there")
        return [[row[name] for name in names]]
    is_vector = getattr(row, "ndim", None) == 1 or (
        isinstance(row, list | tuple) and not any(isinstance(part, list | tuple | np.ndarray) for part in row)
    )
    return [list(row)] if is_vector else row


def _path(tree: Tree, end: int) -> list[int]:
    """The nodes below the root on the way to a node."""
    path = []
    while int(tree.parent[end]) != end:
        path.append(end)
        end = int(tree.parent[end])
    return path[::-1]


def _column(tree: Tree, schema: Schema, node: int) -> int:
    """The column that a node asks for."""
    return schema.features[int(tree.feature[node])].column


def _conditions(tree: Tree, schema: Schema, path: list[int], values: Float[np.ndarray, " feature"]) -> list[str]:
    """What is asked of every column on a path, in words."""
    asked: dict[int, list[Condition]] = {}
    for node in path:
        parent = int(tree.parent[node])
        column, feature = _column(tree, schema, parent), int(tree.feature[parent])
        missing = Condition(schema.columns[column].name, "is missing", ())
        asked.setdefault(column, []).append(missing if np.isnan(values[feature]) else condition(tree, schema, node))
    return [_together(conditions) for conditions in asked.values()]


def _together(conditions: list[Condition]) -> str:
    """The conditions on one column in few words."""
    name = conditions[0].column
    if all(asked.relation in ("<=", ">") and isinstance(asked.values[0], float) for asked in conditions):
        above = [asked.values[0] for asked in conditions if asked.relation == ">"]
        below = [asked.values[0] for asked in conditions if asked.relation == "<="]
        if above and below:
            return f"{value_in_words(max(above))} < {name} <= {value_in_words(min(below))}"
        limit = f"> {value_in_words(max(above))}" if above else f"<= {value_in_words(min(below))}"
        return f"{name} {limit}"
    phrases = dict.fromkeys(_in_words(asked) for asked in conditions)
    equal = [words for words in phrases if words.startswith(f"{name} = ")]
    return equal[0] if equal else " and ".join(phrases)


def _in_words(asked: Condition) -> str:
    values = [value_in_words(value) if isinstance(value, float) else str(value) for value in asked.values]
    listed = f"{{{', '.join(values)}}}" if asked.relation in ("in", "not in") else " ".join(values)
    return f"{asked.column} {asked.relation} {listed}".rstrip()


def _contrast(
    model: FittedModel, values: Float[np.ndarray, "one feature"], path: list[int], prediction: Any
) -> Contrast | None:
    """The smallest change of one column on the path that changes the class; of equal ones the nearest to the end."""
    tree, schema = model.tree, model.schema
    columns = dict.fromkeys(_column(tree, schema, int(tree.parent[node])) for node in reversed(path))
    best: tuple[float, Contrast] | None = None
    for place in columns:
        column = schema.columns[place]
        candidates = _candidates(tree, schema, place)
        changed = np.concatenate([_changed(schema, values, place, candidate) for candidate in candidates])
        labels = model.classes[0][model.predict_label(changed)[0]]
        for candidate, label in zip(candidates, labels.tolist(), strict=True):
            size = _size(column, schema, values[0], place, candidate)
            if label != prediction and (best is None or size < best[0]):
                value = column.number(candidate) if column.bins is not None else column.categories[int(candidate)]
                best = size, Contrast(column.name, value, label)
    return None if best is None else best[1]


def _candidates(tree: Tree, schema: Schema, place: int) -> list[float]:
    """A value of a column for every way on which the tree may send it: at every threshold, and just above."""
    column = schema.columns[place]
    if column.bins is None:
        return [float(code) for code in range(len(column.categories))]
    on_column = np.array([feature.column == place for feature in schema.features])
    asks = ~np.asarray(tree.is_leaf) & (np.asarray(tree.split_kind) == SplitKind.THRESHOLD)
    asks &= on_column[np.maximum(np.asarray(tree.feature), 0)]
    limits = np.unique(np.asarray(tree.threshold)[asks])
    limits = limits[np.isfinite(limits)]
    above = [_just_above(limit, column) for limit in limits.tolist()]
    return sorted({*limits.tolist(), *above}) or [float(column.bins.low[0])]


def _just_above(limit: float, column: Column) -> float:
    """The least value of fit above a threshold, if there is one; so that words show another number."""
    assert column.bins is not None
    above = column.bins.low[column.bins.low > limit]
    return float(above[0]) if above.size else float(np.nextafter(limit, np.inf))


def _changed(
    schema: Schema, values: Float[np.ndarray, "one feature"], place: int, candidate: float
) -> Float[np.ndarray, "one feature"]:
    """The row with another value of one column."""
    changed = values.copy()
    for number, feature in enumerate(schema.features):
        if feature.column == place:
            is_onehot = feature.kind == "onehot"
            changed[:, number] = (
                schema.columns[place].categories[int(candidate)] == feature.category if is_onehot else candidate
            )
    return changed


def _size(column: Column, schema: Schema, values: Float[np.ndarray, " feature"], place: int, candidate: float) -> float:
    """How great a change is."""
    features = [number for number, feature in enumerate(schema.features) if feature.column == place]
    present = values[features[0]]
    if np.isnan(present) or column.kind in ("categorical", "boolean"):
        return 1.0
    if column.bins is None:
        return float(abs(candidate - present)) / max(len(column.categories) - 1, 1)
    spread = float(column.bins.high[-1] - column.bins.low[0]) if column.num_values else 0.0
    return float(abs(candidate - present)) / (spread or 1.0)
