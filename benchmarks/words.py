"""Tables of words beside LightGBM: fits and predictions of the same rows, as categories, strings, and other frames.

    python -m benchmarks.words [--rows 1000000] [--rounds 20] [--runs 2] [--only pandas-object lightgbm]

A table has 8 columns of numbers and 6 of words, 10 to 300 different ones each. Each way in is measured in a new
process, `--runs` times, and the least counts: the seconds of the first fit and prediction, of later ones, of reading
and coding the table alone, and the memory that the first of each needed beyond the table, in MiB. LightGBM is given
categories, or makes them from strings, which counts.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.suite.memory import peak_mib

NUM_NUMBERS = 8
SIZES = (10, 20, 50, 100, 200, 300)
"""How many different words the columns have."""

LATER = 3
"""Fits and predictions of a process after the first."""


def draw_columns(num_rows: int) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Returns numbers, the places of words in the sorted words of every column, and classes."""
    draw = np.random.default_rng(0)
    numbers = draw.normal(size=(num_rows, NUM_NUMBERS))
    places = [draw.integers(size, size=num_rows) for size in SIZES]
    score = numbers[:, 0] + numbers[:, 1] * numbers[:, 2]
    for size, own in zip(SIZES, places, strict=True):
        score += draw.normal(size=size)[own]
    return numbers, places, (score + draw.normal(size=num_rows) > 0).astype(np.int64)


def words_of(size: int) -> list[str]:
    """Returns words in ascending order."""
    return [f"word {number:03d}" for number in range(size)]


def of_pandas(numbers: np.ndarray, places: list[np.ndarray], kind: str) -> Any:
    """Makes a frame of pandas, with words as categories or as strings of a dtype."""
    import pandas as pd

    frame = pd.DataFrame({f"n{at}": numbers[:, at] for at in range(NUM_NUMBERS)})
    for at, (size, own) in enumerate(zip(SIZES, places, strict=True)):
        words = pd.Categorical.from_codes(own, words_of(size))
        frame[f"w{at}"] = words if kind == "category" else pd.Series(np.array(words_of(size), object)[own], dtype=kind)
    return frame


def of_pyarrow(numbers: np.ndarray, places: list[np.ndarray], kind: str) -> Any:
    """Makes a table of pyarrow, with words as strings or with dictionaries."""
    import pyarrow as pa

    columns: dict[str, Any] = {f"n{at}": pa.array(numbers[:, at].copy()) for at in range(NUM_NUMBERS)}
    for at, (size, own) in enumerate(zip(SIZES, places, strict=True)):
        words = pa.DictionaryArray.from_arrays(pa.array(own.astype(np.int32)), words_of(size))
        columns[f"w{at}"] = words if kind == "dictionary" else words.cast("string")
    return pa.table(columns)


def of_polars(numbers: np.ndarray, places: list[np.ndarray], kind: str) -> Any:
    """Makes a frame of polars, with words as strings, as a Categorical or as an Enum."""
    import polars as pl

    frame = pl.DataFrame(pl.from_arrow(of_pyarrow(numbers, places, "string")))
    dtypes = {"string": pl.String, "categorical": pl.Categorical}
    return frame.with_columns(
        pl.col(f"w{at}").cast(dtypes[kind] if kind in dtypes else pl.Enum(words_of(size)))
        for at, size in enumerate(SIZES)
    )


class Model(NamedTuple):
    """How a library fits a table, predicts it, and reads it without fitting."""

    fit: Callable[[Any, np.ndarray], Any]
    predict: Callable[[Any, Any], np.ndarray]
    read: Callable[[Any, np.ndarray], Any]


def ours(rounds: int) -> Model:
    """Our boosting."""
    import jaxtree
    from jaxtree.table import Encoder

    return Model(
        lambda X, y: jaxtree.GradientBoostingClassifier(rounds, random_state=0).fit(X, y),
        lambda model, X: model.predict_proba(X),
        lambda X, y: Encoder().fit_transform(X),
    )


def lightgbm(rounds: int) -> Model:
    """LightGBM, which reads the categories of pandas."""
    from lightgbm import Dataset, LGBMClassifier

    return Model(
        lambda X, y: LGBMClassifier(n_estimators=rounds, verbose=-1).fit(X, y),
        lambda model, X: model.predict_proba(X),
        lambda X, y: Dataset(X, y, params={"verbose": -1}).construct(),
    )


