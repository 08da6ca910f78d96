"""The findings of the comparison of ensembles trained by gradients in plain words; every sentence follows from figures.

A difference is *sure* if 0 is not in its interval.
"""

from typing import Any

import numpy as np

from jaxtree_studies.gradients import CHOSEN_ON, FIGURES, GRADIENTS, Results
from jaxtree_studies.words import listed, p_value

NAMES = {"macro_f1": "macro F1", "log_loss": "log loss"}


def verdict(results: Results) -> list[str]:
    """Returns the findings, a paragraph each, those over the kept tables first."""
    has_intervals = any(row["low"] is not None for row in results["differences"])
    found = [_in_short(results["differences"])] if has_intervals else []
    found += [_ranking(results, figure) for figure in results["ranks"]]
    others = dict.fromkeys(row["way"] for row in results["differences"])
    found += [_against(way, [row for row in results["differences"] if row["way"] == way]) for way in others]
    found += [_beside_constants(results), _seconds(results)]
    return [*found, *_where_chosen(results)]


def worst_ratio(results: Results, way: str) -> tuple[float, str]:
    """Returns the greatest ratio of a way's log loss to that of a constant, and the title of its table."""
    titles = {table["name"]: table["title"] for table in results["tables"]}
    own = {titles[name]: row[way] for name, row in results["means"].items() if way in row}
    return max((figures["log_loss"] / figures["constant"], title) for title, figures in own.items())


def median_seconds(results: Results, way: str) -> float:
    """Returns the median CPU seconds of a fit over the tables."""
    return float(np.median([row[way]["cpu_seconds"] for row in results["means"].values() if way in row]))


def signed(number: float) -> str:
    """Returns a difference with its sign.

    Example:
        >>> signed(-0.0123), signed(0.0001)
        ('−0.012', '±0.000')
    """
    text = f"{number:+.3f}"
    return "±0.000" if text in ("+0.000", "-0.000") else text.replace("-", "−")


def difference_in_words(row: dict[str, Any]) -> str:
    """Returns a mean difference with its interval and the number of tables."""
    number = row["number"]
    interval = "" if row["low"] is None else f" ({signed(row['low'])} to {signed(row['high'])})"
    return f"{signed(row['mean'])}{interval} over {number} table{'' if number == 1 else 's'}"


def _in_short(differences: list[dict[str, Any]]) -> str:
    parts = []
    for kind in ("better", "worse"):
        ways = {
            name: [f"“{row['way']}”" for row in differences if row["figure"] == figure and _sure(row) == kind]
            for figure, name in NAMES.items()
        }
        than = [f"by {name} than {listed(own or ['none'])}" for name, own in ways.items()]
        parts.append(f"surely {kind} {' and '.join(than)}")
    return f"Over the kept tables “{GRADIENTS}” is {', and '.join(parts)}."


def _sure(row: dict[str, Any]) -> str:
    """Whether a difference to another way is a gain or a loss."""
    if not row["is_sure"]:
        return "not sure"
    return "better" if (row["mean"] > 0) == (row["figure"] == "macro_f1") else "worse"


def _ranking(results: Results, figure: str) -> str:
    mean, friedman = results["ranks"][figure]["mean"], results["ranks"][figure]["friedman"]
    order = listed([f"“{way}” {mean[way]:.2f}" for way in sorted(mean, key=mean.get)])
    tables = f"{len(results['ranked'])} kept table{'' if len(results['ranked']) == 1 else 's'}"
    verb = "finds" if friedman["p_value"] < 0.05 else "does not find"
    return (
        f"By {NAMES[figure]} the mean ranks on {tables} are: {order}. Friedman's test {verb} a difference "
        f"({p_value(friedman['p_value'])})."
    )


def _against(way: str, rows: list[dict[str, Any]]) -> str:
    parts = []
    for row in rows:
        wins = f"lower on {row['below']}" if row["figure"] == "log_loss" else f"higher on {row['above']}"
        parts.append(f"{NAMES[row['figure']]} {difference_in_words(row)}, {wins}")
    return f"“{GRADIENTS}” less “{way}”: {'; '.join(parts)}."


def _beside_constants(results: Results) -> str:
    worst = {way: worst_ratio(results, way) for way in results["ways"]}
    ratios = [f"“{way}” {ratio:.2f} ({title})" for way, (ratio, title) in worst.items()]
    return f"The highest ratio of the log loss to that of a constant, over all tables: {listed(ratios)}."


def _seconds(results: Results) -> str:
    seconds = [f"“{way}” {median_seconds(results, way):.2f}" for way in results["ways"]]
    return f"The median CPU seconds of a fit: {listed(seconds)}."


def _where_chosen(results: Results) -> list[str]:
    """The tables that chose the defaults flatter them, so that they have a sentence of their own and no test."""
    chosen = [name for name in results["means"] if name in CHOSEN_ON]
    parts = []
    for way in results["ways"]:
        own = [results["means"][name] for name in chosen if way in results["means"][name]]
        if way != GRADIENTS and own:
            mean = {f: float(np.mean([row[GRADIENTS][f] - row[way][f] for row in own])) for f in FIGURES}
            parts.append(f"to “{way}” {signed(mean['macro_f1'])} and {signed(mean['log_loss'])}")
    if not parts:
        return []
    return [
        "On the tables on which the defaults of ensembles trained by gradients were chosen, which flatter them, the "
        f"mean differences of macro F1 and log loss of “{GRADIENTS}” are: {listed(parts)}."
    ]
