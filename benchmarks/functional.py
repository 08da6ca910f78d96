"""`jaxtree.functional` beside our estimator, LightGBM and scikit-learn: fits, many settings, a policy, compile times.

    pip install -e '.[bench]'
    python -m benchmarks.functional [--quick] [--only fit many large policy compile]

Contenders take turns, so that all see the same machine, and the median of the ratios of neighbours is printed with the
least CPU and wall seconds of each. All have as many cores as there are.
"""

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_diabetes

import jaxtree
from benchmarks import policy
from jaxtree import boosting
from jaxtree.functional import Boosting, Hyper, bins, fit

LEAVES, BINS, ROUNDS, SETTINGS = 16, 64, 100, 256
AIMS = {"fit": (0.25, 0.5), "many": (0.3, 0.5), "large": (1.0, None), "policy": (0.05, None), "compile": (3.0, None)}
"""The most of our estimator's time, or of scikit-learn's at every step, and of LightGBM's; of "compile" seconds."""


class Case(NamedTuple):
    """Contenders of a case, each a call that fits; the first is ours by functions.

    Attributes:
        words: The case in words.
        contenders: The calls by name.
    """

    words: str
    contenders: dict[str, Callable[[], Any]]


def table(num_rows: int, num_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and targets that some of them explain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, num_columns))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=num_rows)
    return X, (y - y.mean()) / y.std()


def settings(number: int) -> list[dict[str, float]]:
    """Rates, depths and penalties."""
    rng = np.random.default_rng(1)
    return [
        {
            "learning_rate": float(np.exp(rng.uniform(np.log(0.03), np.log(0.3)))),
            "max_depth": int(rng.integers(2, 8)),
            "reg_lambda": float(rng.uniform(0, 5)),
        }
        for _ in range(number)
    ]


def lightgbm(X: np.ndarray, y: np.ndarray, **own: float) -> Any:
    """A fit of LightGBM's with the same leaves, bins and rounds."""
    import lightgbm as peer

    names = {"learning_rate": 0.1, "max_depth": -1, "reg_lambda": 1.0} | own
    parameters = {"objective": "regression", "num_leaves": LEAVES, "max_bin": BINS, "verbose": -1} | names
    parameters["num_threads"] = os.cpu_count()
    return peer.train(parameters, peer.Dataset(X, y, params={"max_bin": BINS, "verbose": -1}), ROUNDS)


def estimator(X: np.ndarray, y: np.ndarray, **own: float) -> Any:
    """A fit of our estimator's."""
    return jaxtree.GradientBoostingRegressor(ROUNDS, max_leaf_nodes=LEAVES, max_bins=BINS, **own).fit(X, y)


def one_fit(X: np.ndarray, y: np.ndarray) -> Case:
    """A warm fit, from numbers to a model, as the peers make it."""
    boost = fit(boosting.squared(), ROUNDS, Boosting(BINS, LEAVES, has_missing=False))
    program = jax.jit(lambda X, y, hyper: boost(bins(X, BINS)(X), y, hyper))
    rows, target, hyper = jnp.asarray(X), jnp.asarray(y), Hyper()
    contenders = {
        "functional": lambda: jax.block_until_ready(program(rows, target, hyper)),
        "estimator": lambda: estimator(X, y),
        "LightGBM": lambda: lightgbm(X, y),
    }
    num_rows, num_columns = X.shape
    return Case(f"{num_rows:,} x {num_columns}, {ROUNDS} rounds, one fit", contenders)


