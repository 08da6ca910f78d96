"""Models of CatBoost, from its JSON or an estimator: oblivious trees, whose levels ask one question each, and others.

A row goes to the right if its number, rounded to float32, is above the border, or if it has the one category.
"""

import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Shaped

from jaxtree import boosting
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.files.container import shortened
from jaxtree.files.kept import loading
from jaxtree.files.records import require
from jaxtree.foreign.comparisons import ThresholdRule
from jaxtree.foreign.estimators import boosted
from jaxtree.foreign.objectives import (
    CLASSIFIER,
    RANKER,
    REGRESSOR,
    ForeignObjective,
    absent,
    meaning_of,
    named,
    of_parameter,
    of_scores,
)
from jaxtree.foreign.planes import (
    ForeignColumn,
    ForeignModel,
    Meaning,
    NodePlanes,
    join_planes,
    with_any_other,
)
from jaxtree.foreign.reading import (
    floats_of,
    list_of,
    names_of,
    number_of,
    parse_object,
    part,
    read_bytes,
    text_of,
    whole_number,
)
from jaxtree.table.columns import MAX_CODES
from jaxtree.table.rare_words import RareWords

MOST_COLUMNS = 2**24
"""The most columns that a file may name."""

MOST_LEVELS = 20
"""The most levels of an oblivious tree; CatBoost grows 16."""


OBJECTIVES = {
    "RMSE": ForeignObjective(REGRESSOR, named(boosting.squared)),
    "MultiRMSE": ForeignObjective(REGRESSOR, of_scores(boosting.squared)),
    "MAE": ForeignObjective(REGRESSOR, named(boosting.absolute)),
    "Quantile": ForeignObjective(REGRESSOR, of_parameter(boosting.quantile, "alpha", 0.5)),
    "Expectile": ForeignObjective(REGRESSOR, of_parameter(boosting.expectile, "alpha", 0.5)),
    "Huber": ForeignObjective(REGRESSOR, of_parameter(boosting.huber, "delta", 1.0)),
    "MAPE": ForeignObjective(REGRESSOR, absent("MAPE")),
    "LogCosh": ForeignObjective(REGRESSOR, absent("LogCosh")),
    "Lq": ForeignObjective(REGRESSOR, absent("Lq")),
    "Poisson": ForeignObjective(REGRESSOR, named(boosting.poisson)),
    "Tweedie": ForeignObjective(REGRESSOR, of_parameter(boosting.tweedie, "variance_power", 1.5)),
    "Logloss": ForeignObjective(CLASSIFIER, named(boosting.logistic)),
    "CrossEntropy": ForeignObjective(CLASSIFIER, named(boosting.logistic)),
    "MultiClass": ForeignObjective(CLASSIFIER, of_scores(boosting.softmax)),
    "QueryRMSE": ForeignObjective(RANKER, named(boosting.ndcg)),
    "YetiRank": ForeignObjective(RANKER, named(boosting.ndcg)),
    "YetiRankPairwise": ForeignObjective(RANKER, named(boosting.ndcg)),
    "PairLogit": ForeignObjective(RANKER, named(boosting.pairwise)),
    "PairLogitPairwise": ForeignObjective(RANKER, named(boosting.pairwise)),
}
"""The losses that are known; all others are refused."""


