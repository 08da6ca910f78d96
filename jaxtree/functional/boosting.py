"""Boosting as a pair of pure functions, like a transformation of optax: a state, and its update by gradients."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Real, UInt

from jaxtree.arrays import AnyArray, FloatLike, concrete_or_none, is_traced, mix
from jaxtree.boosting.booster import newton_of
from jaxtree.boosting.round_tree import RoundInfo, TreeTargets, rounded
from jaxtree.boosting.rounds import blank_tables
from jaxtree.compilation import compiled, quick_options
from jaxtree.devices import platform_of
from jaxtree.errors import InvalidInputError
from jaxtree.functional.double import in_double, in_floats
from jaxtree.functional.hyper import Hyper, rates_of, seed_of
from jaxtree.functional.stack import TreeStack, as_given, grow_round
from jaxtree.growth.inputs.bundles import Data, Features, Missing, Rules, Sizes
from jaxtree.growth.inputs.checks import check_array, check_codes, check_member, check_number
from jaxtree.growth.loop.prepare import GrowthInputs, prepare
from jaxtree.growth.native import engine_of
from jaxtree.growth.plan.plan import Plan
from jaxtree.losses.loss import Derivatives
from jaxtree.tree import SplitKind


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BoostingState:
    """A boosting after some rounds, a pytree of fixed shape.

    Attributes:
        stack: The trees, with room for all rounds.
        codes: The codes of the rows that trees are grown on.
        scores: The scores of these rows.
    """

    stack: TreeStack
    codes: UInt[AnyArray, "*batch feature row"]
    scores: Float[AnyArray, "..."]

    def __repr__(self) -> str:
        """The sizes in a line."""
        return f"BoostingState({self.codes.shape[-1]} rows, {self.stack!r})"


@dataclasses.dataclass(frozen=True)
class Boosting:
    r"""The form of a boosting: static, one program for each. Its functions are pure.

    A tree of a round is that of Newton boosting (Chen and Guestrin, *XGBoost: a scalable tree boosting system*, KDD
    2016) from any gradients, such as those of a network behind the scores, of a simulator, or of a loss that joins
    rows: leaves take the step $-\eta \, G / (H + \lambda)$. All works under `jax.jit`, `jax.vmap`, `jax.lax.scan` and
    `jax.grad`: the structure of trees is a constant, and values of leaves have exact derivatives by gradients, hessians
    and the numbers of `Hyper`. Codes that are known must be those of the form; traced ones are brought into their
    range, and negative weights that are traced count as 0.

    Attributes:
        num_bins: The bins of a feature; codes are below it, and `num_bins` for a missing value.
        num_leaves: The most leaves of a tree, which grows best-first: the split that saves most is next.
        num_outputs: The number of scores of a row, in arrays of shape (row, output); None for one in arrays (row,).
        has_missing: Whether codes may mean missing values. Without them programs are quicker.
        missing: The branch of rows whose value is missing: the one that saves more, or that above all numbers.

    Raises:
        InvalidInputError: A number is out of range.

    Example:
        >>> import jaxtree.functional as functional
        >>> X = jnp.arange(8.0)[:, None]
        >>> y = jnp.where(X[:, 0] > 3, 1.0, 0.0)
        >>> edges = functional.bins(X, 8)
        >>> gbt = Boosting(num_bins=8, num_leaves=2)
        >>> hyper = Hyper(learning_rate=0.5, min_samples_leaf=1, reg_lambda=0.0)
        >>> state = gbt.init(edges(X), num_rounds=3)
        >>> for _ in range(3):
        ...     state = gbt.update(state, state.scores - y, None, hyper)
        >>> state.scores.tolist()[3:5], gbt.apply(state, edges(jnp.array([[9.0]]))).tolist()
        ([0.0, 0.875], [0.875])
    """

    num_bins: int = 64
    num_leaves: int = 31
    num_outputs: int | None = None
    has_missing: bool = True
    missing: Missing = Missing.LEARN

    def __post_init__(self) -> None:
        """Checks the numbers."""
        check_number("num_bins", self.num_bins, 2, 2**16 - 1)
        check_number("num_leaves", self.num_leaves, 1, 2**24)
        if self.num_outputs is not None:
            check_number("num_outputs", self.num_outputs, 1)
        check_member("missing", self.missing, Missing)
        if self.missing == Missing.FRACTION:
            raise InvalidInputError("missing must be Missing.LEARN or Missing.BRANCH: boosting shares no row out")

    @property
    def num_scores(self) -> int:
        """The number of scores of a row."""
        return self.num_outputs or 1

    def init(self, codes: UInt[AnyArray, "feature row"], num_rounds: int, start: FloatLike = 0.0) -> BoostingState:
        """Returns the state before the first round.

        Args:
            codes: Codes of the rows, as `BinEdges` makes them.
            num_rounds: The rounds that there is room for.
            start: The score of all rows, or one for each output.

        Raises:
            InvalidInputError: A shape or a number is not allowed, or a code is past those of the form.
            InvalidTypeError: Codes are no whole numbers of 8 or 16 bits.
        """
        codes = self.checked(codes)
        check_number("num_rounds", num_rounds, 1)
        if np.shape(start) not in ((), (self.num_scores,)):
            raise InvalidInputError(f"start must be a number, or one a score, {self.num_scores}, got {np.shape(start)}")
        start = jnp.broadcast_to(jnp.asarray(start, float), (self.num_scores,))
        shape = (codes.shape[1], self.num_scores)
        with jax.enable_x64(True):
            plan, _ = self.open(codes, Hyper(), 1)
            stack = _blank(start, num_rounds=num_rounds, plan=plan, form=self)
        return BoostingState(stack, jnp.asarray(codes), as_given(jnp.broadcast_to(start, shape).T, self.has_axis))

    def update(
        self,
        state: BoostingState,
        gradient: Real[AnyArray, "row *output"],
        hessian: Real[AnyArray, "row *output"] | None,
        hyper: Hyper | None = None,
        *,
        weight: Real[AnyArray, " row"] | None = None,
        key: Key[Array, ""] | None = None,
    ) -> BoostingState:
        """Returns the state after one more round: a tree that lowers a loss with these derivatives.

        More rounds than there is room for change nothing.

        Args:
            state: The state; its form must be this one.
            gradient: The derivatives of the loss by `state.scores`, in their shape.
            hessian: The second derivatives, in the same shape, or one a row, of shape (row,); or matrices of shape
                (row, output, output). None for 1, of a loss without curvature. They must be at least 0.
            hyper: The numbers.
            weight: The weights of rows, by which both are multiplied; 0 leaves a row out. None for 1.
            key: The key of what is drawn, of rows and columns; the round is folded into it.

        Raises:
            InvalidInputError: A shape does not fit, or a number is out of range.
            InvalidTypeError: Something is no array, or the key is no typed one.
        """
        hyper = Hyper() if hyper is None else hyper
        hyper.check()
        check_array("gradient", gradient)
        if gradient.shape != state.scores.shape:
            raise InvalidInputError(f"gradient must have the shape {state.scores.shape}, got {gradient.shape}")
        if hessian is not None:
            check_array("hessian", hessian)
            outputs = state.scores.shape[1:]
            allowed = [gradient.shape[:1], gradient.shape, (*gradient.shape, *outputs)]
            if hessian.shape not in allowed:
                raise InvalidInputError(f"hessian must have one of the shapes {allowed}, got {hessian.shape}")
        check_weights(weight, gradient.shape[0])
        update = functools.partial(_update, form=self)
        return in_double(update, state, gradient, hessian, hyper, weight, seed_of(key))

    def apply(
        self, state: BoostingState | TreeStack, codes: UInt[AnyArray, "feature row"]
    ) -> Float[Array, "row *output"]:
        """Returns the scores of other rows.

        Args:
            state: The state, or its trees.
            codes: The codes of the rows.
        """
        codes = self.checked(codes)
        return (state.stack if isinstance(state, BoostingState) else state)(codes)

    def on(self, state: BoostingState, codes: UInt[AnyArray, "feature row"]) -> BoostingState:
        """Returns the state with other rows, such as the next batch, for further rounds."""
        codes = self.checked(codes)
        return BoostingState(state.stack, jnp.asarray(codes), self.apply(state, codes))

    @property
    def has_axis(self) -> bool:
        """Whether arrays have an axis of outputs."""
        return self.num_outputs is not None

    @property
    def num_codes(self) -> int:
        """The number of codes of a feature."""
        return self.num_bins + self.has_missing

    def checked(self, codes: Any) -> UInt[AnyArray, "feature row"]:
        """Returns codes, traced ones brought into range; without missing values none may be `num_bins`.

        Raises:
            InvalidInputError: Their shape is not allowed, or one that is known is past those of the form.
            InvalidTypeError: They are no whole numbers of 8 or 16 bits.
        """
        check_codes(codes, self.num_codes)
        most = min(self.num_codes - 1, np.iinfo(codes.dtype).max)
        return jnp.minimum(codes, codes.dtype.type(most)) if is_traced(codes) else codes

    def open(
        self, codes: UInt[AnyArray, "feature row"], hyper: Hyper, num_curvatures: int
    ) -> tuple[Plan, GrowthInputs]:
        """Returns the plan of growth and its arrays, without targets; needs 64-bit types."""
        num_features, num_rows = codes.shape
        # No feature has more codes than a growth may have bins.
        features = Features(
            np.full(num_features, SplitKind.THRESHOLD, np.int32),
            np.full(num_features, self.num_codes, np.int32),
            np.full(num_features, self.num_bins, np.int32) if self.has_missing else None,
        )
        rules = Rules(
            newton_of(self.num_scores, num_curvatures, num_rows),
            self.missing,
            counts_rows=hyper.min_samples_leaf is not None,
            grows_best_first=True,
        )
        blank = Data(codes, np.zeros((rules.objective.num_outputs, num_rows)))
        engine = engine_of(rules, platform_of(codes), on_host=False)
        sizes = Sizes(self.num_codes, 2 * self.num_leaves - 1)
        seed = np.zeros(1, np.uint32)
        plan, prepared = prepare(blank, features, None, rules, sizes, seed, engine=engine, mesh=None)
        return plan, jax.tree.map(jnp.asarray, prepared._replace(target=blank.target[:, :0]))


def options_of_fits(*, platform: str, **_: object) -> dict[str, Any]:
    """XLA's options: on a CPU, where the kernel does most, those of quick compilation."""
    return quick_options(1) if platform == "cpu" else {}


