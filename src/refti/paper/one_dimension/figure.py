"""Figure 1 of the paper, drawn from a run of the 1-D example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import CubicSpline

from refti.paper.one_dimension.convergence import running_evidence, running_means
from refti.paper.one_dimension.exact import NormalCurve, expectations, log_density
from refti.paper.one_dimension.runs import DRAWS_A_BATCH
from refti.paper.report import page

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
CURVE_POINTS = 400  # of a running curve that are drawn


def draw(lambdas: np.ndarray, delta: np.ndarray, reference: NormalCurve, exact: float) -> Drawing:
    """The four panels."""
    drawing, axes = page.subplots(2, 2, size=(10.5, 8.0))
    _path(axes[0, 0], lambdas, reference)
    _running(axes[0, 1], lambdas, delta, reference)
    _against_lambda(axes[1, 0], lambdas, delta, reference)
    _convergence(axes[1, 1], lambdas, delta, reference, exact)
    for panel, letter in zip(axes.flat, "abcd", strict=True):
        panel.set_title(letter, loc="left", fontweight="bold")
    return drawing


def _looks(lambdas: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"color": page.COLOURS[k], "linestyle": DASHES[k % len(DASHES)], "label": f"λ = {lam:g}"}
        for k, lam in enumerate(lambdas)
    ]


def _path(axes: Any, lambdas: np.ndarray, reference: NormalCurve) -> None:
    theta = np.linspace(1.8, 6.2, 1201)
    start = reference.log_density(theta)
    for lam, look in zip(lambdas, _looks(lambdas), strict=True):
        axes.plot(theta, np.exp(start + lam * (log_density(theta) - start)), **look)
    axes.set(xlabel="θ", ylabel="$q^λ\\, q_{ref}^{1-λ}$")
    axes.legend()


def _running(axes: Any, lambdas: np.ndarray, delta: np.ndarray, reference: NormalCurve) -> None:
    means, shown = running_means(delta), _shown(delta)
    exact = expectations(reference, lambdas)
    iterations = delta.shape[1] * (shown + 1)
    for mean, true, look in zip(means, exact, _looks(lambdas), strict=True):
        axes.plot(iterations, mean[shown], **look)
        axes.plot(iterations[-1] * np.array([1.1, 1.5]), [true, true], color=look["color"], lw=3)
    spread = np.ptp(exact)
    axes.set(
        xscale="log",
        ylim=(exact.min() - 0.9 * spread, exact.max() + 0.9 * spread),
        xlabel="iterations a value of λ, four chains together",
        ylabel="running mean of log $q/q_{ref}$ (nats)",
    )
    axes.legend(ncols=2, fontsize=9)


def _against_lambda(
    axes: Any, lambdas: np.ndarray, delta: np.ndarray, reference: NormalCurve
) -> None:
    fine = np.linspace(0, 1, 201)
    means = delta.mean(axis=(1, 2))
    axes.plot(fine, expectations(reference, fine), color=page.GREY, lw=4, alpha=0.5)
    axes.plot(fine, CubicSpline(lambdas, means)(fine), "--", color=page.BLUE)
    axes.errorbar(lambdas, means, 2 * _errors(delta), fmt="o", color=page.RED, ms=4, capsize=5)
    axes.legend(["exact, by quadrature", "cubic spline", "sampled, ± 2 errors"])
    axes.set(xlabel="λ", ylabel="$E_λ$[log $q/q_{ref}$] (nats)")


def _convergence(
    axes: Any, lambdas: np.ndarray, delta: np.ndarray, reference: NormalCurve, exact: float
) -> None:
    running, shown = running_evidence(reference.z, lambdas, delta), _shown(delta)
    axes.axhspan(0.99 * exact, 1.01 * exact, color=page.SKY, alpha=0.25, label="± 1 %")
    axes.axhspan(0.999 * exact, 1.001 * exact, color=page.BLUE, alpha=0.35, label="± 0.1 %")
    axes.axhline(exact, color=page.GREY, ls="--", label="exact")
    axes.plot(delta.shape[1] * (shown + 1), running[shown], color=page.RED, label="estimate")
    axes.set(
        xscale="log",
        ylim=(0.96 * exact, 1.04 * exact),
        xlabel="iterations a value of λ, four chains together",
        ylabel="z",
    )
    axes.legend(ncols=2)


def _shown(delta: np.ndarray) -> np.ndarray:
    """The draws that a running curve shows, evenly on a logarithmic axis."""
    last = delta.shape[2]
    return np.unique(np.geomspace(1, last, CURVE_POINTS).round().astype(int)) - 1


def _errors(delta: np.ndarray) -> np.ndarray:
    """The standard error of each rung's mean, from batches of the chains."""
    rungs, chains, draws = delta.shape
    whole = (
        delta[:, :, : draws // DRAWS_A_BATCH * DRAWS_A_BATCH]
        .reshape(rungs, -1, DRAWS_A_BATCH)
        .mean(axis=2)
    )
    return np.asarray(whole.std(axis=1, ddof=1) / np.sqrt(chains * (draws // DRAWS_A_BATCH)))
