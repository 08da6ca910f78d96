"""The chance in many draws of the rows of a fit: how often a row is drawn, or the number by which its target is drawn.

Draws show what other tables of the same kind might have been. A row of weight $w$ is drawn $c$ times, where $c$ has the
distribution of Poisson with mean $w$: as often as its copies would be together if it were $w$ rows. Rows of a group
have one $c$ in common, of mean 1.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from jaxtree.errors import present


class RedrawnRows(NamedTuple):
    """The seed of draws, and the rows that are drawn together.

    Attributes:
        seed: The seed. Every draw has a generator of its own, so that a number of draws begins with those of a smaller
            one.
        groups: The number of the group of every row, whose rows are drawn together; None where each is drawn by itself.

    Example:
        >>> drawn = RedrawnRows(seed=0, groups=np.array([0, 0, 1, 1]))
        >>> factors = drawn.factors(0, np.ones(4))
        >>> bool(factors[0] == factors[1]), bool(factors[2] == factors[3])
        (True, True)
    """

    seed: int
    groups: Int64[np.ndarray, " row"] | None = None

    def factors(self, draw: int, weight: Float64[np.ndarray, " row"], again: int = 0) -> Float64[np.ndarray, " row"]:
        """Returns how often every row is drawn, as a part of its weight: 1 in the mean.

        Args:
            draw: The number of the draw.
            weight: The weight of every row.
            again: How often the draw has been made before, and was not usable.
        """
        generator = self.generator(draw, again)
        if self.groups is None:
            return generator.poisson(weight) / weight
        return generator.poisson(1.0, self._num_groups)[self.groups].astype(np.float64)

    def generator(self, draw: int, again: int = 0) -> np.random.Generator:
        """Returns the generator of one try of a draw."""
        return np.random.default_rng([self.seed, draw, again] if again else [self.seed, draw])

    def uniform(self, generator: np.random.Generator, number: int, num_rows: int) -> Float64[np.ndarray, "number row"]:
        """Returns some numbers from 0 to 1 of every row, which the rows of a group have in common.

        Args:
            generator: The generator of the draw.
            number: How many numbers a row has.
            num_rows: The number of rows.

        Example:
            >>> drawn = RedrawnRows(seed=0, groups=np.array([0, 0, 1, 1]))
            >>> numbers = drawn.uniform(drawn.generator(0), 1, 4)[0]
            >>> bool(numbers[0] == numbers[1]), bool(numbers[1] == numbers[2])
            (True, False)
        """
        if self.groups is None:
            return generator.uniform(size=(number, num_rows))
        return generator.uniform(size=(number, self._num_groups))[:, self.groups]

    @property
    def _num_groups(self) -> int:
        return int(present(self.groups).max(initial=-1)) + 1
