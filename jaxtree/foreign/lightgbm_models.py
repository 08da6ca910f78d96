"""Models of LightGBM, from its text, a `Booster`, or an estimator with scikit-learn's conventions.

A row goes to the left if its number is at most the threshold, in float64, or if its category is listed. A missing
value goes where its split says, or as 0 does; a missing or unknown category to the right.
"""

import itertools
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, Shaped

from jaxtree import boosting
from jaxtree.errors import InvalidInputError, InvalidTypeError, ModelFileError
from jaxtree.files.container import shortened
from jaxtree.files.kept import loading
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
from jaxtree.foreign.planes import ForeignColumn, ForeignModel, Meaning, NodePlanes, leaf_planes, rounds_of
from jaxtree.foreign.reading import floats_of, ints_of, names_of, number_of, read_bytes, whole_number
from jaxtree.table.columns import MAX_CODES

CATEGORICAL, DEFAULT_LEFT = 1, 2
"""Bits of `decision_type`; the two bits from 4 on are how missing values are handled."""

NONE, ZERO, NAN = 0, 1, 2
"""The handling of missing values: as 0; 0 as they are; or where the split says."""


OBJECTIVES = {
    "regression": ForeignObjective(REGRESSOR, of_scores(boosting.squared)),
    "regression_l2": ForeignObjective(REGRESSOR, of_scores(boosting.squared)),
    "regression_l1": ForeignObjective(REGRESSOR, named(boosting.absolute)),
    "huber": ForeignObjective(REGRESSOR, of_parameter(boosting.huber, "alpha", 0.9)),
    "fair": ForeignObjective(REGRESSOR, absent("fair")),
    "mape": ForeignObjective(REGRESSOR, absent("mape")),
    "quantile": ForeignObjective(REGRESSOR, of_parameter(boosting.quantile, "alpha", 0.9)),
    "poisson": ForeignObjective(REGRESSOR, named(boosting.poisson)),
    "gamma": ForeignObjective(REGRESSOR, named(boosting.gamma)),
    "tweedie": ForeignObjective(REGRESSOR, of_parameter(boosting.tweedie, "tweedie_variance_power", 1.5)),
    "binary": ForeignObjective(CLASSIFIER, named(boosting.logistic), is_scaled=True),
    "multiclass": ForeignObjective(CLASSIFIER, of_scores(boosting.softmax)),
    "cross_entropy": ForeignObjective(REGRESSOR, named(boosting.logistic)),
    "lambdarank": ForeignObjective(RANKER, named(boosting.ndcg)),
    "rank_xendcg": ForeignObjective(RANKER, named(boosting.ndcg)),
    "custom": ForeignObjective(REGRESSOR, absent("custom")),
}
"""The objectives that are known; all others are refused. A model of an objective of one's own predicts its scores."""

REASONS = {
    "multiclassova": "its classes have probabilities each by itself, which do not add up to 1",
    "cross_entropy_lambda": "its predictions are logarithms of sums of exponentials",
}
"""The reasons why jaxtree does not have some objectives."""


def from_lightgbm(model: Any) -> Any:
    """Returns the fitted estimator of jaxtree that predicts what a model of LightGBM does.

    Rows end at the leaves where LightGBM's end. Sums of leaves are of float64 in both, and rounded in other places:
    scores differ by some parts in 10^15. Columns of categories have the words of the data frame, or whole numbers.

    Rounds are those that the model predicts with: of one that has stopped early up to the best, of a file all.
    `truncated` takes fewer.

    Args:
        model: A `Booster`, an `LGBMClassifier`, `LGBMRegressor` or `LGBMRanker`; or what `save_model` or
            `model_to_string` has written: the path of a file, or its bytes.

    Raises:
        ModelFileError: The file is damaged, or of another library.
        InvalidInputError: jaxtree has no such model: one of linear trees, one that takes zeros for missing and sends
            them to the other side of a threshold, or one of an objective that it does not know.
        InvalidTypeError: It is no model of LightGBM.
        OSError: The file cannot be read.

    Example: a model of one split, as LightGBM writes it.
        >>> text = '''tree
        ... version=v4
        ... num_class=1
        ... num_tree_per_iteration=1
        ... max_feature_idx=0
        ... objective=regression
        ... feature_names=Column_0
        ... feature_infos=[1:4]
        ...
        ... Tree=0
        ... num_leaves=2
        ... num_cat=0
        ... split_feature=0
        ... split_gain=2
        ... threshold=2.5000000000000004
        ... decision_type=10
        ... left_child=-1
        ... right_child=-2
        ... leaf_value=-1 1
        ... leaf_weight=2 1
        ... leaf_count=2 1
        ...
        ... end of trees
        ... '''
        >>> from_lightgbm(text.encode()).predict([[2.5], [2.6], [None]]).tolist()
        [-1.0, 1.0, -1.0]
    """
    if isinstance(model, str | os.PathLike):
        with loading(model):
            return boosted(read_lightgbm(read_bytes(model)))
    if isinstance(model, bytes | bytearray):
        return boosted(read_lightgbm(bytes(model)))
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "model_to_string"):
        raise InvalidTypeError(
            "model must be a Booster or an estimator of LightGBM, or the path or the bytes of a file, got "
            f"{type(model).__name__}"
        )
    classes = getattr(model, "classes_", None)
    text = booster.model_to_string().encode()
    return boosted(read_lightgbm(text, None if classes is None else np.asarray(classes)))


