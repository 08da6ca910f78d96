"""Search over trees and forests, which grow once a fold."""

from typing import Any, ClassVar, Self

from jaxtree import forks
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.conventions import progress_of
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.search.base import SettingsSearchCV, all_or_scores
from jaxtree.search.ensemble import ENSEMBLE, FOLD_ENSEMBLE
from jaxtree.search.evaluation import Results, evaluate
from jaxtree.search.forest_folds import evaluate_forests


class TreeSearchCV(SettingsSearchCV):
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
    `best_params_` and `best_score_` of the settings that were scored on all folds, unless there are those of an earlier
    fit, which then stay; and is raised again.

    Args:
        estimator: A tree or a forest of jaxtree.
        param_grid: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a
            list of one.
        cv: Number of folds, or a splitter of scikit-learn.
        scoring: A name, a scorer, several in a list or dict, a function; the estimator's `score` if None.
        refit: Whether to fit the best setting on all rows; of several metrics, the name of the one that chooses.
        error_score: The score of a fit that fails, or "raise".
        return_train_score: Whether `cv_results_` has scores on the training rows, too.
        n_iter: The number of settings that are drawn; all of a grid if None.
        random_state: The seed of what is drawn from distributions.
        verbose: 1 for a bar of progress; n for a line every n scores.

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

    _estimators = (BaseTree, BaseForest)
    _parameter_constraints: ClassVar[dict] = {
        **SettingsSearchCV._parameter_constraints, "estimator": [*_estimators],
    }  # fmt: skip

    @all_or_scores
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
        candidates = self._settings()
        self._check_names(candidates)
        with self._placed(X, len(candidates)):
            search = self._task(X, y, params, candidates, scorers)
            results: Results = [[None] * len(search.splits) for _ in candidates]
            try:
                total = len(candidates) * len(search.splits)
                with progress_of(self.verbose, total, "scoring settings", "scores") as report:
                    fill_in = evaluate_forests if isinstance(self.estimator, BaseForest) else evaluate
                    fill_in(search, results, report or (lambda number: None))
            except KeyboardInterrupt:
                self._keep_scored(search, results, refit_metric)
                raise
            self._choose(search, results, refit_metric)
            if self.refit:
                self._refit(search)
        return self
