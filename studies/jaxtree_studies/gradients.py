"""The comparison of ensembles that are trained by gradients with boosting, forests and GRANDE (Marton et al., 2024).

A *division* of a table has a fifth of its rows for the test. GRANDE compares its epochs on a fifth of the others, the
*validation rows*; the other ways divide all rows that are not for the test themselves where they need to. The tables
are *kept* ones, and those on which trees, folds, columns and rows of the ensembles of hard trees were chosen.
"""

import importlib.metadata
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from jaxtyping import Float, Int
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split

from jaxtree import GradientBoostingClassifier, RandomForestClassifier, SoftForestClassifier
from jaxtree.errors import InvalidInputError
from jaxtree_studies import ranks
from jaxtree_studies.peers import NoPeerError, fit_grande
from jaxtree_studies.report import write_results
from jaxtree_studies.tables.owners import Format, read_cells, read_text, with_categories

KEPT = {
    "transfusion": "Blood Transfusion",
    "wdbc": "Breast Cancer Wisconsin",
    "heart-failure": "Heart Failure",
    "heart-cleveland": "Heart Disease",
    "hepatitis": "Hepatitis",
    "echocardiogram": "Echocardiogram",
    "horse-colic": "Horse Colic",
    "lymphography": "Lymphography",
    "zoo": "Zoo",
    "dermatology": "Dermatology",
    "absenteeism": "Absenteeism",
    "cmc": "Contraceptive",
}
CHOSEN_ON = {
    "credit-g": "German Credit",
    "diabetes": "Pima Diabetes",
    "ionosphere": "Ionosphere",
    "glass": "Glass",
    "vote": "Congressional Voting",
    "breast-cancer": "Breast Cancer Ljubljana",
    "balance-scale": "Balance Scale",
}
TITLES = KEPT | CHOSEN_ON
QUICK = ("hepatitis", "echocardiogram")
"""The tables of a quick run."""

FORMATS = {
    # Three columns are the target in other words, and one is a name.
    "echocardiogram": Format(("gradtree/echocardiogram.data",), 1, (0, 10, 11, 12)),
    "zoo": Format(("gradtree/zoo.data",), drop=(0,)),
}
"""Tables that `jaxtree_studies.tables.owners` does not have."""

GRADIENTS, OBLIQUE, BOOSTING, FOREST = "gradients", "gradients, oblique", "boosting by folds", "random forest"
LEAST_SHARE = 1e-7
"""A lower share counts as it: one row that a leaf has not seen does not outweigh a table."""
LEAST_OF_A_STRATUM = 10
"""Rows of a class that is divided in the same shares as the table; rarer ones are divided with the largest class."""
FIGURES = ("macro_f1", "log_loss")

Results = dict[str, Any]


class GradientsPlan(NamedTuple):
    """How much is to be done.

    Attributes:
        folder: The folder of the tables.
        tables: The names of the tables, keys of `TITLES`.
        seeds: The number of divisions of each table.
        peer: The Python of an environment that has GRANDE, or None.
        quick: Whether ensembles are small, to see that all works.
    """

    folder: Path
    tables: tuple[str, ...] = tuple(TITLES)
    seeds: int = 5
    peer: Path | None = None
    quick: bool = False

    @property
    def peer_trees(self) -> int:
        """The number of trees of GRANDE; 512 are the fewest that its authors' search of parameters tries."""
        return 8 if self.quick else 512

    @property
    def peer_way(self) -> str:
        """The name of GRANDE among the ways."""
        return f"GRANDE, {self.peer_trees} trees"


class Table(NamedTuple):
    """One table.

    Attributes:
        X: The columns, those of words as categories.
        y: Codes of classes.
    """

    X: pandas.DataFrame
    y: Int[np.ndarray, " row"]


class Division(NamedTuple):
    """The rows of one division of a table.

    Attributes:
        train: Rows on which GRANDE is fitted.
        validation: Rows on which it compares its epochs.
        test: Rows on which all are measured.
    """

    train: Int[np.ndarray, " train"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]

    @property
    def others(self) -> Int[np.ndarray, " other"]:
        """All rows that are not for the test."""
        return np.sort(np.concatenate([self.train, self.validation]))


