"""GradTree and GRANDE by their authors' packages beside ours: scores and seconds of one trial of some tables.

They need different versions of TensorFlow, so that each stands in an environment of its own of Python 3.11, which a
variable names. Without a GPU TensorFlow's package is `tensorflow-cpu`, and the peers come without dependencies:

    pip install tensorflow-cpu==2.13.0 tensorflow-addons==0.21.0 category-encoders==2.6.1 scikit-learn==1.3.2 pandas
    pip install --no-deps gradtree==0.1.0 focal-loss==0.0.7
    JAXTREE_GRADTREE=gradtree/bin/python jaxtree study differentiable peers --data FOLDER

and for `JAXTREE_GRANDE`

    pip install tensorflow-cpu==2.16.1 category-encoders==2.6.1 scikit-learn==1.3.2 pandas
    pip install --no-deps grande==0.1.6 focal-loss==0.0.7

GRANDE's default of 2,048 trees is meant for a GPU, so that it also stands here with 512, the fewest that its authors'
own search of parameters tries. Both stop after 25 epochs without gain on held rows, as in their authors' examples.

All have the rows of `encode`, and held rows for their early stopping. Ours are the usual settings of the other parts.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from jaxtree.errors import present
from jaxtree_studies.differentiable.encoding import encode
from jaxtree_studies.differentiable.ensembles import ENSEMBLES
from jaxtree_studies.differentiable.part import StudyPart
from jaxtree_studies.differentiable.records import Record, Store, table_of
from jaxtree_studies.differentiable.tables import Parts, divide, read_table
from jaxtree_studies.differentiable.ways import WAYS

WORKER = Path(__file__).with_name("peer_worker.py")
MOST_SECONDS = 3600
TABLES = (
    *("Blood Transfusion", "Wisconsin Diagnostic Breast Cancer", "Heart Failure", "Banknote Authentication"),
    "German",
)
OURS = {
    "jaxtree tree": lambda parts, seed: WAYS["gradients"].fit(WAYS["gradients"].settings[0], parts, seed),
    "jaxtree ensemble": ENSEMBLES["softsign, by_leaf"],
}
PEERS = {
    "gradtree": "JAXTREE_GRADTREE",
    "grande, 512 trees": "JAXTREE_GRANDE",
    "grande": "JAXTREE_GRANDE",
}
"""The variables of the environment that name the peers' Pythons."""


def measure(tables: Sequence[str], ways: Sequence[str], repeats: int, data: Path, store: Store) -> Iterator[Record]:
    """Yields records of the first trials; a peer that cannot run has a record that says why."""
    for title in tables:
        table = read_table(title, data)
        for trial in range(repeats):
            parts = encode(divide(table, trial))
            for way in ways:
                if not store.has(table=title, trial=trial, way=way):
                    own = measure_ours(way, parts, trial) if way in OURS else measure_peer(way, parts, trial)
                    record = {"table": title, "trial": trial, "way": way, **own}
                    store.add(record)
                    yield record


def measure_ours(way: str, parts: Parts, seed: int) -> Record:
    """Returns the score of one of ours, and seconds of a first fit and a second."""
    seconds, model = [], None
    for _ in range(2):
        began = time.perf_counter(), time.process_time()
        model = OURS[way](parts, seed)
        seconds.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return {**_scored(parts, present(model).predict(parts.test.X)), "first": seconds[0], "second": seconds[1]}


def measure_peer(way: str, parts: Parts, seed: int) -> Record:
    """Returns the score of a peer in a process of its own, and its seconds; or why there is none."""
    python = os.environ.get(PEERS[way])
    if not python:
        return {"failed": f"{PEERS[way]} names no Python with it"}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "parts.npz"
        arrays: dict[str, Any] = {f"X{at}": np.asarray(part.X, np.float32) for at, part in enumerate(parts)}
        arrays |= {f"y{at}": np.asarray(part.y) for at, part in enumerate(parts)}
        np.savez(place, **arrays)
        try:
            done = subprocess.run(
                [python, str(WORKER), way, str(place), str(seed)], capture_output=True, text=True, timeout=MOST_SECONDS
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {MOST_SECONDS} seconds"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1][:200]}
    said = json.loads(done.stdout.strip().splitlines()[-1])
    times = {"first": said["seconds"], "second": None, "epochs": said["epochs"]}
    return {**_scored(parts, np.array(said["predicted"])), **times}


def _scored(parts: Parts, predicted: Any) -> Record:
    return {"test": float(f1_score(parts.test.y, predicted, average="macro"))}


def line_of(record: Record) -> str:
    """Returns a record in words."""
    said = f"{record['test']:.3f} in {record['first'][0]:.1f} s" if "test" in record else record["failed"]
    return f"{record['table']}, trial {record['trial']}, {record['way']}: {said}"


def pages_of(records: list[Record]) -> list[list[str]]:
    """Returns the parts of the page: means over trials, seconds on the clock and of the CPU."""
    rows = []
    for table, way in dict.fromkeys((record["table"], record["way"]) for record in records):
        own = [r for r in records if (r["table"], r["way"]) == (table, way) and "test" in r]
        if own:
            seconds = [known for name in ("first", "second") if (known := [r[name] for r in own if r[name]])]
            said = [f"{clock:.1f} ({cpu:.1f})" for clock, cpu in (np.mean(known, axis=0) for known in seconds)]
            rows.append(
                [table, way, str(len(own)), f"{np.mean([r['test'] for r in own]):.3f}", *said, *[""] * (2 - len(said))]
            )
    head = ["table", "library", "trials", "macro F1", "seconds of a first fit (CPU)", "of a second"]
    failed = sorted({f"- {record['way']}: {record['failed']}" for record in records if "failed" in record})
    return [table_of(head, rows), ["Not measured:", "", *failed] if failed else []]


PART = StudyPart(
    name="peers",
    title_of_page="GradTree and GRANDE by their authors' packages, with their default parameters but for the trees "
    "that a name says, beside ours with usual settings, on the same encoded rows. A first fit of ours has compiling in "
    "it.",
    tables=TABLES,
    quick=TABLES[:1],
    ways=(*OURS, *PEERS),
    repeats=1,
    measure=measure,
    line=line_of,
    pages=pages_of,
)
