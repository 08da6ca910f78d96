"""Losses of boosting beside libraries that have them: quantiles, distributions, survival times and rankings.

    pip install '.[bench]' ngboost
    python benchmarks/boosting_losses.py [--cases quantiles normal survival ranking] [--out FOLDER]

All tables are simulated, all contenders take the same number of rounds at the same rate, and a half of the rows tests.
Seconds are of the CPU; compiling is in `cold`, the first fit of jaxtree, and not in `warm`, the faster of two others.

- quantiles: 19 levels of 20,000 rows; one model beside 19 of LightGBM. The score is the mean pinball loss.
- normal: mean and scale of 40,000 rows, 500 rounds of depth 3; beside NGBoost. The score is minus the log likelihood.
- survival: 20,000 censored times; Cox's likelihood and accelerated failure times, beside XGBoost. The score is
  Harrell's concordance.
- ranking: 2,000 groups of 20 rows, lambdas of NDCG; beside LightGBM's lambdarank. The score is NDCG of the first 10.
"""

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import lightgbm
import numpy as np
import xgboost
from sklearn.metrics import ndcg_score

import jaxtree
from jaxtree.boosting import (
    BaseLearner,
    BaseLoss,
    BoostData,
    Boosted,
    ScoredRows,
    Shrinkage,
    accelerated_failure_time,
    boost,
    cox,
    distributions,
    ndcg,
    quantiles,
)
from jaxtree.growth import Limits
from jaxtree.growth.inputs.bundles import Sizes
from jaxtree.growth.native.trees import is_available
from jaxtree.tree.nodes import target_means
from jaxtree.tree.walk import apply

LEVELS = np.arange(1, 20) / 20
BINS, COLUMNS = 255, 10
ROUNDS, RATE, DEPTH = 100, 0.1, 5
NORMAL_ROUNDS, NORMAL_RATE, NORMAL_DEPTH = 500, 0.05, 3
GROUPS, ROWS_OF_A_GROUP = 2000, 20


