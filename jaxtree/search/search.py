"""One search over every estimator of jaxtree, which shares what settings and folds have in common."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int

from jaxtree import forks
from jaxtree.errors import InvalidInputError, TrainingError
from jaxtree.estimators.boosting.base import BaseBoosting
from jaxtree.estimators.common.conventions import configured, generator_of, progress_of, whole
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.files.registry import KeptInFiles
from jaxtree.kernels.mesh import check_mesh
from jaxtree.search.base import BaseSettingsSearch, all_or_scores, cloned
from jaxtree.search.ensemble import ENSEMBLE, FOLD_ENSEMBLE, check_can_average, fit_ensemble
from jaxtree.search.evaluation import Results, Search, evaluate
from jaxtree.search.rounds import Halving, search_in_rounds, with_seeds
from jaxtree.search.tree_folds import evaluate_trees
from jaxtree.sklearn_compat import Interval


class SearchCV(BaseSettingsSearch):
    """Cross-validated search over any estimator of jaxtree, with the results of `sklearn.model_selection.GridSearchCV`.

    The scores and the winner are those of `GridSearchCV` on the same folds, with `n_iter` those of
    `RandomizedSearchCV`: every model is the one that it would be alone. Scores have the weights of rows, and folds are
    of the rows of some weight. Work that settings and folds have in common is done once:

    - **Trees** grow once a fold. A parameter that only decides whether a split is made (`max_depth`,
      `min_samples_split`, `min_impurity_decrease`, `min_gain`, `max_leaf_nodes`, `ccp_alpha`, `collapse`, `pruning` and
      all `pruning__...`) never makes another tree grow; others, which change splits, do once for each of their values.
      The folds are roots of one growth, each encoded by its own training rows. Accuracy, balanced accuracy, log loss,
      Brier score, ROC AUC of two classes, squared error, R^2 and all metrics of labels come from sums at the nodes; any
      other scorer, and whatever does not follow from sums (several outputs, rows shared out, subtree raising, a price
      found by cross-validation), is scored on the rows. One search of a fold finds the optimal trees of all values
      of `leaf_penalty` and `max_leaf_nodes`.
    - **Forests** likewise; a smaller `n_estimators` takes the first trees.
    - **Boosted trees** of a fold are fitted in one program. Settings may differ in all numbers (rates, depths, leaves,
      penalties, parts of rows and columns, rounds, patience, and seeds unless they hold rows out to stop early) and in
      weights of classes at no cost; those that differ in anything else, such as `max_bins`, are groups, which are
      fitted one after another. A model that has stopped gives its place to the next. Scores of the test part come from
      the program; where training scores are asked for, too, the models are kept and predict both parts.
    - **Additive models** of a fold share codes, bags and sums over pairs of bins; those that differ in when boosting
      ends (`max_rounds`, `early_stopping_rounds` and its tolerance) or in their pairs boost their curves once.
    - **Soft models** of one form (depth, gate, batch size) share a program for all settings, folds and restarts.

    Where `random_state` is a generator, and where a class of one's own changes methods, every setting is fitted by
    itself. Fits that fail score `error_score`.

    Args:
        estimator: An estimator of jaxtree.
        param_grid: A dict of lists and distributions of `scipy.stats`, or a list of such; a single value stands for a
            list of one, so that it may be a list of settings.
        cv: Number of folds, or a splitter of scikit-learn. A number keeps the rows of a `group` together.
        scoring: A name, a scorer, several in a list or dict, a function; the estimator's `score` if None. Names are
            those of scikit-learn and of `jaxtree.metrics.scorer`, such as "concordance" and "ndcg@5".
        refit: Whether to fit the best setting on all rows; of several metrics, the name of the one that chooses.
            Boosted trees of classes, or of numbers that are scored by themselves, also take "ensemble": settings chosen
            by their out-of-fold predictions and one score (see `jaxtree.search.ensemble.select_with_replacement`),
            fitted on all rows, whose scores are averaged: one model of the estimator's class; or "fold-ensemble": of
            every chosen setting the models of all folds, averaged, which share the bins and categories of the whole
            table.
        error_score: The score of a fit that fails, or "raise".
        return_train_score: Whether `cv_results_` has scores on the training rows, too.
        n_iter: The number of settings that are drawn; all of a grid if None.
        random_state: The seed of what is drawn from distributions.
        factor: Asks for successive halving of boosted trees: after `min_resources` rounds, and again after this number
            of times as many, only the best of this number of settings goes on, by the mean of the folds' scores so far.
            Models pause there, so that no round is made twice. None for none.
        min_resources: The rounds after which settings are compared first.
        verbose: 1 for a bar of progress; n for a line every n fits, or rounds of boosted trees.

    An interrupt (Ctrl-C) of a search over boosted trees ends it with a warning: the settings that are scored are
    compared on the folds that all of them are scored on, and the best is fitted. With another family it leaves
    `cv_results_`, `best_params_` and `best_score_` of the settings that were scored on all folds, unless there are
    those of an earlier fit, which then stay; and is raised again.

    Attributes:
        cv_results_: Scores and times as in scikit-learn; of boosted trees `mean_n_rounds` beside, and with `factor`
            `iter`, how often a setting has gone on, and `n_resources`, the round at which it was stopped, or its end.
        best_estimator_: The estimator fitted on all rows with the best parameters, or the ensemble.
        best_score_: The mean score of the best setting; of an ensemble that of its out-of-fold predictions.
        best_params_: The parameters of the best setting; with `factor` of those that were never stopped.
        best_index_: Their place in `cv_results_`.
        oof_predictions_: For boosted trees the probabilities of classes, or predictions, of each row by the models that
            were not fitted on it, means over repeated folds; an array of settings, rows and columns, NaN of rows that
            no fold tests.
        learning_curves_: For boosted trees the loss on the test rows after each round, of each setting a list with an
            array a fold.
        ensemble_weights_: The share of every setting in the ensemble.
        n_resources_: With `factor` the rounds at which settings were compared, the last one included.
        n_candidates_: The number of settings that were.

    Raises:
        InvalidInputError: The estimator is none of jaxtree, there are no settings, a parameter is none of the
            estimator's, or an option is for boosted trees alone.
        InternalError: Settings could not be fitted together, but each of them alone.

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
        >>> search.oof_predictions_.shape
        (2, 400, 1)
    """

    _estimators = (KeptInFiles,)
    _parameter_constraints: ClassVar[dict] = {
        **BaseSettingsSearch._parameter_constraints,
        "return_train_score": ["boolean"],
        "factor": [None, Interval(Real, 1, None, closed="neither")],
        "min_resources": [whole(1)],
    }

    oof_predictions_: Float[np.ndarray, "setting row column"]

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        n_iter: int | None = None,
        random_state: Any = None,
        factor: float | None = None,
        min_resources: int = 10,
        verbose: int = 0,
    ):
        super().__init__(
            estimator, scoring=scoring, refit=refit, cv=cv, error_score=error_score,
            return_train_score=return_train_score, verbose=verbose,
        )  # fmt: skip
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.random_state = random_state
        self.factor = factor
        self.min_resources = min_resources

    @all_or_scores
    def fit(self, X: Any, y: Any = None, *, mesh: Mesh | None = None, **params: Any) -> Self:
        """Scores every setting, and fits the best one, or the best ensemble, on all rows.

        Args:
            X: A table.
            y: Its target.
            mesh: Devices of one kind, in one axis, among which the boosted models of a fold are divided; those of a
                setting that shares no program, and those on all rows, are fitted on one. The models are those of one
                device.
            **params: Further arguments of `fit`, such as `sample_weight`, `event`, `group` and `offset`, split like the
                rows where they have a value for each; `X_val`, what else ends in "_val", and `eval_set` stay whole; and
                `groups` for the splitter.
        """
        forks.check_is_whole("a search")
        self._check_options(mesh)
        scorers, refit_metric = self._get_scorers()
        candidates = self._settings()
        self._check_names(candidates)
        halving = self._halving(refit_metric)
        with self._placed(X, len(candidates), mesh):
            search = self._task(X, y, params, candidates, scorers)._replace(mesh=mesh)
            if self._makes_rounds():
                search = self._score_in_rounds(search, halving, refit_metric)
            else:
                self._score(search, refit_metric)
            if self._asks_for_ensemble():
                self._fit_ensemble(search)
            elif self.refit:
                self._refit(search)
        return self

    def _check_options(self, mesh: Mesh | None) -> None:
        """Raises InvalidInputError if an option is not allowed, or not for the estimator."""
        estimator = self.estimator
        if not isinstance(estimator, KeptInFiles):
            raise InvalidInputError(
                f"SearchCV searches over estimators of jaxtree, got {type(estimator).__name__}; "
                "sklearn.model_selection.GridSearchCV searches over anything, pipelines with estimators of jaxtree too"
            )
        self._validate_params()
        if self._asks_for_ensemble():
            check_can_average(estimator, self.refit, self.scoring)
        if mesh is not None:
            check_mesh(mesh)
        asked = {"mesh": mesh, "factor": self.factor, "refit": self.refit if self._asks_for_ensemble() else None}
        for name, given in asked.items():
            if given is not None and not self._makes_rounds():
                raise InvalidInputError(
                    f"{name}={given!r} is for searches over boosted trees without training scores, got "
                    f"{type(estimator).__name__} and return_train_score={self.return_train_score}"
                )

    def _makes_rounds(self) -> bool:
        """Whether all settings make their rounds side by side."""
        return isinstance(self.estimator, BaseBoosting) and not self.return_train_score

    def _asks_for_ensemble(self) -> bool:
        return isinstance(self.refit, str) and self.refit in (ENSEMBLE, FOLD_ENSEMBLE)

    def _get_scorers(self) -> tuple[Any, Any]:
        """Returns scikit-learn's scorers, and the name of the metric that chooses."""
        if not self._asks_for_ensemble():
            return super()._get_scorers()
        kind, self.refit = self.refit, True
        try:
            return super()._get_scorers()
        finally:
            self.refit = kind

    def _halving(self, refit_metric: Any) -> Halving | None:
        """Returns when settings are dropped."""
        if self.factor is None:
            return None
        metric = self.refit if callable(self.scoring) and isinstance(self.refit, str) else refit_metric
        if not isinstance(metric, str) or metric in (ENSEMBLE, FOLD_ENSEMBLE):
            raise InvalidInputError(f"factor compares settings by one metric: refit must name it, got {self.refit!r}")
        return Halving(self.factor, self.min_resources, metric)

    def _score(self, search: Search, refit_metric: Any) -> None:
        """Scores all settings on all folds; an interrupt is raised again, and leaves those that are scored."""
        fill_in = evaluate_trees if isinstance(search.estimator, BaseTree) else evaluate
        results: Results = [[None] * len(search.splits) for _ in search.candidates]
        total = len(search.candidates) * len(search.splits)
        try:
            with progress_of(self.verbose, total, "fitting settings", "fits") as report:
                fill_in(search, results, report or (lambda number: None))
        except KeyboardInterrupt:
            self._keep_scored(search, results, refit_metric)
            raise
        self._choose(search, results, refit_metric)

    def _score_in_rounds(self, search: Search, halving: Halving | None, refit_metric: Any) -> Search:
        """Scores all settings on all folds; after an interrupt it returns the settings and folds that are scored."""
        settings = [configured(cloned(search.estimator), own) for own in search.candidates]
        for setting in settings:
            setting.check_parameters()
        if halving is not None:
            settings = with_seeds(settings, generator_of(self.random_state))
        scored = search_in_rounds(search, settings, halving, self.verbose)
        self.n_splits_ = len(scored.search.splits)
        vars(self).update(scored.known)
        self._choose(scored.search, scored.results, refit_metric, scored.columns)
        return scored.search

    def _select_best_index(self, refit: Any, refit_metric: Any, results: Any) -> Any:
        """Returns the place of the best setting, of those that went on to the end."""
        if callable(refit) or "iter" not in results:
            return super()._select_best_index(refit, refit_metric, results)
        last = np.flatnonzero(results["iter"] == results["iter"].max())
        return int(last[results[f"rank_test_{refit_metric}"][last].argmin()])

    def _fit_ensemble(self, search: Search) -> None:
        """Chooses an ensemble by the out-of-fold predictions, and fits it on all rows."""
        ensemble = fit_ensemble(
            search, self._able_numbers(), self.oof_predictions_, self.scorer_, of_folds=self.refit == FOLD_ENSEMBLE
        )
        self.best_estimator_, self.ensemble_weights_, self.best_score_ = ensemble

    def _able_numbers(self) -> Int[np.ndarray, " able"]:
        """Returns the numbers of the settings that went on to the end and did not fail."""
        rung = self.cv_results_.get("iter", np.zeros(len(self.oof_predictions_)))
        is_missing = np.asarray(np.isnan(self.oof_predictions_).any(axis=2))
        # A fold that no setting has been fitted on gives nothing to choose by.
        has_failed = (is_missing & ~is_missing.all(axis=0)).any(axis=1)
        able = np.flatnonzero((rung == rung.max()) & ~has_failed)
        if not len(able):
            raise TrainingError(f"refit={self.refit!r} needs a setting whose fits failed on no fold, got none")
        return able
