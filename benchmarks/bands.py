"""Bands of additive models, boosted trees and forests: how often they hold what is known, and how long adult takes.

    pip install '.[bench]' interpret-core
    python -m benchmarks.bands [--models MODEL ...] [--seeds 20] [--rows 500 5000] [--adult FOLDER] [--out FILE]

Tables are simulated. For additive models four columns, even from 0 to 1, add a sine, a step, a line and nothing to the
score, and two of them a surface; targets have normal noise of deviation 1, or are classes of these log odds. Figures
are shares of rows at whose values the band of a curve holds the truth, which is centred over the rows as curves are,
and of which the surface is pure: the mean of the four curves over seeds, with the 95 % interval of that mean, and each
curve. The level is 0.9. `bands` is `model.bands`; `bags` are the intervals of `explain_global`, from eight bags, at the
same level; `interpret` is interpret's error bar, the standard deviation of 14 bags, times 1.645, of the first seeds.
`importances` is the share of the five terms whose band holds the mean size of the true curve over the rows, and
`predictions` that of 400 new rows. `width` is the mean half width. Seconds are of the CPU, and of the wall where that
is said.

For boosted trees there are five columns, the score of which is the same sum without the surface ("additive"), or a
product of two columns and a sine that another switches on ("interaction"), with normal noise of deviation 1; or classes
of the log odds of the sum ("classes"), and of three classes ("three"). Figures are shares of 400 new rows whose band
holds the true mean, or the true probability, and of 25 of them that are predicted one by one; and of the values of the
first column at which the band of its dependence holds the mean of the truth over the rows of the fit.

Forests have the same tables, and one of survival times ("times"): of exponential ones with the sum as logarithm of the
hazard, about a third of which are censored, at five times. Rows of all seeds are new ones in common: `own` is the share
of them whose band holds the mean of the predictions of all seeds, which is what the forest says without noise.
"""

import argparse
import itertools
import json
import os
import time
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import jaxtree
from benchmarks.suite.provenance import describe_run
from jaxtree.additive.purify import purify
from jaxtree_studies.tables.thirteen import read_table

LEVEL, NORMAL = 0.9, 1.6448536
PAIR = (2, 3)
CURVES = ("sine", "step", "line", "nothing", "pair")
PACKAGES = ("jaxtree", "jax", "interpret-core", "numpy", "scikit-learn")


