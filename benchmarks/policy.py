"""A policy of boosted trees that learns to balance a pole, in one program and around scikit-learn.

`python -m benchmarks.functional --only policy` times both. The algorithm is proximal policy optimisation (Schulman et
al., *Proximal policy optimization algorithms*, 2017): in every turn all carts are pushed for some steps; then policy
and expected returns get one more tree each. All ways have the same carts, draws, codes and numbers of leaves.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from jaxtree.functional import BinEdges, Boosting, BoostingState, Hyper

CARTS, STEPS, LEAVES, BINS = 32, 128, 8, 32
DISCOUNT, TRACE, CLIP, LEAST_ROWS = 0.99, 0.95, 0.2, 20
LONGEST = 500
"""Steps after which an episode ends."""
RATES = (1.0, 0.5)
"""The learning rates of the policy and of the returns."""
UNITS = np.array([2.4, 3.0, 0.21, 3.0], np.float32)
EDGES = BinEdges(np.linspace(-1, 1, BINS - 1, dtype=np.float32) * UNITS[:, None])
FORM = Boosting(BINS, LEAVES, has_missing=False)


class World(NamedTuple):
    """The carts: position, velocity, angle of the pole and its velocity, and the steps since they began."""

    state: Float[Array, "cart 4"]
    age: Int[Array, " cart"]


class Moves(NamedTuple):
    """A step of all carts, or all steps of a turn.

    Attributes:
        codes: The codes of the states before the push.
        score: The log odds of a push to the right.
        is_right: Whether the cart was pushed to the right.
        has_fallen: Whether the pole or the cart then left its limits.
        has_ended: Whether the episode ended, by that or by its length.
    """

    codes: UInt8[Array, "... 4 cart"]
    score: Float[Array, "... cart"]
    is_right: Bool[Array, "... cart"]
    has_fallen: Bool[Array, "... cart"]
    has_ended: Bool[Array, "... cart"]


def begin(key: Key[Array, ""]) -> World:
    """Carts near the middle."""
    return World(jax.random.uniform(key, (CARTS, 4), minval=-0.05, maxval=0.05), jnp.zeros(CARTS, int))


def move(state: Float[Array, " 4"], force: Float[Array, ""]) -> Float[Array, " 4"]:
    """The state after 1/50 of a second (Barto, Sutton and Anderson, 1983; gymnasium's constants)."""
    _, velocity, angle, turning = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * turning**2 * sine) / 1.1
    turned = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    return state + 0.02 * jnp.array([velocity, push - 0.05 * turned * cosine / 1.1, turning, turned])


def take_step(world: World, score: Float[Array, " cart"], key: Key[Array, ""]) -> tuple[World, Moves]:
    """Pushes every cart by its odds of a push to the right; one whose episode ends begins anew."""
    push_key, begin_key = jax.random.split(key)
    is_right = jax.random.bernoulli(push_key, jax.nn.sigmoid(score))
    after = jax.vmap(move)(world.state, jnp.where(is_right, 10.0, -10.0))
    has_fallen = (jnp.abs(after[:, 0]) > UNITS[0]) | (jnp.abs(after[:, 2]) > np.pi / 15)
    has_ended = has_fallen | (world.age + 1 == LONGEST)
    new = begin(begin_key)
    later = World(jnp.where(has_ended[:, None], new.state, after), jnp.where(has_ended, 0, world.age + 1))
    return later, Moves(EDGES(world.state), score, is_right, has_fallen, has_ended)


def slopes(moves: Moves, value: Float[Array, "later cart"]) -> tuple[Any, Any]:
    """The gradients of a turn's losses by the scores of the policy, and by the returns that were expected."""

    def back(carry: Any, own: Any) -> Any:
        advantage, following = carry
        has_fallen, has_ended, value = own
        reward = jnp.where(has_fallen, 0.0, 1.0)
        left = reward + DISCOUNT * jnp.where(has_ended, 0, following) - value
        advantage = left + DISCOUNT * TRACE * jnp.where(has_ended, 0, advantage)
        return (advantage, value), advantage

    steps = (moves.has_fallen, moves.has_ended, value[:-1])
    _, advantage = lax.scan(back, (jnp.zeros(CARTS), value[-1]), steps, reverse=True)
    gain = (advantage - advantage.mean()) / advantage.std()

    def loss(score: Float[Array, "step cart"]) -> Float[Array, ""]:
        odds = lambda score: jax.nn.log_sigmoid(jnp.where(moves.is_right, score, -score))  # noqa: E731
        ratio = jnp.exp(odds(score) - odds(moves.score))
        return -jnp.sum(jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * gain))

    return jax.grad(loss)(moves.score).reshape(-1), -advantage.reshape(-1)


def rows_of(codes: UInt8[Array, "step 4 cart"]) -> UInt8[Array, "4 row"]:
    """The codes of all steps, one after the other."""
    return jnp.moveaxis(codes, 1, 0).reshape(4, -1)


