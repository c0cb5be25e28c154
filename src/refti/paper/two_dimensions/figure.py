"""Figure 2 of the paper: contours of the 2-D density and of its two references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from refti.paper.report import page
from refti.paper.two_dimensions.expansions import Expansion

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CONTOUR_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
LOW, HIGH = -3.7, 3.7


def draw(expansions: Mapping[str, Expansion]) -> Drawing:
    """A row for each reading of the density: q, the full reference and the diagonal one."""
    drawing, axes = page.subplots(len(expansions), 3, size=(10.5, 7.2))
    for row, (signs, expansion) in zip(axes, expansions.items(), strict=True):
        for panel, name, density in (
            (row[0], f"q, {signs}", expansion.case),
            (row[1], "full $q_{ref}$", expansion),
            (row[2], "diagonal $q_{ref}$", expansion.diagonal()),
        ):
            _contours(panel, density)
            panel.plot(*expansion.centre, "x", color=page.RED, ms=9, mew=2)
            panel.set_title(name, loc="left")
            panel.set(xlabel="θ₁", ylabel="θ₂", aspect="equal")
    return drawing


def _contours(axes: Any, density: Any) -> None:
    x = np.linspace(LOW, HIGH, 301)
    grid = np.meshgrid(x, x)
    heights = np.exp(density.log_density(*grid))
    drawn = axes.contour(
        *grid, heights / heights.max(), levels=CONTOUR_LEVELS, colors=page.BLUE, linewidths=1.2
    )
    axes.clabel(drawn, levels=CONTOUR_LEVELS[::2], fontsize=7, fmt="%g")
    axes.axvspan(LOW, 0, facecolor=page.GREY, alpha=0.2, hatch="//", edgecolor="white")
    axes.axvline(0, color=page.RED)
