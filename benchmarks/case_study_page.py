"""The two tables of docs/sources.md on models after published ones, from records of their runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median
from textwrap import fill

from benchmarks.case_study_record import Record
from benchmarks.made_by import made_by

FAR = 3.0  # errors
LONG = 180.0  # seconds
HEAD = (
    "| model | after | parameters | log z | by another way | z | trusted | gradients "
    "| processor seconds |{more}\n|---|---|---:|---:|---:|---:|---|---:|---:|{rule}"
)


def with_tables(
    text: str, tables: Mapping[str, Sequence[tuple[str, Record | None]]], after: Mapping[str, str]
) -> str:
    """The text of the page with its tables, sentences and last lines as the records have them.

    Args:
        text: of the page, which marks where they stand.
        tables: for the name of every table, the names of its models and what came of each.
        after: for every model the published one.
    """
    for name, rows in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if begin not in text or end not in text:
            raise SystemExit(f"The page has no place {begin} … {end}.")
        shown = f"{begin}\n\n{section(rows, after)}\n\n{end}"
        text = re.sub(f"{begin}.*?{end}", lambda _, shown=shown: shown, text, flags=re.DOTALL)  # type: ignore[misc]
    return text


def section(rows: Sequence[tuple[str, Record | None]], after: Mapping[str, str]) -> str:
    """A table, what it comes to in words, what is not trusted and why, and what made it."""
    ran = [record for _, record in rows if record is not None]
    asked = any(record.command_line for record in ran)
    more, rule = (" by the command line |", "---|") if asked else ("", "")
    lines = [HEAD.format(more=more, rule=rule)]
    lines += [line(name, after[name], record, asked=asked) for name, record in rows]
    parts = ["\n".join(lines), fill(in_words(ran, len(rows)), 110)]
    told = [f"- `{record.name}`: {record.words}" for record in ran if record.words]
    if told:
        parts.append("\n".join(told))
    revisions = sorted({record.revision for record in ran})
    if len(revisions) > 1:
        by = {r: ", ".join(o.name for o in ran if o.revision == r) for r in revisions}
        parts.append(fill("; ".join(f"{names}: revision {r}" for r, names in by.items()), 110))
    return "\n\n".join([*parts, made_by("make studies", *revisions).strip()])


def line(name: str, after: str, record: Record | None, *, asked: bool) -> str:
    """The line of a model."""
    if record is None:
        cells = ["—"] * 5 + ["not run", "—", "—"] + ["—"] * asked
        return f"| {' | '.join([name, after, *cells[1:]])} |"
    cells = [
        name,
        after,
        "—" if record.dim is None else str(record.dim),
        _number(record.log_z, record.error),
        "—" if record.other is None else _number(*record.other),
        "—" if record.z is None else _signed(f"{record.z:+.1f}"),
        "yes" if record.trusted else f"no: {', '.join(record.reasons) or 'no number'}",
        f"{record.gradients:,}",
        f"{record.processor_seconds:.0f}",
    ]
    if asked:
        cells.append(record.command_line or "—")
    return f"| {' | '.join(cells)} |"


def in_words(ran: Sequence[Record], models: int) -> str:
    """What a table comes to."""
    if not ran:
        return "None was run."
    known = [record for record in ran if record.z is not None]
    far = [record for record in known if record.trusted and abs(record.z or 0.0) > FAR]
    trusted = sum(record.trusted for record in ran)
    cost = sorted(record.processor_seconds for record in ran)
    dearest = max(ran, key=lambda record: record.processor_seconds)
    long = [record.name for record in ran if record.seconds > LONG]
    said = [
        f"{trusted} of {len(ran)} are trusted"
        + ("." if len(ran) == models else f"; not run: {models - len(ran)}."),
        f"Of the {len(known)} with an evidence by another way and an error, "
        + (f"{_listed(far)} trusted and" if far else "none is trusted and")
        + f" more than {FAR:.0f} errors off.",
        f"A model took {median(cost):.0f} processor seconds at the median and {cost[-1]:.0f} at "
        f"most ({dearest.name}), imports and compiling included; "
        + (f"on the clock {', '.join(long)} took" if long else "none took")
        + f" more than {LONG / 60:.0f} minutes.",
    ]
    asked = [record for record in ran if record.command_line]
    if asked:
        same = sum(record.command_line == "same" for record in asked)
        said.append(
            f"By the command line, each in a process of its own, {same} of {len(asked)} gave the "
            "same numbers and the same verdict to the last bit."
        )
    return " ".join(said)


def _listed(records: Sequence[Record]) -> str:
    names = ", ".join(f"{record.name} ({_signed(f'{record.z:+.1f}')})" for record in records)
    return f"{len(records)} ({names}) {'is' if len(records) == 1 else 'are'}"


def _number(value: float | None, error: float | None) -> str:
    if value is None:
        return "—"
    shown = _signed(f"{value:.3f}")
    return f"{shown} ± {error:.3f}" if error else shown


def _signed(number: str) -> str:
    return number.replace("-", "−")
