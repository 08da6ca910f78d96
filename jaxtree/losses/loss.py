"""Losses of raw scores, and their derivatives, which boosting fits trees to.

A model gives every row `num_scores` *scores*, any numbers, and a loss says how far these are from the row's target.
*Extras* are what else a row has that a loss needs: an array a name, with rows first. Every loss knows the extra
`offset`: it is added to the scores before the loss sees them, one number a row, or an array `[row, num_scores]`.
A loss is static under `jax.jit`: equal losses share their programs.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float, Shaped

from jaxtree import forks
from jaxtree.arrays import AnyArray, library_of, safe_divide
from jaxtree.errors import InvalidInputError, JaxtreeError, reason_of
from jaxtree.lazy import Array, ShapeDtypeStruct, jax, jnp
from jaxtree.losses.domain import NUMBERS, Domain, check_magnitude
from jaxtree.losses.start import best_constant, guesses, weighted_quantile
from jaxtree.switches import by_own

Extras: TypeAlias = Mapping[str, AnyArray]
HESSIANS = ("full", "diagonal", "fisher", "one")

MOST_SHAPES = 64
"""Losses, with the shapes of targets and extras, of which is known what their functions return."""


@dataclasses.dataclass(frozen=True)
class Given:
    """A function whose keywords are given. Unlike those of `functools.partial`, equal ones compare equal.

    So equal losses share their programs.

    Attributes:
        function: A function.
        keywords: Names and values, in order.

    Example:
        >>> Given(round, (("ndigits", 1),))(0.123)
        0.1
    """

    function: Callable[..., Any]
    keywords: tuple[tuple[str, Any], ...]

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function with these arguments and the keywords given."""
        return self.function(*arguments, **dict(self.keywords))


def given(function: Callable[..., Any], **keywords: Any) -> Given:
    """Gives a function its keywords."""
    return Given(function, tuple(keywords.items()))


