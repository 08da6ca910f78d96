"""Scores of all candidates of a search on all folds, with one growth for those that differ in prunings alone."""

import copy
import itertools
import time
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int, Shaped
from sklearn.base import clone, is_classifier

from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InterruptedFitWarning, present
from jaxtree.estimators.common.conventions import Role, names_of
from jaxtree.estimators.common.growing import GrowthTask, grow_tables
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.prune.validation import HeldOut, hold_out
from jaxtree.search.scoring import NodeMetric, metric_of, outcome
from jaxtree.search.settings import (
    Parameters,
    configured,
    group_by_growth,
    group_by_tree,
    limit_masks,
    loosest,
    masks_of,
    votes_of,
)
from jaxtree.sklearn_compat import check_method_params, fit_and_score, safe_split, score_by_scorer
from jaxtree.table.weights import rows_of_weight
from jaxtree.tree import Tree, take_tree
from jaxtree.tree.model import FittedModel

Scores = dict[str, Float[np.ndarray, " setting"]]


class Search(NamedTuple):
    """The task of a search.

    Attributes:
        estimator: The estimator.
        candidates: The parameters of every setting.
        X: The table.
        y: The target.
        splits: The rows of the training and of the test part of every fold.
        scorer: A scorer of scikit-learn, one or several.
        fit_params: Further arguments of `fit`, split like the rows.
        score_params: Further arguments of the scorer.
        error_score: The score where a fit fails, or "raise".
        return_train_score: Whether the training part is scored, too.
        mesh: The devices that boosted models of one program are divided among; None for one.
    """

    estimator: Any
    candidates: Sequence[Parameters]
    X: Any
    y: Any
    splits: Sequence[tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]]
    scorer: Any
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    error_score: Any
    return_train_score: bool
    mesh: Mesh | None = None

    @property
    def classes(self) -> Shaped[np.ndarray, " class"] | None:
        """The classes of the rows of weight; None for numbers."""
        if not is_classifier(self.estimator):
            return None
        y, there = np.asarray(self.y), rows_of_weight(self.fit_params.get("sample_weight"), self.y)
        return np.unique(y if there is None else y[there])


class _ScoredRows(NamedTuple):
    """A part of a fold as the scorer sees it, and its rows at the nodes of the fold's tree."""

    X: Any
    y: Any
    score_params: dict[str, Any]
    held: HeldOut | None


class _GrownFold(NamedTuple):
    """The tree grown on the training part of a fold; its thresholds are codes, those of the model the table's."""

    estimator: BaseTree
    task: GrowthTask
    tree: Tree
    model: FittedModel
    parts: dict[str, _ScoredRows]
    seconds: float


Results = list[list[dict[str, Any] | None]]


def evaluate(search: Search, results: Results, on_scored: Callable[[int], None]) -> None:
    """Fills in the results of every candidate and fold, in the form of scikit-learn's `fit_and_score`.

    Args:
        search: The task.
        results: A row for every candidate, with None for every fold.
        on_scored: Called with the number of further results.
    """
    encodings: dict[Any, Dataset] = {}
    metrics, can_share = _metrics(search), can_share_growth(search)
    for group in group_by_growth(search.estimator, search.candidates):
        trees = group_by_tree(search.estimator, search.candidates, group)
        grown = unless_it_fails(_grow, search, trees, encodings) if can_share else None
        for place, (number, own) in enumerate(itertools.product(range(len(search.splits)), trees)):
            scored = grown and unless_it_fails(_score_group, search, own, grown[place], metrics)
            scored = scored or [fit_alone(search, candidate, number) for candidate in own]
            for candidate, result in zip(own, scored, strict=True):
                results[candidate][number] = result
            on_scored(len(own))


def until_interrupted(fit: Callable[[], Any]) -> tuple[Any, bool]:
    """Calls what fits; returns the result, and whether an interrupt has ended it early, of which no warning tells."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InterruptedFitWarning)
        fitted = fit()
    is_of_interrupt = [str(own.message).startswith("fit was interrupted") for own in caught]
    for own, is_left_out in zip(caught, is_of_interrupt, strict=True):
        if not is_left_out:
            warnings.warn_explicit(own.message, own.category, own.filename, own.lineno)
    return fitted, any(is_of_interrupt)


def unless_it_fails(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the results of a function, or None where it fails, so that each candidate fails by itself."""
    try:
        return function(*arguments)
    except Exception:
        return None


