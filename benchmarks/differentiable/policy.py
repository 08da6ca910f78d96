"""A tree of eight leaves that balances CartPole: gradients pass through hard gates, actions and the physics.

    python -m benchmarks.differentiable.policy            # 32 seeds as one program, three kinds of gates
    python -m benchmarks.differentiable.policy --seeds 8 --only hard

An episode is CartPole-v1's: it ends when the cart leaves the track, when the pole leans more than 12 degrees, or after
500 steps. A tree is trained on short paths from random states (`HORIZON` steps), by the derivatives of all that happens
on them; a seed trains `NUM_STARTS` trees and keeps the one that does best in episodes of its own. What is reported are
the mean steps of that tree in `NUM_EPISODES` fresh episodes, each gate on one side and each action the better one.
Contenders: hard gates; axis gates, which are soft in training and hard in episodes; and these with a temperature that
falls in training. Cold is the first call, with compilation; warm is the second. `WIDEST` and the numbers of steps and
paths were chosen with `--seed 0`.
"""

import argparse
import dataclasses
import functools
import json
import os
import platform
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd

from jaxtree import soft
from jaxtree.soft.gates import HardGate, feature_shares
from jaxtree.soft.inputs import SoftSample
from jaxtree.table import Encoder

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("cart position", "cart velocity", "pole angle", "angular velocity")
ACTIONS = ("left", "right")
UNITS = np.array([2.4, 2.0, 0.21, 2.0])  # metres and radians, per second: about the range of each
WIDEST = np.array([0.7, 0.7, 0.07, 0.7])  # of the states from which training starts
LIMITS = np.array([2.4, np.inf, np.pi / 15, np.inf])
HORIZON, NUM_PATHS, NUM_STEPS = 20, 32, 300
NUM_STARTS, NUM_EPISODES, LONGEST = 8, 100, 500
FORM = soft.SoftForm(depth=3, num_features=4, num_outputs=2, gate="hard")


class Way(NamedTuple):
    """A contender.

    Attributes:
        form: The form of its trees.
        last_temperature: Of the gates at the end of training; it falls from 1.
    """

    form: soft.SoftForm
    last_temperature: float = 1.0


AXIS = soft.SoftForm(depth=3, num_features=4, num_outputs=2, gate="axis")
WAYS = {"hard": Way(FORM), "axis": Way(AXIS), "axis, cooled": Way(AXIS, 0.03)}


def move(state, force):
    """The state after 1/50 of a second: CartPole-v1 (Barto, Sutton and Anderson, 1983; gymnasium's constants)."""
    _, velocity, angle, turning = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * turning**2 * sine) / 1.1
    turned = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    return state + 0.02 * jnp.array([velocity, push - 0.05 * turned * cosine / 1.1, turning, turned])


def act(tree, states, temperature=1.0):
    """The forces on the carts, -10 or 10; their slopes are those of a softsign of what the leaves say."""
    left, right = soft.apply(tree, states / UNITS, temperature=temperature).T
    smooth = jax.nn.soft_sign(right - left)
    return 10 * (smooth + jax.lax.stop_gradient(jnp.where(right > left, 1, -1) - smooth))


def cost(tree, states, temperature=1.0):
    """The mean over paths of how far the pole leans and the cart is away, squared."""

    def step(states, _):
        states = jax.vmap(move)(states, act(tree, states, temperature))
        position, _, angle, _ = (states / UNITS).T
        return states, jnp.mean(angle**2 + 0.3 * position**2)

    return jnp.mean(jax.lax.scan(step, states, length=HORIZON)[1])


@functools.partial(jax.jit, static_argnames="number")
def run_episodes(tree, key, number):
    """The steps of each episode, and its states, of which those after its end do not count."""

    def step(carry, _):
        states, lives = carry
        after = jax.vmap(move)(states, act(tree, states))
        return (after, lives & jnp.all(jnp.abs(after) <= LIMITS, axis=1)), (states, lives)

    states = jax.random.uniform(key, (number, 4), minval=-0.05, maxval=0.05)
    _, (path, lives) = jax.lax.scan(step, (states, jnp.ones(number, bool)), length=LONGEST)
    return jnp.sum(lives, axis=0), path


def draw_states(key, number):
    """States from which training starts."""
    return jax.random.uniform(key, (number, 4), minval=-1, maxval=1) * WIDEST


def first_tree(key, form):
    """A tree to train from, its gates among such states."""
    tree_key, state_key = jax.random.split(key)
    return soft.init(form, key=tree_key, inputs=draw_states(state_key, 1000) / UNITS)


def train(key, way, num_steps=NUM_STEPS):
    """A tree after steps of Adam, each on paths from other states."""

    def step(carry, key_and_number):
        (tree, state), (key, number) = carry, key_and_number
        temperature = way.last_temperature ** (number / num_steps)
        slope = jax.grad(cost)(tree, draw_states(key, NUM_PATHS), temperature)
        change, state = optimiser.update(slope, state)
        return (optax.apply_updates(tree, change), state), None

    tree_key, path_key = jax.random.split(key)
    optimiser = optax.chain(optax.clip_by_global_norm(1), optax.adam(optax.cosine_decay_schedule(0.05, num_steps)))
    tree = first_tree(tree_key, way.form)
    steps = jax.random.split(path_key, num_steps), jnp.arange(num_steps)
    return jax.lax.scan(step, (tree, optimiser.init(tree)), steps)[0][0]


