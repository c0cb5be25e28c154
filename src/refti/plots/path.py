"""The path: the mean of delta along lambda, which is integrated, and its variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import CubicSpline

from refti.draws.draws import Draws
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.plots.reweighted import between, curve
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 1e-3  # nats below which differences are nothing to look at
STEEP = 0.03  # a second rung below this would stand on the axis where lambda is drawn as it is


def path_columns(result: Result) -> Columns:
    """The rungs: lambda, the mean of delta there, and its standard error."""
    rows = [
        (number + 1, lam, mean, error)
        for number, leg in enumerate(drawing.legs_of(result))
        for lam, mean, error in zip(leg.lambdas, leg.mean(), _errors(leg), strict=True)
    ]
    legs, lambdas, means, errors = zip(*rows, strict=True)
    columns = {"λ": lambdas, "mean of Δ": means, "standard error": errors}
    return columns if len(result.draws) == 1 else {"leg": legs, **columns}


def path(result: Result, ax: Axes | None = None) -> Axes:
    """The mean of Δ at every rung with its error, the curve between them, and TI's spline.

    log z is the log integral of the reference and the area under the curve. Where the spline of
    thermodynamic integration leaves the curve, which all draws give together, its rungs are too
    far apart; MBAR, the default estimate, uses neither.
    """
    legs = drawing.legs_of(result)
    ax = drawing.axes_for(ax)
    for number, leg in enumerate(legs):
        label = number == 0
        exact = curve(leg)
        whole = number + exact.lambdas
        error = 2 * _errors(leg)
        spread = np.interp(exact.lambdas, leg.lambdas, error)
        ax.fill_between(
            whole,
            exact.mean - spread,
            exact.mean + spread,
            color=drawing.BLUE,
            alpha=0.18,
            linewidth=0,
            label="two standard errors" if label else None,
        )
        ax.plot(whole, exact.mean, color=drawing.BLUE, label="from all draws" if label else None)
        dense = between(leg.lambdas)
        ax.plot(
            number + dense,
            CubicSpline(leg.lambdas, leg.mean())(dense),
            "--",
            color=drawing.RED,
            linewidth=1.3,
            label="spline of TI" if label else None,
        )
        ax.errorbar(
            number + leg.lambdas,
            leg.mean(),
            error,
            fmt="o",
            color=drawing.INK,
            markersize=4,
            capsize=2,
            linewidth=1,
            label="rungs" if label else None,
            zorder=3,
        )
    _keep_near_the_rungs(ax, result.draws)
    _label_lambda(ax, result.draws)
    ax.set_ylabel("mean of Δ (nats)")
    drawing.tidy(ax)
    drawing.add_legend(ax)
    return ax


def variance_columns(result: Result) -> Columns:
    """The rungs: lambda, and the variance of delta there."""
    rows = [
        (number + 1, lam, variance)
        for number, leg in enumerate(drawing.legs_of(result))
        for lam, variance in zip(leg.lambdas, leg.variance(), strict=True)
    ]
    legs, lambdas, variances = zip(*rows, strict=True)
    columns = {"λ": lambdas, "variance of Δ": variances}
    return columns if len(result.draws) == 1 else {"leg": legs, **columns}


def variance(result: Result, ax: Axes | None = None) -> Axes:
    """The variance of Δ along the path, and where the rungs stand.

    It is the slope of the mean. Where it is large the path is hard, and rungs are needed.
    """
    legs = drawing.legs_of(result)
    ax = drawing.axes_for(ax)
    for number, leg in enumerate(legs):
        exact = curve(leg)
        label = number == 0
        ax.plot(
            number + exact.lambdas,
            exact.variance,
            color=drawing.BLUE,
            label="from all draws" if label else None,
        )
        ax.plot(
            number + leg.lambdas,
            leg.variance(),
            "o",
            color=drawing.INK,
            markersize=4,
            label="rungs" if label else None,
        )
    top, bottom = _extremes([leg.variance() for leg in result.draws])
    if bottom > 0 and top > max(30 * bottom, SMALL):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
    else:
        ax.set_ylim(0, max(1.15 * top, SMALL))
        drawing.plain_numbers(ax, "y")
    rungs = np.concatenate(
        [number + leg.lambdas for number, leg in enumerate(drawing.legs_of(result))]
    )
    low = ax.get_ylim()[0]
    ax.plot(rungs, np.full(len(rungs), low), "|", color=drawing.INK, markersize=12, clip_on=False)
    _label_lambda(ax, result.draws)
    ax.set_ylabel("variance of Δ (nats²)")
    drawing.tidy(ax)
    drawing.add_legend(ax)
    return ax


def _errors(leg: Draws) -> np.ndarray:
    """The standard error of the mean of delta at every rung."""
    return np.sqrt(leg.variance() / np.maximum(leg.effective_sample_size(), 1.0))


def _extremes(parts: list[np.ndarray]) -> tuple[float, float]:
    values = np.concatenate(parts)
    return float(values.max()), float(values.min())


def _keep_near_the_rungs(ax: Axes, legs: tuple[Draws, ...]) -> None:
    """A spline that swings far out, to no effect, may not squeeze the rest."""
    top, bottom = _extremes(
        [leg.mean() + sign * 3 * _errors(leg) for leg in legs for sign in (-1, 1)]
    )
    margin = 0.08 * (top - bottom) + SMALL
    ax.set_ylim(bottom - margin, top + margin)
    drawing.plain_numbers(ax, "y")


def _label_lambda(ax: Axes, legs: tuple[Draws, ...]) -> None:
    """The axis of lambda: legs side by side, or one leg, stretched near 0 where rungs crowd."""
    if len(legs) > 1:
        ax.set_xlabel(f"λ along the {len(legs)} legs of the path")
        places = np.arange(len(legs) + 1)
        ax.set_xticks(places, ["0", *(f"leg {number}" for number in places[1:])])
        for place in places[1:-1]:
            ax.axvline(place, color=drawing.GREY, linewidth=0.8)
        return
    if legs[0].lambdas[1] < STEEP:
        ax.set_xscale("function", functions=(np.cbrt, _cube))
        ax.set_xticks(
            [0, 0.001, 0.01, 0.05, 0.2, 0.5, 1], ["0", ".001", ".01", ".05", ".2", ".5", "1"]
        )
        ax.set_xlabel("λ, from the reference (0) to the posterior (1); stretched near 0")
    else:
        ax.set_xlabel("λ, from the reference (0) to the posterior (1)")
    ax.set_xlim(-0.0 if legs[0].lambdas[1] < STEEP else -0.03, 1.03)


def _cube(values: Any) -> Any:
    return np.asarray(values) ** 3
