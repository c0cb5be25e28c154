"""Pages: tables and figures as a template takes them, and the page that is made of them."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refti.plots import drawing
from refti.plots.drawing import Columns
from refti.reports.svg import StyleSheet
from refti.reports.table_styles import TableStyles
from refti.results.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING = "–"
MOST_ROWS = 60  # of a table under a figure
BEFORE_ERROR = re.compile(r"(?<=\d) ± (?=\d)")  # where no line may end


@dataclass(frozen=True)
class TableShown:
    """A table of text.

    Attributes:
        columns: the names of its columns.
        rows: its cells.
        caption: what it shows, in a line.
        notes: sentences below it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers, which stand flush to the right."""
        return tuple(all(_is_number(row[i]) for row in self.rows) for i in range(len(self.columns)))


@dataclass(frozen=True)
class FigureShown:
    """A figure of a page.

    Attributes:
        title: what it is called.
        reading: how to read it, in a sentence or two.
        svg: itself, as an element of the page.
        table: the numbers it shows, or None.
    """

    title: str
    reading: str
    svg: str
    table: TableShown | None


def make_figure(
    sheet: StyleSheet,
    draw: Callable[[Axes], object],
    *,
    title: str,
    reading: str,
    columns: Columns,
    size: tuple[float, float] = drawing.SIZE,
) -> FigureShown:
    """A figure with the table of its numbers."""
    table = make_table(columns, most=MOST_ROWS)
    alt = f"{title}. {reading} The numbers are in the table below the figure."
    return FigureShown(title, reading, sheet.draw(draw, size=size, alt=alt), table)


def make_table(columns: Columns, *, caption: str = "", most: int | None = None) -> TableShown:
    """The table of columns of numbers and words; of more rows than that an even choice."""
    rows = list(
        zip(*([cell(value) for value in column] for column in columns.values()), strict=True)
    )
    notes: tuple[str, ...] = ()
    if most is not None and len(rows) > most:
        notes = (f"{most} of {len(rows)} rows.",)
        rows = [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]
    return TableShown(tuple(columns), tuple(rows), caption, notes)


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}"
    number = float(value)
    if math.isnan(number):
        return MISSING
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    if number == 0:
        return "0"
    size = abs(number)
    if not 1e-4 <= size < 1e7:
        return f"{number:.3g}".replace("-", "−")
    decimals = 4 if size >= 1 else 3 - math.floor(math.log10(size))
    text = f"{number:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if number == round(number) else text
    return text.replace("-", "−")


def render(template: str, sheet: StyleSheet, **values: Any) -> str:
    """The page of a template, in which every name is text and never markup."""
    drawing.require_packages("matplotlib", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("refti.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Only what refti itself has written goes in unescaped: figures and their style sheet.
    tables = TableStyles()
    environment.filters["drawn"] = lambda figure: Markup(figure.svg)
    environment.filters["table_class"] = lambda table: tables.names(
        table.columns, table.rows, table.is_numeric
    )
    environment.filters["longest_word"] = lambda text: max(map(len, text.split()), default=0)
    page = environment.get_template(template).render(**values) + "\n"
    page = BEFORE_ERROR.sub("\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}", page)
    rules = [environment.get_template("style.css").render(), sheet.css, tables.css]
    # Styles are known once all is written, but stand at the top; no name can hold this line.
    return page.replace("/* styles */\n", "\n".join(rules) + "\n", 1)


def _is_number(text: str) -> bool:
    stripped = text.replace(",", "").replace("−", "-").replace("∞", "1")
    stripped = re.sub("[±<]", " ", stripped)
    if stripped.strip() in ("", MISSING):
        return text.strip() == MISSING
    return all(_parses(part) for part in stripped.split())


def _parses(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
