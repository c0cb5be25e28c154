"""Reports: results as one HTML page that needs no network and runs no code."""

from refti.plots.drawing import ON_A_CELL, require_packages
from refti.reports.paged import FigureShown, TableShown, render
from refti.reports.svg import StyleSheet, page_style
from refti.reports.writing import report

__all__ = [
    "ON_A_CELL",
    "FigureShown",
    "StyleSheet",
    "TableShown",
    "page_style",
    "render",
    "report",
    "require_packages",
]
