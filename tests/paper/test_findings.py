"""Findings: tables of text, a page that holds everything and runs nothing; jobs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

import refti
from refti.cli.main import commands
from refti.paper.covid.jobs import Job, run_jobs
from refti.paper.one_dimension.model import model as one_dimension
from refti.paper.report import page
from refti.paper.report.findings import Figure, Findings, Table
from refti.paper.report.verdicts import FAILS, HOLDS, rounds_to

TABLE = Table("t", "A <b>title", ("a,b", "c"), (('1 "2"', "<script>x</script>"),), ("A note.",))


def drawing():
    made, axis = page.subplots(size=(3, 2))
    axis.plot([0, 1], [1, 0])
    return made


def test_a_table_goes_to_csv_and_back():
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [
        list(TABLE.columns),
        *map(list, TABLE.rows),
    ]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="Expected 2 cells"):
        Table("t", "title", ("a", "b"), (("1",),))


def test_a_printed_number_holds_to_its_digits():
    assert rounds_to("1.523", 1.52334) == HOLDS
    assert rounds_to("1.523", 1.52361) == FAILS
    assert rounds_to("102 %", 102.4) == HOLDS
    assert rounds_to("17,000", 16_999) == FAILS


def test_the_page_holds_tables_and_figures_and_no_markup_of_theirs(tmp_path: Path):
    found = Findings("T", "s", "h", "w", (TABLE,), (Figure("f", "<i>c", drawing),), trusted=True)
    text = page.write(tmp_path, found).read_text(encoding="utf-8")
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert "<i>" not in text
    assert text.count("<svg") == 1
    assert {p.name for p in tmp_path.iterdir()} == {"t.csv", "f.svg", "f.png", "report.html"}


def test_figures_are_the_same_bytes_when_drawn_again(tmp_path: Path):
    found = Findings("T", "s", "h", "w", (), (Figure("f", "c", drawing),), trusted=True)
    first = page.write(tmp_path, found).read_bytes(), (tmp_path / "f.svg").read_bytes()
    assert first == (page.write(tmp_path, found).read_bytes(), (tmp_path / "f.svg").read_bytes())


def test_missing_packages_are_told_with_what_installs_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("refti.plots.drawing.find_spec", lambda name: None)
    with pytest.raises(refti.SettingsError, match=r'pip install "refti\[report\]"'):
        page.need_drawing()


def test_cases_are_for_covid(tmp_path: Path):
    arguments = ["reproduce", "radiata", "--cases", str(tmp_path / "no.csv")]
    with pytest.raises(refti.SettingsError, match="--cases is for covid"):
        CliRunner().invoke(commands, arguments, standalone_mode=False, catch_exceptions=False)


def test_bad_cases_are_told_with_their_row_before_anything_is_written(tmp_path: Path):
    file, out = tmp_path / "cases.csv", tmp_path / "out"
    file.write_text("date,cases\n2020-01-01,3\n2020-01-02,-4\n2020-01-02,x\n")
    arguments = ["reproduce", "covid", "--cases", str(file), "-o", str(out)]
    with pytest.raises(refti.ModelError, match="row 3: the count cannot be -4"):
        CliRunner().invoke(commands, arguments, standalone_mode=False, catch_exceptions=False)
    assert not out.exists()


def test_jobs_are_run_refusals_told_and_finished_ones_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # processes are tested by themselves
    settings = {"kept": 100, "warmup": 100, "seed": 3, "ladder": (0, 1), "chains": 4}
    jobs = [
        Job("1-D", tmp_path / "1", one_dimension, (), settings | {"reference": "covariance"}),
        Job("refused", tmp_path / "r", one_dimension, (), settings | {"reference": "laplace"}),
    ]
    told: list[str] = []
    found = run_jobs(jobs, lambda stage, done, total: told.append(stage))
    assert isinstance(found["1-D"], refti.Evidence)
    assert "cusp" in str(found["refused"])  # at its mode
    assert told == [f"{name} done; finished" for name in found]
    written = (tmp_path / "1" / "result.json").stat().st_mtime_ns
    again = run_jobs(jobs, lambda stage, done, total: None)
    assert written == (tmp_path / "1" / "result.json").stat().st_mtime_ns
    assert again["1-D"].log_z == found["1-D"].log_z  # type: ignore[union-attr]
