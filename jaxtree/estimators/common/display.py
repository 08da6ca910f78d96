"""The display of a fitted estimator below scikit-learn's diagram, and its names for tab completion."""

import re
from collections.abc import Iterable, Iterator
from inspect import getattr_static
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

from jaxtree import notebook
from jaxtree.estimators.common.extras import loss_in_words
from jaxtree.estimators.common.peers import ATTRIBUTES, AnswersPeers, CalledOtherwise
from jaxtree.table.words import value_in_words

MOST_COLUMNS = 5
"""The number of important columns that are shown."""

_INNER = """
    check_parameters class_names class_orders column_fractions config config_of costed_target divides_groups
    draws_growth extras_of_fit features_of_growth find_collapsed finish_fit fit_data fit_task fitted_state
    fitted_table fixed_predictions given_loss grow_trees growth_limits growth_task has_statistics held_out_share
    hold_out_validation in_table_units kept_parameters learn learn_of_time make_encoder make_objective make_recipe
    model_of native_splits needs_all_rows node_labels node_values num_bags of outputs pairs predict_values
    prune_grown prunes_by_masks read_target read_task recipe_of_trees restore restore_table roles rules seed
    set_model set_rounds set_terms set_trees settle shap_by_table shap_interactions_by_table shrinkage
    split_limit_counts table_options take_members task_of timed_rows tree_parameters usual_rate work_of_fit
"""
HIDDEN = frozenset(_INNER.split())
"""Public names that other rooms use, and users do not."""


class Shown(AnswersPeers):
    """An estimator that shows what it has learned, and answers what other libraries call it."""

    def _html_repr(self) -> str:
        """Returns what a notebook shows: scikit-learn's diagram, and facts once it is fitted."""
        diagram = estimator_html_repr(self)
        named = list(facts_of(self))
        return diagram + notebook.facts(named) if named else diagram

    def __dir__(self) -> Iterable[str]:
        """Lists parameters, what is learned and the methods that users call."""
        own = [name for name in ATTRIBUTES if not isinstance(getattr_static(self, name), CalledOtherwise)]
        return [*called_names(super().__dir__()), *own]


def called_names(names: Iterable[str]) -> list[str]:
    """Returns the names that users call: without those of other rooms, and requests of scikit-learn's routing.

    >>> from jaxtree import DecisionTreeClassifier
    >>> [name for name in dir(DecisionTreeClassifier()) if name.startswith("p")]
    ['predict', 'predict_log_proba', 'predict_proba', 'pruning']
    """
    is_request = re.compile(r"set_\w+_request").fullmatch
    return [name for name in names if name not in HIDDEN and name not in ATTRIBUTES and not is_request(name)]


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
    if hasattr(estimator, "feature_importances_"):
        yield "most important", _greatest(estimator)


def _of_search(search: Any) -> Iterator[tuple[str, object]]:
    """The results of a search."""
    yield "settings", f"{len(search.cv_results_['params']):,}"
    yield "folds", search.n_splits_
    if hasattr(search, "best_score_"):
        yield "best score", f"{search.best_score_:.4g}"
    if hasattr(search, "best_params_"):
        yield "best", ", ".join(f"{name}={value!r}" for name, value in search.best_params_.items())
    if hasattr(getattr(search, "best_estimator_", None), "weights_"):
        yield "members", len(search.best_estimator_.estimators_)


def _of_model(model: Any) -> Iterator[tuple[str, object]]:
    """The parts of a model."""
    if hasattr(model, "weights_"):
        yield "members", ", ".join(f"{weight:.2f}" for weight in model.weights_)
    elif hasattr(model, "evals_result_"):
        of_folds = "" if model.folds_ is None else f" of {len(model.folds_)} models"
        yield "rounds", f"{model.n_estimators_:,}{of_folds}"
        yield "loss", loss_in_words(model)
        if hasattr(model, "best_score_"):
            yield "best", f"{model.best_score_:.4g} at round {model.best_iteration_}"
    elif hasattr(model, "history_"):
        yield "epochs", f"{len(model.history_['loss']):,}"
        yield "kept", f"that after {model.best_epoch_:,}"
        yield from ((name.replace("_", " "), f"{losses[-1]:.4g}") for name, losses in model.history_.items())
    elif hasattr(model, "additive_"):
        yield "terms", f"{len(model.term_names_):,}"
        yield "bags", f"{len(model.bag_values_):,}"
        if model.edits_:
            yield "changed by hand", "; ".join(map(str, model.edits_))
    elif hasattr(model, "forest_"):
        nodes = model.forest_.num_nodes
        yield "trees", f"{len(model.forest_):,}"
        yield "nodes of a tree", f"{nodes.min():,} to {nodes.max():,}"
        if hasattr(model, "oob_score_"):
            yield "out-of-bag score", f"{model.oob_score_:.4g}"


def _greatest(estimator: Any) -> str:
    """The most important columns, with their shares."""
    try:
        share = np.asarray(estimator.feature_importances_, np.float64)
    except ValueError:  # gains are infinite
        return "unknown"
    names = estimator.schema_.column_names
    order = np.argsort(-share, kind="stable")[:MOST_COLUMNS]
    return ", ".join(f"{names[place]} {share[place]:.0%}" for place in order if share[place] > 0) or "none"


def _few(words: list[str]) -> str:
    rest = len(words) - MOST_COLUMNS
    return ", ".join(words[:MOST_COLUMNS]) + (f" and {rest:,} more" if rest > 0 else "")
