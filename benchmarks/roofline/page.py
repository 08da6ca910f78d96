"""The prediction in Markdown."""

from collections.abc import Iterable
from typing import Any

from benchmarks.roofline.counts import Counts
from benchmarks.roofline.model import FALSE_ABOVE, Prediction, predict
from benchmarks.roofline.peers import PUBLISHED
from benchmarks.roofline.rates import CYCLES_OF_ADDITION, CYCLES_OF_LOOKUP, LAUNCH, NVIDIA, READ, V5E, V5E_CLOCK, Range
from benchmarks.roofline.words import FALSE, INTRODUCTION, METHOD, OTHER_RATES, OTHERS
from benchmarks.roofline.workloads import WORKLOADS, Workload

DEVICES = (*NVIDIA, V5E)
PARTS_SHOWN = 6


def write_page(stored: dict[str, Any], today: str) -> str:
    """Returns the page.

    Args:
        stored: The counts, as they are stored.
        today: The date.
    """
    found = predictions(stored)
    counted = f"{stored['date']} with " + ", ".join(f"{name} {number}" for name, number in stored["versions"].items())
    sections = [
        INTRODUCTION.format(today=today, counted=counted) + _summary(found),
        FALSE.format(factor=FALSE_ABOVE) + "\n".join(f"- {line}" for line in _falsified(found)) + "\n",
        *(_section(name, WORKLOADS[name], found[name], stored) for name in found),
        METHOD.format(
            sizes=_sizes(),
            clock=V5E_CLOCK / 1e9,
            lookup=_numbers(CYCLES_OF_LOOKUP),
            addition=_numbers(CYCLES_OF_ADDITION),
        ),
        _rates(),
        _peers(),
    ]
    return "\n".join(section.strip("\n") + "\n" for section in sections)


def predictions(stored: dict[str, Any]) -> dict[str, dict[str, Prediction]]:
    """Returns the prediction of every workload that was counted, for each device."""
    found: dict[str, dict[str, Prediction]] = {}
    for name, workload in WORKLOADS.items():
        for device in DEVICES:
            platform = "tpu" if device == V5E else "gpu"
            if name not in stored["counts"] or platform not in stored["counts"][name]:
                continue
            counts = Counts.of(stored["counts"][name][platform])
            how = {"calls": workload.calls, "reads_in_order": workload.reads_in_order}
            found.setdefault(name, {})[device] = predict(counts, device, **how)
    return found


def _summary(found: dict[str, dict[str, Prediction]]) -> str:
    rows = []
    for name, own in found.items():
        rows.append([name, *(_told(own[device]) if device in own else "" for device in DEVICES), _measured(name)])
    text = _table(["workload", *DEVICES, "two cores of a CPU"], rows)
    largest = [[name, *(own[d].largest.name if d in own else "" for d in DEVICES)] for name, own in found.items()]
    return text + "\nThe largest term of each:\n\n" + _table(["workload", *DEVICES], largest)


def _measured(name: str) -> str:
    """The time of jaxtree on a CPU, where it was measured."""
    own = [figure for figure in PUBLISHED if (figure.workload, figure.library) == (name, "jaxtree")]
    return f"{_seconds(float(own[0].seconds))}" if own else ""


def _section(name: str, workload: Workload, own: dict[str, Prediction], stored: dict[str, Any]) -> str:
    """The terms of a workload on every device, and where its launches are."""
    lines = [f"## {_upper(name)}", "", f"{_upper(workload.words)}. Timed by {workload.timed_by}."]
    gpus = [device for device in own if device in NVIDIA]
    if gpus:
        lines += ["", _table(["term", "amount", *gpus], _rows(own, gpus, _arguments(stored, name))).rstrip()]
    if V5E in own:
        lines += ["", _table(["term", "amount", V5E], _rows(own, [V5E]))]
    seconds = [f"{own[device].compile_seconds:.0f} s for {words}" for device, words in
               (("H200", "the H200"), (V5E, "the v5e")) if device in own]  # fmt: skip
    needs = max(Counts.of(stored["counts"][name][platform]).num_bytes for platform in stored["counts"][name])
    lines.append(
        f"A call needs up to {needs / 1e9:.2g} GB. Apart: compilation, of a core of a CPU, {' and '.join(seconds)}."
    )
    for platform, words in (("gpu", "H200"), ("tpu", "TPU v5e")):
        if platform in stored["counts"][name]:
            lines += ["", _parts(Counts.of(stored["counts"][name][platform]), platform, words).rstrip()]
    return "\n".join(lines)


def _rows(own: dict[str, Prediction], devices: list[str], num_bytes: float = 0) -> list[list[str]]:
    """A row for every term on devices that have the same, their sum, and the transfer of the arguments."""
    rows = []
    for place, term in enumerate(own[devices[0]].terms):
        seconds = [_seconds(own[device].terms[place].seconds.likely) for device in devices]
        rows.append([term.name, f"{_amount(term.amount)} {term.unit}", *seconds])
    rows.append(["**sum**", "", *(f"**{_seconds(own[device].seconds.likely)}**" for device in devices)])
    rows.append(["best to worst", "", *(_range(own[device].seconds) for device in devices)])
    transfers = [own[device].transfer for device in devices]
    if num_bytes:
        seconds = [_seconds(transfer.likely) if transfer else "" for transfer in transfers]
        rows.append(["apart: transfer of the arguments", f"{_amount(num_bytes)} bytes", *seconds])
    return rows


