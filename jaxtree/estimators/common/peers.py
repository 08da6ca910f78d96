"""Names that scikit-learn, XGBoost, LightGBM and CatBoost give to the parameters of estimators.

They make the hint of an error where a parameter is asked for by another library's name, and the table on the page of
parameters.
"""

import difflib
import inspect
from typing import Any

MOST_ALIKE = 0.65
"""How alike an argument must be to one that a method takes to be taken for it: 1 is the same."""

LIBRARIES = ("scikit-learn", "XGBoost", "LightGBM", "CatBoost")

NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "bootstrap": (("bootstrap",), (), (), ()),
    "categorical_features": (
        ("categorical_features",), ("enable_categorical", "feature_types"),
        ("categorical_feature", "cat_feature", "categorical_column", "cat_column"), ("cat_features",),
    ),
    "ccp_alpha": (("ccp_alpha",), (), (), ()),
    "class_weight": (
        ("class_weight",), ("scale_pos_weight",),
        ("class_weight", "scale_pos_weight", "is_unbalance", "unbalance", "unbalanced_sets"),
        ("class_weights", "auto_class_weights", "scale_pos_weight"),
    ),
    "cat_smooth": ((), (), ("cat_smooth",), ()),
    "colsample_bylevel": ((), ("colsample_bylevel",), (), ("rsm", "colsample_bylevel")),
    "colsample_bynode": (
        ("max_features",), ("colsample_bynode",), ("feature_fraction_bynode", "sub_feature_bynode"), (),
    ),
    "colsample_bytree": ((), ("colsample_bytree",), ("colsample_bytree", "feature_fraction", "sub_feature"), ()),
    "criterion": (("criterion",), (), (), ()),
    "distribution": (("loss",), ("objective",), ("objective",), ("loss_function", "objective")),
    "drop_rate": ((), ("rate_drop",), ("drop_rate", "rate_drop"), ()),
    "early_stopping": (("early_stopping",), (), (), ("use_best_model", "od_type")),
    "early_stopping_rounds": (
        ("n_iter_no_change",), ("early_stopping_rounds",), ("early_stopping_round", "early_stopping_rounds"),
        ("early_stopping_rounds", "od_wait"),
    ),
    "early_stopping_tolerance": (("tol",), (), ("early_stopping_min_delta",), ()),
    "gamma": ((), ("gamma", "min_split_loss"), ("min_split_gain", "min_gain_to_split"), ()),
    "interaction_cst": (("interaction_cst",), ("interaction_constraints",), ("interaction_constraints",), ()),
    "learning_rate": (
        ("learning_rate",), ("learning_rate", "eta"), ("learning_rate", "eta", "shrinkage_rate"),
        ("learning_rate", "eta"),
    ),
    "loss": (("loss",), ("objective",), ("objective",), ("loss_function", "objective")),
    "max_bins": (("max_bins",), ("max_bin",), ("max_bin", "max_bins"), ("border_count", "max_bin")),
    "max_delta_step": ((), ("max_delta_step",), ("max_delta_step", "max_tree_output", "max_leaf_output"), ()),
    "max_depth": (("max_depth",), ("max_depth",), ("max_depth",), ("depth", "max_depth")),
    "max_features": (("max_features",), ("colsample_bynode",), ("feature_fraction_bynode",), ("rsm",)),
    "max_leaf_nodes": (
        ("max_leaf_nodes",), ("max_leaves",), ("num_leaves", "num_leaf", "max_leaves", "max_leaf"),
        ("max_leaves", "num_leaves"),
    ),
    "max_leaves": (
        ("max_leaf_nodes",), ("max_leaves",), ("num_leaves", "num_leaf", "max_leaves", "max_leaf"),
        ("max_leaves", "num_leaves"),
    ),
    "max_rounds": (
        ("n_estimators", "max_iter"), ("n_estimators", "num_boost_round"),
        (
            "n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round",
            "num_rounds", "nrounds", "num_boost_round", "max_iter",
        ),
        ("iterations", "n_estimators", "num_trees", "num_boost_round"),
    ),
    "max_samples": (("max_samples",), ("subsample",), ("bagging_fraction", "subsample"), ("subsample",)),
    "min_child_weight": (
        (), ("min_child_weight",),
        ("min_child_weight", "min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf", "min_sum_hessian", "min_hessian"),
        (),
    ),
    "min_hessian": (
        (), ("min_child_weight",),
        ("min_child_weight", "min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf", "min_sum_hessian", "min_hessian"),
        (),
    ),
    "min_impurity_decrease": (("min_impurity_decrease",), (), (), ()),
    "min_samples_leaf": (
        ("min_samples_leaf",), (), ("min_child_samples", "min_data_in_leaf", "min_data_per_leaf", "min_data"),
        ("min_data_in_leaf", "min_child_samples"),
    ),
    "min_samples_split": (("min_samples_split",), (), (), ()),
    "min_weight_fraction_leaf": (("min_weight_fraction_leaf",), (), (), ()),
    "monotonic_cst": (
        ("monotonic_cst",), ("monotone_constraints",), ("monotone_constraints", "monotone_constraint", "mc"),
        ("monotone_constraints",),
    ),
    "missing": ((), (), (), ()),
    "monotone_constraints": (
        ("monotonic_cst",), ("monotone_constraints",), ("monotone_constraints", "monotone_constraint", "mc"),
        ("monotone_constraints",),
    ),
    "multi_strategy": ((), ("multi_strategy",), (), ()),
    "n_estimators": (
        ("n_estimators", "max_iter"), ("n_estimators", "num_boost_round"),
        (
            "n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round",
            "num_rounds", "nrounds", "num_boost_round", "max_iter",
        ),
        ("iterations", "n_estimators", "num_trees", "num_boost_round"),
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
    "random_strength": ((), (), (), ("random_strength",)),
    "reg_alpha": ((), ("reg_alpha", "alpha"), ("reg_alpha", "lambda_l1", "l1_regularization"), ()),
    "reg_lambda": (
        ("l2_regularization",), ("reg_lambda", "lambda"), ("reg_lambda", "lambda_l2", "l2_regularization"),
        ("l2_leaf_reg", "reg_lambda"),
    ),
    "sampling": ((), ("sampling_method",), ("data_sample_strategy",), ("bootstrap_type",)),
    "skip_drop": ((), ("skip_drop",), ("skip_drop",), ()),
    "splitter": (("splitter",), (), ("extra_trees", "extra_tree"), ()),
    "subsample": (
        ("subsample",), ("subsample",), ("subsample", "bagging_fraction", "sub_row", "bagging"), ("subsample",),
    ),
    "tol": (("tol",), (), ("early_stopping_min_delta",), ()),
    "top_rate": ((), (), ("top_rate",), ()),
    "validation_fraction": (("validation_fraction",), (), (), ("eval_fraction",)),
    "validation_size": (("validation_fraction",), (), (), ("eval_fraction",)),
    "verbose": (
        ("verbose",), ("verbosity", "silent"), ("verbose", "verbosity"),
        ("verbose", "logging_level", "silent", "metric_period"),
    ),
    "warm_start": (("warm_start",), (), (), ()),
}  # fmt: skip
"""The names of a parameter in each of `LIBRARIES`, its first name in front; none where it has no such parameter."""

