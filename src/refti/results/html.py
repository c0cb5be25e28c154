"""Results in notebooks: short tables in HTML, in which every name is text and never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from refti.checks.check import Check
from refti.results.text import printable

LEFT = 'style="text-align:left"'


def result_html(rows: Iterable[Sequence[str]], checks: Checks, sentence: str) -> str:
    """A result: its number and verdict, the checks that failed or how many hold, its search."""
    failed = [check for check in checks if not check.ok]
    told = [*rows, *((check.name, f"{check.measured}: {check.advice}") for check in failed)]
    if not failed:
        told.append(("checks", f"all {len(checks)} passed; result.checks lists them"))
    if sentence:
        told.append(("search", sentence))
    return _table((), told)


def comparison_html(
    header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str]
) -> str:
    """A comparison, and what a reader has to know below it."""
    return _table(header, rows) + "".join(f"<p>{escape(note)}</p>" for note in notes)


class Checks(tuple[Check, ...]):
    """The checks of a result: a tuple that notebooks show as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        """One line a check: whether it holds, what was found, and what to do if it does not."""
        return "\n".join(f"{'ok    ' if check.ok else 'FAILED'}  {check}" for check in self)

    def _repr_html_(self) -> str:
        rows = [
            ("yes" if c.ok else "NO", c.name, c.measured, "" if c.ok else c.advice) for c in self
        ]
        return _table(("holds", "check", "found", "what to do"), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th {LEFT}>{escape(name)}</th>" for name in header)
    head = f"<thead><tr>{head}</tr></thead>" if header else ""
    body = "".join(
        "<tr>" + "".join(f"<td {LEFT}>{escape(printable(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table>{head}<tbody>{body}</tbody></table>"
