"""The trees of a round of boosting: derivatives of rows, trees grown by them, and the steps of their nodes.

A round has a tree that changes all scores, or a tree a score, XGBoost's "one_output_per_tree". Trees of scores are
grown at once, as those of many models are, from the scores before the round and on the same rows. Each has one step a
node, that of its score.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_batching import sequential_vmap
from jaxtyping import Array, Bool, Float, Int32, Shaped, UInt, UInt32

from jaxtree.arrays import AnyArray, FloatLike, mix, safe_divide
from jaxtree.boosting.dropping import Dropping
from jaxtree.boosting.ending import EarlyStopping
from jaxtree.boosting.leaves import (
    Leaves,
    newton_steps,
    quantile_steps,
    quantile_steps_of_all,
    within_bounds,
)
from jaxtree.boosting.samples import MinimalVariance, RowsToDraw, Sample, draw_columns
from jaxtree.errors import instance_of
from jaxtree.growth.inputs.bundles import Limits
from jaxtree.growth.inputs.newton import Newton, Penalties
from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.loop.grow import grow_with_leaves
from jaxtree.growth.loop.prepare import GrowthInputs
from jaxtree.growth.plan.plan import Plan
from jaxtree.kernels.choose import Engine
from jaxtree.kernels.mesh import Devices
from jaxtree.kernels.rows import are_within, sum_rows
from jaxtree.losses.loss import BaseLoss, Derivatives, identity, with_offset
from jaxtree.tree import SplitKind, Tree

DIGITS = 23
"""Binary digits of a derivative after the first one: those of numbers of 32 bits."""


MOST_MOVED = 700.0
"""How far scores have moved at most, of which the exponential is a number."""

MOST_SIZE = 2.0**479
"""The greatest size of a derivative or a score. Sums over 2**31 rows of such derivatives have squares that are numbers,
so that gains are; and so have predictions that are such scores."""


class ScoredRows(NamedTuple):
    """Rows that scores are made for.

    Attributes:
        codes: Codes of every feature.
        target: The target of every row; of several outputs a column each.
        weight: The weight of every row; 0 for padding.
        extras: Further inputs of the loss, see `jaxtree.boosting.Extras`.
    """

    codes: UInt[AnyArray, "feature row"]
    target: Shaped[AnyArray, "row *output"]
    weight: Float[AnyArray, " row"]
    extras: dict[str, AnyArray]


class Rates(NamedTuple):
    """The numbers of a boosting, on which no program depends.

    Attributes:
        learning_rate: The part of every step that is made, for each round of a call.
        sample: How the rows of a tree are drawn.
        dropping: How trees are dropped; None where none are.
        least_gain: The least loss that a split must save.
        stopping: When boosting stops by the loss of the first evaluation.
        end: The number of rounds at which to end.
        seed: The seed of what is drawn; a draw depends on it, the round and the row.
        limits: The limits of the trees, with the penalties of steps.
        num_columns: The number of columns that a tree draws; None for all.
        score_noise: The noise on the scores of features before any round; None for none.
        units: The units of the scores' steps, see `BaseLoss.units`; None where all are 1.
    """

    learning_rate: Float[AnyArray, " made"]
    sample: Sample
    dropping: Dropping | None
    least_gain: Float[AnyArray, ""]
    stopping: EarlyStopping
    end: Int32[AnyArray, ""]
    seed: UInt32[AnyArray, ""]
    limits: Limits
    num_columns: Int32[AnyArray, ""] | None
    score_noise: Float[AnyArray, ""] | None = None
    units: Float[AnyArray, " score"] | None = None

    @property
    def penalties(self) -> Penalties:
        """The penalties of steps, of one model."""
        parameters: Any = self.limits.parameters
        return Penalties(*parameters[0])


class RoundInfo(NamedTuple):
    """The inputs of one round.

    Attributes:
        number: The number of rounds before it.
        learning_rate: The part of every step that it makes.
        seed: The seed of what it draws.
    """

    number: Int32[Array, ""]
    learning_rate: Float[Array, ""]
    seed: UInt32[Array, ""]


class DrawnRows(NamedTuple):
    """The rows that the trees of a round are grown on.

    Attributes:
        weight: Their weights, greater where the chances of being drawn are smaller.
        is_used: Whether a row is drawn.
        noise: The part of a unit from which on a row's derivatives are rounded up.
        devices: The devices that rows are divided among.
        engine: Who adds up the rows.
    """

    weight: Float[Array, " row"]
    is_used: Bool[Array, " row"]
    noise: Float[Array, " row"]
    devices: Devices
    engine: Engine


class TreeTargets(NamedTuple):
    """The derivatives, and perhaps residuals of quantiles, that a tree fits.

    Attributes:
        derivatives: Derivatives by these scores.
        residual: The targets less the scores, where leaves take quantiles of them; else None.
        level: The levels of these quantiles.
        units: The units of steps; None where all are 1.
        monotone: The constraint of every feature; None without any.
    """

    derivatives: Derivatives
    residual: Float[Array, "score row"] | None
    level: Float[AnyArray, " score"] | None
    units: Float[AnyArray, " score"] | None
    monotone: Int32[AnyArray, " feature"] | None


class Grown(NamedTuple):
    """A tree whose means are the changes of scores; or one for every score, along an axis in front.

    Attributes:
        tree: The tree.
        of_row: The leaf of every row.
        is_finite: Whether all derivatives are numbers of at most `MOST_SIZE`.
    """

    tree: Tree
    of_row: Int32[Array, "*score row"]
    is_finite: Bool[Array, ""]


def trees_per_round(plan: Plan, loss: BaseLoss) -> int:
    """How many trees a round has: one for all scores, or one for each."""
    return loss.num_scores // instance_of(Newton, plan.rules.objective).num_scores


def grow_trees(
    prepared: GrowthInputs,
    rows: ScoredRows,
    scores: Float[Array, "score row"],
    rates: Rates,
    info: RoundInfo,
    *,
    plan: Plan,
    loss: BaseLoss,
) -> Grown:
    """Grows the tree of a round, or one for every score, by the derivatives of rows: of a matrix a row its diagonal."""
    drawn, targets, is_finite = draw_rows(prepared, rows, scores, rates, info.seed, plan=plan, loss=loss)

    def grow(own: TreeTargets, seed: UInt32[Array, ""], num_ordered: int = 1) -> tuple[Tree, Int32[Array, " row"]]:
        return tree_of(prepared, drawn, own, rates, info._replace(seed=seed), plan=plan, num_ordered=num_ordered)

    if trees_per_round(plan, loss) == 1:
        return Grown(*grow(targets, info.seed, loss.num_ordered), is_finite)
    return Grown(*jax.vmap(grow)(_score_by_score(targets, loss), _seeds(info.seed, loss.num_scores)), is_finite)


def _score_by_score(targets: TreeTargets, loss: BaseLoss) -> TreeTargets:
    """The targets of every score's own tree, along an axis in front; constraints are those of ordered scores."""
    of_each = lambda values: None if values is None else jnp.asarray(values)[:, None]  # noqa: E731
    gradient, hessian = targets.derivatives
    is_ordered = jnp.arange(loss.num_scores) < loss.num_ordered
    monotone = None if targets.monotone is None else jnp.where(is_ordered[:, None], targets.monotone, 0)
    derivatives = Derivatives(gradient[:, None], diagonal_of(hessian)[:, None])
    return TreeTargets(derivatives, of_each(targets.residual), of_each(targets.level), of_each(targets.units), monotone)


