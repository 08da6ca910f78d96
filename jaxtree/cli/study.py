"""`jaxtree study`: studies that write reports."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jaxtree.cli.progress import progress_bar

study = typer.Typer(no_args_is_help=True, help="Runs a study and writes a report.")


@study.command()
def prunings(
    data: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Folder of UCI data sets, as in DATA/nursery/nursery.data."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for report.html, report.json and figures/.")] = Path(
        "report-prunings"
    ),
    folds: Annotated[
        int | None, typer.Option(min=2, help="Outer folds, on which accuracy is measured.", show_default="5, quick: 2")
    ] = None,
    inner: Annotated[
        int | None, typer.Option(min=2, help="Inner folds, on which parameters are chosen.", show_default="5, quick: 2")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, draws and forests.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Try a few settings of each pruning on few folds.")] = False,
) -> None:
    """Compares all prunings by nested cross-validation: accuracy, sizes, times, ranks and tests."""
    # The study and its page are imported here, so that --help is quick.
    from jaxtree.compilation import enable_compilation_cache
    from jaxtree.study.prunings import Plan, page, run
    from jaxtree.study.writing import check_output_dir

    check_output_dir(out)
    enable_compilation_cache()
    with progress_bar() as progress:
        task = progress.add_task("reading", total=None)

        def on_step(doing: str, steps: int) -> None:
            # The first call comes before the first step.
            progress.update(task, description=doing, total=steps, advance=0 if progress.tasks[0].total is None else 1)

        usual = 2 if quick else 5
        results = run(Plan(data, folds or usual, inner or usual, seed, quick), on_step)
        progress.update(task, description="drawing")
        written = page.write_report(results, out)
    console = Console()
    _print_comparison(console, results)
    console.print(f"report: {written[0]}", soft_wrap=True)


def _print_comparison(console: Console, results: dict[str, Any]) -> None:
    from jaxtree.study.prunings.page import accuracy_rows
    from jaxtree.study.prunings.verdict import verdict

    table = Table(title="Test accuracy in percent, by mean rank", caption="bold: the best on a data set")
    for heading in ("method", "rank", *(data["name"] for data in results["data"])):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for row in accuracy_rows(results):
        cells = (f"{100 * c['accuracy']:.2f}" for c in row["cells"])
        marked = (f"[bold]{text}[/]" if c["is_best"] else text for text, c in zip(cells, row["cells"], strict=True))
        table.add_row(row["name"], f"{row['rank']:.2f}", *marked)
    console.print(table)
    for sentence in verdict(results):
        console.print(f"• {sentence}", highlight=False)
    for absent in results["skipped"]:
        console.print(f"skipped: {absent['name']}, {absent['reason']}", highlight=False)
    console.print(f"{results['seconds']['in all']:.1f} s in all")
