"""A comparison as a table for a paper: in Markdown and in LaTeX, names escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from refti.results.text import plus_minus, printable

HEADER = ("Model", "log z", "log Bayes factor", "Probability", "Trusted")
SMALL = 1e-4  # a probability below which digits tell nothing
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}


@dataclass(frozen=True)
class PaperRow:
    """A model of a table: its name, three numbers as text, and whether it is trusted."""

    name: str
    numbers: tuple[str, str, str]
    trusted: str


def paper_number(value: float, error: float, *, is_best: bool = False) -> str:
    """A number with its error; 0 for the best model's distance to itself."""
    if is_best:
        return "0"
    return plus_minus(value, error) if math.isfinite(value) else "–"


def paper_probability(value: float, error: float) -> str:
    """A probability with its error, or that it is next to 0 or 1."""
    if value > 1 - SMALL and error < SMALL:
        return f"> {1 - SMALL:.4f}"
    return f"< {SMALL:.4f}" if value < SMALL else paper_number(value, error)


def to_markdown(
    rows: Sequence[PaperRow], notes: Sequence[str], footnotes: Sequence[str] = ()
) -> str:
    """The table in Markdown, with what a reader has to know below it, a paragraph each.

    Args:
        rows: the models.
        notes: on the ranking.
        footnotes: on the models.
    """
    cells = [(escape_markdown(row.name), *row.numbers, row.trusted) for row in rows]
    lines = [_line(HEADER), "|:---|---:|---:|---:|:---|", *map(_line, cells)]
    return "\n\n".join(["\n".join(lines), *map(escape_markdown, (*notes, *footnotes))])


def to_latex(rows: Sequence[PaperRow], notes: Sequence[str], footnotes: Sequence[str] = ()) -> str:
    """The table in LaTeX, for the package booktabs, with notes in rows of their own.

    Footnotes stand below the table, as wide as the text: their sentences are longer than rows.
    """
    head = ("Model", r"$\log z$", "log Bayes factor", "Probability", "Trusted")
    cells = [(escape_latex(row.name), *map(_math, row.numbers), row.trusted) for row in rows]
    told = [rf"\multicolumn{{5}}{{l}}{{\footnotesize {escape_latex(note)}}} \\" for note in notes]
    return "\n".join(
        [
            r"\begin{tabular}{lrrrl}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in cells),
            r"\bottomrule",
            *told,
            r"\end{tabular}",
            *(rf"\par\smallskip{{\footnotesize {escape_latex(note)}\par}}" for note in footnotes),
        ]
    )


def escape_markdown(text: str) -> str:
    """Text that Markdown shows letter by letter."""
    return re.sub(r"([\\`*_{}\[\]<>|#$~&])", r"\\\1", printable(text))


def escape_latex(text: str) -> str:
    """Text that LaTeX shows letter by letter."""
    shown = "".join(_LATEX.get(letter, letter) for letter in printable(text))
    return re.sub("-(?=-)", "-{}", shown)  # two would become one dash, as in an option's name


def _math(number: str) -> str:
    return "--" if number == "–" else f"${number.replace('±', chr(92) + 'pm')}$"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