def simulate(noise: str, num_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """The columns, the target, and what every curve adds to the score of each row."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(size=(num_rows, 4))
    step = np.where(X[:, 1] < 0.3, -1.0, np.where(X[:, 1] < 0.7, 0.2, 1.0))
    surface = 4 * (X[:, PAIR[0]] - 0.5) * (X[:, PAIR[1]] - 0.5)
    parts = [np.sin(2 * np.pi * X[:, 0]), step, 2 * X[:, 2] - 1, np.zeros(num_rows), surface]
    score = sum(parts)
    if noise == "normal":
        return X, score + generator.normal(size=num_rows), parts
    return X, (generator.uniform(size=num_rows) < 1 / (1 + np.exp(-score))).astype(int), parts


def held_by(values: Any, half: Any, parts: list[np.ndarray]) -> dict[str, Any]:
    """How often bands of every curve hold it, and their mean half widths, from both at the rows."""
    far = [np.abs(own - part) for own, part in zip(values, parts, strict=True)]
    held = [float(np.mean(own <= wide)) for own, wide in zip(far, half, strict=True)]
    return {"held": held, "width": [float(np.mean(own)) for own in half]}


def measure(noise: str, num_rows: int, seed: int, draws: int, *, with_peer: bool) -> dict[str, Any]:
    """The figures of one table."""
    X, y, parts = simulate(noise, num_rows, seed)
    kind = "Regressor" if noise == "normal" else "Classifier"
    began = time.process_time()
    model = getattr(jaxtree, f"ExplainableBoosting{kind}")(interactions=[PAIR]).fit(X, y)
    fitted = time.process_time()
    bands = model.bands(X, y, level=LEVEL, draws=draws)
    seconds = {"fit": fitted - began, "bands": time.process_time() - fitted}
    codes, layout = model.encoder_.transform(X), model.additive_.layout
    places = [layout.bins_of(term, codes) for term in range(layout.num_terms)]

    def at_rows(terms: Any, ends: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
        found = [(own.values.reshape(-1), ends(own)[1].reshape(-1)) for own in (terms[name] for name in names)]
        values = [own[at] for (own, _), at in zip(found, places, strict=True)]
        return values, [(upper - own)[at] for (own, upper), at in zip(found, places, strict=True)]

    right = np.zeros((layout.num_places, 1))
    for term, (at, part) in enumerate(zip(places, parts, strict=True)):
        rows = np.bincount(at, minlength=layout.size[term])
        right[layout.places(term), 0] = np.bincount(at, part, len(rows)) / np.maximum(rows, 1)
    right = purify(layout, right, model.additive_.weight)[1][:, 0]
    parts = [right[layout.places(term)][at] for term, at in enumerate(places)]
    names = model.term_names_
    found = {
        "bands": held_by(*at_rows(bands.explain_global(), lambda term: term.band), parts),
        "bags": held_by(*at_rows(model.explain_global(), lambda term: term.interval(LEVEL)), parts),
    }
    found["bands"]["simulated"] = [bands.coverage[name] for name in names]
    found["bands"]["bias"] = [bands.bias[name] for name in names]
    sizes, (new, _, told) = bands.importances(), simulate(noise, NUM_NEW, 2**20 + seed)
    right = np.array([np.abs(part).mean() for part in parts])
    found["importances"] = ((sizes.lower <= right) & (right <= sizes.upper)).tolist()
    band, score = bands.predict(new), sum(told)
    near = score if noise == "normal" else 1 / (1 + np.exp(-np.stack([-score, score], axis=1)))
    found["predictions"] = held_share(band, near)
    if with_peer:
        found["interpret"] = _of_interpret(kind, X, y, parts)
    return {"seed": seed, "seconds": seconds, **found}


def _of_interpret(kind: str, X: np.ndarray, y: np.ndarray, parts: list[np.ndarray]) -> dict[str, Any]:
    """The figures of interpret's error bars."""
    from interpret import glassbox

    model = getattr(glassbox, f"ExplainableBoosting{kind}")(interactions=[PAIR], n_jobs=1).fit(X, y)
    values, half = [], []
    for term, columns in enumerate(model.term_features_):
        at = tuple(
            np.searchsorted(model.bins_[column][min(len(columns), len(model.bins_[column])) - 1], X[:, column], "right")
            + 1
            for column in columns
        )
        values.append(model.term_scores_[term][at])
        half.append(NORMAL * model.standard_deviations_[term][at])
    return held_by(values, half, parts)


def _additive_score(X: np.ndarray) -> np.ndarray:
    step = np.where(X[:, 1] < 0.3, -1.0, np.where(X[:, 1] < 0.7, 0.2, 1.0))
    return np.sin(2 * np.pi * X[:, 0]) + step + 2 * X[:, 2] - 1


def _interaction(X: np.ndarray) -> np.ndarray:
    return 8 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + np.sin(2 * np.pi * X[:, 2]) * (X[:, 3] > 0.5)


def _of_two(X: np.ndarray) -> np.ndarray:
    second = 1 / (1 + np.exp(-_additive_score(X)))
    return np.stack([1 - second, second], axis=1)


def _of_three(X: np.ndarray) -> np.ndarray:
    odds = np.exp(np.stack([_additive_score(X), _interaction(X), np.zeros(len(X))], axis=1))
    return odds / odds.sum(axis=1, keepdims=True)


TRUTHS = {"additive": _additive_score, "interaction": _interaction, "classes": _of_two, "three": _of_three}
"""The true means, or the true probabilities of classes."""

SHAPES: dict[str, dict[str, Any]] = {
    "50 rounds": {"n_estimators": 50},
    "30 rounds of depth 2": {"n_estimators": 30, "max_depth": 2},
    "early stopping": {"early_stopping": True, "random_state": 0},
}
"""Models: the second has not learned all that rows tell."""

MODELS = ("additive", "boosted", "forest")

NUM_NEW, NUM_ALONE = 400, 25


def measure_boosted(truth: str, shape: str, num_rows: int, seed: int, draws: int) -> dict[str, Any]:
    """The figures of boosted trees on one table."""
    generator = np.random.default_rng(seed)
    X, right = generator.uniform(size=(num_rows, 5)), TRUTHS[truth]
    told = right(X)
    if told.ndim == 1:
        kind, y = jaxtree.GradientBoostingRegressor, told + generator.normal(size=num_rows)
    else:
        kind = jaxtree.GradientBoostingClassifier
        y = (generator.uniform(size=(num_rows, 1)) > told.cumsum(axis=1)[:, :-1]).sum(axis=1)
    began = time.process_time()
    model = kind(**SHAPES[shape]).fit(X, y)
    fitted = time.process_time()
    bands = model.bands(X, y, level=LEVEL, draws=draws)
    drawn = time.process_time()
    new = generator.uniform(size=(NUM_NEW, 5))
    alone = [held_share(bands.predict(row[None]), right(row[None])) for row in new[:NUM_ALONE]]
    found, means = bands.dependence(0), []
    for value in found.values:
        means.append(right(np.column_stack([np.full(num_rows, value), X[:, 1:]])).mean(axis=0))
    band, near = bands.predict(new), right(new)
    return {
        "seed": seed,
        "held": held_share(band, near),
        "alone": float(np.mean(alone)),
        "dependence": held_share(found.band, np.array(means).reshape(len(means), -1)),
        "width": float(np.mean(band.upper - band.lower) / 2),
        "error": float(np.sqrt(np.mean(np.square(band.center - near)))),
        "simulated": float(np.mean([*bands.coverage.values()])),
        "bias": float(np.mean([*bands.bias.values()])),
        "seconds": {"fit": fitted - began, "bands": drawn - fitted},
    }


FORESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "random forest": ("RandomForest", {}),
    "random forest, leaves of 10": ("RandomForest", {"min_samples_leaf": 10}),
    "extra trees": ("ExtraTrees", {}),
    "survival forest": ("SurvivalForest", {}),
}
"""Forests by their class, without its kind of target, and their parameters."""

