"""Functions of `jax.numpy` that compute in NumPy if no argument is an array of JAX.

Predictions of models are computed on the host: where JAX cannot compute (`jaxtree.forks`), and with the same bits
elsewhere. A formula of predictions that is also traced, for training or for other programs, is written once, with these
functions. Beside those of `jax.numpy` there are some of `jax.scipy.special` and `jax.nn`.

>>> from jaxtree import either
>>> either.exp(np.zeros(2)).tolist(), isinstance(either.exp(jnp.zeros(2)), jax.Array)
([1.0, 1.0], True)
"""

import dataclasses
import math
from typing import Any

import numpy as np

from jaxtree.arrays import library_of
from jaxtree.lazy import is_loaded, jax, jax_special, jnp, scipy_special

_SPECIAL = ("betainc", "gammainc", "gammaln", "ndtr", "ndtri")
_OF_NETWORKS = {"log_softmax": "log_softmax", "sigmoid": "expit", "softmax": "softmax"}
"""Functions of `jax.nn`, and the names of those of `scipy.special`."""


@dataclasses.dataclass(frozen=True)
class EitherFunction:
    """A function of either library; equal ones have one name, as parts of losses, which are compared, must.

    Attributes:
        name: The function's name.
    """

    name: str

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Calls the function of the arguments' library."""
        is_of_jax = library_of(*arguments) is not np
        if self.name in _SPECIAL:
            library = jax_special if is_of_jax else scipy_special
        elif self.name in _OF_NETWORKS:
            if not is_of_jax and self.name == "sigmoid":
                return _sigmoid(*arguments)
            if not is_of_jax:
                return getattr(scipy_special, _OF_NETWORKS[self.name])(*arguments, **keywords)
            library = jax.nn
        else:
            library = jnp if is_of_jax else np
        return getattr(library, self.name)(*arguments, **keywords)


FEW_NUMBERS = 4096
"""Numbers for which SciPy is not loaded, which takes longer than their exponentials do one by one."""

MOST_EXPONENT = 709.0
"""Exponentials of more are near the end of float64, or beyond it."""


def _sigmoid(numbers: Any) -> Any:
    """Returns `scipy.special.expit`; of few numbers by its formula and by C's exponential, so with its bits."""
    values = np.asarray(numbers)
    is_plain = values.dtype == np.float64 and values.size <= FEW_NUMBERS
    if is_loaded("scipy.special") or not is_plain or (values < -MOST_EXPONENT).any():
        return scipy_special.expit(numbers)
    shares = [1 / (1 + math.exp(-number)) for number in values.ravel().tolist()]
    return np.array(shares).reshape(values.shape)


def __getattr__(name: str) -> EitherFunction:
    """Returns the function of a name."""
    if name.startswith("_") or not (name in (*_SPECIAL, *_OF_NETWORKS) or hasattr(np, name) or hasattr(jnp, name)):
        raise AttributeError(f"there is no function {name!r} of either library")
    return EitherFunction(name)