def run(plan: GradientsPlan, out: Path, on_step: Callable[[str, int], None] = lambda doing, steps: None) -> Results:
    """Measures what `report.json` in the folder `out` lacks, and writes it there after every division of a table.

    Args:
        plan: How much is to be done.
        out: The folder of the report.
        on_step: Called before every division with what is done and the number of all.

    Returns:
        The results, a dictionary that JSON can hold. Records of earlier runs that the plan does not name stay in it.

    Raises:
        InvalidInputError: A table is unknown, no table has its file, or the file of an earlier run is of another kind.
    """
    start = time.perf_counter()
    tables, skipped = study_tables(plan)
    records = earlier_records(out, plan)
    measured = {(record["table"], record["seed"], record["way"]) for record in records}
    peer, failed = plan.peer, []
    results: Results = {
        "plan": {"seeds": plan.seeds, "quick": plan.quick, "peer_trees": plan.peer_trees},
        "tables": [describe(name, table) for name, table in tables.items()],
        "skipped": skipped,
        "records": records,
        "failed": failed,
    }
    for seed in range(plan.seeds):
        for name, table in tables.items():
            on_step(f"{TITLES[name]}, division {seed + 1}", plan.seeds * len(tables))
            division = divide(table.y, seed)
            key = {"table": name, "seed": seed}
            for way, make in our_ways(quick=plan.quick).items():
                if (name, seed, way) not in measured:
                    records.append({**key, "way": way, **measure(make(seed), table, division)})
            if peer is not None and (name, seed, plan.peer_way) not in measured:
                try:
                    found = measure_peer(peer, plan.peer_trees, table, division, seed)
                    records.append({**key, "way": plan.peer_way, **found})
                except NoPeerError as error:
                    failed.append({**key, "reason": str(error)})
                    # An environment that does not work for one table works for none.
                    peer = peer if error.is_of_fit else None
            write_results(out, {**results, **_versions(records)})
    seconds = {"in all": time.perf_counter() - start}
    return {**results, **_versions(records), **summary(results), "seconds": seconds}


def study_tables(plan: GradientsPlan) -> tuple[dict[str, Table], list[dict[str, str]]]:
    """Returns the tables of a plan that are there, and the names of the others with the reason why they are skipped."""
    if unknown := sorted(set(plan.tables) - set(TITLES)):
        raise InvalidInputError(f"tables must be among {', '.join(TITLES)}, got {unknown[0]!r}")
    tables, skipped = {}, []
    for name in plan.tables:
        try:
            tables[name] = read_table(name, plan.folder)
        except FileNotFoundError as error:
            absent = Path(error.filename).relative_to(plan.folder).as_posix()
            skipped.append({"name": name, "reason": f"its file {absent} is absent"})
    if not tables:
        raise InvalidInputError(
            f"data must be a folder with a file of one table at least, got {str(plan.folder)!r}: "
            + "; ".join(f"{table['name']}: {table['reason']}" for table in skipped)
        )
    return tables, skipped


def read_table(name: str, folder: Path) -> Table:
    """Returns a table with its rows in a random order, without columns that are constant."""
    X, y = with_categories(*(read_text(FORMATS[name], folder) if name in FORMATS else read_cells(name, folder)))
    X = X.drop(columns=[column for column in X if X[column].unique().size < 2])
    rows = np.random.default_rng(0).permutation(len(X))
    return Table(X.iloc[rows].reset_index(drop=True), np.unique(y.astype(str), return_inverse=True)[1][rows])


def divide(y: Int[np.ndarray, " row"], seed: int) -> Division:
    """Returns a division of the rows in about the same shares of classes."""

    def in_two(rows: Int[np.ndarray, " row"]) -> Any:
        return train_test_split(rows, test_size=0.2, random_state=seed, stratify=strata(y[rows]))

    others, test = in_two(np.arange(len(y)))
    train, validation = in_two(others)
    return Division(train, validation, test)


def strata(y: Int[np.ndarray, " row"]) -> Int[np.ndarray, " row"]:
    """Returns classes of which none is rare.

    Example:
        >>> strata(np.array([0] * 20 + [1] * 12 + [2])).tolist()[-2:]
        [1, 0]
    """
    number = np.bincount(y)
    return np.where(number[y] < LEAST_OF_A_STRATUM, number.argmax(), y)


def our_ways(*, quick: bool) -> dict[str, Callable[[int], Any]]:
    """Returns functions that make the unfitted ensembles, by a seed each."""
    trained: dict[str, Any] = {"n_estimators": 2, "max_epochs": 5} if quick else {}
    boosted: dict[str, Any] = {"n_estimators": 10} if quick else {}
    return {
        GRADIENTS: lambda seed: SoftForestClassifier(gate="hard", random_state=seed, **trained),
        OBLIQUE: lambda seed: SoftForestClassifier(random_state=seed, **trained),
        BOOSTING: lambda seed: GradientBoostingClassifier(early_stopping="cv", random_state=seed, **boosted),
        FOREST: lambda seed: RandomForestClassifier(10 if quick else 200, random_state=seed),
    }


def measure(model: Any, table: Table, division: Division) -> Results:
    """Returns the scores of a model that is fitted on all rows that are not for the test, and its seconds."""
    rows = division.others
    began = time.perf_counter(), time.process_time()
    model.fit(table.X.iloc[rows], table.y[rows])
    seconds, cpu_seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    shares = np.zeros((len(division.test), table.y.max() + 1))
    shares[:, model.classes_] = model.predict_proba(table.X.iloc[division.test])
    times = {"seconds": seconds, "cpu_seconds": cpu_seconds}
    return {**scores(table.y, division, shares), **times, "version": _version_of("jaxtree")}


def measure_peer(python: Path, trees: int, table: Table, division: Division, seed: int) -> Results:
    """Returns the scores of GRANDE, and what its process reports of the fit."""
    is_known = np.isin(table.y[division.validation], table.y[division.train])
    known = division._replace(validation=division.validation[is_known])
    reported = fit_grande(python, table.X, table.y, known, trees=trees, seed=seed)
    shares = np.array(reported.pop("shares"), np.float64)
    return {**scores(table.y, division, shares), **reported}


