"""The types that annotations name beside JAX's own.

A tree and its inputs are NumPy's arrays on the host and JAX's elsewhere. The tests check which is which; to the
static checker, which cannot tell operations of the two apart, they are of any type.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jax import Array
from jax import Device as _Device
from jaxtyping import Float, Int

if TYPE_CHECKING:
    AnyArray: TypeAlias = Any
    IntLike: TypeAlias = Any
    FloatLike: TypeAlias = Any
    OptionalArray: TypeAlias = Any
    Device: TypeAlias = Any
else:
    AnyArray = Array | np.ndarray
    IntLike = Int[AnyArray, "..."] | int | np.integer
    FloatLike = Float[AnyArray, "..."] | float | int | np.number
    # What only some rules of growth ask for, and None under the others.
    OptionalArray = AnyArray | None
    Device = _Device
