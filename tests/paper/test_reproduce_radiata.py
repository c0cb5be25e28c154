"""The radiata study tells the printed Bayes factors from the exact one, for reasons it can show."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray
from scipy import integrate, stats
from scipy.interpolate import CubicSpline

import refti
from refti.paper.laplace import laplace
from refti.paper.radiata import runs as radiata_runs
from refti.paper.radiata import study as radiata_study
from refti.paper.radiata.exact import MODELS, exact_bayes_factor
from refti.paper.radiata.figures import estimates, integrands, rolling_estimate
from refti.paper.radiata.model import EXACT_LOG_Z, SPECIMENS, adjusted_density, density
from refti.paper.radiata.runs import FULL, QUICK, Runs, all_runs
from refti.paper.radiata.samples import Sample, log_bayes_factors, samples
from refti.paper.report import page
from refti.paper.report.findings import Findings, Table
from refti.paper.report.work import Work

# Half of what --quick draws on the ladder of 100 rungs, where nearly all the time goes.
SHORT = replace(QUICK, kept_hundred=25, kept_long=25)

sampling = [pytest.mark.long]  # the page in docs/paper runs a short version


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return Work(tmp_path_factory.mktemp("radiata"), quick=True, seed=1)


@pytest.fixture(scope="module")
def found(work: Work) -> Findings:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(radiata_study, "QUICK", SHORT)
        return radiata_study.make_findings(work)


@pytest.fixture(scope="module")
def runs(work: Work, found: Findings) -> Runs:
    return all_runs(work, SHORT)


def column(table: Table, name: str) -> dict[str, str]:
    """A column of a table by the first cell of each row."""
    index = table.columns.index(name)
    return {row[0]: row[index] for row in table.rows}


def number(cell: str) -> float:
    return float(cell.split()[0].replace(",", ""))


@pytest.mark.parametrize("name", EXACT_LOG_Z)
def test_the_closed_form_is_the_evidence(name: str):
    assert MODELS[name].log_z() == pytest.approx(EXACT_LOG_Z[name], abs=1e-9)


@pytest.mark.parametrize("lam", [0.0, 0.01, 1.0])
def test_the_mean_log_likelihood_is_the_slope_of_log_z(lam: float):
    model, step = MODELS["density"], 1e-6
    slope = (model.log_z(lam + step) - model.log_z(lam - step)) / (2 * step)
    assert model.expectation(lam) == pytest.approx(slope, rel=1e-5)


def test_the_closed_form_is_that_of_the_model_that_is_sampled():
    there, model = MODELS["adjusted_density"].at(1.0), adjusted_density()
    rng = np.random.default_rng(1)
    tau = rng.gamma(there.shape, 1 / there.rate, size=5)
    root = np.linalg.cholesky(np.linalg.inv(there.precision))
    scaled = rng.normal(size=(5, 2)) / np.sqrt(tau)[:, None]
    coefficients = there.mean + scaled @ root.T
    log_density = stats.gamma(there.shape, scale=1 / there.rate).logpdf(tau) + np.log(tau)
    for i in range(5):
        covariance = np.linalg.inv(there.precision * tau[i])
        log_density[i] += stats.multivariate_normal(there.mean, covariance).logpdf(coefficients[i])
    x = np.column_stack([coefficients, np.log(tau)])
    assert model.log_densities(x) - log_density == pytest.approx(
        MODELS["adjusted_density"].log_z(), abs=1e-8
    )


def test_the_spline_errors_are_those_of_an_adaptive_quadrature():
    model = MODELS["density"]
    whole = sum(
        integrate.quad(model.expectation, low, high, epsabs=1e-10)[0]
        for low, high in ((0, 1e-4), (1e-4, 1e-2), (1e-2, 1))
    )
    assert whole == pytest.approx(model.log_z(), abs=1e-6)
    assert model.spline_error(refti.uniform(11)) == pytest.approx(-11.577, abs=1e-3)
    assert abs(model.spline_error(refti.power(100, 5.0))) < 1e-4


@pytest.mark.parametrize("log_scale", [True, False])
def test_laplace_from_many_exact_draws_is_what_the_formula_says(log_scale: bool):
    there, rng = MODELS["density"].at(1.0), np.random.default_rng(2)
    tau = rng.gamma(there.shape, 1 / there.rate, size=(8, 20_000))
    root = np.linalg.cholesky(np.linalg.inv(there.precision))
    offset = rng.normal(size=(8, 20_000, 2)) @ root.T / np.sqrt(tau)[..., None]
    alpha, beta = np.moveaxis(there.mean + offset, -1, 0)
    axes = ("chain", "draw")
    posterior = xarray.Dataset({"alpha": (axes, alpha), "beta": (axes, beta), "tau": (axes, tau)})
    found = laplace(density(), posterior, unconstrained=log_scale)
    expected = EXACT_LOG_Z["density"] + MODELS["density"].laplace_error(log_scale=log_scale)
    assert found.error < 0.01
    assert found.log_z == pytest.approx(expected, abs=4 * found.error)


def test_draws_to_an_error_grow_with_its_inverse_square():
    sample = Sample(np.array([1.0, 2.0]), np.array([0.03, 0.04]), draws=100)
    assert sample.stated == pytest.approx(math.sqrt(0.00125))
    assert sample.draws_to(0.005) == pytest.approx(100 * 0.00125 / 0.005**2)
    assert sample.error == pytest.approx(math.sqrt(0.5) / math.sqrt(2))


def test_the_full_version_repeats_every_method_fifteen_times_over_1500_iterations():
    assert FULL.runs == 15
    assert FULL.kept_long * radiata_runs.CHAINS_A_RUN >= 1500
    assert len(SPECIMENS) == 42


class TestSampled:
    pytestmark = sampling

    def test_printed_bayes_factors_get_the_verdicts_that_exact_arithmetic_gives(
        self, found: Findings
    ):
        table = found.tables[0]
        assert column(table, "verdict") == {
            "Exact": "does not hold",
            "Laplace, sampled covariance": "does not hold",
            "Model switch TI": "holds",
            "Referenced TI": "holds",
            "PP11": "does not hold",
            "PP100": "does not hold",
        }
        assert column(table, "exact")["PP11"] == f"{exact_bayes_factor():.2f}" == "4553.65"
        assert number(column(table, "without chance")["PP11"]) == pytest.approx(4190.7, abs=0.1)

    @pytest.mark.parametrize("method", ["Referenced TI", "Model switch TI", "Defaults (MBAR)"])
    def test_the_bayes_factor_is_exact_within_four_errors(self, runs: Runs, method: str):
        sample = log_bayes_factors(runs)[method]
        assert abs(sample.mean - math.log(exact_bayes_factor())) < 4 * sample.error
        assert sample.error < 0.05

    @pytest.mark.parametrize("name", MODELS)
    def test_every_method_is_off_by_what_its_formula_says(self, runs: Runs, name: str):
        for method, by_model in samples(runs).items():
            sample = by_model[name]
            off = sample.mean - MODELS[name].log_z() - (sample.expected or 0.0)
            # The chains from the prior are short here, and their errors less well known.
            assert abs(off) < (6 if method.startswith("PP") else 4) * sample.error, method

    def test_referenced_ti_needs_the_fewest_draws_of_the_four(self, found: Findings):
        needed = {
            method: number(cell)
            for method, cell in column(found.tables[1], "draws to 0.5 % of BF").items()
        }
        paths = {method: n for method, n in needed.items() if not method.startswith("Defaults")}
        assert min(paths, key=lambda method: paths[method]) == "Referenced TI"
        assert max(paths, key=lambda method: paths[method]) == "PP11"
        assert needed["Defaults (MBAR)"] < needed["Referenced TI"]
        assert set(column(found.tables[1], "verdict").values()) == {"does not hold", "–"}

    def test_eleven_rungs_from_the_prior_do_not_hold_and_the_references_do(self, found: Findings):
        table = found.tables[2]
        place, verdict = table.columns.index("method"), table.columns.index("verdict")
        said = {(row[0], row[place]): row[verdict] for row in table.rows}
        assert {said[model, "PP11"] for model, _ in said} == {"does not hold"}
        assert {said[model, "Referenced TI"] for model, _ in said} == {"holds"}
        assert found.trusted

    def test_the_rolling_estimate_ends_at_the_estimate(self, runs: Runs):
        result = runs.referenced["density"][0]
        count, values = rolling_estimate(result)
        assert count[-1] == result.draws[0].chains * result.draws[0].draws
        assert values[-1] == pytest.approx(result.estimates["ti"].value, abs=1e-9)
        middle, half = len(values) // 2 - 1, result.draws[0].halves()[0]
        weights = CubicSpline(half.lambdas, np.eye(11)).integrate(0.0, 1.0)
        moved = weights @ (half.mean() - result.draws[0].mean())
        assert values[middle] - values[-1] == pytest.approx(moved, abs=1e-9)

    def test_figures_say_what_their_axes_are(self, runs: Runs):
        with page.style():
            drawings = [integrands(runs), estimates(runs, samples(runs))]
        for drawing in drawings:
            assert len(drawing.axes) == 4
            for axis in drawing.axes:
                assert axis.get_ylabel().endswith("(nats)")
                assert axis.get_xlabel() or len(axis.get_xticklabels()) == 3
                assert axis.get_legend() is not None

    def test_page_and_tables_are_written_and_runs_are_read_the_second_time(
        self, work: Work, found: Findings, monkeypatch: pytest.MonkeyPatch
    ):
        before = written(work.folder)
        monkeypatch.setattr(radiata_study, "QUICK", SHORT)
        again = radiata_study.make_findings(work)
        assert written(work.folder) == before
        assert len(before) == 15
        assert [str(table) for table in again.tables] == [str(table) for table in found.tables]
        address = page.write(work.folder, found)
        text = address.read_text(encoding="utf-8")
        assert found.holds.replace("'", "&#39;") in text
        assert "<script" not in text
        for table in found.tables:
            lines = (work.folder / f"{table.name}.csv").read_text(encoding="utf-8").splitlines()
            assert len(lines) == len(table.rows) + 1
        assert (work.folder / "figure_3.png").stat().st_size > 10_000


def written(folder: Path) -> dict[str, int]:
    """When each run came to its end."""
    files = sorted(folder.glob("runs/*/result.json"))
    return {file.parent.name: file.stat().st_mtime_ns for file in files}
