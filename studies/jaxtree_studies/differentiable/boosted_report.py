"""What the figures of boosted trees trained further say."""

import numpy as np

from jaxtree_studies.differentiable.records import Record, table_of
from jaxtree_studies.differentiable.scores import difference

NAMES = ("part", "tuned", "all")


def pages_of(records: list[Record]) -> list[list[str]]:
    """Returns the parts of the page."""
    tables = list(dict.fromkeys(record["table"] for record in records))
    if not tables:
        return []
    loss = np.array([[np.mean([r[name] for r in records if r["table"] == t]) for name in NAMES] for t in tables])
    rows = []
    for table, own in zip(tables, loss, strict=True):
        folds = [record for record in records if record["table"] == table]
        seconds = [f"{np.mean([record[f'seconds_{name}'] for record in folds]):.1f}" for name in ("boosted", "tuned")]
        part, tuned, whole = own
        gained = [f"{100 * (tuned / other - 1):+.1f}" for other in (part, whole)]
        rows.append([table, str(len(folds)), *(f"{x:.4f}" for x in own), *gained, *seconds])
    head = ["table", "folds", *NAMES, "tuned less part, %", "tuned less all, %", "s boosted", "s tuned"]
    return [table_of(head, rows), _words(loss)]


def _words(loss: np.ndarray) -> list[str]:
    """Wins against both, and mean logarithms of ratios."""
    ratio = 100 * np.log(loss)
    lines = []
    for name, place in (("boosted on the same rows", 0), ("boosted on all rows", 2)):
        found = difference(ratio[:, place], ratio[:, 1])
        words = ("pays" if found.mean > 0 else "costs") if found.is_sure else "makes no sure difference"
        interval = f" ({found.low:.2f} to {found.high:.2f})" if found.has_interval else ""
        lines.append(
            f"- Beside trees {name} it {words}: less loss by {found.mean:.2f} %{interval}, "
            f"on {found.wins} of {found.number} tables."
        )
    return ["Further training, with intervals of 95 % over tables:", "", *lines]
