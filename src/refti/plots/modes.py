"""Modes: those that were found, and what the search for others would have found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from refti.errors import SettingsError
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.plots.parameters import flat_columns
from refti.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 120
MOST_NUMBERS = 12  # of a mode's place, in the table
FOUND_WITH = 0.95  # the probability at which the search is quoted


def modes_columns(result: Result) -> Columns:
    """The modes with their share of the mass and their place."""
    peaks, names = _peaks(result), list(_draws(result))
    shares = result.found["peaks"]
    columns: dict[str, list[Any]] = {"mode": list(range(1, len(peaks) + 1))}
    if any(peak.get("share") is not None for peak in shares):
        columns["share of the mass, roughly"] = [peak.get("share") for peak in shares]
    for place, name in enumerate(names[:MOST_NUMBERS]):
        columns[name] = [float(peak[place]) for peak in peaks]
    return columns


def modes(result: Result, ax: Axes | None = None) -> Axes:
    """The modes that were found, numbered, among draws of the posterior.

    Of many parameters the two are shown in which the modes are furthest apart.
    """
    peaks = _peaks(result)
    draws = _draws(result)
    ax = drawing.axes_for(ax)
    names = list(draws)
    across = _widest(peaks, np.stack([draws[name] for name in names]))
    x, y = draws[names[across[0]]], draws[names[across[1]]] if len(names) > 1 else None
    picks = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    heights = np.zeros(len(x)) if y is None else y
    if y is None:
        low, high = np.nanquantile(x, [0.002, 0.998])
        ax.hist(x, bins=31, range=(low, high), color=drawing.BLUE, alpha=0.4, label="posterior")
        ax.set_ylabel("draws")
    else:
        ax.plot(
            x[picks],
            heights[picks],
            "o",
            color=drawing.BLUE,
            alpha=0.5,
            markersize=3,
            markeredgewidth=0.0,
            label="draws of the posterior",
        )
        ax.set_ylabel(drawing.literal(names[across[1]]))
    for number, peak in enumerate(peaks, start=1):
        where = peak[across[0]], 0.0 if y is None else peak[across[1]]
        ax.plot(
            *where,
            "X",
            color=drawing.RED,
            markersize=9,
            markeredgecolor="white",
            label="modes" if number == 1 else None,
            clip_on=False,
        )
        if len(peaks) > 1:
            ax.annotate(str(number), where, xytext=(5, 5), textcoords="offset points")
    ax.set_xlabel(drawing.literal(names[across[0]]))
    drawing.short_numbers(ax)
    drawing.tidy(ax)
    drawing.add_legend(ax)
    return ax


def search_columns(result: Result) -> Columns:
    """How likely a mode was found, by the share of starting points that lie below it."""
    searched = _searched(result)
    shares = np.array([1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1])
    columns = {"share of starting points that lead to the mode": [float(share) for share in shares]}
    for name, count in _wanderers(searched).items():
        columns[f"found, of {name}"] = [float(p) for p in _probability(shares, count)]
    return columns


def search(result: Result, ax: Axes | None = None) -> Axes:
    """The probability of finding another mode, by the share of starting points that lead to it.

    Starting points are drawn near and far, and climbed from. A mode is missed if none of them lies
    on its slopes.
    """
    searched = _searched(result)
    ax = drawing.axes_for(ax)
    shares = np.geomspace(1e-5, 1.0, 120)
    for (name, count), colour, dash in zip(
        _wanderers(searched).items(), drawing.COLOURS, drawing.DASHES, strict=False
    ):
        ax.plot(shares, _probability(shares, count), dash, color=colour, label=f"of {name}")
        least = 1 - (1 - FOUND_WITH) ** (1 / count)
        ax.plot(least, FOUND_WITH, "o", color=colour, markersize=5)
    ax.axhline(FOUND_WITH, color=drawing.GREY, linewidth=0.8, linestyle=":")
    ax.text(1.1e-5, FOUND_WITH - 0.015, "95 %", va="top", color=drawing.GREY, size="small")
    ax.set_xscale("log")
    ax.set_xticks(
        [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1], ["0.001 %", "0.01 %", "0.1 %", "1 %", "10 %", "all"]
    )
    ax.minorticks_off()
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("share of starting points that lead to the mode")
    ax.set_ylabel("probability of finding it")
    drawing.tidy(ax)
    drawing.add_legend(ax)
    return ax


def _probability(shares: np.ndarray, count: int) -> np.ndarray:
    """That one of so many independent starting points lies below a mode."""
    return 1 - (1 - shares) ** count


def _wanderers(searched: Mapping[str, Any]) -> dict[str, int]:
    """How many starting points were climbed from, by where they were drawn."""
    counts = {
        "the flattened posterior": int(searched["since_new"]),
        "the prior": int(searched["from_prior"]),
    }
    return {name: count for name, count in counts.items() if count > 0}


def _searched(result: Result) -> Mapping[str, Any]:
    """The record of the search. Raises SettingsError if other modes were not looked for."""
    searched = result.found.get("search")
    if not searched or not _wanderers(searched):
        raise SettingsError(
            "This run did not look for other modes, or none of its starting points led to a "
            'peak, so there is nothing to show. Run it with search="default".'
        )
    return searched


def _draws(result: Result) -> dict[str, np.ndarray]:
    """The draws of the parameters, without what else a posterior may hold."""
    names = [name for name in result.found["peaks"][0]["at"] if name in result.posterior]
    return flat_columns(result.posterior[names], ("chain", "draw"))


def _peaks(result: Result) -> np.ndarray:
    """The places of the modes, [mode, number of all parameters]."""
    peaks = result.found.get("peaks")
    if not peaks:
        raise SettingsError(
            "This result does not contain the positions of its modes: it has too many "
            "parameters, or was saved by an earlier version."
        )
    rows = [[np.ravel(np.asarray(v, dtype=float)) for v in peak["at"].values()] for peak in peaks]
    return np.array([np.concatenate(row) for row in rows])


def _widest(peaks: np.ndarray, draws: np.ndarray) -> tuple[int, int]:
    """The two numbers in which modes are furthest apart, beside the spread of draws within."""
    if len(draws) == 1:
        return 0, 0
    spread = np.nanstd(draws, axis=1)
    apart = np.ptp(peaks, axis=0) / np.where(spread > 0, spread, np.inf)
    first, second = np.argsort(-apart, kind="stable")[:2]
    return int(min(first, second)), int(max(first, second))
