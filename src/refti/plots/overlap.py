"""The overlap of every two rungs, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refti.draws.draws import Draws
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_RUNGS = 20  # that are shown; of more an even choice
MOST_DRAWS = 1_000  # of a rung
FEW_RUNGS = 7  # up to which every cell has room for its number, and every row for its name
MOST_LETTERS = 16  # of all names of columns side by side


def overlap_columns(result: Result) -> Columns:
    """The overlap of neighbouring rungs."""
    rows = [
        (number + 1, low, high, value)
        for number, leg in enumerate(drawing.legs_of(result))
        for low, high, value in zip(leg.lambdas[:-1], leg.lambdas[1:], leg.overlap(), strict=True)
    ]
    legs, lows, highs, values = zip(*rows, strict=True)
    columns = {"λ": lows, "next λ": highs, "overlap": values}
    return columns if len(result.draws) == 1 else {"leg": legs, **columns}


def overlap(result: Result, ax: Axes | None = None) -> Axes:
    """How far every two rungs overlap: 0 is apart, 1 the same.

    The cells beside the diagonal carry the estimate; where one of them is nearly 0 the path has a
    gap. Rungs of different legs are not compared.
    """
    lambdas, values = overlap_matrix(result)
    ax = drawing.axes_for(ax)
    image = ax.imshow(
        values, cmap="cividis", vmin=0, vmax=1, aspect="equal", interpolation="nearest"
    )
    labels = [f"{lam:.2g}" for lam in lambdas]
    every = -(-len(labels) // FEW_RUNGS)
    shown = labels[::every]
    is_tight = sum(map(len, shown)) > MOST_LETTERS
    ax.set_xticks(range(0, len(labels), every), shown, rotation=90 if is_tight else 0)
    ax.set_yticks(range(0, len(labels), every), shown)
    ax.set_xlabel("λ")
    ax.set_ylabel("λ")
    if len(labels) <= FEW_RUNGS:
        for row, column in np.ndindex(values.shape):
            value = values[row, column]
            if np.isfinite(value):
                ink = "black" if value > 0.5 else "white"
                ax.text(
                    column,
                    row,
                    f"{value:.2f}",
                    ha="center",
                    va="center",
                    color=ink,
                    size=8,
                    gid=drawing.ON_A_CELL,
                )
    else:
        ax.figure.colorbar(image, ax=ax, shrink=0.9, label="overlap")
    drawing.tidy(ax, grid="none")
    return ax


def overlap_matrix(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """The lambdas of the rungs that are shown, and the overlap of every two; NaN between legs."""
    chosen = [(n, k) for n, leg in enumerate(drawing.legs_of(result)) for k in range(leg.rungs)]
    if len(chosen) > MOST_RUNGS:
        picks = np.unique(np.linspace(0, len(chosen) - 1, MOST_RUNGS).round().astype(int))
        chosen = [chosen[pick] for pick in picks]
    lambdas = np.array([result.draws[n].lambdas[k] for n, k in chosen])
    values = np.full((len(chosen), len(chosen)), np.nan)
    for i, (leg, low) in enumerate(chosen):
        values[i, i] = 1.0
        for j, (other, high) in enumerate(chosen[:i]):
            if leg == other:
                values[i, j] = values[j, i] = _overlap(result.draws[leg], high, low)
    return lambdas, values


def _overlap(leg: Draws, low: int, high: int) -> float:
    """The overlap of two rungs of a leg, which need not be neighbours."""
    thin = leg.delta[:, :, :: max(1, leg.chains * leg.draws // MOST_DRAWS)]
    step = leg.lambdas[high] - leg.lambdas[low]
    return float(Draws(np.array([0.0, 1.0]), step * thin[[low, high]]).overlap()[0])