def _seeds(seed: UInt32[Array, ""], number: int) -> UInt32[Array, " score"]:
    """Seeds of what trees draw, the first of which is that of a tree alone."""
    own = jnp.arange(number, dtype=jnp.uint32)
    return jnp.where(own == 0, seed, mix(seed + mix(own)))


def draw_rows(
    prepared: GrowthInputs,
    rows: ScoredRows,
    scores: Float[Array, "score row"],
    rates: Rates,
    seed: UInt32[Array, ""],
    *,
    plan: Plan,
    loss: BaseLoss,
) -> tuple[DrawnRows, TreeTargets, Bool[Array, ""]]:
    """Draws the rows of a round; returns them, the targets of a tree of all scores, and whether all are finite."""
    derivatives = row_derivatives(loss, scores, rows, rates.units)
    l2 = _penalty_of_draws(derivatives, rows, rates, plan, loss)
    drawn, targets, is_finite = draw_by(prepared, derivatives, rows.weight, rates, seed, plan=plan, l2=l2)
    residual, level = residuals(loss, scores, rows)
    return drawn, targets._replace(residual=residual, level=level), is_finite


def draw_by(
    prepared: GrowthInputs,
    derivatives: Derivatives,
    weight: Float[AnyArray, " row"],
    rates: Rates,
    seed: UInt32[Array, ""],
    *,
    plan: Plan,
    l2: FloatLike,
) -> tuple[DrawnRows, TreeTargets, Bool[Array, ""]]:
    """Draws the rows of a round by their derivatives, as `draw_rows` does; no leaf takes quantiles."""
    strange = [(~are_within(part, MOST_SIZE, engine=plan.engine)).astype(jnp.int32) for part in derivatives]
    is_finite = plan.devices.total(jnp.stack(strange)).sum() == 0
    noise, number = _numbers_of_rows(seed, plan.devices.number_rows(weight > 0))
    is_used, factor = rates.sample.draw(RowsToDraw(weight > 0, number, derivatives, l2, plan.devices))
    if factor is not None:
        factor = lax.optimization_barrier(factor.astype(weight.dtype))
        weight = weight * factor
        derivatives = Derivatives(derivatives.gradient * factor, derivatives.hessian * factor)
    monotone = prepared.features.monotone if plan.rules.has_monotone else None
    targets = TreeTargets(derivatives, None, None, rates.units, monotone)
    return DrawnRows(weight, is_used, noise, plan.devices, plan.engine), targets, is_finite