def identity(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    """The scores themselves, where they are the predictions."""
    return scores


class Derivatives(NamedTuple):
    """Derivatives of the loss of every row by its scores, times the row's weight; 0 where the weight is 0.

    Attributes:
        gradient: The first derivatives.
        hessian: The second derivatives, or what stands for them, made positive semi-definite: a matrix a row, or the
            diagonal of one, of the shape of the gradient.
    """

    gradient: Float[Array, "score row"]
    hessian: Float[Array, "*score_score row"]


class BaseLoss(abc.ABC):
    """Interface of losses. Pointwise losses are a `Loss`; ranking and Cox losses subclass this.

    A class of one's own is a frozen dataclass, so that equal losses are equal and hash alike, and has `values` and
    `derivatives`, which can be traced.

    Attributes:
        name: Its name in messages.
        num_scores: Scores of a row.
        hessian: The kind of second derivatives, of `"full"`, `"diagonal"`, `"fisher"` and `"one"`, see `Loss`.
        renewal: Levels of the quantiles of `target - score` that leaves take, one a score; None where leaves take
            Newton steps.
        domain: The targets that are allowed.
        needs: Names of extras that every row must have.
        has_location: Whether the first score is a location, which monotone constraints bound and an offset of one
            number a row moves; if not, it moves all scores.
        moves_with_target: Whether locations move as targets do: for `a y + b` they are `a s + b` with a positive, and
            scales `a` times those of y; so a model may learn from targets of mean 0 and deviation 1.
        degree: The power of the target's unit that second derivatives have: of targets times `a` they are `a**degree`
            times those of y, at the scores that fit them.
        joins_rows: Whether the loss of a row depends on other rows.
        takes_batches: Whether derivatives follow from any part of the rows, and not from all of a group, or of all.
    """

    name: str
    num_scores: int
    hessian: str
    renewal: float | tuple[float, ...] | None
    domain: Domain
    needs: tuple[str, ...]
    has_location: bool = False
    moves_with_target: bool = False
    degree: float = 0.0
    joins_rows: ClassVar[bool] = False

    @property
    def takes_batches(self) -> bool:
        """Whether derivatives follow from any part of the rows."""
        return not self.joins_rows

    @property
    def num_ordered(self) -> int:
        """How many of the first scores monotone constraints bound: a location, or all quantiles; 0 if none is known."""
        if self.num_scores == 1 or self.has_location:
            return 1
        return 0 if self.renewal is None else self.num_scores

    @abc.abstractmethod
    def values(
        self, scores: Float[AnyArray, "score row"], target: Shaped[AnyArray, "row *output"], extras: Extras
    ) -> Float[Array, " row"]:
        """Returns the loss of every row; rows that depend on one another have weight 1 here."""

    @abc.abstractmethod
    def derivatives(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, "row *output"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Derivatives:
        """Returns gradients and Hessians, in the precision of the scores."""

    @by_own
    def mean(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, "row *output"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Float[Array, ""]:
        """Returns the weighted mean of the loss; rows of weight 0 are not looked at."""
        value = jnp.where(weight > 0, weight * self.values(scores, target, extras), 0)
        return safe_divide(jnp.sum(value), jnp.sum(weight)).astype(jnp.asarray(scores).dtype)

    def _fault_of(self, error: Exception) -> str:
        """The fault of a function that cannot be traced: it reads an extra that `needs` lacks, or is not in JAX."""
        if isinstance(error, KeyError) and error.args and error.args[0] not in self.needs:
            key = error.args[0]
            return f"reads extras[{key!r}], and needs={self.needs}: make it by Loss({self.name}, needs=({key!r},))"
        return f"must be a function in JAX of the scores, target and extras of a row: {reason_of(error)}"

    def predict(self, scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "prediction row"]:
        """Returns predictions from raw scores, to which offsets have been added, in the library of the scores."""
        return scores

    def start(
        self,
        target: Shaped[AnyArray, "row *output"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Float[np.ndarray, " score"]:
        """Returns scores that all rows start from, in float64: 0, where scores are compared with one another alone."""
        return np.zeros(self.num_scores)

    def units(self, start: Float[np.ndarray, " score"]) -> Float[np.ndarray, " score"] | None:
        """Returns the units that the scores' steps are measured in by penalties and limits, None for 1 of each.

        Args:
            start: The scores that all rows start from, from which the units follow.
        """
        return None

    def check(self, target: Shaped[np.ndarray, "row *output"], extras: Extras) -> None:
        """Checks targets and extras of rows that are measured, or that a model is fitted to, on the host.

        Raises:
            InvalidInputError: A target or an extra is not one that the loss allows, or an extra is missing.
        """
        for extra in self.needs:
            if extra not in extras:
                raise InvalidInputError(f"{self} needs the extra {extra!r} of every row, got {sorted(extras)}")
        self.domain.check(np.asarray(target), f"{self}: a target")
        for extra, values in extras.items():
            self.check_extra(extra, np.asarray(values))
        if "offset" in extras:
            shape = np.shape(extras["offset"])
            if shape not in ((len(target),), (len(target), self.num_scores)):
                wanted = f"({len(target)},) or ({len(target)}, {self.num_scores})"
                raise InvalidInputError(f"{self}: the extra 'offset' must be an array of shape {wanted}, got {shape}")

    def check_fit(self, target: Shaped[np.ndarray, "row *output"], extras: Extras) -> None:
        """Checks the same of rows that a model is fitted to, and that these have what it can learn from.

        Raises:
            InvalidInputError: A target or an extra is not one that the loss allows, none is above 0 where one must, or
                the largest is too far from 1 for derivatives to be squared.
        """
        self.check(target, extras)
        self.domain.check_together(np.asarray(target), f"{self}: a target")
        check_magnitude(np.asarray(target), f"{self}: the largest target")

    def check_extra(self, extra: str, values: Shaped[np.ndarray, "row *output"]) -> None:
        """Checks the values of one extra: as a rule, these are any finite numbers."""
        NUMBERS.check(values, f"{self}: the extra {extra!r}")


@dataclasses.dataclass(frozen=True, repr=False)
class Loss(BaseLoss):
    r"""A loss of raw scores, summed over rows: one Python function of a row. Autodiff derives it.

    Newton steps need Hessians that are positive semi-definite. Where a loss is not convex, the Hessian $H$ of a row is
    replaced by $|H| = (H^2)^{1/2}$, which has the absolute values of its eigenvalues (saddle-free Newton; Dauphin et
    al., 2014): for one score the absolute value.

    Attributes:
        function: The loss of one row, in JAX: `(scores[num_scores], target, extras)` to one number, or one a score,
            which are added. `extras` has what the row's extras are, without `offset`.
        num_scores: Scores of a row.
        hessian: The kind of second derivatives: `"full"`, a matrix a row; `"diagonal"`, their diagonal, for many
            scores; `"fisher"`, the matrix `information`; `"one"`, 1, for losses without curvature.
        information: The function `(scores[num_scores], extras)` to the expected Hessian of a row,
            $E_y \nabla^2 \ell$, which is positive semi-definite; or to its diagonal. `"fisher"` needs it; `"full"` and
            `"diagonal"` may have it where Hessians do not depend on targets, to save the second derivatives.
        is_convex: Whether Hessians are positive semi-definite as they are.
        link: The function from scores, an array of JAX `[num_scores, row]`, to predictions `[prediction, row]`.
        constant: The function `(target, weight)` to the best scores that all rows share, where they are known; by
            default Newton steps find them, from 0 or where most targets lie.
        is_guess: Whether `constant` is only close to the best, and Newton steps go on from there.
        domain: The targets that are allowed.
        needs: Names of extras that every row must have.
        renewal: Levels of the quantiles of `target - score` that leaves take, one a score; None for Newton steps.
        has_location: Whether the first score is a location, which monotone constraints bound and an offset of one
            number a row moves; if not, it moves all scores.
        moves_with_target: Whether locations move as targets do, see `BaseLoss`.
        degree: The power of the target's unit that second derivatives have, see `BaseLoss`.
        units_at: The function from the start to the units of scores, see `BaseLoss.units`; by default all are 1.
        name: Its name in messages; by default the function's.
        parameters: Names and values of its parameters, for messages and files.

    Raises:
        InvalidInputError: An attribute is wrong.

    Example: errors above the target cost five times as much as those below.
        >>> def lopsided(scores, target, extras):
        ...     error = scores[0] - target
        ...     return jnp.where(error > 0, 5.0, 1.0) * error**2
        >>> loss = Loss(lopsided)
        >>> scores, target = jnp.array([[1.0, 3.0]]), jnp.array([2.0, 2.0])
        >>> loss.derivatives(scores, target, jnp.ones(2), {}).gradient.tolist()
        [[-2.0, 10.0]]
        >>> loss.start(target, jnp.ones(2), {}).tolist()
        [2.0]
    """

    function: Callable[..., Any]
    num_scores: int = 1
    hessian: str = "full"
    information: Callable[..., Float[Array, "*score_score"]] | None = None
    is_convex: bool = False
    link: Callable[..., Float[AnyArray, "prediction row"]] = identity
    constant: Callable[..., Any] | None = None
    is_guess: bool = False
    domain: Domain = NUMBERS
    needs: tuple[str, ...] = ()
    renewal: float | tuple[float, ...] | None = None
    has_location: bool = False
    moves_with_target: bool = False
    degree: float = 0.0
    units_at: Callable[..., Float[np.ndarray, " score"]] | None = None
    name: str = ""
    parameters: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        """Checks the attributes; a loss without a name has its function's."""
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", type(self.function).__name__))
        if self.hessian not in HESSIANS:
            raise InvalidInputError(f"hessian must be one of {', '.join(HESSIANS)}, got {self.hessian!r}")
        if self.information is None and self.hessian == "fisher":
            raise InvalidInputError("hessian='fisher' needs information, got None")
        if self.num_scores < 1:
            raise InvalidInputError(f"num_scores must be 1 or more, got {self.num_scores}")

    def __repr__(self) -> str:
        """As it was made: `huber(delta=1.0)`."""
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.parameters)})"

    def check(self, target: Shaped[np.ndarray, "row *output"], extras: Extras) -> None:
        """Checks targets and extras, and the shape of what the function returns."""
        super().check(target, extras)
        row_of = lambda values: jax.ShapeDtypeStruct(np.shape(values)[1:], np.result_type(values))  # noqa: E731
        others = [(name, row_of(values)) for name, values in extras.items() if name != "offset"]
        try:
            value = _value_of_row(self, row_of(target), tuple(others))
        except JaxtreeError:
            raise
        except Exception as error:
            raise InvalidInputError(f"{self.name} {self._fault_of(error)}") from error
        if getattr(value, "shape", None) not in ((), (self.num_scores,)):
            raise InvalidInputError(
                f"{self} must return one number, or one a score, for {self.num_scores} scores and a target of shape "
                f"{np.shape(target)[1:]}, got {value}"
            )

    def predict(self, scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "prediction row"]:
        """Returns predictions from raw scores, to which offsets have been added."""
        return self.link(scores)

    @by_own
    def values(
        self, scores: Float[AnyArray, "score row"], target: Shaped[AnyArray, "row *output"], extras: Extras
    ) -> Float[Array, " row"]:
        """Returns the loss of every row."""
        scores, extras = with_offset(scores, extras, self.has_location)
        return jax.vmap(self._row, in_axes=(1, 0, 0))(scores, target, extras)

    @by_own
    def derivatives(
        self,
        scores: Float[AnyArray, "score row"],
        target: Shaped[AnyArray, "row *output"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Derivatives:
        """Returns gradients and Hessians, in the precision of the scores."""
        shifted, extras = with_offset(scores, extras, self.has_location)
        of_rows = jax.vmap(self._derivatives_of_row, in_axes=(1, 0, 0), out_axes=-1)
        return weighted(of_rows(shifted, target, extras), weight, jnp.asarray(scores).dtype)

    def units(self, start: Float[np.ndarray, " score"]) -> Float[np.ndarray, " score"] | None:
        """Returns the units that the scores' steps are measured in, None for 1 of each."""
        return None if self.units_at is None else self.units_at(start)

    def start(
        self,
        target: Shaped[AnyArray, "row *output"],
        weight: Float[AnyArray, " row"],
        extras: Extras,
    ) -> Float[np.ndarray, " score"]:
        """Returns the scores that are best for all rows together, in float64."""
        if self.renewal is not None:
            levels = np.broadcast_to(self.renewal, self.num_scores)
            offset = np.broadcast_to(np.transpose(extras.get("offset", 0.0)), (self.num_scores, len(target)))
            residuals = np.asarray(target, np.float64) - offset
            return np.array(
                [
                    weighted_quantile(part, np.asarray(weight), level)
                    for part, level in zip(residuals, levels, strict=True)
                ]
            )
        if self.constant is None:
            return best_constant(self, target, weight, extras, guesses(target, weight, self.num_scores))
        first = np.asarray(self.constant(np.asarray(target, np.float64), np.asarray(weight, np.float64)), np.float64)
        if not self.is_guess and "offset" not in extras:
            return first
        return best_constant(self, target, weight, extras, first[None])

    def _row(self, scores: Float[Array, " score"], target: Any, extras: Any) -> Float[Array, ""]:
        return jnp.sum(self.function(scores, target, extras))

    def _derivatives_of_row(self, scores: Float[Array, " score"], target: Any, extras: Any) -> tuple[Array, Array]:
        """The gradient and the Hessian of a row, one of the shape of the gradient if it is a diagonal."""
        slope = jax.grad(self._row)
        if self.hessian == "one":
            gradient = slope(scores, target, extras)
            return gradient, jnp.ones_like(gradient)
        if self.information is not None:
            information = self.information(scores, extras)
            return slope(scores, target, extras), information[0] if information.shape == (1, 1) else information
        units = jnp.eye(self.num_scores, dtype=scores.dtype)
        gradient, along = jax.linearize(lambda point: slope(point, target, extras), scores)
        if self.hessian == "diagonal" or self.num_scores == 1:
            curvature = jax.vmap(lambda unit: jnp.sum(along(unit) * unit))(units)
            return gradient, curvature if self.is_convex else jnp.abs(curvature)
        matrix = jax.vmap(along)(units)
        return gradient, matrix if self.is_convex else absolute(matrix)


@functools.lru_cache(maxsize=MOST_SHAPES)
def _value_of_row(loss: Loss, target: ShapeDtypeStruct, extras: tuple[tuple[str, ShapeDtypeStruct], ...]) -> Any:
    """The shape of what the function of a loss returns for a row; to trace it takes longer than all other checks."""
    return jax.eval_shape(loss.function, jax.ShapeDtypeStruct((loss.num_scores,), np.float32), target, dict(extras))


def with_offset(
    scores: Float[AnyArray, "score row"], extras: Extras, has_location: bool = False
) -> tuple[Float[Array, "score row"], dict[str, Any]]:
    """Adds the offsets to the scores, if there are any, and returns the other extras.

    Args:
        scores: The scores.
        extras: The extras; `offset` is one number a row, or an array `[row, score]`.
        has_location: Whether one number a row is for the first score alone.

    Example:
        >>> with_offset(jnp.zeros((2, 1)), {"offset": jnp.array([3.0])}, has_location=True)[0].tolist()
        [[3.0], [0.0]]
    """
    scores = jnp.asarray(scores)
    others = {name: jnp.asarray(values) for name, values in extras.items() if name != "offset"}
    if "offset" not in extras:
        return scores, others
    return shifted(scores, jnp.asarray(extras["offset"]), has_location), others


def shifted(
    scores: Float[AnyArray, "score row"], offset: Shaped[AnyArray, "row *score"], has_location: bool
) -> Float[AnyArray, "score row"]:
    """Adds offsets to scores, in the library of the scores; see `with_offset`."""
    offset = offset.T
    if has_location and offset.ndim == 1:
        return library_of(scores).concatenate([scores[:1] + offset, scores[1:]])
    return scores + offset


def weighted(
    derivatives: tuple[Float[Array, "score row"], Float[Array, "*score_score row"]],
    weight: Float[AnyArray, " row"],
    dtype: Any,
) -> Derivatives:
    """Multiplies by weights; a row of weight 0, such as padding, may have derivatives that are no numbers."""
    gradient, hessian = (jnp.where(weight > 0, weight * part, 0).astype(dtype) for part in derivatives)
    return Derivatives(gradient, hessian)


def absolute(matrix: Float[Array, "score score"]) -> Float[Array, "score score"]:
    r"""The absolute value $(A^2)^{1/2}$ of a symmetric matrix: that with the absolute values of its eigenvalues.

    For a matrix of two rows it is $(A^2 + |\det A| I) / \sqrt{\mathrm{tr}\,A^2 + 2 |\det A|}$ (Cayley and Hamilton).

    >>> absolute(jnp.array([[0.0, 2.0], [2.0, 0.0]])).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    if len(matrix) > 2:
        value, vector = jnp.linalg.eigh(matrix)
        return (vector * jnp.abs(value)) @ vector.T
    size = jnp.max(jnp.abs(matrix))
    (a, b), (_, c) = safe_divide(matrix, jnp.broadcast_to(size, matrix.shape))
    determinant = jnp.abs(a * c - b * b)
    square = jnp.array([[a * a + b * b, b * (a + c)], [b * (a + c), b * b + c * c]])
    root = jnp.sqrt(jnp.where(size > 0, jnp.trace(square) + 2 * determinant, 1))
    return size * (square + determinant * jnp.eye(2, dtype=matrix.dtype)) / root


def predictions_of(loss: BaseLoss, scores: Float[np.ndarray, "score row"]) -> Float[np.ndarray, "prediction row"]:
    """Returns what a loss predicts, on the host: by NumPy, and by JAX if the link is one of the user's own.

    Args:
        loss: The loss.
        scores: Scores, to which offsets have been added.

    Raises:
        ForkedProcessError: JAX is needed, and cannot compute in this process.
    """
    if is_own(loss.link if isinstance(loss, Loss) else type(loss).predict):
        with np.errstate(all="ignore"):
            return loss.predict(np.ascontiguousarray(scores))
    forks.check_is_whole(f"the link of {loss}")
    with jax.enable_x64(True):
        return np.array(loss.predict(jnp.asarray(scores)))


def is_own(function: Any) -> bool:
    """Whether a function is of jaxtree, which computes predictions in either library; those of users are in JAX."""
    while isinstance(function, Given):
        function = function.function
    return function is None or (getattr(function, "__module__", None) or "").partition(".")[0] == "jaxtree"
