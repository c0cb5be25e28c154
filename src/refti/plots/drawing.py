"""Drawing: what every figure shares, such as its colours, its axes and how it writes names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from refti.draws.draws import Draws
from refti.errors import SettingsError
from refti.results.result import Result
from refti.results.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Columns = Mapping[str, Sequence[Any]]
"""The numbers behind a figure: equally long columns by name."""

# Of Okabe and Ito's colours those that stand out from white and from black; people who do not tell
# red from green can tell them apart, and markers and dashes do where there is no colour at all.
BLUE, RED, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
GREY, INK = "#767676", "#1A1A1A"
COLOURS = (BLUE, RED, GREEN, PURPLE)
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":")
SIZE = (4.8, 3.3)  # inches: as wide as a phone's screen with letters of 9 points
LONG_NUMBER = 8  # letters, of which few numbers have room side by side
LONGEST_NAME = 28
ON_A_CELL = "on-cell"  # marks numbers that stand on a coloured cell and not on the page


def require_packages(*names: str) -> None:
    """Raises SettingsError, with what installs them, where packages that draw are missing."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"Figures and reports need {' and '.join(missing)}. Install with: "
            'pip install "refti[report]"'
        )


def axes_for(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """The axes to draw into: those given, or new ones.

    Raises SettingsError if it is anything else, or matplotlib is missing.
    """
    require_packages("matplotlib")
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise SettingsError(
            f"ax= must be matplotlib axes, such as plt.subplots()[1]; got {type(ax).__name__}."
        )
    return ax


def legs_of(result: Result) -> tuple[Draws, ...]:
    """The draws of every leg. Raises SettingsError if nothing was drawn."""
    if not result.draws:
        raise SettingsError(
            "This model has no parameters, so its evidence is exact and nothing was sampled that "
            "could be shown."
        )
    return result.draws


def literal(name: object, longest: int = LONGEST_NAME) -> str:
    """A user's name as matplotlib shows it letter by letter, never as a formula, cut if long."""
    text = printable(name)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    # A dollar behind a backslash is a dollar; between two bare ones would be a formula.
    return text.replace("$", r"\$")


def tidy(ax: Axes, *, grid: str = "both") -> None:
    """Takes away what tells nothing: two of the four borders, and most of the grid."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid != "none":
        ax.grid(True, axis=grid, alpha=0.25, linewidth=0.6)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Writes names beside the rows 0, 1, … of horizontal axes, the first on top."""
    ax.set_yticks(range(len(names)), [literal(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def plain_numbers(ax: Axes, axis: Literal["x", "y", "both"], ticks: int = 5) -> None:
    """Numbers on an axis as they are, without a part to be added or multiplied in a corner."""
    ax.ticklabel_format(axis=axis, style="plain", useOffset=False)
    ax.locator_params(axis=axis, nbins=ticks)
    longest = max((len(label.get_text()) for label in ax.get_xticklabels()), default=0)
    if axis == "x" and longest >= LONG_NUMBER:
        ax.locator_params(axis=axis, nbins=2)


def short_numbers(ax: Axes, ticks: int = 5) -> None:
    """Numbers of any size on both axes, each whole: Matplotlib puts a factor in a corner."""
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        size, span = max(map(abs, limits)), abs(limits[1] - limits[0])
        digits = 3 + math.ceil(math.log10(size / span)) if span > 0 else 6
        axis.set_major_formatter(partial(_short, digits=digits))
    ax.locator_params(nbins=ticks)


def _short(number: float, place: int | None, *, digits: int) -> str:
    del place
    text = re.sub(r"e\+?(-?)0*", r"e\1", f"{number:.{digits}g}")
    return text.replace("-", "\N{MINUS SIGN}")


def add_legend(ax: Axes, **options: Any) -> None:
    """A legend without a frame, where there is something to explain."""
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        ax.legend(frameon=False, fontsize="small", **options)
