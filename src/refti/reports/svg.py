"""Figures as inline SVG: small, in the page's own colours, and the same bytes every time."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from refti.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Colours that a page gives its own values, one in the light and one in the dark.
PAGE_COLOURS = {
    drawing.BLUE: "var(--blue)",
    drawing.RED: "var(--red)",
    drawing.GREEN: "var(--green)",
    drawing.PURPLE: "var(--purple)",
    drawing.GREY: "var(--grey)",
    drawing.INK: "currentColor",
}
STYLE: dict[Any, Any] = {
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
        drawing.INK,
    ),
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.linewidth": 0.7,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.framealpha": 0.0,
    "hatch.linewidth": 0.7,
    "svg.fonttype": "none",
    "svg.hashsalt": "refti",
    "text.usetex": False,
    "path.simplify_threshold": 0.3,
}
LETTER, LINE, LEANING = 6.1, 15.0, 0.66  # points: a letter's width, a line's height, and a slant's
SAME_USES = re.compile(r"<g([^>]*)>((?:<use [^>]*/>)+)</g>")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@contextmanager
def page_style() -> Iterator[None]:
    """The look of figures in a page, whatever settings of matplotlib the user has."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


@dataclass
class StyleSheet:
    """The styles of all figures of a page, each written once.

    Attributes:
        classes: the name that each style goes by.
        figures: how many were drawn, which keeps their identifiers apart.
    """

    classes: dict[str, str] = field(default_factory=dict)
    figures: int = 0

    @property
    def css(self) -> str:
        """The rules for the page."""
        return "\n".join(f".{name}{{{style}}}" for style, name in self.classes.items())

    def draw(self, draw: Callable[[Axes], object], *, size: tuple[float, float], alt: str) -> str:
        """A figure as an element of the page, with words for those who do not see it."""
        from matplotlib.figure import Figure

        with page_style():
            figure = Figure(figsize=size)
            ax = figure.subplots()
            draw(ax)
            _make_room(ax)
            return self.embed(figure, alt=alt)

    def embed(self, figure: Figure, *, alt: str) -> str:
        """A drawing that is there already as an element of the page; see `page_style`."""
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
        self.figures += 1
        return self._compact(written.getvalue(), f"f{self.figures}", alt)

    def _compact(self, svg: str, prefix: str, alt: str) -> str:
        svg = svg[svg.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
        svg = svg.replace("xlink:href", "href")
        used = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
        short = {name: f"{prefix}{place:x}" for place, name in enumerate(used)}
        svg = re.sub(r"<[^>]*>", lambda tag: self._tag(tag[0], short), svg)
        svg = re.sub(r">\s+<", "><", svg)
        svg = SAME_USES.sub(_style_once, svg)
        for _ in range(2):  # groups that held nothing but their name
            svg = re.sub(r"<g></g>|<g/>|<defs></defs>", "", svg)
        head = f'<svg role="img" aria-label="{_attribute(alt)}" viewBox='
        return re.sub(r"<svg [^>]*?viewBox=", lambda _: head, svg, count=1)

    def _tag(self, tag: str, short: dict[str, str]) -> str:
        """A tag with fewer digits, its style by name, and identifiers that no other figure has."""
        tag = re.sub(r' id="([^"]*)"', lambda m: _identifier(m[1], short), tag)
        tag = re.sub(r'(url\(|href=")#([^")]+)', lambda m: f"{m[1]}#{short[m[2]]}", tag)
        tag = re.sub(r' transform="rotate\(-?0[ )][^"]*"', "", tag)
        tag = re.sub(r' (d|x|y|transform)="([^"]*)"', _with_fewer_digits, tag)
        return re.sub(r' style="([^"]*)"', lambda m: f' class="{self._class(m[1])}"', tag)

    def _class(self, style: str) -> str:
        style = re.sub(r" ?font-family: [^;]*(?:;|$)", "", style)
        style = re.sub(r"font: ([\d.]+px) [^;]*", r"font-size: \1", style)
        for colour, value in PAGE_COLOURS.items():
            style = style.replace(colour.lower(), value)
        return self.classes.setdefault(style.strip().rstrip(";"), f"v{len(self.classes)}")


def _style_once(found: re.Match[str]) -> str:
    """A group of markers with their style on the group, where all have the same."""
    styles = set(re.findall(r'class="(v\d+)"', found[2]))
    if len(styles) != 1 or found[2].count("class=") != found[2].count("<use"):
        return found[0]
    uses = re.sub(r' class="v\d+"', "", found[2])
    return f'<g{found[1]} class="{styles.pop()}">{uses}</g>'


def _make_room(ax: Axes) -> None:
    """Sets margins by the length of what is written in them, which is quicker than measuring."""
    wide, high = (72 * inches for inches in ax.figure.get_size_inches())  # type: ignore[union-attr]
    names = [label.get_text() for label in ax.get_yticklabels()]
    longest = max((len(name) for name in names), default=0)
    if ax.get_ylabel() and longest >= drawing.LONG_NUMBER:
        longest += 2  # numbers may get another digit when the axes get narrower
    labels = ax.get_xticklabels()
    leaning = max((_height(label) for label in labels if label.get_rotation()), default=0.0)
    upright = max(
        (len(label.get_text()) for label in labels if not label.get_rotation()), default=0
    )
    right = max(8.0, 0.5 * LETTER * upright)  # a number may stand under the very end
    left = max(LETTER * longest + 10, 40) + (LINE if ax.get_ylabel() else 0)
    bottom = leaning + LINE + (LINE if ax.get_xlabel() else 0) if leaning else 2.2 * LINE
    top = 1.6 * LINE if ax.get_title(loc="left") else 0.6 * LINE
    ax.figure.subplots_adjust(
        left=min(left / wide, 0.6), bottom=bottom / high, right=1 - right / wide, top=1 - top / high
    )


def _height(label: Text) -> float:
    """The height of a name that leans or stands upright."""
    return LETTER * len(label.get_text()) * (1 if label.get_rotation() == 90 else LEANING)


def _identifier(name: str, short: dict[str, str]) -> str:
    if name.startswith(drawing.ON_A_CELL):
        return f' data-on="{drawing.ON_A_CELL}"'
    return f' id="{short[name]}"' if name in short else ""


def _with_fewer_digits(found: re.Match[str]) -> str:
    return f' {found[1]}="{_shorter(found[2])}"'


def _shorter(numbers: str) -> str:
    """Coordinates to a tenth of a point, without the space that they do not need."""
    text = NUMBER.sub(lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), numbers)
    return re.sub(r"\s*([MLQCz])\s*", r"\1", text).replace("\n", " ").strip()


def _attribute(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return escaped.replace(">", "&gt;")
