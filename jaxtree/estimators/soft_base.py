"""The base of all soft estimators: from a table to a trained model, and from the model to its outputs."""

import abc
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Real
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from jaxtree.arrays import AnyArray
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.conventions import allow_tables, check_names, check_parameters, key_of, progress_of_trees
from jaxtree.estimators.parts import read_arguments
from jaxtree.estimators.soft_parameters import (
    AUTO,
    SoftParameters,
    auto_depth,
    config_of,
    epochs_of,
    hyperparameters_of,
)
from jaxtree.files.records import require
from jaxtree.files.registry import KeptInFiles
from jaxtree.files.soft import InputsState, SoftState, form_of, mixture_of
from jaxtree.files.trees import RandomKey
from jaxtree.soft.epochs import Hyperparameters, Predict, Progress, TrainingConfig, TrainingRows, constant, make_rows
from jaxtree.soft.forest import predict_in_blocks
from jaxtree.soft.inputs import Inputs, SoftSample, fit_inputs
from jaxtree.soft.model import SoftForm
from jaxtree.soft.training import Trained, Validation, train_many
from jaxtree.table.encoder import Encoder
from jaxtree.table.reading import check_same_length
from jaxtree.table.schema import Schema
from jaxtree.table.sources import is_source, open_source
from jaxtree.table.target import check_sample_weight
from jaxtree.tree import Tree