def many_fits(number: int) -> Case:
    """Settings by `vmap`, beside loops."""
    X, y = table(1_000, 10)
    boost = fit(boosting.squared(), ROUNDS, Boosting(BINS, LEAVES, has_missing=False))
    all_settings = settings(number)
    hypers = {name: jnp.array([own[name] for own in all_settings]) for name in all_settings[0]}

    @jax.jit
    def search(X: Any, y: Any, hypers: Any) -> Any:
        codes = bins(X, BINS)(X)
        return jax.vmap(lambda own: boost(codes, y, Hyper(**own)).stack.value)(hypers)

    rows, target = jnp.asarray(X), jnp.asarray(y)
    contenders = {
        "functional": lambda: jax.block_until_ready(search(rows, target, hypers)),
        "estimator": lambda: [estimator(X, y, **own) for own in all_settings],
        "LightGBM": lambda: [lightgbm(X, y, **own) for own in all_settings],
    }
    return Case(f"{number} settings, 1,000 x 10, {ROUNDS} rounds", contenders)


def policies(num_turns: int) -> Case:
    """Learning to balance a pole, in one program and around scikit-learn."""
    key = jax.random.key(0)
    learn = jax.jit(lambda key: policy.learn(key, num_turns))
    at_steps, at_updates = (policy.BySklearn(num_turns, compiles_steps) for compiles_steps in (False, True))
    contenders = {
        "functional": lambda: jax.block_until_ready(learn(key)),
        "scikit-learn, at every step": lambda: at_steps.learn(key),
        "scikit-learn, at every update": lambda: at_updates.learn(key),
    }
    return Case(f"a policy, {num_turns * policy.CARTS * policy.STEPS:,} steps", contenders)


def compare(case: Case, turns: int) -> list[str]:
    """Returns the lines of a case: seconds, and ratios of neighbouring turns."""
    wall: dict[str, list[float]] = {name: [] for name in case.contenders}
    cpu: dict[str, list[float]] = {name: [] for name in case.contenders}
    for call in case.contenders.values():
        call()
    for _ in range(turns):
        for name, call in case.contenders.items():
            begin, used = time.perf_counter(), time.process_time()
            call()
            wall[name].append(time.perf_counter() - begin)
            cpu[name].append(time.process_time() - used)
    ours = wall["functional"]
    lines = []
    for name, seconds in wall.items():
        ratio = median(own / other for own, other in zip(ours, seconds, strict=True))
        lines.append(f"| {case.words} | {name} | {min(seconds):.4f} | {min(cpu[name]):.4f} | {ratio:.2f} |")
    return lines


def compile_lines() -> list[str]:
    """Returns seconds of tracing and compiling a fit of few and of many rounds, and of a second form."""
    X, y = table(1_000, 10)
    codes, lines = bins(X, BINS)(X), []
    for form in (Boosting(BINS, LEAVES), Boosting(BINS, 2 * LEAVES, has_missing=False)):
        for rounds in (20, 1_000):
            boost = fit(lambda scores, target: (scores - target) ** 2, rounds, form)
            begin = time.perf_counter()
            jax.jit(lambda y, hyper, boost=boost: boost(codes, y, hyper)).lower(y, Hyper()).compile()
            words = f"compile, {form.num_leaves} leaves, {rounds:,} rounds"
            lines.append(f"| {words} | functional | {time.perf_counter() - begin:.2f} | | |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer settings and turns")
    parser.add_argument("--only", nargs="+", choices=tuple(AIMS), default=list(AIMS))
    arguments = parser.parse_args()
    # Programs are compiled here, and not read from those of an earlier run.
    jax.config.update("jax_enable_compilation_cache", False)
    turns, number = (3, 16) if arguments.quick else (7, SETTINGS)
    cases = {
        "fit": lambda: compare(one_fit(*load_diabetes(return_X_y=True)), turns),
        "many": lambda: compare(many_fits(number), 1 if arguments.quick else 2),
        "large": lambda: compare(one_fit(*table(10_000, 20)), turns),
        "policy": lambda: compare(policies(4 if arguments.quick else 20), 2),
        "compile": compile_lines,
    }
    print("| case | contender | wall s | CPU s | functional / contender |\n|---|---|---:|---:|---:|")
    for name in arguments.only:
        for line in cases[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
