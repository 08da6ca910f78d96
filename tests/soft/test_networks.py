"""A soft tree as the head of a neural network, in equinox and in flax; jaxtree imports neither."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxtree.soft import apply, init
from jaxtree.soft.form import SoftForm

FORM = SoftForm(depth=3, num_features=8, num_outputs=2)


def rings():
    """Two classes, one inside the other, on the first two of four features."""
    random = np.random.default_rng(0)
    x = random.normal(size=(256, 4))
    return jnp.asarray(x, jnp.float32), jnp.asarray((np.square(x[:, :2]).sum(axis=1) > 1.4).astype(int))


def loss_of(logits, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@pytest.mark.slow
def test_an_equinox_network_ends_in_a_tree():
    eqx = pytest.importorskip("equinox")

    class Network(eqx.Module):
        layer: eqx.nn.Linear
        tree: object

        def __init__(self, key):
            layer_key, tree_key = jax.random.split(key)
            self.layer = eqx.nn.Linear(4, 8, key=layer_key)
            self.tree = init(FORM, key=tree_key)

        def __call__(self, x):
            return apply(self.tree, jax.nn.tanh(jax.vmap(self.layer)(x)))

    x, y = rings()
    network = Network(jax.random.key(0))
    optimiser = optax.adam(0.05)
    state = optimiser.init(eqx.filter(network, eqx.is_array))

    @eqx.filter_jit
    def step(network, state):
        loss, slope = eqx.filter_value_and_grad(lambda network: loss_of(network(x), y))(network)
        change, state = optimiser.update(slope, state)
        return eqx.apply_updates(network, change), state, loss

    first = network
    for _ in range(150):
        network, state, loss = step(network, state)
    assert loss < 0.2
    assert (network.layer.weight != first.layer.weight).any() and (
        network.tree.leaf.value != first.tree.leaf.value
    ).any()


@pytest.mark.slow
def test_a_flax_network_ends_in_a_tree():
    nnx = pytest.importorskip("flax.nnx")

    class Tree(nnx.Module):
        """The parameters of a tree are one `nnx.Param`, as a pytree."""

        def __init__(self, form, *, rngs):
            self.parameters = nnx.data(jax.tree.map(nnx.Param, init(form, key=rngs.params())))

        def __call__(self, x):
            values = jax.tree.map(
                lambda part: part[...], self.parameters, is_leaf=lambda part: isinstance(part, nnx.Variable)
            )
            return apply(values, x)

    class Network(nnx.Module):
        def __init__(self, *, rngs):
            self.layer = nnx.Linear(4, 8, rngs=rngs)
            self.tree = Tree(FORM, rngs=rngs)

        def __call__(self, x):
            return self.tree(nnx.tanh(self.layer(x)))

    x, y = rings()
    network = Network(rngs=nnx.Rngs(0))
    optimiser = nnx.Optimizer(network, optax.adam(0.05), wrt=nnx.Param)

    @nnx.jit
    def step(network, optimiser):
        loss, slope = nnx.value_and_grad(lambda network: loss_of(network(x), y))(network)
        optimiser.update(network, slope)
        return loss

    before = network.layer.kernel[...].copy()
    for _ in range(150):
        loss = step(network, optimiser)
    assert loss < 0.2 and (network.layer.kernel[...] != before).any()


@pytest.mark.slow
def test_a_linen_network_ends_in_a_tree():
    nn = pytest.importorskip("flax.linen")

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.tanh(nn.Dense(FORM.num_features)(x))
            return apply(self.param("tree", lambda key: init(FORM, key=key)), x)

    x, y = rings()
    network = Network()
    parameters = network.init(jax.random.key(0), x)
    slopes = jax.grad(lambda parameters: loss_of(network.apply(parameters, x), y))(parameters)
    assert all((np.asarray(slope) != 0).any() for slope in jax.tree.leaves(slopes))
    told = apply(parameters["params"]["tree"], jnp.zeros((3, 8)))
    assert told.shape == (3, 2)
