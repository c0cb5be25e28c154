"""Cases: a series of confirmed cases, one count a day, South Korea's or a user's own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from refti import ModelError

FEWEST_DAYS = 30  # days
FAULTS_SHOWN = 10  # faults that are told one by one

Row = tuple[int, date, int]  # its line in the file, its day, its count


@dataclass(frozen=True, eq=False)
class Cases:
    """Counts of consecutive days from the first on."""

    first: date
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def days(self) -> list[date]:
        """The day of each count."""
        return [self.first + timedelta(t) for t in range(len(self))]


def south_korea() -> Cases:
    """South Korea, 31 December 2019 to 18 July 2020: the paper's data, which ECDC collected."""
    return read_cases(Path(__file__).with_name("south_korea.csv"))


def read_cases(path: str | Path) -> Cases:
    """The cases in a CSV file with columns date (YYYY-MM-DD) and cases, one row a day in order."""
    faults: list[str] = []
    rows = list(_rows(_lines(path), path, faults))
    faults += _order_faults(rows)
    if not faults and len(rows) < FEWEST_DAYS:
        faults.append(f"needs at least {FEWEST_DAYS} days of cases; got {len(rows)}.")
    if faults:
        hidden = [f"… and {len(faults) - FAULTS_SHOWN} more."] if len(faults) > FAULTS_SHOWN else []
        raise ModelError(
            "\n".join([f"{path}: {fault}" for fault in faults[:FAULTS_SHOWN]] + hidden)
        )
    return Cases(rows[0][1], np.array([count for _, _, count in rows]))


def _lines(path: str | Path) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}. Give a CSV file.") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is not text in UTF-8. Save it as CSV in UTF-8.") from error


def _rows(lines: list[str], path: str | Path, faults: list[str]) -> Iterator[Row]:
    """The rows that can be read; what is wrong with the others is added to the faults."""
    reader = csv.reader(lines)
    header = [name.strip().lower() for name in next(reader, [])]
    if header.count("date") != 1 or header.count("cases") != 1:
        raise ModelError(
            f"{path}: row 1 must name the columns, date,cases; got {','.join(header)!r}."
        )
    places = header.index("date"), header.index("cases")
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        day, count = (cells[i].strip() if i < len(cells) else "" for i in places)
        wrong = [*_date_faults(day), *_count_faults(count)]
        faults += [f"row {reader.line_num}: {fault}" for fault in wrong]
        if not wrong:
            yield reader.line_num, date.fromisoformat(day), int(float(count))


def _date_faults(text: str) -> Iterator[str]:
    try:
        date.fromisoformat(text)
    except ValueError:
        yield f"the date must be written YYYY-MM-DD; got {text!r}."


def _count_faults(text: str) -> Iterator[str]:
    advice = "Give a whole number of at least 0."
    if text.lower() in ("", "na", "nan", "null"):
        yield f"the count is missing. {advice}"
        return
    try:
        count = float(text)
    except ValueError:
        yield f"the count is not a number; got {text!r}. {advice}"
        return
    if not 0 <= count < 2**53 or count != int(count):
        yield f"the count cannot be {text}. {advice}"


def _order_faults(rows: list[Row]) -> Iterable[str]:
    """Where a day does not follow the day before it."""
    for (_, before, _), (line, day, _) in pairwise(rows):
        if day != before + timedelta(1):
            kind = "is out of order: it" if day <= before else "leaves days out: it"
            yield f"row {line}: {day} {kind} follows {before}. Give every day once, in order."
