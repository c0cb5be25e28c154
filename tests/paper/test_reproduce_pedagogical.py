"""The paper's pedagogical examples: runs that agree with exact values, and verdicts."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

import refti
from refti.paper.one_dimension import exact
from refti.paper.one_dimension import model as one_model
from refti.paper.one_dimension import study as one_dimension
from refti.paper.report import page
from refti.paper.report.findings import Findings, Table
from refti.paper.report.verdicts import FAILS, HOLDS
from refti.paper.report.work import Work
from refti.paper.two_dimensions import study as two_dimensions

STUDIES = {"one": one_dimension.make_findings, "two": two_dimensions.make_findings}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pedagogical")


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Findings]:
    made = {name: study(Work(folder / name, quick=True)) for name, study in STUDIES.items()}
    for name, findings in made.items():
        page.write(folder / name, findings)
    return made


def rows(table: Table) -> dict[str, dict[str, str]]:
    """A table's rows by their first cell."""
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def number(cell: str) -> tuple[float, float]:
    """The value and the error of a cell."""
    value, _, rest = cell.partition(" ± ")
    return float(value), float(rest.split()[0])


def is_close(cell: str, exact: float) -> bool:
    value, error = number(cell)
    return abs(value - exact) < 4 * error


@pytest.mark.long
def test_the_reference_is_read_off_the_draws(folder: Path, found: dict[str, Findings]):
    del found
    result = refti.load(folder / "one" / "runs" / "recipe")
    assert isinstance(result, refti.Evidence)
    assert math.log(exact.read_reference(result).z) == pytest.approx(
        result.found["log_z_start"], abs=1e-8
    )


@pytest.mark.long
def test_one_dimension_agrees_with_quadrature_and_gives_its_verdicts(found: dict[str, Findings]):
    table = rows(found["one"].tables[0])
    for name in ("z by quadrature", "z by referenced TI"):
        assert is_close(table[name]["ours"], one_model.EXACT_Z)
        assert table[name]["verdict"] == HOLDS
    assert is_close(table["sampled variance of θ"]["ours"], exact.variance())
    assert table["z_ref"]["verdict"] == table["z_ref / z"]["verdict"] == FAILS
    assert table["iterations to 0.1 %"]["verdict"] == "not seen"
    assert found["one"].trusted


@pytest.mark.long
def test_mismatched_references_are_noticed(found: dict[str, Findings]):
    table = found["one"].tables[1]
    for row in (dict(zip(table.columns, cells, strict=True)) for cells in table.rows):
        if row["ladder"] == "2 rungs":
            assert row["trusted"] == "no"
        if row["ladder"] == "adapted":
            assert row["trusted"] == "yes"
            assert is_close(row["MBAR"], float(row["exact"]))
    rungs = [int(cells[2]) for cells in table.rows if cells[1] == "adapted"]
    assert rungs == sorted(rungs)
    assert rungs[-1] > rungs[0]


@pytest.mark.long
def test_two_dimensions_agrees_with_quadrature_and_gives_its_verdicts(found: dict[str, Findings]):
    printed, readings, cases = found["two"].tables
    assert [cells[0] for cells in printed.rows if cells[-2] != FAILS] == []
    agreeing = {cells[0] for cells in readings.rows if cells[-1] == "yes"}
    assert agreeing == {"3.31", "5.55", "3.81", "4.79", "3.33"}
    compared = 0
    for *_, ours, known in cases.rows:
        if ours:
            assert is_close(ours, float(known))
            compared += 1
    assert compared == 12
    assert found["two"].trusted


@pytest.mark.long
@pytest.mark.parametrize("name", STUDIES)
def test_files_are_written_and_nothing_in_the_page_is_markup_by_accident(
    name: str, folder: Path, found: dict[str, Findings]
):
    findings, here = found[name], folder / name
    for table in findings.tables:
        with (here / f"{table.name}.csv").open(encoding="utf-8") as file:
            assert tuple(map(tuple, csv.reader(file))) == (table.columns, *table.rows)
    for figure in findings.figures:
        assert (here / f"{figure.name}.svg").read_text(encoding="utf-8").startswith("<?xml")
        assert (here / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
    text = (here / page.PAGE).read_text(encoding="utf-8")
    assert "{{" not in text
    assert "<script" not in text
    assert text.count("<figure>") == len(findings.figures)


@pytest.mark.long
@pytest.mark.parametrize("name", STUDIES)
def test_every_panel_says_what_its_axes_are(name: str, found: dict[str, Findings]):
    for figure in found[name].figures:
        for axes in figure.draw().axes:
            assert axes.get_xlabel()
            assert axes.get_ylabel()


@pytest.mark.long
@pytest.mark.parametrize("name", STUDIES)
def test_a_second_time_runs_are_read(name: str, folder: Path, found: dict[str, Findings]):
    files = sorted((folder / name).rglob("result.json"))
    before = [file.stat().st_mtime_ns for file in files]
    assert len(files) >= 9
    again = STUDIES[name](Work(folder / name, quick=True))
    assert [table.rows for table in again.tables] == [table.rows for table in found[name].tables]
    assert [file.stat().st_mtime_ns for file in files] == before
