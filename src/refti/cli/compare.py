"""`refti compare`: results that are kept in folders, ranked."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from refti.cli.exit_codes import verdict
from refti.cli.printing import print_comparison, print_json, print_notes
from refti.errors import SettingsError
from refti.progress import terminal_width


@click.command(short_help="Rank results kept in folders.")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--prior", multiple=True, metavar="NAME=WEIGHT", help="Prior weight of a model.")
@click.option("--markdown", is_flag=True, help="Print the table in Markdown.")
@click.option("--latex", is_flag=True, help="Print the table in LaTeX (booktabs).")
@click.option("--different-data", is_flag=True, help="Rank results even if their data differ.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def compare(
    folders: tuple[Path, ...],
    prior: tuple[str, ...],
    markdown: bool,
    latex: bool,
    different_data: bool,
    as_json: bool,
) -> int:
    """Rank results kept in folders; each model is named by its folder.

    A single folder stands for all results in the folders below it. Models are equally probable
    beforehand unless --prior says otherwise.

    \b
    Examples:
      refti compare runs/m1 runs/m2
      refti compare runs --prior m1=1 --prior m2=3
      refti compare runs --latex > table.tex
    """
    import refti

    if markdown + latex + as_json > 1:
        raise SettingsError("Give one of --markdown, --latex and --json, not several.")
    if len(folders) == 1:
        folders = tuple(sorted(f.parent for f in folders[0].glob("*/result.json"))) or folders
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise refti.CompareError(
            f"Models are named by their folders, which must differ; got {', '.join(names)}."
        )
    results = {name: refti.load(folder) for name, folder in zip(names, folders, strict=True)}
    table = refti.compare(
        results,  # type: ignore[arg-type]
        prior=parse_weights(prior) if prior else None,
        different_data=different_data,
    )
    if as_json:
        print_json(table.to_dict())
    elif markdown or latex:
        click.echo(table.to_markdown() if markdown else table.to_latex())
    else:
        print_comparison(table, terminal_width(sys.stdout))
        print_notes(results)
    return verdict(table.trusted)


def parse_weights(prior: tuple[str, ...]) -> dict[str, float]:
    """The prior weights by name. Raises SettingsError if one is no number."""
    weights = {}
    for item in prior:
        name, _, weight = item.rpartition("=")
        try:
            weights[name] = float(weight)
        except ValueError:
            raise SettingsError(f"--prior takes NAME=WEIGHT; got {item!r}.") from None
    return weights