TIMES = np.array([0.1, 0.3, 0.6, 1.0, 1.5])
"""Times at which curves of survival are judged."""


def measure_forest(truth: str, name: str, num_rows: int, seed: int, draws: int) -> dict[str, Any]:
    """The figures of a forest on one table, with the predictions of new rows and the ends of their bands."""
    generator, new = np.random.default_rng(seed), np.random.default_rng(2**20).uniform(size=(NUM_NEW, 5))
    X, (base, params), extras = generator.uniform(size=(num_rows, 5)), FORESTS[name], {}
    if truth == "times":
        kind, near = base, np.exp(-np.exp(_additive_score(new))[:, None] * TIMES)
        event, watched = generator.exponential(np.exp(-_additive_score(X))), generator.exponential(2, num_rows)
        y, extras = np.minimum(event, watched), {"event": event <= watched}
    else:
        told, near = TRUTHS[truth](X), TRUTHS[truth](new)
        kind, y = f"{base}Regressor", told + generator.normal(size=num_rows) if told.ndim == 1 else None
        if told.ndim > 1:
            kind = f"{base}Classifier"
            y = (generator.uniform(size=(num_rows, 1)) > told.cumsum(axis=1)[:, :-1]).sum(axis=1)
    began = time.process_time()
    model = getattr(jaxtree, kind)(random_state=seed, **params).fit(X, y, **extras)
    fitted = time.process_time()
    bands = model.bands(X, y, level=LEVEL, draws=draws, **extras)
    drawn = time.process_time()
    band = bands.survival(new, times=TIMES) if truth == "times" else bands.predict(new)
    found: dict[str, Any] = {"seed": seed, "held": held_share(band, near)}
    if truth != "times":
        tried, means = bands.dependence(0), []
        for value in tried.values:
            means.append(TRUTHS[truth](np.column_stack([np.full(num_rows, value), X[:, 1:]])).mean(axis=0))
        found["dependence"] = held_share(tried.band, np.array(means).reshape(len(means), -1))
    return found | {
        "width": float(np.mean(band.upper - band.lower) / 2),
        "error": float(np.sqrt(np.mean(np.square(band.center - near)))),
        "bias": float(np.mean([*bands.bias.values()])),
        "seconds": {"fit": fitted - began, "bands": drawn - fitted},
        "band": band,
    }


