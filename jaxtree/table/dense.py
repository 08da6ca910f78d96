"""Codes as a dense array of numbers, for models that take no codes."""

import jax
import numpy as np
from jaxtyping import Float32, UInt

from jaxtree.arrays import AnyArray, library_of
from jaxtree.errors import InvalidInputError
from jaxtree.table.schema import Schema


def one_hot(codes: UInt[AnyArray, "feature row"], schema: Schema) -> Float32[AnyArray, "row indicator"]:
    """Returns the codes of a table as a dense array, in which every category has a column of its own.

    A category's column is 1 in its rows and 0 in all others. A column of numbers, truth values or ordered categories
    stays one, of its codes. The columns are those of `schema.indicators`, named by `schema.indicator_names`.

    A missing value is NaN in all columns made of its column, but 0 in those of categories if fit saw no missing value
    there, as is a category that fit has not seen. The function is pure: under `jax.jit` the schema is static, and
    indicators can be made in a program from codes, which are a hundredth as large.

    Args:
        codes: The codes of some rows, as `Encoder.transform` returns them; of NumPy or JAX.
        schema: The meaning of the codes.

    Raises:
        InvalidInputError: The codes have not a row for every column of the schema.

    Example:
        >>> import jax
        >>> from jaxtree import one_hot
        >>> from jaxtree.table import Encoder
        >>> encoder = Encoder().fit([["sunny", 21.5], ["rain", 14.0], ["fog", 18.0]])
        >>> encoder.schema_.indicator_names
        ('x0=fog', 'x0=rain', 'x0=sunny', 'x1')
        >>> codes = encoder.transform([["rain", 14.0], ["hail", 19.0]])
        >>> one_hot(codes, encoder.schema_)
        array([[0., 1., 0., 0.],
               [0., 0., 0., 1.]], dtype=float32)
        >>> dense = jax.jit(one_hot, static_argnames="schema")(codes, schema=encoder.schema_)
        >>> dense.shape
        (2, 4)
    """
    given, expected = np.shape(codes), schema.num_features
    if not isinstance(codes, np.ndarray | jax.Array) or len(given) != 2 or given[0] != expected:
        raise InvalidInputError(
            f"codes must be an array [column, row] of {expected} columns, as the `encode` of a fitted model returns, "
            f"got {type(codes).__name__} of shape {given}"
        )
    library = library_of(codes)
    place, category = schema.indicators
    own, is_indicator = codes[place], (category >= 0)[:, None]
    found = library.where(is_indicator, own == category[:, None], own).astype(np.float32)
    of_missing = np.where(is_indicator[:, 0] & ~schema.columns.has_missing[place], np.float32(0), np.float32(np.nan))
    return library.where(own == schema.num_values[place][:, None], of_missing[:, None], found).T
