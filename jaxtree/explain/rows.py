"""One prediction in words: the path of a row, and the smallest change of one column that would change the class."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxtree import notebook
from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.explain.hard_forms import hard_form, has_no_sum, together
from jaxtree.explain.paths import as_table, conditions_on, path_to
from jaxtree.explain.scores import ScoreExplanation, explain_scores, explain_solution
from jaxtree.explain.sentences import UNSEEN, gaps_of, prediction_in_words, value_words
from jaxtree.explain.shap import ShapValues, of_solution, shap_in_comparison, shap_values_of
from jaxtree.export.models import best_of_search, drawn_model, exported_model, model_of_one_output
from jaxtree.table.numerals import SHARE_OF_SPREAD, decimal_near
from jaxtree.table.schema import Column, Schema
from jaxtree.table.words import number_at_most, value_in_words
from jaxtree.tree import Tree
from jaxtree.tree.kinds import ModelKind, Prediction, keeps_rows, kind_of, unit_of
from jaxtree.tree.model import FittedModel


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
        conditions: The conditions on the path, in words, those of a column together, in the order of columns on it.
        rows_to_share: The column for whose missing value the row was shared out among branches, or stayed.
        contrast: The smallest change of one column on the path by which the class would be another; nothing for
            numbers, and where no such change is enough. The size of a change of a number is its share of the column's
            range in fit, of an ordered category that of the steps, and of other categories 1.
        spread: How far apart the numbers are that the tree predicts: one is written to a ten-thousandth of that.
        note: How the tree stands for the model that is explained, if it is another, in words.
        gaps: The columns on the path without a value that the fit knows, in words, such as "age is missing".
    """

    prediction: Any
    share: float | None
    conditions: tuple[str, ...]
    rows_to_share: str | None
    contrast: Contrast | None
    spread: float = 0.0
    note: str = ""
    gaps: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The prediction, and the conditions on the path to it."""
        head = prediction_in_words(self.prediction, self.share, SHARE_OF_SPREAD * self.spread or np.inf)
        said = f"{head}, because {' and '.join(self.conditions)}" if self.conditions else f"{head} in every case"
        gaps = [gap for gap in self.gaps if gap not in said]
        changed = [] if self.contrast is None else [self._contrast_in_words()]
        return "; ".join([said, *([", ".join(gaps)] if gaps else []), *changed])

    def _contrast_in_words(self) -> str:
        column, value, prediction = present(self.contrast)
        return f"would be {value_in_words(prediction)} if {column} were {value_in_words(value)}"

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the explanation in words."""
        return notebook.lines(str(self))

    def __str__(self) -> str:
        """The explanation in a few lines."""
        share = "" if self.share is None else f" ({self.share:.0%})"
        tolerance = SHARE_OF_SPREAD * self.spread or np.inf
        number = decimal_near(self.prediction, tolerance) if self.share is None else value_in_words(self.prediction)
        lines = [f"{number}{share}"]
        lines += [f"{'because' if not number else '    and'} {words}" for number, words in enumerate(self.conditions)]
        if self.rows_to_share is not None:
            lines.append(f"    and {self.rows_to_share} is missing or unseen, so that it goes no single way from there")
        lines += [f"where {gap}" for gap in self.gaps if UNSEEN in gap]
        if self.contrast is not None:
            lines.append(self._contrast_in_words())
        return "\n".join([*lines, self.note] if self.note else lines)