def made_hard(tree, temperature):
    """A tree whose axis gates each look at their column of greatest share, as `soft.harden` makes them hard."""
    if tree.form.gate == "hard":
        return tree
    share = feature_shares(tree.gate.selection, temperature)
    chosen = jax.nn.one_hot(jnp.argmax(share, axis=1), share.shape[1])
    # A threshold for every column, of which the chosen one counts.
    threshold = jnp.repeat((tree.gate.threshold / jnp.max(share, axis=1))[:, None], share.shape[1], axis=1)
    return soft.SoftTree(HardGate(chosen, threshold, None), tree.leaf, FORM)


def learn(key, way, num_starts=NUM_STARTS, num_steps=NUM_STEPS):
    """The best of several trees, and its mean steps in fresh episodes."""
    train_key, choice_key, test_key = jax.random.split(key, 3)
    trees = jax.vmap(lambda key: train(key, way, num_steps))(jax.random.split(train_key, num_starts))

    def mean_steps(tree, key):
        return jnp.mean(run_episodes(made_hard(tree, way.last_temperature), key, NUM_EPISODES)[0])

    best = jnp.argmax(jax.vmap(mean_steps, in_axes=(0, None))(trees, choice_key))
    tree = jax.tree.map(lambda part: part[best], trees)
    return tree, mean_steps(tree, test_key)


def as_table(tree):
    """The node table of a tree of hard gates, of the states that its own episodes come to, and how often they agree.

    Sides that no state comes to are left out, and so is a gate whose sides do the same.
    """
    steps, path = run_episodes(tree, jax.random.key(0), NUM_EPISODES)
    is_seen = np.arange(LONGEST)[:, None] < np.asarray(steps)
    states = np.asarray(path, np.float64)[is_seen]
    encoder = Encoder().fit(pd.DataFrame(states, columns=NAMES))
    values = encoder.values(pd.DataFrame(states, columns=NAMES))
    inputs = soft.fit_inputs(values, encoder.schema_, scaling="none")
    does = np.eye(len(ACTIONS), dtype=np.float32)[np.argmax(tree.leaf.value, axis=1)]
    in_units = dataclasses.replace(
        tree,
        gate=tree.gate._replace(threshold=np.asarray(tree.gate.threshold) * UNITS.astype(np.float32)),
        leaf=tree.leaf._replace(value=does),
    )
    taken = (np.asarray(act(tree, states)) > 0).astype(int)
    rows = SoftSample(values, taken[:, None], np.ones(len(taken)))
    hardened = soft.harden(in_units, inputs, rows, num_classes=(2,))
    return hardened.tree, hardened.agreement


def in_words(table, node=0):
    """A line a branch, with what the tree does at its leaves."""
    if table.is_leaf[node]:
        return []
    name, threshold, lines = NAMES[int(table.feature[node])], float(table.threshold[node]), []
    for branch, sign in enumerate(("<=", ">")):
        child = int(table.first_child[node]) + branch
        does = f": push {ACTIONS[int(np.argmax(table.value[child]))]}" if table.is_leaf[child] else ""
        lines += [f"{name} {sign} {threshold:.3f}{does}", *(f"|   {line}" for line in in_words(table, child))]
    return lines


def measure(name, num_seeds, seed):
    """Mean steps and leaves of every seed, seconds of both calls, and the smallest of the best trees in words."""
    way, keys = WAYS[name], jax.random.split(jax.random.key(seed), num_seeds)
    program = jax.jit(jax.vmap(functools.partial(learn, way=way)))
    figures = {}
    for call in ("cold", "warm"):
        start, cpu_start = time.perf_counter(), time.process_time()
        trees, steps = jax.block_until_ready(program(keys))
        figures[call] = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
    figures["steps"] = np.round(np.asarray(steps, np.float64), 2).tolist()
    if way.form.gate == "hard":
        tables = [as_table(jax.tree.map(lambda part: part[number], trees)) for number in range(num_seeds)]  # noqa: B023
        figures["leaves"] = [int(np.sum(table.is_leaf)) for table, _ in tables]
        figures["agreement"] = min(agreement for _, agreement in tables)
        chosen = min(range(num_seeds), key=lambda number: (-figures["steps"][number], figures["leaves"][number]))
        figures["words"] = in_words(tables[chosen][0])
    return figures


def show(name, figures):
    quartiles = np.percentile(figures["steps"], [0, 25, 50, 75, 100]).round(1).tolist()
    solved = sum(step == LONGEST for step in figures["steps"])
    print(f"{name}: least, quartiles and most {quartiles}; {solved} of {len(figures['steps'])} seeds at {LONGEST}")
    for call in ("cold", "warm"):
        print(f"  {call} {figures[call]['seconds']:.1f} s, {figures[call]['cpu_seconds']:.1f} s of CPU")
    if "words" in figures:
        print(
            f"  leaves {sorted(figures['leaves'])}; the table acts as the tree in {figures['agreement']:.4f} of states"
        )
        print(*figures["words"], sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1, help="from which the keys of all seeds are made")
    parser.add_argument("--only", choices=list(WAYS), help="one contender")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / f"policy-{date.today()}.json")
    options = parser.parse_args()
    found = {
        "date": str(date.today()),
        "device": str(jax.devices()[0]),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("jax", "jaxlib", "optax", "numpy")},
        "seed": options.seed,
    }
    for name in [options.only] if options.only else WAYS:
        found[name] = measure(name, options.seeds, options.seed)
        show(name, found[name])
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
