"""The traced numbers of a boosting, by the names that estimators have for them."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, UInt32

from jaxtree.arrays import AnyArray, FloatLike, IntLike, concrete_or_none
from jaxtree.boosting.data import DIGITS, LEAST_GAIN
from jaxtree.boosting.ending import NO_PATIENCE, EarlyStopping
from jaxtree.boosting.round_tree import Rates
from jaxtree.boosting.samples import Uniform
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.growth.inputs.bundles import NO_LIMIT, Limits, limits_of_roots
from jaxtree.growth.inputs.newton import Penalties
from jaxtree.growth.loop.grow import root_seeds

RANGES: dict[str, tuple[float, float]] = {
    "learning_rate": (0, np.inf),
    "max_depth": (0, NO_LIMIT),
    "max_leaf_nodes": (1, NO_LIMIT),
    "min_samples_leaf": (1, np.inf),
    "min_child_weight": (0, np.inf),
    "reg_lambda": (0, np.inf),
    "reg_alpha": (0, np.inf),
    "gamma": (0, np.inf),
    "max_delta_step": (0, np.inf),
    "subsample": (0, 1),
    "colsample_bytree": (0, 1),
    "n_estimators": (0, NO_LIMIT),
    "n_iter_no_change": (1, NO_PATIENCE),
    "tol": (0, np.inf),
}
"""The least and the greatest value of every number."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Hyper:
    """The numbers of a boosting, a pytree: all may be traced, and a batch of settings is a `Hyper` of arrays.

    One program serves all numbers of a form. A number that is None, where that is the default, is not in the program.
    Values that are known must be in range; traced ones are brought into it.

    Attributes:
        learning_rate: The part of every leaf's step that is made.
        max_depth: The largest depth of a leaf; None for no limit.
        max_leaf_nodes: The most leaves of a tree, up to those that the form has room for; None for as many.
        min_samples_leaf: The least number of rows in a branch; None for any, which is quicker.
        min_child_weight: The least sum of second derivatives in a branch.
        reg_lambda: L2 regularisation of leaf values.
        reg_alpha: L1 regularisation of leaf values.
        gamma: The least loss that a split must save.
        max_delta_step: The greatest size of a leaf's step before the learning rate; 0 for any.
        subsample: The part of the rows, drawn anew in every round, that a tree is grown on.
        colsample_bytree: The part of the columns, drawn anew for every tree; None for all.
        n_estimators: The most rounds of `fit`, up to those of its form; None for as many.
        n_iter_no_change: Rounds of `fit` without a better loss of the held-out rows after which boosting stops; None
            for never.
        tol: How much less that loss must be to be better.

    Example:
        >>> Hyper(max_depth=jnp.arange(1, 5)).max_depth.shape
        (4,)
    """

    learning_rate: FloatLike = 0.1
    max_depth: IntLike | None = None
    max_leaf_nodes: IntLike | None = None
    min_samples_leaf: FloatLike | None = 20
    min_child_weight: FloatLike = 1e-3
    reg_lambda: FloatLike = 1.0
    reg_alpha: FloatLike = 0.0
    gamma: FloatLike = 0.0
    max_delta_step: FloatLike = 0.0
    subsample: FloatLike = 1.0
    colsample_bytree: FloatLike | None = None
    n_estimators: IntLike | None = None
    n_iter_no_change: IntLike | None = None
    tol: FloatLike = 0.0

    def check(self) -> None:
        """Raises InvalidInputError if a number that is known is out of range, or no number."""
        for name, (least, most) in RANGES.items():
            given = getattr(self, name)
            values = concrete_or_none(given)
            if given is None:
                continue
            if np.shape(given) != ():
                raise InvalidInputError(
                    f"{name} must be one number, got shape {np.shape(given)}; jax.vmap maps a batch of settings"
                )
            if values is not None and not (values.dtype.kind in "iuf" and least <= values <= most):
                raise InvalidInputError(f"{name} must be a number from {least} to {most}, got {given!r}")

    def within(self) -> dict[str, Any]:
        """Returns the numbers that are given, in 64 bits and in range; needs 64-bit types."""
        numbers = {}
        for name, (least, most) in RANGES.items():
            given = getattr(self, name)
            if given is not None:
                is_whole = most in (NO_LIMIT, NO_PATIENCE)
                numbers[name] = jnp.clip(jnp.asarray(given, np.float64), least, most)
                numbers[name] = numbers[name].astype(np.int32) if is_whole else numbers[name]
        return numbers


def rates_of(numbers: dict[str, Any], num_leaves: int, num_features: int, seed: UInt32[AnyArray, ""]) -> Rates:
    """Returns the numbers of `Hyper.within` as a round takes them; its learning rate is no part of them."""
    rows, drawn = numbers.get("min_samples_leaf"), numbers.get("colsample_bytree")
    # No smaller number of rows than 1 has a branch anyhow.
    least = 0.0 if rows is None else jnp.where(rows > 1, rows, 0.0)
    most = numbers["max_delta_step"]
    limits = Limits(
        max_depth=numbers.get("max_depth", NO_LIMIT),
        max_leaf_nodes=jnp.minimum(numbers.get("max_leaf_nodes", num_leaves), num_leaves).astype(np.int32),
        min_samples_leaf=least,
        min_samples_split=2 * least,
        min_weight_leaf=numbers["min_child_weight"],
        min_gain=LEAST_GAIN,
    )
    penalties = Penalties(numbers["reg_lambda"], numbers["reg_alpha"], jnp.where(most > 0, most, jnp.inf))
    columns = None
    if drawn is not None:
        # Rounded as `ColumnFractions.numbers` rounds.
        columns = jnp.floor(jnp.round(drawn * num_features, DIGITS)).astype(np.int32)
        columns = jnp.maximum(columns, 1)
    return Rates(
        learning_rate=numbers["learning_rate"],
        sample=Uniform(numbers["subsample"]),
        dropping=None,
        least_gain=numbers["gamma"],
        stopping=EarlyStopping(numbers.get("n_iter_no_change", np.int32(NO_PATIENCE)), numbers["tol"]),
        end=numbers.get("n_estimators", np.int32(NO_LIMIT)),
        seed=seed,
        limits=limits_of_roots(limits._replace(parameters=jnp.stack(penalties)), 1),
        num_columns=columns,
    )


def seed_of(key: Key[Array, ""] | None) -> UInt32[AnyArray, ""]:
    """Returns the seed of what is drawn, which a key decides; 0 without one.

    Raises:
        InvalidTypeError: It is no typed key of `jax.random.key`.
    """
    if key is not None and not hasattr(key, "dtype"):
        raise InvalidTypeError(f"key must be made by jax.random.key, got {key!r}")
    return root_seeds(key, 1)[0]
