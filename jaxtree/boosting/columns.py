"""Columns that are drawn for every tree, level and node of a boosting, each out of those drawn before."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, UInt32

from jaxtree.arrays import child_hash, mix
from jaxtree.errors import InvalidInputError
from jaxtree.growth.device.open_features import is_drawn
from jaxtree.growth.inputs.bundles import Rules
from jaxtree.growth.loop.prepare import Prepared

DRAWS_OF_TREE = 0x27D4EB2F
"""Tells the draw of a tree's columns from what else its seed draws; see `growth.plan.problem.DRAWS_OF_LEVEL`."""

DIGITS = 6
"""Digits of a number of columns that count, so that 0.29 of 100 are 29."""


class ColumnFractions(NamedTuple):
    """The parts of the columns that are drawn, each of those that are drawn before; rounded down, at least one.

    Attributes:
        tree: Drawn for every tree.
        level: Drawn for every level of a tree.
        node: Drawn for every node; where none of them has a split, the node looks at further ones of its level.
    """

    tree: float = 1.0
    level: float = 1.0
    node: float = 1.0

    def rules(self, rules: Rules) -> Rules:
        """Returns rules of growth by which levels and nodes draw; raises InvalidInputError where a fraction is none."""
        for name, fraction in self._asdict().items():
            if not 0 < fraction <= 1:
                raise InvalidInputError(f"the fraction of columns of a {name} must be in (0, 1], got {fraction}")
        return rules._replace(samples_levels=self.level < 1, samples_features=self.node < 1)

    def numbers(self, num_columns: int) -> tuple[int, int, int]:
        """Returns how many of so many columns a tree, a level and a node draw.

        >>> ColumnFractions(0.5, 0.5, 0.1).numbers(28)
        (14, 7, 1)
        """
        numbers = []
        for fraction in self:
            num_columns = max(1, int(round(fraction * num_columns, DIGITS)))
            numbers.append(num_columns)
        tree, level, node = numbers
        return tree, level, node


def draw_columns(prepared: Prepared, number: Int32[Array, ""], seed: UInt32[Array, ""]) -> Prepared:
    """The arrays of growth in which all columns but those that a tree draws are padding, so that they cost nothing."""
    feature = jnp.arange(prepared.num_codes.shape[0], dtype=jnp.uint32)
    rank = child_hash(mix(seed ^ jnp.uint32(DRAWS_OF_TREE)), feature)
    is_kept = is_drawn(rank[:, None], (prepared.num_codes > 0)[:, None], number[None])[:, 0]
    lists = tuple(_padded(listed, is_kept) for listed in prepared.lists)
    return prepared._replace(num_codes=jnp.where(is_kept, prepared.num_codes, 0), lists=lists)


def _padded(listed: Int32[Array, " listed"], is_kept: Bool[Array, " feature"]) -> Int32[Array, " listed"]:
    """A list of the kept features, then of numbers past all."""
    is_in = is_kept.at[listed].get(mode="fill", fill_value=False)
    return jnp.sort(jnp.where(is_in, listed, is_kept.size)).astype(jnp.int32)
