"""A whole boosting as one pure function: the scan of its rounds, with early stopping by a mask."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, Key, Real, Shaped, UInt

from jaxtree.arrays import AnyArray, FloatLike, mix
from jaxtree.boosting.data import MOST_ROWS_IN_DOUBLE
from jaxtree.boosting.round_tree import RoundInfo, ScoredRows, TreeTargets, residuals, row_derivatives
from jaxtree.boosting.rounds import mean_loss
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError, InvalidTypeError, present
from jaxtree.functional.boosting import Boosting, check_weights, options_of_fits
from jaxtree.functional.double import in_double, in_floats
from jaxtree.functional.hyper import Hyper, rates_of, seed_of
from jaxtree.functional.losses import as_loss, start_of
from jaxtree.functional.stack import TreeStack, as_given, grow_round, with_derivatives
from jaxtree.growth.inputs.checks import check_array, check_number
from jaxtree.growth.plan.plan import Plan
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.walk import apply_in_program


class FitRows(NamedTuple):
    """Rows with their targets, such as held-out ones, whose loss is measured after every round.

    Attributes:
        codes: Their codes.
        target: Their targets.
        weight: Their weights; None for 1.
        extras: Further inputs of the loss.
    """

    codes: UInt[AnyArray, "feature row"]
    target: Shaped[AnyArray, "row *output"]
    weight: Real[AnyArray, " row"] | None = None
    extras: Mapping[str, AnyArray] = {}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BoostedFit:
    """A boosted model, a pytree of fixed shape; a call returns the scores of codes.

    Attributes:
        stack: The trees; rounds past the best one add nothing, where fits stop.
        scores: The scores of the rows of the fit, after all rounds that were made.
        losses: The mean loss of the held-out rows after every round; no columns without such rows, and NaN after the
            last round that was made.
        is_finite: Whether all derivatives were numbers; if not, rounds end before the first that were none.
    """

    stack: TreeStack
    scores: Float[AnyArray, "..."]
    losses: Float[AnyArray, "*batch round held"]
    is_finite: Bool[AnyArray, "*batch"]

    def __call__(self, codes: UInt[AnyArray, "feature row"]) -> Float[Array, "row *output"]:
        """Returns the scores of rows, given their codes."""
        return self.stack(codes)

    def __repr__(self) -> str:
        """The sizes in a line."""
        return f"BoostedFit({self.stack!r})"


@dataclasses.dataclass(frozen=True)
class FitFunction:
    """The function that `fit` returns; equal ones share their programs."""

    loss: Any
    num_rounds: int
    form: Boosting

    def __call__(
        self,
        codes: UInt[AnyArray, "feature row"],
        target: Shaped[AnyArray, "row *output"],
        hyper: Hyper | None = None,
        key: Key[Array, ""] | None = None,
        weight: Real[AnyArray, " row"] | None = None,
        held: FitRows | None = None,
        extras: Any = None,
        start: FloatLike | None = None,
    ) -> BoostedFit:
        """Returns the boosted model of rows; see `fit`."""
        hyper = Hyper() if hyper is None else hyper
        hyper.check()
        rows = self._checked("", FitRows(codes, target, weight, {} if extras is None else extras))
        held = None if held is None else self._checked("held ", held)
        if held is not None and (held.codes.shape[0] != codes.shape[0] or held.target.shape[1:] != target.shape[1:]):
            raise InvalidInputError(
                f"held must have the features and outputs of the rows, got codes {held.codes.shape} for {codes.shape} "
                f"and targets {held.target.shape} for {target.shape}"
            )
        if hyper.n_iter_no_change is not None and held is None:
            raise InvalidInputError("n_iter_no_change needs held, the rows whose loss ends boosting, got None")
        own = as_loss(self.loss, self.form.num_scores, self.form.has_axis, target, rows.extras)
        if start is not None and np.shape(start) not in ((), (own.num_scores,)):
            raise InvalidInputError(f"start must be a number, or one a score, {own.num_scores}, got {np.shape(start)}")
        make = functools.partial(_fit, fit=dataclasses.replace(self, loss=own), real=jnp.result_type(float))
        return in_double(make, rows, held, hyper, seed_of(key), start)

    def _checked(self, name: str, rows: FitRows) -> FitRows:
        codes = self.form.checked(rows.codes)
        check_array(f"{name}target", rows.target)
        if rows.target.shape[:1] != rows.codes.shape[1:]:
            raise InvalidInputError(
                f"{name}target must have the shape (row,) or (row, output), with {rows.codes.shape[1]} rows as the "
                f"codes have, got {rows.target.shape}"
            )
        check_weights(rows.weight, rows.codes.shape[1])
        return rows._replace(codes=codes)


def fit(loss: BaseLoss | Callable[..., Any], num_rounds: int = 100, form: Boosting | None = None) -> FitFunction:
    r"""Returns a pure function that boosts trees on a loss: a scan of rounds that compiles once for all numbers.

    The function is `(codes, target, hyper, key, weight, held, extras, start) -> BoostedFit`, of which all but the first
    two may be left out:

    - `codes`: Codes of shape (feature, row), as `BinEdges` makes them. Known codes must be those of the form;
      traced ones are brought into their range.
    - `target`: Targets of shape (row,) or (row, output).
    - `hyper`: The numbers, a `Hyper`.
    - `key`: The key of what is drawn; None draws by the number 0.
    - `weight`: The weights of rows; those of weight 0 are left out, as are those of a negative one that is traced. A
      fold or a bootstrap sample is such a vector.
    - `held`: Rows whose loss is measured after every round, and ends it with `Hyper.n_iter_no_change`.
    - `extras`: Further inputs of the loss.
    - `start`: The scores before the first round, one number or one an output. By default those that are best for all
      rows, or 0 for a function. A TPU solves no systems of equations of 64 bits: give a loss of several scores a start
      there.

    It works under `jax.jit`, `jax.vmap` (over numbers, keys, weights and targets: a search, a bootstrap and a
    cross-validation), `jax.lax.scan` and `jax.grad`. The model has the bits that the estimators' boosting makes of the
    same codes, weights, start and numbers, in programs of 32 and of 64 bits; a member of a `vmap` has those of its own
    fit. Derivatives of scores and losses by targets, weights, extras, start and numbers are exact where the structure
    of the trees stays: it is a constant under differentiation, as are the leaves of losses that take quantiles. Give
    parameters of a function, by which it shall be differentiated, as extras.

    Args:
        loss: A loss of `jaxtree.boosting`; or a function of JAX, `(scores, target)` or with extras
            `(scores, target, extras)`, of scores of the shape (row,), or (row, output). It returns one number for each
            row, of whose Hessian trees see the size of the diagonal; or one for all rows, a sum in which rows may
            depend on one another, and then 1 stands for second derivatives. Weights multiply derivatives.
        num_rounds: The most rounds; static.
        form: The form of the trees.

    Raises:
        InvalidInputError: Something is out of range, or shapes do not fit; the message names it.
        InvalidTypeError: Something is of a type that is not allowed.

    Example:
        >>> import jaxtree.functional as functional
        >>> X = jnp.linspace(0, 1, 64)[:, None]
        >>> y = jnp.where(X[:, 0] > 0.5, 1.0, 0.0)
        >>> codes = functional.bins(X)(X)
        >>> boost = fit(lambda scores, target: (scores - target) ** 2 / 2, 10, Boosting(num_leaves=2))
        >>> rates = jnp.array([0.1, 0.5])
        >>> models = jax.vmap(lambda rate: boost(codes, y, Hyper(learning_rate=rate)))(rates)
        >>> models, np.abs(models.scores - y).mean(axis=1).astype(float).round(2).tolist()
        (BoostedFit(TreeStack(10 rounds of 3 nodes, scores: 1, batch of 2)), [0.18, 0.0])
    """
    check_number("num_rounds", num_rounds, 1)
    form = Boosting() if form is None else form
    if not isinstance(form, Boosting):
        raise InvalidTypeError(f"form must be a Boosting, got {form!r}")
    if not callable(loss) and not isinstance(loss, BaseLoss):
        raise InvalidTypeError(f"loss must be a loss of jaxtree.boosting or a function of scores, got {loss!r}")
    return FitFunction(loss, num_rounds, form)


class _Rounds(NamedTuple):
    """The state of a scan of rounds.

    Attributes:
        scores: The scores of the rows.
        held: The scores of held-out rows; None without any.
        best: Their least loss.
        best_round: The number of rounds that it was reached with.
        made: The number of rounds made.
        is_finite: Whether all derivatives were numbers.
    """

    scores: Float[Array, "score row"]
    held: Float[Array, "score held"] | None
    best: Float[Array, ""]
    best_round: Int32[Array, ""]
    made: Int32[Array, ""]
    is_finite: Bool[Array, ""]


@compiled("fit", "real", what=lambda *_, fit, **__: f"{fit.num_rounds} rounds of boosting", options=options_of_fits)
def _fit(
    rows: FitRows, held: FitRows | None, hyper: Hyper, seed: Any, start: Any, *, fit: FitFunction, real: Any
) -> BoostedFit:
    form, loss = fit.form, fit.loss
    num_features, num_rows = rows.codes.shape
    precision = np.float64 if num_rows <= MOST_ROWS_IN_DOUBLE else np.float32
    own = _scored(rows, precision)
    other = None if held is None else _scored(held, precision)
    plan, prepared = form.open(own.codes, hyper, 1 if loss.hessian == "one" else loss.num_scores)
    rates = rates_of(hyper.within(), form.num_leaves, num_features, seed)
    begin = start_of(loss, own.target, own.weight, own.extras) if start is None else start
    begin = jnp.broadcast_to(jnp.asarray(begin, np.float64), (loss.num_scores,)).astype(precision)
    spread = lambda size: jnp.broadcast_to(begin[:, None], (len(begin), size))  # noqa: E731

    def make_round(state: _Rounds, number: Int32[Array, ""]) -> tuple[_Rounds, Any]:
        is_alive = (number < rates.end) & state.is_finite
        if hyper.n_iter_no_change is not None:
            is_alive &= rates.stopping.has_patience(number, state.best_round)
        depth = jnp.where(is_alive, rates.limits.max_depth, 0)
        limited = rates._replace(limits=rates.limits._replace(max_depth=depth))
        info = RoundInfo(number, rates.learning_rate, mix(rates.seed + number.astype(np.uint32)))
        constant, fixed = lax.stop_gradient((state.scores, own))
        derivatives = lax.stop_gradient(row_derivatives(loss, constant, fixed))
        exact = TreeTargets(derivatives, *residuals(loss, constant, fixed), None, None)
        smooth = loss.derivatives(state.scores, own.target, own.weight, own.extras)
        grown = grow_round(prepared, exact, smooth, own.weight, limited, info, plan=plan)
        is_made = is_alive & grown.is_finite
        value = jnp.where(is_made, grown.value, 0)
        step = value.astype(precision)
        state = state._replace(
            scores=state.scores + step[:, grown.of_row],
            made=state.made + is_made,
            is_finite=state.is_finite & (grown.is_finite | ~is_alive),
        )
        if other is None:
            return state, (grown.tree, value, jnp.zeros(0))
        end = apply_in_program(grown.tree, other.codes, engine=plan.engine)
        state = state._replace(held=present(state.held) + step[:, end])
        after = _loss_after(loss, present(state.held), other, plan)
        is_better = is_made & rates.stopping.is_better(after, state.best)
        state = state._replace(
            best=jnp.where(is_better, after, state.best),
            best_round=jnp.where(is_better, state.made, state.best_round),
        )
        return state, (grown.tree, value, jnp.where(is_made, after, jnp.nan)[None])

    first = _Rounds(
        spread(num_rows), None if other is None else spread(other.codes.shape[1]), jnp.float64(np.inf),
        jnp.int32(0), jnp.int32(0), jnp.bool_(True),
    )  # fmt: skip
    state, (tree, value, losses) = lax.scan(make_round, first, jnp.arange(fit.num_rounds, dtype=np.int32))
    number = state.made if hyper.n_iter_no_change is None else state.best_round
    is_kept = jnp.arange(fit.num_rounds) < number
    value = jnp.where(is_kept[:, None, None], value, 0)
    stack = TreeStack(tree, value, begin, number, form.has_axis)
    made = BoostedFit(stack, as_given(state.scores, form.has_axis), losses, state.is_finite)
    return in_floats(made, real)


def _loss_after(loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows, plan: Plan) -> Float[Array, ""]:
    """The mean loss of rows, with the bits that estimators have, and with derivatives."""
    exact = mean_loss(loss, *lax.stop_gradient((scores, rows)), engine=plan.engine)
    smooth = loss.mean(scores, rows.target, rows.weight, rows.extras)
    return with_derivatives(exact, smooth).astype(np.float64)


def _scored(rows: FitRows, precision: Any) -> ScoredRows:
    """The rows with floats of one type, and a weight each."""
    num_rows = rows.codes.shape[1]
    weight = jnp.ones(num_rows) if rows.weight is None else rows.weight
    target = jnp.asarray(rows.target)
    target = target.astype(precision) if jnp.issubdtype(target.dtype, jnp.floating) else target
    return ScoredRows(jnp.asarray(rows.codes), target, jnp.asarray(weight, precision), dict(rows.extras))
