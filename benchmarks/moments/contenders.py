"""How every library fits a table, predicts it and writes its model. A library is imported by those alone who use it.

An environment of peers has no jaxtree: this module, `worker.py` and what they import must not need it.
"""

import importlib
import os
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Table = Mapping[str, np.ndarray]
OURS = "jaxtree"
NUISANCES = "nuisances"
"""A contender that predicts outcome, treatment and instrument out of bag, for all others."""

_INTERVAL = 0.95
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Contender(NamedTuple):
    """A library's way with a kind of model.

    Attributes:
        library: The module that is imported before seconds count.
        fit: Returns a model of a table.
        predict: Returns predictions by name, of a model and rows.
        save: Writes a model to a file.
    """

    library: str
    fit: Callable[..., Any]
    predict: Callable[[Any, np.ndarray], dict[str, np.ndarray]]
    save: Callable[[Any, Path], None]

    def load(self) -> None:
        """Imports the library."""
        importlib.import_module(self.library)


def _pickled(model: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(model, protocol=5))


def _saved(model: Any, path: Path) -> None:
    model.save(path)


def _ours(name: str, extras: Mapping[str, str], target: str = "y") -> Callable[..., Any]:
    """Returns a fit by an estimator of ours, whose keywords are arrays of the table where it has them."""

    def fit(table: Table, **parameters: Any) -> Any:
        import jaxtree

        given = {keyword: table[of] for keyword, of in extras.items() if of in table}
        return getattr(jaxtree, name)(**parameters, random_state=0).fit(table["X"], table[target], **given)

    return fit


def _our_effects(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    return {"effect": model.predict(X), "interval": model.predict_interval(X, coverage=_INTERVAL)}


def _our_quantiles(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    return {"quantiles": model.predict(X, quantiles=list(_QUANTILES))}


def _fit_nuisances(table: Table, **parameters: Any) -> Any:
    from jaxtree import RandomForestRegressor

    forest = RandomForestRegressor(**parameters, min_samples_leaf=5, oob_score=True, random_state=0)
    names = [name for name in ("y", "treatment", "instrument") if name in table]
    return {f"{name}_hat": forest.fit(table["X"], table[name]).oob_prediction_ for name in names}


def _centred(table: Table, name: str) -> np.ndarray:
    """Returns a column less its expectation, where that is in the table."""
    return (table[name] - table[f"{name}_hat"] if f"{name}_hat" in table else table[name]).reshape(-1, 1)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _econml_causal(table: Table, **parameters: Any) -> Any:
    from econml.grf import CausalForest

    forest = CausalForest(**{"n_jobs": 1, "random_state": 0} | parameters)
    return forest.fit(table["X"], _centred(table, "treatment"), _centred(table, "y"))


def _econml_instrumental(table: Table, **parameters: Any) -> Any:
    from econml.grf import CausalIVForest

    forest = CausalIVForest(**{"n_jobs": 1, "random_state": 0} | parameters)
    columns = (_centred(table, name) for name in ("treatment", "y"))
    return forest.fit(table["X"], *columns, Z=_centred(table, "instrument"))


def _econml_effects(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    effect, lower, upper = model.predict(X, interval=True, alpha=1 - _INTERVAL)
    return {"effect": effect[:, 0], "interval": np.hstack([lower, upper])}


def _causalml_causal(table: Table, **parameters: Any) -> Any:
    from causalml.inference.tree import CausalRandomForestRegressor

    forest = CausalRandomForestRegressor(**{"n_jobs": 1, "random_state": 0} | parameters)
    forest.fit(X=table["X"], treatment=table["treatment"].astype(int), y=table["y"])
    return forest


def _causalml_effects(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    return {"effect": np.asarray(model.predict(X)).reshape(len(X), -1)[:, 0]}


def _quantile_forest(table: Table, **parameters: Any) -> Any:
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(**{"n_jobs": _cores(), "random_state": 0} | parameters)
    return forest.fit(table["X"], table["y"])


def _quantile_forest_quantiles(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    return {"quantiles": model.predict(X, quantiles=list(_QUANTILES))}


def _scikit_survival(table: Table, **parameters: Any) -> Any:
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    forest = RandomSurvivalForest(**{"n_jobs": _cores(), "random_state": 0} | parameters)
    return forest.fit(table["X"], Surv.from_arrays(table["event"].astype(bool), table["time"]))


def _risks(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    return {"risk": model.predict(X)}


def _our_policy(table: Table, **parameters: Any) -> Any:
    from jaxtree import PolicyTree

    return PolicyTree(**parameters).fit(table["X"], table["rewards"])


def _scikit_learn_forest(table: Table, **parameters: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(**{"n_jobs": _cores(), "random_state": 0} | parameters)
    return forest.fit(table["X"], table["rewards"].argmax(axis=1))


def _actions(model: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    return {"action": np.asarray(model.predict(X), np.int64)}


_HATS = {"y_hat": "y_hat", "treatment_hat": "treatment_hat"}

CONTENDERS: dict[str, dict[str, Contender]] = {
    "causal": {
        OURS: Contender(OURS, _ours("CausalForest", {"treatment": "treatment"} | _HATS), _our_effects, _saved),
        "econml": Contender("econml.grf", _econml_causal, _econml_effects, _pickled),
        "causalml": Contender("causalml.inference.tree", _causalml_causal, _causalml_effects, _pickled),
    },
    "instrumental": {
        OURS: Contender(
            OURS,
            _ours(
                "InstrumentalForest",
                {"treatment": "treatment", "instrument": "instrument", "instrument_hat": "instrument_hat"} | _HATS,
            ),
            _our_effects,
            _saved,
        ),
        "econml": Contender("econml.grf", _econml_instrumental, _econml_effects, _pickled),
    },
    "quantile": {
        OURS: Contender(OURS, _ours("QuantileForest", {}), _our_quantiles, _saved),
        "quantile-forest": Contender("quantile_forest", _quantile_forest, _quantile_forest_quantiles, _pickled),
    },
    "survival": {
        OURS: Contender(OURS, _ours("SurvivalForest", {"event": "event"}, "time"), _risks, _saved),
        "scikit-survival": Contender("sksurv.ensemble", _scikit_survival, _risks, _pickled),
    },
    "policy": {
        OURS: Contender(OURS, _our_policy, _actions, _saved),
        "scikit-learn": Contender("sklearn.ensemble", _scikit_learn_forest, _actions, _pickled),
    },
    NUISANCES: {OURS: Contender(OURS, _fit_nuisances, lambda model, X: model, _pickled)},
}
"""By the kind of model and the name of the library."""
