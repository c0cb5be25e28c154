"""The numbers that refti works by, all in one page: docs/tuning.md, made from the code.

`python -m benchmarks.tuning_page` writes it anew; a test fails while it is out of date.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

PAGE = Path(__file__).parents[1] / "docs" / "tuning.md"
INTRODUCTION = """\
# The numbers that refti works by

These are the constants inside refti: users do not set them. They are listed so that you can see
what refti assumes and why. The descriptions are notes from the code, to be read after the number:
`most_unreached`, "0.02 of the evidence, by few rays, that no chain passes to".

Written from the code by `python -m benchmarks.tuning_page`.
"""


def tunings() -> Iterator[tuple[str, Any]]:
    """Yields every stage's name and its tuning value, in the order of their modules."""
    package = importlib.util.find_spec("refti")
    folders = None if package is None else package.submodule_search_locations
    for module in sorted(pkgutil.walk_packages(folders, "refti."), key=lambda m: m.name):
        if module.name.split(".")[1] == "__main__":
            continue
        own = [
            value
            for value in vars(importlib.import_module(module.name)).values()
            if type(value).__name__.endswith("Tuning") and type(value).__module__ == module.name
        ]
        stage = module.name.removeprefix("refti.").removesuffix(".tuning").replace(".", "/")
        for value in own:
            yield stage if len(own) == 1 else f"{stage}: {_words(value)}", value


def _words(tuning: Any) -> str:
    """What a tuning is of, from the name of its class: ReferenceChoiceTuning, reference choice."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", type(tuning).__name__.removesuffix("Tuning")).lower()


def rows(tuning: Any) -> list[tuple[str, Any, str]]:
    """Name, value and reason of every number of a stage."""
    return [
        (field.name, getattr(tuning, field.name), field.metadata.get("why", ""))
        for field in fields(tuning)
    ]


def page() -> str:
    """The page as Markdown: one table a stage."""
    return "\n".join([INTRODUCTION, *(line for found in tunings() for line in _table(*found))])


def _table(stage: str, tuning: Any) -> Iterator[str]:
    yield f"## {stage}"
    yield ""
    yield "| number | value | reason |"
    yield "|---|---:|---|"
    for name, value, why in rows(tuning):
        yield f"| `{name}` | {_shown(value)} | {why.replace('|', chr(92) + '|')} |"
    yield ""


def _shown(value: Any) -> str:
    if isinstance(value, bool | str) or value is None:
        return f"`{value!r}`"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return (
            f"{value:,.0f}" if value == round(value) and 1e3 <= abs(value) < 1e6 else f"{value:g}"
        )
    if isinstance(value, tuple | list):
        return ", ".join(map(_shown, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(one)}" for key, one in value.items())
    return f"`{value}`"


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), default=PAGE)
def main(output: Path) -> None:
    """Write the page of all tuning values."""
    output.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
