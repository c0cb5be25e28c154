"""A prior known to integrate to one is not taken for improper, and is held to that one."""

from __future__ import annotations

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import refti
from refti.checks.of_run import check_known_prior
from refti.estimators import Estimate
from refti.run import mode_search
from refti.run.pilot import search_alone
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.sampling.computing import computing
from refti.sampling.engine import open_engine
from refti.sampling.metering import Meter


def shares(hits: np.ndarray | None = None) -> None:
    """After NumPyro's baseball: with kappa the density of equal shares rises without end."""
    m = numpyro.sample("m", dist.Uniform(0, 1))
    kappa = numpyro.sample("kappa", dist.Pareto(1, 1.5))
    with numpyro.plate("players", 18):
        phi = numpyro.sample("phi", dist.Beta(m * kappa, (1 - m) * kappa))
        if hits is not None:
            numpyro.sample("hits", dist.Binomial(45, probs=phi), obs=hits)


@pytest.fixture(scope="module")
def prior() -> refti.Model:
    with pytest.warns(UserWarning, match="no observed site"):
        return refti.from_numpyro(shares)


def search(model: refti.Model) -> None:
    problem = Problem(refti.Evidence, (model,), Settings(search=500))
    with (
        computing(),
        open_engine(chains=8, kernel="hmc", block_length=20, seed=1, meter=Meter()) as engine,
    ):
        search_alone(problem, problem.ends[0], engine)


def test_a_prior_known_to_be_normalised_is_not_asked_whether_it_is_proper(
    prior: refti.Model, monkeypatch: pytest.MonkeyPatch
):
    """Up its ridge numbers end before the density falls, so looking far out would mislead."""
    asked = list[refti.Model]()
    monkeypatch.setattr(mode_search, "require_proper", lambda model, *_: asked.append(model))
    assert prior.is_normalised
    search(prior)
    assert asked == []
    search(prior.with_prior_parts(""))
    assert len(asked) == 1


def test_with_data_a_density_is_not_known_to_be_normalised(prior: refti.Model):
    posterior = refti.from_numpyro(shares, np.full(18, 11))
    assert posterior.prior_parts
    assert not posterior.is_normalised
    assert posterior.prior_alone().is_normalised


def test_the_estimate_of_a_prior_is_held_to_one():
    near, far = (check_known_prior(Estimate(v, 0.04), "by its parts") for v in (-0.1, -0.13))
    assert near.ok
    assert not far.ok
    assert "have missed a part of it" in far.advice
    assert check_known_prior(Estimate(0.04, 0.001), "").ok  # which the tolerance allows
