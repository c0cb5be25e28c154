"""The page of an example: its tables as CSV, its figures as files, and all of it as one HTML."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refti.paper.report.findings import Figure, Findings
from refti.reports import (
    FigureShown,
    StyleSheet,
    TableShown,
    page_style,
    render,
    require_packages,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

PAGE = "report.html"
# Okabe and Ito's colours, which people who do not tell red from green can tell apart.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#767676"
INK = "#1A1A1A"  # what is black on paper, and white on a dark screen
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY)


def need_drawing() -> None:
    """Raises, before any compute, where the packages that draw are missing."""
    require_packages("matplotlib", "jinja2")


@contextmanager
def style() -> Iterator[None]:
    """The look of every figure; the same bytes whenever a figure is drawn from the same values."""
    import matplotlib
    from cycler import cycler

    settings: dict[Any, Any] = {
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "font.size": 10,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
    }
    with page_style():
        matplotlib.rcParams.update(settings)
        yield


def subplots(rows: int = 1, columns: int = 1, *, size: tuple[float, float]) -> tuple[Drawing, Any]:
    """A figure and its axes; no window and no state of pyplot belong to it."""
    from matplotlib.figure import Figure as New

    drawing = New(figsize=size)
    return drawing, drawing.subplots(rows, columns)


def write(folder: Path, findings: Findings) -> Path:
    """Writes an example's files, and returns the address of its page."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in findings.tables:
        (folder / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    sheet = StyleSheet()
    page = render(
        "study.html",
        sheet,
        title=findings.title,
        verdict=findings.holds,
        trusted=findings.trusted,
        sections=[("What the paper says", findings.says), ("Why they differ", findings.why)],
        figures=[_drawn(folder, figure, sheet) for figure in findings.figures],
        tables=[TableShown(t.columns, t.rows, t.title, t.notes) for t in findings.tables],
    )
    (folder / PAGE).write_text(page, encoding="utf-8")
    return folder / PAGE


def _drawn(folder: Path, figure: Figure, sheet: StyleSheet) -> FigureShown:
    """Draws a figure into its files, and into the page."""
    with style():
        drawing = figure.draw()
        shown = sheet.embed(drawing, alt=figure.caption)
        # By themselves, figures stand on paper.
        for form, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 150})):
            written = io.BytesIO()
            drawing.savefig(written, format=form, facecolor="white", **options)
            (folder / f"{figure.name}.{form}").write_bytes(written.getvalue())
    return FigureShown(figure.name, figure.caption, shown, None)