def tree_of(
    prepared: GrowthInputs,
    drawn: DrawnRows,
    targets: TreeTargets,
    rates: Rates,
    info: RoundInfo,
    *,
    plan: Plan,
    num_ordered: int,
) -> tuple[Tree, Int32[Array, " row"]]:
    """Grows a tree that changes scores, the first of which may be ordered.

    Returns:
        The tree, whose means are the changes, and the leaf of every row.
    """
    derivatives, is_used = targets.derivatives, drawn.is_used
    curvature = _curvatures(derivatives.hessian, plan.rules.objective)
    # Growth asks for a part of the root's weight.
    weight = sum_rows(curvature, is_used, devices=drawn.devices, engine=drawn.engine)
    prepared = prepared if rates.num_columns is None else draw_columns(prepared, rates.num_columns, info.seed)
    least = rates.least_gain / jnp.where(weight > 0, weight, 1)
    score_noise = jnp.zeros(())
    if rates.score_noise is not None:
        score_noise = rates.score_noise * _deviation(derivatives.gradient, curvature, drawn, info)
    limits = rates.limits._replace(min_impurity_decrease=least[None], score_noise=score_noise[None])
    features, monotone = prepared.features, targets.monotone
    features = features if monotone is None else features._replace(monotone=monotone)
    grown, of_row = grow_with_leaves(
        prepared._replace(
            target=jnp.concatenate([curvature, _of_one_spread(derivatives.gradient, targets.level), drawn.noise[None]]),
            weight=is_used.astype(jnp.int32),
            limits=limits,
            root_seed=info.seed[None],
            features=features,
        ),
        plan=plan,
    )
    tree = _split_at_codes(grown.tree, prepared)
    leaves = Leaves(tree, of_row, is_used, drawn.devices, drawn.engine)
    steps = info.learning_rate * node_steps(leaves, targets, drawn.weight, rates.penalties)
    steps = steps if targets.units is None else steps * targets.units[:, None]
    if monotone is not None:
        steps = within_bounds(tree, steps, monotone, num_ordered=num_ordered)
    return dataclasses.replace(tree, target_sum=(steps * tree.weight).T), of_row


