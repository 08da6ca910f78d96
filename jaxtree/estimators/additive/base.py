"""The base of additive estimators: one table, the fit of its terms, and the trees that they are kept as."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float64, Int64
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.additive.bags import BagRows, FitData
from jaxtree.additive.coded_rows import CodedRows
from jaxtree.additive.config import AdditiveConfig
from jaxtree.additive.edits import Edit
from jaxtree.additive.fitting import FittedBags, fit_additive
from jaxtree.additive.model import AdditiveModel
from jaxtree.additive.trees import to_forest
from jaxtree.arrays import Device
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.dataset.collectives import check_same, fails_in_all, join_rows, spans_processes
from jaxtree.dataset.dataset import Dataset, TableOptions, encode_sample, in_all, read_sample
from jaxtree.dataset.sample import Sample
from jaxtree.dataset.splitting import split_groups, split_rows
from jaxtree.errors import InterruptedFitWarning, InvalidInputError, SeparableClassesWarning, warn_user
from jaxtree.estimators.additive.edited import EditsTerms
from jaxtree.estimators.additive.explained import ExplainsTerms
from jaxtree.estimators.additive.parameters import AdditiveParameters
from jaxtree.estimators.additive.together import DividedRows, join_sample
from jaxtree.estimators.boosting.loss_names import check_name
from jaxtree.estimators.boosting.rows import target_of, unit_of_rows, weight_of
from jaxtree.estimators.boosting.scored import ScoredTrees
from jaxtree.estimators.common.conventions import all_or_nothing, progress_of
from jaxtree.estimators.common.extras import check_arguments, fit_fields
from jaxtree.estimators.common.placing import placed_fit, shape_of
from jaxtree.files.additive import AdditiveState, EditRecord, TermArrays
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.encoder import Encoder

SEPARATED = 1e-3
"""The part of the log loss that is left where classes count as separable."""


class AdditiveTask(NamedTuple):
    """The rows and settings that a fit has read.

    Attributes:
        data: The rows, of several processes those of this one.
        loss: The loss.
        codes: The codes of all rows.
        sample: The targets, weights and fields of all rows, with the group that is no part of the loss.
        devices: Devices that bags are divided among; none for the one that JAX computes on.
    """

    data: Dataset
    loss: BaseLoss
    codes: CodedRows
    sample: Sample
    devices: Sequence[Device] = ()


class BaseAdditive(AdditiveParameters, ExplainsTerms, EditsTerms, ScoredTrees):
    """An additive model of any table."""

    additive_: AdditiveModel
    bag_values_: Float64[np.ndarray, "bag place score"]
    num_rounds_: Int64[np.ndarray, "bag stage"]

    divides_groups = True

    def __sklearn_tags__(self):
        """Sets scikit-learn's tags: several targets of numbers, one of classes."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not self._of_classes
        return tags

    def check_parameters(self) -> None:
        """Raises InvalidInputError if a parameter is not allowed."""
        check_name(type(self).__name__, "loss", vars(self).get("loss"), self._named_losses)
        super().check_parameters()

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, mesh: Mesh | None = None, **extras: Any) -> Self:
        """Fits the terms of columns, and those of the pairs of columns that interact.

        After an interrupt the model has what was boosted until then, with a warning.

        Args:
            X: A table of shape (rows, columns): a NumPy array, nested lists, a data frame, or a sparse matrix of scipy.
                Or a source that is read in parts, such as the path of a Parquet file (see
                `jaxtree.table.open_source`), of which codes alone are held.
            y: The target of every row. Of a source also the name of its column. Of classes also their probabilities,
                see `jaxtree.ClassProbabilities`.
            sample_weight: The weight of every row; a row of weight 0 is left out. Of a source also the name of a
                column. Weights have no unit: to `min_hessian`, `reg_lambda` and `reg_alpha` one row has the least
                weight where all are whole multiples of it, and at most 32 times as large in the mean; of other weights
                the mean one.
            mesh: Devices in one axis to divide the bags among. If these belong to several processes, each calls this
                with rows of its own, and all get the whole model, bit for bit that of all rows in one process: each
                keeps the codes of its rows, and the targets, weights and extras of all.
            extras: What else the loss asks for, an array of every row by name, such as `offset=`, which is added to
                the scores; `group=` keeps the rows of a group in the same part of every bag.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights, an extra or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
            TrainingError: The derivatives of the loss at the start are no numbers.
        """
        forks.check_is_whole("fit")
        with fails_in_all(mesh, self), placed_fit(self, X, mesh):
            self.fit_task(self.read_task(X, y, sample_weight, mesh=mesh, **extras))
        return self

    def read_task(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        same_as: Dataset | None = None,
        mesh: Mesh | None = None,
        **extras: Any,
    ) -> AdditiveTask:
        """Reads the arguments of a fit; the group that is no part of the loss stays beside it.

        Args:
            X: A table; this and what is not named here as in `fit`.
            y: Its target.
            sample_weight: The weight of every row.
            same_as: The same rows, read with an encoder of the same parameters, whose codes are taken.
            mesh: Devices to divide the bags, or of several processes the rows, among.
            extras: What else the loss asks for.
        """
        together = mesh is not None and spans_processes(mesh)
        in_all(together, self.check_parameters)
        options = TableOptions(self._encoder_of(X), self._of_classes, getattr(self, "class_weight", None))
        if extras or together:
            in_all(together, lambda: check_arguments(self, "fit", extras, self.extras_of_fit))
        given = read_sample(X, y, sample_weight, options, fields=extras, together=together)
        sample = given.without_weightless_rows()
        if not self._of_classes and len(getattr(y, "shape", ())) == 2 and given.outputs.number == 1:
            message = "A column-vector y was passed when a 1d array was expected"
            warn_user(message, DataConversionWarning)
        loss = self._make_loss(sample.outputs)
        group = None if "group" in loss.needs else sample.fields.get("group")
        if group is not None:
            sample = sample.without_field("group")
        sample = in_all(together, lambda: fit_fields(loss, sample))
        whole, first = join_sample(sample) if together else (sample, 0)
        loss.check_fit(target_of(whole), whole.fields)
        data = encode_sample(sample, options, same_as=same_as, together=together)
        if group is not None:
            whole = whole._replace(fields={**whole.fields, "group": join_rows(group) if together else group})
        if together:
            return AdditiveTask(data, loss, DividedRows(data.codes, whole.num_rows, first), whole)
        return AdditiveTask(data, loss, CodedRows(data.codes), whole, () if mesh is None else list(mesh.devices.flat))

    def fit_task(self, task: AdditiveTask, *, num_threads: int | None = None) -> None:
        """Fits what was read.

        Args:
            task: What `read_task` has returned.
            num_threads: Threads to use; as many as there are cores if not given.
        """
        given, config = self.fit_data(task), self.config_of(task)
        num_stages = 1 + (config.smoother is not None) + (config.pairs != 0)
        with progress_of(self.verbose, num_stages * len(given.bags), "boosting", "bags") as on_bag:
            fitted = fit_additive(given, config, on_bag, num_threads=num_threads)
        self.set_model(task, fitted)
        if fitted.was_interrupted:
            text = f"fit was interrupted: the bags have {fitted.num_rounds.sum(axis=1).tolist()} rounds"
            warn_user(text, InterruptedFitWarning)
        if self._of_classes and fitted.loss_left < SEPARATED:
            text = (
                f"the terms tell the classes apart: {fitted.loss_left:.0e} of the log loss of held-out rows is left. "
                "Log odds then have no limit, and curves are as far apart as early stopping let them come"
            )
            warn_user(text, SeparableClassesWarning)

    def fit_data(self, task: AdditiveTask) -> FitData:
        """Returns the rows of what was read, in bags."""
        data, loss, codes, given, devices = task
        unit = unit_of_rows(loss, given) if loss.degree or given.weight is not None else 1.0
        sample = given if unit == 1 else given._replace(weight=weight_of(given) / unit)
        rows = ScoredRows(data.codes, target_of(sample), weight_of(sample), sample.fields)
        start = loss.start(rows.target, rows.weight, rows.extras).astype(np.float64)
        seed = self.seed()
        if codes.is_divided:
            check_same(seed, "random_state must be an integer over several processes, the same in all")
        return FitData(codes, data.schema, rows, loss, start, self._rows_of_bags(sample, seed), devices, unit)

    def config_of(self, task: AdditiveTask) -> AdditiveConfig:
        """Returns the parameters of the fit of what was read."""
        return self.config(task.data.schema, task.data.outputs, task.sample.num_rows)

    def kind_of_codes(self, X: Any) -> str:
        """Returns what is equal for settings that read a table alike."""
        return repr(sorted(vars(self._encoder_of(X)).items()))

    def _encoder_of(self, X: Any) -> Encoder:
        shape = shape_of(X)
        return self.make_encoder(1 if shape is None else shape[1])

    def _rows_of_bags(self, sample: Sample, seed: int) -> list[BagRows]:
        """Returns the rows of every bag, and which of them are held out."""
        number = self.num_bags(sample.num_rows, max(sample.num_classes, default=1))
        return [self._rows_of_bag(sample, seed + bag) for bag in range(number)]

    def _rows_of_bag(self, sample: Sample, seed: int) -> BagRows:
        rows = None
        if sample.num_rows > self.max_samples:
            drawn = np.random.default_rng(seed).permutation(sample.num_rows)[: self.max_samples]
            rows = np.sort(drawn)
            fields = {name: values[rows] for name, values in sample.fields.items()}
            sample = sample._replace(target=sample.target[:, rows], fields=fields)
        size = self.validation_size
        if not size:
            return BagRows(rows, None)
        fraction = size / sample.num_rows if isinstance(size, int) else size
        if not 0 < round(fraction * sample.num_rows) < sample.num_rows:
            raise InvalidInputError(
                f"validation_size {size} leaves a part without rows, as n_samples={sample.num_rows}; 0 holds none out"
            )
        if "group" in sample.fields:
            _, held = split_groups(sample.fields["group"], fraction, seed)
        else:
            _, held = split_rows(sample.labels, sample.num_classes, fraction, seed)
        is_held = np.zeros(sample.num_rows, bool)
        is_held[held] = True
        return BagRows(rows, is_held)

    def set_model(self, task: AdditiveTask, fitted: FittedBags) -> None:
        """Takes what a fit has learned."""
        self.learn(task.data)
        self._loss, self.edits_ = task.loss, ()
        self.bag_values_, self.num_rounds_ = fitted.bag_values, fitted.num_rounds
        self.set_terms(fitted.model)

    def set_terms(self, model: AdditiveModel) -> None:
        """Takes terms as the fitted ones."""
        self.additive_ = model
        forest, step = to_forest(model)
        self.set_trees(forest, model.intercept, step)

    def fitted_state(self) -> AdditiveState:
        """Returns what fitting has learned: what a model file keeps."""
        table, terms = self.fitted_table(), TermArrays.of(self.additive_)
        edits = tuple(EditRecord(edit.words, TermArrays.of(edit.before)) for edit in self.edits_)
        return AdditiveState(table, terms, self.bag_values_, self.num_rounds_, self.loss_, self.survival_, edits)

    def restore(self, state: AdditiveState) -> None:
        """Takes what `fitted_state` of another estimator of these parameters returned; see `KeptInFiles.restore`."""
        self.restore_loss(state)
        self.bag_values_, self.num_rounds_ = state.bag_values, state.num_rounds
        self.edits_ = tuple(Edit(edit.words, edit.before.model(self.schema_)) for edit in state.edits)
        self.set_terms(state.terms.model(self.schema_))

    @property
    def intercept_(self) -> Float64[np.ndarray, " score"]:
        """The mean scores."""
        check_is_fitted(self)
        return self.additive_.intercept

    @property
    def term_names_(self) -> list[str]:
        """The names of the terms: columns, and pairs of columns, as "age & hours"."""
        check_is_fitted(self)
        return list(self.additive_.term_names)

    @property
    def term_importances_(self) -> Float64[np.ndarray, " term"]:
        """The mean size of what every term adds to the scores of the rows of the fit."""
        check_is_fitted(self)
        return self.additive_.importances()

    @property
    def feature_importances_(self) -> Float64[np.ndarray, " column"]:
        """Share of all terms' importances that those of each column have; a pair's is divided between its two."""
        size, layout = self.term_importances_, self.additive_.layout
        shares = np.zeros(len(self.schema_.columns))
        is_pair = layout.features[:, 1] >= 0
        np.add.at(shares, layout.features[:, 0], np.where(is_pair, size / 2, size))
        np.add.at(shares, layout.features[is_pair, 1], size[is_pair] / 2)
        return shares / shares.sum() if shares.sum() > 0 else shares