def read_lightgbm(text: bytes, classes: Shaped[np.ndarray, " class"] | None = None) -> ForeignModel:
    """Returns the neutral form of the text of a model.

    Args:
        text: The text.
        classes: The classes, which the text does not have; their numbers if not given.

    Raises:
        ModelFileError: It is damaged.
        InvalidInputError: jaxtree has no such model.
    """
    try:
        content = text.decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"it is no text ({shortened(error)})") from None
    require(content.split("\n", 1)[0].strip() == "tree", "it is no model of LightGBM: its first line is not 'tree'")
    body, _, rest = content.partition("\nend of trees")
    header, *trees = body.split("\nTree=")
    values = _values(header)
    num_columns = whole_number(values.get("max_feature_idx"), "max_feature_idx", 0) + 1
    per_round = whole_number(values.get("num_tree_per_iteration", "1"), "num_tree_per_iteration", 1, MOST_SCORES)
    require(len(trees) > 0 and len(trees) % per_round == 0, "its trees are no whole rounds")
    tables = [_values(tree.partition("\n")[2]) for tree in trees]
    columns, codes, is_named = _columns(values, rest, num_columns, tables)
    meaning, scale = _meaning(values, rest, per_round, classes)
    if "average_output" in values:
        scale /= len(trees) // per_round
    planes = [_planes(table, codes, num_columns, scale) for table in tables]
    joined, of_round = rounds_of(planes, [place % per_round for place in range(len(planes))], per_round)
    return ForeignModel(columns, is_named, ThresholdRule.ABOVE_MIDDLE, joined, np.zeros(per_round), of_round, meaning)


def _values(text: str) -> dict[str, str]:
    """The lines of a part of the text by the names before their signs of equality; a line without one is a name."""
    pairs = (line.rstrip("\r").partition("=") for line in text.split("\n"))
    return {name: value for name, _, value in pairs if name}


def _meaning(
    values: Values, rest: str, num_scores: int, classes: Shaped[np.ndarray, " class"] | None
) -> tuple[Meaning, float]:
    """The meaning of sums, and the number by which leaves are multiplied."""
    name, *words = values.get("objective", "custom").split() or ["custom"]
    named_values = {own: value for own, _, value in (word.partition(":") for word in words)}
    if name not in OBJECTIVES or "sqrt" in named_values:
        reason = f": {REASONS[name]}" if name in REASONS else f"; it has {', '.join(OBJECTIVES)}"
        reason = ": it predicts squares of sums" if "sqrt" in named_values else reason
        raise InvalidInputError(f"jaxtree has no objective {shortened(' '.join([name, *words]))!r} of LightGBM{reason}")
    kind, given = OBJECTIVES[name], {**_parameters(rest), **named_values}
    scale = parameter(given, "sigmoid", 1.0) if kind.is_scaled else 1.0
    own = classes if kind.estimator == CLASSIFIER else None
    return meaning_of(name, kind, given, num_scores, own), scale


def _parameters(rest: str) -> dict[str, str]:
    """The parameters that the text lists as `[name: value]`."""
    lines = (line.strip() for line in rest.partition("\nparameters:")[2].split("\n"))
    pairs = (line[1:-1].partition(": ") for line in lines if line.startswith("[") and line.endswith("]"))
    return {name: value for name, _, value in pairs if value}


