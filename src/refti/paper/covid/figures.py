"""The COVID-19 figures: Bayes factors, posteriors, reproduction numbers, fits and paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import gaussian_kde

import refti
from refti.paper.covid.cases import Cases
from refti.paper.covid.model import FIRST_HALF_YEAR, VARIANTS, variant_as_printed
from refti.paper.covid.renewal import expected_cases, rate_of_mean
from refti.paper.report.page import BLUE, GREY, ORANGE, RED, subplots
from refti.reports import ON_A_CELL

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MOST_DRAWS = 400  # draws behind a band
BAND_LEVELS = (5, 50, 95)  # per cent


@dataclass(frozen=True)
class Pair:
    """The models of a group that the evidence and that Laplace's approximation prefer."""

    group: str
    preferred: str
    by_laplace: str

    @property
    def styles(self) -> tuple[tuple[str, str, str, str], ...]:
        """Name, label, colour and dashes of each; one where they are the same."""
        first = (self.preferred, f"{self.preferred}: highest evidence", BLUE, "-")
        if self.preferred == self.by_laplace:
            return ((self.preferred, f"{self.preferred}: preferred by both", BLUE, "-"),)
        return (first, (self.by_laplace, f"{self.by_laplace}: highest by Laplace", ORANGE, "--"))


def heatmaps(
    results: Mapping[str, refti.Evidence], groups: Mapping[str, tuple[str, ...]]
) -> Drawing:
    """Log Bayes factors of the row over the column, a panel a group."""
    from matplotlib.colors import SymLogNorm

    drawing, axes = subplots(1, len(groups), size=(14, 5.2))
    table = refti.compare(results)
    for panel, (group, names) in zip(np.atleast_1d(axes), groups.items(), strict=True):
        known = [name for name in names if name in results]
        cells = np.array([[table.log_bayes_factor(a, b) for b in known] for a in known])
        values, errors = cells[..., 0], cells[..., 1]
        norm = SymLogNorm(linthresh=1.0, vmin=-20, vmax=20, base=10)
        image = panel.imshow(values, cmap="PuOr_r", norm=norm)
        for i, j in np.ndindex(values.shape):
            pale = abs(values[i, j]) < 3.5
            text = "0" if i == j else f"{values[i, j]:+.1f}\n±{errors[i, j]:.2f}"
            colour = "black" if pale else "white"
            panel.text(
                j,
                i,
                text,
                ha="center",
                va="center",
                color=colour,
                fontsize=7.5,
                gid=ON_A_CELL,
            )
        panel.set_xticks(range(len(known)), known, rotation=45, ha="right")
        panel.set_yticks(range(len(known)), known)
        panel.set_xlabel("over this model")
        panel.set_title(group, fontsize=10)
        panel.grid(visible=False)
    np.atleast_1d(axes)[0].set_ylabel("log Bayes factor of this model")
    ticks = [-20, -10, -3, -1, 0, 1, 3, 10, 20]
    bar = drawing.colorbar(image, ax=axes, shrink=0.8, label="nats", ticks=ticks)
    bar.ax.set_yticklabels([str(tick) for tick in ticks])
    return drawing


def evidences(results: Mapping[str, refti.Evidence], printed: Mapping[str, float]) -> Drawing:
    """Every log evidence with its 95 % interval, and the printed number where there is one."""
    drawing, panel = subplots(size=(9, 5.2))
    names = list(results)[::-1]
    places = {name: place for place, name in enumerate(names)}
    fewer = [name for name in printed if variant_as_printed(name).days is not None]
    for days, marker, shown in (
        ("all days", "x", [name for name in printed if name not in fewer]),
        (f"the first {FIRST_HALF_YEAR} days", "+", fewer),
    ):
        at = [printed[name] for name in shown], [places[name] for name in shown]
        if shown:
            panel.plot(*at, marker, color=RED, label=f"printed, {days}", markersize=9)
    halves = [1.96 * results[name].error for name in names]
    values = [results[name].log_z for name in names]
    label = "ours, all days, 95 % interval"
    at = values, list(places.values())
    panel.errorbar(*at, xerr=halves, fmt="o", color=BLUE, label=label, capsize=3, markersize=5)
    panel.set_yticks(range(len(names)), names)
    panel.set_xlabel("log evidence (nats)")
    panel.legend(loc="lower right")
    return drawing


