"""Rates of dropout pruning tuned on held-out rows, by gradient descent on the exact expected loss."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax import lax
from jaxtyping import Array, Float, Int, Real, UInt

from jaxtree.arrays import AnyArray, is_traced
from jaxtree.compilation import compiled
from jaxtree.dropout.scores import (
    RowWeights,
    SplitEffects,
    log_losses,
    right_rows,
    squared_errors,
    sum_of_kept,
    total_weight,
)
from jaxtree.errors import InvalidInputError
from jaxtree.prune.draws import collapse_probability
from jaxtree.prune.inputs import check_choice, check_numbers, check_whole_number
from jaxtree.tree import Tree
from jaxtree.tree.paths import Links, links_of

P_STARTS = (1e-3, 0.01, 0.1, 0.6)
"""Rates where descents of levels and nodes begin, from hardly any pruning to almost all."""

P_GRID = (1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 0.95)
Q_GRID = (0.02, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 16.0)
"""The values of p and q whose pairs are tried first; descents begin at the best of them."""

NUM_DESCENTS = 4
"""Descents made at once."""

STEPS, LEARNING_RATE = 1000, 0.3
"""The steps of a descent, and its learning rate."""

FEWEST_LEVELS = 16
"""Levels are padded to a power of two, this at least."""


class Tuned(NamedTuple):
    """Tuned rates, on the host.

    Attributes:
        rates: The rate of every node, as the functions of `jaxtree.dropout` take it; 0 for the root and for leaves.
        p: The tuned p if the rates are `per="tree"`.
        q: The tuned q if the rates are `per="tree"`.
        level_rates: The rate of every level unless the rates are `per="node"`; 0 where there are leaves alone.
        expected_loss: The mean loss over all rows and draws.
        losses: The expected loss before every step of the descent that came lowest.
    """

    rates: Float[np.ndarray, " node"]
    p: float | None
    q: float | None
    level_rates: Float[np.ndarray, " level"] | None
    expected_loss: float
    losses: Float[np.ndarray, " step"]


def tune(
    tree: Tree,
    codes: UInt[AnyArray, "feature row"],
    y: Real[AnyArray, " row"],
    *,
    per: str = "tree",
    loss: str = "log_loss",
    steps: int = STEPS,
    learning_rate: float = LEARNING_RATE,
    weight: RowWeights = None,
) -> Tuned:
    r"""Tunes the rates of dropout pruning to the least expected loss on held-out rows.

    Adam (Kingma and Ba, 2015) goes down from several starts, and the best point that any of them passed is returned.
    It moves logarithms of odds: $p = \sigma(a)$ and $q = \ln(1 + e^b)$ for the whole tree, or $r = \sigma(a)$ for every
    level or node. The expected loss is linear in each node's rate when the others are held, so that rates per node tend
    to 0 and 1, and those of least error to reduced-error pruning. The more rates, the more rows should be held out.

    Args:
        tree: A tree with its root at node 0, on the host.
        codes: Codes of every feature of the held-out rows.
        y: Class of every row, or its number for squared errors.
        per: The unit that has a rate of its own: "level" or "node", or "tree" for one p and q.
        loss: "log_loss" with Laplace's shares, "accuracy" for the share of rows whose class is not predicted, or
            "squared_error" for a regression tree.
        steps: Number of steps of every descent, 1 or more.
        learning_rate: Adam's step, in logarithms of odds.
        weight: Weight of every row in the mean loss; 1 if not given.

    Raises:
        InvalidInputError: A parameter or a shape is not allowed, or the tree is traced.

    Example:
        >>> from jaxtree import ID3Classifier
        >>> from jaxtree.datasets import load_car_evaluation
        >>> X, y = load_car_evaluation(return_X_y=True, binary=True)
        >>> estimator = ID3Classifier(encoding="onehot").fit(X[:1296], y[:1296])
        >>> label = (y[1296:] == estimator.classes_[1]).astype(int)
        >>> tuned = tune(estimator.tree_, estimator.encode(X[1296:]), label, per="level", loss="accuracy")
        >>> print(f"{tuned.expected_loss:.3f}")
        0.042
    """
    check_choice("per", per, ("tree", "level", "node"))
    check_choice("loss", loss, tuple(_LOSSES))
    check_whole_number("steps", steps)
    check_numbers("learning_rate", learning_rate)
    if is_traced(tree, codes, y, weight):
        raise InvalidInputError("tuning dropout needs a tree and rows on the host, got traced ones")
    links, effects = links_of(tree), _LOSSES[loss](tree, codes, y, weight)
    num_levels = max(FEWEST_LEVELS, 1 << int(links.depth.max()).bit_length())
    candidates = _candidates(per, links.depth.size if per == "node" else num_levels)
    with jax.enable_x64(True):
        found = _descend(links, effects, candidates, float(learning_rate), per=per, steps=int(steps))
    return _on_tree(tree, jax.tree.map(np.asarray, found), total_weight(codes, weight), per)


class _Found(NamedTuple):
    """The lowest point of all descents, and all losses on the way of the one that passed it."""

    parameters: Float[AnyArray, " parameter"]
    rates: Float[AnyArray, " node"]
    losses: Float[AnyArray, " step"]


def _errors(tree: Tree, codes, y, weight: RowWeights) -> SplitEffects:
    right = right_rows(tree, codes, y, weight)
    return SplitEffects(np.float64(total_weight(codes, weight) - right.at_root), -right.by_split.astype(np.float64))


_LOSSES = {"log_loss": log_losses, "accuracy": _errors, "squared_error": squared_errors}


def _candidates(per: str, num_rates: int) -> Float[np.ndarray, "start parameter"]:
    """Parameters where descents may begin."""
    if per != "tree":
        return np.repeat(scipy.special.logit(P_STARTS)[:, None], num_rates, axis=1)
    p, q = np.meshgrid(scipy.special.logit(P_GRID), np.log(np.expm1(Q_GRID)))
    return np.stack([p.ravel(), q.ravel()], axis=1)


def _rates_of(parameters: Float[Array, " parameter"], depth: Int[AnyArray, " node"], per: str) -> Float[Array, " node"]:
    """The rates of the nodes; the root's is 0."""
    rates = jax.nn.sigmoid(parameters)
    if per == "tree":
        # A table of fewer nodes than levels does not exist.
        rates = collapse_probability(depth, rates[0], jax.nn.softplus(parameters[1]), num_levels=depth.shape[0])
    elif per == "level":
        rates = rates[jnp.maximum(depth - 1, 0)]
    return jnp.where(depth > 0, rates, 0)


