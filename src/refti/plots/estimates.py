"""Estimators side by side: all of them from the same draws, each with its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.results.result import LogRatio, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {
    "mbar": "MBAR",
    "ti": "TI, spline",
    "ti_trapezoid": "TI, trapezoid",
    "ti_corrected": "TI, corrected",
    "stepping_stone": "stepping stone",
    "stepping_stone_reverse": "stepping stone, reverse",
}


def estimates_columns(result: Result) -> Columns:
    """Every estimator's value, error, and the parts of the error."""
    rows = [
        (NAMES.get(n, n), e.value, e.error, e.monte_carlo_error, e.quadrature_error)
        for n, e in result.estimates.items()
    ]
    witness = result.found.get("witness") or {}
    if "log_z" in witness:
        value, error = float(witness["log_z"]), float(witness["error"])
        rows.append((f"second way: {witness['way']}", value, error, error, 0.0))
    names, values, errors, sampling, quadrature = zip(*rows, strict=True)
    return {
        "estimator": names,
        value_label(result): values,
        "error": errors,
        "of sampling": sampling,
        "of quadrature": quadrature,
    }


def estimates(result: Result, ax: Axes | None = None) -> Axes:
    """All estimators with two standard errors, beside the value reported and its own two.

    They come from the same draws, so they should agree; where TI or stepping stone stands apart,
    the rungs are too far from each other.
    """
    ax = drawing.axes_for(ax)
    columns = estimates_columns(result)
    values, errors = np.asarray(columns[value_label(result)]), np.asarray(columns["error"])
    names = [name.split(":")[0] for name in columns["estimator"]]
    ax.axvspan(
        result.value - 2 * result.error,
        result.value + 2 * result.error,
        color=drawing.BLUE,
        alpha=0.15,
        linewidth=0,
    )
    ax.axvline(result.value, color=drawing.BLUE, linewidth=1)
    chosen = NAMES.get(str(result.settings.get("estimator", "mbar")), "")
    for row, (name, value, error) in enumerate(zip(names, values, errors, strict=True)):
        if not np.isfinite(value):
            continue
        is_chosen = name == chosen
        ax.errorbar(
            value,
            row,
            xerr=2 * error if np.isfinite(error) else 0.0,
            fmt="o" if is_chosen else "s",
            color=drawing.BLUE if is_chosen else drawing.INK,
            markerfacecolor=drawing.BLUE if is_chosen else "none",
            markersize=6,
            capsize=3,
            linewidth=1.2,
        )
    drawing.name_rows(ax, names)
    ax.set_xlabel(value_label(result))
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.locator_params(axis="x", nbins=4)
    drawing.tidy(ax, grid="x")
    return ax


def value_label(result: Result) -> str:
    """What the number of a result is called on an axis."""
    return "log ratio (nats)" if isinstance(result, LogRatio) else "log z (nats)"