def _columns(
    values: Values, rest: str, number: int, tables: list[dict[str, str]]
) -> tuple[tuple[ForeignColumn, ...], dict[int, list[int]], bool]:
    """The columns, the number of every category of those that have some, and whether columns have names."""
    names, is_named = names_of(values.get("feature_names", "").split(), number, "Column_{}")
    infos = values.get("feature_infos", "").split()
    require(len(infos) in (0, number), f"it has {len(infos)} feature_infos of {number} columns")
    infos = infos or ["none"] * number
    codes = _codes_used(tables, number)
    for place, info in enumerate(infos):
        if info != "none" and not info.startswith("["):
            listed = ints_of([whole_number(own, "a category", -1) for own in info.split(":")], "feature_infos")
            codes[place] = codes.get(place, set()) | {own for own in listed.tolist() if own >= 0}
    words = _words(rest, codes, infos)
    has_missing = _columns_with_missing(tables)
    numbers = {place: sorted(own) for place, own in codes.items()}
    numbers |= {place: list(range(len(own))) for place, own in words.items()}
    columns = []
    for place, (name, info) in enumerate(zip(names, infos, strict=True)):
        if place in numbers:
            columns.append(ForeignColumn(name, words.get(place) or tuple(numbers[place])))
        else:
            columns.append(ForeignColumn(name, None, place in has_missing, ends=_ends(info)))
    return tuple(columns), numbers, is_named


def _ends(info: str) -> tuple[float, float] | None:
    if not info.startswith("["):
        return None
    low, _, high = info.strip("[]").partition(":")
    ends = number_of(low, "feature_infos"), number_of(high, "feature_infos")
    require(ends[0] <= ends[1], "a column has a least number above its greatest")
    return ends


def _words(rest: str, codes: Mapping[int, set[int]], infos: list[str]) -> dict[int, tuple[Any, ...]]:
    """The categories of columns of a data frame, which the text lists in the order of these columns."""
    line = next((own for own in rest.split("\n") if own.startswith("pandas_categorical:")), "")
    try:
        listed = json.loads(line.partition(":")[2] or "null")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"pandas_categorical is no JSON ({shortened(error)})") from None
    if not listed:
        return {}
    require(isinstance(listed, list) and all(isinstance(own, list) for own in listed), "pandas_categorical is no list")
    constant = [place for place, info in enumerate(infos) if info == "none" and place not in codes]
    places = sorted(codes) if len(listed) == len(codes) else sorted([*codes, *constant])
    if len(places) != len(listed):
        raise InvalidInputError(
            f"the model has {len(codes)} columns of categories, of which {len(listed)} were such of the data frame, "
            "and does not say which: make all of them columns of categories there"
        )
    found = {}
    for place, own in zip(places, listed, strict=True):
        are_values = all(isinstance(word, str | int | float) for word in own) and len(set(own)) == len(own)
        require(are_values and len(own) <= MAX_CODES, "a column has categories that are none, or twice the same")
        require(max(codes.get(place, set()), default=-1) < len(own), "a split names a category that there is not")
        if own:
            found[place] = tuple(own)
    return found


def _bits(table: Values) -> list[Int64[np.ndarray, " _code"]]:
    """The codes that go to the left, of every split by category of a tree."""
    bounds = _ints(table, "cat_boundaries")
    words = _ints(table, "cat_threshold")
    are_bounds = (np.diff(bounds) >= 0).all() and (not len(bounds) or (bounds[0] == 0 and bounds[-1] == len(words)))
    require(are_bounds and (words >= 0).all(), "the categories of its splits are none")
    require(len(words) * 32 <= MAX_CODES * max(len(bounds), 1), f"a split names a category beyond {MAX_CODES}")
    parts = [words[a:b] for a, b in itertools.pairwise(bounds.tolist())]
    return [np.flatnonzero((own[:, None] >> np.arange(32)) & 1) for own in parts]


def _codes_used(tables: list[dict[str, str]], number: int) -> dict[int, set[int]]:
    """The codes that splits by category name, by the column."""
    used: dict[int, set[int]] = {}
    for table in tables:
        kinds, feature = _ints(table, "decision_type"), _ints(table, "split_feature")
        if not (kinds & CATEGORICAL).any():
            continue
        bits = _bits(table)
        require(len(kinds) == len(feature), "it does not have a kind of every split")
        place_of = _floats(table, "threshold")
        require(len(place_of) == len(feature), "it does not have a threshold of every split")
        for node in np.flatnonzero(kinds & CATEGORICAL).tolist():
            place, column = place_of[node], int(feature[node])
            require(0 <= column < number, "a node asks for none of the columns")
            require(place in range(len(bits)), "a split by category has none")
            used.setdefault(column, set()).update(bits[int(place)].tolist())
            require(max(used[column], default=0) < MAX_CODES, f"a split names a category beyond {MAX_CODES}")
    return used


def _columns_with_missing(tables: list[dict[str, str]]) -> set[int]:
    found: set[int] = set()
    for table in tables:
        feature, kinds = _ints(table, "split_feature"), _ints(table, "decision_type")
        if len(feature) == len(kinds):
            found |= set(feature[(kinds >> 2) & 3 != NONE].tolist())
    return found


def _ints(table: Values, name: str, size: int | None = None) -> Int64[np.ndarray, " number"]:
    return ints_of(_floats(table, name, size), name, size)


