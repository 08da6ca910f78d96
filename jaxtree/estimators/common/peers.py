"""Names that scikit-learn, XGBoost, LightGBM and CatBoost give to the parameters of estimators.

They make the hint of an error where a parameter is asked for by another library's name, and the table on the page of
parameters.
"""

import difflib
import inspect
from typing import Any

LIBRARIES = ("scikit-learn", "XGBoost", "LightGBM", "CatBoost")

NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "bootstrap": (("bootstrap",), (), (), ()),
    "categorical_features": (
        ("categorical_features",), ("enable_categorical", "feature_types"), ("categorical_feature",), ("cat_features",),
    ),
    "ccp_alpha": (("ccp_alpha",), (), (), ()),
    "class_weight": (
        ("class_weight",), ("scale_pos_weight",), ("class_weight", "scale_pos_weight", "is_unbalance"),
        ("class_weights", "auto_class_weights", "scale_pos_weight"),
    ),
    "colsample_bylevel": ((), ("colsample_bylevel",), (), ("rsm", "colsample_bylevel")),
    "colsample_bynode": (("max_features",), ("colsample_bynode",), ("feature_fraction_bynode",), ()),
    "colsample_bytree": ((), ("colsample_bytree",), ("colsample_bytree", "feature_fraction"), ()),
    "criterion": (("criterion",), (), (), ()),
    "distribution": (("loss",), ("objective",), ("objective",), ("loss_function", "objective")),
    "drop_rate": ((), ("rate_drop",), ("drop_rate",), ()),
    "early_stopping": (("early_stopping",), (), (), ()),
    "gamma": ((), ("gamma", "min_split_loss"), ("min_split_gain", "min_gain_to_split"), ()),
    "interaction_cst": (("interaction_cst",), ("interaction_constraints",), ("interaction_constraints",), ()),
    "learning_rate": (("learning_rate",), ("learning_rate", "eta"), ("learning_rate", "eta"), ("learning_rate", "eta")),
    "loss": (("loss",), ("objective",), ("objective",), ("loss_function", "objective")),
    "max_bins": (("max_bins",), ("max_bin",), ("max_bin",), ("border_count", "max_bin")),
    "max_delta_step": ((), ("max_delta_step",), ("max_delta_step",), ()),
    "max_depth": (("max_depth",), ("max_depth",), ("max_depth",), ("depth", "max_depth")),
    "max_features": (("max_features",), ("colsample_bynode",), ("feature_fraction_bynode",), ("rsm",)),
    "max_leaf_nodes": (("max_leaf_nodes",), ("max_leaves",), ("num_leaves",), ("max_leaves", "num_leaves")),
    "max_samples": (("max_samples",), ("subsample",), ("bagging_fraction", "subsample"), ("subsample",)),
    "min_child_weight": ((), ("min_child_weight",), ("min_child_weight", "min_sum_hessian_in_leaf"), ()),
    "min_impurity_decrease": (("min_impurity_decrease",), (), (), ()),
    "min_samples_leaf": (
        ("min_samples_leaf",), (), ("min_child_samples", "min_data_in_leaf"), ("min_data_in_leaf", "min_child_samples"),
    ),
    "min_samples_split": (("min_samples_split",), (), (), ()),
    "min_weight_fraction_leaf": (("min_weight_fraction_leaf",), (), (), ()),
    "monotonic_cst": (
        ("monotonic_cst",), ("monotone_constraints",), ("monotone_constraints",), ("monotone_constraints",),
    ),
    "n_estimators": (
        ("n_estimators", "max_iter"), ("n_estimators", "num_boost_round"), ("n_estimators", "num_iterations"),
        ("iterations", "n_estimators", "num_trees"),
    ),
    "n_iter_no_change": (
        ("n_iter_no_change",), ("early_stopping_rounds",), ("early_stopping_round", "early_stopping_rounds"),
        ("early_stopping_rounds", "od_wait"),
    ),
    "n_jobs": (("n_jobs",), ("n_jobs", "nthread"), ("n_jobs", "num_threads"), ("thread_count",)),
    "ndcg_at": ((), (), ("lambdarank_truncation_level", "eval_at"), ()),
    "oob_score": (("oob_score",), (), (), ()),
    "other_rate": ((), (), ("other_rate",), ()),
    "random_state": (
        ("random_state",), ("random_state", "seed"), ("random_state", "seed"), ("random_seed", "random_state"),
    ),
    "reg_alpha": ((), ("reg_alpha", "alpha"), ("reg_alpha", "lambda_l1"), ()),
    "reg_lambda": (
        ("l2_regularization",), ("reg_lambda", "lambda"), ("reg_lambda", "lambda_l2"), ("l2_leaf_reg", "reg_lambda"),
    ),
    "sampling": ((), ("sampling_method",), ("data_sample_strategy",), ("bootstrap_type",)),
    "skip_drop": ((), ("skip_drop",), ("skip_drop",), ()),
    "splitter": (("splitter",), (), ("extra_trees",), ()),
    "subsample": (("subsample",), ("subsample",), ("subsample", "bagging_fraction"), ("subsample",)),
    "tol": (("tol",), (), ("early_stopping_min_delta",), ()),
    "top_rate": ((), (), ("top_rate",), ()),
    "validation_fraction": (("validation_fraction",), (), (), ()),
    "verbose": (("verbose",), ("verbosity",), ("verbose", "verbosity"), ("verbose", "logging_level")),
    "warm_start": (("warm_start",), (), (), ()),
}  # fmt: skip
"""What each of `LIBRARIES` calls a parameter, its own first name in front; none where it has no such parameter."""

