"""Causal and instrumental forests: effects of treatments that differ from row to row, with intervals."""

import dataclasses
from typing import Annotated, Any, Self

import numpy as np
from jax.sharding import Mesh

from jaxtree.errors import InvalidInputError, all_or_nothing
from jaxtree.estimators.common.conventions import Role, whole
from jaxtree.estimators.common.extras import check_arguments
from jaxtree.estimators.moments.effects import MODELS, NUISANCES, BaseEffectForest

EXPECTATIONS = ("y_hat", "treatment_hat", "instrument_hat")
"""The arguments of an `InstrumentalForest` for variables that are known to be expected."""

ARGUMENTS = ("treatment", "groups", "y_hat", "treatment_hat")
"""The arguments of a `CausalForest` that have a value a row, beside outcomes and weights."""


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class CausalForest(BaseEffectForest):
    r"""A causal forest: the effect of a treatment at every row (Athey, Tibshirani and Wager, 2019, section 6).

    The effect $\tau(x)$ solves $E[(W - e(x))(Y - m(x) - \tau(x)(W - e(x))) \mid X = x] = 0$, where $m$ and $e$ are the
    expectations of outcome and treatment by the columns alone: the R-learner (Robinson, 1988; Nie and Wager, 2021). It
    is the effect of the treatment if all that drives both treatment and outcome stands in the columns, and rows of all
    kinds occur with and without it.

    Args:
        nuisance: The models of outcome and treatment: "forest" for forests as this one, out of bag; "boosting" for
            boosted trees, by folds; or a regressor, or a classifier for arms.
        cv: The folds of models that are no forests.
        stabilize: Whether `alpha` is a share of the variation of the treatment in a node, and `min_samples_arm` holds;
            else it is a share of the node's weight.
        min_samples_arm: The least number of rows of a branch on either side of the expected treatment: with and
            without it.
        control: The arm that others are compared with; the first if not given.

    Attributes:
        forest_: The trees in one table of nodes, whose `target_sum` are sums of statistics.
        training_: The rows of the fit with their nuisances and their effects out of bag.
        oob_prediction_: The effects at these rows by the trees that have not drawn them.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X, coin = rng.random((400, 2)), rng.integers(0, 2, 400)
        >>> y = coin * (X[:, 0] > 0.5) + 0.1 * rng.normal(size=400)
        >>> forest = CausalForest(100, random_state=0).fit(X, y, treatment=coin)
        >>> forest.predict([[0.1, 0.5], [0.9, 0.5]]).round(1).tolist()
        [0.0, 1.0]
    """

    nuisance: Annotated[Any, NUISANCES, MODELS, Role.FIT] = "forest"
    cv: Annotated[int, whole(2), Role.FIT] = 5
    stabilize: Annotated[bool, "boolean", Role.FIT] = True
    min_samples_arm: Annotated[int, whole(1), Role.FIT] = 2
    control: Annotated[Any, object, None, Role.FIT] = None

    __metadata_request__fit = dict.fromkeys(ARGUMENTS, True)
    __metadata_request__score = dict.fromkeys(ARGUMENTS, True)

    arguments_of_rows = ARGUMENTS
    score_name_ = "R-score"

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        treatment: Any = None,
        groups: Any = None,
        y_hat: Any = None,
        treatment_hat: Any = None,
        mesh: Mesh | None = None,
        **others: Any,
    ) -> Self:
        """Estimates the nuisances, and grows the trees on the residuals.

        Args:
            X: A table of shape (rows, columns), or a source, as other estimators take it.
            y: The outcome of every row.
            sample_weight: The weight of every row; a row of weight 0 is left out.
            treatment: The treatment of every row: arms as words, booleans, or 0 and 1; or numbers, of several
                treatments in columns. For a source also the name of its column.
            groups: The group of every row: rows of one are drawn together, and held out together.
            y_hat: The outcome expected of every row by its columns alone, if known.
            treatment_hat: The treatment expected, if known, such as its chance in a trial; one number is for all rows.
            mesh: Devices of one kind, in one axis, to divide the trees among.
            others: Nothing else is taken.

        Raises:
            InvalidInputError: An argument or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        fields = {"treatment": treatment, "group": groups, "y_hat": y_hat, "treatment_hat": treatment_hat}
        check_arguments(self, "fit", others, ())
        return self._fit(X, y, sample_weight, fields, mesh)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        treatment: Any = None,
        groups: Any = None,
        y_hat: Any = None,
        treatment_hat: Any = None,
    ) -> float:
        r"""Returns how far effects explain what rows show beyond one effect for all, by the loss of the R-learner.

        It is 1 less the ratio of $\sum_i w_i (\tilde Y_i - \tau(x_i)^\top \tilde W_i)^2$, with residuals of outcome and
        treatments, and the same sum with the one effect that fits the rows best (Nie and Wager, *Quasi-oracle
        estimation of heterogeneous treatment effects*, Biometrika 108, 2021).

        Args:
            X: A table, or a source.
            y: The outcome of every row.
            sample_weight: The weight of every row.
            treatment: The treatment of every row, as in `fit`.
            groups: The group of every row.
            y_hat: The outcome expected of every row; if not given, of models of these rows, out of bag.
            treatment_hat: The treatment expected, likewise.

        Raises:
            InvalidInputError: An argument is not allowed.
        """
        fields = {"treatment": treatment, "group": groups, "y_hat": y_hat, "treatment_hat": treatment_hat}
        outcome, treatments, weight, effect = self._residuals(X, y, sample_weight, fields)
        common = np.linalg.lstsq((treatments * np.sqrt(weight)).T, outcome * np.sqrt(weight), rcond=None)[0]
        left = (weight * (outcome - (effect.T * treatments).sum(axis=0)) ** 2).sum()
        return float(1 - left / (weight * (outcome - common @ treatments) ** 2).sum())


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class InstrumentalForest(BaseEffectForest):
    r"""An instrumental forest: the effect of a treatment that the outcome's own causes drive, by an instrument.

    The effect solves $E[(Z - z(x))(Y - m(x) - \tau(x)(W - e(x))) \mid X = x] = 0$ (Athey, Tibshirani and Wager, 2019,
    section 7), where the instrument $Z$ moves the treatment, and the outcome by it alone. With the treatment as its own
    instrument it is the `CausalForest`.

    Args:
        nuisance: The models of outcome, treatment and instrument: "forest" for forests as this one, out of bag;
            "boosting" for boosted trees, by folds; or a regressor, or a classifier for arms.
        cv: The folds of models that are no forests.
        stabilize: Whether `alpha` is a share of the variation of the instrument in a node, and `min_samples_arm` holds;
            else it is a share of the node's weight.
        min_samples_arm: The least number of rows of a branch on either side of the expected instrument.
        control: The arm that others are compared with; the first if not given.

    Attributes:
        forest_: The trees in one table of nodes, whose `target_sum` are sums of statistics.
        training_: The rows of the fit with their nuisances and their effects out of bag.
        oob_prediction_: The effects at these rows by the trees that have not drawn them.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X, offered, will = rng.random((2000, 1)), rng.integers(0, 2, 2000), rng.normal(size=2000)
        >>> taken = offered * (will > -0.5)
        >>> y = 2 * taken + will
        >>> forest = InstrumentalForest(100, random_state=0).fit(X, y, treatment=taken, instrument=offered)
        >>> bool(abs(forest.predict([[0.5]])[0] - 2) < 0.5)
        True
    """

    __metadata_request__fit = dict.fromkeys((*ARGUMENTS, "instrument", "instrument_hat"), True)
    __metadata_request__score = dict.fromkeys((*ARGUMENTS, "instrument", "instrument_hat"), True)

    needed = ("treatment", "instrument")
    extras_of_fit = EXPECTATIONS
    arguments_of_rows = (*ARGUMENTS, "instrument", "instrument_hat")
    score_name_ = "R-score"

    nuisance: Annotated[Any, NUISANCES, MODELS, Role.FIT] = "forest"
    cv: Annotated[int, whole(2), Role.FIT] = 5
    stabilize: Annotated[bool, "boolean", Role.FIT] = True
    min_samples_arm: Annotated[int, whole(1), Role.FIT] = 2
    control: Annotated[Any, object, None, Role.FIT] = None

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        treatment: Any = None,
        instrument: Any = None,
        groups: Any = None,
        mesh: Mesh | None = None,
        **known: Any,
    ) -> Self:
        """Estimates the nuisances, and grows the trees on the residuals.

        Args:
            X: A table of shape (rows, columns), or a source, as other estimators take it.
            y: The outcome of every row.
            sample_weight: The weight of every row; a row of weight 0 is left out.
            treatment: The treatment of every row, as `CausalForest` takes it.
            instrument: The instrument of every row; as many as there are treatments.
            groups: The group of every row: rows of one are drawn together, and held out together.
            mesh: Devices of one kind, in one axis, to divide the trees among.
            known: `y_hat`, `treatment_hat` and `instrument_hat`: the outcome, the treatment and the instrument that are
                expected of every row by its columns alone, where they are known, as chances in a lottery are.

        Raises:
            InvalidInputError: An argument or a parameter is not allowed.
            InvalidTypeError: The table holds what cannot be read.
        """
        check_arguments(self, "fit", known, EXPECTATIONS)
        fields = {"treatment": treatment, "instrument": instrument, "group": groups, **known}
        return self._fit(X, y, sample_weight, fields, mesh)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        treatment: Any = None,
        instrument: Any = None,
        groups: Any = None,
        **known: Any,
    ) -> float:
        r"""Returns how far effects explain what the instrument changes beyond one effect for all.

        It is 1 less the ratio of $\sum_i w_i (\tilde Y_i - \tau(x_i) \Delta(x_i) \tilde Z_i)^2$, with residuals of
        outcome and instrument and the effect $\Delta$ of the instrument on the treatment, and the same sum with the one
        product that fits the rows best: the loss of the R-learner (Nie and Wager, 2021) of the instrument's effect.

        Args:
            X: A table, or a source.
            y: The outcome of every row.
            sample_weight: The weight of every row.
            treatment: The treatment of every row, as in `fit`.
            instrument: The instrument of every row.
            groups: The group of every row.
            known: `y_hat` and `instrument_hat`, where they are known; if not, of models of these rows, out of bag.

        Raises:
            InvalidInputError: An argument is not allowed, or there are several treatments.
        """
        check_arguments(self, "score", known, EXPECTATIONS)
        if self.local_.num_effects > 1:
            raise InvalidInputError(f"one treatment with one instrument has a score, got {self.local_.num_effects}")
        if not self.has_instruments_:
            raise InvalidInputError("the treatment was its own instrument: score a CausalForest")
        fields = {"treatment": treatment, "instrument": instrument, "group": groups, **known}
        outcome, instruments, weight, effect = self._residuals(X, y, sample_weight, fields, of="instrument")
        change = effect[:, 0] * self.compliance_at(self._values(X)) * instruments[0]
        common = (weight * instruments[0]) @ outcome / ((weight * instruments[0]) @ instruments[0])
        return float(
            1 - (weight * (outcome - change) ** 2).sum() / (weight * (outcome - common * instruments[0]) ** 2).sum()
        )
