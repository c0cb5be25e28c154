"""The profile that `refti run --profile` prints: what each stage of a run took, in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from refti.progress import shorten

if TYPE_CHECKING:
    from refti.draws.cost import Cost
    from refti.results.result import Evidence

HEADS = ("seconds", "tracing", "compiling", "gradients", "densities")
WIDTHS = (8, 8, 10, 11, 11)
LEAST_NAME = 20  # columns for the name of a stage, on the narrowest of terminals


def print_profiles(results: Mapping[str, Evidence], width: int) -> None:
    """Prints where the time of every run went; of one read from its store, when it was made."""
    from refti.results.text import printable

    for name, result in results.items():
        title = f"{printable(name)}: where the time went"
        click.echo("\n".join(["", shorten(title, width), *profile_lines(result.cost, width)]))


def profile_lines(cost: Cost, width: int) -> list[str]:
    """The table of a run's stages, its sum, and what came before it, in lines of this width."""
    from refti.draws.cost import stage_cost

    rows = [*cost.profile, stage_cost("the run", cost)]
    room = max(LEAST_NAME, min(width, 80) - sum(WIDTHS) - 2)
    lines = [_line("", HEADS, room)]
    lines += [
        _line(
            stage.stage,
            (
                f"{stage.seconds:.2f}",
                f"{stage.trace_seconds:.2f}",
                f"{max(0.0, stage.compile_seconds - stage.trace_seconds):.2f}",
                f"{stage.gradient_evaluations:,}",
                f"{stage.density_evaluations:,}",
            ),
            room,
        )
        for stage in rows
    ]
    before = (f"{cost.import_seconds:.2f}", *("" for _ in HEADS[1:]))
    return [*lines, _line("before it: importing", before, room).rstrip()]


def _line(name: str, values: tuple[str, ...], room: int) -> str:
    columns = "".join(value.rjust(width) for value, width in zip(values, WIDTHS, strict=True))
    return f"  {shorten(name, room):{room}}{columns}"
