"""Scores of settings of a tree on all folds: those that differ in prunings alone are masks of one growth."""

import copy
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jaxtree.errors import present
from jaxtree.estimators.common.conventions import Role, identity, key_of, names_of
from jaxtree.estimators.common.growing import GrowthTask
from jaxtree.estimators.common.jobs import Job
from jaxtree.estimators.common.limits import limit_masks
from jaxtree.estimators.common.prunings import Pruning
from jaxtree.estimators.trees.base import BaseTree, GrownTree
from jaxtree.prune.validation import HeldOut, hold_out
from jaxtree.search.evaluation import Fitted, Search
from jaxtree.search.scoring import NodeMetric, metric_of, outcome
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer
from jaxtree.tree import Tree
from jaxtree.tree.model import FittedModel
from jaxtree.tree.paths import stop_at

Scores = dict[str, Float[np.ndarray, " setting"]]


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


def grow_and_score(search: Search, jobs: Sequence[Job]) -> Iterator[Mapping[int, Fitted]]:
    """Grows the trees of jobs together, and yields the results of those that have a tree in common, by their places."""
    error, metrics = None, _metrics(search)
    for grown in type(jobs[0].estimator).grow_jobs(jobs):
        try:
            fold: Any = jobs[grown.places[0]].part
            settings = [copy.copy(grown.estimator) for _ in grown.places]
            for setting, place in zip(settings, grown.places, strict=True):
                vars(setting).update(vars(jobs[place].estimator))
            results = _score_group(search, settings, _sent_down(search, grown, fold.number), metrics)
        except Exception as failed:
            # Scores of other trees do not depend on it.
            error = error or failed
            continue
        yield {place: Fitted(result) for place, result in zip(grown.places, results, strict=True)}
    if error is not None:
        raise error


def _metrics(search: Search) -> dict[str, NodeMetric]:
    """The metrics by name, "score" if there is one alone; none if any takes the rows themselves."""
    scorers = getattr(search.scorer, "_scorers", None) or {"score": search.scorer}
    metrics: dict[str, Any] = {name: metric_of(scorer, search.estimator) for name, scorer in scorers.items()}
    takes_rows = set(search.score_params) - {"sample_weight"} or None in metrics.values()
    return {} if takes_rows else metrics


def _sent_down(search: Search, grown: GrownTree, number: int) -> _GrownFold:
    """Returns a grown tree with the rows of a fold at its nodes."""
    estimator, task, tree, _, seconds = grown
    model = estimator.model_of(estimator.in_table_units(tree, task))
    train, test = search.splits[number]
    parts = {"test": test, "train": train} if search.return_train_score else {"test": test}
    rows = {name: _send_down(search, estimator, model, part, train) for name, part in parts.items()}
    return _GrownFold(estimator, task, tree, model, rows, seconds)


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
    search: Search, settings: Sequence[BaseTree], fold: _GrownFold, metrics: dict[str, NodeMetric]
) -> list[dict[str, Any]]:
    """The results of the settings of a tree on one fold."""
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
    setting.finish_fit(setting.within_limits(fold.tree, fold.task), fold.task)
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


def masks_of(
    settings: Sequence[BaseTree], tree: Tree, task: GrowthTask, held: HeldOut | None
) -> Bool[np.ndarray, "setting node"]:
    """Returns the nodes that every setting collapses of a tree that was grown with the loosest limits of all.

    Args:
        settings: The estimator with the parameters of every setting, as it begins to fit.
        tree: The tree.
        task: The rows that it was grown on, and how.
        held: The held-out rows of settings that prune with such.
    """
    masks = limit_masks(settings, tree, task)
    stages = [setting.list_prunings() for setting in settings]
    labels = settings[0].node_labels(tree)
    for stage in range(max(map(len, stages))):
        prunings = {i: own[stage] for i, own in enumerate(stages) if stage < len(own)}
        for members, pruning, key in _alike(settings, prunings, masks):
            stopped = stop_at(tree, masks[members[0]])
            masks[members] |= pruning.collapsed(stopped, key=key, held=held, label=labels)
    return masks


def votes_of(
    settings: Sequence[BaseTree], tree: Tree, masks: Bool[np.ndarray, "setting node"]
) -> dict[int, Float[np.ndarray, "node column"]]:
    """Returns the prediction at each node, by the number of every setting whose pruning is a vote."""
    prunings = {i: s.pruning for i, s in enumerate(settings) if s.pruning is not None and s.pruning.votes}
    own_votes, votes = settings[0].model_of(tree).node_votes(), {}
    for members, pruning, key in _alike(settings, prunings, masks):
        of_members = np.asarray(pruning.vote(stop_at(tree, masks[members[0]]), own_votes, key=key))
        votes.update(zip(members, np.broadcast_to(of_members, (len(members), *own_votes.shape)), strict=True))
    return votes


def _alike(
    settings: Sequence[BaseTree], prunings: dict[int, Pruning], masks: Bool[np.ndarray, "setting node"]
) -> Iterable[tuple[list[int], Pruning, PRNGKeyArray | None]]:
    """Settings that one call prunes: of the same tree so far, with prunings that differ in batched parameters alone."""
    groups: dict[Hashable, list[int]] = {}
    for number, pruning in prunings.items():
        batched = names_of(pruning, Role.BATCHED)
        fixed = tuple((name, identity(v)) for name, v in sorted(vars(pruning).items()) if name not in batched)
        drawn = settings[number].random_state if pruning.draws_masks else None
        kind = (masks[number].tobytes(), type(pruning), fixed, drawn)
        groups.setdefault(kind, []).append(number)
    for members in groups.values():
        pruning = prunings[members[0]]
        key = key_of(settings[members[0]].random_state) if pruning.draws_masks else None
        yield members, _batched([prunings[number] for number in members]), key


def _batched(prunings: Sequence[Pruning]) -> Pruning:
    """One pruning with arrays of the parameters in which all differ."""
    batch: Any = copy.copy(prunings[0])
    for name in names_of(batch, Role.BATCHED) if len(prunings) > 1 else ():
        setattr(batch, name, np.array([getattr(pruning, name) for pruning in prunings]))
    return batch
