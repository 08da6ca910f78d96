"""One classification tree from a Parquet file, in less memory than its table of floats would take.

    python benchmarks/parquet.py                     # 10M x 28 float32; needs 1.2 GB of disk
    python benchmarks/parquet.py --rows 1000000      # smaller

The file is written to a temporary folder and removed at the end. Every measurement runs in its own process. Peak memory
is the most that the process ever held resident, including interpreter, libraries and compiled programs; the memory of
the same process after a fit of a tiny table is printed with it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS_OF_GROUP = 2**20
DEPTH = 8
STEPS = ("write", "encode", "fit", "predict")


def peak_memory():
    """The most memory that this process held, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def make_table(num_rows, num_columns, seed):
    import pyarrow

    rng = np.random.default_rng(seed)
    X = rng.standard_normal(size=(num_columns, num_rows), dtype=np.float32)
    signal = X[0] + X[1] * X[2] + np.sin(3 * X[3]) + 0.8 * rng.standard_normal(num_rows, dtype=np.float32)
    columns = {f"x{column}": values for column, values in enumerate(X)}
    return pyarrow.table(columns | {"label": (signal > 0).astype(np.int8)})


def write(path, num_rows, num_columns):
    import pyarrow.parquet

    writer = None
    for number, start in enumerate(range(0, num_rows, ROWS_OF_GROUP)):
        table = make_table(min(ROWS_OF_GROUP, num_rows - start), num_columns, seed=number)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=ROWS_OF_GROUP)
    writer.close()
    return {"file": path.stat().st_size}


def encode(path):
    """Only the encoder; the target is not a feature."""
    from jaxtree.table import Encoder, open_source

    source = open_source(path).without(["label"])
    start = time.perf_counter()
    encoder = Encoder()
    summary = encoder.summarise(source)
    first = time.perf_counter() - start
    codes = encoder.fit_summary(summary).encode_part(source)
    seconds = time.perf_counter() - start
    return {"first pass": first, "seconds": seconds, "codes": codes.nbytes, "peak": peak_memory()}


def fit(path):
    """Encoding and growth, through the estimator, after a tiny fit."""
    from jaxtree import DecisionTreeClassifier

    tiny = make_table(3000, 4, seed=0)
    DecisionTreeClassifier(max_depth=DEPTH).fit(tiny.drop(["label"]), tiny["label"].to_numpy())
    baseline = peak_memory()
    start = time.perf_counter()
    tree = DecisionTreeClassifier(max_depth=DEPTH).fit(path, y="label")
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "leaves": int(tree.get_n_leaves()), "baseline": baseline, "peak": peak_memory()}


def predict(path):
    """Predictions of the whole file, by a tree fitted on a part of it."""
    import pyarrow.parquet

    from jaxtree import DecisionTreeClassifier

    part = next(pyarrow.parquet.ParquetFile(path).iter_batches(100_000))
    tree = DecisionTreeClassifier(max_depth=DEPTH).fit([part], y="label")
    start = time.perf_counter()
    labels = tree.predict(path)
    return {"seconds": time.perf_counter() - start, "rows": len(labels), "peak": peak_memory()}


def in_a_process(step, arguments, path):
    command = [sys.executable, __file__, "--step", step, "--path", str(path), "--rows", str(arguments.rows)]
    command += ["--columns", str(arguments.columns)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--steps", nargs="+", default=STEPS, choices=STEPS[1:])
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step == "write":
        print(json.dumps(write(arguments.path, arguments.rows, arguments.columns)))
    elif arguments.step:
        print(json.dumps(globals()[arguments.step](arguments.path)))
    else:
        compare(arguments)


def compare(arguments):
    table = 4 * arguments.rows * arguments.columns
    print(f"{arguments.rows:,} x {arguments.columns} float32: the table is {table / 1e6:,.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        for step in ("write", *(step for step in arguments.steps if step != "write")):
            for name, value in in_a_process(step, arguments, path).items():
                is_memory = name in ("file", "codes", "baseline", "peak")
                shown = f"{value / 1e6:,.0f} MB, {value / table:.2f} of the table" if is_memory else f"{value:,.4g}"
                print(f"{step:8} {name:11} {shown}")


if __name__ == "__main__":
    main()
