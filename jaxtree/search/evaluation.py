"""Scores of all candidates of a search on all folds, with one growth for those that differ in prunings alone."""

import copy
import itertools
import time
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone
from sklearn.model_selection._validation import _fit_and_score, _score
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from jaxtree.estimators.base import BaseTree
from jaxtree.estimators.growing import grow_tables
from jaxtree.estimators.sample import Encoded, PreparedFit
from jaxtree.prune.validation import HeldOut, hold_out
from jaxtree.search.scoring import NodeMetric, Outcome, metric_of, outcome
from jaxtree.search.settings import Parameters, configured, group_by_growth, limit_masks, loosest, masks_of, votes_of
from jaxtree.tree import FittedModel, Predictor, Tree, take_tree

Scores = dict[str, Float[np.ndarray, " setting"]]


class Search(NamedTuple):
    """What is searched.

    Attributes:
        estimator: The estimator.
        candidates: The parameters of every setting.
        X: The table.
        y: The target.
        splits: The rows of the training and of the test part of every fold.
        scorer: A scorer of scikit-learn, one or several.
        fit_params: What `fit` is given beside, split like the rows.
        score_params: What the scorer is given beside.
        error_score: The score where a fit fails, or "raise".
        return_train_score: Whether the training part is scored, too.
    """

    estimator: BaseTree
    candidates: Sequence[Parameters]
    X: Any
    y: Any
    splits: Sequence[tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]]
    scorer: Any
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    error_score: Any
    return_train_score: bool


class _ScoredRows(NamedTuple):
    """A part of a fold as the scorer sees it, and its rows at the nodes of the fold's tree."""

    X: Any
    y: Any
    score_params: dict[str, Any]
    held: HeldOut | None


class _GrownFold(NamedTuple):
    """The tree grown on the training part of a fold."""

    estimator: BaseTree
    start: PreparedFit
    tree: Tree
    in_units: Tree
    parts: dict[str, _ScoredRows]
    seconds: float


Results = list[list[dict[str, Any] | None]]


def evaluate(search: Search, results: Results, on_scored: Callable[[int], None]) -> None:
    """Fills in the results of every candidate and fold, in the form of scikit-learn's `_fit_and_score`.

    Args:
        search: What is searched.
        results: A row for every candidate, with None for every fold.
        on_scored: Called with the number of further results.
    """
    encodings: dict[Any, Encoded] = {}
    metrics = _metrics(search)
    for group in group_by_growth(search.estimator, search.candidates):
        folds = None
        if _can_share_growth(search):
            folds = _try_to_grow(search, group, encodings)
        for number in range(len(search.splits)):
            fold = None if folds is None else folds[number]
            scored = None if fold is None else _try_to_score(search, group, fold, metrics)
            if scored is None:
                scored = [_fit(search, candidate, number) for candidate in group]
            for candidate, result in zip(group, scored, strict=True):
                results[candidate][number] = result
            on_scored(len(group))


def _can_share_growth(search: Search) -> bool:
    """Whether a fit is what jaxtree makes of it, and leaves no trace on others: a generator draws anew for each."""
    if _overrides(type(search.estimator)):
        return False
    states = [search.estimator.random_state, *(c.get("random_state") for c in search.candidates)]
    return all(state is None or isinstance(state, int | np.integer) for state in states)


def _overrides(kind: type) -> bool:
    """Whether a class from elsewhere has methods of its own, by which trees may grow or predict in another way."""
    foreign = itertools.takewhile(lambda own: not own.__module__.startswith("jaxtree."), kind.__mro__)
    methods = types.FunctionType | property | classmethod | staticmethod
    return any(
        isinstance(value, methods) and not name.startswith("__") for own in foreign for name, value in vars(own).items()
    )


def _metrics(search: Search) -> dict[str, NodeMetric] | None:
    """The metrics by name, "score" if there is one alone; None if any takes the rows themselves."""
    scorers = getattr(search.scorer, "_scorers", None) or {"score": search.scorer}
    metrics = {name: metric_of(scorer, search.estimator) for name, scorer in scorers.items()}
    if set(search.score_params) - {"sample_weight"} or any(metric is None for metric in metrics.values()):
        return None
    return {name: metric for name, metric in metrics.items() if metric is not None}


