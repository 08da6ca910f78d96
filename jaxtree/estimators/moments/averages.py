"""Averages of the effects of a forest over the rows of its fit, doubly robust, with standard errors."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Float64, Shaped

from jaxtree.effects.averages import OF_SUBSET, AverageEffect, average_effect, average_effect_on, weights_within
from jaxtree.effects.linear import LinearFit, best_linear_projection, calibration_test
from jaxtree.effects.propensities import Overlap, overlap
from jaxtree.effects.ranks import RankAverageEffect, rank_average_effect
from jaxtree.effects.scores import arm_scores, doubly_robust_rewards, doubly_robust_scores, instrumental_scores
from jaxtree.errors import InvalidInputError, present
from jaxtree.files.moments import FittedRows

Result = TypeVar("Result")


class AveragesEffects:
    """Averages over the rows of the fit, of effects out of bag; of several arms by their names."""

    training_: FittedRows
    classes_of_treatment_: Shaped[np.ndarray, " class"] | None
    has_instruments_: bool

    def doubly_robust_scores(self) -> Float64[np.ndarray, "row *arm"]:
        """Returns the doubly robust score of every row of the fit, whose mean is the average effect.

        See `jaxtree.effects`: `doubly_robust_scores` of one treatment, `arm_scores` of several arms, and of instruments
        `instrumental_scores`, with the local effect of the instrument on the treatment.

        Raises:
            InvalidInputError: There are several treatments that are numbers, or some row was drawn by all trees.

        Warns:
            OverlapWarning: Chances of the treatment are close to 0 or 1.

        Example:
            >>> from jaxtree import CausalForest
            >>> rng = np.random.default_rng(0)
            >>> X, coin = rng.random((400, 2)), rng.integers(0, 2, 400)
            >>> y = coin * X[:, 0] + 0.1 * rng.normal(size=400)
            >>> forest = CausalForest(60, random_state=0).fit(X, y, treatment=coin, treatment_hat=[0.5] * 400)
            >>> forest.doubly_robust_scores().shape
            (400,)
        """
        rows = self._known_rows()
        names, num_arms = self.classes_of_treatment_, len(rows.treatment)
        if num_arms > 1:
            if names is None or self.has_instruments_:
                raise InvalidInputError(
                    f"averages are of one treatment, or of arms without instruments, got {num_arms} treatments"
                )
            return arm_scores(rows.effect, rows.y, self._arms(), rows.y_hat, self._chances())
        own = rows.effect[:, 0], rows.y, rows.treatment[0], rows.y_hat, rows.treatment_hat[0]
        if self.has_instruments_:
            return instrumental_scores(*own, rows.instrument[0], rows.instrument_hat[0], rows.compliance)
        return doubly_robust_scores(*own)

    def doubly_robust_rewards(self) -> Float64[np.ndarray, "row action"]:
        """Returns the doubly robust score of the outcome of every row under every arm, the control first.

        A `PolicyTree` finds from it the rule of the greatest mean outcome (Zhou, Athey and Wager, 2023).

        Raises:
            InvalidInputError: Treatments are numbers, or have instruments, or some row was drawn by all trees.
        """
        rows = self._known_rows()
        if self.classes_of_treatment_ is None or self.has_instruments_:
            raise InvalidInputError("rewards are those of arms, without instruments")
        return doubly_robust_rewards(rows.effect, rows.y, self._arms(), rows.y_hat, self._chances())

    def average_treatment_effect(
        self, target: Literal["all", "treated", "control", "overlap"] = "all", *, subset: Any = None
    ) -> AverageEffect | dict[Any, AverageEffect]:
        """Returns the average effect over the rows of the fit, doubly robust, with its standard error.

        Args:
            target: "all", "treated", "control", or "overlap", which weights rows by the variance of their treatment;
                of several arms and of instruments "all".
            subset: The rows that the average is of: a truth value of every row, or places. It may follow from columns,
                not from treatment or outcome.

        Returns:
            The average; of several arms a dict from their names, each beside the control.

        Raises:
            InvalidInputError: There is no such target, or it is not offered for the treatments.

        Example:
            >>> from jaxtree import CausalForest
            >>> rng = np.random.default_rng(0)
            >>> X, coin = rng.random((400, 2)), rng.integers(0, 2, 400)
            >>> y = coin * X[:, 0] + 0.1 * rng.normal(size=400)
            >>> forest = CausalForest(60, random_state=0).fit(X, y, treatment=coin, treatment_hat=[0.5] * 400)
            >>> found = forest.average_treatment_effect()
            >>> abs(found.estimate - 0.5) < 3 * found.standard_error
            True
        """
        rows, weight = self._known_rows(), self._weights(subset)
        if target == "all" or len(rows.treatment) > 1 or self.has_instruments_:
            if target != "all":
                raise InvalidInputError(f'target must be "all" of several arms, and of instruments, got {target!r}')
            found = self._of_each(
                lambda scores: average_effect(scores, sample_weight=weight, clusters=self._clusters())
            )
            return found if subset is None else _named_after_subset(found)
        own = rows.effect[:, 0], rows.y, rows.treatment[0], rows.y_hat, rows.treatment_hat[0]
        average = average_effect_on(target, *own, sample_weight=weight, clusters=self._clusters())
        return average if subset is None else _named_after_subset(average)

    def best_linear_projection(self, A: Any = None, *, subset: Any = None) -> LinearFit | dict[Any, LinearFit]:
        """Returns the best linear approximation of the effect by some columns, with HC3 standard errors.

        Args:
            A: Numbers of every row of the fit, a frame or an array [row, column]; None for the mean alone.
            subset: The rows that the approximation is of, as in `average_treatment_effect`.

        Raises:
            InvalidInputError: A is not as it should be, or scores are not known, see `doubly_robust_scores`.
        """
        weight = self._weights(subset)
        return self._of_each(
            lambda scores: best_linear_projection(scores, A, sample_weight=weight, clusters=self._clusters())
        )

    def calibration_test(self) -> LinearFit:
        """Returns how far the mean of the effects, and their differences, agree with what rows show.

        See `jaxtree.effects.calibration_test`: a second coefficient above 0 with a small p value says that effects
        differ, and are found.

        Raises:
            InvalidInputError: There are several treatments, or instruments.
        """
        rows = self._known_rows()
        if len(rows.treatment) > 1 or self.has_instruments_:
            raise InvalidInputError("calibration is tested of one treatment, without instruments")
        own = {"y_hat": rows.y_hat, "treatment": rows.treatment[0], "treatment_hat": rows.treatment_hat[0]}
        return calibration_test(rows.effect[:, 0], rows.y, **own, sample_weight=rows.weight, clusters=self._clusters())

    def rank_average_treatment_effect(
        self, priorities: Any, target: Literal["autoc", "qini"] = "autoc", *, subset: Any = None, random_state: Any = 0
    ) -> RankAverageEffect | dict[Any, RankAverageEffect]:
        """Returns the gain of treating rows of high priority first, with the curve of its shares of rows.

        Args:
            priorities: The priority of every row of the fit, the highest first, by a model that has not seen the rows;
                or of two rules, in two columns. Effects of this forest, even out of bag, are no such priorities.
            target: "autoc" looks at those of the highest priority most, "qini" at all shares alike.
            subset: The rows that are ranked, as in `average_treatment_effect`.
            random_state: The seed of the half-samples for standard errors.

        Raises:
            InvalidInputError: An argument is not allowed, or scores are not known, see `doubly_robust_scores`.
        """
        weight = self._weights(subset)
        return self._of_each(
            lambda scores: rank_average_effect(
                scores,
                priorities,
                target=target,
                sample_weight=weight,
                clusters=self._clusters(),
                random_state=random_state,
            )
        )

    def overlap(self) -> Overlap | dict[Any, Overlap]:
        """Returns how far the chances of the arms, of instruments that of the instrument, are from 0 and 1.

        Raises:
            InvalidInputError: The treatment, or the instrument, is a number.
        """
        rows = self.training_
        given, chances = (
            (rows.instrument, rows.instrument_hat) if self.has_instruments_ else (rows.treatment, rows.treatment_hat)
        )
        if not np.isin(given, (0, 1)).all():
            raise InvalidInputError("overlap is that of arms, or of an instrument of 0 and 1")
        if len(given) == 1:
            return overlap(np.clip(chances[0], 0, 1), sample_weight=rows.weight)
        return {
            name: overlap(own, sample_weight=rows.weight)
            for name, own in zip(self._names(), self._chances().T, strict=True)
        }

    def _known_rows(self) -> FittedRows:
        """The rows of the fit, whose effects out of bag are all known."""
        unknown = int(np.isnan(self.training_.effect[:, 0]).sum())
        if unknown:
            raise InvalidInputError(
                f"{unknown} rows of the fit have no effect out of bag, as all trees have drawn them: fit more trees"
            )
        return self.training_

    def _weights(self, subset: Any) -> Float[np.ndarray, " row"] | None:
        return weights_within(subset, len(self.training_.y), self.training_.weight)

    def _clusters(self) -> Shaped[np.ndarray, " row"] | None:
        group = self.training_.group
        return None if _is_counted(group) else group

    def _arms(self) -> np.ndarray:
        """The place of every row's arm, 0 for the control."""
        treatment = self.training_.treatment
        return np.arange(1, len(treatment) + 1) @ treatment.astype(np.int64)

    def _chances(self) -> Float64[np.ndarray, "row arm"]:
        """The chances of all arms, the control's first."""
        others = np.clip(self.training_.treatment_hat, 0, 1)
        total = others.sum(axis=0)
        others = others / np.maximum(total, 1)
        return np.concatenate([1 - others.sum(axis=0, keepdims=True), others]).T

    def _names(self) -> list[Any]:
        """The names of the arms, the control first."""
        return present(self.classes_of_treatment_).tolist()

    def _of_each(self, average: Callable[[Float64[np.ndarray, " row"]], Result]) -> Result | dict[Any, Result]:
        """Averages the scores, of several arms of each."""
        scores = self.doubly_robust_scores()
        if scores.ndim == 1:
            return average(scores)
        return {name: average(own) for name, own in zip(self._names()[1:], scores.T, strict=True)}


def _named_after_subset(found: Any) -> Any:
    """Returns averages whose target says that they are of a subset."""
    if isinstance(found, dict):
        return {name: _named_after_subset(own) for name, own in found.items()}
    return dataclasses.replace(found, target=found.target + OF_SUBSET)


def _is_counted(group: Shaped[np.ndarray, " row"]) -> Bool[np.ndarray, ""] | bool:
    """Whether each row is a group of its own."""
    return len(np.unique(group)) == len(group)
