"""How good predictions are whose truth is known."""

from collections.abc import Mapping

import numpy as np

from benchmarks.moments.simulations import QUANTILES, Table

Z_95 = 1.959964
"""The standard errors on each side of a 95 % interval."""


def score(table: Table, found: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Returns the figures of all that was predicted for the test rows.

    Effects have a mean squared error, and the share and width of 95 % intervals; quantiles the mean pinball loss, their
    root mean squared distance from the true ones and the share that cross; risks a concordance; and actions the mean
    expected reward.
    """
    figures: dict[str, float] = {}
    if "effect" in found:
        figures |= _of_effects(table["test_effect"], found)
    if "quantiles" in found:
        figures |= _of_quantiles(table, found["quantiles"])
    if "risk" in found:
        figures["concordance"] = concordance(table["test_time"], table["test_event"], found["risk"])
        figures["concordance of the truth"] = concordance(table["test_time"], table["test_event"], table["test_risk"])
    if "action" in found:
        rewards = table["test_rewards"]
        figures["value"] = float(np.mean(rewards[np.arange(len(rewards)), found["action"]]))
    return figures


def _of_effects(truth: np.ndarray, found: Mapping[str, np.ndarray]) -> dict[str, float]:
    figures = {"mse": float(np.mean((found["effect"] - truth) ** 2))}
    if "interval" in found:
        lower, upper = found["interval"].T
        figures["coverage"] = float(np.mean((lower <= truth) & (truth <= upper)))
        figures["std"] = float(np.mean(upper - lower)) / (2 * Z_95)
    return figures


def _of_quantiles(table: Table, quantiles: np.ndarray) -> dict[str, float]:
    return {
        "pinball": pinball(table["test_y"], quantiles),
        "pinball of the truth": pinball(table["test_y"], table["test_quantiles"]),
        "rmse": float(np.sqrt(np.mean((quantiles - table["test_quantiles"]) ** 2))),
        "crossing": float(np.mean(np.diff(quantiles, axis=1) < 0)),
    }


def pinball(y: np.ndarray, quantiles: np.ndarray) -> float:
    """Returns the mean pinball loss of predicted quantiles [row, level], over all rows and levels."""
    above = y[:, None] - quantiles
    level = np.array(QUANTILES)
    return float(np.mean(np.where(above >= 0, level * above, (level - 1) * above)))


def concordance(time: np.ndarray, event: np.ndarray, risk: np.ndarray, block: int = 500) -> float:
    """Returns Harrell's concordance: of pairs whose order is known, the share whose earlier time has more risk."""
    agree, known = 0.0, 0
    for begin in range(0, len(time), block):
        rows = slice(begin, begin + block)
        is_pair = event[rows, None].astype(bool) & (time[rows, None] < time)
        is_pair |= event[rows, None].astype(bool) & (time[rows, None] == time) & ~event.astype(bool)
        less, same = risk[rows, None] > risk, risk[rows, None] == risk
        agree += float(np.sum(is_pair & less) + 0.5 * np.sum(is_pair & same))
        known += int(np.sum(is_pair))
    return agree / known
