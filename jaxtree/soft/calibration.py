"""Calibration of trained models on rows that were held out: leaves shrink towards a constant, and scales are moved.

The last epochs of a training tell the rows of the fit apart. A mean bears that; but a scale, a hazard or the share of a
rare class is then that of rows known by heart, and a single other row may cost more than all the rest gain. Epochs are
compared by few rows, so that the best one may have such places, too. A model shrunk by a *factor* f predicts f of what
it did and 1 - f of a constant: of numbers f times its outputs, which are 0 at the constant; of classes that mixture of
probabilities, or of logits where trees add these up. A *shift* is added to the second output of all rows: the logarithm
of a scale or shape, which noise on targets has made wider.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.compilation import compiled
from jaxtree.losses.distribution import Distribution
from jaxtree.soft.epochs import Hyperparameters, Progress, TrainingConfig, TrainingRows, mean_loss
from jaxtree.soft.forest import SoftForest
from jaxtree.soft.model import SoftTree
from jaxtree.soft.runs import Trained

FACTORS = np.linspace(1, 0, 31, dtype=np.float32)
"""The factors that are tried, the greatest first: it is taken where several are best."""

SHIFTS, DEVIATION_OF_SHIFTS = np.linspace(-0.75, 0.75, 31, dtype=np.float32), 0.15
"""The shifts that are tried, and the standard deviation of the normal distribution of which they are expected to be."""


class Constant(NamedTuple):
    """The leaf that predicts the same for all rows, towards which others shrink.

    Attributes:
        value: Its values.
        mixes_shares: Whether leaves are mixtures of probabilities, of which values are the logits; else of values.
    """

    value: Float[AnyArray, " output"]
    mixes_shares: bool = False


def moved(model: SoftTree | SoftForest, factor: FloatLike, shift: FloatLike, constant: Constant) -> Any:
    """Returns a model whose leaves are shrunk towards a constant, and whose second output is shifted.

    Args:
        model: A tree, trees with more axes in front, or a forest.
        factor: The part of the leaves that remains.
        shift: The number that is added to the second output, if there is one.
        constant: The constant.

    Example:
        >>> from jaxtree.soft import SoftForm, init
        >>> tree = init(SoftForm(1, num_features=1, num_outputs=2), key=jax.random.key(0))
        >>> moved(tree, 0.0, 0.5, Constant(np.array([3.0, 4.0]))).leaf.value.tolist()
        [[3.0, 4.5], [3.0, 4.5]]
    """
    if isinstance(model, SoftForest):
        return dataclasses.replace(model, trees=moved(model.trees, factor, shift, constant))
    old, rest = jnp.asarray(model.leaf.value), jnp.asarray(constant.value, float)
    if constant.mixes_shares:
        value = jnp.log(factor * jax.nn.softmax(old) + (1 - factor) * jax.nn.softmax(rest))
    else:
        value = factor * old + (1 - factor) * rest
    value += shift * (np.arange(value.shape[-1]) == 1)
    return dataclasses.replace(model, leaf=model.leaf._replace(value=value))


def calibrated(
    trained: Sequence[Trained],
    rows: Sequence[TrainingRows],
    constant: Constant,
    numbers: Hyperparameters,
    *,
    config: TrainingConfig,
) -> list[Trained]:
    """Returns trainings whose models, and the states from which they would go on, are calibrated on other rows.

    The factor is that of the least mean loss, the greatest of several; then the shift is the most probable one. Models
    of folds have one factor and one shift in common, by the loss of all rows.

    Args:
        trained: The trainings.
        rows: The rows that were held out of each, with the targets that losses are of.
        constant: The constant.
        numbers: The hyperparameters of the training: the last temperature, and whether targets had noise; if so,
            distributions shift.
        config: Has the loss and the model's outputs.
    """
    num_rows = [int(own.num_rows) for own in rows]

    def losses(tried: tuple[Any, Any]) -> Float[np.ndarray, " tried"]:
        static = {"config": TrainingConfig(loss=config.loss, predict=config.predict, engine=config.engine)}
        leaf = constant.value, numbers.last_temperature
        options = {**static, "mixes_shares": constant.mixes_shares}
        found = [_losses(one.model, own, tried, *leaf, **options) for one, own in zip(trained, rows, strict=True)]
        mean = np.average(np.asarray(found, np.float64), axis=0, weights=num_rows)
        return np.nan_to_num(mean, nan=np.inf)

    found = losses((FACTORS, np.zeros_like(SHIFTS)))
    factor, shift = _least(FACTORS, found, default=1.0), 0.0
    if numbers.target_noise is not None and isinstance(config.loss, Distribution):
        found = losses((np.full_like(SHIFTS, factor), SHIFTS))
        prior = (SHIFTS / DEVIATION_OF_SHIFTS) ** 2 / (2 * sum(num_rows))
        shift = _least(SHIFTS, found + prior, default=0.0)
    if (factor, shift) == (1.0, 0.0):
        return list(trained)

    def own(model: Any) -> Any:
        return jax.tree.map(np.asarray, moved(model, factor, shift, constant))

    def moved_state(progress: Progress) -> Progress:
        return progress._replace(**{name: own(getattr(progress, name)) for name in ("model", "average", "best")})

    return [one._replace(model=own(one.model), progress=moved_state(one.progress)) for one in trained]


def _least(tried: Float[np.ndarray, " tried"], loss: Float[np.ndarray, " tried"], default: float) -> float:
    """The number of the least loss, the first of several; another one if no loss is finite."""
    return float(tried[loss.argmin()]) if np.isfinite(loss).any() else default


@compiled("config", "mixes_shares")
def _losses(
    model: SoftTree | SoftForest,
    rows: TrainingRows,
    tried: tuple[Float[AnyArray, " tried"], Float[AnyArray, " tried"]],
    constant: Float[AnyArray, " output"],
    temperature: FloatLike,
    *,
    config: TrainingConfig,
    mixes_shares: bool,
) -> Float[Array, " tried"]:
    """The mean loss of the model by every factor and shift."""

    def of_pair(pair):
        factor, shift = pair
        return mean_loss(moved(model, factor, shift, Constant(constant, mixes_shares)), rows, temperature, config)

    return jax.lax.map(of_pair, tuple(jnp.asarray(own) for own in tried))
