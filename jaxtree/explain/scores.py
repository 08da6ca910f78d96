"""Explanation of one row by many trees, in words: contributions of columns to the score, and the strongest trees."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree import notebook
from jaxtree.errors import present
from jaxtree.explain.carried import carried
from jaxtree.explain.paths import conditions_on, path_to
from jaxtree.explain.shap import ShapValues
from jaxtree.table.numerals import decimal_near
from jaxtree.table.schema import Column
from jaxtree.table.words import value_in_words
from jaxtree.tree.link import Link, ScoreLink, ratios
from jaxtree.tree.model import FittedModel
from jaxtree.tree.nodes import target_means

STRONGEST = 3
"""Maximum number of trees listed."""

FEWEST_PLACES = 4
"""Decimals of a score at least; the greatest contribution has three digits at least."""

MOST_SHOWN = 10
"""Columns in words."""


class Contribution(NamedTuple):
    """The contribution of a column to a score: its Shapley value.

    Attributes:
        column: The column.
        value: Its value in the row, in words.
        score: The contribution.
    """

    column: str
    value: str
    score: float


class Step(NamedTuple):
    """The addition of a tree to a score.

    Attributes:
        tree: The number of the tree, from 0.
        score: By how much it changes the score.
        conditions: The conditions on the row's path, in words.
    """

    tree: int
    score: float
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class ScoreExplanation:
    """Why boosted trees or a forest predict what they do of a row; `str()` has it in words.

    Attributes:
        prediction: The class, or the number.
        share: The class's probability; nothing for numbers.
        of_class: The class whose score is explained, of two classes the second; nothing for numbers, of which it is the
            first score, or of quantiles the least.
        score: The score, or of a forest the share of the class or the mean; `base` and all contributions add up to it.
        base: The mean score of the training rows.
        contributions: The columns that contribute, the greatest first.
        steps: The additions of the strongest trees.
        kind: "score" if it is a sum; of a mean over trees "share" of a class, or "mean"; of a moment such as "effect".
        note: How the contributions were found, if they are not exact, in words.
    """

    prediction: Any
    share: float | None
    of_class: Any
    score: float
    base: float
    contributions: tuple[Contribution, ...]
    steps: tuple[Step, ...]
    kind: str = "score"
    note: str = ""

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the explanation in words."""
        return notebook.lines(str(self))

    def __str__(self) -> str:
        """The explanation in some lines."""
        greatest, places = max((abs(part.score) for part in self.contributions), default=0.0), FEWEST_PLACES
        if np.isfinite(greatest) and greatest > 0:
            places = max(places, places - 2 - math.floor(math.log10(greatest)))
        name = self.kind if self.of_class is None else f"{self.kind} of {value_in_words(self.of_class)}"
        lines = [self._predicted(places), f"{name} {self.score:.{places}f}, of all rows {self.base:.{places}f}"]
        shown, others = self.contributions[:MOST_SHOWN], self.contributions[MOST_SHOWN:]
        lines += [f"    {score:+.{places}f}  {column} = {value}" for column, value, score in shown]
        if others:
            lines.append(f"    {sum(part.score for part in others):+.{places}f}  {len(others)} other columns")
        steps = [(tree, score, " and ".join(words) or "all rows") for tree, score, words in self.steps]
        lines += [f"tree {tree} {score:+.{places}f}: {words}" for tree, score, words in steps]
        return "\n".join([*lines, self.note] if self.note else lines)

    def _predicted(self, places: int) -> str:
        if self.share is not None:
            return f"{value_in_words(self.prediction)} ({self.share:.0%})"
        return decimal_near(self.prediction, 10.0**-places if self.prediction == self.score else np.inf)


class Answer(NamedTuple):
    """The conclusion from the scores of a row.

    Attributes:
        prediction: The class, or the number.
        share: The class's probability; nothing for numbers.
        of_class: The class whose score is explained; nothing for numbers.
        place: The number of that score.
    """

    prediction: Any
    share: float | None
    of_class: Any
    place: int


def answer_of(link: ScoreLink, scores: Float[np.ndarray, " score"]) -> Answer:
    """Returns what follows from the scores of a row, and which of them is to be explained."""
    predicted = link.predict_on_host(scores[:, None])[:, 0]
    if link.classes is None:  # the least of quantiles that cross is another score than the first
        return Answer(float(predicted[0]), None, None, int(np.argmax(scores == predicted[0])))
    names, shares = link.classes.tolist(), predicted if len(predicted) > 1 else [1 - predicted[0], predicted[0]]
    label = int(np.argmax(shares))
    place, of_class = (label, names[label]) if link.kind == Link.SOFTMAX else (0, names[1])
    return Answer(names[label], float(shares[label]), of_class, place)


