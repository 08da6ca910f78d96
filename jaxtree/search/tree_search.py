"""Search with scikit-learn's interface."""

import contextlib
import time
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.dataset.arguments import plain_target
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import SEED, progress_of_trees, whole
from jaxtree.estimators.common.scorers import of_all_classes
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.search.candidates import settings_of
from jaxtree.search.ensemble import ENSEMBLE, FOLD_ENSEMBLE
from jaxtree.search.evaluation import Results, Search, evaluate
from jaxtree.search.forest_folds import evaluate_forests
from jaxtree.search.parameter_importances import ParameterImportances, parameter_importances
from jaxtree.search.scoring import even_out
from jaxtree.sklearn_compat import BaseSearchCV, check_method_params, insert_error_scores, warn_about_failures


class TreeSearchCV(BaseSearchCV):
    """Cross-validated search that grows once a fold and scores every setting as a mask.

    The scores and the winner are those of `sklearn.model_selection.GridSearchCV` on the same folds, with `n_iter` those
    of `RandomizedSearchCV`. A parameter that only decides whether a split is made (`max_depth`, `min_samples_split`,
    `min_impurity_decrease`, `min_gain`, `max_leaf_nodes`, `ccp_alpha`, `collapse`, `pruning` and all `pruning__...`)
    never makes another tree grow; others, which change splits, do once for each of their values. Of
    `OptimalTreeClassifier` one search of a fold finds the trees of all values of `leaf_penalty` and `max_leaf_nodes`.

    The folds of a tree are roots of one growth, each encoded by its own training rows. Accuracy, balanced accuracy, log
    loss, Brier score, ROC AUC of two classes, squared error, R^2 and all metrics of labels come from class counts at
    the nodes; any other scorer, and whatever does not follow from counts (several outputs, rows shared out, subtree
    raising, a price found by cross-validation), is scored on the rows. The trees of a forest are roots of one growth a
    fold, of which a smaller `n_estimators` takes the first; every setting is scored on the rows.

    Fits that fail score `error_score`, as in scikit-learn. A `random_state` that is a generator makes every setting
    grow. `mean_fit_time` is a setting's part of the shared growth. An interrupt (Ctrl-C) leaves `cv_results_`,
    `best_params_` and `best_score_` of the settings that were scored on all folds, and is raised again.

    Args:
        estimator: A tree or a forest of jaxtree.
        param_grid: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a
            list of one.
        cv: Number of folds, or a splitter of scikit-learn.
        scoring: A name, a scorer, several in a list or dict, a function; the estimator's `score` if None.
        refit: Whether to fit the best setting on all rows; of several metrics, the name of the one that chooses.
        error_score: The score of a fit that fails, or "raise".
        return_train_score: Whether `cv_results_` has scores on the training rows, too.
        progress: Whether to show a progress bar.
        n_iter: The number of settings that are drawn; all of a grid if None.
        random_state: The seed of what is drawn from distributions.

    Attributes:
        cv_results_: Scores and times as in scikit-learn.
        best_estimator_: The estimator fitted on all rows with the best parameters.
        best_score_: Their mean score.
        best_params_: They.
        best_index_: Their place in `cv_results_`.

    Raises:
        InvalidInputError: The estimator is no tree or forest of jaxtree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> grid = {"max_depth": range(1, 6), "ccp_alpha": [0, 0.01, 0.02]}
        >>> search = TreeSearchCV(DecisionTreeClassifier(), grid, cv=5).fit(X, y)
        >>> search.best_params_, round(float(search.best_score_), 3)
        ({'ccp_alpha': 0, 'max_depth': 4}, 0.967)
    """

    _parameter_constraints: ClassVar[dict] = {
        **{name: BaseSearchCV._parameter_constraints[name] for name in ("scoring", "refit", "cv", "error_score")},
        "estimator": [BaseTree, BaseForest],
        "param_grid": [dict, list],
        "return_train_score": ["boolean"],
        "progress": ["boolean"],
        "n_iter": [None, whole(1)],
        "random_state": [*SEED],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 10,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        progress: bool = False,
        n_iter: int | None = None,
        random_state: Any = None,
    ):
        super().__init__(
            estimator, scoring=scoring, refit=refit, cv=cv, error_score=error_score,
            return_train_score=return_train_score,
        )  # fmt: skip
        self.param_grid = param_grid
        self.progress = progress
        self.n_iter = n_iter
        self.random_state = random_state

    def _get_scorers(self) -> tuple[Any, Any]:
        """Returns scikit-learn's scorers, which score parts without a class too, and the metric that chooses."""
        scorers, refit_metric = super()._get_scorers()
        return of_all_classes(scorers), refit_metric

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Scores every setting, and fits the best one on all rows.

        Args:
            X: A table.
            y: Its target.
            **params: Further arguments of `fit`, such as `sample_weight`, split like the rows where they have a value
                for each; and `groups` for the splitter.
        """
        forks.check_is_whole("a search")
        if not isinstance(self.estimator, BaseTree | BaseForest):
            raise InvalidInputError(
                f"TreeSearchCV searches over trees and forests of jaxtree, got {type(self.estimator).__name__}; "
                "sklearn.model_selection.GridSearchCV searches over anything"
            )
        self._validate_params()
        if isinstance(self.refit, str) and self.refit in (ENSEMBLE, FOLD_ENSEMBLE):
            raise InvalidInputError(f"refit={self.refit!r} is for BoostSearchCV: trees are averaged by forests")
        scorers, refit_metric = self._get_scorers()
        X, y = indexable(X, plain_target(y))
        params = check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        cv: Any = self.cv
        splitter: Any = check_cv(cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, **routed.splitter.split))
        self.n_splits_ = len(splits)
        candidates = settings_of(self.param_grid, self.n_iter, self.random_state, "param_grid")
        self._check_names(candidates)
        search = Search(
            _cloned(self.estimator), candidates, X, y, splits, scorers, routed.estimator.fit, routed.scorer.score,
            self.error_score, self.return_train_score,
        )  # fmt: skip
        results: Results = [[None] * len(splits) for _ in candidates]
        try:
            total = len(candidates) * len(splits)
            with progress_of_trees(int(self.progress), total, "scoring settings", "scores are done") as report:
                fill_in = evaluate_forests if isinstance(self.estimator, BaseForest) else evaluate
                fill_in(search, results, report or (lambda number: None))
        except KeyboardInterrupt:
            # Whatever is wrong with the results, the interrupt is what the caller is to see.
            with contextlib.suppress(Exception):
                self._keep_scored(search, results, refit_metric)
            raise
        self._choose(search, results, refit_metric)
        if self.refit:
            self._refit(search)
        return self

    def parameter_importances(
        self, metric: str | None = None, *, num_repeats: int = 20, seed: int = 0
    ) -> ParameterImportances:
        """Returns how much each parameter counts for the mean scores of the settings.

        A random forest predicts the score from the settings; what counts is the coefficient of determination that it
        loses when the values of a parameter are shuffled (see `jaxtree.search.parameter_importances`).

        Args:
            metric: The name of the metric; the one that chose if not given.
            num_repeats: How often every parameter is shuffled.
            seed: The seed of the forest and the shuffles.

        Raises:
            InvalidInputError: There is no such metric, or there are too few settings with scores.
        """
        check_is_fitted(self, "cv_results_")
        chose = self.refit if self.multimetric_ and isinstance(self.refit, str) else "score"
        return parameter_importances(self.cv_results_, metric or chose, num_repeats=num_repeats, seed=seed)

    def __sklearn_tags__(self):
        """Returns scikit-learn's tags: tables may hold what the estimator's may."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseTree | BaseForest):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _check_names(self, candidates: list[dict[str, Any]]) -> None:
        """Raises scikit-learn's error if a parameter is none of the estimator's."""
        for names in dict.fromkeys(tuple(sorted(parameters)) for parameters in candidates):
            own: Any = clone(next(p for p in candidates if tuple(sorted(p)) == names), safe=False)
            _cloned(self.estimator).set_params(**own)

    def _choose(self, search: Search, results: Results, refit_metric: Any, more: Any = None) -> None:
        """Puts the results in scikit-learn's form, and finds the best."""
        flat: Any = [result for row in results for result in row]
        warn_about_failures(flat, self.error_score)
        if callable(self.scoring):
            insert_error_scores(flat, self.error_score)
        _even_out(results)
        self.cv_results_ = self._format_results(search.candidates, len(search.splits), flat, more)
        first = flat[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            refit_metric = self.refit
        self.scorer_ = getattr(search.scorer, "_scorers", search.scorer)
        if not self.refit and self.multimetric_:
            return
        self.best_index_ = self._select_best_index(self.refit, refit_metric, self.cv_results_)
        if not callable(self.refit):
            self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
        self.best_params_ = self.cv_results_["params"][self.best_index_]

    def _keep_scored(self, search: Search, results: Results, refit_metric: Any) -> None:
        """Keeps the settings that were scored on all folds before an interrupt."""
        scored = [i for i, row in enumerate(results) if None not in row]
        if scored:
            kept = search._replace(candidates=[search.candidates[i] for i in scored])
            self._choose(kept, [results[i] for i in scored], refit_metric)

    def _refit(self, search: Search) -> None:
        began = time.perf_counter()
        best: Any = clone(self.best_params_, safe=False)
        self.best_estimator_ = _cloned(search.estimator).set_params(**best)
        self.best_estimator_.fit(search.X, search.y, **search.fit_params)
        self.refit_time_ = time.perf_counter() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _even_out(results: Results) -> None:
    """Makes scores on a fold equal that differ by rounding alone."""
    for fold in zip(*results, strict=True):
        made: list[Any] = list(fold)
        scores = [result["test_scores"] for result in made]
        is_one = not isinstance(scores[0], dict)
        by_name = {"test_scores": made} if is_one else {name: scores for name in scores[0]}
        for name, owners in by_name.items():
            evened = even_out(np.array([owner[name] for owner in owners], np.float64))
            for owner, score in zip(owners, evened.tolist(), strict=True):
                owner[name] = score


def _cloned(estimator: Any) -> Any:
    """A clone by scikit-learn, whose annotation is too narrow."""
    return clone(estimator)