class BaseSoft(SoftParameters, KeptInFiles, BaseEstimator, abc.ABC):
    """A soft model on any table. One kind of subclass knows targets, another models.

    Attributes:
        encoder_: The columns of the table.
        inputs_: How the table becomes rows of the model.
        model_: The trained model.
        progress_: Where training ended; an estimator from a file has none.
        history_: The losses after every epoch.
        best_epoch_: The number of epochs after which the model stood as it is.
    """

    n_features_in_: int
    encoder_: Encoder
    inputs_: Inputs
    model_: Any
    progress_: Progress
    history_: dict[str, list[float]]
    best_epoch_: int

    _largest_auto_depth: ClassVar[int]
    """The most that `depth="auto"` is."""

    @abc.abstractmethod
    def _read_target(self, y: Any, sample_weight: Any, classes: Any) -> Real[np.ndarray, "row *output"]:
        """The target of a fit as training takes it; learns the classes, or the units, from it."""

    @abc.abstractmethod
    def _read_known_target(self, y: Any) -> Real[np.ndarray, "row *output"]:
        """A further target, as the one of the fit."""

    @abc.abstractmethod
    def _num_outputs(self) -> int:
        """The number of outputs of the model."""

    @abc.abstractmethod
    def _loss(self) -> Any:
        """The loss that the parameters ask for."""

    @abc.abstractmethod
    def _hard_value(self, value: Float[AnyArray, "end output"]) -> Float[AnyArray, "end output"]:
        """The values of leaves as a hardened tree has them: shares of classes, or numbers in units of the target."""

    @abc.abstractmethod
    def _hard_target(self, target: Real[np.ndarray, "row *output"]) -> Real[np.ndarray, "row output"]:
        """The target of training as a hardened tree has it: a class, or numbers in units of the target."""

    @abc.abstractmethod
    def _value_of_nodes(self, tree: Tree) -> Float[np.ndarray, "node output"]:
        """The values of a hard tree's nodes as a model has them."""

    @abc.abstractmethod
    def _predict_functions(self) -> tuple[Predict, Predict]:
        """The output of the model, and of each of the models that are trained."""

    @abc.abstractmethod
    def _first_models(self, form: SoftForm, key: Key[Array, ""], x: Float[np.ndarray, "row feature"]) -> Any:
        """The models before training on rows x, with an axis of models."""

    @abc.abstractmethod
    def _choose(self, trained: Trained, score: Float[np.ndarray, " model"]) -> None:
        """Makes of the trained models the fitted one, its history and its progress."""

    def _weight_of_target(self, target: Real[np.ndarray, "row *output"]) -> Float[np.ndarray, " row"] | None:
        """A factor of every row's weight by its target."""
        return None

    def _stacked(self, model: Any) -> Any:
        """A fitted model, or its progress, with the axis of models that training wants."""
        return jax.tree.map(lambda part: part[None], model)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Trains the model.

        An interrupt (Ctrl-C) keeps the best parameters so far, with a warning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, or a data frame. Or a source such as the
                path of a Parquet file (see `jaxtree.table.open_source`).
            y: The target of every row. Of a source also the name of its column.
            sample_weight: The weight of every row. Of a source also the name of a column.
            X_val: Rows on which the model is compared after every epoch; if not given, a share `validation_fraction` of
                X, or none.
            y_val: Their targets.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
            TrainingError: The loss has become infinite or not a number.
        """
        self.check_parameters()
        sample = self._read_sample(X, y, sample_weight)
        if (X_val is None) != (y_val is None):
            raise InvalidInputError("X_val and y_val go together, got one of them alone")
        return self._fit_sample(sample, None if X_val is None else self._read_sample(X_val, y_val, None, is_known=True))

    def _fit_sample(self, sample: SoftSample, validation: SoftSample | None, *, taught_by: Any = None) -> Self:
        """Trains on rows that are read, by the loss of a teacher if one is given."""
        if validation is None and self.validation_fraction is not None:
            sample, validation = split_sample(sample, self.validation_fraction, self.random_state)
        for name, is_asked in (("patience", self.patience is not None), ("monitor", self.monitor != "loss")):
            if is_asked and validation is None:
                raise InvalidInputError(f"{name} is for validation rows: give X_val and y_val, or validation_fraction")
        models = self._begin(sample)
        self._rows = sample
        has_init = getattr(self, "init", None) is not None
        held = None
        if validation is not None:
            held = Validation(training_rows(validation, self.inputs_), self.patience, keeps_start=has_init)
        num_rows = len(sample.values)
        trained = self._train(
            models,
            sample,
            config=self._config(self._loss() if taught_by is None else taught_by),
            hyperparameters=hyperparameters_of(self, num_rows, is_guided=has_init or taught_by is not None),
            num_epochs=epochs_of(self, num_rows),
            validation=held,
        )
        if trained.validation_loss is None:
            self._choose(trained, trained.loss[:, -1] if trained.loss.size else np.zeros(len(trained.best_epoch)))
        else:
            self._choose(trained, trained.validation_loss.min(axis=1, initial=np.inf))
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Goes over some further rows once, at the last temperature and with rates that do not fall."""
        self.check_parameters()
        if not hasattr(self, "model_"):
            sample = self._read_sample(X, y, sample_weight, classes=classes)
            models = self._begin(sample)
            self.history_ = {"loss": []}
        else:
            sample = self._read_sample(X, y, sample_weight, is_known=True)
            # An estimator from a file has no progress.
            models = self._stacked(self.progress_ if hasattr(self, "progress_") else self.model_)
            self._key = jax.random.fold_in(self._key, 0)
        self._rows = sample
        is_guided = getattr(self, "init", None) is not None
        hyperparameters = hyperparameters_of(self, len(sample.values), is_guided=is_guided)
        trained = self._train(
            models,
            sample,
            config=self._config(self._loss())._replace(decay=constant),
            hyperparameters=hyperparameters._replace(first_temperature=self.last_temperature),
            num_epochs=1,
        )
        earlier = self.history_["loss"]
        self._choose(trained, trained.loss[:, -1])
        self.history_["loss"] = [*earlier, *self.history_["loss"]]
        self.best_epoch_ = len(self.history_["loss"])
        return self

    def _begin(self, sample: SoftSample) -> Any:
        """Learns the inputs, and returns the models to begin with."""
        key, self._key = jax.random.split(key_of(self.random_state))
        old = getattr(self, "model_", None) if self.warm_start else None
        if old is None:
            self.inputs_ = fit_inputs(sample.values, self.schema_, scaling=self.scaling, weight=sample.weight)
        form = SoftForm(
            depth=self._depth_to_begin_with(len(sample.values), old),
            num_features=self.inputs_.num_features,
            num_outputs=self._num_outputs(),
            gate=self.gate,
            missing=self.inputs_.missing,
        )
        models = self._first_models(form, key, self.inputs_.transform(sample.values))
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
        return auto_depth(num_rows, self._num_outputs() if is_classifier(self) else 2, self._largest_auto_depth)

    def _train(
        self,
        models: Any,
        sample: SoftSample,
        *,
        config: TrainingConfig,
        hyperparameters: Hyperparameters,
        num_epochs: int,
        validation: Validation | None = None,
    ) -> Trained:
        number = jax.tree.leaves(models)[0].shape[0]
        with progress_of_trees(self.verbose, num_epochs, "training", "epochs are done") as report:
            return train_many(
                models,
                training_rows(sample, self.inputs_),
                keys=jax.random.split(self._key, number),
                num_epochs=num_epochs,
                config=config,
                hyperparameters=hyperparameters,
                validation=validation,
                report=report,
            )

    def _config(self, loss: Any) -> TrainingConfig:
        return config_of(self, loss, self._predict_functions()[1])

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_parameters(self)

    def fitted_state(self) -> SoftState:
        """Returns what fitting has learned: what a model file keeps."""
        return SoftState(
            self.fitted_table(),
            InputsState.of(self.inputs_),
            self.model_,
            RandomKey.of(self._key),
            self.history_,
            self.best_epoch_,
            np.asarray(getattr(self, "_mean", []), np.float64),
            np.asarray(getattr(self, "_deviation", []), np.float64),
        )

    def restore(self, state: SoftState) -> None:
        """Takes what `fitted_state` of another estimator of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self.inputs_ = state.inputs.inputs(self.schema_)
        is_mixed_so = mixture_of(state.model) == getattr(self, "mixture", None)
        require(is_mixed_so, "its trees are mixed in another way than its parameters say")
        self.model_, self._key = state.model_of(self.inputs_), state.key.key()
        self.history_, self.best_epoch_ = state.history, state.best_epoch
        if not is_classifier(self):
            self._mean, self._deviation = state.mean, state.deviation

    @property
    def depth_(self) -> int:
        """The number of edges from the root to every leaf."""
        return form_of(self.model_).depth

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table."""
        return self.encoder_.schema_

    def plot_history(self, ax: Any = None) -> Any:
        """Draws the losses over the epochs and returns the Axes; see `jaxtree.plot.plot_learning_curve`."""
        from jaxtree.plot.charts import plot_learning_curve  # which needs Matplotlib

        return plot_learning_curve(self, ax=ax)

    def __sklearn_tags__(self):
        """Tells scikit-learn that tables may hold words and missing values."""
        tags = allow_tables(super().__sklearn_tags__())
        tags.non_deterministic = False
        return tags

    def __getstate__(self) -> dict:
        """Leaves the rows of the fit, which `harden` takes, out of copies and pickles."""
        state: Any = super().__getstate__()
        return {name: part for name, part in state.items() if name != "_rows"}

    def _encoder_to_fit(self, X: Any) -> Encoder:
        """An encoder that knows the table."""
        return Encoder(categorical_features=self.categorical_features, max_categories=self.max_categories).fit(X)

    def _read_sample(
        self, X: Any, y: Any, sample_weight: Any, *, is_known: bool = False, classes: Any = None
    ) -> SoftSample:
        """Reads the arguments of a fit.

        Args:
            X: The table.
            y: The target.
            sample_weight: The weights.
            is_known: Whether columns and classes are known; else they are learned.
            classes: All classes that there will be, if y may lack some.
        """
        given = read_arguments(X, y, sample_weight)
        if is_known:
            target, values = self._read_known_target(given.y), self._values(given.X)
        else:
            self.other_columns_ = given.beside
            if self.warm_start and hasattr(self, "model_"):
                target = self._read_known_target(given.y)
            else:
                target = self._read_target(given.y, given.sample_weight, classes)
                self.encoder_ = self._encoder_to_fit(given.X)
            values = self.encoder_.values(given.X)
            if not is_source(given.X):
                check_names(self, given.X)
            else:
                self.n_features_in_ = len(open_source(given.X).names or self.schema_.columns)
        check_same_length(len(values), target)
        weight = check_sample_weight(given.sample_weight, len(values))
        weight = np.ones(len(values)) if weight is None else weight
        factor = self._weight_of_target(target)
        sample = SoftSample(values, target, weight if factor is None else weight * factor)
        return sample if sample.weight.all() else sample.take(sample.weight > 0)

    def _values(self, X: Any) -> Real[np.ndarray, "row value"]:
        values = self.encoder_.values(X)
        if not is_source(X):
            check_names(self, X, reset=False)
        return values

    def _outputs(self, X: Any) -> Float[np.ndarray, "row output"]:
        """The outputs of the model for the rows of a table."""
        check_is_fitted(self)
        return self._outputs_of(self._values(X))

    def _outputs_of(self, values: Real[np.ndarray, "row value"]) -> Float[np.ndarray, "row output"]:
        x = self.inputs_.transform(values)
        return predict_in_blocks(self._predict_functions()[0], self.model_, x, float(self.last_temperature))


def training_rows(sample: SoftSample, inputs: Inputs) -> TrainingRows:
    """The rows as training takes them; weights are 1 in the mean."""
    return make_rows(inputs.transform(sample.values), sample.target, sample.weight / sample.weight.mean())


def split_sample(sample: SoftSample, fraction: float, seed: Any) -> tuple[SoftSample, SoftSample]:
    """Holds out a share of the rows, of every class alike where each has two rows.

    Raises:
        InvalidInputError: Nothing is left to train or to validate on.
    """
    labels = sample.target if sample.target.ndim == 1 else None
    if labels is not None and np.bincount(labels.astype(np.int64)).min(initial=2) < 2:
        labels = None
    rows = np.arange(len(sample.values))
    try:
        kept, held = train_test_split(rows, test_size=fraction, random_state=seed, stratify=labels)
    except ValueError as error:
        raise InvalidInputError(f"validation_fraction={fraction} of {len(rows)} rows: {error}") from None
    return sample.take(np.sort(kept)), sample.take(np.sort(held))
