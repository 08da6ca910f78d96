"""The methods of the study: the settings of each, and how a setting prunes a grown tree.

A *setting* is parameters of `DecisionTreeClassifier`. The settings of a method stand roughly in the order of how much
they prune, the most first, and of equally good ones the first is chosen; where a method can, the last prunes nothing.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from jaxtree import prune
from jaxtree.estimators.common.prunings import (
    ChiSquared,
    CostComplexity,
    CriticalValue,
    Dropout,
    MinimumError,
    Pessimistic,
    Pessimistic1987,
    Pruning,
    ReducedError,
    ValidationGate,
)
from jaxtree.estimators.trees.cart import DecisionTreeClassifier
from jaxtree.estimators.trees.derived import prune_to

Setting = dict[str, Any]

NONE, CLASSICAL, DROPOUT, FOREST, OPTIMAL = "none", "classical", "dropout", "forest", "optimal"
"""Families of methods."""

UNPRUNED = "no pruning"
ONE_DRAW = "dropout, one draw"
VOTE_OF_ALL = "dropout, vote of all"
TUNED_DRAW = "dropout tuned, one draw"
TUNED_VOTE = "dropout tuned, vote of all"

P = (0.25, 0.2, 0.15, 0.1, 0.05)
Q = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Rates of dropout within the range of Zhu and Zhou (2023); no dropout, p = 0, is tried, too."""

MOST_PRICES = 60
"""Prices of a leaf that are tried, of all at which the tree changes."""


class PruningMethod(NamedTuple):
    """One way to prune.

    Attributes:
        name: Its name in the tables.
        family: One of the families.
        settings: The settings that it chooses among.
    """

    name: str
    family: str
    settings: tuple[Setting, ...]


def searched_methods(grown: DecisionTreeClassifier, *, quick: bool) -> list[PruningMethod]:
    """Returns the methods whose settings are chosen by cross-validation.

    Args:
        grown: The unpruned tree on the rows of the search, whose path has the prices to try.
        quick: Whether to try a few settings of each alone.
    """
    votes: list[int | str] = [25, "all"] if quick else [25, 100, "all"]
    return [
        PruningMethod(UNPRUNED, NONE, ({},)),
        _of("max_depth", "max_depth", [*range(1, 17), 20, 24, 32, None], quick),
        _of("min_samples_split", "min_samples_split", [500, 300, 200, 120, 80, 50, 30, 20, 12, 8, 5, 3, 2], quick),
        _of("min_impurity_decrease", "min_impurity_decrease", [*np.geomspace(0.1, 1e-6, 16), 0.0], quick),
        _of("max_leaf_nodes", "max_leaf_nodes", _LEAVES, quick),
        _by("chi-squared test", ChiSquared, [1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0], quick),
        _by("critical value", CriticalValue, _GAINS, quick),
        _by("pessimistic (C4.5)", Pessimistic, [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5], quick),
        PruningMethod("pessimistic (1987)", CLASSICAL, ({"pruning": Pessimistic1987()},)),
        _by("minimum error", MinimumError, [256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.0], quick),
        _by("cost complexity", CostComplexity, _prices(grown), quick),
        PruningMethod("reduced error", CLASSICAL, ({"pruning": ReducedError()},)),
        PruningMethod("validation gate", CLASSICAL, ({"pruning": ValidationGate()},)),
        PruningMethod(ONE_DRAW, DROPOUT, _dropouts(1, quick)),
        *(PruningMethod(f"dropout, vote of {draws}", DROPOUT, _dropouts(draws, quick)) for draws in votes),
    ]


def apply_setting(grown: DecisionTreeClassifier, setting: Setting) -> DecisionTreeClassifier:
    """Returns what the fit with a setting is, made from the unpruned fit on the same rows.

    Prunings that look at held-out rows have another tree to prune, and are fitted anew instead.

    Args:
        grown: The unpruned tree.
        setting: The setting.
    """
    pruning = setting.get("pruning")
    if pruning is not None and pruning.votes:
        voting = copy.copy(grown)
        voting.pruning = pruning
        return voting.settle(grown.tree_)
    collapsed = np.zeros(grown.tree_.node_count, bool)
    for name, value in setting.items():
        if isinstance(value, Pruning):
            collapsed |= value.collapsed(grown.tree_, key=jax.random.key(grown.random_state))
        elif value is not None:
            collapsed |= np.asarray(getattr(prune, name)(grown.tree_, value))
    return prune_to(grown, collapsed)


