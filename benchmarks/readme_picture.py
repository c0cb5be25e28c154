"""The picture of the README, drawn from its own example: `python -m benchmarks.readme_picture`."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import click
import matplotlib
from matplotlib.figure import Figure

import refti

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "_static" / "example.svg"


def results() -> dict[str, refti.Evidence]:
    """What the example of the README computes."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code[1], "README.md", "exec"), names)
    return names["results"]


def draw(found: dict[str, refti.Evidence]) -> Figure:
    """The path of the preferred model, and its estimates side by side."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    best = found["heavy tails"]
    refti.plots.path(best, ax=left)
    refti.plots.estimates(best, ax=right)
    return figure


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), default=PICTURE)
def main(output: Path) -> None:
    """Write the picture; the same draws give the same bytes."""
    with matplotlib.rc_context({"svg.hashsalt": "refti"}):
        draw(results()).savefig(output, metadata={"Date": None})


if __name__ == "__main__":
    main()
