"""Boosted trees, and trees and forests of numbers, as text of LightGBM."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxtree.errors import InvalidInputError
from jaxtree.export.conditions import Question
from jaxtree.foreign.lightgbm_models import CATEGORICAL, DEFAULT_LEFT, NAN
from jaxtree.foreign.sums import SumOfTrees, SumTree, as_numbers, number_parameter, sum_of
from jaxtree.losses.links import name_of_link
from jaxtree.table.schema import Column

GREATEST = 1.7e308
"""A threshold that is above all numbers."""


def to_lightgbm(estimator: Any, *, no_missing: bool = False) -> str:
    """Returns boosted trees, or a tree or forest of numbers, as the text of a model of LightGBM.

    `lightgbm.Booster(model_str=text)` reads it, and `lightgbm.Booster(model_file=...)` from a file. Rows are
    `estimator.encoder_.values(X)`: a number as it is, a truth value as 0 or 1, a word as its place among the
    categories. Predictions differ by some parts in 10^15, of numbers that are not closer to 0 than 1e-35.

    A loss that LightGBM does not have, such as "pseudo_huber", becomes "regression" if its predictions are scores.

    Args:
        estimator: A fitted estimator of one output.
        no_missing: Allows a tree that shares out rows whose value is missing, for rows without any.

    Raises:
        InvalidInputError: LightGBM has no such model: trees of classes, and forests of these, average shares; or the
            loss has several scores, or predicts by another link, or survival times.
        InvalidTypeError: It is no tree or forest of jaxtree with hard splits.

    Example:
        >>> from jaxtree import GradientBoostingRegressor, from_lightgbm
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0.0, 0.0, 1.0, 1.0]
        >>> model = GradientBoostingRegressor(1, learning_rate=1.0, min_samples_leaf=1, reg_lambda=0.0).fit(X, y)
        >>> from_lightgbm(to_lightgbm(model).encode()).predict(X).tolist()
        [0.0, 0.0, 1.0, 1.0]
    """
    model = sum_of(estimator, "LightGBM", no_missing=no_missing)
    objective, columns = _objective(model), model.schema.columns
    header = {
        "version": "v4",
        "num_class": model.num_scores,
        "num_tree_per_iteration": model.num_scores,
        "label_index": 0,
        "max_feature_idx": len(columns) - 1,
        "objective": objective,
        "feature_names": " ".join(_names(model)),
        "feature_infos": " ".join(map(_info, columns)),
    }
    trees = [f"Tree={number}\n{_tree(tree, model)}\n" for number, tree in enumerate(model.trees)]
    return "\n".join(["tree", _lines(header), "", *trees, "end of trees\n", ""])


def _lines(values: dict[str, Any]) -> str:
    return "\n".join(f"{name}={value}" for name, value in values.items())


def _names(model: SumOfTrees) -> list[str]:
    """The names of columns in the letters that LightGBM allows; their places where there are none, or two alike."""
    names = [re.sub(r"[^\w.-]", "_", name) for name in model.schema.column_names]
    return (
        names
        if model.is_named and len(set(names)) == len(names)
        else [f"Column_{place}" for place in range(len(names))]
    )


def _info(column: Column) -> str:
    if column.kind == "boolean":
        return "[0:1]"
    if column.bins is None:
        return ":".join(map(str, range(max(column.num_values, 1))))
    return f"[{float(column.bins.low[0])!r}:{float(column.bins.high[-1])!r}]" if column.num_values else "none"


def _objective(model: SumOfTrees) -> str:
    """The objective that predicts as the loss does."""
    loss, several = model.loss, model.num_scores > 1
    names = {
        "absolute": "regression_l1",
        "huber": "huber",
        "logistic": "binary sigmoid:1" if model.of_classes else "cross_entropy",
        "poisson": "poisson",
        "gamma": "gamma",
        "ndcg": "lambdarank",
        "map": "lambdarank",
        "pairwise": "lambdarank",
    }
    if loss.name == "softmax":
        return f"multiclass num_class:{model.num_scores}"
    if loss.name == "quantile":
        return f"quantile alpha:{number_parameter(loss, 'level')!r}"
    if loss.name == "tweedie":
        return f"tweedie tweedie_variance_power:{number_parameter(loss, 'power')!r}"
    name = names.get(loss.name, "regression" if name_of_link(loss) == "identity" else None)
    if name is None or several:
        raise InvalidInputError(
            f"LightGBM has no objective that predicts as {loss} with {model.num_scores} scores: it has one target, and "
            "identities, exponentials of means, sigmoids and softmax"
        )
    return name


def _tree(tree: SumTree, model: SumOfTrees) -> str:
    """The lines of a tree, whose splits and leaves are numbered apart."""
    is_end = np.array([own.is_end for own in tree.questions])
    split, leaf = np.flatnonzero(~is_end), np.flatnonzero(is_end)
    number = np.where(is_end, ~(np.cumsum(is_end) - 1), np.cumsum(~is_end) - 1)
    bounds, words, rows = [0], [], []
    for place in split.tolist():
        asked = as_numbers(tree.questions[place], model.schema)
        column = model.schema.columns[asked.column]
        if column.kind in ("numeric", "boolean"):
            threshold, bits = repr(min(float(asked.limit), GREATEST)), DEFAULT_LEFT * asked.missing_is_yes + 4 * NAN
            rows.append((asked.column, threshold, bits, number[asked.yes], number[asked.no]))
            continue
        left, (yes, no) = _left_codes(asked, column)
        rows.append((asked.column, len(bounds) - 1, CATEGORICAL, number[yes], number[no]))
        words += _words(left)
        bounds.append(len(words))
    values: dict[str, Any] = {"num_leaves": len(leaf), "num_cat": len(bounds) - 1}
    names = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
    lists: dict[str, Sequence[Any]] = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    lists |= {"split_gain": _texts(tree.gain[split]), "leaf_value": _texts(tree.value[leaf])}
    lists |= {"leaf_weight": _texts(tree.weight[leaf]), "leaf_count": tree.num_rows[leaf].astype(int).tolist()}
    lists |= {"internal_value": _texts(tree.value[split]), "internal_weight": _texts(tree.weight[split])}
    lists["internal_count"] = tree.num_rows[split].astype(int).tolist()
    if len(bounds) > 1:
        lists |= {"cat_boundaries": bounds, "cat_threshold": words}
    values |= {name: " ".join(map(str, own)) for name, own in lists.items()}
    return _lines({**values, "is_linear": 0, "shrinkage": 1}) + "\n"


def _left_codes(asked: Question, column: Column) -> tuple[list[int], tuple[int, int]]:
    """The codes that go to the left, and what follows there and on the right, where missing values go."""
    codes = asked.codes or tuple(range(column.num_values))
    if not asked.missing_is_yes:
        return list(codes), (asked.yes, asked.no)
    return sorted(set(range(column.num_values)) - set(codes)), (asked.no, asked.yes)


def _words(codes: list[int]) -> list[int]:
    """Bits of codes in words of 32."""
    words = [0] * (max(codes, default=0) // 32 + 1)
    for code in codes:
        words[code // 32] |= 1 << code % 32
    return words


def _texts(numbers: Any) -> list[str]:
    return [repr(float(own)) for own in numbers]