@compiled("num_rounds", "plan", "form", options=options_of_fits)
def _blank(start: Float[Array, " score"], *, num_rounds: int, plan: Plan, form: Boosting) -> TreeStack:
    """A stack without rounds; in a program, so that each of its arrays has memory of its own, which may be donated."""
    tree = in_floats(blank_tables(plan, num_rounds), start.dtype)
    value = jnp.zeros((num_rounds, form.num_scores, plan.capacity), start.dtype)
    return TreeStack(tree, value, start, jnp.zeros((), np.int32), form.has_axis)


def check_weights(weight: Any, num_rows: int) -> None:
    """Checks that there is a weight a row, from 0 on."""
    if weight is None:
        return
    check_array("weight", weight)
    if weight.shape != (num_rows,):
        raise InvalidInputError(f"weight must have the shape ({num_rows},), one a row, got {weight.shape}")
    values = concrete_or_none(weight)
    if values is not None and not (values >= 0).all():
        raise InvalidInputError(f"weight must be at least 0, got {values.min()}")


def scores_first(values: Real[AnyArray, "row *output"]) -> Real[Array, "*output_row row"]:
    """The values with rows last, and an axis of scores in front of them."""
    return values[None] if values.ndim == 1 else jnp.moveaxis(values, 0, -1)


