"""Nodes that look at a few random features each.

Every node puts the features in a random *order* of its own. It looks at the first `max_features` of them and, if none
of these has a split, at the following ones until one has: scikit-learn's rule, by which a node is no leaf because
the features drawn happen to be constant there. Features are looked at in *rounds* of a static number, so that a
node costs the features that it looks at, whatever the number of all.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, UInt32

from jaxtree.growth.candidates import Place
from jaxtree.growth.packed_sort import sort_pairs
from jaxtree.growth.plan import Plan
from jaxtree.growth.scene import Scene
from jaxtree.growth.split import Split, best_of_features, no_split, trimmed
from jaxtree.hashing import child_hash, mix

NOT_DRAWN = 2**32 - 1
"""The rank of a feature that no node looks at."""


def best_of_drawn(
    scene: Scene,
    place: Place,
    most: Int32[Array, " slot"],
    in_use: Bool[Array, " slot"],
    look: Callable[[Int32[Array, "drawn slot"]], Split],
    *,
    plan: Plan,
) -> Split:
    """The best split of every slot on the features that it draws.

    Args:
        scene: The scene.
        place: The slots' nodes.
        most: How many features each looks at, if one of them has a split.
        in_use: Which slots hold nodes.
        look: The best split of every slot on each of some features of its own; a number past all is no feature.
        plan: Static sizes.
    """
    order = feature_orders(scene, place, plan=plan)
    num_features = jnp.sum(_is_listed(scene), dtype=jnp.int32)

    def goes_on(carry):
        first, best = carry
        return (first < num_features) & ((first == 0) | jnp.any(in_use & (best.gain == -jnp.inf)))

    def look_on(carry):
        first, best = carry
        features = lax.dynamic_slice(order, (first, jnp.zeros_like(first)), (plan.num_drawn, most.size))
        found = look(features)
        at = first + jnp.arange(plan.num_drawn, dtype=jnp.int32)[:, None]
        has_split = (found.gain > -jnp.inf) & (at < num_features)
        first_useful = jnp.min(jnp.where(has_split, at, num_features), axis=0)
        is_seen = has_split & (at < jnp.maximum(most, first_useful + 1))
        found = found._replace(gain=jnp.where(is_seen, found.gain, -jnp.inf))
        new = _best(scene, found, features, place, plan)
        is_settled = best.gain > -jnp.inf
        return first + plan.num_drawn, jax.tree.map(
            lambda a, b: jnp.where(is_settled.reshape(is_settled.shape + (1,) * (a.ndim - 1)), a, b), best, new
        )

    nothing = trimmed(no_split((most.size,), plan.num_words), plan.rules, plan.num_words)
    return lax.while_loop(goes_on, look_on, (jnp.int32(0), nothing))[1]


def feature_orders(scene: Scene, place: Place, *, plan: Plan) -> Int32[Array, "place slot"]:
    """The features of every slot in its random order, followed by numbers past all features."""
    number = jnp.arange(scene.num_codes.size, dtype=jnp.int32)[:, None]
    rank = jnp.where(_is_listed(scene)[:, None], _ranks(place, number), jnp.uint32(NOT_DRAWN))
    numbers = jnp.broadcast_to(number, rank.shape)
    order = sort_pairs(rank.T, numbers.T)[1].T
    padding = -order.shape[0] % plan.num_drawn
    return jnp.pad(order, ((0, padding), (0, 0)), constant_values=scene.num_codes.size)


def is_drawn(
    gain: Float[Array, "feature slot"],
    listed: Int32[Array, " feature"],
    usable: Bool[Array, "feature 1"],
    place: Place,
    most: Int32[Array, " slot"],
) -> Bool[Array, "feature slot"]:
    """Which of the splits found on all features are on those that a slot draws."""
    rank = jnp.where(usable, _ranks(place, listed[:, None]).astype(jnp.int64), 2**33)
    in_order = lax.sort(rank, dimension=0)
    last = jnp.take_along_axis(in_order, jnp.minimum(most, gain.shape[0])[None, :] - 1, axis=0)
    first_useful = jnp.min(jnp.where(gain > -jnp.inf, rank, 2**34), axis=0)
    return rank <= jnp.maximum(last, first_useful)


def _ranks(place: Place, number: Int32[Array, "feature 1"]) -> UInt32[Array, "feature slot"]:
    """Random numbers, in whose order a slot looks at the features."""
    assert place.seed is not None
    return child_hash(mix(place.seed ^ jnp.uint32(0x9E3779B9)), number.astype(jnp.uint32))


def _is_listed(scene: Scene) -> Bool[Array, " feature"]:
    """Which features are no padding."""
    return scene.num_codes > 0


def _best(scene: Scene, found: Split, features: Int32[Array, "drawn slot"], place: Place, plan: Plan) -> Split:
    in_average = scene.in_average.at[features].get(mode="clip")
    best = jax.vmap(lambda s, p, a: best_of_features(s, p, a, rules=plan.rules), in_axes=(1, 0, 1))
    return best(found, place, in_average)