def explain_row(estimator: Any, row: Any) -> Explanation | ScoreExplanation:
    """Explains what a fitted tree predicts of one row, or many trees.

    A tree is explained by the conditions on the row's path, which are sums of columns in an oblique tree; boosted trees
    and forests by the contribution of every column to the score, the share of the class or the mean; their `steps` are
    the conditions of the strongest trees, which `text(trees=True)` prints, too. Additive models are explained by the
    contribution of every term, soft trees and forests by their hardened form, with the agreement of both in `note`.

    Args:
        estimator: A fitted tree or forest of one output, boosted trees, or a soft tree or forest that has a hard form.
        row: A table of one row; or its values in a list, a vector, or a mapping from the names of the columns.

    Raises:
        InvalidInputError: The row is not one row of such a table, the estimator has several outputs, or a soft model
            has no hard form.
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
    estimator = best_of_search(estimator)
    kind = kind_of(estimator)
    if kind == ModelKind.TERMS:
        return estimator.explain_row(row)
    if kind == ModelKind.SOFT:
        hard, note = hard_form(estimator)
        explained = explain_row(hard, row)
        return replace(explained, note=together(note, explained.note))
    if keeps_rows(estimator):
        raise InvalidTypeError(
            f"a {type(estimator).__name__} predicts from the rows that its leaves keep: shap_values with background, a "
            "table of rows, has the contributions of columns"
        )
    model_of_one_output(estimator)  # an error where there is no encoder
    table = as_table(row, estimator.encoder_.schema_.column_names)
    values = np.asarray(estimator.encoder_.values(table), np.float64)
    if len(values) != 1:
        raise InvalidInputError(f"row must be one row, got {len(values)}")
    words = value_words(estimator.encoder_.schema_, values[0], table)
    return explain_values(
        estimator, values, words, shap_in_comparison(estimator, table) if has_no_sum(estimator) else None
    )


def explain_values(
    estimator: Any,
    values: Float[np.ndarray, "one feature"],
    words: list[str],
    found: ShapValues | None = None,
    *,
    has_steps: bool = True,
) -> Explanation | ScoreExplanation:
    """Explains what a model predicts of a row that is encoded; see `explain_row`.

    Args:
        estimator: The fitted estimator.
        values: The row, as `encoder_.values` has encoded it.
        words: Its values in words.
        found: Its Shapley values, of a moment equation those of its solution; computed if not given. An additive
            model has terms in their place.
        has_steps: Whether the strongest of many trees are looked for.
    """
    kind, schema, own = kind_of(estimator), estimator.encoder_.schema_, values[0]
    if kind == ModelKind.TERMS:
        return estimator.explain_values(values, words)
    if kind == ModelKind.PLANES:
        return replace(_explain_planes(estimator, values), gaps=gaps_of(schema, own, words))
    model = exported_model(estimator)
    if model.averages_trees:
        explained = _explain_trees(estimator, model, values, found, has_steps=has_steps)
        return in_words_of_row(estimator, explained, own, words)
    # A tree takes no notice of columns that it does not ask for.
    is_asked = np.isin(np.arange(len(own)), np.asarray(model.tree.feature)[~np.asarray(model.tree.is_leaf)])
    gaps = gaps_of(schema, np.where(is_asked, own, 0.0), words)
    return replace(_explain_path(model, values), gaps=gaps)


def in_words_of_row(
    estimator: Any, explained: ScoreExplanation, values: Float[np.ndarray, " feature"], words: list[str]
) -> ScoreExplanation:
    """Returns an explanation with the words of a row: values that the fit has not seen, gaps, and the unit.

    Args:
        estimator: The fitted estimator.
        explained: The explanation.
        values: The row, encoded.
        words: Its values in words.
    """
    schema = estimator.encoder_.schema_
    said = dict(zip(schema.column_names, words, strict=True))
    parts = tuple(part._replace(value=said.get(part.column, part.value)) for part in explained.contributions)
    is_plain = explained.share is not None or estimator.predicts == Prediction.NUMBERS
    unit = "" if is_plain else unit_of(estimator)
    return replace(explained, contributions=parts, gaps=gaps_of(schema, values, words), unit=unit)


def _explain_trees(
    estimator: Any,
    model: FittedModel,
    values: Float[np.ndarray, "one feature"],
    found: ShapValues | None,
    *,
    has_steps: bool,
) -> ScoreExplanation:
    """Explains a sum or mean over trees by the Shapley values of a row."""
    is_solution = kind_of(estimator) == ModelKind.MOMENT and model.link is not None
    if found is None:
        found = shap_values_of(model, values)
        found = of_solution(model, found) if is_solution else found
    if is_solution:
        names, own = estimator.names_of_predictions(), estimator.predicts.value
        return explain_solution(model, values, found, names, own, has_steps=has_steps)
    note = "" if found.how == "exact" else found.how
    return explain_scores(model, values, found, note, has_steps=has_steps)


def _explain_path(model: FittedModel, values: Float[np.ndarray, "one feature"]) -> Explanation:
    """Explains a tree by the conditions on the path of a row."""
    tree, schema = model.tree, model.schema
    end, predicted = int(model.predictor.ends(values)[0]), model.predict(values)[0]
    path = path_to(tree.parent, end)
    rows_to_share = None if tree.is_leaf[end] else schema.column_names[tree.feature[end]]
    conditions = conditions_on(tree, schema, path, values[0])
    if not model.classes:
        spread = float(np.ptp(model.node_value[:, 0]))
        return Explanation(float(predicted[0]), None, conditions, rows_to_share, None, spread)
    label = int(model.predict_label(values)[0, 0])
    prediction = model.classes[0].tolist()[label]
    contrast = _contrast(model, values, path, prediction)
    return Explanation(prediction, float(predicted[label]), conditions, rows_to_share, contrast)


def _explain_planes(estimator: Any, values: Float[np.ndarray, "one feature"]) -> Explanation:
    """Explains what an oblique tree predicts of a row: its conditions are sums of columns."""
    model = drawn_model(estimator)
    if model.num_outputs != 1:
        raise InvalidInputError(f"estimator must have one output, got {model.num_outputs}")
    tree = estimator.tree_
    end = int(tree.apply(values)[0])
    conditions = tuple(tree.branch_in_words(node) for node in path_to(tree.parent, end))
    if not model.classes:
        return Explanation(float(tree.value[end, 0]), None, conditions, None, None, float(np.ptp(tree.value[:, 0])))
    label = int(tree.value[end].argmax())
    return Explanation(model.classes[0].tolist()[label], float(tree.value[end, label]), conditions, None, None)


def _contrast(
    model: FittedModel, values: Float[np.ndarray, "one feature"], path: list[int], prediction: Any
) -> Contrast | None:
    """The smallest change of one column on the path that changes the class; of equal ones the nearest to the end."""
    tree, schema = model.tree, model.schema
    places = dict.fromkeys(int(tree.feature[tree.parent[node]]) for node in reversed(path))
    best: tuple[float, Contrast] | None = None
    for place in places:
        column, present = schema.columns[place], values[0, place]
        candidates = _candidates(tree, schema, place)
        labels = model.classes[0][model.predict_label(_changed(values, place, candidates))[0]]
        for candidate, label in zip(candidates, labels.tolist(), strict=True):
            size = _size(column, present, candidate)
            if label != prediction and (best is None or size < best[0]):
                value = column.number(candidate) if column.bins is not None else column.categories[int(candidate)]
                best = size, Contrast(column.name, value, label)
    return None if best is None else best[1]


def _candidates(tree: Tree, schema: Schema, place: int) -> list[float]:
    """A value of a column for every way on which the tree may send it: at every threshold, and just above.

    At it is a number of few digits that is not above it; just above is the least value of fit there, if there is one.
    """
    column = schema.columns[place]
    if column.bins is None:
        return [float(code) for code in range(len(column.categories))]
    asks = ~np.asarray(tree.is_leaf) & (np.asarray(tree.feature) == place)
    limits = np.unique(np.asarray(tree.threshold)[asks])
    limits, low = limits[np.isfinite(limits)], column.bins.low
    following = np.append(low, np.inf)[np.searchsorted(low, limits, side="right")]
    above = np.where(np.isfinite(following), following, np.nextafter(limits, np.inf))
    below = [number_at_most(column.bins, column.time, limit) for limit in limits.tolist()]
    return np.unique([*below, *above]).tolist() or [float(low[0])]


def _changed(
    values: Float[np.ndarray, "one feature"], place: int, candidates: list[float]
) -> Float[np.ndarray, "candidate feature"]:
    """The row with other values of one column."""
    changed = np.repeat(values, len(candidates), axis=0)
    changed[:, place] = candidates
    return changed


def _size(column: Column, present: float, candidate: float) -> float:
    """How great a change is."""
    if np.isnan(present) or column.kind in ("categorical", "boolean"):
        return 1.0
    if column.bins is None:
        spread = len(column.categories) - 1
    else:
        spread = column.bins.high[-1] - column.bins.low[0] if column.num_values else 0.0
    return float(abs(candidate - present) / (spread or 1.0))
