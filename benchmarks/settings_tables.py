"""The tables of docs/settings.md that are made from registries: references, and kernels.

`python -m benchmarks.settings_tables` writes them anew; a test fails while they are out of date.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import click

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"


def tables() -> dict[str, str]:
    """The Markdown of every table, by the name that marks its place."""
    # Not imports: what documents the package from inside is no user of it.
    families = import_module("refti.references.registry").FAMILIES
    kernels = import_module("refti.sampling.kernels.registry").KERNELS
    return {
        name: "\n".join(
            [
                f"| `{name}=` | what it is |",
                "|---|---|",
                *(f'| `"{row.name}"` | {row.summary} |' for row in registry.values()),
            ]
        )
        for name, registry in {"reference": families, "kernel": kernels}.items()
    }


def with_tables(text: str) -> str:
    """The text of the page with its tables as the registries have them."""
    for name, table in tables().items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if begin not in text or end not in text:
            raise click.UsageError(f"{PAGE.name} has no place {begin} … {end}.")
        place = re.compile(f"{begin}.*?{end}", re.DOTALL)
        text = place.sub(lambda _, b=begin, t=table, e=end: f"{b}\n\n{t}\n\n{e}", text)  # type: ignore[misc]
    return text


@click.command()
def main() -> None:
    """Write the tables of the page on settings."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
