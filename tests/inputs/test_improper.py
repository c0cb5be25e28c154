"""Improper priors, hidden in many ways, are refused at the border by name or never trusted."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pymc as pm
import pytest
from numpyro import handlers

import refti

Y = np.array([0.3, 1.2, -0.4, 0.8, 1.9])
LOG = pm.distributions.transforms.log


def observe(mean: object, scale: object = 1.0) -> None:
    pm.Normal("y", mean, scale, observed=Y)


def walk() -> None:
    observe(pm.GaussianRandomWalk("x", sigma=1.0, init_dist=pm.Flat.dist(), shape=5))


def mixture() -> None:
    parts = [pm.Normal.dist(), pm.Flat.dist()]
    observe(pm.Mixture("x", w=[0.5, 0.5], comp_dists=parts))


def covariance() -> None:
    factor, _, _ = pm.LKJCholeskyCov("x", n=2, eta=1.0, sd_dist=pm.HalfFlat.dist(shape=2))
    pm.MvNormal("y", np.zeros(2), chol=factor, observed=np.stack([Y, Y[::-1]], axis=1))


def two_intercepts() -> None:
    observe(pm.Normal("a", 0, 1) + pm.Flat("x") + pm.Flat("b"))


def scale_by_potential() -> None:
    scale = pm.HalfFlat("x")
    pm.Potential("jeffreys", -pm.math.log(scale))
    observe(pm.Normal("m", 0, 1), scale)


PYMC: dict[str, Callable[[], object]] = {
    "flat": lambda: observe(pm.Flat("x")),
    "half flat": lambda: observe(0.0, pm.HalfFlat("x")),
    "flat by a transform": lambda: observe(0.0, pm.Flat("x", transform=LOG, initval=1.0)),
    "unused": lambda: (pm.Flat("x"), observe(pm.Normal("m", 0, 1))),
    "potential alone": lambda: pm.Potential("p", -(pm.Flat("x") ** 2)),
    "walk": walk,
    "mixture": mixture,
    "covariance": covariance,
    "two intercepts": two_intercepts,
    "scale by a potential": scale_by_potential,
}


@pytest.mark.parametrize("kind", PYMC)
def test_pymc_models_with_improper_priors_are_refused_by_name(kind: str):
    with pm.Model() as model:
        PYMC[kind]()
    with pytest.raises(refti.ModelError, match=r'Improper flat priors: .*"x".* give a proper one'):
        refti.from_pymc(model)


def improper(support: object, shape: tuple[int, ...] = ()) -> dist.Distribution:
    return dist.ImproperUniform(support, shape, ())


def latent(prior: object, scale: object = 1.0) -> Callable[[], None]:
    return lambda: numpyro.sample("y", dist.Normal(numpyro.sample("x", prior), scale), obs=Y)


def under_a_plate() -> None:
    with numpyro.plate("five", 5):
        x = numpyro.sample("x", improper(dist.constraints.real))
    numpyro.sample("y", dist.Normal(x, 1), obs=Y)


def of_a_scale() -> None:
    scale = numpyro.sample("x", improper(dist.constraints.positive))
    numpyro.factor("jeffreys", -jnp.log(scale))
    numpyro.sample("y", dist.Normal(0, scale), obs=Y)


def added() -> None:
    x = numpyro.sample("x", improper(dist.constraints.real))
    total = x + numpyro.sample("a", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(total, 1), obs=Y)


def masked() -> None:
    with handlers.mask(mask=False):
        x = numpyro.sample("x", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(x, 1), obs=Y)


def param() -> None:
    numpyro.sample("y", dist.Normal(numpyro.param("x", 0.0), 1), obs=Y)


REAL = dist.constraints.real
NUMPYRO: dict[str, Callable[[], None]] = {
    "flat": latent(improper(REAL)),
    "of positive numbers": latent(improper(dist.constraints.positive)),
    "of vectors": latent(improper(REAL, (5,)).to_event(1)),
    "expanded": latent(improper(REAL).expand([5])),
    "transformed": latent(
        dist.TransformedDistribution(improper(REAL), dist.transforms.ExpTransform())
    ),
    "under a plate": under_a_plate,
    "of a scale, with a factor": of_a_scale,
    "beside a proper intercept": added,
    "masked": masked,
    "a parameter": param,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NUMPYRO)
def test_numpyro_models_with_improper_priors_are_refused_by_name(kind: str):
    with pytest.raises(refti.ModelError, match=r'"x".*(improper|no probability)'):
        refti.from_numpyro(NUMPYRO[kind])


class Flat(dist.Distribution):
    """A distribution of the user's own, whose density is 1 everywhere."""

    support = REAL

    def __init__(self) -> None:
        super().__init__()

    def log_prob(self, value):
        return jnp.zeros_like(value)


@pytest.mark.filterwarnings("ignore")
def test_an_improper_prior_that_no_statement_shows_is_not_trusted():
    result = refti.evidence(refti.from_numpyro(latent(Flat())), progress=False)
    failed = {check.name: check.advice for check in result.checks if not check.ok}
    assert list(failed) == ["prior"]
    assert "the density is constant" in failed["prior"]


def by_a_factor(prior: object) -> Callable[[], None]:
    """A model whose likelihood is a factor, as one that NumPyro has no distribution for."""

    def model() -> None:
        x = numpyro.sample("x", prior)
        numpyro.factor("likelihood", dist.Normal(x, 1).log_prob(Y).sum())

    return model


def test_factors_are_the_likelihood_where_nothing_is_observed():
    model = refti.from_numpyro(by_a_factor(dist.Normal(0, 1)))
    prior = model.prior_alone()
    assert prior.is_normalised
    assert prior.log_density(np.array([0.7])) == pytest.approx(
        float(dist.Normal(0, 1).log_prob(0.7)), rel=1e-6
    )


@pytest.mark.long
def test_an_improper_prior_with_a_factor_for_its_likelihood_is_not_trusted():
    result = refti.evidence(refti.from_numpyro(by_a_factor(Flat())), progress=False)
    assert [check.name for check in result.checks if not check.ok] == ["prior"]


@pytest.mark.filterwarnings("ignore")
def test_a_factor_that_cancels_a_prior_is_not_taken_to_be_normalised():
    def cancelled() -> None:
        x = numpyro.sample("x", dist.Normal(0, 1))
        numpyro.factor("cancel", 0.5 * x**2)
        numpyro.sample("y", dist.Normal(x, 1), obs=Y)

    model = refti.from_numpyro(cancelled)
    assert model.prior_parts == ""
    far = model.prior_alone().log_densities(np.array([[0.0], [1e3]]))
    assert far[0] == pytest.approx(far[1])  # so that its integral is not found
