"""Ensembles on binary tables in five folds, as GRANDE's study has them; a fifth of the training rows is held out.

Scores are macro F1 and the log loss.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sklearn.model_selection import StratifiedKFold

from jaxtree_studies.differentiable.ensemble_report import pages_of
from jaxtree_studies.differentiable.ensembles import ENSEMBLES
from jaxtree_studies.differentiable.part import StudyPart
from jaxtree_studies.differentiable.records import Record, Store
from jaxtree_studies.differentiable.scores import log_loss_of, macro_f1_of
from jaxtree_studies.differentiable.tables import BINARY, Part, Parts, part_in_two, read_table

FOLDS = 5
MOST_ROWS = 12_000


def folds_of(table: Part) -> list[Parts]:
    """Returns the parts of every fold."""
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    parts = []
    for fold, (train, test) in enumerate(splitter.split(table.X, table.y)):
        own, held = part_in_two(Part(table.X.iloc[train], table.y[train]), fold)
        parts.append(Parts(own, held, Part(table.X.iloc[test], table.y[test])))
    return parts


def measure(tables: Sequence[str], ways: Sequence[str], repeats: int, data: Path, store: Store) -> Iterator[Record]:
    """Yields records of the first so many folds of every table."""
    for title in tables:
        if all(store.has(table=title, trial=fold, way=way) for fold in range(repeats) for way in ways):
            continue
        for fold, parts in enumerate(folds_of(read_table(title, data, MOST_ROWS))[:repeats]):
            for way in ways:
                if not store.has(table=title, trial=fold, way=way):
                    record = {"table": title, "trial": fold, "way": way, **measure_way(way, parts, fold)}
                    store.add(record)
                    yield record


def measure_way(name: str, parts: Parts, seed: int) -> Record:
    """Returns the test scores and the CPU seconds of one ensemble."""
    began = time.process_time()
    model = ENSEMBLES[name](parts, seed)
    seconds = time.process_time() - began
    return {"test": macro_f1_of(model, parts.test), "loss": log_loss_of(model, parts.test), "cpu_seconds": seconds}


def line_of(record: Record) -> str:
    """Returns a record in words."""
    scores = f"{record['test']:.3f}, log loss {record['loss']:.3f}"
    return f"{record['table']}, fold {record['trial']}, {record['way']}: {scores} in {record['cpu_seconds']:.1f} s"


PART = StudyPart(
    name="ensemble",
    title_of_page="Ensembles of 32 hard trees of depth 4, macro F1 of five folds; of tables of more rows "
    f"{MOST_ROWS:,} are drawn. All have the same settings but for the slope of gates and the weights of trees.",
    tables=tuple(BINARY),
    quick=("Heart Failure", "Echocardiogram"),
    ways=tuple(ENSEMBLES),
    repeats=FOLDS,
    measure=measure,
    line=line_of,
    pages=pages_of,
)
