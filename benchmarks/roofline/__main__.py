"""A prediction of times on an H100, H200, A100, T4, L4 and TPU v5e, written down before anyone has timed them.

    python -m benchmarks.roofline                                    # prints it, from the counts in counts.json
    python -m benchmarks.roofline --out benchmarks/results           # writes it there
    JAX_PLATFORMS=cpu python -m benchmarks.roofline --compile        # counts anew, then prints; half an hour of a core

Only `--compile` needs compilers (`pip install -e '.[aot]'`, with JAX 0.12) and changes the stored counts: those of the
workloads and devices that `--only` and `--platforms` name, all if they name none. No device is needed.
"""

import argparse
import datetime
import json
from importlib.metadata import version
from pathlib import Path

import jax

from benchmarks.compile_only.targets import NAMES, WHEELS
from benchmarks.roofline.counts import count_workload
from benchmarks.roofline.page import predictions, write_page
from benchmarks.roofline.workloads import WORKLOADS

COUNTS = Path(__file__).parent / "counts.json"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true", help="compile the programs, and count their work again")
    parser.add_argument("--only", nargs="+", choices=tuple(WORKLOADS), default=list(WORKLOADS))
    parser.add_argument("--platforms", nargs="+", choices=tuple(NAMES), default=list(NAMES))
    parser.add_argument("--size", type=int, help="with --compile: another size of workloads, to try it")
    parser.add_argument("--counts", type=Path, default=COUNTS, help="the file of counts")
    parser.add_argument("--out", type=Path, help="folder for the page and its figures")
    options = parser.parse_args(arguments)
    if options.size is not None and options.counts == COUNTS:
        parser.error("--size is to try things: name another file of counts with --counts")
    today = datetime.date.today().isoformat()
    if options.compile:
        _count_again(options, today)
    stored = json.loads(options.counts.read_text())
    page = write_page(stored, today)
    print(page)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"roofline-{today}.md").write_text(page)
        (options.out / f"roofline-{today}.json").write_text(json.dumps(_figures(stored, today), indent=1) + "\n")


def _count_again(options: argparse.Namespace, today: str) -> None:
    """Counts the named workloads, and writes the file after each, so that an interrupt loses one at most."""
    jax.config.update("jax_enable_compilation_cache", False)  # a program from a disk took no time to compile
    path: Path = options.counts
    stored = json.loads(path.read_text()) if path.exists() else {"counts": {}}
    for name in options.only:
        for platform in [own for own in options.platforms if own in WORKLOADS[name].counted]:
            counts = count_workload(WORKLOADS[name], platform, options.size)
            stored["counts"].setdefault(name, {})[platform] = counts.stored()
            stored["date"] = today
            stored["versions"] = {wheel: version(wheel) for wheel in ("jax", *WHEELS.values())}
            path.write_text(json.dumps(stored, indent=1) + "\n")


def _figures(stored: dict, today: str) -> dict:
    """The predictions for machines."""
    found = {
        name: {
            device: {
                "seconds": own.seconds._asdict(),
                "transfer_seconds": own.transfer and own.transfer._asdict(),
                "compile_seconds": own.compile_seconds,
                "largest": own.largest.name,
                "terms": [term._asdict() | {"seconds": term.seconds._asdict()} for term in own.terms],
            }
            for device, own in devices.items()
        }
        for name, devices in predictions(stored).items()
    }
    return {"date": today, "counted": stored["date"], "versions": stored["versions"], "predictions": found}


if __name__ == "__main__":
    main()
