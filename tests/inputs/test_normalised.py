"""Distributions of which a prior is taken to integrate to 1 do, each integrated on a grid."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pymc as pm
import pytensor
import pytest
from numpyro import handlers

import refti
from refti.checks.of_run import check_prior_integral
from refti.estimators.estimate import Estimate
from refti.inputs.numpyro import normalised as of_numpyro
from refti.inputs.pymc import normalised as of_pymc
from refti.run import prior_integral
from refti.run.settings import Settings

pytestmark = pytest.mark.usefixtures("x64")

T = np.linspace(-36, 36, 16001)
STEP = T[1] - T[0]
# Points of a support, and the derivative by t at them.
REAL = (np.sinh(T), np.cosh(T))
POSITIVE = (np.exp(T), np.exp(T))
ABOVE_ONE = (1 + np.exp(T), np.exp(T))
UNIT = (1 / (1 + np.exp(-T)), 1 / (2 + np.exp(T) + np.exp(-T)))

ONE_DIMENSION = {
    "Beta": (dist.Beta(1.7, 1.2), UNIT),
    "Cauchy": (dist.Cauchy(0.3, 1.5), REAL),
    "Exponential": (dist.Exponential(0.7), POSITIVE),
    "Gamma": (dist.Gamma(1.7, 0.6), POSITIVE),
    "Gumbel": (dist.Gumbel(0.3, 1.5), REAL),
    "HalfCauchy": (dist.HalfCauchy(1.5), POSITIVE),
    "HalfNormal": (dist.HalfNormal(1.5), POSITIVE),
    "InverseGamma": (dist.InverseGamma(1.7, 0.6), POSITIVE),
    "Laplace": (dist.Laplace(0.3, 1.5), REAL),
    "LeftTruncatedDistribution": (dist.TruncatedNormal(0.3, 1.5, low=0.0), POSITIVE),
    "Logistic": (dist.Logistic(0.3, 1.5), REAL),
    "LogNormal": (dist.LogNormal(0.3, 1.5), POSITIVE),
    "Normal": (dist.Normal(0.3, 1.5), REAL),
    "Pareto": (dist.Pareto(1.0, 1.7), ABOVE_ONE),
    "RightTruncatedDistribution": (dist.TruncatedNormal(0.3, 1.5, high=1.0), REAL),
    "StudentT": (dist.StudentT(3.0, 0.3, 1.5), REAL),
    "TwoSidedTruncatedDistribution": (dist.TruncatedNormal(0.3, 1.5, low=0.0, high=1.0), UNIT),
    "Uniform": (dist.Uniform(0.0, 1.0), UNIT),
    "Weibull": (dist.Weibull(1.5, 1.7), POSITIVE),
}


def integral(log_density: np.ndarray, support: tuple[np.ndarray, np.ndarray]) -> float:
    return float(np.sum(np.exp(log_density) * support[1]) * STEP)


@pytest.mark.parametrize("name", ONE_DIMENSION)
def test_a_distribution_of_numpyro_integrates_to_one(name: str):
    distribution, support = ONE_DIMENSION[name]
    assert type(distribution).__name__ == name
    inside = np.asarray(distribution.support(support[0]))
    values = np.where(inside, np.asarray(distribution.log_prob(support[0])), -np.inf)
    # A bound between two points of the grid is off by their distance.
    tolerance = 1e-2 if name == "RightTruncatedDistribution" else 1e-6
    assert integral(values, support) == pytest.approx(1.0, abs=tolerance)


@pytest.mark.long
def test_distributions_of_numpyro_in_two_dimensions_integrate_to_one():
    share = np.stack([UNIT[0], 1 - UNIT[0]], axis=1)
    dirichlet = dist.Dirichlet(jnp.array([1.7, 1.2])).log_prob(share)
    angle = np.stack([np.sin(T / 36 * np.pi / 2), np.cos(T / 36 * np.pi / 2)], axis=1)
    factors = np.zeros((len(T), 2, 2))
    factors[:, 0, 0], factors[:, 1] = 1.0, angle
    # A density of the correlation, which is the sine.
    lkj = np.exp(np.asarray(dist.LKJCholesky(2, 1.5).log_prob(factors)))
    assert integral(np.asarray(dirichlet), UNIT) == pytest.approx(1.0, abs=1e-6)
    assert np.sum(lkj * angle[:, 1]) * STEP / 36 * np.pi / 2 == pytest.approx(1.0, abs=1e-5)
    x = np.stack(np.meshgrid(*2 * [np.linspace(-12, 12, 201)]), axis=-1)
    normal = dist.MultivariateNormal(jnp.ones(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]))
    walk = dist.GaussianRandomWalk(1.3, num_steps=2)
    for distribution in (normal, walk):
        total = np.exp(np.asarray(distribution.log_prob(x))).sum() * 0.12**2
        assert total == pytest.approx(1.0, abs=1e-6)
    several = {"Dirichlet", "LKJCholesky", "MultivariateNormal", "GaussianRandomWalk"}
    assert {*ONE_DIMENSION, *several} == of_numpyro.FAMILIES


def test_distributions_of_pymc_integrate_to_one():
    cases = [
        (pm.Beta.dist(1.7, 1.2), UNIT),
        (pm.Cauchy.dist(0.3, 1.5), REAL),
        (pm.Exponential.dist(0.7), POSITIVE),
        (pm.Gamma.dist(1.7, 0.6), POSITIVE),
        (pm.Gumbel.dist(0.3, 1.5), REAL),
        (pm.HalfCauchy.dist(1.5), POSITIVE),
        (pm.HalfNormal.dist(1.5), POSITIVE),
        (pm.HalfStudentT.dist(3.0, 1.5), POSITIVE),
        (pm.InverseGamma.dist(1.7, 0.6), POSITIVE),
        (pm.Laplace.dist(0.3, 1.5), REAL),
        (pm.Logistic.dist(0.3, 1.5), REAL),
        (pm.LogNormal.dist(0.3, 1.5), POSITIVE),
        (pm.Normal.dist(0.3, 1.5), REAL),
        (pm.Pareto.dist(1.7, 1.0), ABOVE_ONE),
        (pm.StudentT.dist(3.0, 0.3, sigma=1.5), REAL),
        (pm.TruncatedNormal.dist(0.3, 1.5, lower=0.0), POSITIVE),
        (pm.Uniform.dist(0.0, 1.0), UNIT),
        (pm.Weibull.dist(1.7, 1.5), POSITIVE),
    ]
    share = np.stack([UNIT[0], 1 - UNIT[0]], axis=1)
    x = np.stack(np.meshgrid(*2 * [np.linspace(-12, 12, 201)]), axis=-1)
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    graphs = [pm.logp(rv, support[0]) for rv, support in cases]
    graphs.append(pm.logp(pm.Dirichlet.dist(np.array([1.7, 1.2])), share))
    graphs.append(pm.logp(pm.MvNormal.dist(np.ones(2), covariance), x))
    *values, dirichlet, normal = pytensor.function([], graphs, mode="FAST_COMPILE")()
    for (rv, support), value in zip(cases, values, strict=True):
        kind = type(rv.owner.op).__name__
        assert integral(value, support) == pytest.approx(1.0, abs=1e-6), kind
    assert integral(dirichlet, UNIT) == pytest.approx(1.0, abs=1e-6)
    assert np.exp(normal).sum() * 0.12**2 == pytest.approx(1.0, abs=1e-6)
    kinds = {type(rv.owner.op).__name__ for rv, _ in cases}
    assert {*kinds, "DirichletRV", "MvNormalRV"} == of_pymc.FAMILIES


class Doubled(dist.Normal):
    """A distribution of the user's own that is not normalised."""

    def log_prob(self, value, intermediates=None):
        return 2 * super().log_prob(value)