def summary_of_forest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, and the share of bands that hold the mean of the centers of all seeds."""
    own = np.mean([row["band"].center for row in rows], axis=0)
    held = np.array([row["held"] for row in rows])
    far = 1.96 * held.std(ddof=1) / np.sqrt(len(held)) if len(held) > 1 else np.nan
    names = [name for name in ("held", "dependence", "width", "error", "bias") if name in rows[0]]
    found: dict[str, Any] = {name: round(float(np.mean([row[name] for row in rows])), 3) for name in names}
    found["own"] = round(float(np.mean([held_share(row["band"], own) for row in rows])), 3)
    found["interval"] = np.round([held.mean() - far, held.mean() + far], 3).tolist()
    seconds = {name: round(np.mean([row["seconds"][name] for row in rows]), 2) for name in ("fit", "bands")}
    return found | {"cpu_seconds": seconds, "seeds": len(rows)}


def held_share(band: Any, right: np.ndarray) -> float:
    """The share of places at which a band holds the truth."""
    return float(np.mean((band.lower <= right) & (right <= band.upper)))


def summary_of_boosted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, and the 95 % interval of that of predictions."""
    held = np.array([row["held"] for row in rows])
    far = 1.96 * held.std(ddof=1) / np.sqrt(len(held)) if len(held) > 1 else np.nan
    names = ("held", "alone", "dependence", "width", "error", "simulated", "bias")
    found: dict[str, Any] = {name: round(np.mean([row[name] for row in rows]), 3) for name in names}
    found["interval"] = np.round([held.mean() - far, held.mean() + far], 3).tolist()
    seconds = {name: round(np.mean([row["seconds"][name] for row in rows]), 2) for name in ("fit", "bands")}
    return found | {"cpu_seconds": seconds, "seeds": len(rows)}


def summary_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, of the four curves with the 95 % interval of their mean."""
    found: dict[str, Any] = {}
    found["cpu_seconds"] = {
        name: round(np.mean([row["seconds"][name] for row in rows]), 2) for name in ("fit", "bands")
    }
    for way in ("bands", "bags", "interpret"):
        own = [row[way] for row in rows if way in row]
        if not own:
            continue
        held = np.array([one["held"] for one in own])
        curves = held[:, :4].mean(axis=1)
        interval = None
        if len(curves) > 1:
            far = 1.96 * curves.std(ddof=1) / np.sqrt(len(curves))
            interval = np.round([curves.mean() - far, curves.mean() + far], 3).tolist()
        found[way] = {
            "held": round(curves.mean(), 3),
            "interval": interval,
            "curves": dict(zip(CURVES, held.mean(axis=0).round(3).tolist(), strict=True)),
            "width": np.mean([one["width"] for one in own], axis=0).round(3).tolist(),
            "seeds": len(own),
        }
    found["predictions"] = round(float(np.mean([row["predictions"] for row in rows])), 3)
    found["importances"] = round(float(np.mean([row["importances"] for row in rows])), 3)
    return found


def time_adult(folder: Path, draws: int) -> dict[str, Any]:
    """Seconds of draws of adult's curves, of the wall and of the CPU, with and without pairs; after a first run."""
    X, y = read_table("adult", folder)
    found = {}
    for name, interactions in (("curves", 0), ("curves and pairs", "auto")):
        model = jaxtree.ExplainableBoostingClassifier(interactions=interactions).fit(X, y)
        model.bands(X, y, draws=20)
        wall, cpu = time.perf_counter(), time.process_time()
        bands = model.bands(X, y, draws=draws)
        seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        low = min(bands.coverage.values())
        found[name] = {
            "rows": len(X),
            "draws": draws,
            "terms": len(bands.term_names),
            **seconds,
            "load": os.getloadavg(),
        }
        found[name]["least_simulated_coverage"] = low
    return found


