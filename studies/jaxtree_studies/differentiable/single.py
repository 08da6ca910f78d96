"""Single trees by GradTree's protocol: ten trials, a fifth of the rows to test, a fifth of the others to choose on.

Scores are macro F1. Of tables of more rows `MOST_ROWS` are drawn, for time.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxtree_studies.differentiable.part import StudyPart
from jaxtree_studies.differentiable.records import Record, Store
from jaxtree_studies.differentiable.scores import macro_f1_of
from jaxtree_studies.differentiable.single_report import pages_of
from jaxtree_studies.differentiable.tables import TITLES, Parts, divide, read_table
from jaxtree_studies.differentiable.ways import WAYS, choose, fitted_on_all

MOST_ROWS = 12_000


def measure(tables: Sequence[str], ways: Sequence[str], repeats: int, data: Path, store: Store) -> Iterator[Record]:
    """Yields records as they come, trial after trial and table after table; those in the store are left out.

    A way that fails has a record without scores, which says why.
    """
    for trial in range(repeats):
        for title in tables:
            left = [way for way in ways if not store.has(table=title, trial=trial, way=way)]
            if not left:
                continue
            parts = divide(read_table(title, data, MOST_ROWS), trial)
            for way in left:
                record = {"table": title, "trial": trial, "way": way, **measure_way(way, parts, trial)}
                store.add(record)
                yield record


def measure_way(name: str, parts: Parts, seed: int) -> Record:
    """Returns the test scores of the chosen setting and of the usual one, and CPU seconds of the whole choice."""
    way, began = WAYS[name], time.process_time()
    try:
        own = way.parts(parts)
        chosen = choose(way, own, seed)
        model = fitted_on_all(way, chosen, own, seed)
    except Exception as error:  # one way that refuses a table is told of, and the others go on
        return {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
    return {
        "test": macro_f1_of(model, own.test),
        "held": chosen.score,
        "usual": macro_f1_of(chosen.usual, own.test),
        "setting": chosen.setting,
        "cpu_seconds": time.process_time() - began,
    }


def line_of(record: Record) -> str:
    """Returns a record in words."""
    said = f"{record['test']:.3f} in {record['cpu_seconds']:.1f} s" if "test" in record else record["failed"]
    return f"{record['table']}, trial {record['trial']}, {record['way']}: {said}"


PART = StudyPart(
    name="single",
    title_of_page="One tree a table, by GradTree's protocol: macro F1 on a fifth of the rows; of tables of more rows "
    f"{MOST_ROWS:,} are drawn. Every way chooses one of its settings on held rows; grown trees are then fitted on "
    "these, too. Published figures are of other divisions of the rows, and of whole tables.",
    tables=TITLES,
    quick=("Iris", "Heart Failure"),
    ways=tuple(WAYS),
    repeats=10,
    measure=measure,
    line=line_of,
    pages=pages_of,
)