def by_factor() -> None:
    numpyro.factor("more", -(numpyro.sample("x", dist.Normal(0, 1)) ** 2))
    numpyro.sample("y", dist.Normal(0, 1), obs=1.0)


def of_ones_own() -> None:
    numpyro.sample("y", dist.Normal(numpyro.sample("x", Doubled(0, 1)), 1), obs=1.0)


@handlers.scale(scale=2.0)
def scaled() -> None:
    numpyro.sample("y", dist.Normal(numpyro.sample("x", dist.Normal(0, 1)), 1), obs=1.0)


def usual() -> None:
    scale = numpyro.sample("scale", dist.HalfCauchy(1.0))
    x = numpyro.sample("x", dist.Normal(jnp.zeros(3), scale).to_event(1))
    numpyro.sample("y", dist.Normal(x, 1), obs=jnp.ones(3))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [by_factor, of_ones_own, scaled, usual])
def test_only_sites_of_known_distributions_are_taken_to_be_normalised(model: Callable[[], None]):
    assert bool(refti.from_numpyro(model).prior_parts) == (model is usual)


def test_only_variables_of_known_distributions_are_taken_to_be_normalised():
    def own(value, mu):
        return -((value - mu) ** 2)

    with pm.Model() as usual:
        x = pm.Normal("x", 0, pm.HalfCauchy("scale", 1), shape=3)
        steps = pm.GaussianRandomWalk("w", sigma=1.0, init_dist=pm.Normal.dist(), shape=3)
        pm.LKJCholeskyCov("c", n=2, eta=1.0, sd_dist=pm.Exponential.dist(1.0, shape=2))
        pm.Normal("y", x + steps, 1, observed=np.ones(3))
    with pm.Model() as of_ones_own:
        pm.Normal("y", pm.CustomDist("x", 0.0, logp=own), 1, observed=1.0)
    with pm.Model() as ordered:
        order = pm.distributions.transforms.ordered
        pm.Normal(
            "y",
            pm.Normal("x", 0, 1, shape=2, transform=order, initval=[0, 1]),
            1,
            observed=[1.0, 2.0],
        )
    assert "3 variables" not in of_pymc.prior_parts(usual)
    assert "4 variables" in of_pymc.prior_parts(usual)
    assert of_pymc.prior_parts(of_ones_own) == of_pymc.prior_parts(ordered) == ""


def test_an_integral_that_was_not_found_is_one_only_where_the_parts_say_so():
    lost, wrong = Estimate(float("nan"), 0.0), Estimate(0.7, 0.01)
    assert not check_prior_integral(lost).ok
    assert check_prior_integral(lost, parts="each is").ok
    assert not check_prior_integral(wrong, parts="each is").ok  # what was found counts


@pytest.mark.parametrize(("parts", "counts"), [("", True), ("each is", False)])
def test_a_run_of_a_known_prior_counts_only_if_it_is_trusted(
    monkeypatch: pytest.MonkeyPatch, parts: str, counts: bool
):
    missed = SimpleNamespace(trusted=False, estimates={"mbar": Estimate(-4.5, 0.1)})
    for name, value in (
        ("run_beside", lambda *_: missed),
        ("problem_of_prior", lambda *_: None),
        ("seconds_left", lambda *_: None),
        ("evaluations_left", lambda *_: 1000),
    ):
        monkeypatch.setattr(prior_integral, name, value)
    settings = Settings(seed=1)
    problem = SimpleNamespace(settings=settings, given=[SimpleNamespace(prior_parts=parts)])
    found, why = prior_integral.integrate_prior(problem, None, None)  # type: ignore[arg-type]
    assert np.isfinite(found.value) == (why == "") == counts
