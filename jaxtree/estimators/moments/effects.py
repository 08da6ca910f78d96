"""The base of forests of treatment effects: nuisances out of bag, residuals, effects and their intervals."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Float64, PRNGKeyArray, Shaped
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from jaxtree import forks
from jaxtree.arrays import Device, safe_divide
from jaxtree.dataset.dataset import Dataset
from jaxtree.errors import InvalidInputError, InvalidTypeError, OverlapWarning, warn_user
from jaxtree.estimators.common.conventions import Words
from jaxtree.estimators.common.placing import placed_fit
from jaxtree.estimators.forests.base import devices_of_trees
from jaxtree.estimators.moments.averages import AveragesEffects
from jaxtree.estimators.moments.base import (
    BaseMomentForest,
    Variables,
    node_means,
    out_of_bag_estimates,
)
from jaxtree.estimators.moments.treatments import read_treatments
from jaxtree.files.moments import EffectState, FittedRows, MomentTrees
from jaxtree.files.trees import OutputClasses
from jaxtree.growth.inputs.moments import LinearMoments
from jaxtree.moments.little_bags import masked_means
from jaxtree.moments.solution import LocalSolution
from jaxtree.serving.rows import over_sources
from jaxtree.sklearn_compat import HasMethods
from jaxtree.table.reading import take_rows
from jaxtree.table.words import value_in_words
from jaxtree.tree.forest import Forest
from jaxtree.tree.kinds import Prediction
from jaxtree.tree.link import Link, ScoreLink
from jaxtree.tree.model import FittedModel
from jaxtree.tree.predictor import Predictor

NUISANCES = Words({"forest", "boosting"})
MODELS = HasMethods(["fit", "predict"])
MOST_UNKNOWN = 0.1
"""The greatest share of rows of which nothing is expected out of bag, and which take the mean."""

LEAST_LEFT = 0.01
"""The least share of a treatment's variance that columns may leave: effects of less are hardly known."""

FEWEST_NUISANCE_TREES = 50
"""Trees of a forest of nuisances at least; a quarter of the effects' trees, as in grf, if that is more."""


