"""A part of the study from its arguments to its page: records that are missing are measured, and all are told of."""

import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from jaxtree.errors import InvalidInputError
from jaxtree_studies.differentiable import boosted, ensemble, peers, single
from jaxtree_studies.differentiable.part import StudyPart
from jaxtree_studies.differentiable.records import Store, write_page

PARTS: dict[str, StudyPart] = {part.name: part for part in (single.PART, ensemble.PART, boosted.PART, peers.PART)}
PACKAGES = "jaxtree", "jax", "scikit-learn", "numpy"


def run(
    name: str,
    data: Path,
    out: Path,
    *,
    tables: Sequence[str] = (),
    ways: Sequence[str] = (),
    repeats: int | None = None,
    quick: bool = False,
    measures: bool = True,
    tell: Callable[[str], object] = print,
) -> tuple[Path, str]:
    """Measures what the records lack, and returns the path of the page and its text.

    Args:
        name: A key of `PARTS`.
        data: The folder of the tables.
        out: The folder of the records, which are written as they come, and of the page.
        tables: Some of the tables; none is all.
        ways: Some of the ways that are compared; none is all.
        repeats: How many trials or folds there are.
        quick: Whether it is a smoke run: two small tables and one trial.
        measures: Whether anything is measured; if not, the page is of the records that are there.
        tell: Called with every new record in words.

    Raises:
        InvalidInputError: There is no such part, table or way, or the file of a table is absent.
    """
    if name not in PARTS:
        raise InvalidInputError(f"the parts of the study are {', '.join(PARTS)}, got {name!r}")
    part = PARTS[name]
    for kind, given, known in (("table", tables, part.tables), ("way", ways, part.ways)):
        if unknown := sorted(set(given) - set(known)):
            raise InvalidInputError(f"{name} has no {kind} {unknown[0]!r}; there are {', '.join(known)}")
    base = out / f"differentiable-{name}{'-quick' if quick else ''}"
    about = {"cores": os.cpu_count(), "versions": {package: version(package) for package in PACKAGES}}
    store = Store(base.with_suffix(".json"), about)
    if measures:
        chosen = tables or (part.quick if quick else part.tables)
        repeats = repeats or (1 if quick else part.repeats)
        try:
            for record in part.measure(chosen, ways or part.ways, repeats, data, store):
                tell(part.line(record))
        except FileNotFoundError as error:
            raise InvalidInputError(f"a table has no file {error.filename}: name those to read, by --table") from error
    page = base.with_suffix(".md")
    return page, write_page(page, f"Differentiable trees: {name}", [[part.title_of_page], *part.pages(store.records)])
