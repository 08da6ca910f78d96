"""Ensembles of hard trees trained together, as GRANDE's: what its ablations compare, and boosted trees beside them."""

from collections.abc import Callable
from typing import Any

import jaxtree
from jaxtree_studies.differentiable.tables import Parts

HARD: dict[str, Any] = {
    "n_estimators": 32, "depth": 4, "gate": "hard", "side": "softsign", "mixture": "by_leaf", "colsample_bytree": 0.7,
    "last_temperature": 1.0, "gate_rate": 0.01, "leaf_rate": 0.05, "n_iter_no_change": 25, "class_weight": "balanced",
}  # fmt: skip
"""What all ensembles have; each has one other part."""

CHANGED: dict[str, dict[str, Any]] = {
    "softsign, by_leaf": {},
    "entmoid, by_leaf": {"side": "entmoid"},
    "sigmoid, by_leaf": {"side": "sigmoid"},
    "softsign, by_tree": {"mixture": "by_tree"},
    "softsign, mean": {"mixture": "mean"},
}


def _ensemble(changed: dict[str, Any]) -> Callable[[Parts, int], Any]:
    def fit(parts: Parts, seed: int) -> Any:
        model = jaxtree.SoftForestClassifier(**(HARD | changed), random_state=seed)
        return model.fit(*parts.train, X_val=parts.held.X, y_val=parts.held.y)

    return fit


def _boosted(parts: Parts, seed: int) -> Any:
    model = jaxtree.GradientBoostingClassifier(1000, early_stopping=True, random_state=seed)
    return model.fit(*parts.train, eval_set=[tuple(parts.held)])


ENSEMBLES: dict[str, Callable[[Parts, int], Any]] = {
    **{name: _ensemble(changed) for name, changed in CHANGED.items()},
    "boosted": _boosted,
}
"""By name: functions of the parts and a seed to fitted models, which compare epochs or rounds on held rows."""