@compiled("per", "steps")
def _descend(links: Links, effects: SplitEffects, candidates, learning_rate, *, per: str, steps: int) -> _Found:
    """Goes down from the best candidates at once; of equal lowest points the first descent's counts."""
    import optax  # which takes long to load, and only tuning needs it

    adam = optax.adam(learning_rate)

    @jax.vmap
    @jax.value_and_grad
    def loss_and_slope(parameters):
        return sum_of_kept(links, effects, _rates_of(parameters, links.depth, per))

    def step(state, _):
        parameters, adam_state, least, best = state
        losses, slope = loss_and_slope(parameters)
        best = jnp.where((losses < least)[:, None], parameters, best)
        update, adam_state = adam.update(slope, adam_state)
        return (optax.apply_updates(parameters, update), adam_state, jnp.minimum(losses, least), best), losses

    start = candidates[lax.top_k(-loss_and_slope(candidates)[0], NUM_DESCENTS)[1]]
    state = (start, adam.init(start), jnp.full(NUM_DESCENTS, jnp.inf, start.dtype), start)
    (_, _, least, best), losses = lax.scan(step, state, length=steps)
    winner = jnp.argmin(least)
    return _Found(best[winner], _rates_of(best[winner], links.depth, per), losses[:, winner])


def _on_tree(tree: Tree, found: _Found, total: float | int, per: str) -> Tuned:
    """The rates found, cut to the size of the tree."""
    depth = np.asarray(tree.depth)
    rates, losses = np.where(tree.is_leaf, 0.0, found.rates[: depth.size]), found.losses / total
    p = q = levels = None
    if per != "node":
        levels = np.zeros(depth.max())
        np.maximum.at(levels, depth[1:] - 1, rates[1:])
    if per == "tree":
        p, q = float(scipy.special.expit(found.parameters[0])), float(np.logaddexp(found.parameters[1], 0))
    return Tuned(rates, p, q, levels, float(losses.min()), losses)