def is_held_out(setting: Setting) -> bool:
    """Whether a setting prunes with rows that the tree is not grown on."""
    pruning = setting.get("pruning")
    return pruning is not None and pruning.needs_validation


def expected_accuracy(grown: DecisionTreeClassifier, rates: Dropout, X: Any, y: np.ndarray) -> float:
    """Returns the exact mean accuracy over all draws: the mean share of draws that predict a row's true class."""
    votes = apply_setting(grown, {"pruning": Dropout(rates.p, rates.q, draws="all")}).predict_proba(X)
    is_true = grown.classes_ == np.asarray(y)[:, None]
    return float(np.sum(np.asarray(votes), where=is_true) / len(y))


def forest_sizes(*, quick: bool) -> list[int]:
    """Returns the numbers of trees of forests: as many as the votes have draws."""
    return [25] if quick else [25, 100]


def fit_forest(num_trees: int, train: tuple[Any, np.ndarray], test: tuple[Any, np.ndarray], seed: int) -> Setting:
    """Returns the accuracy of scikit-learn's random forest, and the leaves of all its trees.

    Categories become one-hot columns, of which a missing value has one, too; numbers stay as they are.

    Args:
        num_trees: The number of trees; all other parameters are scikit-learn's defaults.
        train: The rows that are fitted, and their classes.
        test: The rows that are scored.
        seed: The seed of all draws.
    """
    X = train[0]
    is_frame = hasattr(X, "dtypes")
    words = [n for n in X.columns if str(X[n].dtype) == "category"] if is_frame else list(range(X.shape[1]))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    trees = RandomForestClassifier(num_trees, random_state=seed)
    fitted = make_pipeline(make_column_transformer((one_hot, words), remainder="passthrough"), trees).fit(*train)
    leaves = sum(tree.get_n_leaves() for tree in trees.estimators_)
    return {"accuracy": float(fitted.score(*test)), "leaves": int(leaves)}


def describe(setting: Setting) -> dict[str, Any]:
    """Returns the parameters of a setting as JSON can hold them, a pruning's own in place of the pruning."""
    flat = {}
    for name, value in setting.items():
        flat |= value.get_params(deep=False) if isinstance(value, Pruning) else {name: value}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in flat.items()}


# A split in two gains at most 0.5, which those of the smallest impure nodes do.
_GAINS = [0.501, 0.5, 0.49, 0.48, 0.46, 0.44, 0.42, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01, 0.0]
_LEAVES = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, None]


def _of(name: str, parameter: str, values: Sequence[Any], quick: bool) -> PruningMethod:
    """A method that is a parameter of the tree."""
    return PruningMethod(name, CLASSICAL, tuple({parameter: value} for value in _thinned(values, quick)))


def _by(name: str, pruning: Callable[[Any], Pruning], values: Sequence[Any], quick: bool) -> PruningMethod:
    """A method that is a pruning of one parameter."""
    return PruningMethod(name, CLASSICAL, tuple({"pruning": pruning(value)} for value in _thinned(values, quick)))


def _dropouts(draws: int | str, quick: bool) -> tuple[Setting, ...]:
    rates = [(p, q) for p in _thinned(P, quick) for q in _thinned(Q, quick)]
    return tuple({"pruning": Dropout(p, q, draws=draws)} for p, q in [*rates, (0.0, 0.0)])


def _prices(grown: DecisionTreeClassifier) -> list[float]:
    """Prices half way, geometrically, between those at which the tree changes (Breiman et al., 1984), dearest first."""
    steps = np.unique(prune.cost_complexity_path(grown.tree_).ccp_alphas)
    prices = np.append(np.sqrt(steps[1:] * steps[:-1]), steps[-1])[::-1]
    return prices[np.unique(np.linspace(0, prices.size - 1, MOST_PRICES).round().astype(int))].tolist()


def _thinned(values: Sequence[Any], quick: bool) -> list[Any]:
    """All values, or a few of them with the first and the last."""
    if not quick:
        return list(values)
    places = np.unique(np.linspace(0, len(values) - 1, _FEW).round().astype(int))
    return [values[place] for place in places]


_FEW = 4
