"""The base of boosted estimators: one table, the rounds of boosting on it, and what its trees predict together."""

import copy
import functools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from jaxtree import buckets, forks
from jaxtree.boosting.ending import HeldOutChoice, Measured
from jaxtree.boosting.folds import Folds, weighted_sum
from jaxtree.boosting.refit import RefitConfig, refit
from jaxtree.dataset.arguments import split_validation
from jaxtree.dataset.dataset import Dataset, TableOptions, encode_sample, read_sample
from jaxtree.dataset.exchange import LONE, Exchange
from jaxtree.dataset.sample import Outputs, Sample, generator_of, read_known
from jaxtree.errors import InvalidInputError, all_or_nothing, warn_user
from jaxtree.estimators.boosting.bands import BoostedBands, drawn_anew
from jaxtree.estimators.boosting.folds import earlier_models, train_folds
from jaxtree.estimators.boosting.loss_names import check_name
from jaxtree.estimators.boosting.many import Models, open_jobs, train_many
from jaxtree.estimators.boosting.means import check_can_average, common_encoder, shares_of
from jaxtree.estimators.boosting.metrics import best_of, measures_of, metric_of, staged
from jaxtree.estimators.boosting.parameters import FOLDS, MULTI_OUTPUT, ONE_OUTPUT, BoostingParameters
from jaxtree.estimators.boosting.rows import (
    allowed_rows,
    evaluations_by_name,
    in_unit,
    read_evaluation,
    scored_rows,
    target_of,
    unit_of_rows,
)
from jaxtree.estimators.boosting.scored import ScoredTrees
from jaxtree.estimators.boosting.survival import is_of_times, learn_times, without_hazards
from jaxtree.estimators.boosting.training import (
    UNWANTED,
    BoostingTask,
    MeasuredRows,
    OnProgress,
    Rounds,
    encode,
    forest_in_table_units,
    train,
    warn_of_end,
    warn_of_few_rows,
)
from jaxtree.estimators.common.conventions import Role, identity, names_of
from jaxtree.estimators.common.drawn_bands import groups_of_draws
from jaxtree.estimators.common.extras import check_arguments, extras_of, fit_fields
from jaxtree.estimators.common.features import FeatureOptions, check_kept_trees, read_monotone
from jaxtree.estimators.common.fold_rows import divide
from jaxtree.estimators.common.jobs import Family, Job
from jaxtree.estimators.common.parameters import WITHOUT_NEW_TREES
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.trees.cart import DecisionTreeRegressor
from jaxtree.figures.bands import check_level
from jaxtree.files.boosting import BoostedState
from jaxtree.losses.curves import mean_of_times
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import OF_CLASSES
from jaxtree.serving.by_loss import with_offset
from jaxtree.serving.rows import over_sources
from jaxtree.table.encoder import Encoder
from jaxtree.table.redraws import RedrawnRows
from jaxtree.table.sources import is_source
from jaxtree.table.weights import rows_of_weight
from jaxtree.tree.forest import Forest
from jaxtree.tree.nodes import target_means

OF_ONE_FIT = ("folds_", "survival_", "fine_tuning_", "_held_out")
"""The attributes of a fit that a mean of models does not take from its first."""


