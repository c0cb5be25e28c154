"""Findings: what an example of the paper came to, as tables, figures and words."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns.

    Attributes:
        name: the stem of its file.
        title: what it shows, in a line.
        columns: the names of its columns.
        rows: its cells, as many in each row as there are columns.
        notes: sentences that belong below it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"Expected {len(self.columns)} cells; got {row}.")

    def csv(self) -> str:
        """The table as comma-separated values."""
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([self.columns, *self.rows])
        return written.getvalue()

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = [_line(row, widths) for row in (self.columns, *self.rows)]
        lines.insert(1, "-" * sum(widths) + "--" * (len(widths) - 1))
        return "\n".join([self.title, "", *lines, *(["", *self.notes] if self.notes else [])])


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn when it is asked for.

    Attributes:
        name: the stem of its files.
        caption: what it shows, in sentences.
        draw: makes it.
    """

    name: str
    caption: str
    draw: Callable[[], Drawing]


@dataclass(frozen=True)
class Findings:
    """What one example came to.

    Attributes:
        title: the example's name in words.
        says: what the paper says.
        holds: what is true.
        why: why they differ.
        tables: values side by side.
        figures: the paper's figures, drawn anew.
        trusted: whether every result that the verdicts rest on is trusted.
    """

    title: str
    says: str
    holds: str
    why: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    trusted: bool


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