_FOR_REASONS = {
    "drop_rate above 0 boosts with dropped trees (DART), sampling='goss' keeps large gradients": (
        *("booster", "boosting_type", "boosting", "max_drop", "uniform_drop", "xgboost_dart_mode", "one_drop"),
        *("sample_type", "normalize_type"),
    ),
    "jaxtree.set_device says where a fit computes": (
        *("device", "device_type", "task_type", "devices", "gpu_id", "gpu_ram_part", "predictor", "use_quantized_grad"),
        *("device_config", "pinned_memory_size", "gpu_cat_features_storage", "data_partition"),
    ),
    "pass eval_metric to fit": (
        "eval_metric",
        "scoring",
        "metric",
        "custom_metric",
        "custom_loss",
        "first_metric_only",
    ),
    "pass callbacks to fit": ("callbacks", "callback"),
    "max_leaf_nodes grows best-first, None level by level": ("grow_policy",),
    "jaxtree.importances(estimator, kind) has gains, numbers of splits, covers and others": ("importance_type",),
    "all cores are used, and the model does not depend on their number": (
        *("n_jobs", "nthread", "num_threads", "thread_count", "deterministic", "used_ram_limit"),
    ),
    "of classes the loss follows from their number, and trees and forests have a criterion": (
        *("objective", "loss_function"),
    ),
    "fit counts the classes of y": ("num_class", "classes_count", "class_names", "use_label_encoder"),
    "there is one way to grow, by bins of max_bins": (
        *("tree_method", "updater", "tree_learner", "force_col_wise", "force_row_wise", "histogram_pool_size"),
        *("enable_bundle", "is_enable_sparse", "bin_construct_sample_cnt", "subsample_for_bin", "feature_pre_filter"),
        *("max_bin_by_feature", "min_data_in_bin", "feature_border_type", "per_float_feature_quantization"),
        *("input_borders", "output_borders", "process_type", "refresh_leaf", "score_function"),
    ),
    "categorical_splits says how columns of categories are split": (
        *("one_hot_max_size", "max_cat_to_onehot", "max_cat_threshold", "cat_smooth", "cat_l2", "min_data_per_group"),
        *("simple_ctr", "combinations_ctr", "per_feature_ctr", "max_ctr_complexity", "counter_calc_method"),
        *("ctr_leaf_count_limit", "store_all_simple_ctr", "has_time", "fold_permutation_block", "fold_len_multiplier"),
        *(
            "approx_on_full_history",
            "ctr_target_border_count",
            "ctr_description",
            "ctr_history_unit",
            "final_ctr_computation_mode",
        ),
    ),
    "NaN and None are missing, and missing says where their rows go": ("use_missing", "zero_as_missing", "nan_mode"),
    "random_state is the seed of all that is drawn": (
        *("bagging_seed", "drop_seed", "feature_fraction_seed", "extra_seed", "data_random_seed", "objective_seed"),
    ),
    "subsample draws rows anew in every round": (
        *("subsample_freq", "bagging_freq", "sampling_frequency", "sampling_unit", "bagging_by_query"),
    ),
    "give loss as one of jaxtree.boosting with its number, such as quantile(0.9), huber(2) or tweedie(1.5)": (
        *("huber_slope", "quantile_alpha", "tweedie_variance_power", "aft_loss_distribution", "fair_c", "quantile"),
    ),
    "rounds start from the best constant, and fit(..., offset=) starts every row": (
        *("base_score", "boost_from_average", "init"),
    ),
    "warm_start=True goes on with a model, refit(X, y, decay_rate=) makes its leaves anew": (
        *("input_model", "refit_decay_rate"),
    ),
    "leave the columns out of the table": ("ignored_features",),
    "interactions takes a list of the pairs of columns that may be terms": ("exclude",),
    "categorical_features says which columns have categories": ("feature_types",),
    "columns have the names of a data frame": ("feature_names",),
    "make columns of numbers or categories of them before": (
        *("text_features", "embedding_features", "text_processing", "tokenizers", "dictionaries", "feature_calcers"),
    ),
    "a RandomForestClassifier or RandomForestRegressor grows trees side by side": ("num_parallel_tree",),
    "parameters are always checked": ("validate_parameters",),
    "nothing is written before save(path)": (
        *("train_dir", "allow_writing_files", "save_snapshot", "snapshot_file", "snapshot_interval", "name"),
    ),
    "leaves take one Newton step, those of quantiles exact ones": (
        *("leaf_estimation_method", "leaf_estimation_iterations", "leaf_estimation_backtracking"),
    ),
}

