"""The commands `jaxtree reproduce` and `jaxtree study`, which run a study and write its report.

Studies and libraries are imported when a command runs, so that the program's help does not wait for them.
"""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

study = typer.Typer(no_args_is_help=True, help="Runs a study and writes a report.")

Out = Annotated[Path, typer.Option(help="Folder for report.html, report.json and figures/.")]


def reproduce(
    out: Out = Path("report"),
    draws: Annotated[int, typer.Option(min=1, help="Draws of dropout pruning for every p and q.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws and shuffles.")] = 0,
) -> None:
    """Runs the experiment of Zhu and Zhou (2023) on the Car Evaluation data and writes a report."""
    start = time.perf_counter()
    from rich.console import Console

    from jaxtree_studies.report import check_output_dir

    check_output_dir(out)
    from jaxtree.cli.session import progress_bar
    from jaxtree.growth.loop.grow import num_programs
    from jaxtree_studies import dropout_paper, paper_page

    with progress_bar() as progress:
        task = progress.add_task("growing trees", total=5)

        def on_stage(name: str) -> None:
            progress.update(task, description=f"{name} done", advance=1)

        results, accuracies = dropout_paper.run(draws, seed, on_stage)
        progress.update(task, description="drawing")
        written = paper_page.write_report(results, accuracies, out)
        on_stage("report")
    console = Console()
    _print_reproduction(console, results)
    console.print(f"{num_programs()} growth programs compiled; {time.perf_counter() - start:.1f} s in all")
    console.print(f"report: {written[0]}", soft_wrap=True)


@study.command()
def prunings(
    data: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Folder of UCI data sets, as in DATA/nursery/nursery.data."),
    ] = None,
    out: Out = Path("report-prunings"),
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
    from rich.console import Console

    from jaxtree_studies.report import check_output_dir

    check_output_dir(out)
    from jaxtree.cli.session import progress_bar
    from jaxtree_studies.pruning_page import write_report
    from jaxtree_studies.prunings import StudyPlan, run

    with progress_bar() as progress:
        task = progress.add_task("reading", total=None)

        def on_step(doing: str, steps: int) -> None:
            # The first call comes before the first step.
            progress.update(task, description=doing, total=steps, advance=0 if progress.tasks[0].total is None else 1)

        usual = 2 if quick else 5
        results = run(StudyPlan(data, folds or usual, inner or usual, seed, quick), on_step)
        progress.update(task, description="drawing")
        written = write_report(results, out)
    console = Console()
    _print_comparison(console, results)
    console.print(f"report: {written[0]}", soft_wrap=True)


@study.command()
def gradients(
    data: Annotated[Path, typer.Option(file_okay=False, help="Folder of tables, as in DATA/gradtree/wdbc.data.")],
    out: Out = Path("report-gradients"),
    download: Annotated[
        bool,
        typer.Option("--download", help="Put the tables of the UCI repository (CC BY 4.0) that are absent into DATA."),
    ] = False,
    peer: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Python of an environment that has GRANDE.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(help="Names of tables with commas between them.", show_default="all")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Divisions of every table.", show_default="5, quick: 1")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fit tiny ensembles on two tables.")] = False,
) -> None:
    """Compares ensembles trained by gradients with boosting, forests and GRANDE; continues earlier runs in OUT."""
    from rich.console import Console

    from jaxtree_studies.report import check_output_dir

    check_output_dir(out)
    from jaxtree.cli.session import progress_bar
    from jaxtree_studies import gradients
    from jaxtree_studies.gradients_page import write_report
    from jaxtree_studies.tables import download as fetch

    chosen = tuple(tables.split(",")) if tables else gradients.QUICK if quick else tuple(gradients.TITLES)
    if not data.exists() and not download:
        raise typer.BadParameter(
            f"the folder {str(data)!r} is not there: --download makes it, with tables of the UCI repository",
            param_hint="--data",
        )
    plan = gradients.GradientsPlan(data, chosen, seeds or (1 if quick else 5), peer, quick)
    with progress_bar() as progress:
        task = progress.add_task("reading", total=None)

        def on_step(doing: str, steps: int) -> None:
            # The first call comes before the first step.
            progress.update(task, description=doing, total=steps, advance=0 if progress.tasks[0].total is None else 1)

        if download:
            fetch.download(chosen, data, lambda file: progress.update(task, description=f"downloading {file}"))
        results = gradients.run(plan, out, on_step)
        written = write_report(results, out)
    console = Console()
    _print_gradients(console, results)
    console.print(f"report: {written[0]}", soft_wrap=True)


