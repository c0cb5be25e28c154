"""Reports: results as one HTML page that needs no network and runs no code."""

from refti.reports.paged import FigureShown, StyleSheet, TableShown, render
from refti.reports.report import report

__all__ = ["FigureShown", "StyleSheet", "TableShown", "render", "report"]
