"""`refti report`: runs that are kept in folders, as one page to read, send and print."""

from __future__ import annotations

from pathlib import Path

import click

from refti.cli.compare import parse_weights
from refti.cli.exit_codes import verdict
from refti.cli.printing import print_json, say


@click.command(short_help="Write a report of one run, or of several compared.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write; report.html or report.pdf if not given.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "pdf"]),
    help="html, or pdf where Chromium is installed; by the name of --output if not given.",
)
@click.option("--prior", multiple=True, metavar="NAME=WEIGHT", help="Prior weight of a model.")
@click.option("--title", help="The title of the page.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def report(
    runs: tuple[Path, ...],
    output: Path | None,
    form: str | None,
    prior: tuple[str, ...],
    title: str | None,
    as_json: bool,
) -> int:
    """Write a report of one run, or of several that are compared.

    RUN is a folder that `refti run --store` wrote, or one with several of them. The page is a
    single file that opens without a network: the answer in words, the ranking, and for each model
    its checks, figures, posterior and settings.

    \b
    Examples:
      refti report runs/m1
      refti report runs -o report.html
      refti report runs/m1 runs/m2 -o report.pdf
    """
    from refti.reports import report as write

    file = Path(f"report.{form or 'html'}") if output is None else output
    weights = parse_weights(prior) if prior else None
    done = write(list(runs), file, prior=weights, title=title, format=form)  # type: ignore[arg-type]
    for one in done.unread:
        say(f"{one.name} is not in the report: {one.reason}")
    if as_json:
        unread = {one.name: one.reason for one in done.unread}
        print_json({"report": str(file), "trusted": done.trusted, "unread": unread})
    else:
        click.echo(str(file))
    return verdict(done.trusted and not done.unread)
