"""Running estimates: what each estimator gave as draws were added."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from refti.draws.draws import Draws
from refti.estimators import Estimate, add, mbar, stepping_stone, thermodynamic_integration
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.plots.estimates import NAMES, sight, value_label
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES = np.linspace(0.1, 1.0, 10)  # of the draws, at which estimates are made
FEWEST_DRAWS = 10  # of a chain
ESTIMATORS: dict[str, Callable[[Draws], Estimate]] = {
    "mbar": mbar,
    "ti": thermodynamic_integration,
    "stepping_stone": stepping_stone,
}


def running_columns(result: Result) -> Columns:
    """The value and error of every estimator after some of the draws of each chain."""
    counts = _counts(drawing.legs_of(result))
    columns: dict[str, list[float]] = {"draws a chain": [max(c) for c in counts]}
    for name, estimate in ESTIMATORS.items():
        final = result.estimates[name]
        whole = add(estimate(leg) for leg in result.draws)
        # What is known without the legs, such as the reference's integral.
        known = Estimate(
            final.value - whole.value,
            float(np.sqrt(max(final.monte_carlo_error**2 - whole.monte_carlo_error**2, 0.0))),
        )
        made = [
            add(
                [known]
                + [
                    estimate(Draws(leg.lambdas, leg.delta[:, :, :n]))
                    for leg, n in zip(result.draws, count, strict=True)
                ]
            )
            for count in counts[:-1]
        ]
        made.append(final)
        columns[NAMES[name]] = [one.value for one in made]
        columns[f"error of {NAMES[name]}"] = [one.error for one in made]
    return columns


def running(result: Result, ax: Axes | None = None, *, columns: Columns | None = None) -> Axes:
    """The estimates from the first draws only, then from more, each with a band of two errors.

    They should settle, agree, and stay within each other's bands.

    Args:
        result: what is shown.
        ax: where to draw; new axes if not given.
        columns: what `running_columns` gave, where it is at hand.
    """
    columns = running_columns(result) if columns is None else columns
    ax = drawing.axes_for(ax)
    draws = np.asarray(columns["draws a chain"])
    looks = zip(ESTIMATORS, drawing.COLOURS, drawing.MARKERS, drawing.DASHES, strict=False)
    for name, colour, marker, dash in looks:
        label = NAMES[name]
        value, error = (np.asarray(columns[key]) for key in (label, f"error of {label}"))
        ax.fill_between(draws, value - 2 * error, value + 2 * error, color=colour, alpha=0.13, lw=0)
        ax.plot(draws, value, dash, marker=marker, markersize=4, color=colour, label=label)
    _keep_in_sight(ax, result, columns)
    ax.set_xlabel("draws of each chain")
    ax.set_ylabel(value_label(result))
    drawing.tidy(ax)
    drawing.add_legend(ax)
    return ax


def _counts(legs: tuple[Draws, ...]) -> list[list[int]]:
    """How many draws of each chain are used, leg by leg, for each of the estimates."""
    shares = [s for s in SHARES if s == 1.0 or min(s * leg.draws for leg in legs) >= FEWEST_DRAWS]
    return [[max(2, round(share * leg.draws)) for leg in legs] for share in shares]


def _keep_in_sight(ax: Axes, result: Result, columns: Columns) -> None:
    """The first estimates may be far off; the later ones are what the figure is for."""
    later = slice(len(columns["draws a chain"]) // 4, None)
    values = np.concatenate([columns[NAMES[name]][later] for name in ESTIMATORS])
    errors = np.concatenate([columns[f"error of {NAMES[name]}"][later] for name in ESTIMATORS])
    ax.set_ylim(*sight(result, values, errors))
    drawing.plain_numbers(ax, "y")
