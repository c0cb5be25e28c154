"""Differential equations in Stan programs: solved by Stan, and stopped where a solver crawls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import refti
from refti.run.store.manifest import fingerprint

HERE = Path(__file__).parents[1] / "stan"
LEFT, NOISE = np.array([0.5, 0.3, 0.7]), 0.1
DECAYS = {"none": 0, "rows": 0, "scale": NOISE, "decays": 3, "left": LEFT}


def decays(**limit: int) -> refti.Model:
    """Three decays, of which it was seen what is left after a while."""
    return refti.from_stan(HERE / "shapes.stan", DECAYS, **limit)


def exact_log_z() -> float:
    """The evidence of three decays, which are independent: quadrature over each one's rate."""

    def density(rate: float, left: float) -> float:
        return float(np.exp(-rate) * stats.norm.pdf(left, np.exp(-rate), NOISE))

    integrals = [quad(density, 0, 40, args=(left,), points=[0.5, 1, 2])[0] for left in LEFT]
    return float(np.log(integrals).sum())


def test_the_density_is_that_of_the_solution():
    model = decays()
    x = np.random.default_rng(1).normal(size=(5, 3))
    rate = np.exp(x)
    wanted = stats.expon.logpdf(rate) + x + stats.norm.logpdf(LEFT, np.exp(-rate), NOISE)
    np.testing.assert_allclose(model.log_densities(x), wanted.sum(axis=1), atol=1e-4)


def test_the_evidence_is_that_of_quadrature():
    # Far out, where modes are searched for, 20,000 right-hand sides would be most of the time.
    result = refti.evidence(decays(solver_limit=1_000), search="quick", progress=False)
    assert result.trusted, result.checks
    assert abs(result.log_z - exact_log_z()) < 4 * result.error < 0.2


def test_a_solver_that_crawls_is_stopped_and_told():
    model, other = decays(solver_limit=1_000), decays()
    x = np.stack([model.start, model.start])
    x[1, 1] = np.log(1_000.0)  # gone within moments: the equation is stiff
    np.testing.assert_array_equal(np.isfinite(model.log_densities(x)), [True, False])
    assert np.all(np.isfinite(other.log_densities(x)))
    rejections = model.rejections()
    assert rejections is not None
    assert (rejections.count, rejections.stopped) == (1, 1)
    assert "stopped after 1000 evaluations" in rejections.message
    assert "1 of them for taking too long" in str(rejections)
    assert other.rejections() is None


def test_a_path_on_which_solvers_are_stopped_is_not_trusted():
    # Stops where a rate is above 3 or so, which the posterior of the second decay reaches.
    result = refti.evidence(decays(solver_limit=60), progress=False)
    (check,) = (check for check in result.checks if check.name == "solver")
    assert not check.ok
    assert "solver_limit=" in check.advice


def test_a_run_under_another_limit_is_another_run():
    # 19,999 and 20,000 give the same densities at the points that tell models apart.
    one, same, other = (
        fingerprint(decays(solver_limit=limit)) for limit in (20_000, 20_000, 19_999)
    )
    assert one == same != other


@pytest.mark.parametrize("limit", [0, 2.5, "many"])
def test_a_limit_that_is_no_count_is_refused(limit: object):
    with pytest.raises(refti.SettingsError, match="solver_limit must be a whole number"):
        decays(solver_limit=limit)  # type: ignore[arg-type]


@pytest.mark.long  # half a minute to compile
@pytest.mark.parametrize("which", range(1, 15))
def test_every_solver_can_be_stopped(which: int):
    free, held = (
        refti.from_stan(HERE / "solvers.stan", {"which": which}, solver_limit=limit)
        for limit in (1_000, 5)
    )
    x = np.array([[0.3]])
    k = np.exp(x[0, 0])
    wanted = np.exp(-k) - k + np.log(k)
    assert free.log_densities(x)[0] == pytest.approx(wanted, abs=1e-4)
    assert held.log_densities(x)[0] == -np.inf
    assert held.rejections().stopped == 1