def residuals(
    loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows
) -> tuple[Float[Array, "score row"] | None, Float[AnyArray, " score"] | None]:
    """The residuals, and the levels of the quantiles that leaves take of them; None where they take none."""
    if loss.renewal is None:
        return None, None
    shifted, _ = with_offset(scores, rows.extras, loss.has_location)
    return rows.target - shifted, np.broadcast_to(np.asarray(loss.renewal, np.float64), loss.num_scores)


def _penalty_of_draws(
    derivatives: Derivatives, rows: ScoredRows, rates: Rates, plan: Plan, loss: BaseLoss
) -> FloatLike:
    """The penalty of squared steps that rows are drawn by: of scores in the target's unit in units of usual steps."""
    if not isinstance(rates.sample, MinimalVariance) or getattr(loss, "link", None) is not identity:
        return rates.penalties.l2
    diagonal = diagonal_of(derivatives.hessian)
    curvature = diagonal[:1] if loss.hessian == "one" else diagonal
    squares = [
        sum_rows(jnp.square(part.astype(jnp.float64)), rows.weight > 0, devices=plan.devices, engine=plan.engine)
        for part in (derivatives.gradient, curvature)
    ]
    return rates.penalties.l2 * safe_divide(*squares)


def _deviation(
    gradient: Float[Array, "score row"],
    curvature: Float[Array, "curvature row"],
    drawn: DrawnRows,
    info: RoundInfo,
) -> Float[Array, ""]:
    r"""The deviation of roots of savings, times what is left of noise as CatBoost's fades: $n / (n + e^m)$.

    Here n is the weight of all rows, and m how far scores have moved: the number of rounds times the learning rate.
    A column that tells nothing saves half of a squared normal number times $\sum g^2 / \sum h$.
    """
    total = functools.partial(sum_rows, is_used=drawn.is_used, devices=drawn.devices, engine=drawn.engine)
    weight = drawn.weight.astype(jnp.float64)[None]
    squares = total(safe_divide(jnp.square(gradient.astype(jnp.float64)), jnp.broadcast_to(weight, gradient.shape)))
    of_each = total(curvature) * (len(gradient) / len(curvature))
    num_rows, moved = total(weight), info.number * info.learning_rate
    fading = safe_divide(num_rows, num_rows + jnp.exp(jnp.minimum(moved, MOST_MOVED)))
    return fading * jnp.sqrt(safe_divide(squares, 2 * of_each))


def _split_at_codes(tree: Tree, prepared: GrowthInputs) -> Tree:
    """The tree with thresholds right above the codes of its splits.

    So rows that it was not grown on take the same branches by their codes, in the loop, and by their values, later.
    """
    missing_code = prepared.features.missing_code[tree.feature]
    is_threshold, is_known = tree.split_kind == SplitKind.THRESHOLD, tree.next_code < missing_code
    next_code = jnp.minimum(tree.next_code, tree.code + 1)
    return dataclasses.replace(
        tree,
        # A split that sets missing values apart has all known ones below it.
        code=jnp.where(is_threshold & ~is_known, missing_code - 1, tree.code),
        next_code=jnp.where(is_threshold & is_known, next_code, tree.next_code),
    )


def row_derivatives(
    loss: BaseLoss, scores: Float[Array, "score row"], rows: ScoredRows, units: Float[Array, " score"] | None = None
) -> Derivatives:
    """The derivatives of all rows, by scores in their units.

    Between barriers XLA does not fuse them with what is around them, which would change their last bits. Among many
    models at once, losses that join rows are computed one model after another, for the same reason.

    The last bits of exponentials and of sums over scores may still differ from program to program, so derivatives of
    64 bits keep `DIGITS`, which then are the same: one of 2**28 that differ lies so close to the middle of two such
    numbers that they are not. Derivatives of more rows have 32 bits, as XLA computes them.
    """
    derive = sequential_vmap(loss.derivatives) if loss.joins_rows else loss.derivatives
    scores = lax.optimization_barrier(scores)
    derivatives = derive(scores, rows.target, rows.weight, rows.extras)
    if units is not None:
        derivatives = _in_units(lax.optimization_barrier(derivatives), units.astype(scores.dtype))
    if scores.dtype == jnp.float64:
        derivatives = rounded(derivatives)
    return lax.optimization_barrier(derivatives)