def _floats(table: Values, name: str, size: int | None = None) -> Float64[np.ndarray, " number"]:
    try:
        numbers = np.array([float(own) for own in table.get(name, "").split()])
    except ValueError:
        raise ModelFileError(f"{name} is no list of numbers") from None
    return floats_of(numbers, name, size)


def _planes(table: Values, codes: Mapping[int, list[int]], num_columns: int, scale: float) -> NodePlanes:
    """The nodes of a tree: splits, and behind these its leaves."""
    num_leaves = whole_number(table.get("num_leaves"), "num_leaves", 1)
    if table.get("is_linear", "0") not in ("0", ""):
        raise InvalidInputError("the model has linear trees (linear_tree=True), whose leaves are lines and no numbers")
    value = _floats(table, "leaf_value", num_leaves)[:, None] * scale
    weight, count = _of_leaves(table, "leaf_weight", num_leaves), _of_leaves(table, "leaf_count", num_leaves)
    weight = weight if (weight > 0).any() else count
    if num_leaves == 1:
        return leaf_planes(value[0])
    size, none = num_leaves - 1, np.full(num_leaves, -1)
    feature, kinds = _ints(table, "split_feature", size), _ints(table, "decision_type", size)
    require(((feature >= 0) & (feature < num_columns)).all(), "a node asks for none of the columns")
    threshold, is_word = _floats(table, "threshold", size), kinds & CATEGORICAL == CATEGORICAL
    left, right = (_child(_ints(table, f"{side}_child", size), num_leaves) for side in ("left", "right"))
    return NodePlanes(
        feature=np.append(feature, none),
        left=np.append(left, none),
        right=np.append(right, none),
        limit=np.append(np.where(is_word, 0.0, ThresholdRule.ABOVE_MIDDLE.limits(threshold)), np.zeros(num_leaves)),
        missing_left=np.append(_missing_left(kinds, threshold, is_word), np.zeros(num_leaves, bool)),
        codes=_to_the_right(table, codes, feature, threshold, is_word),
        value=np.concatenate([np.zeros((size, 1)), value]),
        weight=np.append(np.zeros(size), weight),
        num_rows=np.append(
            _of_leaves(table, "internal_count", size), np.clip(np.nan_to_num(count), 0, 2**31 - 1)
        ).astype(np.int64),
        gain=np.append(_of_leaves(table, "split_gain", size), np.zeros(num_leaves)),
        root=np.zeros(1, np.int64),
    )


def _of_leaves(table: Values, name: str, size: int) -> Float64[np.ndarray, " number"]:
    """Numbers that a file may lack."""
    numbers = _floats(table, name)
    require(len(numbers) in (0, size), f"{name} must have {size} numbers, got {len(numbers)}")
    return np.where(np.isfinite(numbers), numbers, 0.0) if len(numbers) else np.zeros(size)


def _child(child: Int64[np.ndarray, " split"], num_leaves: int) -> Int64[np.ndarray, " split"]:
    """The children of splits; a leaf is a negative number in the file, and stands behind all splits here."""
    require(((child >= -num_leaves) & (child < num_leaves - 1)).all(), "a node has a child that there is not")
    return np.where(child < 0, num_leaves - 2 - child, child)


def _missing_left(kinds: Int64[np.ndarray, " split"], threshold: Float64[np.ndarray, " split"], is_word: Any) -> Any:
    """Whether missing values go to the left; raises InvalidInputError where zeros leave the side of their number."""
    handling, by_default, as_zero = (kinds >> 2) & 3, kinds & DEFAULT_LEFT == DEFAULT_LEFT, threshold >= 0
    require((handling != 3).all(), "a node has an unknown kind of missing values")
    if ((handling == ZERO) & (by_default != as_zero) & ~is_word).any():
        raise InvalidInputError(
            "the model takes zeros for missing (zero_as_missing=True), and sends them to the other side of a threshold "
            "than their number: jaxtree has no such split; fit with NaN in their place"
        )
    return ~is_word & np.where(handling == NONE, as_zero, by_default)


def _to_the_right(
    table: Values,
    numbers: Mapping[int, list[int]],
    feature: Int64[np.ndarray, " split"],
    threshold: Float64[np.ndarray, " split"],
    is_word: Any,
) -> dict[int, Int64[np.ndarray, " _code"]]:
    """The places of the categories that go to the right: all that are not listed."""
    if not is_word.any():
        return {}
    bits = _bits(table)
    return {
        node: np.flatnonzero(~np.isin(numbers[int(feature[node])], bits[int(threshold[node])]))
        for node in np.flatnonzero(is_word).tolist()
    }
