"""`refti status`: how far runs are, from their directories alone."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from refti.cli.exit_codes import PASSED
from refti.cli.printing import print_json
from refti.errors import StoreError
from refti.progress import terminal_width
from refti.results.text import fitted_table, plus_minus, printable
from refti.run.store.status import FINISHED, Status, find_runs, read_status


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(runs: tuple[Path, ...], as_json: bool) -> int:
    """Say how far runs are: finished, running, or cut short, and the estimate so far.

    RUN is a folder that --store wrote to, or one that holds several of these. No model is loaded.

    \b
    Example:
      refti status runs/m1 runs/study
    """
    folders = [run for given in runs for run in find_runs(given)]
    missing = [given for given in runs if not any(find_runs(given))]
    found = [read_status(folder) for folder in folders]
    if as_json:
        print_json({"runs": [asdict(one) for one in found], "missing": [str(m) for m in missing]})
    elif found:
        header = ("run", "state", "log z", "stage", "files", "MB")
        rows, width = [_row(one) for one in found], terminal_width(sys.stdout)
        click.echo("\n".join(fitted_table(header, rows, width, words=(0, 1, 3), spare=(4, 5))))
    if missing:
        names = ", ".join(printable(name) for name in missing)
        raise StoreError(f"No refti run in {names} (run.json).")
    return PASSED


def _row(one: Status) -> tuple[str, ...]:
    known = one.log_z is not None and one.error is not None
    estimate = plus_minus(one.log_z, one.error) if known else ""  # type: ignore[arg-type]
    words = one.state
    if one.state == FINISHED:
        words += ", trusted" if one.trusted else ", not trusted"
    round_made = f" (round {one.round})" if one.round else ""
    stage = "" if one.state == FINISHED else f"{printable(one.stage)}{round_made}"
    return printable(one.folder), words, estimate, stage, str(one.blocks), f"{one.megabytes:.1f}"
