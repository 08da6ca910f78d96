"""The base of boosted estimators: one table, the rounds of boosting on it, and what its trees predict together."""

import abc
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from jaxtree import buckets, forks
from jaxtree.boosting.measured import Measured
from jaxtree.boosting.refit import refit
from jaxtree.dataset.collectives import fails_in_all, spans_processes
from jaxtree.dataset.dataset import Dataset, TableOptions, encode_sample, in_all, read_sample
from jaxtree.dataset.sample import Outputs, Sample, read_known
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.boosting.kept import FittedBoosting
from jaxtree.estimators.boosting.loss_names import check_name
from jaxtree.estimators.boosting.metrics import mean_loss, metric_of, staged
from jaxtree.estimators.boosting.parameters import BoostingParameters
from jaxtree.estimators.boosting.rows import (
    evaluations_by_name,
    read_evaluation,
    scored_rows,
    target_of,
    with_offset,
)
from jaxtree.estimators.boosting.training import BoostingRun, OnProgress
from jaxtree.estimators.common.constraints import check_kept_trees, read_monotone
from jaxtree.estimators.common.extras import RoutesExtras, fit_fields
from jaxtree.estimators.common.fixed import FixedPredictions
from jaxtree.estimators.common.parts import part_by_part
from jaxtree.losses.links import predictions_of
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.sources import is_source
from jaxtree.tree.forest import Forest


