"""The reference against the posterior, in the parameters in which it fits worst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from refti.errors import SettingsError
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.plots.parameters import flat_columns
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUANTILES = np.linspace(0.02, 0.98, 49)
MOST_POINTS = 120
MOST_ROWS = 12  # parameters in the table


def reference_columns(result: Result) -> Columns:
    """The parameters in which the reference fits worst: quantiles of both, and their distance."""
    _require_reference(result)
    rows = []
    for name, distance in misfits(result)[:MOST_ROWS]:
        posterior, reference = (draws[name] for draws in _draws(result))
        low, middle, high = np.nanquantile(posterior, [0.05, 0.5, 0.95])
        r_low, r_middle, r_high = np.nanquantile(reference, [0.05, 0.5, 0.95])
        rows.append((name, distance, low, middle, high, r_low, r_middle, r_high))
    quantiles = [f"{of} {q} %" for of in ("posterior", "reference") for q in (5, 50, 95)]
    head = ("parameter", "distance", *quantiles)
    return dict(zip(head, zip(*rows, strict=True), strict=True))


def reference(result: Result, ax: Axes | None = None, *, rank: int = 0) -> Axes:
    """Draws of the reference and of the posterior, in the two parameters that differ most.

    The closer the two clouds, the shorter the path.

    Args:
        result: what is shown.
        ax: where to draw; new axes if not given.
        rank: 0 for the two worst-fitting parameters, 1 for the next two, and so on.
    """
    _require_reference(result)
    names = [name for name, _ in misfits(result)]
    if not 0 <= 2 * rank < len(names):
        raise SettingsError(
            f"rank= must be from 0 to {(len(names) - 1) // 2}, as there are {len(names)} numbers "
            f"in the parameters; got {rank!r}."
        )
    ax = drawing.axes_for(ax)
    pair = names[2 * rank : 2 * rank + 2]
    pair = pair if len(pair) == 2 or len(names) == 1 else [names[-2], names[-1]]
    posterior, start = _draws(result)
    if len(pair) == 1:
        _draw_one(ax, pair[0], posterior[pair[0]], start[pair[0]])
    else:
        x, y = pair
        looks = (
            (start, "reference", drawing.RED, "s", 12, 0.9),
            (posterior, "posterior", drawing.BLUE, "o", 10, 0.75),
        )
        for draws, label, colour, marker, size, alpha in looks:
            picks = _picks(len(draws[x]))
            hollow: dict[str, Any] = (
                {"markerfacecolor": "none"} if marker == "s" else {"markeredgewidth": 0.0}
            )
            ax.plot(
                draws[x][picks],
                draws[y][picks],
                marker,
                color=colour,
                alpha=alpha,
                markersize=size**0.5,
                label=label,
                **hollow,
            )
        _show_most(ax, x, y, posterior, start)
        ax.set_xlabel(drawing.literal(x))
        ax.set_ylabel(drawing.literal(y))
    drawing.short_numbers(ax)
    drawing.tidy(ax)
    drawing.add_legend(ax)
    return ax


def misfits(result: Result) -> list[tuple[str, float]]:
    """The parameters with the distance of reference and posterior in each, the worst first.

    The distance is the mean difference of their quantiles, in standard deviations of the posterior.
    """
    posterior, reference = _draws(result)
    found = []
    for name, values in posterior.items():
        spread = float(np.nanstd(values))
        here, there = (np.nanquantile(draws[name], QUANTILES) for draws in (posterior, reference))
        distance = float(np.mean(np.abs(here - there)))
        if spread > 0 and np.isfinite(distance):
            found.append((name, distance / spread))
    # Ties go by name, so that the same result always gives the same figure.
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _draws(result: Result) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The draws of the posterior and of the reference, by the names of the former."""
    # The posterior may hold more than parameters, and the user's names of places along them.
    names = [name for name in result.reference.data_vars if name in result.posterior.data_vars]
    posterior = flat_columns(result.posterior[names], ("chain", "draw"))
    reference = flat_columns(result.reference[names], ("draw",))
    return posterior, dict(zip(posterior, reference.values(), strict=True))


def _require_reference(result: Result) -> None:
    """Raises SettingsError if the result has no draws of its reference."""
    if not result.reference.data_vars or 0 in result.reference.sizes.values():
        raise SettingsError(
            "This result has no draws of its reference: its path starts from a density that is "
            "not sampled exactly (the prior, or another posterior), or it was saved by an "
            "earlier version. Repeat the run with path='referenced' to see them."
        )


def _draw_one(ax: Axes, name: str, posterior: np.ndarray, reference: np.ndarray) -> None:
    """Both distributions of a single parameter as steps."""
    low, high = np.nanquantile(np.concatenate([posterior, reference]), [0.002, 0.998])
    edges = np.linspace(low, high, 31)
    looks = (
        (reference, "reference", drawing.RED, "--"),
        (posterior, "posterior", drawing.BLUE, "-"),
    )
    for values, label, colour, dash in looks:
        heights, _ = np.histogram(values, edges, density=True)
        ax.stairs(heights, edges, color=colour, linestyle=dash, linewidth=1.5, label=label)
    ax.set_xlabel(drawing.literal(name))
    ax.set_ylabel("density")


def _picks(count: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).astype(int))


def _show_most(
    ax: Axes, x: str, y: str, posterior: dict[str, np.ndarray], start: dict[str, np.ndarray]
) -> None:
    """Limits that hold nearly all draws; one far out may not squeeze the others."""
    for name, limit in ((x, ax.set_xlim), (y, ax.set_ylim)):
        both = np.concatenate([posterior[name], start[name]])
        low, high = np.nanquantile(both[np.isfinite(both)], [0.005, 0.995])
        margin = 0.08 * max(high - low, 1e-12 * max(1.0, abs(high)))
        limit(low - margin, high + margin)