def lightgbm_of_strings(rounds: int) -> Model:
    """LightGBM, which is given strings that become categories first."""
    import pandas as pd

    model = lightgbm(rounds)

    def as_categories(X: Any) -> Any:
        return X.assign(**{name: X[name].astype("category") for name in X.columns[NUM_NUMBERS:]})

    def predict(fitted: tuple, X: Any) -> np.ndarray:
        booster, dtypes = fitted
        return model.predict(booster, X.astype(dtypes))

    def fit(X: Any, y: np.ndarray) -> tuple:
        coded = as_categories(X)
        return model.fit(coded, y), {
            name: pd.CategoricalDtype(coded[name].cat.categories) for name in X.columns[NUM_NUMBERS:]
        }

    return Model(fit, predict, lambda X, y: model.read(as_categories(X), y))


class Way(NamedTuple):
    """A table of a kind, and who reads it."""

    make: Callable[..., Any]
    kind: str
    model: Callable[[int], Model]


WAYS = {
    "lightgbm": Way(of_pandas, "category", lightgbm),
    "lightgbm-object": Way(of_pandas, "object", lightgbm_of_strings),
    "lightgbm-str": Way(of_pandas, "str", lightgbm_of_strings),
    "pandas-category": Way(of_pandas, "category", ours),
    "pandas-object": Way(of_pandas, "object", ours),
    "pandas-str": Way(of_pandas, "str", ours),
    "polars-string": Way(of_polars, "string", ours),
    "polars-categorical": Way(of_polars, "categorical", ours),
    "polars-enum": Way(of_polars, "enum", ours),
    "pyarrow-string": Way(of_pyarrow, "string", ours),
    "pyarrow-dictionary": Way(of_pyarrow, "dictionary", ours),
}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Returns the seconds of a call, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def peak_of(call: Callable[[], Any]) -> tuple[float, tuple[float, Any]]:
    """Returns the most MiB that a timed call held beyond those before, on Linux, and what `timed` returns."""
    reset, before = Path("/proc/self/clear_refs"), 0.0
    if reset.exists():
        reset.write_text("5")
        before = peak_mib()
    result = timed(call)
    return peak_mib() - before, result


def measure(name: str, num_rows: int, rounds: int) -> dict[str, float]:
    """Returns what a process measures that does nothing before."""
    way = WAYS[name]
    numbers, places, y = draw_columns(num_rows)
    X, (fit, predict, read) = way.make(numbers, places, way.kind), way.model(rounds)
    del numbers, places
    fit_mib, (first_fit, model) = peak_of(lambda: fit(X, y))
    predict_mib, (first_predict, _) = peak_of(lambda: predict(model, X))
    return {
        "first_fit": first_fit,
        "fit": min(timed(lambda: fit(X, y))[0] for _ in range(LATER)),
        "read": min(timed(lambda: read(X, y))[0] for _ in range(LATER)),
        "first_predict": first_predict,
        "predict": min(timed(lambda: predict(model, X))[0] for _ in range(LATER)),
        "fit_mib": fit_mib,
        "predict_mib": predict_mib,
    }


def in_process(*task: Any) -> dict[str, float]:
    """Returns what a new process measures."""
    command = [sys.executable, "-m", "benchmarks.words", "--task", json.dumps(task)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(printed.splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, prints a line a way in, and writes the figures if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=2, help="processes of every way in, which take turns")
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--output", type=Path, help="a file of JSON")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.task:
        print(json.dumps(measure(*json.loads(options.task))))
        return
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in options.only}
    for _ in range(options.runs):
        for name in options.only:
            taken[name].append(in_process(name, options.rows, options.rounds))
    least = {name: {key: min(own[key] for own in runs) for key in runs[0]} for name, runs in taken.items()}
    for name, figures in least.items():
        print(
            f"{name:>20}  "
            + "  ".join(f"{key} {value:7.{0 if 'mib' in key else 3}f}" for key, value in figures.items())
        )
    if options.output:
        options.output.write_text(json.dumps(least, indent=1) + "\n")


if __name__ == "__main__":
    main()