def simulated(num_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Columns, and a smooth function of some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(num_rows, COLUMNS)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * np.abs(X[:, 3]), rng


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compared(ours: Callable, others: dict[str, Callable], score: Callable) -> dict[str, Any]:
    """The seconds and scores of all contenders, which take turns; a score is a number by name, or several."""
    cold, predicted = seconds_of(ours)
    report = {"jaxtree": {"cold": cold, "warm": np.inf} | score(predicted)}
    for turn in range(2):
        seconds, _ = seconds_of(ours)
        report["jaxtree"]["warm"] = min(report["jaxtree"]["warm"], seconds)
        for name, fit in others.items() if turn == 0 else ():
            seconds, predicted = seconds_of(fit)
            report[name] = {"seconds": seconds, "by ours": seconds / report["jaxtree"]["warm"]} | score(predicted)
    return report


def boosted_scores(X: np.ndarray, y: np.ndarray, loss: BaseLoss, extras: dict) -> Callable:
    """Boosts by the pure functions, and returns the function from columns to scores."""
    edges = np.quantile(X, np.arange(1, BINS) / BINS, axis=0).T
    encode = lambda X: np.stack([np.searchsorted(*pair) for pair in zip(edges, X.T, strict=True)]).astype(np.uint8)  # noqa: E731
    limits = Limits(max_depth=DEPTH, min_samples_split=0, min_samples_leaf=0, min_weight_leaf=1.0, min_gain=1e-300)
    learner = BaseLearner(limits, Sizes(BINS, 2 ** (DEPTH + 1)))
    rows = ScoredRows(encode(X), y, np.ones(len(y)), extras)
    model = boost(BoostData(rows), loss, learner, Shrinkage(RATE), num_rounds=ROUNDS)
    return lambda X: _scores_of(model, encode(X))


def _scores_of(model: Boosted, codes: np.ndarray) -> np.ndarray:
    steps = (target_means(tree)[np.asarray(apply(tree, codes)), 0] for tree in model.forest)
    return model.start[0] + sum(steps)


def of_quantiles() -> dict[str, Any]:
    """19 quantiles of numbers whose spread depends on the columns."""
    X, mean, rng = simulated(40_000)
    y = mean + np.exp(0.5 * X[:, 4]) * rng.normal(size=len(mean))
    (own, test), (own_y, test_y) = np.split(X, 2), np.split(y, 2)
    shared = {"n_estimators": ROUNDS, "learning_rate": RATE, "max_depth": DEPTH}
    loss = quantiles(LEVELS)

    def ours() -> np.ndarray:
        model = jaxtree.GradientBoostingRegressor(**shared, loss=loss).fit(own, own_y)
        return np.asarray(loss.predict(model.raw_scores(test).T)).T

    def lightgbms() -> np.ndarray:
        light = [
            lightgbm.LGBMRegressor(**shared, objective="quantile", alpha=level, n_jobs=os.cpu_count(), verbose=-1)
            for level in LEVELS
        ]
        return np.stack([model.fit(own, own_y).predict(test) for model in light], axis=1)

    def pinball(predicted: np.ndarray) -> dict[str, float]:
        above = test_y[:, None] - predicted
        crosses = np.any(np.diff(predicted, axis=1) < 0, axis=1)
        loss = np.maximum(LEVELS * above, (LEVELS - 1) * above).mean()
        return {"pinball": float(loss), "rows that cross": float(crosses.mean())}

    return compared(ours, {"lightgbm": lightgbms}, pinball)


def of_normal() -> dict[str, Any]:
    """Normal distributions whose scale depends on the columns."""
    X, mean, rng = simulated(80_000)
    y = mean + np.exp(0.5 * X[:, 4]) * rng.normal(size=len(mean))
    (own, test), (own_y, test_y) = np.split(X, 2), np.split(y, 2)
    shared = {"n_estimators": NORMAL_ROUNDS, "learning_rate": NORMAL_RATE}
    loss = distributions.normal()

    def ours() -> np.ndarray:
        model = jaxtree.GradientBoostingRegressor(**shared, max_depth=NORMAL_DEPTH, loss=loss).fit(own, own_y)
        return np.asarray(loss.values(model.raw_scores(test).T, test_y, {}))

    def theirs() -> np.ndarray:
        model = importlib.import_module("ngboost").NGBRegressor(**shared, verbose=False).fit(own, own_y)
        return -model.pred_dist(test).logpdf(test_y)

    return compared(ours, {"ngboost": theirs}, lambda losses: {"minus log likelihood": float(np.mean(losses))})


def of_survival() -> dict[str, Any]:
    """Weibull times, half of them censored."""
    X, effect, rng = simulated(40_000)
    times, ends = np.exp(-effect) * rng.exponential(size=len(X)) ** 0.7, rng.exponential(size=len(X))
    time, event = np.minimum(times, ends), times <= ends
    (own, test), (own_time, test_time), (own_event, test_event) = (np.split(part, 2) for part in (X, time, event))
    shared = {"max_depth": DEPTH, "learning_rate": RATE, "tree_method": "hist", "nthread": os.cpu_count()}

    def theirs(objective: str, **labels: np.ndarray) -> np.ndarray:
        data = xgboost.DMatrix(own, **labels)
        model = xgboost.train(shared | {"objective": objective}, data, ROUNDS)
        return model.predict(xgboost.DMatrix(test), output_margin=True)

    def concordance(risk: np.ndarray) -> dict[str, float]:
        """The part of pairs, of which it is known who had the event first, that the risks put in order."""
        pairs = wins = 0.0
        for event_time, own_risk in zip(test_time[test_event][:4000], risk[test_event][:4000], strict=True):
            later = test_time > event_time
            pairs, wins = (
                pairs + later.sum(),
                wins + (risk[later] < own_risk).sum() + (risk[later] == own_risk).sum() / 2,
            )
        return {"concordance": float(wins / pairs)}

    upper = np.where(own_event, own_time, np.inf)
    failure = accelerated_failure_time("normal", scale=1.0)
    cases = {
        "cox": (
            lambda: boosted_scores(own, own_time, cox(), {"event": own_event.astype(float)})(test),
            lambda: theirs("survival:cox", label=np.where(own_event, own_time, -own_time)),
        ),
        "failure times": (
            lambda: -boosted_scores(own, own_time, failure, {"upper": upper})(test),
            lambda: -theirs("survival:aft", label_lower_bound=own_time, label_upper_bound=upper),
        ),
    }
    return {name: compared(own, {"xgboost": other}, concordance) for name, (own, other) in cases.items()}


def of_ranking() -> dict[str, Any]:
    """Degrees of relevance from 0 to 4, of which most are 0."""
    X, worth, rng = simulated(2 * GROUPS * ROWS_OF_A_GROUP)
    noisy = worth + rng.normal(size=len(worth))
    y = np.digitize(noisy, np.quantile(noisy, [0.5, 0.75, 0.9, 0.97])).astype(float)
    group = np.repeat(np.arange(2 * GROUPS), ROWS_OF_A_GROUP)
    (own, test), (own_y, test_y), (own_group, _) = (np.split(part, 2) for part in (X, y, group))
    shared = {"n_estimators": ROUNDS, "learning_rate": RATE, "max_depth": DEPTH}

    def theirs() -> np.ndarray:
        model = lightgbm.LGBMRanker(**shared, n_jobs=os.cpu_count(), verbose=-1)
        return model.fit(own, own_y, group=np.full(GROUPS, ROWS_OF_A_GROUP)).predict(test)

    def gain_of_ten(scores: np.ndarray) -> dict[str, float]:
        gains, scores = (2**test_y - 1).reshape(GROUPS, -1), scores.reshape(GROUPS, -1)
        return {"NDCG": float(ndcg_score(gains[gains.any(axis=1)], scores[gains.any(axis=1)], k=10))}

    ours = lambda: boosted_scores(own, own_y, ndcg(), {"group": own_group})(test)  # noqa: E731
    return compared(ours, {"lightgbm": theirs}, gain_of_ten)


CASES = {"quantiles": of_quantiles, "normal": of_normal, "survival": of_survival, "ranking": of_ranking}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path, help="folder for the figures as JSON")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)
    packages = {"xgboost": "xgboost-cpu", "scikit-learn": "scikit-learn"}
    libraries = ["jax", "lightgbm", "xgboost", "scikit-learn", *(["ngboost"] if "normal" in arguments.cases else [])]
    report: dict[str, Any] = {
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "kernel": is_available(),
        "load before": os.getloadavg()[0],
        "versions": {name: version(packages.get(name, name)) for name in libraries},
    }
    for name in arguments.cases:
        report[name] = CASES[name]()
        print(name, json.dumps(report[name]), flush=True)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"boosting-losses-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
