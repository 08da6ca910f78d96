"""What all soft estimators share: from a table to a trained model, and from a model to what it says."""

import abc
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Real
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from jaxtree.buckets import row_bucket
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.base import allow_tables, key_of
from jaxtree.estimators.checks import check_names
from jaxtree.estimators.files.registry import KeptInFiles
from jaxtree.estimators.forests.progress import progress_of_trees
from jaxtree.estimators.parts import read_arguments
from jaxtree.estimators.soft.parameters import AUTO, course_of, epochs_of, method_of
from jaxtree.estimators.soft.preparing import Sample, split_sample
from jaxtree.estimators.soft.sizes import auto_depth
from jaxtree.programs import compiled
from jaxtree.soft.courses import Course, Method, Predict
from jaxtree.soft.epochs import Progress
from jaxtree.soft.inputs import Inputs, fit_inputs
from jaxtree.soft.model import Leaf, SoftForm
from jaxtree.soft.regularisers import trees_of
from jaxtree.soft.schedules import constant
from jaxtree.soft.training import Trained, train_many
from jaxtree.table.encoder import Encoder
from jaxtree.table.schema import Schema
from jaxtree.table.source import is_source, open_source
from jaxtree.table.target import check_same_length
from jaxtree.table.weights import check_sample_weight

ROWS_A_BLOCK = 8192
"""Rows that are predicted at once."""


