"""The parts of a page, each where the model and the rows have it: cards in groups, rows, and facts for its head."""

from typing import Any, NamedTuple

import numpy as np

from jaxtree.estimators.common.extras import loss_in_words
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import ACCENT, Card, Chart, axis, compacted, widths_of_cards
from jaxtree.page.columns import Subject
from jaxtree.page.dependence import dependence_cards, order_of_columns
from jaxtree.page.listing import listed_rows
from jaxtree.page.of_classes import class_cards
from jaxtree.page.of_numbers import number_cards
from jaxtree.page.of_ranks import rank_cards
from jaxtree.page.of_survival import survival_cards
from jaxtree.page.rounds import forest_cards, learning_cards
from jaxtree.page.shapley import explained_rows, summary_cards
from jaxtree.table.numerals import score_in_words

CARDS_OF_KIND = {
    "classes": class_cards,
    "numbers": number_cards,
    "distributions": number_cards,
    "survival": survival_cards,
    "ranks": rank_cards,
}
FOLLOWS_SLIDERS = {"confusion", "roc", "predictions"}
"""Cards that the page of a single tree has beside its sliders."""

MOST_IMPORTANCES = 12


class Group(NamedTuple):
    """Cards that stand together.

    Attributes:
        name: Its name in the page.
        cards: The cards.
    """

    name: str
    cards: list[Card]

    @property
    def widths(self) -> list[int]:
        """How many sixths of a line every card takes."""
        return widths_of_cards(len(self.cards))


class Parts(NamedTuple):
    """The parts of a page.

    Attributes:
        groups: The cards.
        rows: What the page's script lists of the rows of every table.
    """

    groups: list[Group]
    rows: list[dict[str, Any]]


def page_parts(answers: Answers, tables: list[PageTable], *, of_one_tree: bool) -> Parts:
    """Returns the parts of a page.

    Args:
        answers: What is asked of the model.
        tables: The rows.
        of_one_tree: Whether the page has a tree with sliders, whose charts need not be there twice.
    """
    explained = explained_rows(answers, tables)
    judged = [table for table in tables if table.target is not None]
    quality = [*_curves(answers, tables), *(CARDS_OF_KIND[answers.kind](answers, judged) if judged else [])]
    columns = [] if of_one_tree or answers.is_additive else _importances(answers)
    if tables and explained[-1] is not None:
        columns += summary_cards(answers, tables[-1], explained[-1])
    if of_one_tree or len(columns) == 1 or len(quality) == 1:
        quality = [card for card in quality if not of_one_tree or card.id not in FOLLOWS_SLIDERS]
        quality, columns = [*quality, *columns], []
    # What terms add is how a prediction depends on them.
    has_dependences = bool(tables) and not answers.is_additive
    dependences = dependence_cards(answers, tables[0], order_of_columns(answers)) if has_dependences else []
    named = (("quality", quality), ("columns", columns), ("dependences", dependences))
    rows = [listed_rows(answers, table, own) for table, own in zip(tables, explained, strict=True)]
    return Parts([Group(name, cards) for name, cards in named if cards], rows)


def _curves(answers: Answers, tables: list[PageTable]) -> list[Card]:
    if answers.is_additive or answers.is_ratio:
        return []
    if answers.is_ensemble:
        return [_members(answers)]
    if answers.adds_up:
        return learning_cards(answers.estimator, answers.kind)
    is_forest = not hasattr(type(answers.estimator), "model_of_planes") and answers.estimator.model_.averages_trees
    return forest_cards(answers, tables) if is_forest else []