def main() -> None:
    """Measures, writes figures as they come, and prints means."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bands", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--peer-seeds", type=int, default=5, help="how many of the first seeds interpret has, too")
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 5000])
    parser.add_argument("--noise", nargs="*", choices=("normal", "binary"), default=["normal", "binary"])
    parser.add_argument("--truths", nargs="*", choices=TRUTHS, default=list(TRUTHS), help="of trees")
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=list(SHAPES), help="of boosted trees")
    parser.add_argument("--forests", nargs="*", choices=FORESTS, default=list(FORESTS))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--adult", type=Path, help="the folder of the real tables: measure adult, too")
    parser.add_argument("--out", type=Path, default=Path(f"benchmarks/results/bands-{date.today()}.json"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report: dict[str, Any] = describe_run(PACKAGES) | {"level": LEVEL, "draws": arguments.draws, "simulated": {}}
    seeds = range(arguments.first, arguments.first + arguments.seeds)

    def write() -> None:
        arguments.out.write_text(json.dumps(report | {"load": os.getloadavg()}, indent=1) + "\n")

    if arguments.adult is not None:
        report["adult"] = time_adult(arguments.adult, arguments.draws)
        print(json.dumps(report["adult"]), flush=True)
        write()
    for num_rows in arguments.rows if "additive" in arguments.models else ():
        for noise in arguments.noise:
            rows: list[dict[str, Any]] = []
            for seed in seeds:
                with_peer = seed < arguments.first + arguments.peer_seeds
                rows.append(measure(noise, num_rows, seed, arguments.draws, with_peer=with_peer))
                report["simulated"][f"{noise}, {num_rows} rows"] = summary_of(rows) | {"of_seeds": rows}
                write()
            print(f"{noise}, {num_rows} rows", json.dumps(summary_of(rows)), flush=True)
    for num_rows in arguments.rows if "boosted" in arguments.models else ():
        for truth, shape in itertools.product(arguments.truths, arguments.shapes):
            name = f"boosted, {truth}, {shape}, {num_rows} rows"
            rows = [measure_boosted(truth, shape, num_rows, seed, arguments.draws) for seed in seeds]
            report["simulated"][name] = summary_of_boosted(rows) | {"of_seeds": rows}
            write()
            print(name, json.dumps(summary_of_boosted(rows)), flush=True)
    for num_rows in arguments.rows if "forest" in arguments.models else ():
        for truth, forest in itertools.product([*arguments.truths, "times"], arguments.forests):
            if (truth == "times") != (forest == "survival forest"):
                continue
            name = f"{forest}, {truth}, {num_rows} rows"
            rows = [measure_forest(truth, forest, num_rows, seed, arguments.draws) for seed in seeds]
            found = summary_of_forest(rows)
            told = [{key: value for key, value in row.items() if key != "band"} for row in rows]
            report["simulated"][name] = found | {"of_seeds": told}
            write()
            print(name, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