def explain_scores(
    model: FittedModel, values: Float[np.ndarray, "one feature"], explained: ShapValues, note: str = ""
) -> ScoreExplanation:
    """Explains what boosted trees or a forest predict of one row.

    Args:
        model: Their model.
        values: The row, as `encoder_.values` has encoded it.
        explained: The Shapley values of the row.
        note: How these were found, if they are not exact.
    """
    sums = model.predict(values)
    scores = ratios(sums.T).T[0] if model.is_ratio else sums[0]
    said = _answer_of_forest(model, scores) if model.link is None else answer_of(model.link, sums[0])
    place = said.place
    worth = explained.values.reshape(len(model.schema.columns), -1)[:, place]
    return ScoreExplanation(
        said.prediction,
        said.share,
        said.of_class,
        float(scores[place]),
        float(np.ravel(explained.base)[place]),
        _contributions(model, values, worth),
        _strongest(model, values, place),
        "score" if model.link is not None else "share" if model.classes else "mean",
        note,
    )


def explain_solution(
    model: FittedModel, values: Float[np.ndarray, "one feature"], explained: ShapValues, names: list[str], kind: str
) -> ScoreExplanation:
    """Explains what a forest of a moment equation predicts of one row; of several numbers the one of greatest size.

    Args:
        model: Its model.
        values: The row, as `encoder_.values` has encoded it.
        explained: The contributions of columns to the solution.
        names: The names of the numbers that are predicted.
        kind: The kind of these, such as "effect".
    """
    solution = present(model.link).predict_on_host
    predicted = solution(model.predict(values).T)[:, 0]
    place = int(np.argmax(np.abs(predicted)))
    worth = explained.values.reshape(len(model.schema.columns), -1)[:, place]
    ends, roots = model.predictor.ends_in_trees(values)[0], model.forest.first_node[:-1]
    moves = (model.node_value[ends] - model.node_value[roots]) / len(ends)
    steps, _ = carried(moves[None], model.node_value[roots].mean(axis=0), solution)
    return ScoreExplanation(
        float(predicted[place]),
        None,
        names[place] if len(names) > 1 else None,
        float(predicted[place]),
        float(np.ravel(explained.base)[place]),
        _contributions(model, values, worth),
        _greatest_steps(model, values, steps[0, :, place]),
        kind,
    )


def _answer_of_forest(model: FittedModel, mean: Float[np.ndarray, " column"]) -> Answer:
    """The conclusion from the mean over a forest's trees, of which the share of the predicted class is explained."""
    if not model.classes:
        return Answer(float(mean[0]), None, None, 0)
    place = int(np.argmax(mean))
    label = model.classes[0].tolist()[place]
    return Answer(label, float(mean[place]), label, place)


def _contributions(
    model: FittedModel, values: Float[np.ndarray, "one feature"], worth: Float[np.ndarray, " column"]
) -> tuple[Contribution, ...]:
    """The columns that contribute, the greatest first."""
    return tuple(
        Contribution(model.schema.columns[column].name, _in_words(model, column, values[0]), float(worth[column]))
        for column in np.argsort(-np.abs(worth), kind="stable").tolist()
        if worth[column]
    )


def _in_words(model: FittedModel, place: int, values: Float[np.ndarray, " feature"]) -> str:
    """The value of a column in words."""
    column: Column = model.schema.columns[place]
    return column.in_words(float(values[place]))


def _strongest(model: FittedModel, values: Float[np.ndarray, "one feature"], place: int) -> tuple[Step, ...]:
    """The trees that change the score most, the strongest first."""
    ends = model.predictor.ends_in_trees(values)[0]
    return _greatest_steps(model, values, _steps_of_trees(model, values, ends)[:, place])


def _greatest_steps(
    model: FittedModel, values: Float[np.ndarray, "one feature"], step: Float[np.ndarray, " tree"]
) -> tuple[Step, ...]:
    """The trees of the greatest steps, with the conditions on the row's paths."""
    ends, first_node = model.predictor.ends_in_trees(values)[0], model.forest.first_node
    steps = []
    for number in np.argsort(-np.abs(step), kind="stable")[:STRONGEST].tolist():
        tree = model.forest[number]
        path = path_to(tree.parent, int(ends[number] - first_node[number]))
        steps.append(Step(number, float(step[number]), conditions_on(tree, model.schema, path, values[0])))
    return tuple(steps)


def _steps_of_trees(
    model: FittedModel, values: Float[np.ndarray, "one feature"], ends: Int[np.ndarray, " tree"]
) -> Float[np.ndarray, "tree score"]:
    """The additions of every tree to the scores; of a forest, by how much it moves the mean from that of all rows."""
    if model.is_ratio:
        own = model.node_value[ends]
        return own[:, :-1] / own[:, -1].sum()
    if model.link is not None:
        return target_means(model.tree)[ends]
    predictor, roots = model.predictor, model.forest.first_node[:-1]
    own = [predictor.mean_at(values, ends[tree : tree + 1], model.node_value)[0] for tree in range(len(ends))]
    return (np.array(own) - model.node_value[roots]) / len(ends)
