"""The base of additive estimators: one table, the fit of its terms, and the trees that they are kept as."""

import contextlib
import copy
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from typing import Any, NamedTuple, Self

import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Float64, Int64, UInt
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.additive.axes import codes_of_values
from jaxtree.additive.bags import BagRows, FitData, SharedRows
from jaxtree.additive.coded_rows import CodedRows
from jaxtree.additive.edits import (
    Edit,
    EditCosts,
    ModelAndBags,
    Stretch,
    flattened,
    monotone,
    scaled,
    with_value,
    without_terms,
)
from jaxtree.additive.explanations import GlobalExplanation, contributions_of, explain_terms
from jaxtree.additive.fit import FittedBags, fit_additive, fit_alike
from jaxtree.additive.model import AdditiveModel
from jaxtree.additive.shapley import shap_by_table, shap_interactions_by_table
from jaxtree.additive.trees import to_forest
from jaxtree.arrays import Device
from jaxtree.blocks import Threads
from jaxtree.boosting.ending import Deadline
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.cores import num_cores, with_share_of_cores
from jaxtree.dataset.dataset import Dataset, TableOptions, encode_sample, read_sample
from jaxtree.dataset.exchange import LONE, Exchange, SharedExchange
from jaxtree.dataset.sample import Sample, read_known, split_groups, split_rows
from jaxtree.devices import current_platform, in_callers_context
from jaxtree.errors import (
    InterruptedFitWarning,
    InvalidInputError,
    JaxtreeError,
    SeparableClassesWarning,
    all_or_nothing,
    present,
    warn_user,
)
from jaxtree.estimators.additive.bands import Bands, drawn_anew
from jaxtree.estimators.additive.divided_rows import DividedRows, join_sample
from jaxtree.estimators.additive.parameters import AdditiveParameters
from jaxtree.estimators.boosting.loss_names import check_name
from jaxtree.estimators.boosting.responses import likelihood_of
from jaxtree.estimators.boosting.rows import allowed_rows, target_of, unit_of_rows, weight_of
from jaxtree.estimators.boosting.scored import ScoredTrees
from jaxtree.estimators.boosting.survival import learn_times
from jaxtree.estimators.common.conventions import Role, generator_of, identity, names_of, progress_of
from jaxtree.estimators.common.drawn_bands import groups_of_draws
from jaxtree.estimators.common.extras import check_arguments, extras_of, fit_fields, loss_in_words
from jaxtree.estimators.common.jobs import Family, Job, TablePart
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.explain.paths import as_table
from jaxtree.explain.rows import in_words_of_row
from jaxtree.explain.scores import ScoreExplanation, answer_of, effects_of
from jaxtree.explain.sentences import value_words
from jaxtree.explain.shap import ShapInteractions, ShapValues
from jaxtree.figures.bands import check_level
from jaxtree.files.additive import AdditiveState, EditRecord, TermArrays
from jaxtree.kernels.choose import Engines
from jaxtree.losses.curves import EventTimes
from jaxtree.losses.loss import BaseLoss
from jaxtree.table.redraws import RedrawnRows
from jaxtree.table.sources import is_source
from jaxtree.table.weights import rows_of_weight
from jaxtree.tree.kinds import ModelKind
from jaxtree.tree.link import Link

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


class TimedRows(NamedTuple):
    """The rows of a fit of survival times, from which the baseline of hazards is learned again after a change.

    Attributes:
        codes: Their codes.
        sample: Their times, weights and fields.
    """

    codes: UInt[np.ndarray, "feature row"]
    sample: Sample

    def learn(self, loss: BaseLoss, model: AdditiveModel) -> EventTimes:
        """Returns what the rows say of time by the scores of a model."""
        return learn_times(loss, self.sample, model.intercept + model.term_values(self.codes).sum(axis=1))