ELSEWHERE = {name: reason for reason, names in _FOR_REASONS.items() for name in names}
"""Advice in place of parameters of other libraries that have no counterpart."""

NOWHERE = frozenset(
    [
        *("bagging_temperature", "random_score_type", "mvs_reg", "od_pval", "best_model_min_trees"),
        *("model_size_reg", "model_shrink_rate", "model_shrink_mode", "langevin", "diffusion_temperature"),
        *("posterior_sampling", "allow_const_label", "target_border", "penalties_coefficient", "feature_weights"),
        *("dev_score_calc_obj_block_size", "feature_contri", "linear_tree", "linear_lambda", "path_smooth", "top_k"),
        *("forcedsplits_filename", "monotone_constraints_method", "monotone_penalty", "cegb_tradeoff", "label_gain"),
        *("pos_bagging_fraction", "neg_bagging_fraction", "poisson_max_delta_step", "reg_sqrt", "sigmoid"),
        *("lambdarank_norm", "lambdarank_pair_method", "lambdarank_num_pair_per_sample", "ndcg_exp_gain"),
        *("first_feature_use_penalties", "per_object_feature_penalties", "fixed_binary_splits", "metadata"),
        *("dev_efb_max_buckets", "sparse_features_conflict_fraction", "inner_bags", "cyclic_progress", "gain_scale"),
        *("smoothing_rounds", "interaction_smoothing_rounds"),
    ]
)
"""Parameters of other libraries for which there is nothing here."""

