"""The figures of a report: which there are of a run and of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from refti.errors import SettingsError
from refti.plots import drawing
from refti.plots.chains import chains, chains_columns, worst_rung
from refti.plots.comparison import (
    MOST_MODELS,
    bayes_factors,
    bayes_factors_columns,
    evidences,
    evidences_columns,
    height_for,
    probabilities,
    probabilities_columns,
)
from refti.plots.cost import cost, cost_columns
from refti.plots.drawing import Columns
from refti.plots.estimates import estimates, estimates_columns
from refti.plots.modes import modes, modes_columns, search, search_columns
from refti.plots.overlap import overlap, overlap_columns
from refti.plots.path import path, path_columns, variance, variance_columns
from refti.plots.reference import reference, reference_columns
from refti.plots.running import running, running_columns
from refti.reports.paged import FigureShown, make_figure
from refti.reports.svg import StyleSheet
from refti.reports.words import FIGURES
from refti.results.comparison import Comparison
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS_OF_CHAINS = 60  # of each chain, which a figure of this width can show
Row = tuple[str, Callable[[Any, "Axes"], object], Callable[[Any], Columns]]


def run_figures(result: Result, sheet: StyleSheet) -> list[FigureShown]:
    """The figures of one run; those that it has nothing for are left out."""
    if not result.draws:  # a model without parameters, of which nothing is drawn
        return []
    return list(_made(result, _rows_of_run(result), sheet))


def comparison_figures(comparison: Comparison, sheet: StyleSheet) -> list[FigureShown]:
    """The figures of a comparison of two models or more."""
    rows: list[Row] = [
        ("probabilities", probabilities, probabilities_columns),
        ("evidences", evidences, evidences_columns),
        ("bayes_factors", bayes_factors, bayes_factors_columns),
    ]
    height = height_for(min(len(comparison.rows), MOST_MODELS))
    return list(
        _made(comparison, rows, sheet, size=(drawing.SIZE[0], max(0.8 * drawing.SIZE[1], height)))
    )


def _rows_of_run(result: Result) -> list[Row]:
    leg, rung = worst_rung(result)
    so_far = running_columns(result)  # is dear, and is both drawn and tabulated
    return [
        ("path", path, path_columns),
        ("variance", variance, variance_columns),
        ("overlap", overlap, overlap_columns),
        ("estimates", estimates, estimates_columns),
        (
            "running",
            lambda result, ax: running(result, ax, columns=so_far),
            lambda result: so_far,
        ),
        ("reference", reference, reference_columns),
        (
            "chains",
            lambda result, ax: chains(result, ax, leg=leg, rung=rung, most_points=POINTS_OF_CHAINS),
            lambda result: chains_columns(result, leg=leg, rung=rung),
        ),
        ("modes", modes, modes_columns),
        ("search", search, search_columns),
        ("cost", cost, cost_columns),
    ]


def _made(
    shown: Any, rows: list[Row], sheet: StyleSheet, size: tuple[float, float] = drawing.SIZE
) -> Iterator[FigureShown]:
    for name, draw, columns in rows:
        title, reading = FIGURES[name]
        try:
            table = columns(shown)
        except SettingsError:  # this run has nothing to show there
            continue
        yield make_figure(
            sheet,
            lambda ax, draw=draw: draw(shown, ax),  # type: ignore[misc]
            title=title,
            reading=reading,
            columns=table,
            size=size,
        )