def from_catboost(model: Any, *, pool: Any = None) -> Any:
    """Returns the fitted estimator of jaxtree that predicts what a model of CatBoost does.

    Rows of float64 and of float32 end at the leaves where CatBoost's end; scores differ by some parts in 10^15.
    CatBoost keeps no gains: those here follow from the values of leaves.

    A model knows hashes of categories alone, and its JSON the categories, too, if it was saved with a pool. It splits
    columns of up to `one_hot_max_size` categories by one of them; others by statistics of the target (CTR), which
    jaxtree does not have.

    Args:
        model: A `CatBoostRegressor`, `CatBoostClassifier`, `CatBoostRanker` or `CatBoost`; or what
            `save_model(format="json")` has written: the path of a file, its bytes, or the object of the JSON.
        pool: The `catboost.Pool` of the fit, of a model that has columns of categories.

    Raises:
        ModelFileError: The file is damaged, or of another library.
        InvalidInputError: jaxtree has no such model: splits by statistics, columns of texts or embeddings, a loss that
            it does not know; or categories whose words it does not have.
        InvalidTypeError: It is no model of CatBoost.
        OSError: The file cannot be read.

    Example: a tree of one level, as CatBoost writes it.
        >>> split = {"border": 2.5, "float_feature_index": 0, "split_type": "FloatFeature"}
        >>> column = {"feature_index": 0, "flat_feature_index": 0, "feature_id": "0", "borders": [2.5]}
        >>> from_catboost({
        ...     "oblivious_trees": [{"leaf_values": [-1, 1], "leaf_weights": [2, 1], "splits": [split]}],
        ...     "features_info": {"float_features": [column]}, "scale_and_bias": [1, [0.5]],
        ...     "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
        ... }).predict([[2.5], [2.6]]).tolist()
        [-0.5, 1.5]
    """
    if isinstance(model, str | os.PathLike):
        with loading(model):
            return boosted(read_catboost(parse_object(read_bytes(model))))
    if isinstance(model, bytes | bytearray):
        return boosted(read_catboost(parse_object(model)))
    if isinstance(model, dict):
        return boosted(read_catboost(model))
    if not (hasattr(model, "save_model") and hasattr(model, "tree_count_")):
        raise InvalidTypeError(
            "model must be a model of CatBoost, the path or the bytes of a file of JSON, or the object of it, got "
            f"{type(model).__name__}"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.json"
        model.save_model(str(path), format="json", pool=pool)
        return boosted(read_catboost(parse_object(path.read_bytes())))


def read_catboost(content: dict[str, Any]) -> ForeignModel:
    """Returns the neutral form of the object of a file.

    Raises:
        ModelFileError: It is damaged.
        InvalidInputError: jaxtree has no such model.
    """
    table = _Table.of(part(content, "features_info"))
    factor, bias = _scale_and_bias(part(content, "scale_and_bias"))
    if "oblivious_trees" in content:
        planes = [_oblivious(tree, table, len(bias)) for tree in list_of(content["oblivious_trees"], "oblivious_trees")]
    else:
        planes = [_branching(tree, table, len(bias)) for tree in list_of(part(content, "trees"), "trees")]
    require(len(planes) > 0, "it has no trees")
    joined = join_planes(planes)
    meaning = _meaning(part(content, "model_info"), len(bias))
    return ForeignModel(
        table.columns,
        table.is_named,
        ThresholdRule.AT_MOST_SINGLE,
        joined._replace(value=joined.value * factor),
        bias,
        1,
        meaning,
    )


def _scale_and_bias(given: Any) -> tuple[float, Float64[np.ndarray, " score"]]:
    pair = list_of(given, "scale_and_bias")
    require(len(pair) == 2, "scale_and_bias is no pair")
    bias = pair[1] if isinstance(pair[1], list) else [pair[1]]
    require(0 < len(bias) < 2**16, "scale_and_bias has an impossible number of scores")
    return number_of(pair[0], "scale"), np.array([number_of(own, "bias") for own in bias])


class _Table(NamedTuple):
    """The columns of a model, and the places of its features of numbers and of categories among them.

    Attributes:
        columns: The columns.
        is_named: Whether they have names of their own.
        numbers: The places of features of numbers.
        words: The places of features of categories.
        missing_right: Whether missing numbers of a column go to the right.
        codes: The codes of hashes, by the column.
    """

    columns: tuple[ForeignColumn, ...]
    is_named: bool
    numbers: Mapping[int, int]
    words: Mapping[int, int]
    missing_right: Mapping[int, bool]
    codes: Mapping[int, Mapping[int, int]]

    @classmethod
    def of(cls, info: Any) -> "_Table":
        require(isinstance(info, dict), "features_info is no object")
        for kind in ("text_features", "embedding_features"):
            if info.get(kind):
                raise InvalidInputError(f"the model has columns of {kind.partition('_')[0]}s, which jaxtree has not")
        numbers, words = (list_of(info.get(name, []), name) for name in ("float_features", "categorical_features"))
        places = [whole_number(part(own, "flat_feature_index"), "flat_feature_index") for own in (*numbers, *words)]
        size = max(places, default=-1) + 1
        require(len(set(places)) == len(places) and size <= MOST_COLUMNS, "two columns stand at the same place")
        require(size <= len(places), "it does not describe all of its columns")
        names = [""] * size
        for place, own in zip(places, (*numbers, *words), strict=True):
            names[place] = str(own.get("feature_id") or own.get("feature_name") or place)
        own_names, is_named = names_of(names, size, "{}")
        columns, missing_right, codes = {}, {}, {}
        for place, own in zip(places, numbers, strict=False):
            columns[place] = ForeignColumn(own_names[place], has_missing=own.get("has_nans") is True)
            missing_right[place] = own.get("nan_value_treatment") == "AsTrue"
        known = _known_words(info)
        for place, own in zip(places[len(numbers) :], words, strict=True):
            categories, codes[place] = _categories(own, known, own_names[place])
            columns[place] = ForeignColumn(own_names[place], categories, has_missing=False)
        indices = [whole_number(part(own, "feature_index"), "feature_index") for own in (*numbers, *words)]
        pairs = list(zip(indices, places, strict=True))
        return cls(
            tuple(columns[place] for place in range(size)),
            is_named,
            dict(pairs[: len(numbers)]),
            dict(pairs[len(numbers) :]),
            missing_right,
            codes,
        )


def _known_words(info: dict[str, Any]) -> dict[int, str]:
    """The categories of hashes."""
    return {
        whole_number(part(own, "hash"), "hash", -(2**63), 2**64): text_of(part(own, "value"), "value")
        for own in list_of(info.get("cat_features_hash", []), "cat_features_hash")
    }


def _categories(
    column: dict[str, Any], known: Mapping[int, str], name: str
) -> tuple[tuple[int | str | RareWords, ...], dict[int, int]]:
    """The categories of a column that splits name, and one for all others; and the code of every hash."""
    hashes = [
        whole_number(own, "a hash of a category", -(2**63), 2**64)
        for own in list_of(column.get("values", []), "values")
    ]
    lost = [own for own in hashes if own not in known and own % 2**32 not in known]
    if lost:
        raise InvalidInputError(
            f"the model knows hashes alone of the categories of column {name[:40]!r}: save it with the pool of the "
            'fit, save_model(path, format="json", pool=pool), or give from_catboost(model, pool=pool)'
        )
    require(len(hashes) < MAX_CODES, f"column {name[:40]!r} has more than {MAX_CODES} categories")
    words = [known.get(own, known.get(own % 2**32, "")) for own in hashes]
    are_numbers = all(own.lstrip("-").isascii() and own.lstrip("-").isdigit() and str(int(own)) == own for own in words)
    categories = [int(own) for own in words] if are_numbers else words
    require(len(set(words)) == len(words), "a column has the same category twice")
    return with_any_other(categories), {own: code for code, own in enumerate(hashes)}


class _CatBoostSplit(NamedTuple):
    """A split: its column, its limit, whether missing values go to the right, and the code that does; -1 of numbers."""

    column: int
    limit: float
    missing_right: bool
    code: int


def _question(split: Any, table: _Table) -> _CatBoostSplit:
    kind = part(split, "split_type")
    if kind == "FloatFeature":
        index = whole_number(part(split, "float_feature_index"), "float_feature_index")
        require(index in table.numbers, "a node asks for none of the columns")
        place = table.numbers[index]
        limit = ThresholdRule.AT_MOST_SINGLE.limits(np.array([number_of(part(split, "border"), "border")]))[0]
        return _CatBoostSplit(place, limit, table.missing_right[place], -1)
    if kind == "OneHotFeature":
        index = whole_number(part(split, "cat_feature_index"), "cat_feature_index")
        require(index in table.words, "a node asks for none of the columns")
        place = table.words[index]
        value = whole_number(part(split, "value"), "value", -(2**63), 2**64)
        require(value in table.codes[place], "a node asks for a category of none")
        return _CatBoostSplit(place, 0.0, False, table.codes[place][value])
    raise InvalidInputError(
        f"the model splits by {shortened(kind)}, statistics of the target, which jaxtree does not have: fit with "
        "one_hot_max_size as large as the most categories of a column, or without columns of categories"
    )


def _oblivious(tree: Any, table: _Table, num_scores: int) -> NodePlanes:
    """The nodes of a tree that asks the same at all nodes of a level; the last split has the highest bit."""
    splits = list_of(part(tree, "splits"), "splits")
    require(len(splits) <= MOST_LEVELS, f"a tree has more than {MOST_LEVELS} levels")
    num_leaves = 2 ** len(splits)
    values = floats_of(part(tree, "leaf_values"), "leaf_values", num_leaves * num_scores)
    weights = tree.get("leaf_weights")
    weight = floats_of(weights, "leaf_weights", num_leaves) if weights else np.ones(num_leaves)
    asked = [_question(split, table) for split in reversed(splits)]
    level = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
    inner = np.arange(num_leaves - 1)
    return _planes(
        [asked[own] for own in level.tolist()],
        (2 * inner + 1, 2 * inner + 2),
        values.reshape(num_leaves, num_scores),
        weight,
    )


def _branching(tree: Any, table: _Table, num_scores: int) -> NodePlanes:
    """The nodes of a tree whose nodes ask for different columns: splits, and behind these its leaves."""
    asked, left, right, values, weights = [], [], [], [], []
    waiting: list[tuple[Any, list[int], int]] = [(tree, [0], 0)]  # a node, the list of its parent, and its place there
    while waiting:
        node, places, at = waiting.pop()
        require(isinstance(node, dict), "a node is no object")
        if "split" in node:
            places[at] = len(asked)
            asked.append(_question(node["split"], table))
            left.append(0)
            right.append(0)
            waiting += [(part(node, "left"), left, places[at]), (part(node, "right"), right, places[at])]
            continue
        places[at] = -1 - len(values)
        value = part(node, "value")
        values.append(floats_of(value if isinstance(value, list) else [value], "value", num_scores))
        weights.append(number_of(node.get("weight", 1.0), "weight"))
    children = [np.array(own, np.int64).reshape(-1) for own in (left, right)]
    size = len(asked)
    children = [np.where(own < 0, size - 1 - own, own) for own in children]
    return _planes(asked, (children[0], children[1]), np.array(values), np.array(weights))


def _planes(
    asked: list[_CatBoostSplit],
    children: tuple[Any, Any],
    values: Float64[np.ndarray, "leaf score"],
    weight: Float64[np.ndarray, " leaf"],
) -> NodePlanes:
    """The nodes of splits, and of leaves behind these."""
    size, num_leaves = len(asked), len(values)
    none, zeros = np.full(num_leaves, -1, np.int64), np.zeros(num_leaves)
    counted = np.clip(np.rint(np.nan_to_num(weight)), 0, 2**31 - 1)
    return NodePlanes(
        feature=np.append(np.array([own.column for own in asked], np.int64), none),
        left=np.append(children[0].astype(np.int64), none),
        right=np.append(children[1].astype(np.int64), none),
        limit=np.append([own.limit for own in asked], zeros),
        missing_left=np.append(np.array([not own.missing_right for own in asked], bool), zeros > 0),
        codes={node: np.array([own.code]) for node, own in enumerate(asked) if own.code >= 0},
        value=np.concatenate([np.zeros((size, values.shape[1])), values]),
        weight=np.append(np.zeros(size), weight),
        num_rows=np.append(np.zeros(size), counted).astype(np.int64),
        gain=np.full(size + num_leaves, np.nan),
        root=np.zeros(1, np.int64),
    )


def _meaning(info: Any, num_scores: int) -> Meaning:
    params = info.get("params", {}) if isinstance(info, dict) else {}
    params = parse_object(params) if isinstance(params, str) else params
    given: Any = part(params, "loss_function") if params else {"type": "RMSE"}
    name = text_of(part(given, "type"), "the loss")
    if name not in OBJECTIVES:
        raise InvalidInputError(f"jaxtree has no loss {shortened(name)!r} of CatBoost; it has {', '.join(OBJECTIVES)}")
    kind, values = OBJECTIVES[name], given.get("params", {})
    require(isinstance(values, dict), "the parameters of its loss are no object")
    classes = _classes(info, max(num_scores, 2)) if kind.estimator == CLASSIFIER else None
    return meaning_of(name, kind, values, num_scores, classes)


def _classes(info: dict[str, Any], number: int) -> Shaped[np.ndarray, " class"]:
    """The classes in the order of scores; their numbers where the file has none."""
    given = info.get("class_params", {})
    given = parse_object(given) if isinstance(given, str) else given
    names = list_of(given.get("class_names", []), "class_names") if isinstance(given, dict) else []
    if not names:
        return np.arange(number)
    require(len(names) == number and len(set(map(type, names))) == 1, f"it does not have the names of {number} classes")
    are_values = isinstance(names[0], str | int | float) and len(set(names)) == number
    require(are_values, "its classes are no strings and no numbers, or twice the same")
    if isinstance(names[0], float) and all(own == int(own) for own in names):
        return np.array([int(own) for own in names])
    return np.array(names)
