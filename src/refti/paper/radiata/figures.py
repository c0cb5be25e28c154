"""Radiata pine, Figures 3 and 4: the integrands, and what the methods come to."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

import refti
from refti.paper.radiata.exact import MODELS
from refti.paper.radiata.runs import NAMES, Runs
from refti.paper.radiata.samples import Sample
from refti.paper.report import page

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Result = refti.Evidence | refti.LogRatio

LOOKS = {
    "density": (page.BLUE, "o", "-", "M1, density"),
    "adjusted_density": (page.ORANGE, "s", "--", "M2, adjusted density"),
}
EXACT = {"color": page.INK, "linestyle": ":", "linewidth": 1.5}
ITERATIONS = 1500
METHODS_SHOWN = ("Laplace, sampled covariance", "Referenced TI", "PP100")


def integrands(runs: Runs) -> Drawing:
    """Figure 3: E[delta] against lambda for the four paths."""
    drawing, axes = page.subplots(2, 2, size=(10, 7.5))
    switch, referenced, eleven, hundred = axes.ravel()
    _integrand(switch, runs.switch, (page.GREEN, "D", "-", "M1 to M2"))
    for name, look in LOOKS.items():
        _integrand(referenced, runs.referenced[name][0], look)
        _integrand(eleven, runs.eleven[name][0], look)
        _integrand(hundred, runs.long[name], look)
    for axis in (eleven, hundred):
        _formula(axis)
    hundred.set_xscale("symlog", linthresh=1e-5, linscale=0.6)
    hundred.set_xlim(-2e-6, 1.5)
    hundred.set_xticks([0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1])
    # Between rungs much closer than their noise the spline swings far out, to no effect.
    hundred.set_ylim(eleven.get_ylim())
    titles = ("(a) model switch", "(b) referenced TI", "(c) PP11", "(d) PP100, λ on a log scale")
    for axis, title in zip(axes.ravel(), titles, strict=True):
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_xlabel("coupling λ")
        axis.set_ylabel("mean of Δ (nats)")
        axis.legend()
    return drawing


def _integrand(axis: Any, result: Result, look: tuple[str, str, str, str]) -> None:
    """Means with two standard errors, and the spline that is integrated."""
    colour, marker, line, label = look
    leg = result.draws[0]
    error = np.sqrt(leg.variance() / leg.effective_sample_size())
    style: dict[str, Any] = {"markersize": 4 if leg.rungs < 50 else 2.5, "capsize": 2}
    axis.errorbar(
        leg.lambdas, leg.mean(), 2 * error, fmt=marker, color=colour, label=label, **style
    )
    dense = _between(leg.lambdas)
    spline = CubicSpline(leg.lambdas, leg.mean())(dense)
    axis.plot(
        dense, spline, line, color=colour, linewidth=1, label=f"{label.split(',')[0]}, spline"
    )


def _between(ladder: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rungs and thirty points between any two of them."""
    parts = [np.linspace(a, b, 30, endpoint=False) for a, b in pairwise(ladder)]
    return np.append(np.concatenate(parts), 1.0)


def _formula(axis: Any) -> None:
    dense = np.append(0.0, np.geomspace(1e-7, 1.0, 400))
    for number, model in enumerate(MODELS.values()):
        label = "exact" if number == 0 else None
        means = [model.expectation(lam) for lam in dense]
        axis.plot(dense, means, label=label, zorder=3, **EXACT)


def estimates(runs: Runs, samples: dict[str, dict[str, Sample]]) -> Drawing:
    """Figure 4: log z as iterations go on, and over runs."""
    drawing, axes = page.subplots(2, 2, size=(10, 7.5))
    for column, name in enumerate(NAMES):
        _rolling(axes[0, column], runs, name)
        axes[0, column].set_ylim(*(MODELS[name].log_z() + reach for reach in (-0.3, 0.3)))
        _distribution(axes[1, column], samples, name)
        for row, letter in enumerate(("ab", "cd")):
            title = f"({letter[column]}) {LOOKS[name][3]}"
            axes[row, column].set_title(title, loc="left", fontsize=10)
            axes[row, column].set_ylabel("log z (nats)")
    return drawing


def _rolling(axis: Any, runs: Runs, name: str) -> None:
    paths: tuple[tuple[str, Result, str, str], ...] = (
        ("referenced TI", runs.referenced[name][0], page.BLUE, "-"),
        ("PP100", runs.long[name], page.ORANGE, "--"),
    )
    for label, result, colour, line in paths:
        count, values = rolling_estimate(result)
        axis.plot(count, values, line, color=colour, label=label, linewidth=1.3)
    axis.axhline(MODELS[name].log_z(), label="exact", **EXACT)
    axis.set_xlabel("iterations per λ")
    axis.legend(ncols=3, loc="lower right")


def rolling_estimate(result: Result) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Iterations of all chains of a rung together, and TI by spline from the first so many."""
    leg = result.draws[0]
    # At one time every chain makes an iteration, so they are counted chain by chain.
    so_far = np.cumsum(leg.delta.mean(axis=1), axis=1) / np.arange(1, leg.draws + 1)
    integrals = CubicSpline(leg.lambdas, so_far).integrate(0.0, 1.0)
    count = leg.chains * np.arange(1, leg.draws + 1)
    known = result.estimates["ti"].value - integrals[-1]
    within = count <= ITERATIONS
    return count[within], (known + integrals)[within]


def _distribution(axis: Any, samples: dict[str, dict[str, Sample]], name: str) -> None:
    """Every run as a point; mean and standard deviation beside them."""
    looks = ((page.GREEN, "^"), (page.BLUE, "o"), (page.ORANGE, "s"))
    for place, (method, (colour, marker)) in enumerate(zip(METHODS_SHOWN, looks, strict=True)):
        sample = samples[method][name]
        across = place - 0.1 + 0.16 * np.linspace(-1, 1, len(sample.values))
        axis.plot(across, sample.values, marker, color=colour, alpha=0.6, markersize=5)
        axis.errorbar(
            place + 0.25,
            sample.mean,
            sample.spread,
            fmt="_",
            color=colour,
            markersize=14,
            capsize=5,
            linewidth=2,
        )
    axis.axhline(MODELS[name].log_z(), label="exact", **EXACT)
    labels = ["Laplace,\nsampled covariance", "referenced TI", "PP100"]
    axis.set_xticks(range(len(METHODS_SHOWN)), labels)
    axis.set_xlim(-0.5, len(METHODS_SHOWN) - 0.5)
    axis.legend(loc="upper center")