def can_share_growth(search: Search) -> bool:
    """Returns whether fits are what jaxtree makes of them, and leave no trace: a generator draws anew for each."""
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


def _metrics(search: Search) -> dict[str, NodeMetric]:
    """The metrics by name, "score" if there is one alone; none if any takes the rows themselves."""
    scorers = getattr(search.scorer, "_scorers", None) or {"score": search.scorer}
    metrics: dict[str, Any] = {name: metric_of(scorer, search.estimator) for name, scorer in scorers.items()}
    takes_rows = set(search.score_params) - {"sample_weight"} or None in metrics.values()
    return {} if takes_rows else metrics


def _grow(search: Search, trees: list[list[int]], encodings: dict[Any, Dataset]) -> list[_GrownFold]:
    """Grows the trees of all folds as roots of one growth, with limits that suit every candidate.

    Returns every fold's trees, one after the other, of which each suits the candidates of one list.
    """
    began = time.perf_counter()
    settings = [loosest(search.estimator, [search.candidates[i] for i in own]) for own in trees]
    loose = loosest(search.estimator, [search.candidates[i] for own in trees for i in own])
    begun: list[tuple[BaseTree, GrowthTask]] = []
    for number, (train, _) in enumerate(search.splits):
        estimator = copy.copy(loose)
        X, y = safe_split(estimator, search.X, search.y, train)
        params = check_method_params(search.X, params=search.fit_params, indices=train)
        kind = (number, repr(sorted(vars(estimator.make_encoder()).items())))
        task = estimator.growth_task(X, y, **params, same_as=encodings.get(kind))
        estimator.learn(task.data)
        if task.data.whole.num_rows == len(train) and task.data.held is None:
            encodings.setdefault(kind, task.data)
        begun += [(estimator, task)] if len(trees) == 1 else [_begun_as(own, estimator, task) for own in settings]
    grown = grow_tables([task for _, task in begun])
    seconds = (time.perf_counter() - began) / (len(search.splits) * sum(map(len, trees)))
    folds = []
    parts_of_folds = itertools.chain.from_iterable(itertools.repeat(split, len(trees)) for split in search.splits)
    for (estimator, task), tree, (train, test) in zip(begun, grown, parts_of_folds, strict=True):
        model = estimator.model_of(estimator.in_table_units(tree, task))
        parts = {"test": test, "train": train} if search.return_train_score else {"test": test}
        rows = {name: _send_down(search, estimator, model, part, train) for name, part in parts.items()}
        folds.append(_GrownFold(estimator, task, tree, model, rows, seconds))
    return folds


def _begun_as(setting: BaseTree, estimator: BaseTree, task: GrowthTask) -> tuple[BaseTree, GrowthTask]:
    """A fit that has begun, on the same rows with the parameters of a setting whose tree is another."""
    own = configured(estimator, {name: getattr(setting, name) for name in names_of(setting, Role.PATH)})
    return own, GrowthTask(task.data, own.make_recipe(task.data))


def _send_down(
    search: Search,
    estimator: BaseTree,
    model: FittedModel,
    part: Int[np.ndarray, " part"],
    train: Int[np.ndarray, " train"],
) -> _ScoredRows:
    """The rows of a part at the nodes; none where sums at nodes do not give the prediction of each."""
    X, y = safe_split(estimator, search.X, present(search.y), part, train)
    params = check_method_params(search.X, params=search.score_params, indices=part)
    visits = model.predictor.instances(estimator.encoder_.values(X))
    if estimator.n_outputs_ != 1 or visits.row.size != len(present(y)):
        return _ScoredRows(X, y, params, None)
    weight = params.get("sample_weight")
    weight = None if weight is None else np.asarray(weight, np.float64)[visits.row]
    held = hold_out(model.tree, visits.node, estimator.read_target(y)[:, visits.row], weight)
    return _ScoredRows(X, y, params, held)


