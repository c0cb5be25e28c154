"""Estimators side by side: all of them from the same draws, each with its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.results.result import LogRatio, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUT_OF_SIGHT = 40.0  # errors from the value, beyond which an estimate is pointed to only
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
    # In one order, which a file does not keep.
    known = [name for name in NAMES if name in result.estimates]
    names = [*known, *sorted(set(result.estimates) - set(known))]
    rows = [
        (NAMES.get(n, n), e.value, e.error, e.monte_carlo_error, e.quadrature_error)
        for n, e in ((name, result.estimates[name]) for name in names)
    ]
    witness = result.found.get("witness") or {}
    if "log_z" in witness:
        value, error = float(witness["log_z"]), float(witness["error"])
        rows.append((f"second way: {witness['way']}", value, error, error, 0.0))
    labels, values, errors, sampling, quadrature = zip(*rows, strict=True)
    return {
        "estimator": labels,
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
    columns = estimates_columns(result)
    ax = drawing.axes_for(ax)
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
    low, high = sight(result, values, errors)
    for row, (name, value, error) in enumerate(zip(names, values, errors, strict=True)):
        if not low <= value <= high:
            _point_outside(ax, row, value, low, high)
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
    ax.set_xlim(low, high)
    drawing.plain_numbers(ax, "x", 4)
    drawing.tidy(ax, grid="x")
    return ax


def sight(result: Result, values: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """Limits about the value of a result that hold all estimates but those far out."""
    width = OUT_OF_SIGHT * result.error if np.isfinite(result.error) else np.inf
    near = np.isfinite(values) & (np.abs(values - result.value) + errors < width)
    ends = np.concatenate(
        [
            [result.value - 2.5 * result.error, result.value + 2.5 * result.error],
            (values - 2.5 * errors)[near],
            (values + 2.5 * errors)[near],
        ]
    )
    ends = ends[np.isfinite(ends)]
    if len(ends) == 0:
        return -1.0, 1.0
    margin = 0.05 * np.ptp(ends) + 1e-9 * max(1.0, abs(result.value))
    return float(ends.min() - margin), float(ends.max() + margin)


def _point_outside(ax: Axes, row: int, value: float, low: float, high: float) -> None:
    """An arrow to where an estimate lies that the axes have no room for."""
    if not np.isfinite(value):
        text, place, side = "not finite", 0.5 * (low + high), "center"
    elif value > high:
        text, place, side = f"{value:.6g} →", high, "right"
    else:
        text, place, side = f"← {value:.6g}", low, "left"
    ax.text(place, row, text, ha=side, va="center", size="small", color=drawing.RED)


def value_label(result: Result) -> str:
    """What the number of a result is called on an axis."""
    return "log ratio (nats)" if isinstance(result, LogRatio) else "log z (nats)"
