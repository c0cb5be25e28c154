"""Styles of tables: which columns are numbers, and how a table is stacked where it has no room."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

LETTER, GAP = 0.44, 0.9  # of a cell, in units of the page's letters
WIDEST_CELL = 24  # letters of a cell of words, which are wrapped
STEP = 4  # in which widths are rounded up, so that few of them are needed

# A row of a table without room becomes a list of its cells, each with the name of its column; on a
# wide page the list is kept narrow, so that names and cells stay together. Where both have no room
# the name goes over several lines first, so that a number is not parted from its error.
STACKED = """@container (max-width:{width}rem){{
.{name},.{name} :is(tbody,tr,td){{display:block;width:100%}}
.{name}{{max-width:36rem}}
.{name} thead{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}}
.{name} tr{{border-bottom:2px solid var(--line);padding:.35rem 0}}
.{name} td{{overflow-wrap:anywhere;display:flex;justify-content:space-between;gap:1rem;border:0;\
padding:.1rem 0;text-align:right}}
.{name} td::before{{color:var(--soft);text-align:left;min-width:30%;flex-shrink:9999}}
.{name} td:is(.words,.long){{display:block;text-align:left}}
.{name} td:is(.words,.long)::before{{display:block}}
}}"""


@dataclass
class TableStyles:
    """The styles of all tables of a page.

    Attributes:
        kinds: the class of each kind of table: its columns, and which of them are numbers.
        widths: the classes of tables that need so much room.
    """

    kinds: dict[tuple[tuple[str, ...], tuple[bool, ...], int], str] = field(default_factory=dict)
    widths: dict[int, str] = field(default_factory=dict)

    def names(
        self, columns: tuple[str, ...], rows: Sequence[Sequence[str]], numeric: tuple[bool, ...]
    ) -> str:
        """The classes of a table."""
        width = _width(columns, rows, numeric)
        kind = self.kinds.setdefault((columns, numeric, width), f"t{len(self.kinds)}")
        return f"{kind} {self.widths.setdefault(width, f'w{width}')}"

    @property
    def css(self) -> str:
        """The rules for the page."""
        rules = [STACKED.format(width=width, name=name) for width, name in self.widths.items()]
        for (columns, numeric, width), name in self.kinds.items():
            labels = [
                f".{name} td:nth-child({place})::before{{content:{_string(column)}}}"
                for place, column in enumerate(columns, start=1)
            ]
            rules += [f"@container (max-width:{width}rem){{", *labels, "}"]
            cells = [
                f".{name} :is(th,td):nth-child({i + 1})" for i, one in enumerate(numeric) if one
            ]
            if cells:
                right = f"{','.join(cells)}{{text-align:right;white-space:nowrap}}"
                rules.append(f"@container (min-width:{width + 0.01}rem){{{right}}}")
        return "\n".join(rules)


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> int:
    """The room that a table needs."""
    total = 0.0
    for place, (column, is_number) in enumerate(zip(columns, numeric, strict=True)):
        longest = max((len(row[place]) for row in rows), default=0)
        longest = longest if is_number else min(longest, WIDEST_CELL)
        header = len(column) if is_number else max(map(len, column.split()), default=0)
        total += LETTER * max(longest, header) + GAP
    return STEP * math.ceil(total / STEP)


def _string(text: str) -> str:
    """A string of a style sheet; every letter that could end it or the sheet is a number."""
    plain = (c if re.match("[A-Za-z0-9 ]", c) else f"\\{ord(c):x} " for c in text)
    return f'"{"".join(plain)}"'
