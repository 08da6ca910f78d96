"""The figures of a run as tables in Markdown."""

from typing import Any

import numpy as np

DEPTHS = ((0, 4), (5, 9), (10, 14), (15, 19), (20, None))
"""Ranges of depths, the last without an end."""
FAST = ("first", "hash", "scikit-learn")
SLOW_FORESTS = ("first", "random", "balanced")
SLOW = ("first", "random", "any threshold", "balanced", "next level")

Result = dict[str, Any]


def lines_of(results: list[Result]) -> list[str]:
    """All tables: ties by depth, and scores of trees and forests."""
    classes = [result for result in results if "nodes by depth" in result]
    numbers = [result for result in results if "nodes by depth" not in result]
    lines = ["# Splits of equal gain", "", "Made by `python -m benchmarks.ties`, whose help says what is measured."]
    if classes:
        lines += ["", "## Share of inner nodes at which columns tie, in percent, by depth", *_ties(classes)]
        lines += ["", "Where no columns tie, thresholds of one column tie at the share of nodes in the last column."]
    for title, chosen in (("accuracy", classes), ("R²", numbers)):
        if chosen:
            lines += [
                "",
                f"## jaxtree and scikit-learn, {title} in percent",
                *_scores(chosen, ("tree", "forest"), FAST),
            ]
    if classes:
        lines += ["", "## Slow trees, accuracy in percent", *_scores(classes, ("slow tree",), SLOW)]
    with_forests = [result for result in classes if "slow forest, first" in result["scores"]]
    if with_forests:
        lines += ["", "## Slow forests, accuracy in percent", *_scores(with_forests, ("slow forest",), SLOW_FORESTS)]
    return lines


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _head(*names: str) -> list[str]:
    return ["", _row(["table", *names]), "|---" + "|---:" * len(names) + "|"]


def _ties(results: list[Result]) -> list[str]:
    ranges = [f"{first} to {last}" if last else f"{first} on" for first, last in DEPTHS]
    lines = _head("rows", "columns", *ranges, "all", "thresholds alone")
    for result in results:
        depths = result["nodes by depth"]
        parts = [depths[first : None if last is None else last + 1] for first, last in DEPTHS] + [depths]
        shares = [_share(part, "ties") for part in parts] + [_share(depths, "tied thresholds")]
        lines.append(_row([result["table"], f"{result['rows']:,}", str(result["columns"]), *shares]))
    return lines


def _share(depths: list[dict[str, int]], name: str) -> str:
    inner = sum(depth["inner"] for depth in depths)
    return f"{100 * sum(depth[name] for depth in depths) / inner:.0f}" if inner else ""


def _scores(results: list[Result], kinds: tuple[str, ...], ways: tuple[str, ...]) -> list[str]:
    """Means over splits; differences from the first way with their standard errors, and the mean of all tables."""
    names = [f"{kind}, {way}" for kind in kinds for way in ways]
    differing = [f"{kind}, {ways[1]}" for kind in kinds]
    lines = _head("splits", *names, *(f"{name} less first" for name in differing))
    for result in results:
        scores = {name: 100 * np.array(result["scores"][name]) for name in names}
        cells = [f"{scores[name].mean():.2f}" for name in names]
        gained = [scores[name] - scores[name.replace(ways[1], ways[0])] for name in differing]
        cells += [f"{gain.mean():+.2f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.2f}" for gain in gained]
        lines.append(_row([result["table"], str(result["splits"]), *cells]))
    means = {name: np.mean([100 * np.mean(result["scores"][name]) for result in results]) for name in names}
    gains = [f"{means[name] - means[name.replace(ways[1], ways[0])]:+.2f}" for name in differing]
    return [*lines, _row(["mean", "", *(f"{means[name]:.2f}" for name in names), *gains])]
