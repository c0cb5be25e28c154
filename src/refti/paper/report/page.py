"""The page of an example: its tables as CSV, its figures as files, and all of it as one HTML."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import refti
from refti.paper.report.findings import Figure, Findings

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

PAGE = "report.html"
# Okabe and Ito's colours, which people who do not tell red from green can tell apart.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#767676"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY)


def need_drawing() -> None:
    """Raises, before any compute, where the packages that draw are missing."""
    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise refti.SettingsError(
            f"The figures and the report need {' and '.join(missing)}. Install them with: "
            'pip install "refti[report]"'
        )


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
        "svg.hashsalt": "refti",
    }
    with matplotlib.rc_context(settings):
        yield


def subplots(rows: int = 1, columns: int = 1, *, size: tuple[float, float]) -> tuple[Drawing, Any]:
    """A figure and its axes; no window and no state of pyplot belong to it."""
    from matplotlib.figure import Figure as New

    drawing = New(figsize=size)
    return drawing, drawing.subplots(rows, columns)


def write(folder: Path, findings: Findings) -> Path:
    """Writes an example's files, and returns the address of its page."""
    from jinja2 import Environment, PackageLoader

    folder.mkdir(parents=True, exist_ok=True)
    for table in findings.tables:
        (folder / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    shown = [{"caption": f.caption, "image": _drawn(folder, f)} for f in findings.figures]
    environment = Environment(loader=PackageLoader("refti.paper.report", "."), autoescape=True)
    page = environment.get_template("page.html").render(findings=findings, figures=shown)
    (folder / PAGE).write_text(page, encoding="utf-8")
    return folder / PAGE


def _drawn(folder: Path, figure: Figure) -> str:
    """Draws a figure into its files; returns it as an address that holds the image itself."""
    with style():
        drawing = figure.draw()
        vector, pixels = io.BytesIO(), io.BytesIO()
        drawing.savefig(vector, format="svg", metadata={"Date": None})
        drawing.savefig(pixels, format="png", dpi=150)
    (folder / f"{figure.name}.svg").write_bytes(vector.getvalue())
    (folder / f"{figure.name}.png").write_bytes(pixels.getvalue())
    return f"data:image/png;base64,{base64.b64encode(pixels.getvalue()).decode()}"