class BaseBoosting(RoutesExtras, BoostingParameters, FittedBoosting):
    """Boosted trees on any table."""

    pruning = None

    _of_classes: ClassVar[bool] = False
    _named_losses: ClassVar[Mapping[str, Callable[..., BaseLoss]]] = {}

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: one target."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        for parameter in ("loss", "distribution"):
            check_name(type(self).__name__, parameter, getattr(self, parameter, None), self._named_losses)
        super().check_parameters()

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Sequence[Any] | Mapping[str, Any] | None = None,
        eval_metric: Any = None,
        callbacks: Sequence[OnProgress] = (),
        mesh: Mesh | None = None,
        **extras: Any,
    ) -> Self:
        """Boosts trees, round by round.

        With `warm_start` the rounds of the last fit are kept, and those up to `n_estimators` are made with the codes of
        that fit: on the same table they are the rounds that one longer fit makes, bit for bit, unless categories are
        "ordered". With early stopping they are kept up to the best, and none if all are worse than the last one was.
        After an interrupt the rounds made so far are kept, with a warning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy.
                Or a source that is read in parts, such as the path of a Parquet file (see
                `jaxtree.table.open_source`).
            y: The target of every row. Of a source also the name of its column.
            sample_weight: The weight of every row; a row of weight 0 is left out. Of a source also the name of a
                column.
            eval_set: Other tables that are measured after every round: pairs (X, y), perhaps with weights (or None) and
                a dict of extras; or a dict of such by name. Without names they are "validation_0" and so on. With
                `early_stopping` the first decides; without any, a part of the rows does, on which no tree is grown.
            eval_metric: What `evals_result_` has of them beside the loss, one or a list: the name of a loss or of a
                scorer of scikit-learn ("roc_auc"), a loss of `jaxtree.boosting`, a scorer, or a function of targets and
                predictions, which is better if smaller unless its name ends in "_score". The first of them decides
                when to stop, in place of the loss. They get the weights of rows if they take `sample_weight`.
            callbacks: Functions called about every 25 rounds with the number of rounds and `evals_result_`; a true
                result ends the fit.
            mesh: Devices in one axis to divide the rows among; see `jaxtree.boosting.boost`. If these belong to several
                processes, each calls this with rows of its own, but the same `eval_set`, and all get the whole model.
            extras: What else the loss asks for, an array of every row by name: `offset=` is added to the scores of a
                row, one number or one a score; `group=`, `event=`, `upper=` and those of one's own losses are named in
                a loss's `needs`. Of a source also names of columns.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights, an extra or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
            TrainingError: The derivatives of the loss at the start are no numbers, or too large.
        """
        asked = {"eval_set": eval_set, "eval_metric": eval_metric, "mesh": mesh}
        with fails_in_all(mesh, self):
            run = self.open_fit(X, y, sample_weight, **asked, **extras)
            if run is not None:
                run.make(callbacks, mesh)
        return self

    def open_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Sequence[Any] | Mapping[str, Any] | None = None,
        eval_metric: Any = None,
        beside: Mapping[str, Any] | None = None,
        mesh: Mesh | None = None,
        **extras: Any,
    ) -> BoostingRun | None:
        """Reads what a fit reads before its first round; None if a warm start has all rounds already.

        Args:
            X: A table; this and what is not named here as in `fit`.
            y: Its target.
            sample_weight: The weight of every row.
            eval_set: Other tables that are measured.
            eval_metric: What is measured of them.
            beside: Further tables by name, which never decide when to stop.
            mesh: Devices to divide the rows among.
            extras: What the loss asks for.
        """
        forks.check_is_whole("fit")
        together = mesh is not None and spans_processes(mesh)
        in_all(together, lambda: self._check_fit(together))
        options = TableOptions(self.make_encoder(), self._of_classes, getattr(self, "class_weight", None))
        sample = read_sample(X, y, sample_weight, options, fields=extras, together=together).without_weightless_rows()
        if not self._of_classes and len(getattr(y, "shape", ())) == 2 and sample.outputs.number == 1:
            message = "A column-vector y was passed when a 1d array was expected"
            warnings.warn(message, DataConversionWarning, stacklevel=3)
        kept = self._kept_trees(sample.outputs)
        loss, sample, held = in_all(together, lambda: self._loss_and_evaluations(sample, eval_set))
        if kept is not None and len(kept) == self.n_estimators:
            self._values(X)  # of other columns it raises, as it does where rounds are left
            return None
        if kept is not None and self.loss_ != loss:
            raise InvalidInputError(f"warm_start needs the loss of the first fit, {self.loss_}, got {loss}")
        if self.early_stopping and not held:
            self._check_can_hold_out(sample, together)
            options = options._replace(held_out=self.validation_fraction, seed=self.random_state)
        encoder = None if kept is None else self.encoder_
        data = encode_sample(sample, options, encoder=encoder, together=together)
        if data.held is not None:
            held["validation_0"] = data.held
        for name, given in (beside or {}).items():
            held[name] = self._check_rows(loss, read_evaluation(sample.outputs, given))
        in_all(together, lambda: self._check_columns(data, together))
        return self._begin(data, loss, held, eval_metric, kept)

    def _check_fit(self, together: bool) -> None:
        """Raises InvalidInputError if a parameter is not allowed, or not over several processes."""
        self.check_parameters()
        if together and self.warm_start:
            raise InvalidInputError("warm_start is for fits in one process: over several, all rounds are made anew")

    def _check_can_hold_out(self, sample: Sample, together: bool) -> None:
        """Raises InvalidInputError if no rows can be held out for early stopping."""
        if together:
            raise InvalidInputError("early_stopping over several processes needs eval_set: no rows are held out")
        if is_source(sample.X):
            raise InvalidInputError("early_stopping needs eval_set if X is a table in parts: it is not divided")

    def _check_columns(self, data: Dataset, together: bool) -> None:
        """Raises InvalidInputError if a parameter does not fit the columns."""
        self.features_of_growth(data.schema, data.outputs)
        if together and self.has_statistics(data.schema).any():
            raise InvalidInputError(
                "over several processes no statistics of categories are taken: categorical_splits must be "
                f'"subset" or another that takes none, got {self.categorical_splits!r}'
            )

    def _loss_and_evaluations(
        self, sample: Sample, eval_set: Sequence[Any] | Mapping[str, Any] | None
    ) -> tuple[BaseLoss, Sample, dict[str, Sample]]:
        """Returns the loss, the rows with its fields, and the tables that are measured by name, all checked."""
        loss = self._make_loss(sample.outputs)
        given = evaluations_by_name(eval_set)
        held = {name: read_evaluation(sample.outputs, own).without_weightless_rows() for name, own in given.items()}
        sample = fit_fields(loss, sample)
        loss.check_fit(target_of(sample), sample.fields)
        return loss, sample, {name: self._check_rows(loss, own) for name, own in held.items()}

    def _begin(
        self, data: Dataset, loss: BaseLoss, held: dict[str, Sample], eval_metric: Any, kept: Forest | None
    ) -> BoostingRun:
        """Learns of the rows of the fit, and returns the rounds to make."""
        if kept is None:
            vars(self).pop("_model", None)
        self.learn(data)
        self.loss_ = loss
        several = eval_metric if isinstance(eval_metric, list | tuple) else [eval_metric]
        metrics = [metric_of(metric, self._named_losses) for metric in several if metric is not None]
        return BoostingRun(self, data, held, metrics, kept)

    def first(self, number: int) -> Self:
        """Returns the model of the first rounds, as a fit of so many would have made it.

        Raises:
            InvalidInputError: There are not so many.
        """
        if not 1 <= number <= self.n_estimators_:
            raise InvalidInputError(f"the number of rounds must be from 1 to {self.n_estimators_}, got {number}")
        model = copy.copy(self)
        model.n_estimators = number
        model.take_trees(self.forest_.first(number), self.start_, self.measured_.first(number))
        return model

    def refit(self, X: Any, y: Any, sample_weight: Any = None, *, decay_rate: float = 0.9, **extras: Any) -> Self:
        """Returns a model with the same splits, whose steps are made anew, round by round, on other rows.

        Args:
            X: A table; see `fit`.
            y: Its target, of the classes that the fit has seen.
            sample_weight: The weight of every row.
            decay_rate: The part of every old step that stays, from 0 to 1. Nodes without rows keep theirs.
            extras: What the loss asks for.

        Raises:
            InvalidInputError: An argument is not allowed, or trees were dropped in the fit.
        """
        forks.check_is_whole("refit")
        check_is_fitted(self)
        if not 0 <= decay_rate <= 1:
            raise InvalidInputError(f"decay_rate must be from 0 to 1, got {decay_rate}")
        if self.drop_rate > 0:
            raise InvalidInputError("refit is for drop_rate=0: the steps of dropped trees follow from one another")
        sample = read_known(self.outputs(), X, y, sample_weight, extras).without_weightless_rows()
        sample = self._check_rows(self.loss_, sample)
        forest = refit(
            self.forest_,
            self.apply(sample.X),
            scored_rows(sample, buckets.pad_codes(self.encoder_.transform(sample.X))),
            self.start_,
            self.loss_,
            self.shrinkage(),
            keep=decay_rate,
            monotone=read_monotone(self.monotonic_cst, self.schema_),
        )
        model = copy.copy(self)
        model.take_trees(forest, self.start_, Measured((), np.zeros((len(forest), 0))))
        return model

    @part_by_part
    def apply(self, X: Any) -> Int[np.ndarray, "row tree"]:
        """Returns the node of every tree where the walk of every row ends, counted from the tree's root."""
        values = self._values(X)
        return self.model_.predictor.ends_in_trees(values) - self.forest_.first_node[:-1]

    def raw_scores(self, X: Any, *, offset: Any = None) -> Float[np.ndarray, "row score"]:
        """Returns the scores of every row, which the loss turns into predictions: a column a score.

        Args:
            X: A table, or a source.
            offset: What is added to the scores, as in `fit`.
        """
        return with_offset(self.loss_, self._scores(X), offset)

    def staged_scores(self, X: Any, *, offset: Any = None) -> Iterator[Float[np.ndarray, "row score"]]:
        """Yields the scores of every row after each round; see `raw_scores`."""
        values = self._values(X)
        for scores in staged(self.forest_, np.tile(self.start_, (len(values), 1)), values):
            yield with_offset(self.loss_, scores, offset)

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float[np.ndarray, "row column"]:
        """Returns predictions of rows that `encoder_.values` has encoded."""
        return self._predictions(self.model_.predict(values))

    @abc.abstractmethod
    def fixed_predictions(self, scores: Float[np.ndarray, "row score"], offset: Any = None) -> FixedPredictions:
        """Returns what the fitted loss predicts from scores and an offset, as an estimator that scorers take."""

    @abc.abstractmethod
    def _make_loss(self, outputs: Outputs) -> BaseLoss:
        """Returns the loss of a target."""

    @staticmethod
    def _check_rows(loss: BaseLoss, sample: Sample) -> Sample:
        """Returns rows that no tree is grown on with the fields of a loss, which allows them and the target."""
        sample = fit_fields(loss, sample)
        loss.check(target_of(sample), sample.fields)
        return sample

    def _mean_loss(self, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> float:
        """Returns the mean loss of rows."""
        rows = self._known_rows(X, y, sample_weight, extras)
        return mean_loss(self.loss_, self._scores(rows.X), rows)

    def _known_rows(self, X: Any, y: Any, sample_weight: Any, extras: Mapping[str, Any]) -> Sample:
        """Returns rows that the fitted loss allows."""
        return self._check_rows(self.loss_, read_known(self.outputs(), X, y, sample_weight, extras))

    @part_by_part
    def _scores(self, X: Any) -> Float[np.ndarray, "row score"]:
        return self.model_.predict(self._values(X))

    def _predictions(self, scores: Float[np.ndarray, "row score"]) -> Float[np.ndarray, "row column"]:
        """Returns what the loss predicts from scores."""
        return predictions_of(self.loss_, scores.T).T

    def _kept_trees(self, outputs: Outputs) -> Forest | None:
        """Returns the trees that a warm start continues; None without one.

        Raises:
            InvalidInputError: There are more of them than asked for, or the classes are others.
        """
        if not self.warm_start or not hasattr(self, "_model"):
            return None
        if self.n_estimators < len(self.forest_):
            raise InvalidInputError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {len(self.forest_)} rounds of the "
                "fit before when warm_start==True"
            )
        old, new = self.class_names(), outputs.classes
        if len(old) != len(new) or not all(map(np.array_equal, old, new)) or outputs.number != self.n_outputs_:
            raise InvalidInputError("warm_start needs the classes, or the number of outputs, of the first fit")
        check_kept_trees(self.forest_.nodes, self.monotonic_cst, self.schema_, self.loss_.num_ordered)
        return self.forest_
