"""What the figures of single trees say, beside published ones."""

import numpy as np
from jaxtyping import Float

from jaxtree_studies.differentiable.published import SINGLE
from jaxtree_studies.differentiable.records import Record, table_of
from jaxtree_studies.differentiable.scores import difference
from jaxtree_studies.differentiable.tables import BINARY, MULTICLASS

EITHER = ("grown", "both", "gradients")
"""Of these the best on held rows of every trial is one more way; the first of equal ones."""
AIM = 0.015
"""By how much our best mean on binary tables is to be above GradTree's."""

Means = dict[str, dict[str, float]]


def means_of(records: list[Record], field: str = "test") -> Means:
    """Returns the mean over trials of every table and way, "either" among the ways where there are all of `EITHER`."""
    scored = [record for record in records if field in record]
    trials: dict[tuple[str, int], dict[str, Record]] = {}
    for record in scored:
        trials.setdefault((record["table"], record["trial"]), {})[record["way"]] = record
    found: dict[str, dict[str, list[float]]] = {}
    for (table, _), own in trials.items():
        candidates = [own[way] for way in EITHER if way in own]
        if len(candidates) == len(EITHER):
            own = own | {"either": max(candidates, key=lambda record: record["held"])}
        for way, record in own.items():
            found.setdefault(table, {}).setdefault(way, []).append(record[field])
    return {table: {way: float(np.mean(scores)) for way, scores in ways.items()} for table, ways in found.items()}


def pages_of(records: list[Record]) -> list[list[str]]:
    """Returns the parts of the page: tables of scores, the verdict, and what has failed."""
    means, usual = means_of(records), means_of(records, "usual")
    parts = []
    for kind, titles in (("Binary tables", BINARY), ("Tables of several classes", MULTICLASS)):
        own = {title: means[title] for title in titles if title in means}
        if own:
            parts += [[f"## {kind}"], _scores(own, records), *_words(kind, own, {t: usual[t] for t in own})]
    failed = sorted({f"{r['table']}, {r['way']}: {r['failed']}" for r in records if "failed" in r})
    return [*parts, *([["Failed:"] + [f"- {line}" for line in failed]] if failed else [])]


def _ways(means: Means) -> list[str]:
    """The ways that all tables have."""
    first = next(iter(means.values()))
    return [way for way in first if all(way in own for own in means.values())]


def _scores(means: Means, records: list[Record]) -> list[str]:
    ways = sorted({way for own in means.values() for way in own})
    head = ["table", "trials", "GradTree (published)", "CART (published)", *ways]
    rows = []
    for title, own in means.items():
        trials = len({record["trial"] for record in records if record["table"] == title and "test" in record})
        published = SINGLE[title].gradtree, SINGLE[title].cart
        cells = [f"{own[way]:.3f}" if way in own else "" for way in ways]
        rows.append([title, str(trials), *(f"{score:.3f}" for score in published), *cells])
    return table_of(head, [*rows, _mean_row(means, ways)])


def _mean_row(means: Means, ways: list[str]) -> list[str]:
    """Means over all tables; a way that lacks some has none."""
    published = [np.mean([getattr(SINGLE[title], field) for title in means]) for field in ("gradtree", "cart")]
    whole = _ways(means)
    cells = [f"**{np.mean([own[way] for own in means.values()]):.3f}**" if way in whole else "" for way in ways]
    return ["**mean**", "", *(f"**{mean:.3f}**" for mean in published), *cells]


def _column(means: Means, way: str) -> Float[np.ndarray, " table"]:
    return np.array([own[way] for own in means.values()])


def _words(kind: str, means: Means, usual: Means) -> list[list[str]]:
    """Comparisons with what is published, of the same tables; and of gradients with grown trees, on the same rows."""
    of_gradtree = np.array([SINGLE[title].gradtree for title in means])
    of_cart = np.array([SINGLE[title].cart for title in means])
    ways = _ways(means)
    lines = [f"- {way} less GradTree: {difference(_column(means, way), of_gradtree)}" for way in ways]
    lines += [f"- {way} less the published CART: {difference(_column(means, way), of_cart)}" for way in ways]
    pairs = (
        ("gradients", "grown"),
        ("gradients", "CART"),
        ("both", "grown"),
        ("both", "CART"),
        ("either", "grown"),
        ("either", "CART"),
    )
    pairs += (("gradients", "gradients, encoded"), ("grown", "CART"))
    own = [pair for pair in pairs if set(pair) <= set(ways)]
    lines += [f"- {one} less {other}: {difference(_column(means, one), _column(means, other))}" for one, other in own]
    lines += [
        f"- the usual setting of {way} less GradTree's default: "
        f"{difference(_column(usual, way), np.array([SINGLE[t].gradtree_default for t in means]))}"
        for way in ways
        if all(way in own for own in usual.values()) and way.startswith("gradients")
    ]
    return [["Mean differences of macro F1, with intervals of 95 % over tables:", "", *lines], verdict(kind, means)]


def verdict(kind: str, means: Means) -> list[str]:
    """Returns sentences on whether the aims are reached and whether gradients pay for single trees."""
    ways, is_binary = _ways(means), kind.startswith("Binary")
    ours = [way for way in ("either", "gradients", "both") if way in ways]
    if not ours:
        return []
    best = max(ours, key=lambda way: _column(means, way).mean())
    mean = _column(means, best).mean()
    aim = np.mean([SINGLE[title].gradtree + AIM if is_binary else SINGLE[title].cart for title in means])
    named = f"GradTree's published mean and {AIM}" if is_binary else "CART's published mean"
    is_reached = mean >= aim if is_binary else mean > aim
    lines = [
        f"Verdict: on {len(means)} tables {best} has a mean of {mean:.3f}; the aim, {named}, is {aim:.3f}: it is "
        f"{'reached' if is_reached else 'not reached'}."
    ]
    if "CART" in ways:
        found = difference(_column(means, "CART"), np.array([SINGLE[title].cart for title in means]))
        lines.append(
            f"CART itself is {found.mean:+.3f} from its published mean, on these divisions of the rows and with this "
            "encoding: so much of a difference from published figures may be theirs."
        )
    pairs = [(way, "grown") for way in ("gradients", "both") if {way, "grown"} <= set(ways)]
    for way, other in pairs:
        found = difference(_column(means, way), _column(means, other))
        sure = "gradients pay" if found.mean > 0 else "gradients do not pay"
        words = sure if found.is_sure else "no difference is sure"
        lines.append(f"{way.capitalize()} beside {other}, on the same rows, both tuned: {words}, {found}.")
    return lines