class BaseBoosting(BoostingParameters, ScoredTrees, Family):
    """Boosted trees on any table."""

    measured_: Measured
    trees_per_round_: int
    _trees: list[DecisionTreeRegressor] | None = None
    _held_out: HeldOutChoice | None = None
    """The rows that the last fit has held out of its own; None if none."""
    folds_: Folds | None = None
    """Data per fold of a model with `early_stopping="cv"`; None of any other."""
    ensemble_weights_: Float[np.ndarray, " model"] | None = None
    """The shares of the models whose mean this is, see `mean_of`; None of one fit."""

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: one target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    @property
    def divides_groups(self) -> bool:
        """Whether `group=` says which rows are held out together, besides what a loss asks for."""
        return bool(self.early_stopping)

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        for parameter in ("loss", "distribution"):
            check_name(type(self).__name__, parameter, vars(self).get(parameter), self._named_losses or OF_CLASSES)
        super().check_parameters()

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        eval_set: Sequence[Any] | Mapping[str, Any] | None = None,
        eval_metric: Any = None,
        callbacks: Sequence[OnProgress] = (),
        mesh: Mesh | None = None,
        **extras: Any,
    ) -> Self:
        """Boosts trees, round by round.

        With `warm_start` the rounds of the last fit are kept, and those up to `n_estimators` are made with the codes of
        that fit: on the same table they are the rounds that one longer fit makes, bit for bit, unless categories are
        "ordered". With early stopping, rounds after the best one are discarded, and all new ones if none is better.
        Models of folds go on one by one, bit for bit where their number is a sum of two powers of two, such as 5 or 8;
        with others a step may have been rounded in its last digit.
        After an interrupt the rounds made so far are kept, or of folds the models that are done, with a warning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy.
                Or a source that is read in parts, such as the path of a Parquet file (see
                `jaxtree.table.open_source`).
            y: The target of every row. For a source, its column's name is accepted, too; for a classifier,
                probabilities of classes are, see `jaxtree.ClassProbabilities`; members of `eval_set` then have either.
            sample_weight: The weight of every row; a row of weight 0 is left out. For a source, a column's name is
                accepted, too. Weights have no unit: to `min_child_weight`, `reg_lambda`, `reg_alpha` and `gamma` one
                row has the least weight where all are whole multiples of it, and at most 32 times as large in the mean;
                of other weights the mean one.
            X_val: Rows that are measured after every round, and with `early_stopping=True` decide when to stop; without
                any, a part of the rows does, on which no tree is grown. With "cv" they decide nothing. The first
                member of `eval_set`, called "validation_0".
            y_val: Their target.
            sample_weight_val: Their weights.
            eval_set: Several such tables, or further ones: pairs (X, y), perhaps with weights (or None) and a dict of
                extras; or a dict of such by name. Without names they are "validation_0" and so on. The first decides.
            eval_metric: Metrics of these tables in `evals_result_` besides the loss, one or a list: the name of a loss
                or of a scorer of scikit-learn ("roc_auc"), a loss of `jaxtree.boosting`, a scorer, or a function of
                targets and predictions. A function must say whether it is better if greater: by
                `sklearn.metrics.make_scorer(function, greater_is_better=...)`, or as those of scikit-learn by a name
                that ends in "_loss", "_error" or "_deviance". The first of them decides when to stop, in place of the
                loss. They get the weights of rows if they take `sample_weight`.
            callbacks: Functions called about every 25 rounds with the number of rounds and `evals_result_`; a true
                result ends the fit.
            mesh: Devices in one axis to divide the rows among; see `jaxtree.boosting.boost`. If these belong to several
                processes, each calls this with rows of its own, but the same `eval_set`, and all get the whole model.
            extras: Further inputs of the loss, an array of every row by name: `offset=` is added to the scores of a
                row, one number or one a score; `group=`, `event=`, `upper=` and those of one's own losses are named in
                a loss's `needs`; inputs of `X_val` end in "_val", such as `group_val=`. For a source, names of columns
                are accepted, too. With `early_stopping`, `group=` also keeps the rows of a group in the same fold or
                part.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights, an extra or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
            TrainingError: The derivatives of the loss at the start are no numbers, or too large.
        """
        with placed_fit(self, X, mesh) as exchange:
            extras |= {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
            given = {"eval_set": eval_set, "eval_metric": eval_metric, "exchange": exchange}
            return self.fit_task(self.read_task(X, y, sample_weight, **given, **extras), callbacks, mesh)

    def fit_task(self, task: BoostingTask, callbacks: Sequence[OnProgress] = (), mesh: Mesh | None = None) -> Self:
        """Boosts trees on what `read_task` has read; the rest as in `fit`."""
        is_first = task.earlier is None and not task.earlier_of_folds
        if not is_first and task.num_earlier >= self.rounds_of(task.data.num_rows):
            warn_user(WITHOUT_NEW_TREES)
            return self
        rows = encode(task)
        config = self.config(task.data.num_rows, rows.num_bins)
        warn_of_few_rows(task.data.num_rows, config)
        if self.early_stopping == FOLDS:
            if callbacks:
                raise InvalidInputError('callbacks are for one model, and early_stopping="cv" makes several')
            self.set_model(task, *train_folds(task, rows, config, mesh))
        else:
            trained = train(task, rows, config, callbacks, mesh)
            if trained.stop in UNWANTED:
                warn_of_end(task.loss, trained, config)
            self.set_model(task, trained)
        return self

    def kind_of_jobs(self) -> Hashable:
        """Returns what models of one program have in common: all but numbers, and seeds where these hold no rows out.

        None where a model shares no program: it drops trees, goes on from others, or is the mean of folds.
        """
        if self.drop_rate > 0 or self.warm_start or self.early_stopping == FOLDS:
            return None
        differ = names_of(self, Role.NUMBER, *(() if self.early_stopping else (Role.SEED,)))
        own = sorted(self.get_params(deep=False).items())
        return tuple((name, identity(value)) for name, value in own if name not in differ)

    @classmethod
    def fit_jobs(cls, jobs: Sequence[Job]) -> Iterator[Mapping[int, Self]]:
        """Makes the models of settings on the same rows in one program; a lone one needs none. See `Family`."""
        if len(jobs) == 1:
            return
        rows, data, learner, opened = open_jobs(jobs)
        first, places = next(iter(opened.values())), list(opened)
        measures = measures_of(first.task.loss, (), tuple(first.task.held.by_name))
        models, keeps_best = Models(data, learner, [own.member for own in opened.values()]), first.config.early_stopping
        for number, made, _ in train_many(first.task, models, measures, is_best_kept=keeps_best):
            task, config, _ = opened[places[number]]
            model: Any = clone(jobs[places[number]].estimator)
            warn_of_few_rows(task.data.num_rows, config)
            if made.stop in UNWANTED:
                warn_of_end(task.loss, made, config)
            model.set_model(task, made._replace(forest=forest_in_table_units(rows.categories, made.forest)))
            yield {places[number]: model}

    def _seed_held_out(self, *, is_first: bool) -> int:
        """Returns the seed of the choice of rows to hold out, which a warm start keeps from the fit before.

        Otherwise rounds would be judged by rows that those before have learned from.
        """
        if self._held_out is not None and not is_first:
            return self._held_out.seed
        given = self.random_state
        return int(given if isinstance(given, int | np.integer) else generator_of(given).randint(2**31 - 1))

    def read_task(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Sequence[Any] | Mapping[str, Any] | None = None,
        eval_metric: Any = None,
        test: Any = None,
        encoder: Encoder | None = None,
        exchange: Exchange = LONE,
        **extras: Any,
    ) -> BoostingTask:
        """Reads the arguments of a fit, and holds rows out where it stops early.

        Args:
            X: A table; this and what is not named here as in `fit`.
            y: Its target.
            sample_weight: The weight of every row.
            eval_set: Other tables that are measured.
            eval_metric: The metrics that are measured of them.
            test: A further table like a member of `eval_set`, which is measured last, and never decides when to stop.
            encoder: A fitted encoder of the table; one of these rows if not given.
            exchange: How the processes that have parts of the rows know of one another.
            extras: The inputs that the loss needs; `X_val`, `y_val` and what else is of validation rows.
        """
        forks.check_is_whole("fit")
        X_val, y_val = extras.pop("X_val", None), extras.pop("y_val", None)
        validation, extras = split_validation(X_val, y_val, extras.pop("sample_weight_val", None), extras)
        exchange.agree(self._check_fit, extras, exchange)
        options = TableOptions(self.make_encoder(), self._of_classes, getattr(self, "class_weight", None))
        given = read_sample(X, y, sample_weight, options, fields=extras, exchange=exchange)
        sample, outputs = given.without_weightless_rows(), given.outputs
        if not self._of_classes and len(getattr(y, "shape", ())) == 2 and outputs.number == 1:
            message = "A column-vector y was passed when a 1d array was expected"
            warn_user(message, DataConversionWarning)
        earlier = self._earlier_rounds(outputs) if self.warm_start and hasattr(self, "_model") else None
        group = sample.fields.get("group")
        tables = evaluations_by_name(eval_set, validation)
        loss, sample, held = exchange.agree(self._loss_and_evaluations, sample, tables)
        unit = 1.0
        if exchange.is_shared or loss.degree or sample.weight is not None:
            unit = unit_of_rows(loss, sample, exchange)
            sample = in_unit(sample, unit)
        if earlier is not None and self.loss_ != loss and self._num_rounds() < self.most_rounds:
            raise InvalidInputError(f"warm_start needs the loss of the first fit, {self.loss_}, got {loss}")
        if self.drop_rate > 0 and self.multi_strategy == ONE_OUTPUT and loss.num_scores > 1:
            raise InvalidInputError(
                f"drop_rate above 0 drops trees that change all scores: multi_strategy must be {MULTI_OUTPUT!r}, got "
                f"{ONE_OUTPUT!r}"
            )
        if self.early_stopping is True and not held:
            self._check_can_hold_out(sample, exchange)
            seed = self._seed_held_out(is_first=earlier is None)
            options = options._replace(held_out=self.validation_fraction, seed=seed, group=group)
        data = encode_sample(sample, options, encoder=self.encoder_ if earlier else encoder, exchange=exchange)
        data = data._replace(has_weight=None if given.weight is None or given.weight.all() else given.weight > 0)
        if data.held is not None:
            held["validation_0"] = data.held
        test = None if test is None else allowed_rows(loss, read_evaluation(outputs, test))
        features, is_ordered = exchange.agree(self._features, data)
        several = eval_metric if isinstance(eval_metric, list | tuple) else [eval_metric]
        metrics = []
        for metric in several:
            if metric is not None:
                metrics.append(metric_of(metric, self._named_losses))
        predict = functools.partial(self._fixed_predictions, loss, outputs)
        folds = divide(given, self.cv, self.random_state or 0) if self.early_stopping == FOLDS else ()
        measured = MeasuredRows(None, held, test)
        task = BoostingTask(data, loss, measured, metrics, predict, features, is_ordered, self.seed(), earlier, folds)
        task = task._replace(seed_held_out=options.seed or 0, unit=unit)
        if earlier is None or self.folds_ is None:
            return task
        return task._replace(
            earlier=None, earlier_of_folds=earlier_models(self.folds_, self.forest_, self.trees_per_round_, task)
        )

    def _check_fit(self, extras: Mapping[str, Any], exchange: Exchange) -> None:
        """Raises InvalidInputError if a parameter or an extra is not allowed, or not over several processes."""
        self.check_parameters()
        if extras:
            check_arguments(self, "fit", extras, self.extras_of_fit)
        if exchange.is_shared and self.early_stopping == FOLDS:
            raise InvalidInputError('early_stopping="cv" is for fits in one process, which divides its rows')
        if exchange.is_shared and self.warm_start:
            raise InvalidInputError("warm_start is for fits in one process: over several, all rounds are made anew")

    def _check_can_hold_out(self, sample: Sample, exchange: Exchange) -> None:
        """Raises InvalidInputError if no rows can be held out for early stopping."""
        if exchange.is_shared:
            raise InvalidInputError("early_stopping over several processes needs eval_set: no rows are held out")
        if is_source(sample.X):
            raise InvalidInputError("early_stopping needs eval_set if X is a table in parts: it is not divided")

    def _features(self, data: Dataset) -> tuple[FeatureOptions, Bool[np.ndarray, " feature"]]:
        """Returns how trees may split the features, and which of these give way to statistics.

        Raises:
            InvalidInputError: A parameter does not fit the columns.
        """
        return self.features_of_growth(data.schema, data.outputs), self.has_statistics(data.schema)

    def _loss_and_evaluations(
        self, sample: Sample, given: dict[str, Any]
    ) -> tuple[BaseLoss, Sample, dict[str, Sample]]:
        """Returns the loss, the rows with its fields, and the tables that are measured by name, all checked."""
        loss = self._make_loss(sample.outputs)
        held = {name: read_evaluation(sample.outputs, own).without_weightless_rows() for name, own in given.items()}
        if "group" in sample.fields and "group" not in loss.needs:
            sample = sample.without_field("group")  # rows are held out by it
        sample = fit_fields(loss, sample)
        loss.check_fit(target_of(sample), sample.fields)
        return loss, sample, {name: allowed_rows(loss, own) for name, own in held.items()}

    def set_model(self, task: BoostingTask, rounds: Rounds, folds: Folds | None = None) -> None:
        """Takes what a fit has learned: columns, classes and the loss, the rounds that it has made, and its folds."""
        self.learn(task.data)
        self._loss = task.loss
        self.set_rounds(rounds)
        before, self._held_out = self._held_out, None
        if task.data.held is not None:
            self._held_out = HeldOutChoice(task.seed_held_out, task.data.digest())
            if task.earlier is not None and before is not None and before != self._held_out:
                warn_user(
                    "warm_start goes on with rows other than those of the fit before, which may have learned from some "
                    "that are held out now, so that early_stopping may end too late: give eval_set with rows that no "
                    "fit has seen"
                )
        self.folds_, self.ensemble_weights_ = folds, None

    @classmethod
    def mean_of(cls, models: Sequence[Any], weights: Sequence[float] | None = None) -> Self:
        """Returns fitted models of one table as one model, whose scores are the weighted mean of theirs.

        It is one sum of trees, and so has every export and explanation. Its parameters are those of the first model,
        and so is its loss; losses may differ where they predict alike from scores, such as "squared_error" and "huber".

        Args:
            models: The models, all of this class.
            weights: A number above 0 of each; all alike if not given.

        Raises:
            InvalidInputError: Models are of another class or of several tables, or predict otherwise from their scores;
                or a weight is not allowed.

        Example:
            >>> from sklearn.datasets import load_breast_cancer
            >>> from jaxtree import GradientBoostingClassifier
            >>> X, y = load_breast_cancer(return_X_y=True)
            >>> models = [GradientBoostingClassifier(20, max_depth=depth).fit(X[::2], y[::2]) for depth in (2, 4)]
            >>> model = GradientBoostingClassifier.mean_of(models, weights=[1, 3])
            >>> model.ensemble_weights_.tolist(), len(model.forest_), model.score(X[1::2], y[1::2]) > 0.9
            ([0.25, 0.75], 40, True)
        """
        for model in models:
            check_is_fitted(model)
            if not isinstance(model, cls):
                raise InvalidInputError(f"models must be of class {cls.__name__}, got {type(model).__name__}")
        shares = shares_of(models, weights)
        mean = copy.copy(models[0])
        if len(models) == 1:
            return mean
        check_can_average(models)
        for name in OF_ONE_FIT:
            vars(mean).pop(name, None)
        mean.encoder_, mean.ensemble_weights_ = common_encoder([model.encoder_ for model in models]), shares
        if all(model.survival_ is not None for model in models):
            mean.survival_ = mean_of_times([model.survival_ for model in models], shares)
        start = np.sum([share * model.start_ for share, model in zip(shares, models, strict=True)], axis=0)
        # Trees that change one score each are trees that change all.
        of_round = {model.trees_per_round_ for model in models}
        forest = weighted_sum([model.forest_ for model in models], shares)
        mean.set_rounds(Rounds.unmeasured(forest, start, min(of_round) if len(of_round) == 1 else 1))
        return mean

    def truncated(self, n_estimators: int) -> Self:
        """Returns the model of the first `n_estimators` rounds, as a fit with this parameter would have made it.

        Raises:
            InvalidInputError: The model has fewer rounds.
        """
        self._check_is_of_one_fit("truncated")
        if not 1 <= n_estimators <= self.n_estimators_:
            raise InvalidInputError(f"n_estimators must be from 1 to {self.n_estimators_}, got {n_estimators}")
        model = copy.copy(self)
        model.n_estimators = n_estimators
        model.set_rounds(self._rounds().first(n_estimators))
        if n_estimators < self.n_estimators_:
            model.survival_ = without_hazards(self.survival_)
        return model

    def with_trees(self, forest: Forest) -> Self:
        """Returns a copy of this table with other trees, as many."""
        model = copy.copy(self)
        model.set_rounds(self._rounds()._replace(forest=forest))
        model.survival_ = without_hazards(self.survival_)
        return model

    def changed_scores(self) -> Bool[np.ndarray, "tree score"]:
        """Returns which scores every tree changes."""
        number = self.start_.size
        of_round = np.ones((1, number), bool) if self.trees_per_round_ == 1 else np.eye(number, dtype=bool)
        return np.tile(of_round, (self.n_estimators_, 1))

    def refit(self, X: Any, y: Any, sample_weight: Any = None, *, decay_rate: float = 0.9, **extras: Any) -> Self:
        """Returns a model with the same splits, whose steps are made anew, round by round, on other rows.

        Args:
            X: A table; see `fit`.
            y: Its target, of the classes that the fit has seen.
            sample_weight: The weight of every row.
            decay_rate: The part of every old step that stays, from 0 to 1. Nodes without rows keep theirs.
            extras: The inputs that the loss needs.

        Raises:
            InvalidInputError: An argument is not allowed, or trees were dropped in the fit.
        """
        forks.check_is_whole("refit")
        check_is_fitted(self)
        if not 0 <= decay_rate <= 1:
            raise InvalidInputError(f"decay_rate must be from 0 to 1, got {decay_rate}")
        check_arguments(self, "refit", extras, extras_of(self.loss_))
        self._check_is_of_one_fit("refit")
        if self.drop_rate > 0:
            raise InvalidInputError("refit is for drop_rate=0: the steps of dropped trees follow from one another")
        sample = read_known(self.outputs(), X, y, sample_weight, extras).without_weightless_rows()
        sample = allowed_rows(self.loss_, sample)
        sample = in_unit(sample, unit_of_rows(self.loss_, sample))
        with placed_fit(self, X):
            forest = refit(
                self.forest_,
                self.apply(sample.X),
                scored_rows(sample, buckets.pad_codes(self.encoder_.transform(sample.X))),
                self.start_,
                self.loss_,
                self.shrinkage(sample.num_rows),
                RefitConfig(decay_rate, read_monotone(self.monotonic_cst, self.schema_), self.trees_per_round_),
            )
        model = copy.copy(self)
        model.set_rounds(Rounds.unmeasured(forest, self.start_, self.trees_per_round_))
        if is_of_times(self.loss_):
            model.survival_ = learn_times(self.loss_, sample, model.raw_scores(sample.X))
        return model

    def bands(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        level: float = 0.9,
        draws: int = 200,
        groups: Any = None,
        random_state: Any = 0,
        **extras: Any,
    ) -> BoostedBands:
        """Returns bands of predictions, importances, dependence and survival curves.

        Every draw is a model of the same rounds on rows of the fit that are drawn again, and all draws are made by one
        program. A band also has the bias of boosting that ends early, as a model shows it that goes on (see
        `jaxtree.estimators.boosting.bands`). Bands hold the truth at `level` of the rows. With `early_stopping="cv"` a
        draw has a model of every fold.

        Args:
            X: The rows of the fit.
            y: Their target.
            sample_weight: Their weights, as in `fit`: a row of weight 2 is drawn like two rows.
            level: The share of rows whose bands are to hold, above 0 and below 1.
            draws: How many draws; at least 2 are to lie outside a band.
            groups: The group of every row, such as its patient, whose rows are drawn together; `group` of the fit if
                not given.
            random_state: The seed of the draws.
            extras: Further inputs of the loss, as in `fit`.

        Raises:
            InvalidInputError: The rows are not those of the fit, trees have been changed since or were dropped in it,
                the model is a mean of several fits, or an argument is not allowed.

        Example:
            >>> import numpy as np
            >>> from jaxtree import GradientBoostingRegressor
            >>> generator = np.random.default_rng(0)
            >>> X = generator.uniform(size=(300, 2))
            >>> y = X[:, 0] + generator.normal(size=300, scale=0.3)
            >>> model = GradientBoostingRegressor(30, max_leaf_nodes=4).fit(X, y)
            >>> center, lower, upper = model.bands(X, y, draws=40).predict([[0.1, 0.5], [0.9, 0.5]])
            >>> bool(upper[0] < lower[1]), bool((lower < center).all())
            (True, True)
        """
        check_is_fitted(self)
        check_level(level, draws)
        if self.ensemble_weights_ is not None:
            self._check_is_of_one_fit("bands")
        if self.drop_rate > 0:
            raise InvalidInputError("bands are for drop_rate=0: models that drop trees are boosted one by one")
        with placed_fit(self, X):
            task = self._task_of_fit(X, y, sample_weight, extras)
            groups = extras.get("group") if groups is None else groups
            if task.data.held is not None and groups is not None:
                raise InvalidInputError(
                    "groups are drawn together where the fit has held out no rows of the table: early_stopping=True "
                    "needs eval_set then"
                )
            groups = groups_of_draws(task.data.sample, groups, rows_of_weight(sample_weight, y))
            drawn = RedrawnRows(int(generator_of(random_state).randint(2**31 - 1)), groups)
            return BoostedBands(self, *drawn_anew(self, task, drawn, draws), level)

    def _task_of_fit(self, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> BoostingTask:
        """Reads the rows of the last fit as it has read them."""
        alone = copy.copy(self)
        alone.warm_start = False
        if self.early_stopping is True and self._held_out is None:
            alone.early_stopping = False  # the rows of eval_set have decided
        elif self._held_out is not None:
            alone.random_state = self._held_out.seed
        return alone.read_task(X, y, sample_weight, **extras)._replace(seed=self.seed())

    def _check_is_of_one_fit(self, what: str) -> None:
        """Raises InvalidInputError if the trees are those of several models."""
        for models, words in ((self.folds_, "models of folds"), (self.ensemble_weights_, "models")):
            if models is not None:
                raise InvalidInputError(
                    f"{what} is for the rounds of one model, and these are the mean of {len(models)} {words}"
                )

    @over_sources
    def apply(self, X: Any) -> Int[np.ndarray, "row tree"]:
        """Returns the node of every tree where the walk of every row ends, counted from the tree's root."""
        values = self._values(X)
        return self.model_.predictor.ends_in_trees(values) - self.forest_.first_node[:-1]

    def staged_scores(self, X: Any, *, offset: Any = None) -> Iterator[Float[np.ndarray, "row score"]]:
        """Yields the scores of every row after each round; see `raw_scores`.

        Raises:
            InvalidInputError: The model is a mean of others, whose rounds come one model after the other.
        """
        if self.ensemble_weights_ is not None:
            self._check_is_of_one_fit("staged prediction")
        values = self._values(X)
        first = np.tile(self.start_, (len(values), 1))
        for scores in staged(self.forest_, first, values, self.trees_per_round_):
            yield with_offset(self.loss_, scores, offset)

    def _earlier_rounds(self, outputs: Outputs) -> Rounds:
        """Returns the rounds that a warm start goes on from.

        Raises:
            InvalidInputError: There are more of them than asked for, or the classes are others.
        """
        if self.ensemble_weights_ is not None:
            self._check_is_of_one_fit("warm_start")
        if (self.early_stopping == FOLDS) != (self.folds_ is not None):
            what = "a mean of models of folds" if self.folds_ is not None else "one model"
            raise InvalidInputError(
                f"warm_start goes on from {what}, which the fit before has made, and early_stopping="
                f"{self.early_stopping!r} makes the other"
            )
        if self.most_rounds < self._num_rounds():
            meaning = f"'auto', which is {self.most_rounds} rounds without early_stopping,"
            wanted = meaning if isinstance(self.n_estimators, str) else self.n_estimators
            raise InvalidInputError(
                f"n_estimators={wanted} must be larger or equal to the {self._num_rounds()} rounds of the "
                "fit before when warm_start==True"
            )
        if (self.multi_strategy == ONE_OUTPUT) != (self.trees_per_round_ > 1) and self.start_.size > 1:
            raise InvalidInputError(
                f"warm_start needs the multi_strategy of the fit before, with {self.trees_per_round_} trees a round, "
                f"got {self.multi_strategy!r}"
            )
        old, new = self.class_names(), outputs.classes
        if len(old) != len(new) or not all(map(np.array_equal, old, new)) or outputs.number != self.n_outputs_:
            raise InvalidInputError("warm_start needs the classes, or the number of outputs, of the first fit")
        check_kept_trees(self.forest_.nodes, self.monotonic_cst, self.schema_, self.loss_.num_ordered)
        return self._rounds()

    def _rounds(self) -> Rounds:
        """Returns the rounds of the fit."""
        return Rounds(self.forest_, self.start_, self.measured_, self.trees_per_round_)

    def _num_rounds(self) -> int:
        """The number of rounds of the fitted model, or of the longest of those of folds."""
        trees = len(self.forest_) if self.folds_ is None else int(self.folds_.num_trees.max())
        return trees // self.trees_per_round_

    @property
    def estimators_(self) -> list[DecisionTreeRegressor]:
        """The trees as fitted estimators, round after round, each of which predicts the steps that it makes."""
        check_is_fitted(self)
        if self._trees is None:
            self._trees = [self._tree_alone(number) for number in range(len(self.forest_))]
        return self._trees

    @property
    def n_estimators_(self) -> int:
        """The number of rounds, which early stopping may have made smaller than `n_estimators`."""
        return len(self.model_.forest) // self.trees_per_round_

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """The measures after every round, by names of evaluation and metric, as LightGBM and XGBoost have it.

        The loss is called "log_loss" of classes, and otherwise as the parameter has it; "squared_error" is half the
        square, as it is minimised. A model with folds has those of every fold, from "fold_0" on.
        """
        return self.measured_.as_dict() if self.folds_ is None else self.folds_.evals_result()

    @property
    def best_iteration_(self) -> int:
        """The number of rounds, from 1, at which what decides when to stop was best; see `best_score_`.

        A model of folds has the mean over its folds, to the nearest whole number.
        """
        return self._best_of_rounds("best_iteration_")[0]

    @property
    def best_score_(self) -> float:
        """The first metric of the first rows that were measured, or without any the loss, at `best_iteration_`.

        A model of folds has the mean over its folds, each at the best round of its own model.
        """
        return self._best_of_rounds("best_score_")[1]

    def _best_of_rounds(self, name: str) -> tuple[int, float]:
        check_is_fitted(self)
        folds = self.folds_
        models = [self.measured_] if folds is None else [folds.measured_of(fold) for fold in range(len(folds))]
        found = [best for own in models if (best := best_of(own, self.tol)) is not None]
        if not found:
            if self.ensemble_weights_ is not None:
                models = len(self.ensemble_weights_)
                raise AttributeError(f"{name} is of the rounds of one fit, and this is the mean of {models} models")
            raise AttributeError(f"{name} is of fits with eval_set or early_stopping: nothing was measured in this one")
        return round(np.mean([number for number, _ in found])), float(np.mean([value for _, value in found]))

    def _folds(self, name: str) -> Folds:
        check_is_fitted(self)
        if self.folds_ is None:
            raise AttributeError(f'{name} needs {type(self).__name__}(early_stopping="cv"), which keeps folds')
        return self.folds_

    @property
    def oof_predictions_(self) -> Float[np.ndarray, "row *column"]:
        """Predictions by the models of the folds for rows that they have not seen: probabilities, or numbers."""
        predictions = self._folds("oof_predictions_").predictions
        return predictions[:, 0] if predictions.shape[1] == 1 else predictions

    @property
    def oof_score_(self) -> float:
        """The `score` of these predictions: an honest score of a model of a part of the rows."""
        return self._folds("oof_score_").score

    @property
    def feature_importances_(self) -> Float[np.ndarray, " column"]:
        """Share of the loss saved by all splits that those on each column save."""
        saved = self._gains().sum(axis=0)
        return saved / saved.sum() if saved.sum() > 0 else saved

    def fitted_state(self) -> BoostedState:
        """Returns what fitting has learned: what a model file keeps."""
        learned = {"survival": self.survival_, "folds": self.folds_, "held_out": self._held_out}
        learned["weights"] = self.ensemble_weights_
        return BoostedState.of(self.fitted_table(), self._rounds(), self.loss_, **learned)

    def restore(self, state: BoostedState) -> None:
        """Takes what `fitted_state` of another estimator of these parameters returned; see `KeptInFiles.restore`."""
        self.restore_loss(state)
        self.set_rounds(Rounds(state.forest(self.schema_), state.start, state.measured, state.trees_per_round))
        self.folds_, self._held_out, self.ensemble_weights_ = state.folds, state.held_out, state.weights

    def set_rounds(self, rounds: Rounds) -> None:
        """Takes rounds as the fitted ones."""
        forest, start, self.measured_, self.trees_per_round_, *_ = rounds
        self._trees = None
        self.set_trees(forest, start, target_means(forest.nodes))

    def _tree_alone(self, number: int) -> DecisionTreeRegressor:
        """Returns one tree as an estimator."""
        tree = DecisionTreeRegressor()
        for name in ("encoder_", "n_features_in_", "feature_names_in_", "other_columns_"):
            if hasattr(self, name):
                setattr(tree, name, getattr(self, name))
        tree.n_outputs_, tree.is_vector_ = self.start_.size, self.start_.size == 1
        return tree.settle(self.forest_[number])