def _parts(counts: Counts, platform: str, words: str) -> str:
    """The parts of a program that take most: of launches on a GPU, of cycles on a TPU."""
    columns = (
        ["launches", "bytes", "additions"] if platform == "gpu" else ["cycles", "other lookups", "other additions"]
    )
    parts = sorted(counts.parts, key=lambda part: -part.times * part.work.get(columns[0], 0))[:PARTS_SHOWN]
    rows = []
    for part in parts:
        known = _amount(part.times) if part.is_known else f"{_amount(part.times)} (not known)"
        rows.append([f"`{_short(part.place)}`", known, *(_amount(part.work.get(column, 0)) for column in columns)])
    unknown = sum(not part.is_known for part in counts.parts)
    note = f" Of {unknown} parts the rounds are not known, and taken to be one." if unknown else ""
    title = f"Parts of one call on the {words} with most {columns[0]}; the amounts are of one time.{note}\n\n"
    return title + _table(["part", "times", *columns], rows)


def _short(place: str) -> str:
    """The last functions of a place."""
    return " > ".join(place.split(" > ")[-3:])


def _falsified(found: dict[str, dict[str, Prediction]]) -> Iterable[str]:
    for name, device in (("tree", "H100"), ("boosting", "A100"), ("forest", "L4"), ("tree", V5E)):
        own = found.get(name, {}).get(device)
        if own is None:
            continue
        low, high = (_seconds(own.seconds.likely * factor) for factor in (1 / FALSE_ABOVE, FALSE_ABOVE))
        what, where = (
            _upper(WORKLOADS[name].words.partition(":")[0]),
            f"a TPU {device}" if device == V5E else f"an {device}",
        )
        largest = f"whose largest term is not *{own.largest.name}*"
        yield f"{what} on {where} that takes less than {low} or more than {high}, or {largest}."
    if {"H100", "T4"} <= found.get("tree", {}).keys():
        ratio = found["tree"]["T4"].seconds.likely / found["tree"]["H100"].seconds.likely
        low, high = ratio / FALSE_ABOVE, ratio * FALSE_ABOVE
        yield f"A tree that takes on a T4 less than {low:.1f} or more than {high:.1f} times as long as on an H100."


def _sizes() -> str:
    sized = [(name, own.counted[kind], kind) for name, own in WORKLOADS.items() for kind in own.counted]
    both = [(name, sizes, kind) for name, sizes, kind in sized if len(sizes) > 1]
    return "; ".join(f"{name} on a {kind.upper()} at {sizes[0]:,} and {sizes[1]:,}" for name, sizes, kind in both)


def _rates() -> str:
    rows = [
        [own.name, f"{own.memory / 1e9:,.0f}", f"{own.cache_rate / 1e9:,.0f}", own.processors, f"{own.clock / 1e9:.2f}",
         f"{own.f64} / {own.f32} / {own.i32}", f"{own.bf16 / 1e12:g}", f"{own.bus / 1e9:g}", own.sources]
        for own in NVIDIA.values()
    ]  # fmt: skip
    columns = [
        "device", "memory GB/s", "cache GB/s", "processors", "GHz", "f64 / f32 / i32 a cycle", "bf16 TFLOPS",
        "bus GB/s", "sources",
    ]  # fmt: skip
    return (
        "## Rates\n\n"
        + _table(columns, rows)
        + OTHER_RATES.format(launch=_numbers(LAUNCH, 1e6), read=_numbers(READ, 1e6))
    )


def _peers() -> str:
    rows = [list(figure) for figure in PUBLISHED]
    return OTHERS + _table(["near", "task", "library", "device", "seconds", "source"], rows)


def _upper(words: str) -> str:
    return words[0].upper() + words[1:]


def _arguments(stored: dict[str, Any], name: str) -> float:
    return stored["counts"][name]["gpu"]["argument_bytes"]


def _table(columns: list[str], rows: list[list[Any]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]) + "\n"


def _seconds(value: float) -> str:
    """A time in three digits.

    >>> _seconds(1234.5), _seconds(0.01234), _seconds(0.000391), _seconds(1e-9)
    ('1,234 s', '12.3 ms', '391 us', '< 1 us')
    """
    if value < 1e-6:
        return "< 1 us"
    unit, size = next((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if value >= size)
    digits = max(0, 2 - int(f"{value / size:e}".partition("e")[2]))
    return f"{value / size:,.{digits}f} {unit}"


def _range(seconds: Range) -> str:
    return f"{_seconds(seconds.best)} to {_seconds(seconds.worst)}"


def _told(own: Prediction) -> str:
    return _with_range(own.seconds) + ("" if own.fits else ", does not fit")


def _with_range(seconds: Range) -> str:
    return f"**{_seconds(seconds.likely)}** ({_range(seconds)})"


def _numbers(values: Range, scale: float = 1.0) -> str:
    return ", ".join(f"{value * scale:g}" for value in values)


def _amount(value: float) -> str:
    """An amount in few letters.

    >>> _amount(12), _amount(123456), _amount(7.1e9)
    ('12', '123,456', '7.1e+09')
    """
    return f"{value:.2g}" if value >= 1e7 else f"{value:,.0f}"
