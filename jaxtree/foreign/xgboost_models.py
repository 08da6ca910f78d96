"""Models of XGBoost, from its JSON or UBJSON, a `Booster`, or an estimator with scikit-learn's conventions.

A row goes to the left if its number, rounded to float32, is below the threshold, or if its category is not listed.
Leaves and their sums are of float32 there, and sums of float64 here.
"""

import itertools
import os
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from jaxtree import boosting
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.files.container import shortened
from jaxtree.files.kept import loading
from jaxtree.files.losses import make_absent_loss
from jaxtree.files.records import require
from jaxtree.foreign.comparisons import ThresholdRule
from jaxtree.foreign.estimators import boosted
from jaxtree.foreign.objectives import (
    CLASSIFIER,
    MOST_SCORES,
    RANKER,
    REGRESSOR,
    ForeignObjective,
    Values,
    absent,
    meaning_of,
    named,
    of_parameter,
    of_scores,
    parameter,
)
from jaxtree.foreign.planes import (
    ForeignColumn,
    ForeignModel,
    Meaning,
    NodePlanes,
    code_columns,
    join_planes,
    rounds_of,
    with_any_other,
)
from jaxtree.foreign.reading import (
    floats_of,
    ints_of,
    list_of,
    names_of,
    number_of,
    object_of,
    parse_object,
    part,
    read_bytes,
    text_of,
    whole_number,
)
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.columns import MAX_CODES


def _logit(share: Float64[np.ndarray, " score"]) -> Float64[np.ndarray, " score"]:
    return -np.log(1 / share - 1)


def _quantile(values: Values, num_scores: int) -> BaseLoss:
    """One quantile; several are as they come from the trees, not sorted as the loss of several has them."""
    if num_scores > 1:
        return make_absent_loss("reg:quantileerror", num_scores, "identity")
    return boosting.quantile(vector_of(text_of(values.get("quantile_alpha", "0.5"), "quantile_alpha"), "a level", 1)[0])


def _failure_time(values: Values, _: int) -> BaseLoss:
    distribution = text_of(values.get("aft_loss_distribution", "normal"), "aft_loss_distribution")
    return boosting.accelerated_failure_time(distribution, parameter(values, "aft_loss_distribution_scale", 1.0))


OBJECTIVES = {
    "reg:squarederror": ForeignObjective(REGRESSOR, of_scores(boosting.squared)),
    "reg:linear": ForeignObjective(REGRESSOR, of_scores(boosting.squared)),
    "reg:squaredlogerror": ForeignObjective(REGRESSOR, absent("reg:squaredlogerror")),
    "reg:absoluteerror": ForeignObjective(REGRESSOR, named(boosting.absolute)),
    "reg:pseudohubererror": ForeignObjective(REGRESSOR, of_parameter(boosting.pseudo_huber, "huber_slope", 1.0)),
    "reg:quantileerror": ForeignObjective(REGRESSOR, _quantile),
    "reg:logistic": ForeignObjective(REGRESSOR, named(boosting.logistic), _logit),
    "binary:logistic": ForeignObjective(CLASSIFIER, named(boosting.logistic), _logit),
    "binary:logitraw": ForeignObjective(CLASSIFIER, named(boosting.logistic), _logit),
    "multi:softprob": ForeignObjective(CLASSIFIER, of_scores(boosting.softmax)),
    "multi:softmax": ForeignObjective(CLASSIFIER, of_scores(boosting.softmax)),
    "count:poisson": ForeignObjective(REGRESSOR, named(boosting.poisson), np.log),
    "reg:gamma": ForeignObjective(REGRESSOR, named(boosting.gamma), np.log),
    "reg:tweedie": ForeignObjective(REGRESSOR, of_parameter(boosting.tweedie, "tweedie_variance_power", 1.5), np.log),
    "survival:cox": ForeignObjective(REGRESSOR, named(boosting.cox), np.log),
    "survival:aft": ForeignObjective(REGRESSOR, _failure_time, np.log),
    "rank:ndcg": ForeignObjective(RANKER, named(boosting.ndcg)),
    "rank:map": ForeignObjective(RANKER, named(boosting.average_precision)),
    "rank:pairwise": ForeignObjective(RANKER, named(boosting.pairwise)),
}
"""The objectives that are known; all others are refused."""