def _try_to_grow(search: Search, group: list[int], encodings: dict[Any, Encoded]) -> list[_GrownFold] | None:
    """The folds' trees; None where a fit fails, so that each candidate fails by itself."""
    try:
        return _grow(search, group, encodings)
    except Exception:
        return None


def _try_to_score(
    search: Search, group: list[int], fold: _GrownFold, metrics: dict[str, NodeMetric] | None
) -> list[dict[str, Any]] | None:
    """The results of a group on a fold; None where a pruning fails, so that each candidate fails by itself."""
    try:
        return _score_group(search, group, fold, metrics)
    except Exception:
        return None


def _grow(search: Search, group: list[int], encodings: dict[Any, Encoded]) -> list[_GrownFold]:
    """Grows the trees of all folds as roots of one growth, with limits that suit every candidate."""
    began = time.perf_counter()
    loose = loosest(search.estimator, [search.candidates[i] for i in group])
    begun: list[tuple[BaseTree, PreparedFit, dict[str, tuple]]] = []
    for number, (train, test) in enumerate(search.splits):
        estimator = copy.copy(loose)
        X, y = _safe_split(estimator, search.X, search.y, train)
        params = _check_method_params(search.X, params=search.fit_params, indices=train)
        kind = (number, repr(sorted(vars(estimator.make_encoder()).items())))
        start = estimator.prepare_fit(X, y, **params, encoded=encodings.get(kind))
        if start.sample.num_rows == len(train) and start.validation is None:
            encodings.setdefault(kind, Encoded(estimator.encoder_, start.encoded.codes))
        parts = {"test": (*_safe_split(estimator, search.X, search.y, test, train), test)}
        if search.return_train_score:
            parts["train"] = (X, y, train)
        begun.append((estimator, start, parts))
    trees = grow_tables([start.encoded for _, start, _ in begun])
    seconds = (time.perf_counter() - began) / (len(begun) * len(group))
    return [_fold(search, *made, tree, seconds) for made, tree in zip(begun, trees, strict=True)]


def _fold(
    search: Search, estimator: BaseTree, start: PreparedFit, parts: dict[str, tuple], tree: Tree, seconds: float
) -> _GrownFold:
    in_units = estimator.in_table_units(tree, start)
    predictor = Predictor(in_units)
    rows = {}
    for name, (X, y, numbers) in parts.items():
        params = _check_method_params(search.X, params=search.score_params, indices=numbers)
        held = _hold(estimator, in_units, predictor, X, y, params.get("sample_weight"))
        rows[name] = _ScoredRows(X, y, params, held)
    return _GrownFold(estimator, start, tree, in_units, rows, seconds)


def _hold(estimator: BaseTree, tree: Tree, predictor: Predictor, X: Any, y: Any, weight: Any) -> HeldOut | None:
    """The rows at the nodes; None where sums at nodes do not tell what is predicted of each."""
    parts = predictor.instances(estimator.encoder_.values(X))
    if estimator.n_outputs_ != 1 or parts.row.size != len(y):
        return None
    target = estimator.read_target(y)
    weight = None if weight is None else np.asarray(weight, np.float64)[parts.row]
    return hold_out(tree, parts.node, target[:, parts.row], weight)


def _score_group(
    search: Search, group: list[int], fold: _GrownFold, metrics: dict[str, NodeMetric] | None
) -> list[dict[str, Any]]:
    """The results of the candidates of a group on one fold."""
    settings = [configured(fold.estimator, search.candidates[i]) for i in group]
    results: list[dict[str, Any] | None] = [None] * len(group)
    by_node = [i for i, setting in enumerate(settings) if setting.prunes_by_masks() and _fits(fold, metrics)]
    if by_node and metrics is not None:
        began = time.perf_counter()
        scores = _scores_at_nodes(fold, [settings[i] for i in by_node], metrics)
        seconds = (time.perf_counter() - began) / len(by_node)
        for position, i in enumerate(by_node):
            own = {part: {name: float(s[position]) for name, s in of.items()} for part, of in scores.items()}
            results[i] = _result(fold, own, seconds, is_one=not hasattr(search.scorer, "_scorers"))
    return [_score_fitted(search, fold, settings[i]) if r is None else r for i, r in enumerate(results)]