def _in_units(derivatives: Derivatives, units: Float[Array, " score"]) -> Derivatives:
    """Derivatives by scores that are measured in units."""
    gradient, hessian = derivatives
    of_hessian = jnp.outer(units, units) if hessian.ndim == 3 else units**2
    return Derivatives(gradient * units[:, None], hessian * of_hessian[..., None])


def rounded(derivatives: Derivatives) -> Derivatives:
    """Derivatives of 64 bits with `DIGITS`. A TPU has pairs of 32 bits in their place, of which the first is that."""
    narrow = lambda own: lax.optimization_barrier(own.astype(jnp.float32)).astype(own.dtype)  # noqa: E731
    cut = functools.partial(lax.reduce_precision, exponent_bits=11, mantissa_bits=DIGITS)
    return jax.tree.map(lambda own: lax.platform_dependent(own, tpu=narrow, default=cut), derivatives)


def node_steps(
    leaves: Leaves, targets: TreeTargets, weight: Float[Array, " row"], penalties: Penalties
) -> Float[Array, "score node"]:
    """The whole steps of leaves, and with constraints those of inner nodes; the constraints are not looked at."""
    if targets.residual is None or targets.level is None:
        return newton_steps(leaves, targets.derivatives, penalties)
    steps = quantile_steps if targets.monotone is None else quantile_steps_of_all
    return steps(leaves, targets.residual, weight, targets.level)


def diagonal_of(hessian: Float[Array, "*score_score row"]) -> Float[Array, "score row"]:
    """The second derivatives of every score by itself."""
    return jnp.diagonal(hessian).T if hessian.ndim == 3 else hessian


def _curvatures(hessian: Float[Array, "*score_score row"], objective: Objective) -> Float[Array, "curvature row"]:
    """The second derivatives that splits are scored by: of a matrix the diagonal."""
    return diagonal_of(hessian)[: instance_of(Newton, objective).num_curvatures]


def _of_one_spread(
    gradient: Float[Array, "score row"], level: Float[AnyArray, " score"] | None
) -> Float[Array, "score row"]:
    r"""The gradients that splits are scored by: of several quantiles each by its deviation $\sqrt{\tau (1 - \tau)}$."""
    if level is None or len(level) == 1:
        return gradient
    factor = (0.5 / np.sqrt(level * (1 - level))).astype(gradient.dtype)
    return lax.optimization_barrier(gradient * factor[:, None])


def _numbers_of_rows(
    seed: UInt32[Array, ""], row: Int32[Array, " row"]
) -> tuple[Float[Array, " row"], Float[Array, " row"]]:
    """Two numbers from 0 to below 1 for every row, which follow from the seed and the row's number.

    A row's number counts the rows of some weight before it: neither padding nor devices change what is drawn.
    """
    first = mix(row.astype(jnp.uint32) ^ seed)
    second = mix(first + jnp.uint32(0x9E3779B9))
    as_float = lambda bits: (bits >> 8).astype(jnp.float32) / 2**24  # noqa: E731
    return as_float(first), as_float(second)


def walk_all(walk: Any, trees: Tree, codes: UInt[AnyArray, "feature row"]) -> Int32[Array, "score row"]:
    """The nodes where the walks of all rows end in the tree of every score."""
    return jax.vmap(walk, in_axes=(0, None))(trees, codes)


def add_own_steps(
    add_steps: Any,
    scores: Float[Array, "score row"],
    steps: Float[Array, "score 1 node"],
    leaf: Int32[Array, "score row"],
) -> Float[Array, "score row"]:
    """The scores, each with the step that its own tree makes."""
    return jax.vmap(add_steps)(scores[:, None], steps, leaf)[:, 0]
