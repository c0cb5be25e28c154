"""The page of models after published ones: its tables say what the records of their runs hold."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from benchmarks.case_study_page import with_tables
from benchmarks.case_study_record import Record, read_record

from refti.studies import append_record, read_records

PAGE = "before\n\n<!-- models -->\nold\n<!-- end of models -->\n\nafter\n"
AFTER = {"coin": "a point null", "dogs": "shuttle boxes", "heaps": "a mixture", "owls": "counts"}
DOGS = Record(
    "dogs",
    "c0de",
    "abc1234",
    dim=3,
    log_z=-326.917,
    error=0.003,
    other=(-326.902, 0.004),
    trusted=True,
    gradients=20_524,
    processor_seconds=17.4,
    seconds=12.0,
)
COIN = replace(DOGS, name="coin", dim=0, log_z=-4.739, error=0.0, other=(-4.739, 0.0), gradients=0)
HEAPS = replace(
    DOGS,
    name="heaps",
    log_z=-2.0,
    other=None,
    trusted=False,
    reasons=("search",),
    words="look longer",
    processor_seconds=240.0,
    seconds=200.0,
)


def page(*records: Record) -> str:
    """The page with a table of these, and a model that was not run."""
    rows = [*((record.name, record) for record in records), ("owls", None)]
    return with_tables(PAGE, {"models": rows}, AFTER)


def test_a_row_has_its_numbers_and_how_far_they_are_off() -> None:
    shown = page(DOGS)
    cells = (
        "dogs | shuttle boxes | 3 | −326.917 ± 0.003 | −326.902 ± 0.004 | −3.0 | yes | 20,524 | 17"
    )
    assert f"| {cells} |\n" in shown
    assert "| owls | counts | — | — | — | — | not run | — | — |" in shown
    assert shown.startswith("before\n\n<!-- models -->")
    assert shown.endswith("<!-- end of models -->\n\nafter\n")
    assert "old" not in shown


def test_the_words_count_what_is_trusted_known_far_off_and_long() -> None:
    far = replace(DOGS, other=(-327.0, 0.004))
    shown = " ".join(page(far, COIN, HEAPS).split())
    assert "2 of 3 are trusted; not run: 1." in shown
    assert "Of the 1 with an evidence by another way and an error, 1 (dogs (+16.6)) is" in shown
    assert "240 at most (heaps)" in shown
    assert "on the clock heaps took more than 3 minutes" in shown
    assert "no: search" in shown
    assert "- `heaps`: look longer" in shown
    assert "none is trusted and more than 3 errors off" in " ".join(page(DOGS, HEAPS).split())


def test_the_command_line_has_a_column_where_it_was_asked() -> None:
    assert "command line" not in page(DOGS)
    shown = " ".join(page(replace(DOGS, command_line="same"), HEAPS).split())
    assert "1 of 1 gave the same numbers" in shown
    assert "| 20,524 | 17 | same |" in shown
    assert "| 20,524 | 240 | — |" in shown


def test_the_last_line_names_the_revisions_of_rows() -> None:
    assert "revision abc1234, 2" in page(DOGS, HEAPS)
    mixed = " ".join(page(DOGS, replace(HEAPS, revision="def5678")).split())
    assert "dogs: revision abc1234; heaps: revision def5678" in mixed


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(SystemExit, match="no place"):
        with_tables("nothing", {"models": []}, AFTER)


def test_records_come_back_from_their_file(tmp_path: Path) -> None:
    for record in (DOGS, HEAPS):
        append_record(tmp_path / "records.jsonl", asdict(record))
    assert read_records(tmp_path / "records.jsonl", read_record) == [DOGS, HEAPS]