class BaseAdditive(AdditiveParameters, ScoredTrees, Family):
    """An additive model of any table, whose terms can be explained and changed.

    Terms are given by name or by number in `term_names_`. A change of survival times of Cox's loss learns the baseline
    of hazards anew from the rows of the fit. A model from a file or a pickle has no rows: once it is changed, it
    predicts risks, and no survival curves.
    """

    model_kind = ModelKind.TERMS

    additive_: AdditiveModel
    bag_values_: Float64[np.ndarray, "bag place score"]
    num_rounds_: Int64[np.ndarray, "bag stage"]
    edits_: tuple[Edit, ...] = ()
    """The changes since the fit, in their order."""
    timed_rows: TimedRows | None = None
    """The rows of the fit, where hazards are learned from their scores; copies and files have none."""

    divides_groups = True
    joins_parts = True

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
            y: The target of every row. For a source, its column's name is accepted, too; for a classifier,
                probabilities of classes are, see `jaxtree.ClassProbabilities`.
            sample_weight: The weight of every row; a row of weight 0 is left out. For a source, a column's name is
                accepted, too. Weights have no unit: to `min_hessian`, `reg_lambda` and `reg_alpha` one row has the
                least weight where all are whole multiples of it, and at most 32 times as large in the mean; of other
                weights the mean one.
            mesh: Devices in one axis to divide the bags among. If these belong to several processes, each calls this
                with rows of its own, and all get the whole model, bit for bit that of all rows in one process: each
                keeps the codes of its rows, and the targets, weights and extras of all.
            extras: Further inputs of the loss, an array of every row by name, such as `offset=`, which is added to the
                scores; `group=` keeps the rows of a group in the same part of every bag.

        Raises:
            DistributedError: Another process is gone.
            InvalidInputError: The table, the target, the weights, an extra or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
            TrainingError: The derivatives of the loss at the start are no numbers.
        """
        with placed_fit(self, X, mesh) as exchange:
            task = self.read_task(X, y, sample_weight, exchange=exchange, **extras)
            if mesh is not None and not exchange.is_shared:
                task = task._replace(devices=list(mesh.devices.flat))
            self.fit_task(task)
        return self

    def read_task(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        same_as: Dataset | None = None,
        exchange: Exchange = LONE,
        **extras: Any,
    ) -> AdditiveTask:
        """Reads the arguments of a fit; the group that is no part of the loss stays beside it.

        Args:
            X: A table; this and what is not named here as in `fit`.
            y: Its target.
            sample_weight: The weight of every row.
            same_as: The same rows, read with an encoder of the same parameters, whose codes are taken.
            exchange: How the processes that have parts of the rows know of one another.
            extras: Further inputs of the loss.
        """
        forks.check_is_whole("fit")
        exchange.agree(self._check_fit, extras)
        options = TableOptions(self.make_encoder(X), self._of_classes, getattr(self, "class_weight", None))
        given = read_sample(X, y, sample_weight, options, fields=extras, exchange=exchange)
        sample = given.without_weightless_rows()
        if not self._of_classes and len(getattr(y, "shape", ())) == 2 and given.outputs.number == 1:
            message = "A column-vector y was passed when a 1d array was expected"
            warn_user(message, DataConversionWarning)
        loss = self._make_loss(sample.outputs)
        group = None if "group" in loss.needs else sample.fields.get("group")
        if group is not None:
            sample = sample.without_field("group")
        sample = exchange.agree(fit_fields, loss, sample)
        whole = join_sample(sample, exchange) if isinstance(exchange, SharedExchange) else sample
        loss.check_fit(target_of(whole), whole.fields)
        data = encode_sample(sample, options, same_as=same_as, exchange=exchange)
        if group is not None:
            whole = whole._replace(fields={**whole.fields, "group": exchange.join(group)})
        engines = Engines.of(current_platform())
        if isinstance(exchange, SharedExchange):
            first = exchange.own_rows(sample.num_rows).start
            return AdditiveTask(data, loss, DividedRows(data.codes, engines, whole.num_rows, first, exchange), whole)
        return AdditiveTask(data, loss, CodedRows(data.codes, engines), whole)

    def _check_fit(self, extras: Mapping[str, Any]) -> None:
        """Raises InvalidInputError if a parameter or an extra is not allowed."""
        self.check_parameters()
        if extras:
            check_arguments(self, "fit", extras, self.extras_of_fit)

    def fit_task(self, task: AdditiveTask, *, num_threads: int | None = None) -> None:
        """Fits what was read.

        Args:
            task: The result of `read_task`.
            num_threads: Threads to use; as many as there are cores if not given.
        """
        given = self.fit_data(task)
        config = self.config(task.data.schema, task.data.outputs, task.sample.num_rows)
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

    def kind_of_jobs(self) -> Hashable:
        """Returns that all jobs of a class are made side by side, see `fit_jobs`."""
        return ()

    @classmethod
    def fit_jobs(cls, jobs: Sequence[Job], deadline: Deadline | None = None) -> Iterator[Mapping[int, Self]]:
        """Makes jobs side by side in threads; see `Family`.

        Jobs on the same rows share codes, bags, and sums over pairs of bins. Jobs that differ in when boosting ends, or
        in their pairs, are a group: they share the steps of single columns, which the endings cut at several places.

        Args:
            jobs: The jobs.
            deadline: When jobs end that are not finished; they are left out.
        """
        # Part by part, so that the rows of few are held at a time.
        groups: dict[int, dict[Hashable, dict[int, Job]]] = {}
        for place, job in enumerate(jobs):
            differ = names_of(job.estimator, Role.ENDS, Role.PAIRS, Role.REPORTS)
            own = sorted(job.estimator.get_params(deep=False).items())
            kind = tuple((name, identity(value)) for name, value in own if name not in differ)
            groups.setdefault(id(job.part), {}).setdefault(kind, {})[place] = job
        stop, defect = threading.Event(), None
        num_threads = num_cores()
        with Threads(num_threads) as pool:
            work = with_share_of_cores(in_callers_context(_fit_alike), num_threads)
            futures = [pool.submit(work, group, stop) for of_part in groups.values() for group in of_part.values()]
            try:
                for future in as_completed(futures, None if deadline is None else max(deadline.left(), 0.0)):
                    fits, error = future.result()
                    defect = error or defect
                    if fits:
                        yield fits
            except TimeoutError:
                defect = None
            finally:
                stop.set()
                for future in futures:
                    future.cancel()
        if defect is not None:
            raise defect

    def rows_of_part(self, part: TablePart) -> tuple[AdditiveTask, SharedRows]:
        """Returns the rows of a part as this estimator reads them and divides them into bags, read once."""
        encoder = self.make_encoder(part.X)

        def read() -> tuple[AdditiveTask, SharedRows]:
            X, y, params = part.arguments(self)
            task = self.read_task(X, y, **params, same_as=part.known_codes(encoder))
            part.keep_codes(encoder, task.data)
            return task, SharedRows(self.fit_data(task), keeps_grams=True)

        own = tuple(identity(getattr(self, name)) for name in sorted(names_of(self, Role.ROWS, Role.SEED)))
        return part.read((repr(sorted(vars(encoder).items())), own), read)

    def fit_data(self, task: AdditiveTask) -> FitData:
        """Returns the rows of what was read, in bags."""
        data, loss, codes, given, devices = task
        unit = unit_of_rows(loss, given) if loss.degree or given.weight is not None else 1.0
        sample = given if unit == 1 else given._replace(weight=weight_of(given) / unit)
        rows = ScoredRows(data.codes, target_of(sample), weight_of(sample), sample.fields)
        start = loss.start(rows.target, rows.weight, rows.extras).astype(np.float64)
        seed = self.seed()
        if codes.is_divided:
            data.exchange.check_same(seed, "random_state must be an integer over several processes, the same in all")
        number = self.num_bags(sample.num_rows, max(sample.outputs.num_classes, default=1))
        bags = [self._rows_of_bag(sample, seed + bag) for bag in range(number)]
        return FitData(codes, data.schema, rows, loss, start, bags, devices, unit)

    def _rows_of_bag(self, sample: Sample, seed: int) -> BagRows:
        """Returns the rows of a bag, and which of them are held out."""
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
            _, held = split_rows(sample.labels, sample.outputs.num_classes, fraction, seed)
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

    def explain_global(self) -> GlobalExplanation:
        """Returns all terms in the units of the table, the most important first.

        Each has its bins, what they add, standard errors and pointwise intervals, and the weight of the rows there.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (25, 1))
            >>> model = ExplainableBoostingRegressor(interactions=0).fit(X, 2 * X[:, 0])
            >>> term = model.explain_global()["x0"]
            >>> term.axes[0].labels, term.values[:2, 0].round(1).tolist()
            (('0', '1', 'missing'), [-1.0, 1.0])
        """
        check_is_fitted(self)
        terms = explain_terms(self.additive_, len(self.bag_values_))
        order = np.argsort(-self.additive_.importances(), kind="stable").tolist()
        link = present(self.model_.link)
        names = [] if link.classes is None else [str(name) for name in link.classes.tolist()]
        if len(names) == 2:
            labels = names[1:]
        else:
            number = self.additive_.num_scores
            labels = names or ([""] if number == 1 else [f"score {place}" for place in range(number)])
        if names:
            unit = "log odds" if link.kind == Link.LOGISTIC else "score"
        else:
            unit = "prediction" if link.kind == Link.IDENTITY else "score"
        return GlobalExplanation(self.additive_.intercept, tuple(terms[term] for term in order), tuple(labels), unit)

    def explain_row(self, row: Any) -> ScoreExplanation:
        """Explains what is predicted of one row: what every term adds to the score, the greatest first.

        With several classes the score of the predicted one is explained. The mean score and all contributions add up to
        it.

        Args:
            row: A table of one row; or its values in a list, a vector, or a mapping from the names of the columns.

        Raises:
            InvalidInputError: It is not one row of such a table.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (25, 1))
            >>> y = 2 * X[:, 0]
            >>> found = ExplainableBoostingRegressor(interactions=0).fit(X, y).explain_row([1.0, 0.0])
            >>> found.contributions[0].column, found.contributions[0].value
            ('x0', '1')
        """
        check_is_fitted(self)
        schema = self.additive_.schema
        table = as_table(row, schema.column_names)
        values = np.asarray(self.encoder_.values(table), np.float64)
        if len(values) != 1:
            raise InvalidInputError(f"row must be one row, got {len(values)}")
        return self.explain_values(values, value_words(schema, values[0], table))

    def explain_values(self, values: Float[np.ndarray, "one feature"], words: list[str]) -> ScoreExplanation:
        """Explains what is predicted of a row that is encoded, whose values are in words, too."""
        codes, link = codes_of_values(self.additive_.schema, values), present(self.model_.link)
        added = self.additive_.term_values(codes)[0]
        scores = self.additive_.intercept + added.sum(axis=0)
        said = answer_of(link, scores)
        effects, general = effects_of(link, said, self.additive_.intercept, added)
        explained = ScoreExplanation(
            said.prediction,
            said.share,
            said.of_class,
            float(scores[said.place]),
            float(self.additive_.intercept[said.place]),
            contributions_of(self.additive_, added[:, said.place], words, effects),
            (),
            general=general,
        )
        return in_words_of_row(self, explained, values[0], words)

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
    ) -> Bands:
        """Returns bands of the curves, of importances, and of all that is predicted.

        Every draw boosts the terms anew on the rows of the fit, whose residuals are drawn again around a truth that is
        known: so bands have what noise changes, and what shrinkage and early stopping take (see
        `jaxtree.additive.redraws`). They hold the truth at `level` of the places of a curve, by the density of rows.

        Args:
            X: The rows of the fit.
            y: Their target.
            sample_weight: Their weights, as in `fit`: a row of weight 2 is drawn like two rows.
            level: The share of places that bands are to hold, above 0 and below 1.
            draws: How many draws; at least 2 are to lie outside a band.
            groups: The group of every row, such as its patient, whose rows are drawn together; `group` of the fit if
                not given.
            random_state: The seed of the draws.
            extras: Further inputs of the loss, as in `fit`.

        Raises:
            InvalidInputError: The rows are not those of the fit, the model has been changed by hand, or an argument is
                not allowed.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> generator = np.random.default_rng(0)
            >>> X = generator.uniform(size=(300, 2))
            >>> y = X[:, 0] + generator.normal(size=300, scale=0.3)
            >>> bands = ExplainableBoostingRegressor(interactions=0).fit(X, y).bands(X, y, draws=40)
            >>> lower, upper = bands.curve("x0").band
            >>> bool(upper[0, 0] < 0 < lower[-2, 0])
            True
        """
        check_is_fitted(self)
        check_level(level, draws)
        if self.edits_:
            raise InvalidInputError(
                f"bands are of what a fit has learned, and this model has been changed by hand ({self.edits_[-1]}): "
                "draw those of the model before the change"
            )
        task = self.read_task(X, y, sample_weight, **extras)
        groups = groups_of_draws(task.sample, groups, rows_of_weight(sample_weight, y))
        drawn = RedrawnRows(int(generator_of(random_state).randint(2**31 - 1)), groups)
        return Bands(self, *drawn_anew(self, task, drawn, draws), level)

    def eval_terms(self, X: Any) -> Float64[np.ndarray, "row term score"]:
        """Returns what every term adds to the scores of rows, in the order of `term_names_`.

        With `intercept_` they add up to the scores.

        Args:
            X: A table, or a source.
        """
        return self.additive_.term_values(self._codes(X))

    def shap_by_table(self, X: Any) -> ShapValues:
        """Returns the Shapley values of rows; see `jaxtree.explain.shap_values`."""
        return shap_by_table(self.additive_, self._codes(X))

    def shap_interactions_by_table(self, X: Any) -> ShapInteractions:
        """Returns the Shapley interaction values of rows; see `jaxtree.explain.shap_interaction_values`."""
        return shap_interactions_by_table(self.additive_, self._codes(X))

    def _codes(self, X: Any) -> UInt[np.ndarray, "feature row"]:
        check_is_fitted(self)
        return self.encoder_.transform(self.encoder_.open(X).without(self.other_columns_) if is_source(X) else X)

    def flatten(self, term: Any, *, low: Any = None, high: Any = None, categories: Sequence[Any] | None = None) -> Self:
        """Returns an estimator of which a curve has one value in a stretch: its mean there, by the rows of the fit.

        Args:
            term: A term of one column.
            low: A number, a date or a duration in the first bin of the stretch; the least if not given.
            high: One in its last bin; the greatest if not given.
            categories: The categories, of a column that has some; all if not given.

        Raises:
            InvalidInputError: There is no such term or category, or it is a pair.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0], [1.0], [2.0]], (30, 1))
            >>> model = ExplainableBoostingRegressor().fit(X, X[:, 0])
            >>> level = model.flatten("x0", low=1)
            >>> level.predict([[1.0], [2.0]]).round(1).tolist(), str(level.edits_[0])
            ([1.5, 1.5], 'x0: level from 1')
        """
        return self._edited(flattened(self._bagged(), term, Stretch(low, high, categories)))

    def set_values(
        self,
        term: Any,
        value: Any,
        *,
        low: Any = None,
        high: Any = None,
        categories: Sequence[Any] | None = None,
        missing: bool = False,
    ) -> Self:
        """Returns an estimator of which a curve has a given value in a stretch.

        Where that changes the mean of the curve, the intercept takes it, so that all other bins add what they did.

        Args:
            term: A term of one column.
            value: The contribution of the stretch to the score: one number, or one a class.
            low: See `flatten`.
            high: See `flatten`.
            categories: See `flatten`.
            missing: Whether the value is that of missing values, and of nothing else.

        Raises:
            InvalidInputError: There is no such term or category, it is a pair, or the value is no finite number.
        """
        return self._edited(with_value(self._bagged(), term, value, Stretch(low, high, categories, missing)))

    def monotonize(self, term: Any, *, increasing: bool | str = "auto") -> Self:
        """Returns an estimator of which a curve rises, or falls, all along; its value where it is missing stays.

        The curve is the nearest one by squares that are weighted with the rows of the fit (isotonic regression).

        Args:
            term: A term of one column in order.
            increasing: Whether it rises; "auto" takes the way that changes it less.

        Raises:
            InvalidInputError: The term has no order, or the model several scores.
        """
        return self._edited(monotone(self._bagged(), term, increasing))

    def scale(self, term: Any, factor: float) -> Self:
        """Returns an estimator of which a term adds so many times as much.

        Args:
            term: A term.
            factor: A finite number.

        Raises:
            InvalidInputError: There is no such term, or the factor is no such number.
        """
        return self._edited(scaled(self._bagged(), term, factor))

    def remove_terms(self, terms: Any) -> Self:
        """Returns an estimator without some terms; their mean is 0, so that the mean score stays.

        Args:
            terms: A term, or a list of some.

        Raises:
            InvalidInputError: There is no such term, or none would be left.
        """
        return self._edited(without_terms(self._bagged(), terms))

    def sweep(self) -> Self:
        """Returns an estimator without the terms that add nothing to any row of the fit.

        Raises:
            InvalidInputError: None would be left.
        """
        idle = [self.term_names_[term] for term in np.flatnonzero(self.term_importances_ == 0).tolist()]
        return self.remove_terms(idle) if idle else copy.copy(self)

    def cost_of_edits(self, X: Any, y: Any, sample_weight: Any = None, **extras: Any) -> EditCosts:
        """Returns the mean loss of rows before the edits and after each of them.

        Args:
            X: A table, or a source; best of rows that the fit has not seen.
            y: Its target.
            sample_weight: The weight of every row.
            extras: Further inputs of the loss, as in `fit`.

        Raises:
            InvalidInputError: The estimator has not been edited, or the rows are not as in fit.

        Example:
            >>> import numpy as np
            >>> from jaxtree import ExplainableBoostingRegressor
            >>> X = np.tile([[0.0], [1.0], [2.0]], (30, 1))
            >>> model = ExplainableBoostingRegressor().fit(X, X[:, 0]).flatten("x0")
            >>> print(model.cost_of_edits(X, X[:, 0]).words[0])
            x0: level everywhere
        """
        check_is_fitted(self)
        if not self.edits_:
            raise InvalidInputError("edits must have been made before they are judged: this model is as it was fitted")
        check_arguments(self, "cost_of_edits", extras, extras_of(self.loss_))
        rows = allowed_rows(self.loss_, read_known(self.outputs(), X, y, sample_weight, extras))
        codes = self._codes(rows.X)
        models = [*(edit.before for edit in self.edits_), self.additive_]
        scores = [own.intercept + own.term_values(codes).sum(axis=1) for own in models]
        losses = tuple(-likelihood_of(self.loss_, rows, own) for own in scores)
        return EditCosts(tuple(str(edit) for edit in self.edits_), losses, loss_in_words(self), rows.num_rows)

    def _bagged(self) -> ModelAndBags:
        check_is_fitted(self)
        return ModelAndBags(self.additive_, self.bag_values_)

    def _edited(self, found: tuple[ModelAndBags, str]) -> Self:
        """Returns a copy with changed terms; what it shares with this estimator, neither changes."""
        (model, values), words = found
        changed = copy.copy(self)
        changed.edits_ = (*self.edits_, Edit(words, self.additive_))
        changed.bag_values_ = values
        changed.set_terms(model)
        if self.survival_ is not None and self.survival_.log_hazard is not None:
            changed.timed_rows = self.timed_rows
            if self.timed_rows is None:
                del changed.survival_  # hazards follow from the scores
            else:
                changed.survival_ = self.timed_rows.learn(self.loss_, model)
        return changed


def _fit_alike(jobs: Mapping[int, Job], stop: threading.Event) -> tuple[dict[int, Any], Exception | None]:
    """Fits a group of jobs on a part: those that are allowed, or none once it is to stop or there is an error.

    Returns:
        The fits by their places, and the error that left none.
    """
    fitted = {}
    try:
        first = next(iter(jobs.values()))
        task, shared = first.estimator.rows_of_part(first.part)
        configs = {}
        for place, job in jobs.items():
            with contextlib.suppress(JaxtreeError):
                configs[place] = job.estimator.config(task.data.schema, task.data.outputs, task.sample.num_rows)
        fits = fit_alike(shared, list(configs.values()), stop=stop, num_threads=1) if configs else []
        for place, own in zip(configs, fits, strict=True):
            fitted[place] = clone(jobs[place].estimator)
            fitted[place].set_model(task, own)
    except KeyboardInterrupt:
        # It is interrupted where it is to stop.
        return {}, None
    except Exception as error:
        return {}, error
    return fitted, None