class BaseEffectForest(AveragesEffects, BaseMomentForest):
    """A forest of the effects of treatments, by the residuals of outcome, treatments and instruments."""

    arguments_of_rows: ClassVar[tuple[str, ...]] = ()
    """The arguments of `fit` and `score` that have a value a row, beside outcomes and weights."""
    extras_of_fit: ClassVar[tuple[str, ...]] = ()
    """The extras that `fit` takes beside its own arguments."""
    needed: ClassVar[tuple[str, ...]] = ("treatment",)
    """The arguments of `fit` that every row needs."""

    nuisance: Any
    cv: int
    stabilize: bool
    min_samples_arm: int
    control: Any
    classes_of_treatment_: Shaped[np.ndarray, " class"] | None
    training_: FittedRows

    def _fit(self, X: Any, y: Any, sample_weight: Any, fields: dict[str, Any], mesh: Mesh | None) -> Self:
        forks.check_is_whole("fit")
        self.check_parameters()
        self._check_needed(fields)
        with placed_fit(self, X, mesh):
            data = self._read_rows(X, y, sample_weight, fields)
            if len(data.target) > 1:
                raise InvalidInputError(f"y must have one outcome, got {len(data.target)}")
            self.draw_key()
            return self._fit_rows(data, () if mesh is None else devices_of_trees(mesh))

    def _fit_rows(self, data: Dataset, devices: tuple[Device, ...]) -> Self:
        fields, key = data.fields, self.keys()
        treatments = read_treatments("treatment", fields["treatment"], self.control)
        has_instruments = "instrument" in fields
        instruments = read_treatments("instrument", fields["instrument"]) if has_instruments else treatments
        # Treatments as instruments of themselves are none.
        expected, of_instruments = (fields.get(name, ()) for name in ("treatment_hat", "instrument_hat"))
        if np.array_equal(instruments.values, treatments.values) and np.array_equal(expected, of_instruments):
            has_instruments = False
        if len(instruments.values) != len(treatments.values):
            raise InvalidInputError(
                f"there must be one instrument for each of {len(treatments.values)} treatments, got "
                f"{len(instruments.values)}"
            )
        y = data.target[0]
        nuisances = _Nuisances(self, data, key[1], devices)
        y_hat = nuisances.expected("y_hat", y[None])[0]
        treatment_hat = nuisances.expected("treatment_hat", treatments.values)
        instrument_hat = nuisances.expected("instrument_hat", instruments.values) if has_instruments else treatment_hat
        residual, by = treatments.values - treatment_hat, instruments.values - instrument_hat
        self._warn_without_rest(
            by if has_instruments else residual, (instruments if has_instruments else treatments).values
        )
        moments = LinearMoments(len(residual), has_instruments, self.stabilize)
        variables = Variables((y - y_hat)[None], residual, by if has_instruments else None)
        course = {"key": key[0], "num_trees": self.n_estimators, "devices": devices}
        forest = self.grow(data, moments, variables, **course)
        self.learn(data)
        self.classes_of_treatment_ = treatments.classes
        self.settle(forest, moments)
        unseen = self.unseen_rows(data, key[0], len(forest))
        values = self.encoder_.values(data.sample.X)
        bag_size = self.bag_size if self.bag_size > 1 else None
        found = out_of_bag_estimates(
            self._model.predictor, values, self._model.node_value, self.local_, unseen, bag_size
        )
        std = np.full_like(found.effect, np.nan) if found.variance is None else np.sqrt(found.variance)
        weight = np.ones(data.num_rows) if data.weight is None else data.weight
        group = fields.get("group", np.arange(data.num_rows, dtype=np.int32))
        given, expected = (y, treatments.values, instruments.values), (y_hat, treatment_hat, instrument_hat)
        compliance = self.compliance_at(values, unseen) if has_instruments else np.ones(data.num_rows)
        self.training_ = FittedRows(*given, *expected, found.effect, std, compliance, weight, group)
        return self

    def _residuals(
        self, X: Any, y: Any, sample_weight: Any, fields: dict[str, Any], of: str = "treatment"
    ) -> tuple[
        Float64[np.ndarray, " row"],
        Float64[np.ndarray, "arm row"],
        Float64[np.ndarray, " row"],
        Float64[np.ndarray, "row arm"],
    ]:
        """Returns residuals of outcome and treatments, weights, and effects, of rows that are not those of the fit.

        With `of="instrument"` the residuals are those of the instruments.
        """
        check_is_fitted(self)
        self._check_needed(fields)
        data = self._read_rows(X, y, sample_weight, fields)
        known, given = self.classes_of_treatment_, data.fields["treatment"]
        treatments = read_treatments("treatment", given)
        if _in_words(known) != _in_words(treatments.classes):
            raise InvalidInputError(
                f"treatment must have the arms of the fit, {_in_words(known)}, got {_in_words(treatments.classes)}"
            )
        if known is not None:
            treatments = read_treatments("treatment", given, known[0])
        own = treatments if of == "treatment" else read_treatments(of, data.fields[of])
        nuisances = _Nuisances(self, data, self.keys()[1])
        outcome = data.target[0] - nuisances.expected("y_hat", data.target[:1])[0]
        residuals = own.values - nuisances.expected(f"{of}_hat", own.values)
        weight = np.ones(data.num_rows) if data.weight is None else data.weight
        return outcome, residuals, weight, self.predict_values(self._values(data.sample.X))

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, fields: dict[str, Any]) -> Dataset:
        """Reads the arguments of a fit, of which expectations may be one number for all rows."""
        same = {name: own for name, own in fields.items() if name.endswith("_hat") and isinstance(own, int | float)}
        data = self.read(X, y, sample_weight, {name: own for name, own in fields.items() if name not in same})
        of_rows = {name: np.full(data.num_rows, float(own)) for name, own in same.items()}
        return data._replace(sample=data.sample._replace(fields=data.fields | of_rows))

    def _check_needed(self, fields: dict[str, Any]) -> None:
        for name in self.needed:
            if fields[name] is None:
                raise InvalidTypeError(f"{type(self).__name__} needs {name}=, the {name} of every row")

    def _warn_without_rest(
        self, residual: Float64[np.ndarray, "arm row"], values: Float64[np.ndarray, "arm row"]
    ) -> None:
        """Warns where the columns determine a treatment, or an instrument: no rows are alike and differ in it."""
        left = residual.var(axis=1) / values.var(axis=1)
        if (left < LEAST_LEFT).any():
            name = self.needed[-1]
            warn_user(
                f"the columns leave {left.min():.2%} of the variance of the {name}: rows that are alike hardly differ "
                f"in it, so that effects are hardly known; leave out a column that is the {name} itself",
                OverlapWarning,
            )

    def settle(self, forest: Forest, moments: LinearMoments) -> None:
        """Takes trees in units of the table as the fitted ones."""
        self.forest_, self.local_ = forest, LocalSolution(moments)
        link = ScoreLink(Link.OTHER, self.local_.effects, self.local_.effects, self.local_.num_effects)
        value = node_means(forest, self.local_)
        self._model = FittedModel(self.encoder_.schema_, forest, value, None, (), (), averages_trees=True, link=link)

    @property
    def predicts(self) -> Prediction:
        """Effects of treatments."""
        return Prediction.EFFECTS

    @property
    def has_instruments_(self) -> bool:
        """Whether the treatments have instruments."""
        return self.local_.moments.has_instruments

    def compliance_at(
        self, values: Float[np.ndarray, "row feature"], counts: Bool[np.ndarray, "tree row"] | None = None
    ) -> Float64[np.ndarray, " row"]:
        """Returns the local effect of the first instrument on its treatment, by trees that count for a row.

        It is NaN where splits are not stabilised, whose trees do not know how instruments vary.
        """
        places, sums = self.local_.moments.places, self.forest_.nodes.target_sum
        if not self.local_.moments.counts_arms:
            return np.full(len(values), np.nan)
        columns = [places.instrument[0], places.treatment[0], places.with_treatment[0][0], places.squares[0]]
        value = np.divide(sums[:, columns], sums[:, :1], out=np.zeros((len(sums), 4)), where=sums[:, :1] > 0)
        predictor = self._model.predictor
        means = predictor.mean(values, value).T if counts is None else masked_means(predictor, values, value, counts)
        z, w, zw, zz = means
        return safe_divide(zw - z * w, zz - z * z)

    def predict_values(self, values: Float[np.ndarray, "row feature"]) -> Float64[np.ndarray, "row effect"]:
        """Returns the effects at rows that `encoder_.values` has encoded."""
        return self.local_.effects(self.model_.predict(values).T).T

    @over_sources
    def predict(self, X: Any) -> Float64[np.ndarray, "row *arm"]:
        """Returns the effect of the treatment at every row; of several treatments a column each."""
        return self._plain(self.predict_values(self._values(X)))

    @over_sources
    def predict_std(self, X: Any) -> Float64[np.ndarray, "row *arm"]:
        """Returns the standard error of the effect at every row; of several treatments a column each.

        Raises:
            InvalidInputError: The trees have no bags.
        """
        return self._plain(np.sqrt(self._estimates(X).variance))

    def predict_interval(self, X: Any, *, coverage: float = 0.95) -> Float64[np.ndarray, "row *arm 2"]:
        """Returns the lower and the upper bound of the effect at every row, by a normal distribution.

        Args:
            X: A table, or a source.
            coverage: The share of rows whose effect lies within the bounds, if the forest has no bias.

        Raises:
            InvalidInputError: The trees have no bags, or the coverage is not between 0 and 1.
        """
        if not 0 < coverage < 1:
            raise InvalidInputError(f"coverage must be between 0 and 1, got {coverage}")
        return self._interval(X, float(ndtri((1 + coverage) / 2)))

    @over_sources
    def _interval_parts(self, X: Any) -> Float64[np.ndarray, "row arm 2"]:
        found = self._estimates(X)
        return np.stack([found.effect, np.sqrt(found.variance)], axis=2)

    def _interval(self, X: Any, width: float) -> Float64[np.ndarray, "row *arm 2"]:
        effect, std = np.moveaxis(self._interval_parts(X), 2, 0)
        bounds = np.stack([effect - width * std, effect + width * std], axis=2)
        return bounds[:, 0] if bounds.shape[1] == 1 else bounds

    def _estimates(self, X: Any) -> Any:
        check_is_fitted(self)
        if self.bag_size == 1 or len(self.forest_) < 2 * self.bag_size:
            raise InvalidInputError(
                "intervals need two bags of two trees or more, got "
                f"{len(self.forest_)} trees in bags of {self.bag_size}"
            )
        return self.estimate_rows(self._values(X), with_variance=True)

    def _plain(self, effects: Float64[np.ndarray, "row arm"]) -> Float64[np.ndarray, "row *arm"]:
        return effects[:, 0] if effects.shape[1] == 1 else effects

    def facts_of_fit(self) -> Iterator[tuple[str, object]]:
        """Yields the arms, the rows of the fit, and average effects with 95 % intervals where there are some."""
        if self.classes_of_treatment_ is not None:
            control, *arms = map(value_in_words, self.classes_of_treatment_.tolist())
            yield "treatment", f"{', '.join(arms)} beside {control}"
        yield "rows of the fit", f"{len(self.training_.y):,}"
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(InvalidInputError):
            found = self.average_treatment_effect()
            named = found if isinstance(found, dict) else {"": found}
            for name, own in named.items():
                low, high = own.interval()
                words = f"{own.estimate:.4g}, 95 % interval {low:.4g} to {high:.4g}"
                yield f"average effect {value_in_words(name) if name != '' else ''}".strip(), words

    def names_of_predictions(self) -> list[str]:
        """Returns the names of the effects: of arms their words, of numbers their places."""
        if self.classes_of_treatment_ is not None:
            return [str(name) for name in self.classes_of_treatment_[1:].tolist()]
        number = self.local_.num_effects
        return ["treatment"] if number == 1 else [f"treatment {place}" for place in range(number)]

    def fitted_state(self) -> EffectState:
        """Returns what fitting has learned: what a model file keeps."""
        table, classes = self.fitted_table(), self.classes_of_treatment_
        trees = MomentTrees.of(self.local_.moments, self.forest_, self._key)
        names = None if classes is None else OutputClasses(classes, np.arange(len(classes)))
        return EffectState(table, trees, names, self.training_)

    def restore(self, state: EffectState) -> None:
        """Takes what `fitted_state` of another forest of these parameters returned; see `KeptInFiles.restore`."""
        self.check_parameters()
        self.restore_table(state.table)
        self._key, self.training_ = state.trees.key, state.training
        self.classes_of_treatment_ = None if state.classes is None else state.classes.names
        self.settle(state.trees.forest(self.schema_), state.trees.kind.moments)

    @property
    def oob_prediction_(self) -> Float64[np.ndarray, "row *arm"]:
        """The effects at the rows of the fit by the trees that have not drawn them."""
        return self._plain(self.training_.effect)

    @property
    def oob_std_(self) -> Float64[np.ndarray, "row *arm"]:
        """The standard errors of `oob_prediction_`."""
        return self._plain(self.training_.std)