def _print_reproduction(console: Any, results: dict[str, Any]) -> None:
    from jaxtree_studies.dropout_paper import verdict

    for example in results["examples"]:
        gains = ", ".join(f"{row['column']} {row['gain']:.3f}" for row in example["gains"])
        console.print(f"[bold]{example['name']}[/]: entropy {example['entropy']:.4f}; gains {gains}")
        console.print(example["tree"], highlight=False, markup=False)
        console.print()
    console.print(_table_2(results["table2"]))
    console.print(
        "Without a limit the paper prints both 0.847222 and 0.851852: the last splits have equal gains there, and "
        "which column wins a tie decides. Here the lowest column always does.\n"
    )
    tree = results["classic"]
    console.print(
        f"Unpruned tree: {tree['num_nodes']} nodes, depth {tree['depth']}, training accuracy "
        f"{tree['train_accuracy']:.6f}, test accuracy {tree['test_accuracy']:.6f}; "
        f"depth-3 tree: AUC {results['auc']:.6f}\n"
    )
    for sentence in verdict(results):
        console.print(f"• {sentence}")
    cost = results["cost"]
    hours = cost["paper_seconds_per_fit"] * cost["fits_in_sweep"] / 3600
    console.print(
        f"\n{cost['fits_in_sweep']:,} pruned trees scored on test and training rows in "
        f"{cost['our_seconds_sweep']:.2f} s; at {cost['paper_seconds_per_fit']} s a fit the paper's program would need "
        f"{hours:.1f} hours."
    )


def _table_2(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(title="Table 2: test accuracy (ours | paper)")
    depths = list(dict.fromkeys(row["max_depth"] for row in rows))
    for heading in ("criterion", *("no limit" if depth is None else f"depth {depth}" for depth in depths)):
        table.add_column(heading)
    for criterion in dict.fromkeys(row["criterion"] for row in rows):
        cells = [row for row in rows if row["criterion"] == criterion]
        table.add_row(criterion, *(f"{row['accuracy']:.6f}\n{row['paper'][0]:.6f}" for row in cells))
    return table


def _print_comparison(console: Any, results: dict[str, Any]) -> None:
    from rich.table import Table

    from jaxtree_studies.pruning_page import accuracy_rows
    from jaxtree_studies.pruning_verdict import verdict

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


def _print_gradients(console: Any, results: dict[str, Any]) -> None:
    from rich.table import Table

    from jaxtree_studies.gradients_page import score_rows
    from jaxtree_studies.gradients_verdict import NAMES, verdict

    for figure, name in NAMES.items():
        table = Table(title=f"Test {name}", caption="bold: the best on a table; *: defaults were chosen on it")
        for heading in ("table", *results["ways"]):
            table.add_column(heading, justify="left" if heading == "table" else "right")
        for row in score_rows(results, figure):
            cells = ("–" if cell["figure"] is None else f"{cell['figure']:.3f}" for cell in row["cells"])
            marked = (f"[bold]{text}[/]" if c["is_best"] else text for text, c in zip(cells, row["cells"], strict=True))
            table.add_row(row["title"] + ("" if row["is_kept"] else "*"), *marked)
        console.print(table)
    for sentence in verdict(results):
        console.print(f"• {sentence}", highlight=False)
    for absent in results["skipped"]:
        console.print(f"skipped: {absent['name']}, {absent['reason']}", highlight=False)
    for reason in dict.fromkeys(failure["reason"] for failure in results["failed"]):
        console.print(f"GRANDE: {reason}", highlight=False)