def learn(key: Key[Array, ""], num_turns: int) -> tuple[Any, Float[Array, " turn"]]:
    """Learns in one program; returns the trees of the policy, and the mean length of the episodes of every turn."""

    def turn(carry: Any, key: Key[Array, ""]) -> Any:
        policy, returns, world = carry
        push = lambda world, key: take_step(world, FORM.apply(policy, EDGES(world.state)), key)  # noqa: E731
        world, moves = lax.scan(push, world, jax.random.split(key, STEPS))
        codes = rows_of(moves.codes)
        seen = FORM.apply(returns, jnp.concatenate([codes, EDGES(world.state)], axis=1))
        by_score, by_return = slopes(moves, seen.reshape(STEPS + 1, CARTS))
        policy = BoostingState(policy, codes, moves.score.reshape(-1))
        returns = BoostingState(returns, codes, seen[: len(by_return)])
        hypers = [Hyper(rate, min_samples_leaf=LEAST_ROWS) for rate in RATES]
        policy = FORM.update(policy, by_score, None, hypers[0]).stack
        returns = FORM.update(returns, by_return, None, hypers[1]).stack
        return (policy, returns, world), CARTS * STEPS / jnp.maximum(1, jnp.sum(moves.has_ended))

    begin_key, key = jax.random.split(key)
    blank = FORM.init(jnp.zeros((4, 1), jnp.uint8), num_turns).stack
    (policy, _, _), length = lax.scan(turn, (blank, blank, begin(begin_key)), jax.random.split(key, num_turns))
    return policy, length


class Table(NamedTuple):
    """scikit-learn's trees as arrays of fixed shape; a leaf is its own child."""

    feature: Any
    threshold: Any
    child: Any
    value: Any


def blank_table(num_turns: int) -> Table:
    """Room for trees, all of which are roots that add nothing."""
    shape = (num_turns, 2 * LEAVES - 1)
    whole, floats = np.zeros(shape, int), np.zeros(shape, np.float32)
    return Table(whole, floats, np.zeros((*shape, 2), int), floats.copy())


def put(table: Table, place: int, tree: Any, rate: float) -> None:
    """Writes a tree of scikit-learn's to its place."""
    own, number = tree.tree_, tree.tree_.node_count
    nodes = np.arange(number)
    child = np.stack([own.children_left, own.children_right], axis=1)
    table.feature[place, :number] = np.maximum(own.feature, 0)
    table.threshold[place, :number] = own.threshold
    table.child[place, :number] = np.where(child < 0, nodes[:, None], child)
    table.value[place, :number] = rate * own.value[:, 0, 0]


def walk(table: Table, codes: UInt8[Array, "4 row"]) -> Float[Array, " row"]:
    """The scores of rows by such trees."""

    def of_tree(own: Table) -> Float[Array, " row"]:
        row, node = jnp.arange(codes.shape[1]), jnp.zeros(codes.shape[1], int)
        for _ in range(LEAVES - 1):
            node = own.child[node, (codes[own.feature[node], row] > own.threshold[node]).astype(int)]
        return own.value[node]

    return jnp.sum(jax.vmap(of_tree)(table), axis=0)


@jax.jit
def _collect(table: Table, world: World, key: Key[Array, ""]) -> tuple[World, Moves]:
    push = lambda world, key: take_step(world, walk(table, EDGES(world.state)), key)  # noqa: E731
    return lax.scan(push, world, jax.random.split(key, STEPS))


@dataclasses.dataclass
class BySklearn:
    """The same around scikit-learn.

    Attributes:
        num_turns: The number of turns.
        compiles_steps: Whether the steps of a turn are one program, which walks scikit-learn's trees by arrays, so that
            only growth leaves JAX, as in Vos and Verwer, *Optimizing interpretable decision tree policies for
            reinforcement learning*, 2024; or scikit-learn predicts at every step.
    """

    num_turns: int
    compiles_steps: bool

    def __post_init__(self) -> None:
        """Compiles the parts that stay in JAX."""
        self.step, self.codes = jax.jit(take_step), jax.jit(lambda rows: EDGES(rows))
        self.slopes, self.walk = jax.jit(slopes), jax.jit(walk)

    def learn(self, key: Key[Array, ""]) -> np.ndarray:
        """Learns; returns the mean length of the episodes of every turn."""
        begin_key, key = jax.random.split(key)
        world, lengths = begin(begin_key), []
        trees: tuple[list[Any], list[Any]] = ([], [])
        tables = blank_table(self.num_turns), blank_table(self.num_turns)
        for number, turn_key in enumerate(jax.random.split(key, self.num_turns)):
            if self.compiles_steps:
                world, moves = _collect(tables[0], world, turn_key)
            else:
                world, moves = self.collect(trees[0], world, turn_key)
            codes = rows_of(moves.codes)
            seen = jnp.concatenate([codes, self.codes(world.state)], axis=1)
            value = self.walk(tables[1], seen) if self.compiles_steps else self.predict(trees[1], RATES[1], seen)
            for place, slope in enumerate(self.slopes(moves, value.reshape(STEPS + 1, CARTS))):
                tree = self.fit(codes, slope)
                trees[place].append(tree)
                put(tables[place], number, tree, RATES[place])
            lengths.append(CARTS * STEPS / max(1, int(moves.has_ended.sum())))
        return np.array(lengths)

    def fit(self, codes: Any, slope: Any) -> Any:
        """Fits a tree to the negative gradient."""
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(max_leaf_nodes=LEAVES, min_samples_leaf=LEAST_ROWS, random_state=0)
        return tree.fit(np.asarray(codes.T, np.float32), -np.asarray(slope))

    def predict(self, trees: list[Any], rate: float, codes: Any) -> np.ndarray:
        """The scores of rows by scikit-learn."""
        rows = np.asarray(codes.T, np.float32)
        return rate * sum((tree.predict(rows) for tree in trees), np.zeros(len(rows))).astype(np.float32)

    def collect(self, trees: list[Any], world: World, key: Key[Array, ""]) -> tuple[World, Moves]:
        """The steps of a turn, in each of which scikit-learn predicts."""
        all_moves = []
        for step_key in jax.random.split(key, STEPS):
            score = self.predict(trees, RATES[0], self.codes(world.state))
            world, moves = self.step(world, score, step_key)
            all_moves.append(moves)
        return world, jax.tree.map(lambda *own: jnp.stack(own), *all_moves)
