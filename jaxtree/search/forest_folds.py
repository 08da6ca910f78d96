"""Scores of settings of a forest on all folds: the trees of settings that differ in prunings alone grow once a fold.

Such settings differ in limits of growth, in prunings, and in the number of trees: a forest of fewer trees has the first
ones of a larger one.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtree.dataset.dataset import Dataset
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.search.evaluation import Results, Search, can_share_growth, fit_alone, unless_it_fails, until_interrupted
from jaxtree.search.settings import configured, group_by_growth, loosest, masks_of_limits
from jaxtree.sklearn_compat import check_method_params, safe_split, score_by_scorer
from jaxtree.tree.forest import Forest, take_trees


class _GrownForest(NamedTuple):
    """The trees grown on the training part of a fold with the loosest limits of a group; thresholds are codes."""

    forest: BaseForest
    data: Dataset
    trees: Forest
    kept: Limits
    seconds: float


def evaluate_forests(search: Search, results: Results, on_scored: Callable[[int], None]) -> None:
    """Fills in the results of every candidate and fold, in the form of scikit-learn's `_fit_and_score`.

    Args:
        search: The task.
        results: A row for every candidate, with None for every fold.
        on_scored: Called with the number of further results.

    Raises:
        KeyboardInterrupt: There was an interrupt, which leaves the results that are known by then.
    """
    encodings: dict[Any, Dataset] = {}
    can_share = can_share_growth(search)
    for group in group_by_growth(search.estimator, search.candidates):
        for fold in range(len(search.splits)):
            grown = unless_it_fails(_grow, search, group, fold, encodings) if can_share else None
            for candidate in group:
                scored = grown and unless_it_fails(_score_setting, search, candidate, fold, grown)
                results[candidate][fold] = scored or _fit_whole(search, candidate, fold)
                on_scored(1)


def _grow(search: Search, group: list[int], fold: int, encodings: dict[Any, Dataset]) -> _GrownForest:
    """Grows the trees of a fold with limits that suit every candidate of a group."""
    began = time.perf_counter()
    train, _ = search.splits[fold]
    forest = loosest(search.estimator, [search.candidates[candidate] for candidate in group])
    X, y = safe_split(forest, search.X, search.y, train)
    params = check_method_params(search.X, params=search.fit_params, indices=train)
    kind = (fold, repr(sorted(vars(forest.tree_parameters().make_encoder()).items())))
    data = forest.read(X, y, **params, same_as=encodings.get(kind))
    if data.num_rows == len(train):
        encodings.setdefault(kind, data)
    forest.draw_key()
    trees = _uninterrupted(lambda: forest.grow_trees(data))
    seconds = (time.perf_counter() - began) / len(group)
    return _GrownForest(forest, data, trees, forest.limits_of_trees(data)[0], seconds)


def _score_setting(search: Search, candidate: int, fold: int, grown: _GrownForest) -> dict[str, Any]:
    """The result of a candidate on a fold whose trees are grown."""
    began = time.perf_counter()
    setting = configured(grown.forest, search.candidates[candidate])
    setting.check_parameters()
    setting.finish_fit(_within_limits(setting, grown), grown.data)
    fitted = time.perf_counter()
    scores = {}
    for part, rows in zip(("train", "test"), search.splits[fold], strict=True):
        if part == "test" or search.return_train_score:
            X, y = safe_split(setting, search.X, search.y, rows, search.splits[fold][0])
            params = check_method_params(search.X, params=search.score_params, indices=rows)
            scores[f"{part}_scores"] = score_by_scorer(setting, X, y, search.scorer, params, search.error_score)
    times = {"fit_time": grown.seconds + fitted - began, "score_time": time.perf_counter() - fitted}
    return {"fit_error": None, **times, **scores}


def _within_limits(setting: BaseForest, grown: _GrownForest) -> Forest:
    """The first trees, as they would have grown with the limits of a setting."""
    trees = grown.trees.first(setting.n_estimators)
    limits, counts = setting.limits_of_trees(grown.data)
    (stops,) = masks_of_limits([limits], trees.nodes, grown.kept, counts)
    return take_trees(trees.nodes, trees.first_node[:-1], collapsed=stops)


def _fit_whole(search: Search, candidate: int, fold: int) -> dict[str, Any]:
    """The result of fitting a candidate by itself."""
    return _uninterrupted(lambda: fit_alone(search, candidate, fold))


def _uninterrupted(fit: Callable[[], Any]) -> Any:
    """Calls what fits a forest, and raises the interrupt that left it with fewer trees."""
    fitted, was_interrupted = until_interrupted(fit)
    if was_interrupted:
        raise KeyboardInterrupt
    return fitted
