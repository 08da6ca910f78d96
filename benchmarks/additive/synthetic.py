"""Tables that are made: of 1,000 rows for first fits, and long ones, as a matrix or a file of Parquet.

Two classes, whose log odds are a sum of twelve curves and three products of normal columns; the other columns say
nothing. The odds of test rows are kept, so that scores have a bound.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas

from benchmarks.additive.cases import TRAINS, write_place
from benchmarks.additive.contenders import OURS

NUM_CURVES, NUM_PRODUCTS = 12, 3
NUM_TEST = 50_000
ROWS_OF_PART = 2**19
TARGET = "label"


class Long(NamedTuple):
    """A table that is long, and what is done with it.

    Attributes:
        num_rows: Rows to train on.
        num_columns: Columns.
        is_file: Whether they are read from Parquet, in parts.
        parameters: Parameters of our estimators.
        most_seconds: Seconds of a fit, by our aims.
        most_mib: Peak memory, by our aims.
    """

    num_rows: int
    num_columns: int
    is_file: bool
    parameters: dict[str, Any]
    most_seconds: float
    most_mib: float

    @property
    def slug(self) -> str:
        """The name of its folder."""
        return f"{self.num_rows}x{self.num_columns}{'-file' * self.is_file}"


WIDE, DEEP = (500_000, 230), (10_000_000, 50)
GIB = 2**10
MOST_OF_WIDE = 6 * GIB
MOST_OF_DEEP = DEEP[0] * DEEP[1] / 2**20 + GIB
"""Codes of a byte, and a GiB for libraries, programs, sums and the part that is read."""
MAIN = {"interactions": 0}
LONG = {
    "500,000 x 230": Long(*WIDE, False, {"max_bins": 32}, 300, MOST_OF_WIDE),
    "500,000 x 230, no pairs": Long(*WIDE, False, {"max_bins": 32} | MAIN, 300, MOST_OF_WIDE),
    "10M x 50 Parquet": Long(*DEEP, True, {}, 180, MOST_OF_DEEP),
    "10M x 50 Parquet, no pairs": Long(*DEEP, True, MAIN, 180, MOST_OF_DEEP),
}
LIGHTGBM_TOO = ("500,000 x 230, no pairs",)
"""interpret's users told of more than 8 hours and 96 cores for such a table."""
FIRST = ("1,000 rows of adult", "1,000 x 10, numbers")


def contenders_of_long(name: str) -> tuple[str, ...]:
    """Who fits a long table."""
    return (OURS, "lightgbm") if name in LIGHTGBM_TOO else (OURS,)


def write_long(name: str, folder: Path) -> Path:
    """Writes a long table into a subfolder of `folder` if it is not there: a matrix, or a file, and test rows."""
    long = LONG[name]
    place = folder / long.slug
    if place.is_dir():
        return place
    place.mkdir(parents=True)
    starts = range(0, long.num_rows, ROWS_OF_PART)
    sizes = [min(ROWS_OF_PART, long.num_rows - start) for start in starts]
    parts = (draw(size, long.num_columns, seed) for seed, size in enumerate(sizes, start=1))
    if long.is_file:
        _write_parquet(place / "table.parquet", parts)
    else:
        X = np.lib.format.open_memmap(place / "X.npy", "w+", np.float32, (long.num_rows, long.num_columns))
        y = np.empty(long.num_rows, np.int64)
        for start, size, (columns, _, classes) in zip(starts, sizes, parts, strict=True):
            X[start : start + size], y[start : start + size] = columns, classes
        np.save(place / "y.npy", y)
    X, odds, y = draw(NUM_TEST, long.num_columns, 0)
    for key, array in {"test_X": X, "test_odds": odds, "test_y": y}.items():
        np.save(place / f"{key}.npy", array)
    return place


def write_first(name: str, folder: Path, adult: Path) -> Path:
    """Writes a table of 1,000 rows, which all train; `adult` is the place of that table."""
    place = folder / name.replace(" ", "-")
    if place.is_dir():
        return place
    if name == FIRST[0]:
        X, y = pandas.read_parquet(adult / "X.parquet").iloc[:1000], np.load(adult / "y.npy")[:1000]
    else:
        X, odds, _ = draw(1000, 10, 0)
        y = odds + np.random.default_rng(0).standard_normal(1000)
        X = frame(X)
    write_place(place, X, y, np.full(1000, TRAINS))
    return place


def draw(num_rows: int, num_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns (float32), log odds, and classes; seven columns at least."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((num_rows, num_columns), dtype=np.float32)
    curves = (np.sin, np.abs, np.sign, np.tanh)
    odds = np.full(num_rows, -1.0)
    for number in range(min(NUM_CURVES, num_columns)):
        odds += curves[number % len(curves)](2 * X[:, number].astype(float)) / (1 + number / 4)
    for number in range(NUM_PRODUCTS):
        odds += 0.5 * X[:, number].astype(float) * X[:, number + 4]
    return X, odds, (rng.random(num_rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def frame(X: np.ndarray) -> pandas.DataFrame:
    """A matrix as columns with the names that the file has; it is not copied."""
    return pandas.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])], copy=False)


def _write_parquet(path: Path, parts: Any) -> None:
    import pyarrow
    import pyarrow.parquet

    writer = None
    for X, _, y in parts:
        columns = {f"x{number}": np.ascontiguousarray(values) for number, values in enumerate(X.T)}
        table = pyarrow.table(columns | {TARGET: y.astype(np.int8)})
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