def _fits(fold: _GrownFold, metrics: dict[str, NodeMetric] | None) -> bool:
    if metrics is None:
        return False
    classes = getattr(fold.estimator, "classes_", np.zeros(0))
    held = [rows.held for rows in fold.parts.values() if rows.held is not None]
    return len(held) == len(fold.parts) and all(m.fits(h, classes) for m in metrics.values() for h in held)


def _scores_at_nodes(
    fold: _GrownFold, settings: Sequence[BaseTree], metrics: dict[str, NodeMetric]
) -> dict[str, Scores]:
    """The scores of every part of a fold by every metric, for settings that are masks of its tree."""
    estimator, tree = fold.estimator, fold.in_units
    needs = any(s.pruning is not None and s.pruning.needs_validation for s in settings)
    pruned_with = estimator.hold_out_validation(fold.tree, fold.start) if needs else None
    masks = masks_of(settings, fold.tree, fold.start, pruned_with)
    votes = votes_of(settings, tree, masks)
    unique, number = np.unique(masks, axis=0, return_inverse=True)
    plain = estimator.model_of(tree)
    scores: dict[str, Scores] = {}
    for part, rows in fold.parts.items():
        held: Any = rows.held
        own = outcome(tree, unique, held, _labels(plain), plain.node_value, getattr(estimator, "classes_", np.zeros(0)))
        scores[part] = {name: metric.scores(own)[number.reshape(-1)] for name, metric in metrics.items()}
        for i, said in votes.items():
            voted = _outcome_of_vote(own, int(number.reshape(-1)[i]), _labels(plain.with_votes(said)), said)
            for name, metric in metrics.items():
                scores[part][name][i] = metric.scores(voted)[0]
    return scores


def _labels(model: FittedModel) -> Int[np.ndarray, " node"]:
    """The class of every node; 0 for numbers."""
    return np.zeros(len(model.node_value), np.int64) if model.node_label is None else model.node_label[0]


def _outcome_of_vote(rows: Outcome, mask: int, labels: Any, shares: Any) -> Outcome:
    """What becomes of the rows under one mask, where nodes say something else."""
    one = slice(mask, mask + 1)
    return rows._replace(stops=rows.stops[one], goes_on=rows.goes_on[one], labels=labels, shares=shares)


def _score_fitted(search: Search, fold: _GrownFold, setting: BaseTree) -> dict[str, Any]:
    """The result of a setting on a fold by scikit-learn's scorer, with the tree already grown."""
    began = time.perf_counter()
    setting.finish_fit(_limited(fold, setting), fold.start)
    pruned = time.perf_counter()
    scores = {
        part: _score(setting, rows.X, rows.y, search.scorer, rows.score_params, search.error_score)
        for part, rows in fold.parts.items()
    }
    result = _result(fold, scores, time.perf_counter() - pruned, is_one=False)
    result["fit_time"] += pruned - began
    return result


def _limited(fold: _GrownFold, setting: BaseTree) -> Tree:
    """The fold's tree as it would have grown with the limits of a setting."""
    return take_tree(fold.tree, collapsed=limit_masks([setting], fold.tree, fold.start)[0])


def _result(fold: _GrownFold, scores: dict[str, Any], seconds: float, *, is_one: bool) -> dict[str, Any]:
    """A result in scikit-learn's form."""
    result: dict[str, Any] = {"fit_error": None, "fit_time": fold.seconds, "score_time": seconds}
    for part, of in scores.items():
        result[f"{part}_scores"] = of["score"] if is_one else of
    return result


def _fit(search: Search, candidate: int, number: int) -> dict[str, Any]:
    """The result of fitting a candidate by itself, as scikit-learn's search does."""
    train, test = search.splits[number]
    return _fit_and_score(
        clone(search.estimator), search.X, search.y, scorer=search.scorer, train=train, test=test, verbose=0,
        parameters=search.candidates[candidate], fit_params=search.fit_params, score_params=search.score_params,
        return_train_score=search.return_train_score, return_times=True, error_score=search.error_score,
    )  # fmt: skip