_EVALUATIONS = (
    *("evals", "evalset", "eval_sets", "eval_data", "valid_sets", "valid_set", "validation_data", "validation_set"),
    *("validation_sets", "val_set", "X_val", "y_val", "sample_weight_val", "X_valid", "y_valid", "eval_set"),
)

_ARGUMENTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("sample_weight", "pass it as sample_weight", ("weight", "weights", "sample_weights", "w")),
    ("group", "pass group={name}, the group of every row", ("qid", "group_id", "query_id", "query")),
    ("group", "pass group=, the group of every row", ("groups",)),
    ("offset", "pass offset={name}", ("base_margin", "init_score", "baseline", "offsets")),
    ("offset", "pass offset=numpy.log(exposure) to a loss whose scores are logarithms", ("exposure",)),
    ("event", "pass event={name}", ("delta", "status", "events", "observed")),
    ("eval_set", "give eval_set as [(X_val, y_val)], or with weights [(X_val, y_val, weight)]", _EVALUATIONS),
    ("X_val", "give X_val and y_val", _EVALUATIONS),
    ("validation_size", "validation_size is the share of rows that every bag holds out", _EVALUATIONS),
    ("eval_set", "give eval_set as [(X, y, {{'group': group}})]", ("eval_group", "eval_qid")),
    ("eval_set", "give eval_set as [(X, y, weight)]", (
        *("eval_sample_weight", "sample_weight_eval_set", "eval_class_weight"),
    )),
    ("eval_set", "give eval_set as a dict of tables by name", ("eval_names",)),
    ("eval_set", "give eval_set as [(X, y, {{'offset': offset}})]", ("eval_init_score", "base_margin_eval_set")),
    ("n_iter_no_change", "make the estimator with early_stopping=True, n_iter_no_change={name}", (
        *("early_stopping_rounds", "early_stopping_round"),
    )),
    ("early_stopping", "make the estimator with early_stopping=True", ("use_best_model",)),
    ("ndcg_at", "make the estimator with ndcg_at={name}", ("eval_at",)),
    ("X", "name the columns of the table, as pandas and polars do", ("feature_name", "feature_names")),
    ("warm_start", "make the estimator with warm_start=True, and fit it again", ("xgb_model", "init_model")),
    ("verbose", "make the estimator with verbose=1, or verbose=10 for a line every 10 rounds", (
        *("verbose", "verbose_eval", "logging_level", "silent"),
    )),
    ("X", "jaxtree.plot.plot_learning_curve(model) draws its losses after the fit", ("plot",)),
    ("early_stopping", (
        "rows of a group stay together where a fit holds rows out: make the estimator with early_stopping='folds'"
    ), ("group", "groups", "group_id", "qid")),
)  # fmt: skip
"""Required arguments of methods and constructors, their counterparts here, and their names in other libraries."""

