"""Boosting on columns of many categories: ordered statistics beside subsets, a target encoder and LightGBM.

    pip install '.[bench]'
    python benchmarks/boosting_categories.py [--rows 20000] [--rounds 200]

Generated tables: columns of 30, 300 and 3,000 categories with an effect of every category, one of 1,000 without any,
and four numbers; categories are equally frequent, or by Zipf's law. The log loss or the root mean squared error of as
many other rows, the mean of two tables, in the best round and in the last; and seconds of the CPU for a fit.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

import jaxtree

SIZES, USELESS = (30, 300, 3000), 1000
NAMES = (*(f"of {size}" for size in SIZES), "useless")
STEPS = 8
"""Rounds are looked at in so many steps."""


def generated(num_rows: int, seed: int, *, is_skewed: bool, is_class: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """A table and its target; the effects are the same for all rows of a seed."""
    rng = np.random.default_rng(seed)
    effect, columns = np.zeros(num_rows), {}
    for name, size in zip(NAMES, (*SIZES, USELESS), strict=True):
        share = 1 / np.arange(1, size + 1) ** 1.1 if is_skewed else np.ones(size)
        code = rng.choice(size, num_rows, p=share / share.sum())
        effect += 0 if name == "useless" else 0.7 * rng.normal(size=size)[code]
        columns[name] = pd.Categorical(code.astype(str))
    numbers = rng.normal(size=(num_rows, 4))
    effect += numbers[:, 0] + numbers[:, 1] * numbers[:, 2]
    table = pd.DataFrame(columns | {f"number {at}": values for at, values in enumerate(numbers.T)})
    if is_class:
        return table, (rng.random(num_rows) < 1 / (1 + np.exp(-effect))).astype(int)
    return table, effect + 1.5 * rng.normal(size=num_rows)


def models(num_rounds: int, *, is_class: bool) -> Iterator[tuple[str, Any]]:
    """The contenders."""
    ours = jaxtree.GradientBoostingClassifier if is_class else jaxtree.GradientBoostingRegressor
    for splits in ("ordered", "subset"):
        yield f"jaxtree, {splits}", ours(num_rounds, max_categories=None, categorical_splits=splits)
    encoder = make_column_transformer((TargetEncoder(random_state=0), list(NAMES)), remainder="passthrough")
    yield "jaxtree, TargetEncoder", make_pipeline(encoder, ours(num_rounds))
    theirs = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
    yield "LightGBM", theirs(n_estimators=num_rounds, learning_rate=0.1, verbose=-1)


def losses(model: Any, X: pd.DataFrame, y: np.ndarray, num_rounds: int, *, is_class: bool) -> list[float]:
    """The loss of rows after parts of the rounds."""
    name, score = ("predict_proba", log_loss) if is_class else ("predict", root_mean_squared_error)
    rounds = np.linspace(0, num_rounds, STEPS + 1).astype(int)[1:]
    if isinstance(model, lightgbm.LGBMModel):
        return [score(y, getattr(model, name)(X, num_iteration=number)) for number in rounds]
    if hasattr(model, "steps"):
        X, model = model[0].transform(X), model[-1]
    staged = list(getattr(model, f"staged_{name}")(X))
    return [score(y, staged[number - 1]) for number in rounds]


def main() -> None:
    """Prints a line a contender and kind of table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    for is_class, is_skewed in ((True, False), (True, True), (False, False), (False, True)):
        kind = f"{'classes' if is_class else 'numbers'}, {'Zipf' if is_skewed else 'equal'}"
        tables = [generated(2 * given.rows, seed, is_skewed=is_skewed, is_class=is_class) for seed in range(2)]
        for name, _ in models(given.rounds, is_class=is_class):
            results, seconds = [], 0.0
            for X, y in tables:
                model = dict(models(given.rounds, is_class=is_class))[name]
                start = time.process_time()
                model.fit(X[: given.rows], y[: given.rows])
                seconds += (time.process_time() - start) / len(tables)
                other = X[given.rows :], y[given.rows :]
                results.append(losses(model, *other, given.rounds, is_class=is_class))
            mean = np.mean(results, axis=0)
            print(f"{kind:16} {name:24} best {mean.min():.4f}  last {mean[-1]:.4f}  {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
