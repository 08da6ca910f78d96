"""A made-up comparison of prunings of the right shape: accuracies are what the test says, all else follows."""

from typing import Any

import numpy as np

from jaxtree_studies import ranks
from jaxtree_studies.prunings import ORIGINAL, SHUFFLED

FAMILIES = {
    "no pruning": "none",
    "max_depth": "classical",
    "reduced error": "classical",
    "dropout, one draw": "dropout",
    "dropout, vote of 25": "dropout",
    "dropout, vote of all": "dropout",
    "dropout tuned, one draw": "dropout",
    "dropout tuned, vote of all": "dropout",
    "forest of 25": "forest",
}
NUM_DATA = 8
DATA = [ORIGINAL, SHUFFLED, *(f"data {number}" for number in range(NUM_DATA - 2))]


def comparison(gains: dict[str, Any] | None = None, num_data: int = NUM_DATA) -> dict[str, Any]:
    """Results in which no pruning has 0.8 everywhere, and every other method so much more; 0 if not said."""
    gain = {name: np.zeros(num_data) + (gains or {}).get(name, 0.0) for name in FAMILIES}
    data = [
        _table(name, {m: 0.8 + float(g[place]) for m, g in gain.items()}) for place, name in enumerate(DATA[:num_data])
    ]
    accuracy = np.array([[table["accuracy"][name] for name in FAMILIES] for table in data])
    return {
        "plan": {"folds": 2, "inner": 2, "seed": 0, "quick": True},
        "versions": {"jaxtree": "0.1.0"},
        "methods": [{"name": name, "family": family} for name, family in FAMILIES.items()],
        "data": data,
        "skipped": [{"name": "letter", "reason": "its file letter/letter-recognition.data is absent"}],
        "seconds": {**{table["name"]: _seconds() for table in data}, "in all": 12.5},
        "ranks": ranks.summary(accuracy, list(FAMILIES)),
    }


def _table(name: str, accuracy: dict[str, float]) -> dict[str, Any]:
    leaves = {method: 100.0 if "vote" in method or method == "no pruning" else 40.0 for method in FAMILIES}
    fold = {
        method: {"accuracy": accuracy[method], "leaves": leaves[method], "chosen": _chosen(method)}
        for method in FAMILIES
    }
    for method in ("dropout, one draw", "dropout tuned, one draw"):
        fold[method]["expected_accuracy"] = accuracy[method] - 0.01
    return {
        "name": name,
        "rows": 1000,
        "columns": 6,
        "classes": 2,
        "division": "shuffled, stratified",
        "folds": [{"train_rows": 500, "test_rows": 500, "methods": fold} for _ in range(2)],
        "accuracy": accuracy,
        "leaves": leaves,
    }


def _chosen(method: str) -> dict[str, Any]:
    if method.startswith("dropout"):
        return {"p": 0.1, "q": 0.5, "draws": 1}
    return {"max_depth": None} if method == "max_depth" else {}


def _seconds() -> dict[str, float]:
    return {"search": 3.0, **dict.fromkeys(FAMILIES, 0.75)}
