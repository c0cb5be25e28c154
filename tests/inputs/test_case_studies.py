"""Stan programs in the style of published case studies are taken as they are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.special import logsumexp

import refti
from case_studies import STUDIES, Study
from case_studies.data import STUDIES as MADE
from refti.inputs.stan.data import read_data, to_json
from refti.inputs.stan.prior_of import read_known
from refti.inputs.stan.program import read_program
from refti.inputs.stan.toolchain import find_toolchain

# Compiling takes ten seconds a program, so one stands for all, and only in the long tests;
# `make studies` runs every one.
(EPIDEMIC,) = (study for study in STUDIES if study.name == "sir")


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_program_and_its_data_are_accepted(study: Study):
    program = read_program(study.program, find_toolchain().stanc)
    data = read_data(study.data)
    assert read_known(program, data).priors.flat == ()
    assert set(json.loads(to_json(program, data))) == set(program.data)


@pytest.fixture(scope="module")
def epidemic() -> refti.Model:
    return refti.from_stan(EPIDEMIC.program, EPIDEMIC.data)


@pytest.mark.long
def test_the_evidence_is_that_of_importance_sampling(epidemic: refti.Model):
    result = refti.evidence(epidemic, progress=False)
    assert result.trusted, result.checks
    posterior = {name: np.concatenate(values) for name, values in result.posterior.items()}
    x = epidemic.space.unconstrain_all(posterior)
    proposal = stats.multivariate_t(x.mean(axis=0), 1.2 * np.cov(x.T), df=6, seed=1)
    points = proposal.rvs(5_000)
    log_weights = epidemic.log_densities(points) - proposal.logpdf(points)
    log_z = logsumexp(log_weights) - np.log(len(points))
    assert abs(result.log_z - log_z) < 4 * result.error < 0.2


@pytest.mark.long
def test_the_density_is_that_of_another_solver(epidemic: refti.Model):
    data = json.loads(EPIDEMIC.data.read_text())
    values = {"contact": 1.6, "recovery": 0.5, "overdispersion": 0.05, "first_infected": 0.004}
    x = epidemic.unconstrain(values) + np.random.default_rng(0).normal(0, 0.1, (5, epidemic.dim))
    for point, density in zip(x, epidemic.log_densities(x), strict=True):
        # Stan's solver errs by 1e-6 of the population.
        assert density == pytest.approx(epidemic_by_scipy(epidemic, point, data), abs=0.01)


def epidemic_by_scipy(model: refti.Model, x: np.ndarray, data: dict[str, Any]) -> float:
    """The log density of sir.stan, written again."""
    values = {name: float(value) for name, value in model.constrain(x).items()}
    contact, recovery, first = (values[n] for n in ("contact", "recovery", "first_infected"))

    def change(_: float, state: np.ndarray) -> list[float]:
        new = contact * state[0] * state[1]
        return [-new, new - recovery * state[1]]

    days = np.array(data["day"])
    solved = solve_ivp(
        change, (0, days[-1]), [1 - first, first], t_eval=days, rtol=1e-10, atol=1e-12
    )
    mean = data["population"] * np.maximum(solved.y[1], 1e-9)
    shape = 1 / values["overdispersion"]
    density = stats.nbinom.logpmf(data["y"], shape, shape / (shape + mean)).sum()
    density += stats.lognorm.logpdf(contact, 0.5) + np.log(contact)
    density += stats.lognorm.logpdf(recovery, 0.5, scale=np.exp(-1)) + np.log(recovery)
    density += stats.expon.logpdf(1 / shape, scale=0.2) - np.log(shape)
    share = first / 0.05  # uniform, and the Jacobian of its interval
    return float(density + np.log(share) + np.log1p(-share))


def test_the_data_are_those_that_the_script_makes():
    assert [study.name for study in STUDIES] == [study.__name__ for study in MADE]
    for seed, (study, make) in enumerate(zip(STUDIES, MADE, strict=True)):
        made, stored = make(np.random.default_rng(seed)), json.loads(study.data.read_text())
        assert made.keys() == stored.keys()
        for name, value in made.items():
            np.testing.assert_allclose(stored[name], value, atol=1e-6)
