"""Boosted trees, and trees and forests of numbers, as JSON of XGBoost."""

import json
from typing import Any, NamedTuple

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Question
from jaxtree.foreign.sums import SumOfTrees, SumTree, as_numbers, number_parameter, sum_of
from jaxtree.losses.links import name_of_link
from jaxtree.table.binning import round_down_to_float32
from jaxtree.table.schema import Schema

VERSION = [2, 1, 0]
"""The version that is written; all from 1.7 on read it."""

ROOT = 2**31 - 1
"""The number for the node above a root."""

NEUTRAL = {"identity": "0E0", "sigmoid": "5E-1", "exp": "1E0", "time": "1E0", "class_probability": "0E0"}
"""The prediction of a score of 0, by the link; that of classes is none."""

PARAMETERS = {
    "count:poisson": ("poisson_regression_param", {"max_delta_step": "7E-1"}),
    "multi:softprob": ("softmax_multiclass_param", {}),
    "reg:pseudohubererror": ("pseudo_huber_param", {"huber_slope": "1E0"}),
    "reg:quantileerror": ("quantile_loss_param", {}),
    "reg:tweedie": ("tweedie_regression_param", {}),
    "survival:aft": ("aft_loss_param", {}),
}
"""The name of an objective's parameters, and those that do not follow from the model."""


def to_xgboost(estimator: Any, *, no_missing: bool = False) -> str:
    """Returns boosted trees, or a tree or forest of numbers, as the JSON of a model of XGBoost.

    `xgboost.Booster(model_file=bytearray(text, "utf-8"))` reads it, and from a file every version from 1.7 on. Rows are
    `estimator.encoder_.values(X)`: a number as it is, a truth value as 0 or 1, a word as its place among the
    categories, with `enable_categorical=True`. XGBoost rounds rows to float32, and adds float32: predictions differ by
    about one part in ten million, of rows that float32 holds.

    A loss that XGBoost does not have, such as "huber", is written as "reg:squarederror" if its predictions are scores.

    Args:
        estimator: A fitted estimator of one output.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without any.

    Raises:
        InvalidInputError: XGBoost has no such model: trees of classes, and forests of these, average shares; or the
            loss predicts by another link.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits.

    Example:
        >>> from jaxtree import GradientBoostingRegressor, from_xgboost
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0.0, 0.0, 1.0, 1.0]
        >>> model = GradientBoostingRegressor(1, learning_rate=1.0, min_samples_leaf=1, reg_lambda=0.0).fit(X, y)
        >>> from_xgboost(to_xgboost(model).encode()).predict(X).tolist()
        [0.0, 0.0, 1.0, 1.0]
    """
    model = sum_of(estimator, "XGBoost", no_missing=no_missing)
    name, objective = _objective(model)
    kinds = {"numeric": "float", "boolean": "i"}
    columns = model.schema.columns
    base = NEUTRAL["identity"] if model.of_order else NEUTRAL[str(name_of_link(model.loss))]
    # In rounds of a tree a score, as XGBoost has its trees.
    learner = {
        "attributes": {},
        "feature_names": [_plain(column.name) for column in columns] if model.is_named else [],
        "feature_types": [kinds.get(column.kind, "c") for column in columns],
        "gradient_booster": {
            "model": {
                "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(model.trees))},
                "iteration_indptr": list(range(0, len(model.trees) + 1, model.num_scores)),
                "tree_info": [tree.score for tree in model.trees],
                "trees": [_tree(tree, model, number) for number, tree in enumerate(model.trees)],
            },
            "name": "gbtree",
        },
        "learner_model_param": {
            "base_score": base,
            "boost_from_average": "0",
            "num_class": str(model.num_scores if name == "multi:softprob" else 0),
            "num_feature": str(len(columns)),
            "num_target": str(1 if name == "multi:softprob" else model.num_scores),
        },
        "objective": objective,
    }
    return json.dumps({"learner": learner, "version": VERSION})


def _plain(name: str) -> str:
    """A name without the letters that XGBoost refuses."""
    return name.replace("[", "(").replace("]", ")").replace("<", "(")