ATTRIBUTES = {
    **dict.fromkeys(("get_booster", "booster_", "_Booster"), "the trees are forest_, and one by one estimators_"),
    **dict.fromkeys(("best_iteration", "get_best_iteration", "best_ntree_limit"), "it is best_iteration_ here, from 1"),
    **dict.fromkeys(("best_score", "get_best_score"), "it is best_score_ here"),
    **dict.fromkeys(
        ("evals_result", "get_evals_result", "train_score_", "validation_score_"), "it is evals_result_ here"
    ),
    **dict.fromkeys(("n_iter_", "tree_count_", "get_num_boosting_rounds"), "it is n_estimators_ here"),
    **dict.fromkeys(("feature_name_", "feature_names_"), "it is feature_names_in_, or schema_.column_names, here"),
    **dict.fromkeys(("get_feature_importance", "get_score", "feature_importance"), "it is jaxtree.importances here"),
    **dict.fromkeys(("get_dump", "trees_to_dataframe", "dump_model"), "it is jaxtree.to_dataframe(model) here"),
    **dict.fromkeys(("calc_leaf_indexes", "predict_leaf"), "it is apply here"),
    **dict.fromkeys(("save_model", "export_model"), "it is save(path) here"),
    "load_model": "it is jaxtree.load(path) here",
    "n_features_": "it is n_features_in_ here",
    "intercept_": "it is start_ here",
    "bagged_scores_": "they are bag_values_ here",
    "term_scores_": "they are additive_.values here, a bin of a term a row",
    "standard_deviations_": "they are additive_.errors here, a bin of a term a row",
    "bin_weights_": "they are additive_.weight here, a bin of a term a row",
    "shrink": "it is first(number) here",
    "staged_decision_function": "it is staged_scores here",
    "get_all_params": "it is get_params here",
    "plot_tree": "it is jaxtree.plot.plot_tree(tree) here",
    "is_fitted": "it is sklearn.utils.validation.check_is_fitted(model) here",
}
"""The names here of methods and attributes of other libraries' models."""


class CalledOtherwise:
    """An attribute of another library: access raises AttributeError, which has the name here."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Raises AttributeError."""
        own = type(owner) if kind is None else kind
        raise AttributeError(f"{own.__name__!r} object has no attribute {self._name!r}: {ATTRIBUTES[self._name]}")


class AnswersPeers:
    """An object that is asked for what other libraries' models have, and says what it is called here."""


for _name in ATTRIBUTES:
    setattr(AnswersPeers, _name, CalledOtherwise(_name))


def hint_for(name: str, own: list[str]) -> str:
    """Returns what to write in place of a parameter that an estimator does not have, or "".

    Args:
        name: The parameter.
        own: Those that the estimator has.

    >>> hint_for("l2_regularization", ["reg_lambda", "max_depth"])
    ': it is reg_lambda here'
    >>> hint_for("bagging_temperature", ["reg_lambda"])
    '; there is nothing like it here'
    >>> hint_for("max_deph", ["reg_lambda", "max_depth"])
    ': do you mean max_depth?'
    """
    meant = [ours for ours in own if any(name in names for names in NAMES.get(ours, ()))]
    if meant:
        return f": it is {meant[0]} here"
    if name in ELSEWHERE:
        return f": {ELSEWHERE[name]}"
    if name in NOWHERE or name in NAMES or any(name in names for of in NAMES.values() for names in of):
        return "; there is nothing like it here"
    close = difflib.get_close_matches(name, own, 1)
    return f": do you mean {close[0]}?" if close else f"; it has {', '.join(own)}"


def hint_for_argument(name: str, own: list[str], parameters: list[str]) -> str:
    """Returns what to write in place of an argument that a method does not take, with arguments that there are.

    Args:
        name: The argument.
        own: Those that the method takes.
        parameters: Those that the constructor of its class takes.

    >>> hint_for_argument("evals", ["X", "y", "eval_set"], ["max_depth"])
    ': give eval_set as [(X_val, y_val)], or with weights [(X_val, y_val, weight)]'
    >>> hint_for_argument("evals", ["X", "y"], ["validation_size"])
    ': validation_size is the share of rows that every bag holds out'
    >>> hint_for_argument("cat_features", ["X", "y"], ["categorical_features"])
    ': make the estimator with categorical_features=cat_features'
    >>> hint_for_argument("evnt", ["X", "y", "event"], [])
    ': do you mean event?'
    """
    for needed, way, names in _ARGUMENTS:
        if name in names and needed in (*own, *parameters):
            return f": {way.format(name=name)}"
    meant = [ours for ours in parameters if ours == name or any(name in names for names in NAMES.get(ours, ()))]
    if meant:
        return f": make the estimator with {meant[0]}=" + ("" if meant[0] == name else name)
    close = difflib.get_close_matches(name, own, 1, MOST_ALIKE)
    return f": do you mean {close[0]}?" if close else ""


def unknown_parameters(kind: type, given: Any) -> list[str]:
    """Returns the names among some that the constructor of a class does not take."""
    known = inspect.signature(kind.__init__).parameters
    takes_all = any(own.kind is inspect.Parameter.VAR_KEYWORD for own in known.values())
    return [] if takes_all else [name for name in given if name not in known]