class _Nuisances:
    """Expectations of variables by the columns alone, each row's by models that have not seen it.

    Args:
        owner: The forest of effects.
        data: Its rows.
        key: The key of what models draw.
        devices: The devices to divide trees among.
    """

    def __init__(self, owner: BaseEffectForest, data: Dataset, key: PRNGKeyArray, devices: tuple[Device, ...] = ()):
        self._owner, self._data, self._key, self._devices = owner, data, key, devices
        self._number = 0

    def expected(self, name: str, variables: Float64[np.ndarray, "arm row"]) -> Float64[np.ndarray, "arm row"]:
        """Returns the expectations of variables: those that `fit` was given by a name, or out-of-bag predictions."""
        given = self._data.fields.get(name)
        if given is not None:
            values = np.asarray(given, np.float64).reshape(variables.shape[1], -1).T
            if values.shape != variables.shape or not np.isfinite(values).all():
                raise InvalidInputError(
                    f"{name} must have a finite number for each of {len(variables)} variables and "
                    f"{variables.shape[1]} rows, got shape {np.shape(given)}"
                )
            return values
        return np.stack([self._expected(own) for own in variables])

    def _expected(self, variable: Float64[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
        self._number += 1
        owner, data = self._owner, self._data
        if owner.nuisance != "forest":
            return self._by_folds(variable)
        key, moments = jax.random.fold_in(self._key, self._number), LinearMoments()
        num_trees = max(FEWEST_NUISANCE_TREES, owner.n_estimators // 4)
        forest = owner.grow(
            data, moments, Variables(variable[None]), key=key, num_trees=num_trees, devices=self._devices
        )
        local = LocalSolution(moments)
        unseen = owner.unseen_rows(data, key, len(forest))
        values = data.encoder.values(data.sample.X)
        found = out_of_bag_estimates(Predictor(forest), values, node_means(forest, local), local, unseen).effect[:, 0]
        weight = np.ones(variable.size) if data.weight is None else data.weight
        unknown = np.isnan(found)
        if unknown.mean() > MOST_UNKNOWN:
            raise InvalidInputError(
                f"{unknown.sum()} of {unknown.size} rows were drawn by all trees, so that nothing is expected of them: "
                f"give a max_samples below {owner.max_samples}, more trees, or nuisance='boosting'"
            )
        return np.where(unknown, np.average(variable, weights=weight), found)

    def _by_folds(self, variable: Float64[np.ndarray, " row"]) -> Float64[np.ndarray, " row"]:
        owner, data = self._owner, self._data
        group = data.fields.get("group", np.arange(variable.size))
        names, unit = np.unique(group, return_inverse=True)
        folds = min(owner.cv, len(names))
        fold = np.asarray(jax.random.permutation(self._key, jnp.arange(len(names)) % folds))[unit.reshape(-1)]
        expected = np.empty(variable.size)
        for number in range(folds):
            own, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            model: Any = _model_of(owner.nuisance, variable)
            weights = {} if data.weight is None else {"sample_weight": data.weight[others]}
            table = data.sample.X
            model.fit(take_rows(table, others, variable.size), variable[others], **weights)
            rows = take_rows(table, own, variable.size)
            expected[own] = model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else model.predict(rows)
        return expected


def _model_of(nuisance: Any, variable: Float64[np.ndarray, " row"]) -> Any:
    """A model of a variable: boosted trees, of 0 and 1 by log loss; or the user's own."""
    from jaxtree.estimators.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor

    if nuisance != "boosting":
        return clone(nuisance)
    is_arm = np.isin(variable, (0, 1)).all()
    return GradientBoostingClassifier(random_state=0) if is_arm else GradientBoostingRegressor(random_state=0)


def _in_words(classes: Shaped[np.ndarray, " class"] | None) -> str:
    return "numbers" if classes is None else ", ".join(sorted(map(str, classes.tolist())))
