"""The figure on mismatched densities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

import refti
from refti.paper.mismatch.normals import DRAWS_A_RUNG, WITHIN_RANGE, MismatchedPair, Replicates
from refti.paper.report import page

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MISMATCHES_SHOWN = ((0.5, page.BLUE, "--"), (2.0, page.ORANGE, "-."), (4.0, page.RED, ":"))


def draw(
    pairs: Sequence[MismatchedPair],
    replicates: Mapping[float, Replicates],
    adapted: Mapping[float, refti.Evidence],
) -> Drawing:
    """The four panels."""
    drawing, axes = page.subplots(2, 2, size=(10.5, 8.0))
    _densities(axes[0, 0])
    _spreads(axes[0, 1], pairs, replicates)
    _biases(axes[1, 0], pairs, replicates)
    _errors(axes[1, 1], pairs, replicates, adapted)
    for panel, letter in zip(axes.flat, "abcd", strict=True):
        panel.set_title(letter, loc="left", fontweight="bold")
    for panel in axes.flat[1:]:
        panel.set_xlabel("mismatch (standard deviations of the reference)")
    return drawing


def _densities(axes: Any) -> None:
    """The densities, each with a bar below it that is its range."""
    x, edge = np.linspace(-4, 6, 1001), norm.ppf(0.5 + 0.5 * WITHIN_RANGE)
    kinds = [("$q_{ref}$, $Ω_{ref}$", page.GREY, "-", 0.0, 1.0)]
    kinds += [
        (f"q, Ω at {m:g}", c, dash, m, MismatchedPair(m).scale) for m, c, dash in MISMATCHES_SHOWN
    ]
    for k, (label, colour, dash, mean, scale) in enumerate(kinds):
        axes.plot(x, norm.pdf(x, mean, scale), color=colour, ls=dash, label=label)
        height, half = -0.06 * (k + 1), edge * scale
        axes.plot([mean - half, mean + half], [height, height], color=colour, ls=dash, marker="|")
    axes.set(xlabel="θ", ylabel="normalised density", yticks=np.arange(0, 1.3, 0.2))
    axes.legend(loc="upper left")


def _spreads(
    axes: Any, pairs: Sequence[MismatchedPair], replicates: Mapping[float, Replicates]
) -> None:
    at = np.array([pair.mismatch for pair in pairs])
    fine = [MismatchedPair(m) for m in np.linspace(0.05, at[-1], 100)]
    x = [pair.mismatch for pair in fine]
    of_delta = np.array([np.sqrt(pair.delta_moments(np.array(0.0))[1]) for pair in fine])
    axes.plot(x, of_delta, color=page.GREY, label="log $q/q_{ref}$, exact")
    lines = (
        (
            of_delta / np.sqrt(DRAWS_A_RUNG),
            "reference_mean",
            page.BLUE,
            "--",
            "o",
            f"mean of {DRAWS_A_RUNG}",
        ),
        ([pair.spline_spread() for pair in fine], "spline", page.RED, "-.", "s", "log z by TI"),
    )
    for exact, name, colour, dash, marker, label in lines:
        axes.plot(x, exact, color=colour, ls=dash)
        spread = np.array([getattr(replicates[m], name).std(ddof=1) for m in at[1:]])
        count = len(getattr(replicates[at[-1]], name))
        axes.errorbar(
            at[1:], spread, 2 * spread / np.sqrt(2 * count), fmt=marker, color=colour, label=label
        )
    axes.set(yscale="log", ylabel="standard deviation (nats)")
    axes.legend()


def _biases(
    axes: Any, pairs: Sequence[MismatchedPair], replicates: Mapping[float, Replicates]
) -> None:
    x = np.array([pair.mismatch for pair in pairs])
    exact = np.array([pair.delta_moments(np.array(0.0))[0] for pair in pairs])
    inside = np.array([pair.mean_within_range() for pair in pairs]) - exact
    axes.plot(x, inside, color=page.ORANGE, label="inside the 99 % range, exact")
    axes.axhline(0.0, color=page.BLUE, ls="--", label="all draws, exact")
    for name, colour, marker, shift in (
        ("mean_within_range", page.ORANGE, "s", 0.03),
        ("reference_mean", page.BLUE, "o", -0.03),
    ):
        label = "the same, measured"
        _measured(axes, x, replicates, name, colour, marker, shift, label=label)
    axes.set_ylabel("bias of the mean of log $q/q_{ref}$ (nats)")
    axes.legend()


def _errors(
    axes: Any,
    pairs: Sequence[MismatchedPair],
    replicates: Mapping[float, Replicates],
    adapted: Mapping[float, refti.Evidence],
) -> None:
    x = np.array([pair.mismatch for pair in pairs])
    off = [pair.spline_error() for pair in pairs]
    axes.plot(x, off, color=page.RED, ls="-.", label="spline through 5 rungs, exact")
    _measured(axes, x, replicates, "spline", page.RED, "s", 0.0, label="the same, measured")
    _measured(
        axes, x, replicates, "one_sided", page.GREEN, "^", 0.0, label="reference alone, measured"
    )
    ours = [result.log_z - MismatchedPair(m).log_z for m, result in adapted.items()]
    bars = [2 * result.error for result in adapted.values()]
    axes.errorbar(
        list(adapted), ours, bars, fmt="D", color=page.BLUE, capsize=4, label="refti, one run each"
    )
    axes.axhline(0.0, color=page.GREY, lw=1)
    axes.set_ylabel("error of log z (nats; linear within ± 0.1)")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(-30, 0.5)
    axes.legend(loc="lower left")


def _measured(
    axes: Any,
    x: np.ndarray,
    replicates: Mapping[float, Replicates],
    name: str,
    colour: str,
    marker: str,
    shift: float,
    *,
    label: str,
) -> None:
    """The mean of each mismatch's replicates with bars of two standard errors."""
    found = [getattr(replicates[m], name) for m in x]
    means = [values.mean() for values in found]
    bars = [2 * values.std(ddof=1) / np.sqrt(len(values)) for values in found]
    axes.errorbar(x + shift, means, bars, fmt=marker, color=colour, ms=5, capsize=3, label=label)