ELSEWHERE = {
    "booster": "drop_rate above 0 boosts with dropped trees (DART)",
    "boosting_type": "drop_rate above 0 boosts with dropped trees (DART), sampling='goss' keeps large gradients",
    "device": "arrays and jax.default_device say where a fit computes",
    "device_type": "arrays and jax.default_device say where a fit computes",
    "task_type": "arrays and jax.default_device say where a fit computes",
    "eval_metric": "pass eval_metric to fit",
    "grow_policy": "max_leaf_nodes grows best-first, None level by level",
    "importance_type": "jaxtree.importances(estimator, kind) has gains, numbers of splits, covers and others",
    **dict.fromkeys(
        ("n_jobs", "nthread", "num_threads", "thread_count"),
        "all cores are used, and the model does not depend on their number",
    ),
    "objective": "of classes the loss follows from their number, and trees and forests have a criterion",
    "loss_function": "of classes the loss follows from their number, and trees and forests have a criterion",
    "num_class": "fit counts the classes of y",
    "scoring": "pass eval_metric to fit",
    "tree_method": "there is one way to grow, by bins of max_bins",
}
"""What to do in place of parameters of other libraries that have no counterpart."""


def hint_for(name: str, own: list[str]) -> str:
    """Returns what to write in place of a parameter that an estimator does not have, or "".

    Args:
        name: The parameter.
        own: Those that the estimator has.

    >>> hint_for("l2_regularization", ["reg_lambda", "max_depth"])
    ': it is reg_lambda here'
    >>> hint_for("max_deph", ["reg_lambda", "max_depth"])
    ': do you mean max_depth?'
    """
    meant = [ours for ours in own if any(name in names for names in NAMES.get(ours, ()))]
    if meant:
        return f": it is {meant[0]} here"
    if name in ELSEWHERE:
        return f": {ELSEWHERE[name]}"
    close = difflib.get_close_matches(name, own, 1)
    return f": do you mean {close[0]}?" if close else f"; it has {', '.join(own)}"


def unknown_parameters(kind: type, given: Any) -> list[str]:
    """Returns the names among some that the constructor of a class does not take."""
    known = inspect.signature(kind.__init__).parameters
    takes_all = any(own.kind is inspect.Parameter.VAR_KEYWORD for own in known.values())
    return [] if takes_all else [name for name in given if name not in known]
