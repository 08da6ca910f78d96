"""What the figures of ensembles say, beside GRANDE's ablations."""

import numpy as np
from jaxtyping import Float

from jaxtree_studies.differentiable.published import ABLATIONS, ENSEMBLES
from jaxtree_studies.differentiable.records import Record, table_of
from jaxtree_studies.differentiable.scores import Difference, difference
from jaxtree_studies.ranks import critical_difference, mean_ranks

AIMS = {"Wisconsin Diagnostic Breast Cancer": 0.970, "Adult": 0.795}
FIRST = "softsign, by_leaf"


def pages_of(records: list[Record]) -> list[list[str]]:
    """Returns the parts of the page, of the tables that have all ways."""
    tables = list(dict.fromkeys(record["table"] for record in records))
    ways = list(dict.fromkeys(record["way"] for record in records))
    found: dict[tuple[str, str], list[float]] = {}
    for record in records:
        found.setdefault((record["table"], record["way"]), []).append(record["test"])
    tables = [table for table in tables if all((table, way) in found for way in ways)]
    if not tables:
        return []
    score = np.array([[np.mean(found[table, way]) for way in ways] for table in tables])
    return [_scores(tables, ways, score, found), _ranks(ways, score), _words(tables, ways, score)]


def _scores(
    tables: list[str], ways: list[str], score: Float[np.ndarray, "table way"], found: dict[tuple[str, str], list[float]]
) -> list[str]:
    rows = [
        [table, str(min(len(found[table, way]) for way in ways)), *(f"{x:.3f}" for x in own)]
        for table, own in zip(tables, score, strict=True)
    ]
    return table_of(["table", "folds", *ways], [*rows, ["**mean**", "", *(f"**{x:.3f}**" for x in score.mean(axis=0))]])


def _ranks(ways: list[str], score: Float[np.ndarray, "table way"]) -> list[str]:
    ranks = mean_ranks(score)
    lines = [f"- {way}: {rank:.2f}" for rank, way in sorted(zip(ranks.tolist(), ways, strict=True))]
    least = critical_difference(len(ways), len(score))
    return ["Mean ranks, the best 1:", "", *lines, "", f"Nemenyi's test finds a difference from {least:.2f} ranks on."]


def _words(tables: list[str], ways: list[str], score: Float[np.ndarray, "table way"]) -> list[str]:
    """The ablations, published ones beside them, and the aims of single tables."""
    column = dict(zip(ways, score.T, strict=True))
    if FIRST not in column:
        return []
    lines = []
    for way in ways:
        if way != FIRST:
            found = difference(column[FIRST], column[way])
            lines.append(f"- {FIRST} less {way}: {found}: {_verdict(found)}{_published(way)}.")
    for table, aim in AIMS.items():
        if table in tables:
            own = column[FIRST][tables.index(table)]
            reached = "reached" if own >= aim else "not reached"
            lines.append(f"- {table}: {own:.3f}, the aim of {aim:.3f} is {reached}; GRANDE {ENSEMBLES[table]:.3f}.")
    return ["Mean differences of macro F1, with intervals of 95 % over tables:", "", *lines]


def _verdict(found: Difference) -> str:
    return ("it pays" if found.mean > 0 else "it costs") if found.is_sure else "not sure"


def _published(way: str) -> str:
    """GRANDE's difference on its 19 tables, if it has one."""
    side, mixture = way.split(", ") if ", " in way else (way, "")
    if mixture == "by_leaf" and side in ABLATIONS:
        return f" (GRANDE: {ABLATIONS['softsign'] - ABLATIONS[side]:+.3f})"
    return f" (GRANDE: {ABLATIONS['by_leaf'] - ABLATIONS[mixture]:+.3f})" if mixture in ABLATIONS else ""
