"""Results as plain text: numbers with their errors, names that are safe to print, tables."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any


def plus_minus(value: float, error: float, decimals: int | None = None) -> str:
    """Returns "value ± error" to so many decimals, or with the error to two significant digits.

    Two significant digits are -310.1283 ± 0.0021.
    """
    if decimals is not None:
        return f"{value:.{decimals}f} ± {error:.{decimals}f}"
    if not math.isfinite(error):
        return f"{value:.4f} ± {error}"
    if error == 0:
        return f"{value:.8g} ± 0"
    rounded = f"{error:.1e}"
    # The exponent of the rounded error, since 0.0997 rounds to 0.10 and not to 0.100.
    decimals = max(0, 1 - int(rounded.split("e")[1]))
    if decimals > 8:
        return f"{value:.8f} ± {rounded}" if abs(value) >= 1e-3 else f"{value:.1e} ± {rounded}"
    return f"{value:.{decimals}f} ± {float(rounded):.{decimals}f}"


def search_line(found: Mapping[str, Any]) -> list[str]:
    """Returns the line that tells how hard other modes were looked for, if a run did."""
    search = found.get("search")
    return [f"  search: {search['sentence']}"] if search else []


def printable(name: object) -> str:
    """Returns a name in which a line break or a terminal escape cannot break what it stands in."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(name))


def list_names(names: Iterable[str]) -> str:
    """Returns names in one line, safe to print."""
    return ", ".join(printable(name) for name in names)


def wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
    """Returns the lines of a text that fit a width; all but the first are indented further.

    A number stays on one line with its unit and its error.
    """
    lines = []
    for paragraph in text.splitlines():
        lines += textwrap.wrap(
            BEFORE_UNIT.sub(NO_BREAK, paragraph),
            max(width, 20),
            initial_indent=indent,
            subsequent_indent=indent + "  " if indent else "",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return [line.replace(NO_BREAK, " ") for line in lines]


NO_BREAK = "\N{NO-BREAK SPACE}"
BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|s\b|±)|(?<=±) ")


def fitted_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    words: Container[int] = (0,),
    spare: Sequence[int] = (),
) -> list[str]:
    """Returns a table that fits a width; nothing is cut off.

    Columns that can be spared are left out first, then long names go over several lines, and at
    last every cell gets a line of its own.

    Args:
        header: the name of each column, that of the first one being the rows' own.
        rows: the cells of each row.
        width: how many letters a line may have.
        words: the columns of words, which are flush to the left.
        spare: the columns that may be left out, the first of them first.
    """
    kept = list(range(len(header)))
    for left_out in (None, *spare):
        kept = [index for index in kept if index != left_out]
        cells = [[row[index] for index in kept] for row in (header, *rows)]
        columns = {place for place, index in enumerate(kept) if index in words}
        lines = table(cells[0], cells[1:], words=columns)
        if max(map(len, lines)) <= width:
            return lines
    room = width - (max(map(len, lines)) - max(len(row[0]) for row in cells))
    if room >= LEAST_ROOM_FOR_NAMES:
        return table(cells[0], _with_broken_names(cells[1:], room), words=columns)
    return _cell_by_cell(cells[0], cells[1:])


LEAST_ROOM_FOR_NAMES = 12


def _with_broken_names(rows: Sequence[Sequence[str]], room: int) -> list[Sequence[str]]:
    broken: list[Sequence[str]] = []
    for name, *cells in rows:
        first, *rest = textwrap.wrap(name, room) or [""]
        broken += [[first, *cells], *([part, *[""] * len(cells)] for part in rest)]
    return broken


def _cell_by_cell(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    longest = max(map(len, header[1:]), default=0)
    lines = []
    for row in rows:
        cells = zip(header[1:], row[1:], strict=True)
        lines += [row[0], *(f"  {name.ljust(longest)}  {cell}" for name, cell in cells if cell)]
    return lines


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, words: Container[int] = (0,)
) -> list[str]:
    """Returns the lines of a table: header, rule and rows, with numbers flush to the right.

    Args:
        header: the name of each column.
        rows: the cells of each row.
        words: the columns of words, which are flush to the left.
    """
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if index in words else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]
