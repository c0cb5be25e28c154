"""`refti reproduce`: the paper's examples from scratch, beside what it prints and what is exact."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

import refti
from refti.cli.exit_codes import verdict
from refti.cli.printing import print_json
from refti.progress import Display, terminal_width

if TYPE_CHECKING:
    from refti.paper.report.findings import Findings
    from refti.paper.report.work import Work

EXAMPLES = {
    "pedagogical-1d": "one_dimension",
    "pedagogical-2d": "two_dimensions",
    "radiata": "radiata",
    "covid": "covid",
}


@click.command(short_help="Repeat the paper's examples, beside the printed numbers.")
@click.argument("example", type=click.Choice([*EXAMPLES, "all"]))
@click.option("--quick", is_flag=True, help="A short version with larger errors.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reproduction"),
    show_default=True,
    help="Folder for tables, figures, report and runs; runs that are there are not repeated.",
)
@click.option(
    "--cases",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="For covid: a CSV file of another country's daily cases, with columns date,cases.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def reproduce(
    example: str,
    quick: bool,
    output: Path,
    cases: Path | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """Repeat an example of the paper: its tables and figures, beside the printed numbers.

    Tables are printed and written as CSV, figures as SVG and PNG, and both go into an HTML report.
    A command that was interrupted continues where it stopped.

    \b
    Examples:
      refti reproduce radiata
      refti reproduce all --quick -o reproduction
      refti reproduce covid --cases cases.csv
    """
    from refti.paper.report import page
    from refti.paper.report.work import Work

    chosen = list(EXAMPLES) if example == "all" else [example]
    if cases is not None and "covid" not in chosen:
        raise refti.SettingsError(f"--cases is for covid; got {example}.")
    studies = {name: _study(name, cases if name == "covid" else None) for name in chosen}
    page.need_drawing()
    trusted, records = True, {}
    for name, study in studies.items():
        folder = output / (f"{name}-quick" if quick else name)
        with Display(quiet=quiet) as display:
            found = study(Work(folder, quick, seed, display))
        address = page.write(folder, found)
        trusted = trusted and found.trusted
        records[name] = asdict(replace(found, figures=())) | {"report": str(address)}
        if not as_json:
            click.echo(_words(found, terminal_width(sys.stdout)))
            click.echo(f"\nReport: {address}\n")
    if as_json:
        print_json(records)
    return verdict(trusted)


def _study(name: str, cases: Path | None) -> Callable[[Work], Findings]:
    """The function that makes an example's findings; bad cases are told before any compute."""
    study: Callable[..., Findings] = import_module(
        f"refti.paper.{EXAMPLES[name]}.study"
    ).make_findings
    if cases is None:
        return study
    from refti.paper.covid.cases import read_cases

    return partial(study, cases=read_cases(cases))


def _words(found: Findings, width: int) -> str:
    """The findings in words: what holds, then the tables without the reasons that are too long."""
    from refti.results.text import fitted_table, wrapped

    lines = [*wrapped(found.title, width), "", *wrapped(found.holds, width)]
    for table in found.tables:
        longest = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
        spare = sorted(range(1, len(longest)), key=lambda column: -longest[column])
        reasons = [column for column in spare if longest[column] > LONG]
        shown = fitted_table(table.columns, table.rows, width, words=(0, *reasons), spare=reasons)
        notes = [line for note in table.notes for line in wrapped(note, width)]
        lines += ["", *wrapped(table.title, width), "", *shown, *(["", *notes] if notes else [])]
    return "\n".join(lines)


LONG = 24  # letters: longer cells are reasons, which the report has too
