"""Trees on real data: jaxtree on unchanged tables, compared with scikit-learn on encoded tables.

    pip install -e '.[bench,frames]'
    python benchmarks/real_data.py --data ../shared/data             # a table, and benchmarks/results/real_data-*.json
    python benchmarks/real_data.py --only adult --only mushroom      # some data sets
    python benchmarks/real_data.py --contender one-hot               # some contenders

Scores are those of test rows: accuracy, or R² where the target is a number. jaxtree gets categories and missing cells
unchanged: its `DecisionTree` learns the branch of missing cells, C4.5 sends fractions of a row down every branch, ID3
runs where all columns are categories. scikit-learn's tree gets categories one-hot (a missing cell is one more category)
or as ordinal numbers in the order that the column declares (a missing cell is NaN); its time includes the encoding.

Cold is the first fit on a data set with a setting, warm the second, both in one process; a cold fit may reuse a
program that was compiled for an earlier data set. Programs kept on disk are not used.
"""

import argparse
import json
import os
import platform
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sklearn import tree as sklearn_tree
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import jaxtree
from jaxtree.datasets import load_uci
from jaxtree.datasets.uci import UCI_NAMES, WITH_TEST_ROWS
from jaxtree_studies.tables.readers import diamonds

ROOT = Path(__file__).resolve().parent.parent
TEST_SHARE = 0.25
SPLIT_SEED = 1
# Worst first, as in ggplot2.
REGRESSION = frozenset({"abalone", "winequality", "diamonds"})


def load(name, folder):
    """`(X_train, X_test, y_train, y_test)` of one data set; a quarter of the rows tests if it has no test rows."""
    if name in WITH_TEST_ROWS:
        (X_train, y_train), (X_test, y_test) = (load_uci(name, folder, part=part) for part in ("train", "test"))
        return X_train, X_test, y_train, y_test
    X, y = OTHERS[name](folder) if name in OTHERS else load_uci(name, folder)
    return train_test_split(X, y, test_size=TEST_SHARE, random_state=SPLIT_SEED)


def penguins(folder):
    table = pd.read_csv(folder / "penguins" / "penguins.csv").drop(columns="rownames")
    X = table.drop(columns="species")
    return X.astype(dict.fromkeys(("island", "sex"), "category")), table["species"]


# Data from ggplot2 and palmerpenguins, not from UCI.
OTHERS = {"penguins": penguins, "diamonds": diamonds}
NAMES = (*UCI_NAMES, *OTHERS)

SETTINGS = {"full": {}, "leaf ≥ 5": {"min_samples_leaf": 5}}


def words_of(X):
    return [name for name in X.columns if isinstance(X[name].dtype, pd.CategoricalDtype)]


def decision_tree(library, regression, **setting):
    """The tree of jaxtree or of scikit-learn."""
    kind = library.DecisionTreeRegressor if regression else library.DecisionTreeClassifier
    return kind(random_state=0, **setting)


def make_jaxtree(X, regression, setting):
    return decision_tree(jaxtree, regression, missing="learn", **setting)


def make_c45(X, regression, setting):
    return None if regression else jaxtree.C45Classifier(missing="fraction", **setting)


def make_id3(X, regression, setting):
    return None if regression or len(words_of(X)) < X.shape[1] else jaxtree.ID3Classifier(**setting)


def make_onehot(X, regression, setting):
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return encoded(encoder, X, regression, setting)


def make_ordinal(X, regression, setting):
    levels = [list(X[name].cat.categories) for name in words_of(X)]
    encoder = OrdinalEncoder(
        categories=levels,  # pyright: ignore[reportArgumentType]
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
    )
    return encoded(encoder, X, regression, setting)


def encoded(encoder, X, regression, setting):
    columns = make_column_transformer((encoder, words_of(X)), remainder="passthrough")
    return make_pipeline(columns, decision_tree(sklearn_tree, regression, **setting))


CONTENDERS = {
    "jaxtree": make_jaxtree,
    "C4.5": make_c45,
    "ID3": make_id3,
    "one-hot": make_onehot,
    "ordinal": make_ordinal,
}
"""Functions of the training table, whether the target is a number, and the setting; None where one does not apply."""


def timed_fit(estimator, X, y):
    start = time.perf_counter()
    estimator.fit(X, y)
    # JAX may still be computing when fit returns.
    jax.block_until_ready(getattr(estimator, "tree_", None))
    return time.perf_counter() - start


