"""Functions that losses are made of: equal ones compare equal, so that equal losses share their programs."""

import dataclasses
from collections.abc import Callable
from typing import Any

from jaxtyping import Float

from jaxtree.arrays import AnyArray


@dataclasses.dataclass(frozen=True)
class Given:
    """A function whose keywords are given. Unlike those of `functools.partial`, equal ones compare equal.

    Attributes:
        function: A function.
        keywords: Names and values, in order.

    Example:
        >>> Given(round, (("ndigits", 1),))(0.123)
        0.1
    """

    function: Callable[..., Any]
    keywords: tuple[tuple[str, Any], ...]

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function with these arguments and the keywords given."""
        return self.function(*arguments, **dict(self.keywords))


def given(function: Callable[..., Any], **keywords: Any) -> Given:
    """Gives a function its keywords."""
    return Given(function, tuple(keywords.items()))


def identity(scores: Float[AnyArray, "score row"]) -> Float[AnyArray, "score row"]:
    """The scores themselves, where they are the predictions."""
    return scores