def _score_group(
    search: Search, group: list[int], fold: _GrownFold, metrics: dict[str, NodeMetric]
) -> list[dict[str, Any]]:
    """The results of the candidates of a group on one fold."""
    settings = [configured(fold.estimator, search.candidates[i]) for i in group]
    results: dict[int, dict[str, Any]] = {}
    by_node = [i for i, setting in enumerate(settings) if setting.prunes_by_masks() and _fits(fold, metrics)]
    if by_node:
        began = time.perf_counter()
        scores = _scores_at_nodes(fold, [settings[i] for i in by_node], metrics)
        seconds = (time.perf_counter() - began) / len(by_node)
        for place, i in enumerate(by_node):
            own = {part: {name: float(s[place]) for name, s in of.items()} for part, of in scores.items()}
            is_one = not hasattr(search.scorer, "_scorers")
            results[i] = _result(fold, {part: of["score"] for part, of in own.items()} if is_one else own, seconds)
    return [results.get(i) or _score_fitted(search, fold, setting) for i, setting in enumerate(settings)]


def _fits(fold: _GrownFold, metrics: dict[str, NodeMetric]) -> bool:
    classes = getattr(fold.estimator, "classes_", np.zeros(0))
    held = [rows.held for rows in fold.parts.values() if rows.held is not None]
    fits = all(metric.fits(sums, classes) for metric in metrics.values() for sums in held)
    return bool(metrics) and len(held) == len(fold.parts) and fits


def _scores_at_nodes(
    fold: _GrownFold, settings: Sequence[BaseTree], metrics: dict[str, NodeMetric]
) -> dict[str, Scores]:
    """The scores of every part of a fold by every metric, for settings that are masks of its tree."""
    needs = any(s.pruning is not None and s.pruning.needs_validation for s in settings)
    pruned_with = fold.estimator.hold_out_validation(fold.tree, fold.task) if needs else None
    masks = masks_of(settings, fold.tree, fold.task, pruned_with)
    votes = votes_of(settings, fold.model.tree, masks)
    unique, number = np.unique(masks, axis=0, return_inverse=True)
    scores: dict[str, Scores] = {}
    for part, rows in fold.parts.items():
        held: Any = rows.held
        own = outcome(fold.model, unique, held)
        scores[part] = {name: metric.scores(own)[number.reshape(-1)] for name, metric in metrics.items()}
        for i, values in votes.items():
            voted = outcome(fold.model.with_votes(values), masks[i : i + 1], held)
            for name, metric in metrics.items():
                scores[part][name][i] = metric.scores(voted)[0]
    return scores


def _score_fitted(search: Search, fold: _GrownFold, setting: BaseTree) -> dict[str, Any]:
    """The result of a setting on a fold by scikit-learn's scorer, with the tree already grown."""
    began = time.perf_counter()
    # The fold's tree as it would have grown with the limits of the setting.
    limits = limit_masks([setting], fold.tree, fold.task)[0]
    setting.finish_fit(take_tree(fold.tree, collapsed=limits), fold.task)
    pruned = time.perf_counter()
    scores = {
        part: score_by_scorer(setting, rows.X, rows.y, search.scorer, rows.score_params, search.error_score)
        for part, rows in fold.parts.items()
    }
    result = _result(fold, scores, time.perf_counter() - pruned)
    return result | {"fit_time": fold.seconds + pruned - began}


def _result(fold: _GrownFold, scores: dict[str, Any], seconds: float) -> dict[str, Any]:
    """A result in scikit-learn's form."""
    times = {"fit_error": None, "fit_time": fold.seconds, "score_time": seconds}
    return times | {f"{part}_scores": of_part for part, of_part in scores.items()}


def fit_alone(search: Search, candidate: int, number: int) -> dict[str, Any]:
    """Returns the result of fitting a candidate by itself, as scikit-learn's search does."""
    train, test = search.splits[number]
    return fit_and_score(
        clone(search.estimator), search.X, search.y, scorer=search.scorer, train=train, test=test, verbose=0,
        parameters=search.candidates[candidate], fit_params=search.fit_params, score_params=search.score_params,
        return_train_score=search.return_train_score, return_times=True, error_score=search.error_score,
    )  # fmt: skip