def measure(estimator, X_train, X_test, y_train, y_test):
    """Figures of one contender on one data set with one setting; an error counts as a figure."""
    try:
        cold = timed_fit(clone(estimator), X_train, y_train)
        warm = timed_fit(estimator, X_train, y_train)
        score = float(estimator.score(X_test, y_test))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    fitted = estimator[-1] if hasattr(estimator, "steps") else estimator
    return {"score": score, "cold": cold, "warm": warm, "leaves": int(fitted.get_n_leaves())}


def figures_of(make, name, setting, parts):
    """Figures of one contender; None where it does not apply."""
    try:
        estimator = make(parts[0], name in REGRESSION, setting)
    except (AttributeError, TypeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return None if estimator is None else measure(estimator, *parts)


def compare(name, contenders, parts):
    """One case per setting of one data set."""
    cases = []
    for title, setting in SETTINGS.items():
        figures = {c: figures_of(CONTENDERS[c], name, setting, parts) for c in contenders}
        cases.append(
            {
                "data": name,
                "rows": len(parts[0]),
                "columns": parts[0].shape[1],
                "categories": len(words_of(parts[0])),
                "missing": int(parts[0].isna().sum().sum()),
                "metric": "r2" if name in REGRESSION else "accuracy",
                "setting": title,
                "figures": {c: f for c, f in figures.items() if f is not None},
            }
        )
    return cases


def cell(figures, best):
    if figures is None:
        return "[dim]-[/]"
    if "error" in figures:
        return "[red]error[/]"
    score = f"{figures['score']:.4f}"
    return f"[bold]{score}[/]" * (score == best) + score * (score != best) + f" [dim]{figures['warm']:6.2f}s[/]"


def show(cases, contenders, console):
    table = Table(title="score on test rows (best in bold), and seconds of a warm fit")
    for heading in ("data", "rows x columns", "setting", *contenders):
        table.add_column(heading, justify="left" if heading in ("data", "setting") else "right", no_wrap=True)
    for i, case in enumerate(cases):
        figures = case["figures"]
        best = max((f"{f['score']:.4f}" for f in figures.values() if "score" in f), key=float, default=None)
        last = i + 1 == len(cases) or cases[i + 1]["data"] != case["data"]
        name = case["data"] + " (R²)" * (case["metric"] == "r2")
        cells = [cell(figures.get(c), best) for c in contenders]
        table.add_row(name, f"{case['rows']:,} x {case['columns']}", case["setting"], *cells, end_section=last)
    console.print(table)
    for kind in ("cold", "warm"):
        sums = {c: sum(case["figures"].get(c, {}).get(kind, 0) for case in cases) for c in contenders}
        console.print(f"{kind} seconds in all: " + ", ".join(f"{c} {s:.1f}" for c, s in sums.items()), highlight=False)
    show_errors(cases, console)


def show_errors(cases, console):
    for case in cases:
        for contender, figures in case["figures"].items():
            if "error" in figures:
                where = f"{contender} on {case['data']}, {case['setting']}"
                console.print(f"[red]error[/] {where}: {escape(figures['error'])}", highlight=False)


def write(cases, folder):
    packages = ("jaxtree", "jax", "jaxlib", "numpy", "pandas", "scikit-learn")
    device = jax.devices()[0]
    report = {
        "date": date.today().isoformat(),
        "versions": {p: version(p) for p in packages},
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "device": f"{device.platform}: {device.device_kind}",
        "cases": cases,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"real_data-{date.today().isoformat()}.json"
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    print(f"written: {path}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data sets")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results", help="folder for the JSON file")
    parser.add_argument("--only", action="append", choices=NAMES, help="a data set; may be repeated")
    parser.add_argument("--contender", action="append", choices=CONTENDERS, help="may be repeated")
    return parser.parse_args()


def main():
    arguments = parse()
    jax.config.update("jax_enable_compilation_cache", False)
    console = Console()
    contenders = arguments.contender or list(CONTENDERS)
    cases = []
    for name in arguments.only or NAMES:
        try:
            parts = load(name, arguments.data)
        except FileNotFoundError as error:
            console.print(f"{name} skipped, its file is absent: {error.filename}", highlight=False)
            continue
        with console.status(name):
            cases += compare(name, contenders, parts)
    if not cases:
        sys.exit(f"no data set of {', '.join(arguments.only or NAMES)} in {arguments.data}")
    show(cases, contenders, console)
    write(cases, arguments.out)
    if any("error" in figures for case in cases for figures in case["figures"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
