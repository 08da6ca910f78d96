"""Scores of a page's rows: each with what a constant reaches, and with an interval on rows that no tree has seen."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxtree.errors import present
from jaxtree.figures.certainty import (
    ScoreInterval,
    interval_by_rows,
    interval_of_mean,
    interval_of_r2,
    interval_of_share,
)
from jaxtree.figures.ranks import RankedGroups, ranked_groups
from jaxtree.page.model import PageModel, PageTable, score_of_table
from jaxtree.soft.harden import agreement
from jaxtree.table.numerals import score_in_words
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree.kinds import Prediction


class Fact(NamedTuple):
    """A line of the head of a page.

    Attributes:
        name: Its name.
        value: Its value, in words.
        note: Words below it; empty if there are none.
    """

    name: str
    value: str
    note: str = ""


class ConstantScore(NamedTuple):
    """The score of the best constant prediction.

    Attributes:
        name: The constant, in words.
        score: Its score.
    """

    name: str
    score: float


def fact_of_score(model: PageModel, table: PageTable, name: str) -> Fact:
    """Returns the score of rows with a target, with the interval of held-out ones and with what a constant reaches."""
    found = interval_of_score(model, table) if table.name != "training" else None
    ends = [] if found is None else [f"95 %: {score_in_words(found.low)} to {score_in_words(found.high)}"]
    constant = constant_of(model, table)
    reached = [] if constant is None else [f"{constant.name}: {score_in_words(constant.score)}"]
    return Fact(name, score_in_words(score_of_table(model, table)), "; ".join([*ends, *reached]))


def constant_of(model: PageModel, table: PageTable) -> ConstantScore | None:
    """Returns what the best constant prediction reaches on rows; None where the score has no such constant."""
    name = model.estimator.score_name_
    if model.classes:
        shares = shares_of_classes(model, table)
        most = int(shares.argmax())
        return ConstantScore(f"always {model.classes[most]}", float(shares[most]))
    if name == "R²":
        return ConstantScore("the mean", 0.0)
    if name == "concordance":
        return ConstantScore("by chance", 0.5)
    if model.predicts == Prediction.RANKS:
        level = np.zeros_like(table.predicted)
        return ConstantScore("by chance", float(ranked_of(model, table._replace(predicted=level)).mean))
    start = getattr(model.estimator, "start_", None)
    if start is None or table.scores is None:
        return None
    return ConstantScore(
        "a constant", score_of_table(model, table._replace(scores=np.tile(start, (len(table.values), 1))))
    )


def shares_of_classes(model: PageModel, table: PageTable) -> Float[np.ndarray, " class"]:
    """Returns the share of the rows with each class that the model knows, by weight."""
    known = table.labels >= 0
    counts = np.bincount(table.labels[known], table.weight[known], minlength=len(model.classes))
    return counts / table.weight.sum()


def interval_of_score(model: PageModel, table: PageTable) -> ScoreInterval | None:
    """Returns the interval of the score of rows; None of few clusters, and of most scores of very many rows.

    Ranks are drawn by their groups, other rows by the clusters that are given, or one by one.
    """
    if model.classes:
        return interval_of_share(present(table.said) == table.labels, table.weight, table.clusters)
    if model.estimator.score_name_ == "R²" and table.truth.shape[1] == 1:
        return interval_of_r2(table.truth[:, 0], table.predicted[:, 0], table.weight, table.clusters)
    if model.predicts == Prediction.RANKS:
        found = ranked_of(model, table)
        return interval_of_mean(found.ndcg, found.weight)

    def score(rows: Int[np.ndarray, " drawn"]) -> float:
        return score_of_table(model, table.at(rows))

    return interval_by_rows(score, len(table.values), table.clusters)


Given = tuple[str, Any, Any, dict[str, Any]]
"""The name of a table of a page, its columns, its target, and what else is given of its rows."""


def soft_facts(soft: Any, model: PageModel, given: Sequence[Given]) -> list[Fact]:
    """Returns how right a soft model is on each of some tables, and how far the hard one that is shown agrees."""
    facts = [Fact("shown hardened", type(model.estimator).__name__, f"in place of the {type(soft).__name__}")]
    meaning = "of rows: both predict the same class" if model.classes else "of the variance of the soft predictions"
    for name, X, y, extras in given:
        if X is None:
            continue
        own = {key: value for key, value in extras.items() if key != "groups"}
        if y is not None:
            score = score_in_words(float(soft.score(X, y, **own)))
            facts.append(Fact(f"soft, {name} {soft.score_name_}", score))
        facts.append(Fact(f"agreement, {name} rows", _agreement(soft, model, X, extras.get("sample_weight")), meaning))
    return facts


def _agreement(soft: Any, model: PageModel, X: Any, sample_weight: Any) -> str:
    """How far predictions agree, in words."""
    both = [np.asarray(own.predict_proba(X) if model.classes else own.predict(X)) for own in (soft, model.estimator)]
    ours, theirs = (found.reshape(len(found), -1).astype(np.float64) for found in both)
    weight = check_sample_weight(sample_weight, len(ours))
    weight = np.ones(len(ours)) if weight is None else np.asarray(weight, np.float64)
    return f"{agreement(ours, theirs, weight, (len(model.classes),) if model.classes else ()):.1%}"


def ranked_of(model: PageModel, table: PageTable) -> RankedGroups:
    """Returns how right the orders of groups of rows are."""
    group, relevance, score = table.fields["group"], table.truth[:, 0], table.predicted[:, 0]
    return ranked_groups(group, relevance, score, table.weight, model.estimator.ndcg_at)