def _objective(model: SumOfTrees) -> tuple[str, dict[str, Any]]:
    """The name of an objective that predicts as the loss does, and its object."""
    loss, link = model.loss, name_of_link(model.loss)
    names = {
        "absolute": "reg:absoluteerror",
        "quantile": "reg:quantileerror",
        "pseudo_huber": "reg:pseudohubererror",
        "logistic": "binary:logistic" if model.of_classes else "reg:logistic",
        "softmax": "multi:softprob",
        "poisson": "count:poisson",
        "gamma": "reg:gamma",
        "tweedie": "reg:tweedie",
        "cox": "survival:cox",
        "accelerated_failure_time": "survival:aft",
        "ndcg": "rank:ndcg",
        "map": "rank:map",
        "pairwise": "rank:pairwise",
    }
    name = names.get(loss.name, "reg:squarederror" if link == "identity" else None)
    if name is None or (name == "survival:aft" and model.num_scores > 1):
        raise InvalidInputError(
            f"XGBoost has no objective that predicts by the link of {loss}: it has identities, exponentials, sigmoids "
            "and softmax, of scores that are all predicted"
        )
    kind, given = PARAMETERS.get(name, ("reg_loss_param", {"scale_pos_weight": "1"}))
    own = dict(given)
    if name == "multi:softprob":
        own["num_class"] = str(model.num_scores)
    elif name == "reg:quantileerror":
        own["quantile_alpha"] = f"[{number_parameter(loss, 'level')!r}]"
    elif name == "reg:tweedie":
        own["tweedie_variance_power"] = repr(number_parameter(loss, "power"))
    elif name == "survival:aft":
        parameters = dict(getattr(loss, "parameters", ()))
        own["aft_loss_distribution"] = parameters["distribution"]
        own["aft_loss_distribution_scale"] = repr(parameters["scale"])
    kind = "lambdarank_param" if model.of_order else kind
    return name, {"name": name, kind: {} if model.of_order else own}


class _Split(NamedTuple):
    """A split: its column, the children, whether missing values go to the left, its limit, and the codes to the right.

    A split of numbers has no codes.
    """

    column: int
    left: int
    right: int
    missing_left: bool
    limit: float
    codes: tuple[int, ...]


def _split(question: Question, schema: Schema) -> _Split:
    """A question as a split: listed categories go to the right, and numbers below the threshold to the left."""
    asked = as_numbers(question, schema)
    column = schema.columns[asked.column]
    if column.kind in ("numeric", "boolean"):
        return _Split(asked.column, asked.yes, asked.no, asked.missing_is_yes, asked.limit, ())
    if asked.codes:
        return _Split(asked.column, asked.no, asked.yes, not asked.missing_is_yes, 0.0, asked.codes)
    # No set is empty: whether a category is known at all is asked by one that there is not.
    return _Split(asked.column, asked.yes, asked.no, asked.missing_is_yes, 0.0, (column.num_values,))


def _tree(tree: SumTree, model: SumOfTrees, number: int) -> dict[str, Any]:
    """The object of a tree, in which the right child of every split follows the left one."""
    size, place_of = len(tree.questions), np.arange(len(tree.questions))
    splits = [None if own.is_end else _split(own, model.schema) for own in tree.questions]
    for own in splits:
        if own is not None:
            place_of[[own.left, own.right]] = sorted((own.left, own.right))
    order = np.argsort(place_of)
    table: dict[str, Any] = {name: [0] * size for name in ("split_indices", "split_type", "default_left")}
    left, right, parents = [-1] * size, [-1] * size, [ROOT] * size
    value, condition = tree.value[order], tree.value[order].astype(np.float32)
    categories: dict[str, list[int]] = {name: [] for name in ("nodes", "segments", "sizes")}
    listed: list[int] = []
    for place, old in enumerate(order.tolist()):
        own = splits[old]
        if own is None:
            continue
        left[place], right[place] = int(place_of[own.left]), int(place_of[own.right])
        parents[left[place]] = parents[right[place]] = place
        table["split_indices"][place], table["default_left"][place] = own.column, int(own.missing_left)
        condition[place] = _threshold(own.limit)
        if own.codes:
            table["split_type"][place] = 1
            categories["nodes"].append(place)
            categories["segments"].append(len(listed))
            categories["sizes"].append(len(own.codes))
            listed += own.codes
    return {
        **table,
        "base_weights": _numbers(value),
        "categories": listed,
        **{f"categories_{name}": own for name, own in categories.items()},
        "id": number,
        "left_children": left,
        "loss_changes": _numbers(np.where(np.array(left) < 0, 0.0, tree.gain[order])),
        "parents": parents,
        "right_children": right,
        "split_conditions": _numbers(condition),
        "sum_hessian": _numbers(tree.weight[order]),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(model.schema.num_features),
            "num_nodes": str(size),
            "size_leaf_vector": "1",
        },
    }


def _threshold(limit: float) -> np.float32:
    """The float32 above all that are at most a limit."""
    most = np.finfo(np.float32).max
    if limit >= most:
        return most
    return np.nextafter(round_down_to_float32(np.array([limit]))[0], np.float32(np.inf))


def _numbers(values: Any) -> list[float]:
    """Numbers of float32, in as many digits as tell them apart."""
    with np.errstate(over="ignore"):
        singles = np.asarray(values).astype(np.float32)
    most = np.finfo(np.float32).max
    return [float(str(own)) for own in np.clip(singles, -most, most)]
