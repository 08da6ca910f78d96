"""From times to what is said of them: medians, ratios to peers, exponents, bytes a row."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.suite.contenders import is_ours

LIKE = 0.01
"""A peer whose score is lower than ours by more than this is not compared: speed at lost quality does not count."""
PARTS = ("together", "encoding", "growth")
"""The parts that are measured in turns."""
COLD = ("cold", "cached", "new_process")
"""The parts that are measured in new processes."""


def summarise(seconds: Sequence[float]) -> dict[str, Any]:
    """Median, minimum, and all."""
    return {"median": statistics.median(seconds), "minimum": min(seconds), "all": list(seconds)}


def compare(contenders: Mapping[str, Mapping[str, Any]], like: float = LIKE) -> dict[str, dict[str, Any]]:
    """Our median over that of the fastest peer of like quality, for everything that both have.

    Args:
        contenders: The figures of every contender.
        like: How far a peer's score may lie below ours.

    Returns:
        For every part the peer, the ratio of the medians, and that of the minima where a part was timed several times.
    """
    ours = next((f for name, f in contenders.items() if is_ours(name) and "error" not in f), None)
    if ours is None:
        return {}
    peers = {
        name: f
        for name, f in contenders.items()
        if not is_ours(name) and "error" not in f and f.get("score", 0) >= ours.get("score", 0) - like
    }
    result = {}
    for part in (*PARTS, *COLD):
        timed = {name: _median(f[part]) for name, f in peers.items() if part in f}
        if timed and part in ours:
            peer = min(timed, key=lambda name: timed[name])
            result[part] = {"peer": peer, "ratio": _median(ours[part]) / timed[peer]}
            if part in PARTS:
                result[part]["ratio_of_minima"] = ours[part]["minimum"] / peers[peer][part]["minimum"]
    return result


def _median(timing: Mapping[str, Any] | float) -> float:
    return timing["median"] if isinstance(timing, Mapping) else timing


def exponent(values: Sequence[float], seconds: Sequence[float]) -> float:
    """The slope of log seconds over log values by least squares; 1 is linear.

    >>> round(exponent([1, 10, 100], [0.5, 5, 50]), 6)
    1.0
    """
    x, y = [math.log(v) for v in values], [math.log(s) for s in seconds]
    return statistics.linear_regression(x, y).slope


def exponents(points: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """The exponent of every contender and part over the points where it was measured; at least two."""
    result: dict[str, dict[str, float]] = {}
    names = dict.fromkeys(name for point in points for name in point["contenders"])
    for name in names:
        for part in PARTS:
            found = [(p["value"], p["contenders"].get(name, {}).get(part)) for p in points]
            pairs = [(value, timing["median"]) for value, timing in found if timing]
            if len(pairs) > 1:
                result.setdefault(name, {})[part] = exponent(*zip(*pairs, strict=True))
    return result


def bytes_a_row(small: tuple[int, float], large: tuple[int, float]) -> float:
    """The slope of peak memory over rows: what does not depend on the rows, such as programs, falls out.

    Args:
        small: Rows, and the peak in MiB.
        large: The same of more rows.

    >>> bytes_a_row((1000, 100.0), (2000, 101.0))
    1048.576
    """
    return (large[1] - small[1]) * 2**20 / (large[0] - small[0])
