"""`jaxtree doctor`: what this machine does, as a table or as JSON that one can send.

The modules that compute are imported when the command runs, so that its help does not wait for them.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from jaxtree.cli.session import Session, command, progress_bar


@dataclass(frozen=True)
class DoctorSession(Session):
    """How the command runs: it chooses devices itself, and JAX may not start before it."""

    device: Annotated[
        Literal["cpu", "gpu", "tpu"] | None,
        typer.Option(
            help="The only kind of device to compare with the host.", show_default="all", rich_help_panel="The run"
        ),
    ] = None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Surrounds the work as of other commands, without a device."""
        with Session(cores=self.cores, quiet=self.quiet, debug=self.debug).running():
            yield


@command
def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, to keep or to send.")] = False,
    session: DoctorSession,
) -> None:
    """Checks this machine: the kernel, the devices, and whether all grow the same trees.

    Grows a tree on the host, on every device, and without the kernel in C++; all must agree to the last bit. If one
    differs, or a fit fails, the exit status is 1. The report begins with versions, hardware, and whether JAX finds
    compiled programs again. A device whose programs were never compiled takes longer. Nothing is sent, and the JSON
    does not identify you.
    """
    from jaxtree.doctor import check_machine, describe, to_text

    with progress_bar(quiet=session.quiet) as progress:
        task = progress.add_task("starting", total=None)
        report = check_machine(session.device, on_step=lambda what: progress.update(task, description=what))
    print(to_text(report) if as_json else describe(report), end="" if as_json else "\n")
    if report.faults:
        raise typer.Exit(1)
