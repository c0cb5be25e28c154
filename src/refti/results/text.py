"""Results as plain text: numbers with their errors, names that are safe to print, tables."""

from __future__ import annotations

import math
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
