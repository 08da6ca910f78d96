"""How right orders within groups are: NDCG of every group, and how relevant the rows at every rank are."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import ndcg_score

from jaxtree.arrays import spread
from jaxtree.page.answers import Answers, PageTable
from jaxtree.page.cards import ACCENT, SOFT, Card, Chart, axis, bars, card_of_tables, compacted, line, plot

MOST_GROUPS = 1000
"""Groups that are measured; of more, as many spread over all."""

MOST_RANKS = 20
MOST_LISTED = 8


def rank_cards(answers: Answers, tables: Sequence[PageTable]) -> list[Card]:
    """Returns the cards of some tables with targets and groups."""
    tables = [table for table in tables if "group" in table.fields]
    gains = [ndcg_of_groups(table, getattr(answers.estimator, "ndcg_at", None)) for table in tables]
    found = [
        card_of_tables("ndcg", "NDCG of the groups", "How right the order of each group's rows is: 1 is the best.",
                       [(table.name, _ndcg(table, own)) for table, own in zip(tables, gains, strict=True)]),
        card_of_tables("ranks", "Relevance by rank", "Mean relevance of the rows at every rank of their group, beside "
                       "the best order and a random one.", [(table.name, _ranks(table)) for table in tables]),
        card_of_tables("worst", "Groups that are ranked worst", "By their NDCG.",
                       [(table.name, _worst(table, own)) for table, own in zip(tables, gains, strict=True)]),
    ]  # fmt: skip
    return [card for card in found if card is not None]


def rows_of_groups(table: PageTable) -> tuple[list[str], list[Int[np.ndarray, " row"]]]:
    """Returns the names of some groups, and the rows of each."""
    names, place = np.unique(np.asarray(table.fields["group"]), return_inverse=True)
    order = np.argsort(place, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(place))[:-1])
    kept = spread(len(names), MOST_GROUPS)
    return [str(names[own]) for own in kept], [rows[own] for own in kept]


def ndcg_of_groups(table: PageTable, at: int | None) -> Float[np.ndarray, " group"]:
    """Returns the normalised discounted cumulative gain of every group, 1 where no row is relevant."""
    found = []
    for rows in rows_of_groups(table)[1]:
        gain = 2.0 ** table.truth[rows, 0] - 1
        measured = len(rows) > 1 and gain.any()
        found.append(ndcg_score([gain], [table.predicted[rows, 0]], k=at) if measured else 1.0)
    return np.array(found)


def _ndcg(table: PageTable, found: Float[np.ndarray, " group"]) -> Chart:
    edges = np.linspace(min(0.5, np.floor(found.min() * 10) / 10), 1, 21)
    counts, _ = np.histogram(found, edges)
    words = f"Mean {found.mean():z.4f} of {len(found):,} groups of {table.name} rows; the lowest {found.min():z.4f}."
    series = [bars("", ACCENT, edges, counts)]
    y = axis("groups", low=0)
    return plot(f"Histogram of NDCG. {words}", axis("NDCG"), y, series, caption=words, value=float(found.mean()))


def means_by_rank(table: PageTable, score: Float[np.ndarray, " row"]) -> Float[np.ndarray, " rank"]:
    """Returns the mean relevance at every rank, in the order of a score, of groups that have as many rows."""
    rows = rows_of_groups(table)[1]
    most = min(MOST_RANKS, max(map(len, rows)))
    total, number = np.zeros(most), np.zeros(most)
    for own in rows:
        order = own[np.argsort(-score[own], kind="stable")][:most]
        total[: len(order)] += table.truth[order, 0]
        number[: len(order)] += 1
    return total / np.maximum(number, 1)


def _ranks(table: PageTable) -> Chart:
    found, best = (means_by_rank(table, own) for own in (table.predicted[:, 0], table.truth[:, 0].astype(np.float64)))
    rank = np.arange(1.0, len(found) + 1)
    mean = np.full(len(rank), float(np.average(table.truth[:, 0], weights=table.weight)))
    series = [
        line("best order", SOFT, rank, best, isFaint=True),
        line("random order", SOFT, rank, mean, isDashed=True),
        line("predicted order", ACCENT, rank, found),
    ]
    y = axis("mean relevance", low=0)
    return plot("Mean relevance by rank", axis("rank", isWhole=True), y, series)


def _worst(table: PageTable, found: Float[np.ndarray, " group"]) -> Chart:
    names, rows = rows_of_groups(table)
    order = np.argsort(found, kind="stable")[:MOST_LISTED].tolist()
    items = [
        {"name": f"group {names[own]} ({len(rows[own])} rows)", "bars": [[0, compacted([found[own]])[0], ACCENT]],
         "words": f"{found[own]:z.3f}"}
        for own in order
    ]  # fmt: skip
    return {"kind": "list", "label": "Groups of the lowest NDCG", "x": axis("NDCG", low=0, high=1), "items": items}
