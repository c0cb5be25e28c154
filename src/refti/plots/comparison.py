"""Comparisons: probabilities of models, their evidences, and Bayes factors of every two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refti.checks.verdict import Verdict
from refti.errors import SettingsError
from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.results.comparison import Comparison, Row, is_ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

MOST_MODELS = 20  # that a figure has room for: the best of them
MOST_WITH_NUMBERS = 7  # whose Bayes factors have room for numbers
VERY_STRONG = 5.0  # nats, where the scale of Kass and Raftery ends


def shown_rows(comparison: Comparison) -> list[Row]:
    """The best of the models that have a number. Raises SettingsError if none has."""
    if not isinstance(comparison, Comparison):
        raise SettingsError(
            f"This figure needs the result of refti.compare; got {type(comparison).__name__}. "
            'Write refti.compare({"A": a, "B": b}).'
        )
    ranked = [row for row in comparison.rows if is_ranked(row.log_z, row.error)]
    if not ranked:
        raise SettingsError("None of these models has a finite log z and error to show.")
    return ranked[:MOST_MODELS]


def probabilities_columns(comparison: Comparison) -> Columns:
    """The models with their probabilities and the errors of these."""
    rows = shown_rows(comparison)
    return {
        "model": [row.name for row in rows],
        "probability": [row.probability for row in rows],
        "error": [row.probability_error for row in rows],
        "prior probability": [row.prior for row in rows],
    }


def probabilities(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """The posterior probability of every model, with the error that those of log z cause."""
    rows = shown_rows(comparison)
    ax = drawing.axes_for(ax, (drawing.SIZE[0], height_for(len(rows))))
    values = np.array([row.probability for row in rows])
    errors = np.array([row.probability_error for row in rows])
    places = np.arange(len(rows))
    ax.barh(places, values, color=drawing.BLUE, alpha=0.75, height=0.6)
    # A probability stays between 0 and 1, whatever its error.
    below, above = np.minimum(errors, values), np.minimum(errors, 1 - values)
    ax.errorbar(values, places, xerr=[below, above], fmt="none", color=drawing.INK, capsize=3)
    for place, row in enumerate(rows):
        end = min(row.probability + row.probability_error, 1.0)
        ax.text(end + 0.02, place, _percent(row.probability), va="center", size="small")
    drawing.name_rows(ax, [row.name for row in rows])
    ax.set_xlim(0, 1.17)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.set_xlabel("probability of the model")
    drawing.tidy(ax, grid="x")
    return ax


def evidences_columns(comparison: Comparison) -> Columns:
    """The models with log z, its error, and the log Bayes factor over the best."""
    rows = shown_rows(comparison)
    return {
        "model": [row.name for row in rows],
        "log z": [row.log_z for row in rows],
        "error": [row.error for row in rows],
        "less than the best by": [-row.log_bayes_factor for row in rows],
    }


def evidences(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """The log evidence of every model with two standard errors."""
    rows = shown_rows(comparison)
    ax = drawing.axes_for(ax, (drawing.SIZE[0], height_for(len(rows))))
    for place, row in enumerate(rows):
        ax.errorbar(
            row.log_z,
            place,
            xerr=2 * row.error,
            fmt="o",
            color=drawing.BLUE if row.verdict is not Verdict.NOT_TRUSTED else drawing.RED,
            markerfacecolor=drawing.BLUE if row.verdict is not Verdict.NOT_TRUSTED else "none",
            markersize=6,
            capsize=3,
        )
    drawing.name_rows(ax, [row.name for row in rows])
    hollow = (
        ""
        if all(row.verdict is not Verdict.NOT_TRUSTED for row in rows)
        else "; hollow: may be wrong"
    )
    ax.set_xlabel(f"log z (nats){hollow}")
    ax.margins(x=0.1)
    drawing.plain_numbers(ax, "x")
    drawing.tidy(ax, grid="x")
    return ax


def bayes_factors_columns(comparison: Comparison) -> Columns:
    """The log Bayes factor of every model over the next best, and its error."""
    rows = shown_rows(comparison)
    pairs = [
        (a, b, *comparison.log_bayes_factor(a.name, b.name))
        for i, a in enumerate(rows)
        for b in rows[i + 1 :]
    ]
    if len(rows) > MOST_WITH_NUMBERS:
        pairs = [pair for pair in pairs if pair[0] is rows[0]]
    return {
        "model": [a.name for a, *_ in pairs],
        "over": [b.name for _, b, *_ in pairs],
        "log Bayes factor": [value for *_, value, _ in pairs],
        "error": [error for *_, error in pairs],
    }


def bayes_factors(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """The log Bayes factor of the model of a row over that of a column.

    Blue speaks for the row, orange for the column; the colours end at 5 nats, where the evidence
    is called very strong.
    """
    rows = shown_rows(comparison)
    ax = drawing.axes_for(ax, (drawing.SIZE[0], height_for(len(rows)) + 0.8))
    log_z = np.array([row.log_z for row in rows])
    values = log_z[:, None] - log_z[None, :]
    colours = _diverging()
    ax.imshow(
        values,
        cmap=colours,
        vmin=-VERY_STRONG,
        vmax=VERY_STRONG,
        interpolation="nearest",
        aspect="auto",
    )
    names = [drawing.literal(row.name, 16) for row in rows]
    ax.set_yticks(range(len(rows)), names)
    if len(rows) <= MOST_WITH_NUMBERS:
        ax.set_xticks(range(len(rows)), names, rotation=40, ha="right", rotation_mode="anchor")
    else:  # slanted names would lie on each other
        ax.set_xticks(range(len(rows)), names, rotation=90)
    ax.tick_params(length=0)
    if len(rows) <= MOST_WITH_NUMBERS:
        for i, j in np.ndindex(values.shape):
            if i != j:
                ink = "white" if abs(values[i, j]) > 0.55 * VERY_STRONG else "black"
                text = _short(values[i, j])
                ax.text(
                    j, i, text, ha="center", va="center", color=ink, size=9, gid=drawing.ON_A_CELL
                )
    drawing.tidy(ax, grid="none")
    return ax


def height_for(rows: int) -> float:
    """How high a figure with so many rows is, in inches."""
    return 1.2 + 0.26 * max(rows, 3)


def _short(value: float) -> str:
    """A signed number in the room of five letters."""
    if abs(value) < 0.05:
        return "0"
    text = f"{value:+.0e}" if abs(value) >= 1e4 else f"{value:+.{0 if abs(value) >= 10 else 1}f}"
    return text.replace("e+0", "e").replace("-", "−")


def _diverging() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    # Both ends are as dark as each other, and the sign is printed where there is room.
    return LinearSegmentedColormap.from_list("refti", ["#8A3B00", "#F7F7F7", "#00456E"])


def _percent(probability: float) -> str:
    percent = 100 * probability
    if percent < 0.01:
        return "< 0.01 %"
    if percent > 99.99:
        return "> 99.99 %"
    return f"{percent:.2f} %" if percent < 1 or percent > 99 else f"{percent:.0f} %"