class BaseSoft(KeptInFiles, BaseEstimator, abc.ABC):
    """A soft model on any table. A subclass has the parameters, and knows targets and models."""

    depth: int | str
    gate: str
    step: str
    selector: str
    leaf: str
    max_epochs: int | str
    last_temperature: float
    validation_fraction: float | None
    judge: str
    patience: int | None
    scaling: str
    categorical_features: Any
    max_categories: int | None
    warm_start: bool
    random_state: Any
    verbose: int
    n_features_in_: int
    encoder_: Encoder
    inputs_: Inputs
    model_: Any
    progress_: Progress
    history_: dict[str, list[float]]
    best_epoch_: int

    _largest_auto_depth: ClassVar[int]
    """The most that `depth="auto"` is."""
    _beside: tuple[str, ...] = ()
    """Columns of the fitted source that are no features: target and weights."""
    _parameter_constraints: ClassVar[dict]

    @abc.abstractmethod
    def _read_target(self, y: Any, sample_weight: Any) -> Real[np.ndarray, "row *output"]:
        """The target of a fit as training takes it; learns what there is to learn from it."""

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
    def _predict_function(self) -> Predict:
        """What a model says."""

    def _predict_in_training(self) -> Predict:
        """What each of the models that are trained says."""
        return self._predict_function()

    @abc.abstractmethod
    def _first_models(self, form: SoftForm, keys: Key[Array, " model"], x: Float[np.ndarray, "row feature"]) -> Any:
        """The models before training, with an axis of models.

        Args:
            form: What the trees are made of.
            keys: A key for each model.
            x: The rows that they are trained on.
        """

    @abc.abstractmethod
    def _num_models(self) -> int:
        """How many models are trained."""

    @abc.abstractmethod
    def _choose(self, trained: Trained, score: Float[np.ndarray, " model"]) -> None:
        """Makes of what was trained the fitted model, its history and its progress."""

    @abc.abstractmethod
    def _hard_leaf(self, leaf: Leaf) -> Leaf:
        """What leaves say, as a hardened tree says it: shares of classes, or numbers in units of the target."""

    def _as_outputs(self, values: Float[np.ndarray, "row output"]) -> Float[np.ndarray, "row output"]:
        """Numbers of the target as a model says them."""
        return values

    def _in_units_of_table(self, target: Any) -> Any:
        """Targets as training takes them, in units of the table."""
        return target

    def _weight_of_target(self, target: Real[np.ndarray, "row *output"]) -> Float[np.ndarray, " row"] | None:
        """A factor of every row's weight by its target."""
        return None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Trains the model.

        An interrupt (Ctrl-C) keeps the best parameters so far, with a warning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, or a data frame. Or a source such as the
                path of a Parquet file (see `jaxtree.table.open_source`).
            y: The target of every row. Of a source also the name of its column.
            sample_weight: The weight of every row. Of a source also the name of a column.
            X_val: Rows to judge by after every epoch; if not given, a share `validation_fraction` of X, or none.
            y_val: Their targets.

        Raises:
            InvalidInputError: The table, the target, the weights or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
            TrainingError: The loss has become infinite or not a number.
        """
        self._check_parameters()
        sample = self._read_sample(X, y, sample_weight)
        return self._fit_sample(sample, self._read_validation(X_val, y_val))

    def _fit_sample(self, sample: Sample, validation: Sample | None) -> Self:
        """Trains on rows that are read."""
        if validation is None and self.validation_fraction is not None:
            sample, validation = split_sample(sample, self.validation_fraction, self.random_state)
        for name, is_asked in (("patience", self.patience is not None), ("judge", self.judge != "loss")):
            if is_asked and validation is None:
                raise InvalidInputError(f"{name} is for validation rows: give X_val and y_val, or validation_fraction")
        models = self._begin(sample)
        self._rows = sample
        method = self._method()
        trained = self._train(models, sample, validation, method=method, num_epochs=epochs_of(self, len(sample.values)))
        if trained.validation_loss is None:
            self._choose(trained, trained.loss[:, -1] if trained.loss.size else np.zeros(len(trained.best_epoch)))
        else:
            self._choose(trained, trained.validation_loss.min(axis=1, initial=np.inf))
        return self

    def _begin(self, sample: Sample) -> Any:
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
            step=self.step,
            selector=self.selector,
            leaf=self.leaf,
            missing=self.inputs_.missing,
        )
        models = self._first_models(
            form, jax.random.split(key, self._num_models()), self.inputs_.transform(sample.values)
        )
        return models if old is None else self._kept_models(models)

    def _depth_to_begin_with(self, num_rows: int, old: Any) -> int:
        """The depth of new models, which may give place to an old one."""
        if self.depth != AUTO:
            return int(self.depth)
        if old is not None:
            return self.depth_
        return auto_depth(num_rows, self._num_outputs() if is_classifier(self) else 2, self._largest_auto_depth)

    def _kept_models(self, models: Any) -> Any:
        """The fitted model in the place of the new ones."""
        kept = self._stacked(self.model_)
        if jax.tree.structure(kept) != jax.tree.structure(models):
            raise InvalidInputError("warm_start needs the parameters of the model to be those of the first fit")
        return jax.tree.map(lambda new, old: jnp.broadcast_to(old, new.shape), models, kept)

    def _stacked(self, model: Any) -> Any:
        """A fitted model with the axis of models that training wants."""
        return jax.tree.map(lambda part: part[None], model)

    def _train(
        self,
        models: Any,
        sample: Sample,
        validation: Sample | None,
        *,
        method: Method,
        num_epochs: int,
        course: Course | None = None,
        start: Progress | None = None,
    ) -> Trained:
        number = jax.tree.leaves(models)[0].shape[0]
        with progress_of_trees(self.verbose, num_epochs, "training", "epochs are done") as report:
            return train_many(
                models,
                sample.as_rows(self.inputs_),
                keys=jax.random.split(self._key, number),
                num_epochs=num_epochs,
                method=method,
                course=course_of(self, len(sample.values)) if course is None else course,
                validation=None if validation is None else validation.as_rows(self.inputs_),
                patience=self.patience,
                keeps_start=getattr(self, "init", None) is not None,
                start=start,
                report=report,
            )

    def _method(self) -> Method:
        return method_of(self, self._loss(), self._predict_in_training())

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Goes over some further rows once, at the last temperature and with rates that do not fall."""
        self._check_parameters()
        if not hasattr(self, "model_"):
            sample = self._read_sample(X, y, sample_weight)
            models, start, self._rows = self._begin(sample), None, sample
            self.history_ = {"loss": []}
        else:
            sample = self._read_further_sample(X, y, sample_weight)
            self._rows = sample
            models, start = self._stacked(self.model_), self._stacked_progress()
            self._key = jax.random.fold_in(self._key, 0)
        course = course_of(self, len(sample.values))._replace(first_temperature=self.last_temperature)
        method = self._method()._replace(decay=constant)
        earlier = self.history_["loss"]
        trained = self._train(models, sample, None, method=method, num_epochs=1, course=course, start=start)
        self._choose(trained, trained.loss[:, -1])
        self.history_["loss"] = [*earlier, *self.history_["loss"]]
        self.best_epoch_ = len(self.history_["loss"])
        return self

    def _stacked_progress(self) -> Progress | None:
        """Where training ended; None of an estimator from a file, which does not keep it."""
        return self._stacked(self.progress_) if hasattr(self, "progress_") else None

    @property
    def depth_(self) -> int:
        """The number of edges from the root to every leaf."""
        return trees_of(self.model_).form.depth

    @property
    def schema_(self) -> Schema:
        """The columns and features of the fitted table."""
        return self.encoder_.schema_

    def plot_history(self, ax: Any = None) -> Any:
        """Draws the losses over the epochs and returns the Axes; see `jaxtree.plot.plot_learning_curve`."""
        from jaxtree.export.curves import plot_curves  # which needs Matplotlib

        check_is_fitted(self)
        return plot_curves(self.history_, self.best_epoch_, ax)

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

    def _read_sample(self, X: Any, y: Any, sample_weight: Any) -> Sample:
        """Reads what a fit is given, and learns columns and classes from it."""
        given = read_arguments(X, y, sample_weight)
        self._beside = given.beside
        is_warm = self.warm_start and hasattr(self, "model_")
        target = self._read_known_target(given.y) if is_warm else self._read_target(given.y, given.sample_weight)
        if not is_warm:
            self.encoder_ = self._encoder_to_fit(given.X)
        values = self.encoder_.values(given.X)
        check_same_length(len(values), target)
        if is_source(given.X):
            self.n_features_in_ = len(open_source(given.X).names or self.schema_.columns)
        else:
            check_names(self, given.X)
        return self._sample(values, target, given.sample_weight)

    def _read_further_sample(self, X: Any, y: Any, sample_weight: Any) -> Sample:
        """Reads rows of the columns and classes that are known."""
        given = read_arguments(X, y, sample_weight)
        target = self._read_known_target(given.y)
        values = self._values(given.X)
        check_same_length(len(values), target)
        return self._sample(values, target, given.sample_weight)

    def _sample(
        self, values: Real[np.ndarray, "row value"], target: Real[np.ndarray, "row *output"], sample_weight: Any
    ) -> Sample:
        weight = check_sample_weight(sample_weight, len(values))
        weight = np.ones(len(values)) if weight is None else weight
        factor = self._weight_of_target(target)
        sample = Sample(values, target, weight if factor is None else weight * factor)
        return sample.with_weight_only()

    def _read_validation(self, X_val: Any, y_val: Any) -> Sample | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            raise InvalidInputError("X_val and y_val go together, got one of them alone")
        return self._read_further_sample(X_val, y_val, None)

    def _values(self, X: Any) -> Real[np.ndarray, "row value"]:
        values = self.encoder_.values(X)
        if not is_source(X):
            check_names(self, X, reset=False)
        return values

    def _outputs(self, X: Any) -> Float[np.ndarray, "row output"]:
        """What the model says of the rows of a table."""
        check_is_fitted(self)
        x = self.inputs_.transform(self._values(X))
        return outputs_of(self._predict_function(), self.model_, x, self.last_temperature)


def outputs_of(
    predict: Predict, model: Any, x: Float[np.ndarray, "row feature"], temperature: float
) -> Float[np.ndarray, "row output"]:
    """What a model says of rows, block by block."""
    blocks = [np.zeros((0, 0), np.float32)] if not len(x) else []
    for start in range(0, len(x), ROWS_A_BLOCK):
        block = x[start : start + ROWS_A_BLOCK]
        padded = np.pad(block, ((0, row_bucket(len(block)) - len(block)), (0, 0)))
        blocks.append(np.asarray(_say(model, padded, temperature, predict=predict))[: len(block)])
    return np.concatenate(blocks)


@compiled("predict")
def _say(model: Any, x: Float[Array, "row feature"], temperature: float, *, predict: Predict) -> Array:
    return predict(model, x, temperature=temperature)
