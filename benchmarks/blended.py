"""Boosting and ensembles by gradients, both by folds, and their mean: unseen rows of thirteen tables.

    pip install '.[bench,frames]'
    python -m benchmarks.blended --data FOLDER [--tables credit-g ...] [--rows 4000] [--seeds 2] [--rest] [--out FOLDER]

"boosted" and "gradients" are defaults that stop by folds: boosted trees, and a forest whose hard gates are trained by
gradients. "blended" is the mean of their scores, by the weights that are best on predictions of rows that neither has
seen in training; "halved" is the mean with equal weights. "boosted twice" is the mean of boosted models of two seeds,
which shows how much of a gain any second model brings. With --rest, "on the rest" is a forest by gradients that is
fitted with the scores of boosting as offset: those of training rows are of models that have not seen them. Losses are
log losses and root mean squared errors of test rows.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

import jaxtree
from jaxtree.boosting import softmax
from jaxtree.search.ensemble import AveragingScale, select_with_replacement
from jaxtree_studies.tables.thirteen import NUMBERS, TABLES, read_table

TEST_ROWS = 4000
ALONE = ("boosted", "gradients")
TOGETHER = ("blended", "halved", "boosted twice", "on the rest")
PERCENT = 2.0
"""The gain in percent that is aimed at."""

Predictions = Float[np.ndarray, "row column"]


def predictions_of(model: Any, X: Any) -> Predictions:
    """Returns the shares of classes, or a column of numbers."""
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)[:, None]


def out_of_fold(model: Any) -> Predictions:
    """Returns predictions for the rows of a fit by models that have not seen them."""
    return model.oof_predictions_.reshape(len(model.oof_predictions_), -1)


def on_the_rest(boosted: Any, X: Any, y: np.ndarray, test_X: Any, scale: AveragingScale, seed: int) -> Predictions:
    """Returns predictions of boosting and of a forest that has learned what boosting leaves, together."""
    offset = scale.scores(out_of_fold(boosted))
    if hasattr(boosted, "classes_"):
        forest: Any = jaxtree.SoftForestClassifier(
            gate="hard", loss=softmax(len(boosted.classes_)), label_smoothing=0.0, random_state=seed
        )
    else:
        forest, offset = jaxtree.SoftForestRegressor(gate="hard", random_state=seed), offset[:, 0]
    forest.fit(X, y, offset=offset)
    both = predictions_of(boosted, test_X), predictions_of(forest, test_X)
    return scale.predictions(sum(map(scale.scores, both)))


def measure_seed(name: str, arguments: argparse.Namespace, seed: int) -> dict[str, Any]:
    """The losses of every way, the weight of boosting in the mean, and seconds."""
    X, y = read_table(name, arguments.data)
    is_number = name in NUMBERS
    kind, strata = ("Regressor", None) if is_number else ("Classifier", y)
    # Three quarters learn where the table is small.
    train, test = train_test_split(
        np.arange(len(X)), train_size=min(arguments.rows, 3 * len(X) // 4), random_state=seed, stratify=strata
    )
    test = test[:TEST_ROWS]
    own, other, own_y = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True), y[train]
    loss: Callable[[np.ndarray, Predictions], float] = (
        root_mean_squared_error if is_number else lambda y, said: log_loss(y, said, labels=np.unique(own_y))
    )
    boosting = getattr(jaxtree, f"GradientBoosting{kind}")
    seconds = {}

    def timed(way: str, model: Any) -> Any:
        began = time.process_time()
        model.fit(own, own_y)
        seconds[way] = time.process_time() - began
        return model

    models = [
        timed("boosted", boosting(early_stopping="cv", random_state=seed)),
        timed("gradients", getattr(jaxtree, f"SoftForest{kind}")(gate="hard", random_state=seed)),
        timed("boosted again", boosting(early_stopping="cv", random_state=1000 + seed)),
    ]
    scale = AveragingScale.of(models[0])
    unseen = [scale.scores(out_of_fold(model)) for model in models[:2]]
    weights = select_with_replacement(unseen, lambda scores: -loss(own_y, scale.predictions(scores)))
    said = np.stack([predictions_of(model, other) for model in models])
    found = {
        "boosted": said[0],
        "gradients": said[1],
        "blended": scale.mean(weights, said[:2]),
        "halved": scale.mean(np.full(2, 0.5), said[:2]),
        "boosted twice": scale.mean(np.full(2, 0.5), said[[0, 2]]),
    }
    if arguments.rest:
        found["on the rest"] = on_the_rest(models[0], own, own_y, other, scale, seed)
    losses = {way: float(loss(y[test], own)) for way, own in found.items()}
    return {"losses": losses, "weight of boosting": float(weights[0]), "rows": len(train), "CPU seconds": seconds}


def measure(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The mean losses of a table, and by how many percent each way has less than the better one alone."""
    seeds = [measure_seed(name, arguments, seed) for seed in range(arguments.seeds)]
    mean = {way: float(np.mean([own["losses"][way] for own in seeds])) for way in seeds[0]["losses"]}
    least = min(mean[way] for way in ALONE)
    gains = {way: 100 * (1 - mean[way] / least) for way in TOGETHER if way in mean}
    return {"losses": mean, "percent less than the better one alone": gains, "seeds": seeds}


def print_summary(tables: dict[str, Any]) -> None:
    """Prints on how many tables each way is better than both models alone, and by how much in the mean."""
    for way in TOGETHER:
        measured = [own for own in tables.values() if way in own["losses"]]
        if not measured:
            continue
        gains = [own["percent less than the better one alone"][way] for own in measured]
        beside = []
        for alone in ALONE:
            of_tables = [100 * (1 - own["losses"][way] / own["losses"][alone]) for own in measured]
            beside.append(f"{np.mean(of_tables):+.2f} than {alone} ({sum(gain > 0 for gain in of_tables)} tables)")
        print(
            f"{way}: less loss than each alone on {sum(gain > 0 for gain in gains)} of {len(gains)} tables, by "
            f"{PERCENT:g} percent on {sum(gain >= PERCENT for gain in gains)}; percent less in the mean: "
            f"{np.mean(gains):+.2f} than the better one, {', '.join(beside)}"
        )


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--rows", type=int, default=4000, help="the most training rows of a table")
    parser.add_argument("--seeds", type=int, default=2, help="how often all rows are divided")
    parser.add_argument("--rest", action="store_true", help="also fit forests on what boosting leaves")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(given)
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {"date": str(date.today()), "jaxtree": version("jaxtree"), "rows": arguments.rows}
    tables: dict[str, Any] = report.setdefault("tables", {})
    for name in arguments.tables:
        own = tables[name] = measure(name, arguments)
        alone = ", ".join(f"{way} {own['losses'][way]:.4g}" for way in ALONE)
        gains = ", ".join(f"{way} {gain:+.2f}" for way, gain in own["percent less than the better one alone"].items())
        print(f"{name}: {alone}; percent less: {gains}", flush=True)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"blended-{report['date']}.json").write_text(json.dumps(report, indent=1) + "\n")
    print_summary(tables)


if __name__ == "__main__":
    main()
