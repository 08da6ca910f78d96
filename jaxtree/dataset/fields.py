"""Fields: what rows have beside targets and weights, such as offsets, groups and events, that a loss asks for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Shaped

from jaxtree.errors import InvalidInputError

Fields = dict[str, Shaped[np.ndarray, "row *part"]]
"""Arrays by name, rows first."""

EXTRAS = ("offset", "group", "event", "upper")
"""The fields that jaxtree's own losses ask for."""

OTHER_NAMES = {
    "qid": "pass group=qid, the group of every row",
    "group_id": "pass group=group_id, the group of every row",
    "groups": "pass group=, the group of every row",
    "base_margin": "pass offset=base_margin",
    "init_score": "pass offset=init_score",
    "baseline": "pass offset=baseline",
    "exposure": "pass offset=numpy.log(exposure) to a loss whose scores are logarithms",
    "delta": "pass event=delta",
    "status": "pass event=status",
    "early_stopping_rounds": "make the estimator with early_stopping=True, n_iter_no_change=early_stopping_rounds",
    "eval_group": "give eval_set as [(X, y, {'group': group})]",
    "eval_qid": "give eval_set as [(X, y, {'group': qid})]",
    "eval_sample_weight": "give eval_set as [(X, y, weight)]",
    "sample_weight_eval_set": "give eval_set as [(X, y, weight)]",
    "eval_names": "give eval_set as a dict of tables by name",
    "eval_init_score": "give eval_set as [(X, y, {'offset': init_score})]",
    "base_margin_eval_set": "give eval_set as [(X, y, {'offset': base_margin})]",
    "eval_class_weight": "give eval_set as [(X, y, weight)]",
    "eval_at": "make the ranker with ndcg_at=eval_at",
    "feature_name": "name the columns of the table, as pandas and polars do",
    "xgb_model": "make the estimator with warm_start=True, and fit it again",
    "init_model": "make the estimator with warm_start=True, and fit it again",
    "use_best_model": "make the estimator with early_stopping=True",
    "X_val": "give eval_set as [(X_val, y_val)]",
    "y_val": "give eval_set as [(X_val, y_val)]",
    "sample_weight_val": "give eval_set as [(X_val, y_val, sample_weight_val)]",
    "verbose": "make the estimator with verbose=1, or verbose=10 for a line every 10 rounds",
    "verbose_eval": "make the estimator with verbose=verbose_eval",
    "logging_level": "make the estimator with verbose=1",
    "silent": "make the estimator with verbose=0",
    "plot": "draw evals_result_ after the fit",
    "categorical_feature": "make the estimator with categorical_features=categorical_feature",
    "cat_features": "make the estimator with categorical_features=cat_features",
}
"""How `fit` takes what other libraries call otherwise."""


def split_structured(y: Any, extras: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Returns a target of times and the event of every row, of a structured array with a field for each.

    So scikit-survival has them: one field of truth values, and one of numbers. Any other target stays as it is.

    >>> y = np.array([(True, 2.5), (False, 4.0)], dtype=[("died", bool), ("days", float)])
    >>> time, extras = split_structured(y, {})
    >>> time, extras["event"]
    (array([2.5, 4. ]), array([ True, False]))
    """
    dtype = getattr(y, "dtype", None)
    names = getattr(dtype, "names", None)
    if names is None or dtype is None:
        return y, dict(extras)
    events = [name for name in names if dtype[name].kind == "b"]
    if len(names) != 2 or len(events) != 1 or "event" in extras:
        raise InvalidInputError(
            f"y has the fields {', '.join(map(repr, names))}: pass one as y, or for survival times an array of two "
            "fields, the event (booleans) and the time"
        )
    time = next(name for name in names if name not in events)
    return y[time], {**extras, "event": y[events[0]]}


def read_fields(given: Mapping[str, Any], num_rows: int) -> Fields:
    """Reads fields as arrays; names of groups become whole numbers.

    Raises:
        InvalidInputError: One has another number of rows.
    """
    arrays = {name: np.asarray(values) for name, values in given.items() if values is not None}
    for name, values in arrays.items():
        if name in OTHER_NAMES and values.shape[:1] != (num_rows,):
            raise InvalidInputError(f"fit takes no {name!r}: {OTHER_NAMES[name]}")
        if values.shape[:1] != (num_rows,):
            sizes = name == "group" and values.dtype.kind in "iu" and values.sum() == num_rows
            hint = "; sizes of groups become groups of rows by np.repeat(np.arange(len(sizes)), sizes)" if sizes else ""
            raise InvalidInputError(
                f"{name} must have a value for each of {num_rows} rows, got shape {values.shape}{hint}"
            )
        if values.dtype == bool:
            arrays[name] = values.astype(np.int32)
    if "group" in arrays:
        arrays["group"] = np.unique(arrays["group"], return_inverse=True)[1].reshape(-1).astype(np.int32)
    return arrays
