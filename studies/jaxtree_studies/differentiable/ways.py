"""Ways to make one tree: each is a grid of settings, of which the best on held rows is taken, and a fit of one of them.

*grown* ways choose one split after another, *gradients* train all gates and leaves together, and *both* trains a grown
tree's thresholds and leaves further.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas
import sklearn.tree
from sklearn.utils.class_weight import compute_sample_weight

import jaxtree
from jaxtree_studies.differentiable.encoding import encode
from jaxtree_studies.differentiable.scores import log_loss_of, macro_f1_of
from jaxtree_studies.differentiable.tables import Part, Parts

Setting = dict[str, Any]

GROWN: list[Setting] = [
    {"max_depth": depth, "min_samples_leaf": rows, "class_weight": weight}
    for weight in (None, "balanced")
    for depth in (None, 3, 5, 8)
    for rows in (1, 10)
]
GRADIENTS: list[Setting] = [
    {"depth": depth, "class_weight": weight, "noise": noise}
    for depth in (7, 5)
    for weight in ("balanced", None)
    for noise in ("auto", 0.1)
]
HARD: Setting = {"gate": "hard", "n_iter_no_change": 100, "n_restarts": 3}
"""What all settings of `GRADIENTS` have besides."""
TUNED: list[Setting] = [
    {"gate_rate": gate, "leaf_rate": leaf, "noise": 0.1} for gate, leaf in ((0.003, 0.001), (0.01, 0.01))
]


class Way(NamedTuple):
    """A way to make one tree.

    Attributes:
        settings: The grid; the first setting is the usual one.
        fit: Returns a fitted model, of a setting, the parts and a seed.
        is_encoded: Whether it has the table of `encode`, or the table as it is.
        refits: Whether it has no use for held rows but the choice, so that the chosen setting is fitted on them, too.
    """

    settings: list[Setting]
    fit: Callable[[Setting, Parts, int], Any]
    is_encoded: bool = False
    refits: bool = False

    def parts(self, parts: Parts) -> Parts:
        """Returns the parts as this way has them."""
        return encode(parts) if self.is_encoded else parts


def _cart(setting: Setting, parts: Parts, seed: int) -> Any:
    return sklearn.tree.DecisionTreeClassifier(**setting, random_state=seed).fit(*parts.train)


def _grown(setting: Setting, parts: Parts, seed: int) -> Any:
    return jaxtree.DecisionTreeClassifier(**setting).fit(*parts.train)


def _gradients(setting: Setting, parts: Parts, seed: int) -> Any:
    model = jaxtree.SoftTreeClassifier(**(HARD | setting), random_state=seed)
    return model.fit(*parts.train, X_val=parts.held.X, y_val=parts.held.y)


def _both(setting: Setting, parts: Parts, seed: int) -> Any:
    """The grown tree that is best on held rows, trained further; by weights if it is grown by weights."""
    chosen = choose(WAYS["grown"], parts, seed)
    weight = compute_sample_weight(chosen.setting["class_weight"], parts.train.y)
    options = jaxtree.FineTuning(**setting, random_state=seed)
    held = {"X_val": parts.held.X, "y_val": parts.held.y}
    return jaxtree.fine_tune(chosen.model, *parts.train, weight, **held, options=options)


WAYS = {
    "CART": Way(GROWN, _cart, is_encoded=True, refits=True),
    "grown": Way(GROWN, _grown, refits=True),
    "gradients": Way(GRADIENTS, _gradients),
    "gradients, encoded": Way(GRADIENTS, _gradients, is_encoded=True),
    "both": Way(TUNED, _both),
}
"""The ways by name. "CART" is scikit-learn's, which takes numbers alone."""


class Chosen(NamedTuple):
    """The best setting of a way.

    Attributes:
        setting: The setting.
        model: Its model, fitted on the rows to fit.
        score: Its macro F1 on held rows.
        usual: The model of the first setting.
    """

    setting: Setting
    model: Any
    score: float
    usual: Any


def choose(way: Way, parts: Parts, seed: int) -> Chosen:
    """Returns the setting of the greatest macro F1 on held rows; among equal ones that of the least log loss."""
    fitted = [way.fit(setting, parts, seed) for setting in way.settings]
    scores = [(macro_f1_of(model, parts.held), -log_loss_of(model, parts.held)) for model in fitted]
    best = max(range(len(fitted)), key=scores.__getitem__)
    return Chosen(way.settings[best], fitted[best], scores[best][0], fitted[0])


def fitted_on_all(way: Way, chosen: Chosen, parts: Parts, seed: int) -> Any:
    """Returns the model to score: the chosen one, or of ways that refit one of held rows, too."""
    if not way.refits:
        return chosen.model
    X = pandas.concat([parts.train.X, parts.held.X], ignore_index=True)
    return way.fit(chosen.setting, parts._replace(train=Part(X, np.append(parts.train.y, parts.held.y))), seed)
