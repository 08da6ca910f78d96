"""Orders to child processes, and what they answer. Nothing that is compiled is kept from one process to the next."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.additive.cases import ADULT, describe, read_place, write_case
from benchmarks.additive.contenders import OURS, why_not
from benchmarks.additive.searches import NUM_SETTINGS
from benchmarks.additive.synthetic import LONG, write_first, write_long
from benchmarks.suite.processes import ask

WORKER = "benchmarks.additive.worker"
SLOW = 120.0
"""Peers whose fit takes more seconds have one fold."""
RESTING = {"OMP_WAIT_POLICY": "passive"}
"""Threads of OpenMP that wait for others rest, so that CPU seconds are those of work on a machine that is busy, too."""
Found = dict[str, Any]


class Settings(NamedTuple):
    """How a run measures.

    Attributes:
        data: The folder of the real tables.
        tables: Where tables are written; read by all processes.
        folds: The number of folds of every table.
        limit: Seconds after which a process is ended; None is never.
        parameters: Parameters of our estimators that are not the defaults.
    """

    data: Path
    tables: Path
    folds: int
    limit: float | None
    parameters: Found


def measure_folds(name: str, contender: str, found: Found, settings: Settings, *, first_alone: bool) -> None:
    """Adds to `found`, by the number of the fold, the figures of those folds that it has not got.

    Ours fits all folds in one process. A peer has a process a fold, and after its first fold no others where that was
    slow or failed.

    Args:
        name: The name of the table.
        contender: Who fits.
        found: The figures of the contender on this table.
        settings: How to measure.
        first_alone: Whether the other folds of peers are left for later.
    """
    place = write_case(name, settings.tables, settings.data)
    table = read_place(place)
    if why := why_not(contender, table.X, table.y):
        found.setdefault("0", {"refused": why})
        return
    folds = list(range(min(settings.folds, table.fold.max() + 1)))
    is_ours = contender.startswith(OURS)
    for some in [folds] if is_ours else [[fold] for fold in folds]:
        left = [fold for fold in some if str(fold) not in found]
        is_later = not is_ours and some[0] > 0
        if not left or (is_later and (first_alone or not _goes_on(found.get("0", {})))):
            continue
        order = {"mode": "folds", "contender": contender, "place": str(place), "folds": left}
        answers, error = _ask(order | {"parameters": settings.parameters if is_ours else {}}, settings.limit)
        found.update({str(answer.pop("fold")): answer for answer in answers})
        if error:
            found[str(left[len(answers)])] = {"error": error}


def _goes_on(first: Found) -> bool:
    return first.get("wall", SLOW + 1) <= SLOW


def measure_first(name: str, contender: str, settings: Settings) -> Found:
    """Two fits of a new process."""
    place = write_first(name, settings.tables, write_case(ADULT, settings.tables, settings.data))
    table = read_place(place)
    if why := why_not(contender, table.X, table.y):
        return {"refused": why}
    return _one({"mode": "first", "contender": contender, "place": str(place)}, settings.limit)


def measure_long(name: str, contender: str, settings: Settings) -> Found:
    """A fit of a long table."""
    place = write_long(name, settings.tables)
    parameters = LONG[name].parameters | settings.parameters if contender == OURS else {}
    order = {"mode": "long", "contender": contender, "place": str(place), "parameters": parameters}
    return _one(order, settings.limit)


def measure_search(name: str, settings: Settings) -> Found:
    """A search beside one fit."""
    return _one({"mode": "search", "name": name, "num_settings": NUM_SETTINGS}, settings.limit)


def describe_case(name: str, settings: Settings) -> Found:
    """The size of a table."""
    return describe(read_place(write_case(name, settings.tables, settings.data)))


def _one(order: Found, limit: float | None) -> Found:
    answers, error = _ask(order, limit)
    return {"error": error} if error else answers[0]


def _ask(order: Found, limit: float | None) -> tuple[list[Found], str]:
    with TemporaryDirectory() as caches:
        environment = os.environ | {"XDG_CACHE_HOME": caches} | RESTING
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        done = ask(WORKER, order, environment, limit)
    return done.answers, done.error
