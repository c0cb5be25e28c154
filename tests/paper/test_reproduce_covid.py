"""`refti reproduce covid` on two of its variants: tables, verdicts, figures, and going on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import xarray

import refti
from refti.draws.cost import Cost
from refti.draws.draws import Draws
from refti.paper.covid import printed as covid_printed
from refti.paper.covid import runs as covid_runs
from refti.paper.covid import study as covid_study
from refti.paper.covid import tables as covid_tables
from refti.paper.covid.cases import Cases, south_korea
from refti.paper.covid.jobs import Job
from refti.paper.covid.model import VARIANTS
from refti.paper.covid.printed import PRINTED
from refti.paper.covid.runs import Runs
from refti.paper.laplace import Laplace
from refti.paper.report import page
from refti.paper.report.findings import Findings
from refti.paper.report.work import Work

KEPT = ("W=4", "W=7")


@pytest.fixture(scope="module")
def two_variants() -> Iterator[None]:
    """All variants but two are left out: the study is the same, and shorter."""
    left_out = {name: VARIANTS.pop(name) for name in list(VARIANTS) if name not in KEPT}
    kept = {name: VARIANTS.pop(name) for name in KEPT}
    VARIANTS.update(kept)
    yield
    VARIANTS.clear()
    order = PRINTED
    everything = left_out | kept
    VARIANTS.update({name: everything[name] for name in order})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("covid")


@pytest.fixture(scope="module")
def found(two_variants: None, folder: Path) -> Findings:
    del two_variants
    return covid_study.make_findings(Work(folder, quick=True))


def rows(found: Findings, name: str) -> dict[str, dict[str, str]]:
    (table,) = [table for table in found.tables if table.name == name]
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def numbers(text: str) -> tuple[float, float]:
    value, _, error = text.partition(" ± ")
    return float(value), float(error)


@pytest.mark.long
def test_the_seven_day_window_as_printed_agrees_with_bridge_sampling(found: Findings):
    value, error = numbers(rows(found, "as_printed")["W=7"]["ours, exactly so"])
    assert abs(value - -812.87) < 4 * np.hypot(error, 0.05)


@pytest.mark.long
def test_the_printed_number_of_the_seven_day_window_does_not_hold(found: Findings):
    row = rows(found, "as_printed")["W=7"]
    assert row["verdict"] == "does not hold"
    assert "11 equal rungs" in row["why"]


@pytest.mark.long
def test_the_printed_laplace_values_of_the_windows_hold_within_their_noise(found: Findings):
    for row in rows(found, "laplace").values():
        assert row["verdict on the value"].startswith("holds")
        _, noise = numbers(row["ours, exactly so, ± noise"])
        assert 0 < noise < 50


def test_a_laplace_value_is_judged_by_its_noise():
    assert covid_printed.judge_laplace(-875, Laplace(-879.2, 5.0))[2] == "holds, within its noise"
    assert covid_printed.judge_laplace(-875, Laplace(-879.2, 0.5))[2] == "does not hold"


@pytest.mark.long
def test_the_models_are_trusted_and_ranked(found: Findings):
    assert found.trusted
    ranked = rows(found, "ranking_all")
    assert list(ranked) == ["W=4", "W=7"]
    assert "W=4" in found.holds


@pytest.mark.long
def test_every_run_has_a_cost(found: Findings):
    cost = rows(found, "cost")
    total = sum(int(cost[name]["gradients"].replace(",", "")) for name in KEPT)
    assert int(cost["all"]["gradients"].replace(",", "")) == total


@pytest.mark.long
def test_figures_have_labels_and_the_page_is_written(found: Findings, folder: Path):
    page.write(folder, found)
    names = {figure.name for figure in found.figures}
    assert {"evidence", "bayes_factors", "posteriors", "fitted_cases"} <= names
    with page.style():
        for figure in found.figures:
            panels = figure.draw().axes
            assert any(panel.get_xlabel() or panel.get_ylabel() for panel in panels), figure.name


@pytest.mark.long
def test_what_is_finished_is_read(found: Findings, folder: Path):
    files = sorted(folder.glob("runs/*/*/result.json"))
    before = [file.stat().st_mtime_ns for file in files]
    again = covid_study.make_findings(Work(folder, quick=True))
    assert [file.stat().st_mtime_ns for file in files] == before
    assert again.tables == found.tables


@pytest.mark.long
def test_a_series_of_zeros_gets_a_verdict(
    two_variants: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    del two_variants
    monkeypatch.delitem(VARIANTS, "W=4")
    zeros = Cases(date(2020, 1, 1), np.zeros(30, dtype=int))
    found = covid_study.make_findings(Work(tmp_path, quick=True), zeros)
    row = rows(found, "log_evidence")["W=7"]
    value, error = numbers(row["log z ± error"])
    assert value < 4 * error  # the probability of data that are counts is at most one
    assert row["trusted"].startswith(("yes", "no"))
    assert found.trusted == (row["trusted"] == "yes")


def test_quick_runs_take_one_model_of_two_names_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    result = refti.Evidence(
        value=-800.0,
        error=0.1,
        estimates={},
        checks=(),
        draws=(Draws(np.array([0.0, 1.0]), np.zeros((2, 4, 5))),),
        posterior=xarray.Dataset(),
        cost=Cost(1000, 10, 2.0, 1.0, 3),
        settings={},
    )
    asked: list[str] = []

    def run_jobs(jobs: list[Job], report: object) -> dict[str, refti.Evidence]:
        asked.extend(f"{job.name} by {job.settings['seed']}" for job in jobs)
        return {job.name: replace(result) for job in jobs}

    monkeypatch.setattr(covid_runs, "run_jobs", run_jobs)
    quick = covid_runs.all_runs(Work(tmp_path, quick=True), south_korea(), of_the_paper=True)
    assert len(asked) == 15
    assert list(quick.right) == list(VARIANTS)
    assert quick.right["W=1"] is quick.right["AR(2)"]
    assert "runs once" in covid_tables.same_model_note(quick)
    cost = covid_tables.cost_table(quick)
    assert [row[0] for row in cost.rows] == [*(n for n in VARIANTS if n != "W=1"), "all"]
    full = covid_runs.all_runs(Work(tmp_path), south_korea(), of_the_paper=False)
    assert {"AR(2) by 1", "W=1 by 2"} <= set(asked[15:])
    assert "agree" in covid_tables.same_model_note(full)


def test_a_variant_that_is_refused_stands_in_the_table_with_its_reason():
    found = Runs(dict.fromkeys(KEPT, "No start was found."), {}, {})
    table = covid_tables.evidence_table(found, {}, of_the_paper=True)
    assert all("refused: No start was found." in row for row in table.rows)
    assert covid_tables.ranking_tables(found) == ()