def _importances(answers: Answers) -> list[Card]:
    values = getattr(answers.estimator, "feature_importances_", None)
    if values is None or not np.any(values):
        return []
    order = np.argsort(-values, kind="stable")[:MOST_IMPORTANCES]
    items = [
        {"name": answers.schema.columns[own].name, "bars": [[0, compacted([values[own]])[0], ACCENT]],
         "words": f"{values[own]:z.3f}"}
        for own in order.tolist() if values[own] > 0
    ]  # fmt: skip
    saved = "loss" if answers.adds_up else "impurity"
    left = np.count_nonzero(values) - len(items)
    hint = f"Share of the {saved} that the splits on a column {'save' if saved == 'loss' else 'remove'}."
    chart: Chart = {"kind": "list", "label": "Importance of the columns", "items": items, "hasAxis": False}
    if left > 0:
        chart["caption"] = f"{left} less important columns are left out."
    return [Card("importances", "Importance of the columns", hint, {"": chart})]


def _members(answers: Answers) -> Card:
    """The card of the members of an ensemble."""
    estimator, items = answers.estimator, []
    for number, (own, weight) in enumerate(zip(estimator.estimators_, estimator.weights_, strict=True), 1):
        trees = len(own.forest_)
        items.append({"name": f"member {number}: {trees} trees of depth {int(own.forest_.nodes.depth.max())}",
                      "bars": [[0, compacted([weight])[0], ACCENT]], "words": f"{weight:z.2f}"})  # fmt: skip
    chart: Chart = {"kind": "list", "label": "Members and weights", "items": items, "x": axis("weight", low=0)}
    return Card("members", "Members", "Their scores are averaged with these weights.", {"": chart})


def summary_of(answers: Answers, tables: list[PageTable], subject: Subject | None) -> list[tuple[str, str]]:
    """Returns names and values for the head of the page."""
    estimator = answers.estimator
    facts = [("loss", loss_in_words(estimator))] if answers.adds_up else []
    facts += [(f"{table.name} rows", f"{len(table.values):,}") for table in tables]
    if subject is not None and not any(table.name == "training" for table in tables):
        facts.insert(0, ("training rows", f"{int(subject.tree.num_rows[0]):,}"))
    facts += [(name, f"{number:,}") for name, number in _sizes(answers, subject)]
    facts += [fact for table in tables if table.target is not None for fact in _scores(answers, table, subject)]
    out_of_bag = getattr(estimator, "oob_score_", None)
    if isinstance(out_of_bag, float):
        facts.append((f"forest, out-of-bag {estimator.score_name_}", score_in_words(out_of_bag)))
    return facts


def _sizes(answers: Answers, subject: Subject | None) -> list[tuple[str, int]]:
    estimator = answers.estimator
    sizes = [("columns", len(answers.schema.columns))]
    if answers.classes:
        sizes.append(("classes", len(answers.classes)))
    if answers.is_ensemble:
        sizes.append(("members", len(estimator.estimators_)))
    if answers.is_additive:
        model = estimator.additive_
        num_pairs = int((model.layout.features[:, 1] >= 0).sum())
        return [*sizes, ("terms", model.layout.num_terms), ("pairs", num_pairs), ("bags", len(estimator.bag_values_))]
    if answers.adds_up:
        nodes = estimator.forest_.nodes
        return [
            *sizes,
            ("trees", len(estimator.forest_)),
            ("nodes", len(nodes.feature)),
            ("depth", int(nodes.depth.max())),
        ]
    if subject is not None and subject.number is not None:
        nodes = estimator.forest_.nodes
        sizes.append(("trees", len(estimator.forest_)))
        return [*sizes, ("nodes", len(nodes.feature)), ("depth", int(nodes.depth.max()))]
    tree = estimator.tree_ if subject is None else subject.tree
    return [*sizes, ("nodes", tree.node_count), ("leaves", tree.n_leaves), ("depth", int(np.max(tree.depth)))]


def _scores(answers: Answers, table: PageTable, subject: Subject | None) -> list[tuple[str, str]]:
    """The score of a table by its name; none of a single tree, whose page has scores beside its sliders."""
    if subject is not None and subject.number is None:
        return []
    estimator = answers.estimator
    score = estimator.score(table.X, table.y, **table.extras)
    name = "forest, " if subject is not None else ""
    return [(f"{name}{table.name} {estimator.score_name_}", score_in_words(score))]
