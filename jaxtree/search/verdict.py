"""The verdict of a tuning in words: what won, by how much, and whether time sufficed."""

from typing import Any

import numpy as np

from jaxtree.figures.comparisons import paired_difference
from jaxtree.table.numerals import score_in_words

LATE = 0.75
"""The part of the settings after which a best one says that others might be better still."""

FEW_SETTINGS = 4
"""The fewest settings among which one can come late."""


def verdict_in_words(tuned: Any) -> str:
    """Returns what won, by how much with an interval, what a constant reaches, and whether time sufficed.

    Args:
        tuned: A `jaxtree.search.tuning.TunedModel` that knows the plain estimator.
    """
    plain, shown = tuned.plain, lambda scores: score_in_words(float(tuned.yardstick.shown(scores.mean())))
    winner, other = (plain.scores, plain.found) if plain.is_taken else (plain.found, plain.scores)
    gain = paired_difference(winner, other, plain.ratio)
    if plain.is_taken:
        words = f"The defaults win: {tuned.yardstick.in_words} {shown(winner)}"
        words += f"; what the search found has {shown(other)} on the same folds, a difference of {gain.in_words()}"
    else:
        members = len(tuned.members)
        name = f"An ensemble of {members} settings" if members > 1 else "Another setting than the defaults"
        words = f"{name} wins: {tuned.yardstick.in_words} {shown(winner)}"
        words += f", better than the defaults ({shown(other)}) by {gain.in_words()}"
    if not gain.is_clear:
        words += ", which may be chance"
    return f"{words}. A constant has {shown(plain.constant)}. {time_in_words(tuned)}"


def time_in_words(tuned: Any) -> str:
    """Returns whether the time of a tuning sufficed."""
    tried = tuned.tried
    number, cut = len(tried.settings), int(tried.was_cut.sum())
    took = f"in {tuned.seconds:.0f} s"
    if tuned.was_interrupted:
        return f"It was interrupted after {_settings(number)} {took}."
    if number == tuned.most_settings:
        return f"As many settings as were asked for, {number}, were tried {took}."
    if number == 1:
        return "Time did not suffice for a second setting: give more minutes."
    if cut:
        return f"Time did not suffice for all rounds of {cut} of {_settings(number)}: give more minutes."
    best = int(np.argmax(tried.scores.mean(axis=1)))
    if number >= FEW_SETTINGS and best >= LATE * number:
        return f"The best of {_settings(number)} came late, as number {best + 1}: more minutes may find a better one."
    return f"Time sufficed: of {_settings(number)} tried {took}, the last {number - best - 1} were no better."


def _settings(number: int) -> str:
    return f"{number} setting{'s' if number > 1 else ''}"
