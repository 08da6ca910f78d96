r"""Soft forests: joint predictions of several soft trees.

For classes, a *mixture* of trees that each have shares is $\sum_t w_t(x)\, p_t(x)$. An *ensemble*, whose trees or
leaves have weights of their own, adds up logits instead: $\mathrm{softmax} \sum_t w_t(x)\, v_t(x)$, as boosting does.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from scipy.special import log_softmax

from jaxtree.arrays import AnyArray, FloatLike
from jaxtree.blocks import blocks_of
from jaxtree.buckets import row_bucket
from jaxtree.compilation import compiled
from jaxtree.errors import InvalidInputError, instance_of
from jaxtree.kernels.choose import Engine
from jaxtree.soft.form import SoftForm, check_option
from jaxtree.soft.gates import ObliqueGate
from jaxtree.soft.model import SoftTree, apply, init, log_mixture
from jaxtree.soft.words import arrays_in_words, form_in_words, indented

TOGETHER = ("by_tree", "by_leaf")
"""Mixtures of trees whose scores add up."""
MIXTURES = ("mean", "learned", *TOGETHER)
OUT = 1e4
"""By how much the logit of what does not count lies below the others: its share is exactly 0."""
ROWS_A_BLOCK = 8192
"""Rows that are predicted at once."""


class Mixing(NamedTuple):
    """The logits of the trees' weights, linear in the row."""

    weight: Float[AnyArray, "feature tree"]
    bias: Float[AnyArray, " tree"]


class TreeWeights(NamedTuple):
    """The logits of the trees' weights, the same for all rows."""

    logit: Float[AnyArray, " tree"]


class LeafWeights(NamedTuple):
    """The logits of the trees' weights: of a row, those of the leaves that it reaches (Marton et al., 2024)."""

    logit: Float[AnyArray, "tree end"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, repr=False)
class SoftForest:
    """The parameters of a soft forest.

    Attributes:
        trees: The trees, every array with an axis of trees in front.
        mixing: The weights of the trees for a row; None is the mean.
    """

    trees: SoftTree
    mixing: Mixing | TreeWeights | LeafWeights | None

    def __repr__(self) -> str:
        """Describes the forest in some lines: its form, and the shape and the range of every array."""
        mixing = "that count alike" if self.mixing is None else f"with {type(self.mixing).__name__}"
        first = f"SoftForest: {self.num_trees} trees {mixing}, each of {form_in_words(self.trees.form)}"
        return indented([first, *arrays_in_words(self)])

    @property
    def adds_logits(self) -> bool:
        """Whether it is an ensemble, whose trees have logits of classes, not shares."""
        return isinstance(self.mixing, TreeWeights | LeafWeights)

    @property
    def num_trees(self) -> int:
        """The number of trees."""
        return self.trees.leaf.value.shape[0]

    def tree(self, number: int) -> SoftTree:
        """Returns one of the trees."""
        return jax.tree.map(lambda part: part[number], self.trees)


def without_values(model: SoftTree | SoftForest) -> SoftTree | SoftForest:
    """Returns a model all of whose ends have values of 0."""
    if isinstance(model, SoftForest):
        return dataclasses.replace(model, trees=without_values(model.trees))
    return dataclasses.replace(model, leaf=model.leaf._replace(value=0 * model.leaf.value))


def init_forest(
    form: SoftForm,
    *,
    num_trees: int,
    mixture: str = "mean",
    key: PRNGKeyArray,
    inputs: Float[AnyArray, "row feature"] | None = None,
) -> SoftForest:
    """Returns a forest to train from.

    Args:
        form: The static part of each tree.
        num_trees: The number of trees.
        mixture: "mean"; or weights, all the same to begin with: "learned", linear in the row, "by_tree", or "by_leaf".
        key: A typed key.
        inputs: Rows, to put gates among them.

    Raises:
        InvalidInputError: The mixture is none of these, or there is no tree.

    Example:
        >>> forest = init_forest(SoftForm(2, num_features=4, num_outputs=3), num_trees=5, key=jax.random.key(0))
        >>> apply_forest(forest, jnp.ones((7, 4))).shape
        (7, 3)
    """
    check_option("mixture", mixture, MIXTURES)
    if num_trees < 1:
        raise InvalidInputError(f"num_trees must be at least 1, got {num_trees}")
    trees = jax.vmap(lambda key: init(form, key=key, inputs=inputs))(jax.random.split(key, num_trees))
    return mix(trees, mixture)


def mix(trees: SoftTree, mixture: str) -> SoftForest:
    """Returns a forest of trees, every array with an axis of trees in front, whose weights are all the same."""
    num_trees, form = trees.leaf.value.shape[0], trees.form
    equal = {
        "mean": None,
        "learned": Mixing(jnp.zeros((form.num_features, num_trees)), jnp.zeros(num_trees)),
        "by_tree": TreeWeights(jnp.zeros(num_trees)),
        "by_leaf": LeafWeights(jnp.zeros((num_trees, form.num_ends))),
    }
    return SoftForest(trees, equal[mixture])


def join_forests(forests: Sequence[SoftForest]) -> SoftForest:
    """Returns the mean of forests as one, on the host: of shares if trees count alike, of logits if they have weights.

    Args:
        forests: Forests of one form, "mean" or "by_tree".

    Example:
        >>> keys, form = jax.random.split(jax.random.key(0)), SoftForm(1, num_features=2, num_outputs=2)
        >>> parts = [init_forest(form, num_trees=3, mixture="by_tree", key=key) for key in keys]
        >>> x = jnp.ones((4, 2))
        >>> mean = sum(apply_forest(own, x) for own in parts) / 2
        >>> bool(jnp.allclose(apply_forest(join_forests(parts), x), mean))
        True
    """
    trees = jax.tree.map(lambda *parts: np.concatenate(parts), *(own.trees for own in forests))
    if forests[0].mixing is None:
        return SoftForest(trees, None)
    logits = [log_softmax(np.asarray(instance_of(TreeWeights, own.mixing).logit)) for own in forests]
    return SoftForest(trees, TreeWeights(np.concatenate(logits)))


