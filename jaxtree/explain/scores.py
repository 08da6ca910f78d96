"""Explanation of one row by many trees, in words: contributions of columns to the score, and the strongest trees."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int

from jaxtree import notebook
from jaxtree.errors import present
from jaxtree.explain.carried import carried
from jaxtree.explain.paths import conditions_on, path_to
from jaxtree.explain.sentences import effects_on_prediction, prediction_in_words, sentence_of
from jaxtree.explain.shap import ShapValues
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

DIGITS = 3
"""Digits of the greatest of numbers that stand together."""


class Contribution(NamedTuple):
    """The contribution of a column to a score: its Shapley value.

    Attributes:
        column: The column.
        value: Its value in the row, in words.
        score: The contribution.
        effect: How it changes what is predicted: the probability of the predicted class, or the number.
    """

    column: str
    value: str
    score: float
    effect: float = math.nan


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
        general: The prediction of no row in particular: the probability of the class, or the number.
        gaps: The columns without a value that the fit knows, in words, such as "age is missing".
        unit: The name of a number that is predicted, such as "effect"; empty for a mean of the target.
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
    general: float = math.nan
    gaps: tuple[str, ...] = ()
    unit: str = ""

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the explanation in words."""
        return notebook.lines(str(self))

    @property
    def sentence(self) -> str:
        """The prediction, and the columns that speak most for and against it; see `jaxtree.explain.sentences`."""
        effects = {f"{part.column} is {part.value}": part.effect for part in self.contributions}
        places = _places_of(effects.values())
        if self.share is not None:
            head = prediction_in_words(self.prediction, self.share)
        else:
            of_what = "" if self.of_class is None else f" of {value_in_words(self.of_class)}"
            general = f" (in general {self.general:.{places}f})" if np.isfinite(self.general) else ""
            head = f"{f'{self.unit}{of_what} ' if self.unit else ''}{self.prediction:z.{places}f}{general}"
        return sentence_of(head, effects, self.gaps, of_classes=self.share is not None, places=places)

    def __str__(self) -> str:
        """The sentence, and a table of the contributions."""
        return self.text()

    def text(self, *, trees: bool = False) -> str:
        """Returns the explanation in some lines: the sentence, a table of the contributions, and perhaps trees.

        Args:
            trees: Whether the trees that move the prediction most follow, with the conditions on the row's paths.
        """
        places = max(FEWEST_PLACES, _places_of(part.score for part in self.contributions))
        name = self.kind if self.of_class is None else f"{self.kind} of {value_in_words(self.of_class)}"
        lines = [self.sentence, f"{name} {self.score:.{places}f}, of all rows {self.base:.{places}f}"]
        shown, others = self.contributions[:MOST_SHOWN], self.contributions[MOST_SHOWN:]
        lines += [f"    {part.score:+.{places}f}  {part.column} = {part.value}" for part in shown]
        if others:
            lines.append(f"    {sum(part.score for part in others):+.{places}f}  {len(others)} other columns")
        for tree, score, words in self.steps if trees else ():
            lines.append(f"tree {tree} {score:+.{places}f}: {' and '.join(words) or 'all rows'}")
        return "\n".join([*lines, self.note] if self.note else lines)


def _places_of(sizes: Iterable[float]) -> int:
    """The decimals with which the greatest of some numbers has its digits."""
    greatest = max(map(abs, sizes), default=0.0)
    return max(0, DIGITS - 1 - math.floor(math.log10(greatest))) if np.isfinite(greatest) and greatest > 0 else DIGITS


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


def effects_of(
    link: ScoreLink, said: Answer, base: Float[np.ndarray, " score"], parts: Float[np.ndarray, "part score"]
) -> tuple[Float64[np.ndarray, " part"], float]:
    """Returns how parts of scores change the prediction of a row, and that of no row in particular.

    Args:
        link: The link of the scores.
        said: The conclusion from the scores of the row.
        base: The scores of no row in particular.
        parts: The additions to them.
    """
    if said.share is None and said.prediction == float((base + parts.sum(axis=0))[said.place]):
        return parts[:, said.place].astype(np.float64), float(base[said.place])
    label = 0 if said.share is None else present(link.classes).tolist().index(said.prediction)
    return effects_on_prediction(link, label, base, parts)


