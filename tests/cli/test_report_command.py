"""`refti report` and the tables of `refti compare`: what is written, printed and returned."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import refti
from made_up_results import made_up_result, with_value
from refti.checks.check import Check
from refti.cli.main import commands

FAILED = Check("peak", 3.0, 1.0, False, "the density has a spike")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    result = made_up_result(2)
    with_value(result, -1.0, 0.1).save(folder / "first")
    with_value(result, -4.0, 0.1).save(folder / "second")
    return folder


def invoke(*arguments: Any) -> Result:
    return CliRunner().invoke(commands, [str(a) for a in arguments], standalone_mode=False)


def test_a_report_of_a_folder_of_runs_is_written_and_its_name_printed(runs: Path, tmp_path: Path):
    file = tmp_path / "report.html"
    done = invoke(
        "report", runs, "-o", file, "--title", "Pines", "--prior", "first=1", "--prior", "second=3"
    )
    assert done.exception is None
    assert done.return_value == 0
    assert done.stdout == f"{file}\n"
    text = file.read_text(encoding="utf-8")
    assert "<h1>Pines</h1>" in text
    assert "first is preferred" in text


def test_a_run_that_is_not_trusted_or_not_there_is_1_and_told(runs: Path, tmp_path: Path):
    made_up_result(2, failed=(FAILED,)).save(tmp_path / "bad")
    assert invoke("report", tmp_path / "bad", "-o", tmp_path / "r.html").return_value == 1
    done = invoke("report", runs, tmp_path / "no", "-o", tmp_path / "r.html", "--json")
    assert done.return_value == 1
    told = json.loads(done.stdout)
    assert told["trusted"] is True
    assert list(told["unread"]) == ["no"]
    assert "no is not in the report" in " ".join(done.stderr.split())


def test_the_form_follows_the_name_of_the_file(runs: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    done = invoke("report", runs, "-o", tmp_path / "r.pdf")
    assert isinstance(done.exception, refti.SettingsError)
    assert "Chromium" in str(done.exception)


def test_tables_for_papers(runs: Path):
    markdown = invoke("compare", runs, "--markdown")
    assert markdown.return_value == 0
    assert markdown.stdout.splitlines()[2].startswith("| first | -1.00 ± 0.10 | 0 | 0.95")
    assert r"second & $-4.00 \pm 0.10$" in invoke("compare", runs, "--latex").stdout
    both = invoke("compare", runs, "--latex", "--json")
    assert "not several" in str(both.exception)


def test_reports_start_neither_jax_nor_a_browser():
    check = (
        "import sys, refti.cli.report\n"
        "loaded = {'jax', 'numpy', 'matplotlib', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'imported {loaded}' if loaded else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
