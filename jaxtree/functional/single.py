"""One tree as a pure function: of CART, of C4.5 or a random one, with values that have derivatives."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Real, UInt

from jaxtree.arrays import AnyArray, concrete_or_none, safe_divide
from jaxtree.functional.stack import with_derivatives
from jaxtree.growth.inputs.bundles import NO_LIMIT, Data, Features, Limits, Rules, Sizes
from jaxtree.growth.inputs.objective import Objective
from jaxtree.growth.inputs.standard_objectives import Classes, Numbers
from jaxtree.growth.loop.grow import grow
from jaxtree.tree import Tree, apply
from jaxtree.tree.nodes import node_means


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SingleTree:
    """A grown tree, a pytree of fixed shape; a call returns the values of the nodes where rows end.

    Attributes:
        tree: The nodes, which prunings take: each returns a mask of nodes.
        value: The shares of classes, the outputs side by side, or the means, at every node.
        is_complete: Whether there was room for all nodes.
    """

    tree: Tree
    value: Float[AnyArray, "*batch node column"]
    is_complete: Bool[AnyArray, "*batch"]

    def __call__(
        self, codes: UInt[AnyArray, "feature row"], collapsed: Bool[AnyArray, " node"] | None = None
    ) -> Float[Array, "row column"]:
        """Returns the values of rows.

        Args:
            codes: The codes of the rows.
            collapsed: Nodes at which walks end besides the leaves, such as a pruning.
        """
        return self.value[apply(self.tree, codes, collapsed)]

    def __repr__(self) -> str:
        """The sizes in a line."""
        *batch, nodes, columns = self.value.shape
        many = f", batch of {' x '.join(map(str, batch))}" if batch else ""
        return f"SingleTree({nodes} nodes, columns: {columns}{many})"


def tree(
    codes: UInt[AnyArray, "feature row"],
    target: Real[AnyArray, "row *output"],
    rules: Rules | Objective,
    limits: Limits | None = None,
    key: Key[Array, ""] | None = None,
    *,
    weight: Real[AnyArray, " row"] | None = None,
    features: Features | None = None,
    sizes: Sizes | None = None,
) -> SingleTree:
    """Grows a tree: `jaxtree.growth.grow` of targets as a user of JAX has them, with values that have derivatives.

    Rules decide which: those of CART (Breiman et al., 1984) are an objective alone; `Rules` with
    `Selection.GAIN_RATIO` are C4.5's, and with `samples_features` those of a tree of a random forest.

    The structure is a constant under differentiation. Values of leaves have exact derivatives by weights and by the
    targets of `Numbers`; those of other nodes, and of other objectives, none.

    Args:
        codes: Codes of the rows, as `BinEdges` makes them.
        target: Classes or numbers of shape (row,), or (row, output).
        rules: The rules, or the objective with the usual ones.
        limits: The limits, which may be traced.
        key: The key of what is drawn.
        weight: The weights of the rows; None for 1.
        features: How the features may be split; by thresholds if None.
        sizes: The static sizes; by default codes have all values of their type, up to 255 or 65,535, and there is room
            for as many nodes as rows or a known depth allow.

    Raises:
        InvalidInputError: See `grow`.
        InvalidTypeError: See `grow`.

    Example:
        >>> from jaxtree.growth import Numbers
        >>> codes, target = jnp.array([[0, 1, 2, 3]], jnp.uint8), jnp.array([0.0, 0.0, 4.0, 8.0])
        >>> grown = tree(codes, target, Numbers(), Limits(max_depth=1))
        >>> grown, grown(codes)[:, 0].tolist()
        (SingleTree(3 nodes, columns: 1), [0.0, 0.0, 6.0, 6.0])
        >>> jax.grad(lambda y: tree(codes, y, Numbers(), Limits(max_depth=1))(codes)[3, 0])(target).tolist()
        [0.0, 0.0, 0.5, 0.5]
    """
    limits = Limits() if limits is None else limits
    rules = rules if isinstance(rules, Rules) else Rules(rules)
    if sizes is None:
        sizes = Sizes(int(jnp.iinfo(codes.dtype).max), _most_nodes(codes.shape[1], limits))
    rows_last = jnp.moveaxis(jnp.asarray(target), 0, -1)
    grown, complete = grow(Data(codes, rows_last, weight), features, limits, rules, sizes, key=key)
    value = jnp.asarray(node_means(grown), float)
    moments = _moments(rules.objective, rows_last)
    if moments is not None:
        leaf = jnp.where(True if weight is None else weight > 0, apply(grown, codes), grown.capacity)
        own = jnp.ones(codes.shape[1]) if weight is None else weight
        sum_at = lambda values: jnp.zeros((len(values), grown.capacity)).at[:, leaf].add(values, mode="drop")  # noqa: E731
        total = jnp.broadcast_to(sum_at(own[None]), (len(moments), grown.capacity))
        smooth = safe_divide(sum_at(own * moments), total).T
        value = with_derivatives(value, jnp.where(grown.is_leaf[:, None], smooth, 0.0))
    return SingleTree(grown, value, complete)


def _most_nodes(num_rows: int, limits: Limits) -> int:
    """The most nodes of a binary tree of this number of rows, within a depth that is known."""
    depth = concrete_or_none(limits.max_depth)
    deepest = NO_LIMIT if depth is None else int(depth.max())
    return 2 * min(num_rows, 2 ** min(deepest, 30)) - 1


def _moments(objective: Any, target: Real[Array, "*output row"]) -> Float[Array, "column row"] | None:
    """The numbers of rows whose weighted means the values of nodes are; None of objectives with other values."""
    outputs = target.reshape(-1, target.shape[-1])
    if type(objective) is Numbers:
        return outputs.astype(float)
    if type(objective) is Classes:
        return jnp.concatenate([jax.nn.one_hot(own, objective.num_classes, axis=0, dtype=float) for own in outputs])
    return None
