"""Child processes that do orders: an order comes as JSON on the standard input, answers go as lines of JSON.

A mark precedes every answer, as libraries print too.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
MARK = "@@ "


class Answered(NamedTuple):
    """The results of a process that did an order.

    Attributes:
        answers: Its answers until it ended.
        seconds: From its start to its end.
        error: The error that ended it; empty if none did.
    """

    answers: list[dict[str, Any]]
    seconds: float
    error: str


def ask(
    module: str,
    order: Mapping[str, Any],
    environment: Mapping[str, str],
    limit: float | None = None,
    python: str = sys.executable,
) -> Answered:
    """Has a new process of a module do an order; one that takes more seconds than the limit is ended."""
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [python, "-m", module],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
            check=False,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return Answered([], time.perf_counter() - start, f"took more than {limit:g} s")
    seconds = time.perf_counter() - start
    answers = [json.loads(line.removeprefix(MARK)) for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode == 0:
        return Answered(answers, seconds, "")
    lines = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
    return Answered(answers, seconds, lines[-1])


def answer(result: Mapping[str, Any]) -> None:
    """Hands a result to the process that gave the order."""
    print(MARK + json.dumps(result), flush=True)
