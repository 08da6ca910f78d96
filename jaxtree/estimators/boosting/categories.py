"""Columns of many categories in boosting, see `jaxtree.estimators.common.ordered_categories`."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtree.arrays import AnyArray
from jaxtree.boosting.round_tree import ScoredRows, diagonal_of, row_derivatives
from jaxtree.compilation import compiled, options_of_small_programs
from jaxtree.dataset import collectives
from jaxtree.dataset.dataset import Dataset
from jaxtree.estimators.common.growing import decode_thresholds
from jaxtree.estimators.common.ordered_categories import Derivatives, OrderedCategories
from jaxtree.losses.loss import BaseLoss
from jaxtree.tree.forest import Forest


def derivatives_at_start(
    data: Dataset, loss: BaseLoss, start: Float[np.ndarray, " score"], rows: ScoredRows
) -> Iterator[Derivatives]:
    """Yields the derivatives of every score at the start, of the rows of all processes.

    Args:
        data: The rows of the fit.
        loss: The loss.
        start: The scores before the first tree.
        rows: The target and weights of the rows, with padding behind them.
    """
    no_codes = rows._replace(codes=np.zeros((0, len(rows.weight)), np.uint8))
    with jax.enable_x64(True):
        parts = [np.asarray(part, np.float64) for part in _at_start(start, no_codes, loss=loss)]
    parts = [part[:, : data.sample.num_rows] for part in parts]
    if data.across is not None:
        parts = list(map(collectives.join_rows, parts))
    yield from zip(*parts, strict=True)


def forest_in_table_units(ordered: OrderedCategories, trees: Forest) -> Forest:
    """Returns grown trees with thresholds in units of the table, and with subsets in place of statistics."""
    return Forest(ordered.with_subsets(decode_thresholds(trees.nodes, ordered.data.schema)), trees.first_node)


@compiled("loss", what=lambda *_, loss: f"the derivatives of {loss}", options=options_of_small_programs)
def _at_start(
    start: Float[AnyArray, " score"], rows: ScoredRows, *, loss: BaseLoss
) -> tuple[Float[Array, "score row"], Float[Array, "score row"]]:
    """The derivatives of all rows, of whole Hessians the diagonal; codes are not looked at."""
    scores = jnp.broadcast_to(jnp.asarray(start)[:, None], (len(start), len(rows.weight)))
    gradient, hessian = row_derivatives(loss, scores, rows)
    return gradient, diagonal_of(hessian)