def hide_columns(trees: SoftTree, share: float, *, key: PRNGKeyArray) -> SoftTree:
    """Returns trees of which each sees some of the columns alone, drawn at random: training does not choose others.

    Args:
        trees: Trees of axis gates or hard gates, every array with an axis of trees in front.
        share: The share of the columns that a tree sees, rounded; one at least.
        key: A typed key.

    Raises:
        InvalidInputError: The gates are oblique.
    """
    if isinstance(trees.gate, ObliqueGate):
        raise InvalidInputError("oblique gates look at all columns: take gate='axis' or gate='hard'")
    num_trees, _, num_features = trees.gate.selection.shape
    place = jnp.argsort(jnp.argsort(jax.random.uniform(key, (num_trees, num_features))))
    hidden = jnp.where(place < max(1, round(share * num_features)), 0.0, -OUT)
    return dataclasses.replace(trees, gate=trees.gate._replace(selection=trees.gate.selection + hidden[:, None]))


def apply_forest(
    forest: SoftForest,
    x: Float[AnyArray, "row feature"],
    *,
    temperature: FloatLike = 1.0,
    kept: Bool[Array, "row tree"] | None = None,
    engine: Engine = Engine.XLA,
) -> Float[Array, "row output"]:
    r"""Returns the forest's output for every row: $\sum_t w_t(x) f_t(x)$ over its trees.

    Args:
        forest: The forest.
        x: Rows without missing values.
        temperature: The temperature of the trees' gates.
        kept: The trees that count for each row, of an ensemble: the weights of the others are shared out; None is all.
        engine: As in `jaxtree.soft.model.apply`.
    """
    trees, mixing = forest.trees, forest.mixing
    if isinstance(mixing, LeafWeights):
        # The logits of weights come to the rows as one more output.
        value = jnp.concatenate([trees.leaf.value, mixing.logit[..., None]], axis=-1)
        trees = dataclasses.replace(trees, leaf=trees.leaf._replace(value=value))
    output = jax.vmap(lambda tree: apply(tree, x, temperature=temperature, engine=engine))(trees)
    if isinstance(mixing, LeafWeights):
        weight = jax.nn.softmax(_of_kept(output[..., -1].T, kept), axis=1)
        return jnp.einsum("tro,rt->ro", output[..., :-1], weight)
    weight = jax.nn.softmax(_of_kept(log_tree_weights(forest, x), kept), axis=1)
    return jnp.einsum("tro,rt->ro", output, weight)


def _of_kept(logit: Float[Array, "row tree"], kept: Bool[Array, "row tree"] | None) -> Float[Array, "row tree"]:
    """Logits of weights, out of reach of the others where a tree does not count."""
    return logit if kept is None else jnp.where(kept, logit, logit - OUT)


def forest_log_mixture(
    forest: SoftForest, x: Float[AnyArray, "row feature"], *, temperature: FloatLike = 1.0, engine: Engine = Engine.XLA
) -> Float[Array, "row class"]:
    r"""Returns the log probabilities of classes: $\log \sum_t w_t(x) p_t(x)$ over the trees' `log_mixture`.

    Args:
        forest: The forest, no ensemble.
        x: Rows without missing values.
        temperature: The temperature of the trees' gates.
        engine: As in `jaxtree.soft.model.apply`.
    """
    output = jax.vmap(lambda tree: log_mixture(tree, x, temperature=temperature, engine=engine))(forest.trees)
    return jax.nn.logsumexp(output + log_tree_weights(forest, x).T[:, :, None], axis=0)


def log_tree_weights(forest: SoftForest, x: Float[AnyArray, "row feature"]) -> Float[Array, "row tree"]:
    """The logarithm of the weight of every tree for every row; the weights of a row sum to 1."""
    if forest.mixing is None:
        return jnp.full((x.shape[0], forest.num_trees), -jnp.log(forest.num_trees * 1.0))
    if isinstance(forest.mixing, TreeWeights):
        return jnp.broadcast_to(jax.nn.log_softmax(forest.mixing.logit), (x.shape[0], forest.num_trees))
    mixing = instance_of(Mixing, forest.mixing)
    return jax.nn.log_softmax(x @ mixing.weight + mixing.bias)


def predict_in_blocks(
    predict: Callable[..., Float[Array, "row output"]],
    model: SoftTree | SoftForest,
    x: Float[np.ndarray, "row feature"],
    temperature: float,
) -> Float[np.ndarray, "row output"]:
    """Returns the outputs of a model, such as `apply` and `forest_log_mixture` make them, on the host."""
    outputs = []
    for block in blocks_of(max(len(x), 1), ROWS_A_BLOCK):
        rows = x[block]
        padded = np.pad(rows, ((0, row_bucket(len(rows)) - len(rows)), (0, 0)))
        outputs.append(np.asarray(_predict(model, padded, temperature, predict=predict))[: len(rows)])
    return np.concatenate(outputs)


@compiled("predict")
def _predict(
    model: SoftTree | SoftForest, x: Float[AnyArray, "row feature"], temperature: FloatLike, *, predict: Callable
) -> Float[Array, "row output"]:
    return predict(model, x, temperature=temperature)
