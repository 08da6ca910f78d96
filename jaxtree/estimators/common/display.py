"""The display of a fitted estimator below scikit-learn's diagram, and its names for tab completion."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

from jaxtree import notebook
from jaxtree.estimators.common.extras import loss_in_words
from jaxtree.estimators.common.peers import ATTRIBUTES, CalledOtherwise
from jaxtree.figures.importances import importances_of
from jaxtree.table.words import value_in_words
from jaxtree.tree.kinds import ModelKind, kind_of

MOST_COLUMNS = 5
"""The number of important columns that are shown."""

_METHODS = """
    add_rows apply average_treatment_effect bands best_linear_projection calibration_test cost_complexity_pruning_path
    cost_of_edits decision_function decision_path doubly_robust_rewards doubly_robust_scores encode eval_terms
    explain_global explain_row export_text fit flatten functional get_depth get_metadata_routing get_n_leaves harden
    leaderboard mean_of monotonize overlap parameter_importances partial_fit plot_history predict
    predict_cumulative_hazard_function predict_dist predict_interval predict_log_proba predict_median predict_proba
    predict_quantile predict_std predict_survival_function rank_average_treatment_effect raw_scores refit
    remove_rows remove_terms save scale score set_params set_values staged_predict staged_predict_proba staged_scores
    sweep to_html truncated verdict
"""
METHODS = frozenset(_METHODS.split())
"""The methods of estimators that users call; other public ones are for other rooms of the package."""


class Shown:
    """An estimator that shows what it has learned, and answers what other libraries call it."""

    def _html_repr(self) -> str:
        """Returns what a notebook shows: scikit-learn's diagram, and facts once it is fitted."""
        diagram = estimator_html_repr(self)
        named = list(facts_of(self))
        return diagram + notebook.facts(named) if named else diagram

    def __dir__(self) -> Iterable[str]:
        """Lists parameters, what is learned and the methods that users call."""
        return [name for name in super().__dir__() if is_for_users(type(self), name)]


for _name in ATTRIBUTES:
    setattr(Shown, _name, CalledOtherwise(_name))


def is_for_users(kind: type, name: str) -> bool:
    """Returns whether users call a name of an estimator: a parameter, a result of `fit`, or one of `METHODS`.

    Names of scikit-learn, and of classes of the user's own, are all for users.

    >>> from jaxtree import DecisionTreeClassifier
    >>> [name for name in dir(DecisionTreeClassifier()) if name.startswith("p")]
    ['partial_fit', 'predict', 'predict_log_proba', 'predict_proba', 'pruning']
    """
    owner = next((base for base in kind.__mro__ if name in vars(base)), object)
    if isinstance(vars(owner).get(name), CalledOtherwise):
        return False
    is_ours = owner.__module__.startswith("jaxtree.") and not name.startswith("_")
    return not is_ours or name.endswith("_") or name in METHODS or name in getattr(kind, "roles", ())


def facts_of(estimator: Any) -> Iterator[tuple[str, object]]:
    """Yields names and values that say what a fitted estimator has learned; none without a fit."""
    if not hasattr(estimator, "n_features_in_"):
        return
    yield "columns", f"{estimator.n_features_in_:,}"
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, np.ndarray):
        yield "classes", _few([value_in_words(name) for name in classes.tolist()])
    if hasattr(estimator, "cv_results_"):
        yield from _of_search(estimator)
        return
    yield from _of_model(estimator)
    if kind_of(estimator) not in (None, ModelKind.SOFT):
        yield "most important", _greatest(estimator)


def _of_search(search: Any) -> Iterator[tuple[str, object]]:
    """The results of a search."""
    yield "settings", f"{len(search.cv_results_['params']):,}"
    yield "folds", search.n_splits_
    if hasattr(search, "best_score_"):
        yield "best score", f"{search.best_score_:.4g}"
    if hasattr(search, "best_params_"):
        yield "best", ", ".join(f"{name}={value!r}" for name, value in search.best_params_.items())
    weights = getattr(getattr(search, "best_estimator_", None), "ensemble_weights_", None)
    if weights is not None:
        yield "members", len(weights)


def _of_model(model: Any) -> Iterator[tuple[str, object]]:
    """The parts of a model."""
    kind = kind_of(model)
    if kind == ModelKind.BOOSTED:
        models = model.ensemble_weights_ if model.folds_ is None else model.folds_
        yield "rounds", f"{model.n_estimators_:,}" + ("" if models is None else f" of {len(models)} models")
        yield "loss", loss_in_words(model)
        if model.evals_result_:
            yield "best", f"{model.best_score_:.4g} at round {model.best_iteration_}"
    elif kind == ModelKind.SOFT:
        yield "epochs", f"{len(model.history_['loss']):,}"
        yield "kept", f"that after {model.best_epoch_:,}"
        yield from ((name.replace("_", " "), f"{losses[-1]:.4g}") for name, losses in model.history_.items())
    elif kind == ModelKind.TERMS:
        yield "terms", f"{len(model.term_names_):,}"
        yield "bags", f"{len(model.bag_values_):,}"
        if model.edits_:
            yield "changed by hand", "; ".join(map(str, model.edits_))
    elif kind in (ModelKind.FOREST, ModelKind.WEIGHTED):
        nodes = model.forest_.num_nodes
        yield "trees", f"{len(model.forest_):,}"
        yield "nodes of a tree", f"{nodes.min():,} to {nodes.max():,}"
        if hasattr(model, "oob_score_"):
            yield "out-of-bag score", f"{model.oob_score_:.4g}"
    elif kind == ModelKind.MOMENT:
        nodes = model.forest_.num_nodes
        yield "trees", f"{len(model.forest_):,}, {'honest' if model.honest else 'not honest'}"
        yield "nodes of a tree", f"{nodes.min():,} to {nodes.max():,}"
        yield from model.facts_of_fit()


def _greatest(estimator: Any) -> str:
    """The most important columns, with their shares."""
    try:
        found = importances_of(estimator)
    except ValueError:  # gains are infinite
        return "unknown"
    shares = zip(found.names, found.values[:MOST_COLUMNS], strict=False)
    return ", ".join(f"{name} {share:.0%}" for name, share in shares if share > 0) or "none"


def _few(words: list[str]) -> str:
    rest = len(words) - MOST_COLUMNS
    return ", ".join(words[:MOST_COLUMNS]) + (f" and {rest:,} more" if rest > 0 else "")
