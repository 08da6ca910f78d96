"""The base of all soft estimators: from a table to a trained model, and from the model to its outputs."""

import abc
import copy
import dataclasses
import itertools
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64, Key, Real
from sklearn.base import is_classifier

from jaxtree import forks
from jaxtree.arrays import AnyArray
from jaxtree.dataset.arguments import split_validation
from jaxtree.dataset.dataset import TableOptions, read_sample
from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.devices import costs, current_platform, placed
from jaxtree.devices.costs import Work
from jaxtree.errors import InvalidInputError, all_or_nothing, named, warn_user
from jaxtree.estimators.boosting.rows import weight_of
from jaxtree.estimators.common.conventions import (
    Role,
    check_parameters,
    identity,
    key_of,
    learn_names,
    names_of,
    progress_of,
)
from jaxtree.estimators.common.extras import check_arguments
from jaxtree.estimators.common.fold_rows import Fold
from jaxtree.estimators.common.jobs import Family, Job, TablePart
from jaxtree.estimators.common.parts import EstimatorOnTables
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.soft import stumps
from jaxtree.estimators.soft.parameters import (
    AUTO,
    FEW_ROWS,
    SoftParameters,
    at_the_end,
    auto_depth,
    auto_share_held_out,
    check_functions,
    config_of,
    epochs_of,
    has_hard_trees_together,
    hyperparameters_of,
    mixture_of,
    patience_of,
    rows_of_step,
    settings_of,
)
from jaxtree.estimators.soft.rows import (
    SoftPart,
    SoftRows,
    SoftTask,
    check_classes,
    ordered_inputs,
    parts_of_folds,
    rows_of_inputs,
    runs_of,
    split_sample,
    training_rows,
)
from jaxtree.export.functions import Function, RowAnswer
from jaxtree.files.records import require
from jaxtree.files.soft import InputsState, SoftState, form_of, name_of_mixture
from jaxtree.files.trees import RandomKey
from jaxtree.serving.rows import given_names, warn_of_names
from jaxtree.soft.calibration import Constant, calibrated
from jaxtree.soft.epochs import Hyperparameters, Predict, Progress, TrainingConfig
from jaxtree.soft.forest import SoftForest, apply_forest, forest_log_mixture, predict_in_blocks
from jaxtree.soft.form import SoftForm
from jaxtree.soft.functions import Elementwise, name_of
from jaxtree.soft.inputs import Inputs, SoftSample, fit_inputs
from jaxtree.soft.losses import distillation
from jaxtree.soft.model import SoftTree, apply, log_mixture
from jaxtree.soft.on_host import is_for_host, outputs_on_host
from jaxtree.soft.runs import Trained, Validation, train_runs
from jaxtree.soft.training import check_trained, final_loss, train_to_the_end
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import check_same_length
from jaxtree.table.sources import is_source
from jaxtree.tree import Tree
from jaxtree.tree.kinds import ModelKind

MOST_FITS = 64
"""The most fits that are begun before they are trained: their first and last states are in memory together."""

PREDICT_FUNCTIONS = {SoftTree: (apply, log_mixture), SoftForest: (apply_forest, forest_log_mixture)}
"""The functions that return the outputs of models of numbers and of classes, by the type of the model."""