def from_xgboost(model: Any) -> Any:
    """Returns the fitted estimator of jaxtree that predicts what a model of XGBoost does.

    Rows of float64 and of float32 end at the leaves where XGBoost's end; sums of leaves are of float64 here and of
    float32 there, so that scores differ by about one part in ten million. A column of categories has their words where
    XGBoost keeps them (from version 3.1 on, of data frames), and their codes otherwise. XGBoost keeps no numbers of
    rows: their place have the sums of second derivatives.

    A `Booster` and a file give all rounds, as `Booster.predict` does; an estimator that has stopped early those up to
    its best one, as its own `predict` does. `truncated` takes fewer.

    Args:
        model: A `Booster`, an `XGBClassifier`, `XGBRegressor`, `XGBRanker` or a forest of these; or what
            `save_model` has written: the path of a file of JSON or UBJSON, its bytes, or the object of the JSON.

    Raises:
        ModelFileError: The file is damaged, or of another library.
        InvalidInputError: jaxtree has no such model: a linear one, an objective that it does not know, or an estimator
            that reads another number than NaN as missing.
        InvalidTypeError: It is no model of XGBoost.
        OSError: The file cannot be read.

    Example: three rows of a model of one split, as XGBoost writes it.
        >>> tree = {
        ...     "left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0],
        ...     "split_conditions": [2.5, -1.0, 1.0], "default_left": [1, 0, 0], "sum_hessian": [3.0, 2.0, 1.0],
        ...     "loss_changes": [2.0, 0.0, 0.0], "base_weights": [0.0, -1.0, 1.0], "tree_param": {"num_nodes": "3"},
        ... }
        >>> trees = {"trees": [tree], "tree_info": [0]}
        >>> learner = {
        ...     "gradient_booster": {"name": "gbtree", "model": trees}, "objective": {"name": "reg:squarederror"},
        ...     "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1"},
        ... }
        >>> from_xgboost({"learner": learner, "version": [2, 1, 0]}).predict([[2.4], [2.5], [None]]).tolist()
        [-0.5, 1.5, -0.5]
    """
    if isinstance(model, str | os.PathLike):
        with loading(model):
            return _of_object(parse_object(read_bytes(model)))
    if isinstance(model, bytes | bytearray):
        return _of_object(parse_object(model))
    if isinstance(model, dict):
        return _of_object(model)
    return _of_object(parse_object(_booster_of(model).save_raw("json")))


def _booster_of(model: Any) -> Any:
    """The booster of an estimator up to its best round; a booster as it is."""
    if hasattr(model, "save_raw"):
        return model
    if not hasattr(model, "get_booster"):
        raise InvalidTypeError(
            "model must be a Booster or an estimator of XGBoost, the path or the bytes of a file, or the object of its "
            f"JSON, got {type(model).__name__}"
        )
    missing = getattr(model, "missing", np.nan)
    if missing is not None and missing == missing:
        raise InvalidInputError(
            f"the estimator reads {missing!r} as missing, and jaxtree reads NaN: give NaN in its place to "
            "from_xgboost(model.get_booster()), and to what it returns"
        )
    booster = model.get_booster()
    best = getattr(model, "best_iteration", None) if getattr(model, "early_stopping_rounds", None) else None
    return booster if best is None else booster[: int(best) + 1]


def _of_object(content: dict[str, Any]) -> Any:
    """The estimator of the object of a file."""
    return boosted(read_xgboost(content))


def read_xgboost(content: dict[str, Any]) -> ForeignModel:
    """Returns the neutral form of the object of a file.

    Raises:
        ModelFileError: It is damaged.
        InvalidInputError: jaxtree has no such model.
    """
    learner = part(content, "learner")
    given = part(learner, "learner_model_param")
    num_columns = whole_number(part(given, "num_feature"), "num_feature", 1)
    num_classes = whole_number(given.get("num_class", 0), "num_class", 0, MOST_SCORES)
    num_targets = whole_number(given.get("num_target", 1), "num_target", 0, MOST_SCORES)
    num_scores = max(num_classes, num_targets, 1)
    meaning, start = _meaning(part(learner, "objective"), num_scores, text_of(part(given, "base_score"), "base_score"))
    trees, weights = _trees_of(part(learner, "gradient_booster"))
    listed = list_of(part(trees, "trees"), "trees")
    require(len(weights) in (0, len(listed)), "it does not have a weight of every tree")
    columns, is_named = _columns(learner, trees, num_columns, listed)
    planes = [_planes(tree, columns, num_scores) for tree in listed]
    for place, weight in enumerate(weights):
        scaled = planes[place].value.astype(np.float32) * np.float32(weight)
        planes[place] = planes[place]._replace(value=scaled.astype(np.float64))
    if all(own.value.shape[1] == num_scores for own in planes) and num_scores > 1:
        require(len(planes) > 0, "it has no trees")
        joined, of_round = join_planes(planes), 1
    else:
        info = ints_of(part(trees, "tree_info"), "tree_info", len(listed)).tolist()
        require(all(own.value.shape[1] == 1 for own in planes), "some of its trees are of one score, and others of all")
        joined, of_round = rounds_of(planes, info, num_scores)
    return ForeignModel(columns, is_named, ThresholdRule.BELOW_SINGLE, joined, start, of_round, meaning)


