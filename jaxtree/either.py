"""Functions of `jax.numpy` that compute in NumPy if no argument is an array of JAX.

What models predict is computed on the host: where JAX cannot compute (`jaxtree.forks`), and with the same bits
elsewhere. A formula of predictions that is also traced, for training or for other programs, is written once, with these
functions. Beside those of `jax.numpy` there are some of `jax.scipy.special` and `jax.nn`.

>>> from jaxtree import either
>>> either.exp(np.zeros(2)).tolist(), isinstance(either.exp(jnp.zeros(2)), jax.Array)
([1.0, 1.0], True)
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import scipy.special

from jaxtree.arrays import library_of

_SPECIAL = ("betainc", "gammainc", "gammaln", "ndtr", "ndtri")


@dataclasses.dataclass(frozen=True)
class EitherFunction:
    """A function of either library; equal ones have one name, as parts of losses, which are compared, must.

    Attributes:
        name: The function's name.
    """

    name: str

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Calls the function of the arguments' library."""
        is_of_jax = library_of(*arguments) is jnp
        if self.name in _SPECIAL:
            library = jax.scipy.special if is_of_jax else scipy.special
        elif self.name == "sigmoid":
            return (jax.nn.sigmoid if is_of_jax else scipy.special.expit)(*arguments, **keywords)
        else:
            library = jnp if is_of_jax else np
        return getattr(library, self.name)(*arguments, **keywords)


def __getattr__(name: str) -> EitherFunction:
    """Returns the function of a name."""
    if name.startswith("_") or not (name in _SPECIAL or name == "sigmoid" or hasattr(jnp, name)):
        raise AttributeError(f"there is no function {name!r} of either library")
    return EitherFunction(name)
