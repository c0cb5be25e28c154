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
            figure = Figure(figsize=size, layout="constrained")
            draw(figure.subplots())
            written = io.StringIO()
            figure.savefig(written, format="svg", metadata={"Date": None})
        self.figures += 1
        return self._compact(written.getvalue(), f"f{self.figures}", alt)

    def _compact(self, svg: str, prefix: str, alt: str) -> str:
        svg = svg[svg.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
        used = set(re.findall(r'(?:url\(|href=")#([^")]+)', svg))
        svg = re.sub(r"<[^>]*>", lambda tag: self._tag(tag[0], prefix, used), svg)
        svg = re.sub(r">\s+<", "><", svg)
        for _ in range(2):  # groups that held nothing but their name
            svg = re.sub(r"<g></g>|<g/>|<defs></defs>", "", svg)
        head = f'<svg role="img" aria-label="{_attribute(alt)}" viewBox='
        return re.sub(r"<svg [^>]*?viewBox=", lambda _: head, svg, count=1)

    def _tag(self, tag: str, prefix: str, used: set[str]) -> str:
        """A tag with fewer digits, its style by name, and identifiers that no other figure has."""
        tag = re.sub(r' (id)="([^"]*)"', lambda m: self._identifier(m[2], prefix, used), tag)
        tag = re.sub(r"(url\(|href=\")#", rf"\1#{prefix}-", tag)
        tag = re.sub(r' transform="rotate\(-?0[ )][^"]*"', "", tag)
        tag = re.sub(r' (d|x|y|transform)="([^"]*)"', _with_fewer_digits, tag)
        return re.sub(r' style="([^"]*)"', lambda m: f' class="{self._class(m[1])}"', tag)

    def _identifier(self, name: str, prefix: str, used: set[str]) -> str:
        if name.startswith(drawing.ON_A_CELL):
            return f' data-on="{drawing.ON_A_CELL}"'
        return f' id="{prefix}-{name}"' if name in used else ""

    def _class(self, style: str) -> str:
        style = re.sub(r" ?font-family: [^;]*(?:;|$)", "", style)
        style = re.sub(r"font: ([\d.]+px) [^;]*", r"font-size: \1", style)
        for colour, value in PAGE_COLOURS.items():
            style = style.replace(colour.lower(), value)
        return self.classes.setdefault(style.strip().rstrip(";"), f"v{len(self.classes)}")


def _with_fewer_digits(found: re.Match[str]) -> str:
    return f' {found[1]}="{_shorter(found[2])}"'


def _shorter(numbers: str) -> str:
    """Coordinates to a tenth of a point, without the space that they do not need."""
    text = NUMBER.sub(lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), numbers)
    return re.sub(r"\s*([MLQCz])\s*", r"\1", text).replace("\n", " ").strip()


def _attribute(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return escaped.replace(">", "&gt;")