def explain_scores(
    model: FittedModel,
    values: Float[np.ndarray, "one feature"],
    explained: ShapValues,
    note: str = "",
    *,
    has_steps: bool = True,
) -> ScoreExplanation:
    """Explains what boosted trees or a forest predict of one row.

    Args:
        model: Their model.
        values: The row, as `encoder_.values` has encoded it.
        explained: The Shapley values of the row.
        note: How these were found, if they are not exact.
        has_steps: Whether the strongest trees are looked for.
    """
    sums = model.predict(values)
    scores = ratios(sums.T).T[0] if model.is_ratio else sums[0]
    said = _answer_of_forest(model, scores) if model.link is None else answer_of(model.link, sums[0])
    place = said.place
    every, base = explained.values.reshape(len(model.schema.columns), -1), np.ravel(explained.base)
    worth, effects, general = every[:, place], every[:, place], float(base[place])
    if model.link is not None:
        effects, general = effects_of(model.link, said, base, every)
    return ScoreExplanation(
        said.prediction,
        said.share,
        said.of_class,
        float(scores[place]),
        float(base[place]),
        _contributions(model, values, worth, effects),
        _strongest(model, values, place) if has_steps else (),
        "score" if model.link is not None else "share" if model.classes else "mean",
        note,
        general,
    )


def explain_solution(
    model: FittedModel,
    values: Float[np.ndarray, "one feature"],
    explained: ShapValues,
    names: list[str],
    kind: str,
    *,
    has_steps: bool = True,
) -> ScoreExplanation:
    """Explains what a forest of a moment equation predicts of one row; of several numbers the one of greatest size.

    Args:
        model: Its model.
        values: The row, as `encoder_.values` has encoded it.
        explained: The contributions of columns to the solution.
        names: The names of the numbers that are predicted.
        kind: The kind of these, such as "effect".
        has_steps: Whether the strongest trees are looked for.
    """
    solution = present(model.link).predict_on_host
    predicted = solution(model.predict(values).T)[:, 0]
    place = int(np.argmax(np.abs(predicted)))
    worth = explained.values.reshape(len(model.schema.columns), -1)[:, place]
    steps: tuple[Step, ...] = ()
    if has_steps:
        ends, roots = model.predictor.ends_in_trees(values)[0], model.forest.first_node[:-1]
        moves = (model.node_value[ends] - model.node_value[roots]) / len(ends)
        found, _ = carried(moves[None], model.node_value[roots].mean(axis=0), solution)
        steps = _greatest_steps(model, values, found[0, :, place])
    return ScoreExplanation(
        float(predicted[place]),
        None,
        names[place] if len(names) > 1 else None,
        float(predicted[place]),
        float(np.ravel(explained.base)[place]),
        _contributions(model, values, worth, worth),
        steps,
        kind,
        general=float(np.ravel(explained.base)[place]),
    )


def _answer_of_forest(model: FittedModel, mean: Float[np.ndarray, " column"]) -> Answer:
    """The conclusion from the mean over a forest's trees, of which the share of the predicted class is explained."""
    if not model.classes:
        return Answer(float(mean[0]), None, None, 0)
    place = int(np.argmax(mean))
    label = model.classes[0].tolist()[place]
    return Answer(label, float(mean[place]), label, place)


def _contributions(
    model: FittedModel,
    values: Float[np.ndarray, "one feature"],
    worth: Float[np.ndarray, " column"],
    effects: Float[np.ndarray, " column"],
) -> tuple[Contribution, ...]:
    """The columns that contribute, the greatest first."""
    return tuple(
        Contribution(
            model.schema.columns[column].name,
            _in_words(model, column, values[0]),
            float(worth[column]),
            float(effects[column]),
        )
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