@compiled("form", what=lambda *_, **__: "a round of boosting", options=options_of_fits)
def _update(
    state: BoostingState,
    gradient: Real[Array, "row *output"],
    hessian: Real[Array, "row *output"] | None,
    hyper: Hyper,
    weight: Real[Array, " row"] | None,
    seed: Any,
    *,
    form: Boosting,
) -> BoostingState:
    stack, dtype = state.stack, state.scores.dtype
    num_features, num_rows = state.codes.shape
    rates = rates_of(hyper.within(), form.num_leaves, num_features, seed)
    weight = jnp.ones(num_rows) if weight is None else jnp.asarray(weight, np.float64)
    hessian = jnp.ones(num_rows) if hessian is None else hessian
    is_one = hessian.ndim == 1 and form.has_axis
    smooth = Derivatives(*(scores_first(jnp.asarray(own, np.float64)) for own in (gradient, hessian)))
    if is_one:
        smooth = smooth._replace(hessian=jnp.broadcast_to(smooth.hessian, smooth.gradient.shape))
    smooth = jax.tree.map(lambda own: jnp.where(weight > 0, own * weight, 0.0), smooth)
    plan, prepared = form.open(state.codes, hyper, 1 if is_one else form.num_scores)
    exact = TreeTargets(rounded(jax.lax.stop_gradient(smooth)), None, None, None, None)
    info = RoundInfo(stack.number, rates.learning_rate, mix(rates.seed + stack.number.astype(np.uint32)))
    grown = grow_round(prepared, exact, smooth, weight, rates, info, plan=plan)
    value = grown.value.astype(dtype)
    put = lambda all_, one: all_.at[stack.number].set(one, mode="drop")  # noqa: E731
    tree = jax.tree.map(put, stack.tree, in_floats(grown.tree, dtype))
    has_room = stack.number < len(stack.value)
    step = jnp.where(has_room, value[:, grown.of_row], 0)
    number = stack.number + has_room.astype(np.int32)
    stack = dataclasses.replace(stack, tree=tree, value=put(stack.value, value), number=number)
    return BoostingState(stack, state.codes, state.scores + as_given(step, form.has_axis))