def _meaning(objective: Any, num_scores: int, base_score: str) -> tuple[Meaning, Float64[np.ndarray, " score"]]:
    name = text_of(part(objective, "name"), "name")
    if name not in OBJECTIVES:
        raise InvalidInputError(
            f"jaxtree has no objective {shortened(name)!r} of XGBoost; it has {', '.join(OBJECTIVES)}"
        )
    kind = OBJECTIVES[name]
    parts = [own for own in objective.values() if isinstance(own, dict)]
    values = {name: value for own in parts for name, value in own.items()}
    meaning = meaning_of(name, kind, values, num_scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = kind.margin(vector_of(base_score, "base_score", num_scores)).astype(np.float32)
    require(np.isfinite(start).all(), f"base_score is none of {name!r}: {shortened(base_score)}")
    return meaning, start.astype(np.float64)


def vector_of(text: str, name: str, size: int) -> Float64[np.ndarray, " number"]:
    """Returns the numbers of "0.5", or from version 3.1 on of "[0.5,0.25]"; one number stands for all.

    >>> vector_of("5E-1", "base_score", 2), vector_of("[5E-1,1]", "base_score", 2)
    (array([0.5, 0.5]), array([0.5, 1. ]))
    """
    numbers = np.array([number_of(own.strip(), name) for own in text.strip().strip("[]").split(",")[: size + 1]])
    require(len(numbers) in (1, size), f"{name} must have 1 or {size} numbers, got {shortened(text)}")
    return np.broadcast_to(numbers, size).copy()


def _trees_of(booster: Any) -> tuple[dict[str, Any], Float64[np.ndarray, " tree"]]:
    """The object of the trees, and of a model that drops trees their weights."""
    name = part(booster, "name")
    if name == "gblinear":
        raise InvalidInputError("the model is linear (booster='gblinear'): it has no trees")
    if name == "dart":
        return part(booster, "gbtree", "model"), floats_of(part(booster, "weight_drop"), "weight_drop")
    require(name == "gbtree", f"its booster is none that XGBoost has: {shortened(name)}")
    return part(booster, "model"), np.zeros(0)


def _columns(
    learner: dict[str, Any], trees: dict[str, Any], number: int, listed: list[Any]
) -> tuple[tuple[ForeignColumn, ...], bool]:
    names, kinds = (list_of(learner.get(name, []), name) for name in ("feature_names", "feature_types"))
    require(len(kinds) in (0, number), f"it has {len(kinds)} feature_types of {number} columns")
    words, used = _category_names(trees.get("cats"), number), _codes_used(listed, number)
    own_names, is_named = names_of(names, number, "f{}")
    columns = []
    for place, name in enumerate(own_names):
        kind = kinds[place] if kinds else "float"
        if place in words or kind == "c" or place in used:
            categories = words.get(place) or with_any_other(range(used.get(place, -1) + 1))
            columns.append(ForeignColumn(name, tuple(categories)))
        else:
            columns.append(ForeignColumn(name, is_whole=kind in ("int", "i")))
    return tuple(columns), is_named


def _codes_used(trees: list[Any], number: int) -> dict[int, int]:
    """The greatest code of categories that a split names, by the column."""
    greatest: dict[int, int] = {}
    for tree in trees:
        for node, codes in _categories_of(tree).items():
            column = ints_of(part(tree, "split_indices"), "split_indices")
            require(node < len(column) and 0 <= column[node] < number, "a node asks for none of the columns")
            place = int(column[node])
            greatest[place] = max(greatest.get(place, -1), int(codes.max(initial=-1)))
            code_columns(greatest[place] + 1, f"number {place}")
    return greatest


def _category_names(cats: Any, number: int) -> dict[int, tuple[Any, ...]]:
    """The categories of columns that a file of version 3.1 or later has, by their places."""
    if not isinstance(cats, dict) or not cats.get("enc"):
        return {}
    listed, found = list_of(cats["enc"], "enc"), {}
    require(len(listed) == number, f"it has categories of {len(listed)} columns, and {number} columns")
    for place, own in enumerate(listed):
        values = list_of(part(own, "values"), "values")
        if not values:
            continue
        if "offsets" not in own:
            found[place] = tuple(_plain_numbers(values))
            continue
        ends = ints_of(own["offsets"], "offsets")
        text = bytes((ints_of(values, "values") % 256).astype(np.uint8))
        are_ends = len(ends) > 1 and ends[0] == 0 and (np.diff(ends) >= 0).all() and ends[-1] == len(text)
        require(are_ends, "the words of its categories are none")
        try:
            found[place] = tuple(text[a:b].decode() for a, b in itertools.pairwise(ends.tolist()))
        except UnicodeDecodeError:
            raise InvalidInputError(
                f"XGBoost has cut the categories of column number {place}, as it does with letters beyond ASCII: name "
                "these otherwise, and fit again"
            ) from None
    for place, own in found.items():
        code_columns(len(own), f"number {place}")
        require(len(set(own)) == len(own), "a column has the same category twice")
    return found


def _plain_numbers(values: list[Any]) -> list[Any]:
    numbers = floats_of(values, "values")
    require(np.isfinite(numbers).all(), "a category is no finite number")
    return [int(own) if own == int(own) and abs(own) < 2**53 else float(own) for own in numbers.tolist()]


def _categories_of(tree: Any) -> dict[int, Int64[np.ndarray, " _code"]]:
    """The codes that go to the right at the nodes of a tree that split by category."""
    require(isinstance(tree, dict), "a tree is no object")
    nodes = ints_of(tree.get("categories_nodes", []), "categories_nodes")
    if not len(nodes):
        return {}
    begins, sizes = (
        ints_of(part(tree, f"categories_{name}"), f"categories_{name}", len(nodes)) for name in ("segments", "sizes")
    )
    codes = ints_of(part(tree, "categories"), "categories")
    fits = ((begins >= 0) & (sizes >= 0) & (begins + sizes <= len(codes))).all() and ((codes >= 0).all())
    require(fits and (nodes >= 0).all() and sizes.sum() <= len(codes), "the categories of its splits are none")
    require((codes < MAX_CODES).all(), f"a split names a category beyond {MAX_CODES}")
    triples = zip(nodes.tolist(), begins.tolist(), sizes.tolist(), strict=True)
    return {node: np.unique(codes[begin : begin + size]) for node, begin, size in triples}


def _planes(tree: Any, columns: tuple[ForeignColumn, ...], num_scores: int) -> NodePlanes:
    """The nodes of a tree."""
    codes = _categories_of(tree)
    left = ints_of(part(tree, "left_children"), "left_children")
    size = len(left)
    require(size > 0, "a tree has no nodes")

    def floats(name: str, length: int = size) -> Float64[np.ndarray, " number"]:
        with np.errstate(over="ignore"):
            return floats_of(part(tree, name), name, length).astype(np.float32).astype(np.float64)

    right = ints_of(part(tree, "right_children"), "right_children", size)
    is_leaf = left < 0
    condition, cover = floats("split_conditions"), floats("sum_hessian")
    sizes = {"size_leaf_vector": 1} | object_of(part(tree, "tree_param"), "tree_param")
    width = whole_number(sizes["size_leaf_vector"], "size_leaf_vector", 0, MOST_SCORES)
    value = condition[:, None] if width <= 1 else _leaf_vectors(tree, width, left, right)
    require(width <= 1 or width == num_scores, f"a leaf has {width} values, and a row {num_scores} scores")
    by_code = {node: own for node, own in codes.items() if node < size and not is_leaf[node]}
    if "split_type" in tree:
        is_word = ints_of(tree["split_type"], "split_type", size) == 1
        require(set(np.flatnonzero(is_word & ~is_leaf).tolist()) == set(by_code), "a node has categories of none")
    condition[list(by_code)] = 0.0  # up to version 2 it is NaN there
    feature = np.where(is_leaf, -1, ints_of(part(tree, "split_indices"), "split_indices", size))
    require(((feature >= 0) | is_leaf).all(), "a node asks for none of the columns")
    return NodePlanes(
        feature=feature,
        left=left,
        right=right,
        limit=np.where(np.isnan(condition), condition, ThresholdRule.BELOW_SINGLE.limits(condition)),
        missing_left=ints_of(part(tree, "default_left"), "default_left", size) != 0,
        codes=by_code,
        value=np.where(is_leaf[:, None], value, 0.0),
        weight=cover,
        num_rows=np.nan_to_num(np.clip(np.rint(cover), 0, 2**31 - 1)).astype(np.int64),
        gain=floats("loss_changes"),
        root=np.zeros(1, np.int64),
    )


def _leaf_vectors(
    tree: dict[str, Any], width: int, left: Int64[np.ndarray, " node"], right: Int64[np.ndarray, " node"]
) -> Float64[np.ndarray, "node score"]:
    """The values of leaves that have one a score; from version 3.1 on `right_children` of a leaf is its row."""
    size = len(left)
    if len(list_of(tree.get("leaf_weights", []), "leaf_weights")):
        values = floats_of(tree["leaf_weights"], "leaf_weights").astype(np.float32).astype(np.float64)
        require(len(values) % width == 0, "its leaves do not have one value a score")
        rows = values.reshape(-1, width)
        is_leaf = left < 0
        require(((right[is_leaf] >= 0) & (right[is_leaf] < len(rows))).all(), "a leaf has values that there are not")
        return rows[np.where(is_leaf, right, 0)]
    values = floats_of(part(tree, "base_weights"), "base_weights", size * width)
    return values.astype(np.float32).astype(np.float64).reshape(size, width)