def posteriors(results: Mapping[str, refti.Evidence], pairs: tuple[Pair, ...]) -> Drawing:
    """Densities of φ and σ of the two preferred models of each group."""
    drawing, axes = subplots(2, len(pairs), size=(12, 6.5))
    axes = np.reshape(axes, (2, len(pairs)))
    for column, pair in enumerate(pairs):
        for row, (name, symbol) in enumerate((("phi", "φ"), ("sigma", "σ"))):
            panel = axes[row, column]
            for model, label, colour, dashes in pair.styles:
                draws = results[model].posterior[name].values.ravel()
                grid = np.linspace(0, np.quantile(draws, 0.999) * 1.05, 300)
                panel.plot(grid, gaussian_kde(draws)(grid), dashes, color=colour, label=label)
            panel.set_xlabel({"φ": "φ (dispersion)", "σ": "σ (a day's, or window's, step)"}[symbol])
            panel.set_ylim(0, 1.3 * panel.get_ylim()[1])  # room for the legend
            if column == 0:
                panel.set_ylabel("posterior density")
        axes[0, column].set_title(pair.group, fontsize=10)
        axes[0, column].legend(fontsize=8, loc="upper right")
    return drawing


def reproduction(
    results: Mapping[str, refti.Evidence], pairs: tuple[Pair, ...], cases: Cases
) -> Drawing:
    """R_t of the two preferred models of each group, median and 90 % band, on a log scale."""

    def values(model: str) -> np.ndarray:
        return _reproduction(model, results[model], len(cases))

    return _bands(pairs, cases, values, "R_t", log=True)


def fits(results: Mapping[str, refti.Evidence], pairs: tuple[Pair, ...], cases: Cases) -> Drawing:
    """Reported cases, and the expected ones of the two preferred models of each group."""

    def values(model: str) -> np.ndarray:
        return _expected(model, results[model], len(cases))

    return _bands(pairs, cases, values, "cases a day", log=False, reported=cases.counts)


def paths(recipe: Mapping[str, refti.Evidence], names: tuple[str, ...]) -> Drawing:
    """E_λ[Δ] at 11 equal rungs with the spline's own view of it, and the first rungs magnified."""
    from scipy.interpolate import CubicSpline

    drawing, axes = subplots(1, len(names), size=(5.5 * len(names), 4))
    for panel, name in zip(np.atleast_1d(axes), names, strict=True):
        leg = recipe[name].draws[0]
        lambdas, delta = np.asarray(leg.lambdas), np.asarray(leg.delta)
        means = delta.mean(axis=(1, 2))
        errors = delta.mean(axis=2).std(axis=1, ddof=1) / np.sqrt(delta.shape[1])
        grid = np.linspace(0, 1, 400)
        panel.plot(grid, CubicSpline(lambdas, means)(grid), color=GREY, label="cubic spline")
        label = "mean ± standard error over 4 chains"
        panel.errorbar(lambdas, means, yerr=errors, fmt="o", color=BLUE, capsize=3, label=label)
        panel.set_xlabel("λ")
        panel.set_ylabel("E_λ[log q − log q_ref] (nats)")
        panel.set_title(name, fontsize=10)
        panel.legend(loc="lower right")
    return drawing


def _bands(
    pairs: tuple[Pair, ...],
    cases: Cases,
    values: Any,
    label: str,
    *,
    log: bool,
    reported: np.ndarray | None = None,
) -> Drawing:
    drawing, axes = subplots(len(pairs), 1, size=(10, 2.9 * len(pairs)))
    days = np.array(cases.days, dtype="datetime64[D]")
    for panel, pair in zip(np.atleast_1d(axes), pairs, strict=True):
        if reported is not None:
            panel.bar(days, reported, width=1.0, color="#C8C8C8", label="reported")
        for model, words, colour, dashes in pair.styles:
            low, middle, high = np.percentile(values(model), BAND_LEVELS, axis=0)
            panel.fill_between(days, low, high, color=colour, alpha=0.2, linewidth=0)
            panel.plot(days, middle, dashes, color=colour, label=words, linewidth=1.5)
        if log:
            panel.set_yscale("log")
            panel.axhline(1, color=GREY, linewidth=0.8)
        panel.set_ylabel(label)
        panel.set_title(pair.group, fontsize=10)
        panel.legend(fontsize=8, loc="upper right")
    return drawing


def _thinned(values: np.ndarray) -> np.ndarray:
    """At most so many draws of all chains, evenly taken."""
    flat = values.reshape(-1, *values.shape[2:])
    return flat[np.linspace(0, len(flat) - 1, min(MOST_DRAWS, len(flat))).astype(int)]


def _reproduction(model: str, result: refti.Evidence, days: int) -> np.ndarray:
    """R[draw, day]."""
    by_window = np.exp(_thinned(result.posterior["eps"].values)[:, :-1])
    return np.repeat(by_window, VARIANTS[model].window, axis=1)[:, :days]


def _expected(model: str, result: refti.Evidence, days: int) -> np.ndarray:
    """f[draw, day]."""
    held, interval = _reproduction(model, result, days), VARIANTS[model].generation_interval
    rates = np.full(len(held), 0.0 if interval is None else rate_of_mean(interval))
    if interval is None:
        rates = _thinned(result.posterior["r"].values)
    with jax.enable_x64(True):
        cases = jax.vmap(lambda r, rate: expected_cases(r, rate, lags=days))
        return np.asarray(cases(jnp.asarray(held), jnp.asarray(rates)))
