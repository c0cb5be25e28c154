"""The paper's pedagogical examples: exact values, runs that agree with them, and verdicts."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import refti
from refti.paper.mismatch import normals
from refti.paper.one_dimension import exact
from refti.paper.one_dimension import model as one_model
from refti.paper.one_dimension import study as one_dimension
from refti.paper.one_dimension.convergence import iterations_to_stay
from refti.paper.recipe import integrate_spline
from refti.paper.report import page
from refti.paper.report.findings import Findings, Table
from refti.paper.report.verdicts import FAILS, HOLDS, rounds_to
from refti.paper.report.work import Work
from refti.paper.two_dimensions import model as two_model
from refti.paper.two_dimensions import study as two_dimensions
from refti.paper.two_dimensions.exact import Case
from refti.paper.two_dimensions.expansions import expand_at_mode, expand_at_moments

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


def test_quadrature_gives_the_known_values():
    assert exact.evidence() == pytest.approx(one_model.EXACT_Z, rel=1e-9)
    assert exact.variance() == pytest.approx(0.418144, abs=5e-7)
    assert exact.laplace_reference(4.0, exact.variance()).z == pytest.approx(1.620888, abs=5e-7)
    assert Case(-0.5, 1).evidence() == pytest.approx(two_model.EXACT_Z["minus"], rel=1e-9)
    assert Case(0.5, 1).evidence() == pytest.approx(two_model.EXACT_Z["plus"], rel=1e-9)
    assert Case(-0.5, 2).evidence() == pytest.approx(3.311659537, rel=1e-9)


def test_the_exact_path_of_the_cusp_leads_to_its_evidence():
    reference, lambdas = exact.laplace_reference(4.01, 0.424), np.linspace(0, 1, 201)
    ratio = integrate_spline(lambdas, exact.expectations(reference, lambdas))
    assert math.log(reference.z) + ratio == pytest.approx(math.log(one_model.EXACT_Z), abs=1e-6)


def test_an_estimate_stays_in_a_band_from_its_last_visit_outside_on():
    running = np.array([0.9, 1.001, 1.02, 1.005, 0.999])
    assert iterations_to_stay(running, 1.0, 0.01, 4) == 16
    assert iterations_to_stay(running[1:2], 1.0, 0.01, 4) == 4
    assert iterations_to_stay(running[:3], 1.0, 0.01, 4) == math.inf


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_moments_of_mismatched_densities_are_those_of_quadrature(lam: float):
    pair = normals.MismatchedPair(1.7)
    mean, scale = pair.mean_and_scale(np.array(lam))

    def moment(order: int) -> float:
        def integrand(x: float) -> float:
            return float(pair.delta(np.array(x)) ** order * norm.pdf(x, mean, scale))

        return float(quad(integrand, mean - 9 * scale, mean + 9 * scale)[0])

    first, variance = pair.delta_moments(np.array(lam))
    assert first == pytest.approx(moment(1), rel=1e-8)
    assert variance == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-7)


def test_replicates_of_mismatched_densities_follow_the_theory():
    pair = normals.MismatchedPair(2.0)
    made = normals.replicate(pair, 4000, seed=5)
    bias = pair.mean_within_range() - pair.delta_moments(np.array(0.0))[0]
    for values, expected in (
        (made.reference_mean, 0.0),
        (made.mean_within_range, bias),
        (made.spline, pair.spline_error()),
    ):
        assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values))
    assert made.spline.std() == pytest.approx(pair.spline_spread(), rel=0.05)
    assert bias > 0.1


def test_the_slope_of_the_density_is_zero_at_its_mode_within_the_bound():
    case = Case(-0.5, 1)
    mode = case.mode()
    steps = 1e-5 * np.eye(2)
    slopes = [case.log_density(*(mode + s)) - case.log_density(*(mode - s)) for s in steps]
    assert np.abs(slopes).max() < 1e-10
    assert Case(0.5, 1).mode() == pytest.approx([0.0, -0.5], abs=1e-6)


def test_the_hessian_is_that_of_finite_differences():
    case, h = Case(-0.5, 2), 1e-4
    mode, steps = case.mode(), h * np.eye(2)
    for i in range(2):
        for j in range(2):
            corners = [
                a * b * case.log_density(*(mode + a * steps[i] + b * steps[j]))
                for a in (1, -1)
                for b in (1, -1)
            ]
            assert case.hessian()[i, j] == pytest.approx(sum(corners) / (4 * h**2), abs=1e-6)


def test_a_bounded_reference_leads_to_the_evidence_and_the_sampled_one_is_no_candidate():
    case = Case(-0.5, 1)
    expansion = expand_at_mode(case, precision=2.0)
    assert expansion.z_by_spline(101) == pytest.approx(case.evidence(), rel=1e-4)
    assert expand_at_moments(case).centre == pytest.approx([0.829, 0.448], abs=1e-3)
    assert expand_at_mode(case).z == pytest.approx(2 * expansion.z)


def test_the_formula_as_printed_is_twice_the_share():
    expansion = expand_at_mode(Case(-0.5, 1)).diagonal()
    centre, scale = expansion.centre[0], math.sqrt(expansion.covariance[0, 0])
    printed = 1 + math.erf(centre / (scale * math.sqrt(2)))
    assert printed == pytest.approx(2 * norm.sf(0, centre, scale))
    assert expansion.share_within_bound() == pytest.approx(printed / 2)


def test_a_printed_number_holds_to_its_digits():
    assert rounds_to("1.523", 1.52334) == HOLDS
    assert rounds_to("1.523", 1.52361) == FAILS
    assert rounds_to("102 %", 102.4) == HOLDS
    assert rounds_to("17,000", 16_999) == FAILS


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