def scores(y: Int[np.ndarray, " row"], division: Division, shares: Float[np.ndarray, "test class"]) -> Results:
    """Returns macro F1, accuracy and log loss on the test rows, and the log loss of a constant.

    The constant gives every row the shares that the classes have among the rows that are not for the test.
    """
    y_test = y[division.test]
    constant = np.bincount(y[division.others], minlength=shares.shape[1]) / len(division.others)
    predicted = shares.argmax(axis=1)
    return {
        "macro_f1": float(f1_score(y_test, predicted, average="macro")),
        "accuracy": float(accuracy_score(y_test, predicted)),
        "log_loss": _log_loss(y_test, shares / shares.sum(axis=1, keepdims=True)),
        "constant": _log_loss(y_test, np.broadcast_to(constant, shares.shape)),
    }


def earlier_records(out: Path, plan: GradientsPlan) -> list[Results]:
    """Returns the records that the folder of the report has, none if there are none.

    Raises:
        InvalidInputError: They are of a quick run and the plan is not, or the other way about, or no records at all.
    """
    path = out / "report.json"
    if not path.exists():
        return []
    try:
        earlier = json.loads(path.read_text())
        is_quick, records = earlier["plan"]["quick"], list(earlier["records"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"out must be a new folder or that of an earlier run, got {str(out)!r}") from error
    if is_quick != plan.quick:
        kind = "quick" if is_quick else "whole"
        raise InvalidInputError(f"out must be another folder, got {str(out)!r}, which has the records of a {kind} run")
    return records


def describe(name: str, table: Table) -> Results:
    """Returns what the page says of a table."""
    words = sum(isinstance(kind, pandas.CategoricalDtype) for kind in table.X.dtypes)
    return {
        "name": name,
        "title": TITLES[name],
        "is_kept": name in KEPT,
        "rows": len(table.y),
        "columns": table.X.shape[1],
        "words": words,
        "classes": int(table.y.max()) + 1,
        "gaps": int(table.X.isna().to_numpy().sum()),
    }


def summary(results: Results) -> Results:
    """Returns the means of all tables and ways, and ranks and differences over the kept tables.

    A way has means on a table if all divisions were measured, and stands among the ways if it has them on one table.
    Ranks are of the kept tables on which all ways have means, differences of those on which the two have.
    """
    plan, names = results["plan"], [table["name"] for table in results["tables"]]
    cells: dict[tuple[str, str], list[Results]] = {}
    for record in results["records"]:
        if record["table"] in names and record["seed"] < plan["seeds"]:
            cells.setdefault((record["table"], record["way"]), []).append(record)
    cells = {key: found for key, found in cells.items() if len(found) == plan["seeds"]}
    means = {name: {way: _means(found) for (own, way), found in cells.items() if own == name} for name in names}
    # Ours come first, in their order, whatever an interrupted run has written first.
    ways = [*our_ways(quick=plan["quick"]), *sorted({way for _, way in cells} - set(our_ways(quick=plan["quick"])))]
    kept = [name for name in names if name in KEPT]
    whole = [name for name in kept if len(means[name]) == len(ways)]
    found: Results = {"means": means, "ways": ways, "ranks": {}, "ranked": whole, "differences": []}
    if whole:
        goodness = {figure: _goodness(means, whole, ways, figure) for figure in FIGURES}
        found["ranks"] = {figure: ranks.summary(values, ways) for figure, values in goodness.items()}
    for way in ways[1:]:
        both = [name for name in kept if way in means[name]]
        for figure in FIGURES if both else ():
            one, other = np.array([[means[name][own][figure] for own in (GRADIENTS, way)] for name in both]).T
            less = ranks.difference(one, other)
            found["differences"].append({"way": way, "figure": figure, **less._asdict(), "is_sure": less.is_sure})
    return found


def _goodness(
    means: Mapping[str, Any], names: list[str], ways: list[str], figure: str
) -> Float[np.ndarray, "table way"]:
    """A figure of which the greatest is the best."""
    values = np.array([[means[name][way][figure] for way in ways] for name in names])
    return -values if figure == "log_loss" else values


def _means(records: list[Results]) -> dict[str, float]:
    figures = (*FIGURES, "accuracy", "constant", "seconds", "cpu_seconds")
    return {figure: float(np.mean([record[figure] for record in records])) for figure in figures}


def _log_loss(y: Int[np.ndarray, " row"], shares: Float[np.ndarray, "row class"]) -> float:
    return float(-np.log(shares[np.arange(len(y)), y].clip(LEAST_SHARE, 1)).mean())


def _versions(records: list[Results]) -> Results:
    """The versions of this process's packages, and those with which the records were measured."""
    packages = ("jax", "numpy", "scikit-learn")
    measured = dict.fromkeys(record["version"] for record in records)
    return {
        "versions": {
            **{package: _version_of(package).split()[1] for package in packages},
            "measured with": ", ".join(measured),
        }
    }


def _version_of(package: str) -> str:
    return f"{package} {importlib.metadata.version(package)}"