class BaseSoft(SoftParameters, EstimatorOnTables, Family):
    """A soft model on any table. Some subclasses read targets, others make models.

    Attributes:
        encoder_: The columns of the table.
        inputs_: How the table becomes rows of the model.
        soft_model_: The trained model.
        progress_: Where training ended; an estimator from a file has none.
        history_: The losses after every epoch.
        best_epoch_: The number of epochs after which the model stood as it is.
        oof_predictions_: By forests of folds, what those that have not seen a row predict for it.
    """

    model_kind = ModelKind.SOFT
    joins_parts = True

    n_features_in_: int
    n_classes_: int
    encoder_: Encoder
    inputs_: Inputs
    soft_model_: Any
    progress_: Progress
    history_: dict[str, list[float]]
    best_epoch_: int
    oof_predictions_: Float[np.ndarray, "row *column"]

    init: Any = None
    _no_fields: ClassVar[Mapping[str, Any] | None] = None
    """The further data of rows where nothing is given; None if a target of times and events is not allowed."""
    _largest_auto_depth: ClassVar[int]
    """The most that `depth="auto"` is."""
    _name_of_models: ClassVar[str]
    """The name of the models that are trained, for messages."""
    _needs_all: ClassVar[bool]
    """Whether a model that has reached nothing finite makes all the others useless."""

    def _predict_function(self, model: SoftTree | SoftForest) -> Predict:
        adds_up = isinstance(model, SoftForest) and model.adds_logits
        return PREDICT_FUNCTIONS[type(model)][is_classifier(self) and not adds_up]

    def _stacked(self, model: Any) -> Any:
        """A fitted model, or its progress, with an axis of models in front, as training takes it."""
        return jax.tree.map(lambda part: part[None], model)

    def _choose(self, trained: Sequence[Trained]) -> Trained:
        """One training of several: that of the least loss, on validation rows if there are any."""
        return min(trained, key=final_loss)

    def _take_folds(self, models: Sequence[Trained], parts: Sequence[SoftPart]) -> None:
        """Takes the mean of the models of all folds as the fitted one, without a state to go on from."""
        raise NotImplementedError(f"{type(self).__name__} has no folds")

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        **extras: Any,
    ) -> Self:
        """Trains the model.

        An interrupt (Ctrl-C) keeps the best parameters so far, with a warning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, or a data frame. Or a source such as the
                path of a Parquet file (see `jaxtree.table.open_source`).
            y: The target of every row. For a source, its column's name is accepted, too.
            sample_weight: The weight of every row. For a source, a column's name is accepted, too.
            X_val: Rows on which the model is compared after every epoch; if not given, a share `validation_fraction` of
                X, or none.
            y_val: Their targets.
            sample_weight_val: Their weights.
            extras: Further inputs of the loss, an array of every row by name: `offset=` is added to the scores of a
                row; `group=`, `event=`, `upper=` and those of one's own losses are named in a loss's `needs`; inputs of
                `X_val` end in "_val", such as `event_val=`. For a source, names of columns are accepted, too.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
            TrainingError: The loss has been infinite or not a number from the first epochs on. If it becomes so later,
                the best parameters until then are kept, with a `DivergedFitWarning`.
        """
        self.check_parameters()
        with placed_fit(self, X):
            rows = self.read_rows(X, y, sample_weight, X_val, y_val, sample_weight_val, **extras)
            task = self.begin_fit(rows)
            return self.finish_fit(task, self._train(task))

    def kind_of_jobs(self) -> Hashable:
        """Returns that all jobs of a class are begun together, see `fit_jobs`."""
        return ()

    @classmethod
    def fit_jobs(cls, jobs: Sequence[Job]) -> Iterator[Mapping[int, Self]]:
        """Trains jobs, `MOST_FITS` at a time, those of one program as its runs; see `Family`.

        The rows of a part are read once for all settings that read them alike.
        """
        defect, parts = None, list(dict.fromkeys(part for _, part in jobs))
        # Part by part, so that the rows of few are held at a time.
        places = sorted(range(len(jobs)), key=lambda place: parts.index(jobs[place].part))
        for first in range(0, len(jobs), MOST_FITS):
            programs: dict[TrainingConfig, dict[int, tuple[Self, SoftTask]]] = {}
            for place in places[first : first + MOST_FITS]:
                try:
                    own, task = jobs[place].estimator.begin_job(jobs[place].part)
                    programs.setdefault(task.config, {})[place] = own, task
                except Exception as error:
                    defect = error
            for config, begun in programs.items():
                runs = [run for _, task in begun.values() for run in task.runs]
                trained, is_interrupted = train_runs(runs, config=config)
                if is_interrupted:
                    raise KeyboardInterrupt
                fits, left = {}, iter(trained)
                for place, (own, task) in begun.items():
                    try:
                        fits[place] = own.finish_named(task, list(itertools.islice(left, len(task.runs))))
                    except Exception as error:
                        defect = error
                if fits:
                    yield fits
        if defect is not None:
            raise defect

    def begin_job(self, part: TablePart) -> tuple[Self, SoftTask]:
        """Returns a copy that has begun to fit a part, and its task."""
        of_training = names_of(self, Role.TRAINS, Role.REPORTS)
        params = self.get_params(deep=False)

        def read() -> tuple[Self, SoftRows]:
            X, y, given = part.arguments(self)
            reader = copy.copy(self)
            return reader, reader.read_rows(X, y, **given)

        kind = tuple((name, identity(value)) for name, value in params.items() if name not in of_training)
        reader, rows = part.read(kind, read)
        own = copy.copy(reader)
        vars(own).update({name: params[name] for name in of_training})
        return own, own.begin_fit(rows)

    def finish_named(self, task: SoftTask, trained: Sequence[Trained]) -> Self:
        """Finishes one fit of several: its warnings name its parameters."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.finish_fit(task, trained)
        for own in caught:
            warn_user(f"{' '.join(repr(self).split())}: {own.message}", own.category)
        return self

    def read_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        **extras: Any,
    ) -> SoftRows:
        """Learns the columns and scales from the arguments of `fit`, and returns the rows of the fit."""
        forks.check_is_whole("fit")
        validation, extras = split_validation(X_val, y_val, sample_weight_val, extras)
        check_arguments(self, "fit", [*extras, *(validation.fields if validation else ())], self.extras_of_fit)
        sample, held = self._read_sample(X, y, sample_weight, fields=extras), None
        if validation is not None:
            with named("X_val and y_val"):
                held = self._read_sample(*validation[:3], is_known=True, fields=validation.fields)
        return self._rows_of(sample, held)

    def _rows_of(self, sample: SoftSample, held: SoftSample | None) -> SoftRows:
        """The rows of a fit, of which a share may be held out; scales are learned from the others."""
        fraction = self._share_held_out(sample)
        folds = self._folds_of(sample, held)
        if folds:
            if held is not None or self.validation_fraction != AUTO:
                raise InvalidInputError("cv holds out folds: give no X_val, and leave validation_fraction 'auto'")
        elif held is None and fraction is not None:
            classes = (self.n_classes_,) if is_classifier(self) else ()
            sample, held = split_sample(sample, classes, fraction, self.random_state)
        if not (self.warm_start and hasattr(self, "soft_model_")):
            self._learn_inputs(sample)
        x, trained = self._ordered_inputs(sample), self._as_trained(sample)
        if folds:
            return SoftRows(sample, parts_of_folds(x, sample, trained, folds))
        held_rows = None if held is None else training_rows(self._as_trained(held), self.inputs_)
        return SoftRows(sample, [SoftPart(rows_of_inputs(x, trained), held, held_rows)])

    def _learn_inputs(self, sample: SoftSample) -> None:
        """Learns scales and statistics from the rows of a fit; where a tree begins, categories are one-hot as in it."""
        self.inputs_ = fit_inputs(
            sample.values,
            self.schema_,
            scaling=settings_of(self).scaling,
            weight=sample.weight,
            one_hot_max_size=None if self.init is not None else self.one_hot_max_size,
            target=self._target_of_means(sample.target),
        )

    def _ordered_inputs(self, sample: SoftSample) -> Float[np.ndarray, "row column"]:
        return ordered_inputs(sample, self.inputs_, self._target_of_means(sample.target), self.random_state)

    def _folds_of(self, sample: SoftSample, held: SoftSample | None) -> list[Fold]:
        """The folds that end the trainings of a forest; none without any."""
        return []

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed, or has no effect beside another."""
        check_parameters(self)
        check_functions(self)

    def work_of_fit(self, num_rows: int, num_columns: int) -> Work:
        """Returns how much a fit of so many rows and columns has to do, if it makes all epochs."""
        depth = self._auto_depth(num_rows, 2) if self.depth == AUTO else int(self.depth)
        trees = settings_of(self).n_estimators if hasattr(self, "n_estimators") else 1
        nodes, batch = 2**depth * trees, min(self._rows_of_step(num_rows), num_rows)
        steps = epochs_of(self, num_rows, batch) * -(-num_rows // batch)
        return costs.soft(num_rows, num_columns, nodes=nodes, steps=steps, rows_of_step=batch)

    def begin_fit(self, rows: SoftRows) -> SoftTask:
        """Returns what is trained on rows that are read."""
        if self.monitor != "loss" and rows.parts[0].held is None:
            raise InvalidInputError("monitor is for validation rows: give X_val and y_val, or validation_fraction")
        models = self._begin(rows)
        loss = self._training_loss(rows.sample.target)
        num_rows = len(rows.sample.values)
        return self._task(models, rows, loss, epochs_of(self, num_rows, self._rows_of_step(num_rows)))

    @all_or_nothing
    def _partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        outputs: Outputs | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> Self:
        """Goes over some further rows once, at the last temperature and with rates that do not fall."""
        forks.check_is_whole("partial_fit")
        self.check_parameters()
        check_arguments(self, "partial_fit", fields or {}, self.extras_of_fit)
        with placed_fit(self, X):
            earlier = []
            if not hasattr(self, "soft_model_"):
                sample = self._read_sample(X, y, sample_weight, outputs=outputs, fields=fields, has_more=True)
                self._learn_inputs(sample)
                x = self._ordered_inputs(sample)
                rows = SoftRows(sample, [SoftPart(rows_of_inputs(x, self._as_trained(sample)))])
                models = self._begin(rows)
            else:
                sample = self._read_sample(X, y, sample_weight, is_known=True, fields=fields)
                rows = SoftRows(sample, [SoftPart(training_rows(self._as_trained(sample), self.inputs_))])
                earlier = self.history_["loss"]
                # An estimator from a file has no progress.
                models = self._stacked(self.progress_ if hasattr(self, "progress_") else self.soft_model_)
                self._key = RandomKey.of(jax.random.fold_in(self._key.key(), 0))
            task = self._task(models, rows, self._training_loss(rows.sample.target), 1, goes_on=True)
            self.finish_fit(task, self._train(task))
            self.history_["loss"] = [*earlier, *self.history_["loss"]]
            self.best_epoch_ = len(self.history_["loss"])
        return self

    def _begin(self, rows: SoftRows) -> Any:
        """The models to begin with, once the inputs are learned."""
        num_rows = len(rows.sample.values)
        key, own = jax.random.split(key_of(self.random_state))
        self._key = RandomKey.of(own)
        old = getattr(self, "soft_model_", None) if self.warm_start else None
        form = SoftForm(
            depth=self._depth_to_begin_with(num_rows, old),
            num_features=self.inputs_.num_features,
            num_outputs=self._num_outputs,
            gate=self.gate,
            choice=self.choice,
            side=self.side,
            oblivious=self.oblivious,
            missing=self.inputs_.missing,
        )
        models = self._first_models(form, key, rows.parts[0].x, len(rows.parts))
        if old is None:
            return models
        kept = self._stacked(old)
        if jax.tree.structure(kept) != jax.tree.structure(models):
            raise InvalidInputError("warm_start needs the parameters of the model to be those of the first fit")
        return jax.tree.map(lambda new, old: jnp.broadcast_to(old, new.shape), models, kept)

    def _depth_to_begin_with(self, num_rows: int, old: Any) -> int:
        """The depth of new models, which may give place to an old one."""
        if self.depth != AUTO:
            return int(self.depth)
        if old is not None:
            return self.depth_
        return self._auto_depth(num_rows, self.n_classes_ if is_classifier(self) else 2)

    def _auto_depth(self, num_rows: int, num_classes: int) -> int:
        return auto_depth(num_rows, num_classes, settings_of(self).least_depth, self._largest_auto_depth)

    def _task(self, models: Any, rows: SoftRows, loss: Any, num_epochs: int, *, goes_on: bool = False) -> SoftTask:
        """The training; it goes on where temperature and rates are those of the last step all the time."""
        num_rows = len(rows.sample.values)
        is_guided = self.init is not None or loss is distillation
        numbers = self._with_target_noise(hyperparameters_of(self, num_rows, is_guided=is_guided), rows.sample)
        config = config_of(self, loss, self._predict_function(models.model if isinstance(models, Progress) else models))
        config = config._replace(batch_size=self._rows_of_step(num_rows))
        if goes_on:
            config, numbers = at_the_end(config, numbers)
        patience = patience_of(self, has_folds=len(rows.parts) > 1)
        given = [
            (part.rows, part.held_rows and Validation(part.held_rows, patience, self.init is not None))
            for part in rows.parts
        ]
        return SoftTask(rows.sample, rows.parts, runs_of(models, given, self._key.key(), num_epochs, numbers), config)

    def _train(self, task: SoftTask) -> list[Trained]:
        total = sum(run.num_epochs for run in task.runs)
        with progress_of(self.verbose, total, "training", "epochs") as report:
            return train_to_the_end(task.runs, config=task.config, report=report)

    def _beside_stump(self, task: SoftTask, rows: SoftRows) -> SoftTask:
        """A task whose lone trees of hard gates begin at the best split of a single column, and have to be better."""
        form = form_of(stumps.lone_tree(task.runs[0].model))
        is_old = self.warm_start and hasattr(self, "soft_model_")
        if is_old or form.gate != "hard" or not form.depth:
            return task
        columns = stumps.columns_of_inputs(rows.parts[0].x, form)
        found = self._stump_of(columns, rows.sample)
        if found is None or int(found[0].num_nodes) == 1:
            return task
        stump, value = found
        runs = [run._replace(model=stumps.with_root(run.model, stump, columns)) for run in task.runs]
        return task._replace(runs=runs, stump=stumps.with_leaves_of(stumps.lone_tree(runs[0].model), stump, value))

    def finish_fit(self, task: SoftTask, trained: Sequence[Trained]) -> Self:
        """Takes what the models of a fit have become as the fitted one.

        Raises:
            TrainingError: No model has reached anything finite; or one of several that predict together has not.
        """
        options = ((name, getattr(self, name, None)) for name in ("gate", "loss"))
        own = [f"{name}={name_of(given)}" for name, given in options if callable(given)]
        check_trained(trained, self._name_of_models, needs_all=self._needs_all, functions=own)
        parts, has_folds = task.parts, len(task.parts) > 1
        models = [self._choose(trained[at :: len(parts)]) for at in range(len(parts))]
        if has_folds and (begun := [at for at, one in enumerate(models) if one.loss.size]):
            # An interrupt leaves folds that have not begun.
            models, parts = [models[at] for at in begun], [parts[at] for at in begun]
        if task.stump is not None:
            rows = parts[0].rows if parts[0].held_rows is None else parts[0].held_rows
            models = [stumps.better(models[0], task.stump, rows, task.config.loss)]
        if parts[0].held is not None and self.init is None and (has_folds or self._learns_by_heart(task.sample)):
            loss, predict = self._loss_of_rows(parts[0].held.target), self._predict_function(models[0].model)
            config, constant = task.config._replace(loss=loss, predict=predict), self._constant_leaf(task.sample)
            judging = [part.judging() for part in parts]
            models = calibrated(models, judging, constant, task.runs[0].hyperparameters, config=config)
        self._rows = task.sample
        for name in ("progress_", "oof_predictions_"):
            vars(self).pop(name, None)
        if has_folds:
            self._take_folds(models, parts)
        else:
            self._take(models[0])
            self.progress_ = models[0].progress
        return self

    def _take(self, trained: Trained) -> None:
        """Takes a training as the fitted one."""
        self.soft_model_, self.best_epoch_ = trained.model, int(trained.best_epoch)
        self.history_ = {"loss": trained.loss.tolist()}
        if trained.validation_loss is not None:
            self.history_["validation_loss"] = trained.validation_loss.tolist()

    def kept_parameters(self) -> dict[str, Any]:
        """Returns the parameters that a file has.

        Raises:
            InvalidInputError: The temperature is a schedule, by whose end the model predicts.
        """
        if callable(self.first_temperature):
            raise InvalidInputError(
                f"parameter first_temperature cannot be kept: {name_of(self.first_temperature)} is a function of the "
                "user's own, and model files hold no code; with first_temperature=1.0 and last_temperature="
                f"{self.last_temperature_:.9g} the model predicts as it does"
            )
        return super().kept_parameters()

    def fitted_state(self) -> SoftState:
        """Returns what fitting has learned: what a model file keeps."""
        return SoftState(
            self.fitted_table(),
            InputsState.of(self.inputs_),
            _kept_model(self.soft_model_, choice=self.choice, side=self.side),
            self._key,
            self.history_,
            self.best_epoch_,
            np.zeros(0),
            np.zeros(0),
            None,
            None,
        )

    def restore(self, state: SoftState) -> None:
        """Takes what `fitted_state` of another estimator of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self.inputs_ = state.inputs.inputs(self.schema_)
        is_mixed_so = name_of_mixture(state.model) == mixture_of(self)
        require(is_mixed_so, "its trees are mixed in another way than by its parameters")
        self.soft_model_, self._key = state.model_of(self.inputs_), state.key
        self.history_, self.best_epoch_ = state.history, state.best_epoch

    @property
    def last_temperature_(self) -> float:
        """The temperature of predictions."""
        return float(settings_of(self).last_temperature)

    @property
    def depth_(self) -> int:
        """The number of edges from the root to every leaf."""
        return form_of(self.soft_model_).depth

    def plot_history(self, ax: Any = None) -> Any:
        """Draws the losses over the epochs and returns the Axes; see `jaxtree.plot.plot_learning_curve`."""
        from jaxtree.plot.searches import plot_learning_curve  # which needs Matplotlib

        return plot_learning_curve(self, ax=ax)

    def __getstate__(self) -> dict:
        """Leaves the rows of the fit, which `harden` takes, out of copies and pickles."""
        state: Any = super().__getstate__()
        return {name: part for name, part in state.items() if name != "_rows"}

    def _encoder_to_fit(self, X: Any) -> Encoder:
        """An encoder that is fitted to the table."""
        return Encoder(categorical_features=self.categorical_features, max_categories=self.max_categories).fit(X)

    def _read_sample(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        is_known: bool = False,
        outputs: Outputs | None = None,
        fields: Mapping[str, Any] | None = None,
        has_more: bool = False,
    ) -> SoftSample:
        """Reads the arguments of a fit.

        Args:
            X: The table.
            y: The target.
            sample_weight: The weights.
            is_known: Whether columns and classes are known; else they are learned.
            outputs: The classes that there will be, if y may lack some.
            fields: Further inputs of rows, by name.
            has_more: Whether the model goes on to further rows.
        """
        keeps = is_known or (self.warm_start and hasattr(self, "soft_model_"))
        known, fields = self._known_outputs(y) if keeps else outputs, fields or self._no_fields
        if known is None:
            sample = read_sample(X, y, sample_weight, TableOptions(Encoder(), is_classifier(self)), fields=fields)
        else:
            sample = read_known(known, X, y, sample_weight, fields)
            check_classes(sample, X, y)
        if not is_source(sample.X):
            sample = sample.without_weightless_rows()
        if not is_known:
            self.other_columns_ = sample.beside
        target = self._read_target(sample, is_known=keeps, has_more=has_more)
        if not keeps:
            self.encoder_ = self._encoder_to_fit(sample.X)
        values = self.encoder_.values(sample.X)
        if not is_known:
            names = None if is_source(sample.X) else given_names(sample.X)
            learn_names(self, self.schema_.num_features, names)
        elif not is_source(sample.X):
            warn_of_names(self, sample.X)
        check_same_length(len(values), target)
        factor, weight = self._class_factors(target, sample.weight), weight_of(sample)
        rows = SoftSample(values, target, weight if factor is None else weight * factor)
        return rows if rows.weight.all() else rows.take(rows.weight > 0)

    @property
    def model_of_function(self) -> Any:
        """The trained model."""
        return self.soft_model_

    def parts_of_function(self, dtype: Any) -> tuple[Any, Function]:
        """Returns the trained model, in 32 bits, and the function of this and of rows."""
        inputs, temperature = self.inputs_, self.last_temperature_
        outputs = self._predict_function(self.soft_model_)

        def predict(model: Any, values: Float[Array, "row value"]) -> RowAnswer:
            return self._answer_of(outputs(model, inputs.transform(values), temperature=temperature))

        return jax.tree.map(lambda own: jnp.asarray(own, np.float32), self.soft_model_), predict

    @abc.abstractmethod
    def _answer_of(self, output: Float[Array, "row output"]) -> RowAnswer:
        """The predictions of outputs of the model, in a program."""

    def _outputs_of(self, values: Real[np.ndarray, "row value"]) -> Float[np.ndarray, "row output"]:
        """The outputs of the model."""
        model, x, temperature = self.soft_model_, self.inputs_.transform(values), self.last_temperature_
        nodes = 2**self.depth_ * (model.num_trees if isinstance(model, SoftForest) else 1)
        with placed(None, lambda: costs.soft(*x.shape, nodes=nodes, steps=1, rows_of_step=len(x))):
            if current_platform() == "cpu" and is_for_host(form_of(model)):
                return outputs_on_host(model, x, temperature, of_classes=is_classifier(self))
            return predict_in_blocks(self._predict_function(model), model, x, temperature)

    @property
    @abc.abstractmethod
    def extras_of_fit(self) -> tuple[str, ...]:
        """The extras that `fit` takes."""

    @abc.abstractmethod
    def _known_outputs(self, y: Any) -> Outputs:
        """The outputs of the fit, as those of a target of other rows."""

    @abc.abstractmethod
    def _read_target(self, sample: Sample, *, is_known: bool, has_more: bool = False) -> Any:
        """The target as training takes it; learns the classes, or the units, from it unless these are known."""

    @abc.abstractmethod
    def _training_loss(self, target: Any) -> Any:
        """The function of outputs and such targets that training makes small."""

    def _as_trained(self, sample: SoftSample) -> SoftSample:
        """Rows with targets as the training loss takes them."""
        return sample

    @abc.abstractmethod
    def _loss_of_rows(self, target: Any) -> Any:
        """The loss of outputs and targets as they are read."""

    @abc.abstractmethod
    def _learns_by_heart(self, sample: SoftSample) -> bool:
        """Whether rows are known by heart after the last epoch, so that some are held out by default."""

    def _with_target_noise(self, numbers: Hyperparameters, sample: SoftSample) -> Hyperparameters:
        """The numbers of a training with the noise of targets."""
        return numbers

    def _share_held_out(self, sample: SoftSample) -> float | None:
        """The share of the rows that is held out; None for none."""
        fraction = self.validation_fraction
        if not isinstance(fraction, str):
            return fraction
        holds_out = self._learns_by_heart(sample) or (
            has_hard_trees_together(self) and len(sample.weight) >= FEW_ROWS and not self.warm_start
        )
        return auto_share_held_out(len(sample.weight)) if holds_out else None

    @abc.abstractmethod
    def _as_table(self, sample: SoftSample) -> Sample:
        """The targets, weights and further data of rows, as of a table that was read."""

    @abc.abstractmethod
    def _constant_leaf(self, sample: SoftSample) -> Constant:
        """The leaf that predicts what is best for all rows of a fit together."""

    @property
    @abc.abstractmethod
    def _num_outputs(self) -> int:
        """The number of outputs of the model: classes, or scores."""

    @abc.abstractmethod
    def _hard_value(self, value: Float[AnyArray, "end output"]) -> Float[AnyArray, "end output"]:
        """The values of leaves as a hardened tree has them: shares of classes, or numbers in units of the target."""

    @abc.abstractmethod
    def _hard_target(self, target: Any) -> Real[np.ndarray, "row output"]:
        """The target of training as a hardened tree has it: a class, or numbers in units of the target."""

    @abc.abstractmethod
    def _target_of_means(self, target: Any) -> Float64[np.ndarray, "row column"] | None:
        """The columns that statistics of categories are means of; None if there are none."""

    def _refits(self, refit: bool | None, target: Any) -> bool:
        """Whether leaves of a hardened tree get the shares of classes, or the means, of their rows."""
        return bool(refit)

    def _renewed(self, hardened: Any, sample: SoftSample) -> Any:
        """A hardened tree whose leaves have means of numbers with the values that the loss is least at."""
        return hardened

    @abc.abstractmethod
    def _value_of_nodes(self, tree: Tree) -> Float[np.ndarray, "node output"]:
        """The values of a hard tree's nodes as a model has them."""

    @abc.abstractmethod
    def _stump_of(
        self, columns: Float[np.ndarray, "row column"], sample: SoftSample
    ) -> tuple[Tree, Float[np.ndarray, "node output"]] | None:
        """The best tree of one split of some columns of rows, and the values of its nodes as a model has them.

        None where targets are none that such trees take.
        """

    @abc.abstractmethod
    def _first_models(
        self, form: SoftForm, key: Key[Array, ""], x: Float[np.ndarray, "row feature"], num_parts: int
    ) -> Any:
        """The models before training on rows x, with an axis of models, which take turns at parts of the rows."""

    def _class_factors(
        self, target: Any, weight: Float64[np.ndarray, " row"] | None
    ) -> Float[np.ndarray, " row"] | None:
        """The factor by which the class of every row multiplies its weight; None is 1."""
        return None

    def _rows_of_step(self, num_rows: int) -> int:
        """The most rows of a step, of so many rows."""
        return rows_of_step(self, None, num_rows)


def _kept_model(
    model: SoftTree | SoftForest, *, choice: str | Elementwise, side: str | Elementwise
) -> SoftTree | SoftForest:
    """A model as files have it: functions that hard gates were trained by, and predict without, give way to names.

    Args:
        model: The model.
        choice: The parameter as it is now, which files have: a name.
        side: The same.

    Raises:
        InvalidInputError: Predictions need a function of the user's own.
    """
    form = form_of(model)
    for name in () if form.gate == "hard" else ("gate", "choice", "side"):
        own = getattr(form, name)
        if callable(own):
            raise InvalidInputError(
                f"the model predicts by {name}={name_of(own)}, a function of the user's own, and model files hold no "
                "code: keep what harden() makes of it, where it has a hard form, or use joblib.dump"
            )
    names = {name: own for name, own in (("choice", choice), ("side", side)) if callable(getattr(form, name))}
    if not names:
        return model
    form = dataclasses.replace(form, **names)
    if isinstance(model, SoftForest):
        return dataclasses.replace(model, trees=dataclasses.replace(model.trees, form=form))
    return dataclasses.replace(model, form=form)
