"""Chains: how delta went in every chain of a rung."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refti.errors import SettingsError
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def chains_columns(result: Result, *, leg: int = -1, rung: int = -1) -> Columns:
    """The mean and standard deviation of delta in every chain of a rung."""
    delta = _delta(result, leg, rung)
    return {
        "chain": list(range(1, len(delta) + 1)),
        "mean of Δ": [float(chain.mean()) for chain in delta],
        "standard deviation": [float(chain.std()) for chain in delta],
        "first half, mean": [float(chain[: len(chain) // 2].mean()) for chain in delta],
        "second half, mean": [float(chain[len(chain) // 2 :].mean()) for chain in delta],
    }


def chains(
    result: Result,
    ax: Axes | None = None,
    *,
    leg: int = -1,
    rung: int = -1,
    most_points: int | None = None,
) -> Axes:
    """Δ in every chain of a rung, draw by draw; the last rung is the posterior.

    Chains that have converged lie on top of each other and do not drift.

    Args:
        result: what is shown.
        ax: where to draw; new axes if not given.
        leg: which leg of the path, from 0; the last if not given.
        rung: which rung of it, from 0; the last if not given.
        most_points: of each chain, of which every so many draws are then left out.
    """
    delta = _delta(result, leg, rung)
    ax = drawing.axes_for(ax)
    every = 1 if most_points is None else -(-delta.shape[1] // most_points)
    for number, chain in enumerate(delta):
        ax.plot(
            np.arange(1, len(chain) + 1)[::every],
            chain[::every],
            drawing.DASHES[number // len(drawing.COLOURS) % len(drawing.DASHES)],
            color=drawing.COLOURS[number % len(drawing.COLOURS)],
            linewidth=0.8,
            alpha=0.8,
        )
    lam = result.draws[leg].lambdas[rung]
    ax.set_title(f"λ = {lam:.3g}, {len(delta)} chains", loc="left", size="medium")
    ax.set_xlabel("draw" if every == 1 else f"draw, one in {every} shown")
    ax.set_ylabel("Δ (nats)")
    if np.ptp(delta) < 1e-3:
        ax.set_ylim(delta.mean() - 1e-3, delta.mean() + 1e-3)
    drawing.plain_numbers(ax, "y")
    drawing.tidy(ax)
    return ax


def worst_rung(result: Result) -> tuple[int, int]:
    """The leg and the rung whose chains agree least, by R-hat."""
    sizes = [
        (float(r_hat), n, k)
        for n, leg in enumerate(drawing.legs_of(result))
        for k, r_hat in enumerate(leg.r_hat())
    ]
    _, leg, rung = max((s for s in sizes if np.isfinite(s[0])), default=(0.0, -1, -1))
    return leg, rung


def _delta(result: Result, leg: int, rung: int) -> np.ndarray:
    """Delta [chain, draw] of a rung. Raises SettingsError if there is none of these numbers."""
    legs = len(drawing.legs_of(result))
    if not -legs <= leg < legs:
        raise SettingsError(f"leg= must be from 0 to {legs - 1}; got {leg!r}.")
    rungs = result.draws[leg].rungs
    if not -rungs <= rung < rungs:
        raise SettingsError(f"rung= must be from 0 to {rungs - 1}; got {rung!r}.")
    return result.draws[leg].delta[rung]
