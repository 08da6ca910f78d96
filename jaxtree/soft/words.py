"""Soft models and trainings in some lines of words, in the place of all their numbers."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PyTree

from jaxtree.soft.form import SoftForm
from jaxtree.soft.functions import name_of


def form_in_words(form: SoftForm) -> str:
    """Describes the static part of a tree.

    >>> form_in_words(SoftForm(3, num_features=4, num_outputs=2))
    'depth 3, 7 oblique gates (side sigmoid), 4 features, 2 outputs'
    """
    gate = form.gate if isinstance(form.gate, str) else f"{name_of(form.gate)}()"
    options = [f"side {name_of(form.side)}"] + [f"choice {name_of(form.choice)}"] * (form.gate in ("axis", "hard"))
    words = [
        f"depth {form.depth}",
        f"{_counted(form.num_gates, f'{gate} gate')} ({', '.join(options)}){', one a level' * form.oblivious}",
        _counted(form.num_features, "feature") + f", {len(form.missing)} of them indicators" * bool(form.missing),
        _counted(form.num_outputs, "output"),
    ]
    return ", ".join(words + ["rows may stop at inner nodes"] * form.stops)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def arrays_in_words(parts: PyTree) -> list[str]:
    """Describes every array in a line: its place, its shape, and the range of its numbers.

    >>> arrays_in_words({"bias": np.array([[0.5, -1.0]])})
    ['bias: 1 x 2, -1 to 0.5']
    """
    leaves = jax.tree_util.tree_leaves_with_path(parts)
    return [f"{jax.tree_util.keystr(path, simple=True, separator='.')}: {_in_words(leaf)}" for path, leaf in leaves]


def _in_words(leaf: Any) -> str:
    """The shape of an array and the range of its numbers, where it has some."""
    shape = " x ".join(map(str, np.shape(leaf))) if hasattr(leaf, "shape") else repr(leaf)
    is_known = isinstance(leaf, np.ndarray | Array) and not isinstance(leaf, Tracer)
    if not is_known or not leaf.size or leaf.dtype.kind != "f":
        return shape or "one number"
    return f"{shape or 'one number'}, {_range_in_words(np.asarray(leaf))}"


def _range_in_words(numbers: np.ndarray) -> str:
    if np.isnan(numbers).any():
        return f"{np.isnan(numbers).sum()} of them NaN"
    return f"{numbers.min() + 0.0:.3g} to {numbers.max() + 0.0:.3g}"


def losses_in_words(name: str, loss: Any) -> str:
    """Describes the losses of epochs by the first, the least and the last.

    >>> losses_in_words("loss", np.array([0.9, 0.2, 0.3]))
    'loss 0.9 in the first epoch, least 0.2 in the 2., last 0.3'
    """
    loss = np.asarray(loss)
    if loss.ndim != 1 or not loss.size:
        return f"{name} of {' x '.join(map(str, loss.shape))} epochs"
    at = int(np.nanargmin(loss)) if np.isfinite(loss).any() else 0
    return f"{name} {loss[0]:.4g} in the first epoch, least {loss[at]:.4g} in the {at + 1}., last {loss[-1]:.4g}"


def indented(lines: list[str]) -> str:
    """Returns lines, all but the first behind two blanks."""
    return "\n  ".join(line for text in lines for line in text.split("\n"))
