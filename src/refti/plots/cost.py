"""Cost: what the time of a run went into."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refti.draws.cost import StageCost, stage_cost
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def cost_columns(result: Result) -> Columns:
    """The stages of a run: seconds, seconds of them spent compiling, evaluations."""
    stages = _stages(result)
    return {
        "stage": [stage.stage for stage in stages],
        "seconds": [stage.seconds for stage in stages],
        "of which compiling": [stage.compile_seconds for stage in stages],
        "evaluations of the density": [stage.evaluations for stage in stages],
    }


def cost(result: Result, ax: Axes | None = None) -> Axes:
    """The seconds that each stage of the run took, those spent compiling apart."""
    columns = cost_columns(result)
    ax = drawing.axes_for(ax)
    seconds, compiling = (np.asarray(columns[n]) for n in ("seconds", "of which compiling"))
    compiling = np.minimum(compiling, seconds)
    rows = np.arange(len(seconds))
    ax.barh(rows, seconds - compiling, color=drawing.BLUE, height=0.6, label="computing")
    ax.barh(
        rows,
        compiling,
        left=seconds - compiling,
        facecolor="none",
        edgecolor=drawing.RED,
        hatch="////",
        height=0.6,
        linewidth=0.8,
        label="compiling",
    )
    drawing.name_rows(ax, columns["stage"])
    ax.set_xlabel("seconds")
    drawing.tidy(ax, grid="x")
    drawing.add_legend(ax)
    return ax


def _stages(result: Result) -> tuple[StageCost, ...]:
    """The stages, the rounds and the ladders of all legs together."""
    return result.cost.profile or (stage_cost("the whole run", result.cost),)
