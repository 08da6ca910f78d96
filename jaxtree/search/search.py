"""One search over every estimator of jaxtree, which shares what settings and folds have in common."""

from typing import Any, Self

from jaxtree import forks
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.additive.base import BaseAdditive
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.forests.base import BaseForest
from jaxtree.estimators.soft.base import BaseSoft
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.files.registry import KeptInFiles
from jaxtree.search.additive_folds import AdditiveSearchCV
from jaxtree.search.alone import PlainSearchCV
from jaxtree.search.base import SettingsSearchCV, all_or_scores
from jaxtree.search.boost_search import BoostSearchCV
from jaxtree.search.ensemble import ENSEMBLE, FOLD_ENSEMBLE
from jaxtree.search.soft_folds import SoftSearchCV
from jaxtree.search.tree_search import TreeSearchCV

OPTIONS = (*("cv", "scoring", "refit", "error_score", "return_train_score", "n_iter", "random_state", "verbose"),)
"""The arguments of every search beside the estimator and its settings."""


class SearchCV(SettingsSearchCV):
    """Cross-validated search over any estimator of jaxtree, with the results of `sklearn.model_selection.GridSearchCV`.

    The scores and the winner are those of `GridSearchCV` on the same folds, with `n_iter` those of
    `RandomizedSearchCV`. Scores have the weights of rows, and folds are of the rows of some weight.

    What settings and folds have in common is done once: trees, optimal trees and forests are grown once a fold for all
    limits and prunings, by a `TreeSearchCV`; boosted trees of a fold, those of order, of distributions and of survival
    times too, are fitted in one program, by a `BoostSearchCV`. Additive models of a fold share codes, bags and sums
    over pairs of bins; those that differ in when boosting ends (`max_rounds`, `early_stopping_rounds` and its
    tolerance) or in their pairs boost their curves once. Soft models of one form (depth, gate, batch size) share a
    program for all settings, folds and restarts, and are trained side by side. Ensembles are fitted one by one, and so
    are boosted trees whose training scores are asked for. `BoostSearchCV` itself has more options: successive halving,
    ensembles, several devices.

    Args:
        estimator: An estimator of jaxtree.
        param_grid: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a
            list of one.
        cv: Number of folds, or a splitter of scikit-learn. A number keeps the rows of a `group` together.
        scoring: A name, a scorer, several in a list or dict, a function; the estimator's `score` if None. Names are
            those of scikit-learn and of `jaxtree.metrics.scorer`, such as "concordance" and "ndcg@5".
        refit: Whether to fit the best setting on all rows; of several metrics, the name of the one that chooses.
        error_score: The score of a fit that fails, or "raise".
        return_train_score: Whether `cv_results_` has scores on the training rows, too.
        n_iter: The number of settings that are drawn; all of a grid if None.
        random_state: The seed of what is drawn from distributions.
        verbose: Whether to show a progress bar.

    Attributes:
        cv_results_: Scores and times as in scikit-learn; of boosted trees `mean_n_rounds` beside.
        best_estimator_: The estimator fitted on all rows with the best parameters.
        best_score_: Their mean score.
        best_params_: They.
        best_index_: Their place in `cv_results_`.
        search_: The search that has done the work, with what it knows beside.

    Raises:
        InvalidInputError: The estimator is none of jaxtree, there are no settings, or a parameter is none of the
            estimator's.

    Example: survival times, scored by the concordance index on folds that keep the event of every row.
        >>> import numpy as np
        >>> from jaxtree import GradientBoostingRegressor
        >>> rng = np.random.default_rng(0)
        >>> X, event = rng.normal(size=(400, 2)), rng.random(400) < 0.7
        >>> time = rng.exponential(np.exp(X[:, 0]))
        >>> search = SearchCV(GradientBoostingRegressor(10, loss="cox"), {"max_depth": [1, 3]}, cv=3)
        >>> search = search.fit(X, time, event=event)
        >>> bool(search.best_score_ > 0.6), search.best_estimator_.predict_median(X).shape
        (True, (400,))
    """

    _estimators = (KeptInFiles,)

    @all_or_scores
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Scores every setting, and fits the best one on all rows.

        Args:
            X: A table.
            y: Its target.
            **params: Further arguments of `fit`, such as `sample_weight`, `event`, `group` and `offset`, split like the
                rows where they have a value for each; and `groups` for the splitter.
        """
        forks.check_is_whole("a search")
        own = self.specialised()
        for name in _results_of(getattr(self, "search_", None)):
            vars(self).pop(name, None)
        try:
            own.fit(X, y, **params)
        finally:
            # An interrupted search has the results of the settings that were scored.
            self.search_ = own
            vars(self).update(_results_of(own))
        return self

    def specialised(self) -> Any:
        """Returns the search that fits settings of the estimator together, as far as they can be.

        Raises:
            InvalidInputError: The estimator is none of jaxtree, or an option is of one kind of search alone.
        """
        estimator = self.estimator
        if not isinstance(estimator, KeptInFiles):
            raise InvalidInputError(
                f"SearchCV searches over estimators of jaxtree, got {type(estimator).__name__}; "
                "sklearn.model_selection.GridSearchCV searches over anything, pipelines with estimators of jaxtree too"
            )
        self._validate_params()
        if isinstance(self.refit, str) and self.refit in (ENSEMBLE, FOLD_ENSEMBLE):
            raise InvalidInputError(f"refit={self.refit!r} is for BoostSearchCV; True fits the best setting")
        options = {name: getattr(self, name) for name in OPTIONS}
        if isinstance(estimator, BaseTree | BaseForest):
            return TreeSearchCV(estimator, self.param_grid, **options)
        if isinstance(estimator, BaseBoosting) and not self.return_train_score:
            del options["return_train_score"]
            return BoostSearchCV(estimator, self.param_grid, **options)
        kinds = {BaseAdditive: AdditiveSearchCV, BaseSoft: SoftSearchCV}
        kind = next((own for base, own in kinds.items() if isinstance(estimator, base)), PlainSearchCV)
        return kind(estimator, self.param_grid, **options)


def _results_of(search: SettingsSearchCV | BoostSearchCV | None) -> dict[str, Any]:
    """Returns what the search that has done the work has found, by the names of attributes."""
    return {name: value for name, value in vars(search).items() if name.endswith("_")} if search else {}
