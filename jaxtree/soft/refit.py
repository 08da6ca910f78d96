"""Ends in closed form: what they should say of rows that come to them, the gates being what they are."""

import dataclasses
from math import gcd

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from jaxtree.arrays import FloatLike
from jaxtree.errors import InvalidInputError
from jaxtree.programs import compiled
from jaxtree.soft.courses import Rows
from jaxtree.soft.model import SoftTree, node_probability

ROWS_A_BLOCK = 2048
MOST_COLUMNS = 4096
"""Of the least squares problem: its matrix has as many rows and columns."""


def made_hard(tree: SoftTree) -> SoftTree:
    """The tree with hard decisions at every gate."""
    return dataclasses.replace(tree, form=dataclasses.replace(tree.form, step="hard"))


@compiled("num_classes")
def class_weights_of_ends(
    tree: SoftTree, rows: Rows, temperature: FloatLike, *, num_classes: int
) -> Float[Array, "end class"]:
    """The weight of every class that comes to every end."""
    columns = jax.nn.one_hot(rows.target, num_classes, dtype=rows.weight.dtype)
    return _sums(tree, rows, columns, temperature)


def refit_shares(tree: SoftTree, rows: Rows, *, temperature: FloatLike = 1.0, smoothing: FloatLike = 1.0) -> SoftTree:
    r"""Gives every end the shares of the classes that come to it, as logits.

    The share of class c at end e is $(n_{ec} + s\, p_{ec}) / (n_e + s)$ with the weights $n$ that come to it, what the
    end said before, $p$, and the smoothing $s$: Laplace's rule, but towards what was learned.

    Args:
        tree: A tree whose ends hold logits of distributions, see `log_mixture`; for counts of hard decisions,
            `made_hard(tree)`.
        rows: Rows with class codes.
        temperature: Of the gates.
        smoothing: How many rows what was learned counts as.
    """
    _check_constant(tree)
    before = jax.nn.softmax(tree.leaf.value)
    weight = class_weights_of_ends(tree, rows, temperature, num_classes=tree.form.num_outputs)
    share = (weight + smoothing * before) / (weight.sum(axis=1, keepdims=True) + smoothing)
    return _with_value(tree, jnp.log(share))


def refit_means(tree: SoftTree, rows: Rows, *, temperature: FloatLike = 1.0, smoothing: FloatLike = 0.0) -> SoftTree:
    """Gives every end the mean target of the rows that come to it, and what it said before if none does.

    Args:
        tree: A tree whose ends hold values; for the means of hard decisions, `made_hard(tree)`.
        rows: Rows with numbers.
        temperature: Of the gates.
        smoothing: How many rows what was learned counts as.
    """
    _check_constant(tree)
    sums = _sums(tree, rows, jnp.pad(rows.target, ((0, 0), (0, 1)), constant_values=1), temperature)
    weight = sums[:, -1:] + smoothing
    mean = (sums[:, :-1] + smoothing * tree.leaf.value) / jnp.where(weight > 0, weight, 1)
    return _with_value(tree, jnp.where(weight > 0, mean, tree.leaf.value))


def refit_least_squares(
    tree: SoftTree, rows: Rows, *, temperature: FloatLike = 1.0, ridge: FloatLike = 1e-3
) -> SoftTree:
    r"""Gives the ends the values, or linear models, of least weighted squared error of the whole soft tree.

    With $z_x$, the probabilities of the ends, for linear models each times the row and 1, they are
    $(\sum_x w_x z_x z_x^\top + \lambda I)^{-1} \sum_x w_x z_x y_x^\top$. Hard decisions make it a regression at each
    leaf.

    Args:
        tree: A tree whose ends hold values.
        rows: Rows with numbers.
        temperature: Of the gates.
        ridge: $\lambda$, as a weight of rows.

    Raises:
        InvalidInputError: There are more than 4096 parameters an output.
    """
    num_columns = tree.leaf.value.shape[0] * (1 if tree.leaf.weight is None else 1 + tree.form.num_features)
    if num_columns > MOST_COLUMNS:
        raise InvalidInputError(f"least squares are for up to {MOST_COLUMNS} parameters an output, got {num_columns}")
    gram, right = _normal_equations(tree, rows, temperature)
    solved = jax.scipy.linalg.solve(gram + ridge * jnp.eye(num_columns), right, assume_a="pos")
    if tree.leaf.weight is None:
        return _with_value(tree, solved)
    parts = solved.reshape(tree.leaf.value.shape[0], 1 + tree.form.num_features, -1)
    return dataclasses.replace(tree, leaf=tree.leaf._replace(value=parts[:, 0], weight=parts[:, 1:]))


@compiled()
def _normal_equations(
    tree: SoftTree, rows: Rows, temperature: FloatLike
) -> tuple[Float[Array, "column column"], Float[Array, "column output"]]:
    def of_block(x, weight, target):
        column = node_probability(tree, x, temperature=temperature)
        if tree.leaf.weight is not None:
            beside = jnp.pad(x, ((0, 0), (1, 0)), constant_values=1)
            column = (column[:, :, None] * beside[:, None, :]).reshape(x.shape[0], -1)
        weighted = (column * weight[:, None]).T
        return weighted @ column, weighted @ target

    return _over_blocks(of_block, rows, rows.target)


@compiled()
def _sums(
    tree: SoftTree, rows: Rows, columns: Float[Array, "row column"], temperature: FloatLike
) -> Float[Array, "end column"]:
    """The weighted sums of some columns over the rows that come to every end."""

    def of_block(x, weight, column):
        return node_probability(tree, x, temperature=temperature).T @ (weight[:, None] * column)

    return _over_blocks(of_block, rows, columns)


def _over_blocks(of_block, rows: Rows, columns: Shaped[Array, "row column"]):
    """The sum over blocks of rows of what a function of rows, weights and columns returns."""
    block = gcd(rows.x.shape[0], ROWS_A_BLOCK)
    parts = [part.reshape(-1, block, *part.shape[1:]) for part in (rows.x, rows.weight, columns)]
    return jax.tree.map(lambda sums: sums.sum(axis=0), jax.lax.map(lambda part: of_block(*part), tuple(parts)))


def _with_value(tree: SoftTree, value: Float[Array, "end output"]) -> SoftTree:
    return dataclasses.replace(tree, leaf=tree.leaf._replace(value=value))


def _check_constant(tree: SoftTree) -> None:
    if tree.leaf.weight is not None:
        raise InvalidInputError("the leaves are linear models: use refit_least_squares")
