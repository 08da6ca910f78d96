r"""Maps from the value of a gate, 0 on its border, to the share of a row that goes right: 1/2 on the border.

Their slopes are what a hard gate is trained by: a softsign still moves a gate far from a row, an entmoid no longer.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxtree.arrays import AnyArray


def softsign(value: Float[AnyArray, "*batch"]) -> Float[Array, "*batch"]:
    r"""Returns $(1 + z / (1 + |z|)) / 2$ (Marton et al., *GRANDE*, 2024).

    >>> softsign(jnp.array([-1.0, 0.0, 3.0])).tolist()
    [0.25, 0.5, 0.875]
    """
    return (1 + value / (1 + jnp.abs(value))) / 2


@jax.custom_jvp
def entmoid(value: Float[AnyArray, "*batch"]) -> Float[Array, "*batch"]:
    r"""Returns the first share of `entmax15` of z and 0: exactly 0 or 1 where |z| is 2 or more.

    >>> entmoid(jnp.array([-2.0, 0.0, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    size = jnp.minimum(jnp.abs(value), 2.0)
    other = ((jnp.sqrt(8 - size**2) - size) / 4) ** 2
    return jnp.where(value >= 0, 1 - other, other)


@entmoid.defjvp
def _entmoid_jvp(primals, tangents):
    (value,), (change,) = primals, tangents
    share = entmoid(value)
    roots = jnp.sqrt(share), jnp.sqrt(1 - share)
    return share, change * roots[0] * roots[1] / (roots[0] + roots[1])


SIDES = {"sigmoid": jax.nn.sigmoid, "entmoid": entmoid, "softsign": softsign}
"""The maps by name."""
