"""Programs compiled for a TPU v5e and an H200: what stands in them, and the memory they need. Nothing is run.

    pip install -e '.[aot]'
    JAX_PLATFORMS=cpu python -m benchmarks.compile_only [--rows 1000000] [--only growth walk] [--out FOLDER]

No device is needed. All programs together take some twenty minutes of one core.
"""

import argparse
import datetime
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

from benchmarks.compile_only.additive_programs import ADDITIVE
from benchmarks.compile_only.boosting_programs import BOOSTING, FUNCTIONS, MANY
from benchmarks.compile_only.captured import capture, compile_call
from benchmarks.compile_only.programs import PROGRAMS, Program
from benchmarks.compile_only.reading import count
from benchmarks.compile_only.targets import MOST_DEVICES, NAMES, WHEELS, mesh_of

COLUMNS = ("program", "fusions", "loops", "ended by host", "scatters", "products", "temporary MB", "CPU seconds")


_INTRODUCTION = """\
# Programs compiled for a device that was not there: {device}, {today}

**Nothing was run on a device.** These are counts of what the compiler made; the only times are those of compilation, on
a CPU core. {rows} rows x 28 features of 256 codes, depth 8; forests of 8 trees; boosted trees of depth 6. *Ended by
host* are loops and branches whose condition the host of a GPU reads. Memory is temporary memory, of one device. Made by
`python -m benchmarks.compile_only` with {wheels}.

"""


def describe(program: Program, platform: str, num_rows: int) -> dict[str, Any]:
    """Compiles a program, and returns its counts, its temporary memory in MB, and the seconds of a core it took."""
    call = capture(program.function, lambda: program.run(num_rows), platform)
    start = time.process_time()
    compiled = compile_call(call, mesh_of(platform, program.num_devices))
    seconds = time.process_time() - start
    found = count(compiled.as_text())
    return {
        "fusions": found.fusions,
        "loops": found.loops,
        "ended by host": found.ended_by_host if platform == "gpu" else "-",
        "scatters": found.scatters,
        "products": found.products,
        "temporary MB": round(compiled.memory_analysis().temp_size_in_bytes / 1e6),
        "CPU seconds": round(seconds),
    }


def table_of(platform: str, num_rows: int, only: list[str]) -> str:
    """Returns the table of a platform, in Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" + "|---:" * (len(COLUMNS) - 1) + "|"]
    for name, program in (PROGRAMS | BOOSTING | MANY | FUNCTIONS | ADDITIVE).items():
        if not any(word in name for word in only):
            continue
        try:
            cells = list(describe(program, platform, num_rows).values())
        except jax.errors.JaxRuntimeError as error:
            first_line = str(error).splitlines()[0].replace("|", "/")
            cells = [f"**refused**: {first_line[:200]}", *[""] * (len(COLUMNS) - 2)]
        lines.append("| " + " | ".join(map(str, (name, *cells))) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names of programs")
    parser.add_argument("--platforms", nargs="+", choices=tuple(NAMES), default=list(NAMES))
    parser.add_argument("--out", type=Path, help="folder for the tables")
    arguments = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", MOST_DEVICES)
    today = datetime.date.today().isoformat()
    for platform in arguments.platforms:
        text = _INTRODUCTION.format(
            device=NAMES[platform],
            today=today,
            rows=f"{arguments.rows:,}",
            wheels=", ".join(f"{name} {version(name)}" for name in ("jax", WHEELS[platform])),
        )
        text += table_of(platform, arguments.rows, arguments.only)
        print(text)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"compile-only-{platform}-{today}.md").write_text(text)


if __name__ == "__main__":
    main()
