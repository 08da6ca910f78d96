"""A report in words: one line a fact, and tables in columns of equal width."""

from collections.abc import Iterable, Sequence

from jaxtree.doctor.fits import has_prediction
from jaxtree.doctor.report import HOST, Compared, Machine, ProgramsKept, Report

_GIB = 2**30
_MILLISECONDS = 1000


def describe(report: Report) -> str:
    """Returns a report as text, for a terminal or a notebook.

    Args:
        report: The report, of this machine or of another.

    Example:
        >>> from jaxtree.doctor import check_machine, describe
        >>> print(describe(check_machine()))  # doctest: +SKIP
    """
    sections = (
        ("This machine", _machine(report)),
        ("Compiled programs", _programs(report)),
        ("Fits beside those of the host", _fits(report)),
        (f"Milliseconds of fits of {report.rows:,} rows, where nothing else is said", _times(report)),
        ("Where a fit computes", _choices(report)),
    )
    parts = [f"{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in sections]
    return "\n\n".join([*parts, verdict(report)])


def verdict(report: Report) -> str:
    """Returns the last line: whether all fits are the same, or which are not."""
    if not report.faults:
        return f"All {len(report.fits)} fits are as they must be; {report.seconds:.0f} s."
    names = ", ".join(f"{own.fit} ({own.place})" for own in report.faults)
    return f"{len(report.faults)} of {len(report.fits)} fits are not as they must be: {names}."


def _machine(report: Report) -> list[str]:
    machine, versions = report.machine, report.versions
    rows = [
        ("versions", ", ".join(f"{name} {own}" for name, own in versions.items())),
        ("system", machine.system),
        ("processor", f"{machine.processor}, {machine.cores} cores, {_bytes(machine.memory)}{_busy(machine)}"),
        ("kernel in C++", "is there" if report.kernel is None else f"is not there: {report.kernel}"),
        *((own.place, f"{own.kind}, {_bytes(own.memory)}") for own in report.devices),
        *(("JAX says", own) for own in report.warnings),
    ]
    return columns(rows)


def _busy(machine: Machine) -> str:
    """Says that other programs have had the cores, where they have: times then say little."""
    if machine.load is None or machine.load < machine.cores / 2:
        return ""
    return f"; {machine.load:.1f} programs wanted them in the minute before, so that times say little"


def _programs(report: Report) -> list[str]:
    folder = report.folder or "JAX has no folder for them, so that every process compiles anew"
    return columns([*((own.platform, _of_programs(own)) for own in report.programs), ("folder", folder)])


def _of_programs(own: ProgramsKept) -> str:
    if own.keeps and own.finds:
        return "kept, and found by the next process"
    if own.keeps:
        return f"kept, and not found by the next process, which compiles again{f' ({own.said})' if own.said else ''}"
    return f"not kept: {own.said or 'JAX has written none'}"


def _fits(report: Report) -> list[str]:
    """A line a fit, a column a place."""
    places = list(dict.fromkeys(own.place for own in report.fits))
    found = {(own.fit, own.place): own for own in report.fits}
    names = dict.fromkeys(own.fit for own in report.fits)
    rows = [["", *places]]
    rows += [[name, *(_of_fit(found.get((name, place))) for place in places)] for name in names]
    errors = [f"{own.fit} on {own.place}: {own.error}" for own in report.faults if own.error]
    return [*columns(rows), *errors]


def _of_fit(own: Compared | None) -> str:
    if own is None:
        return "-"
    if own.error is not None:
        return "failed"
    if own.differs is not None:
        return f"DIFFERS: {own.differs}"
    if own.place == HOST:
        return own.digest or "(values)"
    return "same bits" if own.digest else "close"


def _times(report: Report) -> list[str]:
    """A line a fit and place; predictions stand in a last column where there are any."""
    is_predicted = any(own.predicted is not None for own in report.times)
    rows = [["", "where", "first", "later", "predict", *(["predicted"] if is_predicted else [])]]
    before = None
    for own in report.times:
        shown = [own.first, own.later, own.predict, *([own.predicted] if is_predicted else [])]
        rows.append([own.fit if own.fit != before else "", own.place, *map(_milliseconds, shown)])
        before = own.fit
    kinds = dict.fromkeys(own.kind for own in report.devices if own.platform != "cpu")
    unknown = [kind for kind in kinds if not has_prediction(kind)]
    return [*columns(rows, right=2), *(f"no prediction for this kind: {kind}" for kind in unknown)]


def _choices(report: Report) -> list[str]:
    """A line for all sizes of a kind of model that compute at one place for one reason."""
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for own in report.choices:
        sizes.setdefault((own.fit, own.place, own.reason), []).append(f"{own.rows:,} x {own.columns}")
    return columns([[fit, place, ", ".join(own), reason] for (fit, place, reason), own in sizes.items()])


def columns(rows: Iterable[Sequence[str]], right: int | None = None) -> list[str]:
    """Returns rows as lines whose cells stand below one another.

    Args:
        rows: The cells, as many in every row.
        right: The first column whose cells are numbers, which end below one another; None for none.

    >>> columns([["a", "10"], ["bc", "9"]], right=1)
    ['a   10', 'bc   9']
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    places = range(len(widths)) if right is None else range(right)
    aligned = [
        [
            cell.ljust(width) if place in places else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in cells
    ]
    return ["  ".join(row).rstrip() for row in aligned]


def _bytes(number: int | None) -> str:
    return "memory unknown" if number is None else f"{number / _GIB:.1f} GiB"


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    value = seconds * _MILLISECONDS
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
