"""Draws of the prior by the model's language: exact, and telling where chains did not get."""

from __future__ import annotations

import numpy as np
import numpyro
import numpyro.distributions as dist
import pymc
import pytest
from scipy import stats

import refti
from refti.checks.of_run import check_prior_reach
from refti.run.prior_reach import PriorReach, find_prior_reach
from refti.sampling.metering import Meter

SEEN = 0.5
LOG_Z = float(stats.norm.logpdf(SEEN, 0, np.hypot(2, 3)))


def weakly_known(noise: float) -> None:
    """Scale fixed, so that log(rate) and where are independent and in closed form."""
    numpyro.sample("rate", dist.Exponential(2.0))
    where = numpyro.sample("where", dist.Normal(0, 2))
    numpyro.sample("seen", dist.Normal(where, noise), obs=SEEN)


@pytest.fixture(scope="module")
def model() -> refti.Model:
    return refti.from_numpyro(weakly_known, 3.0)


def posterior_draws(size: int, seed: int) -> np.ndarray:
    """Exact draws of the posterior in unconstrained coordinates, [size, 2]."""
    rng = np.random.default_rng(seed)
    width = 1 / np.hypot(1 / 2, 1 / 3)
    where = rng.normal(SEEN * width**2 / 9, width, size)
    return np.stack([np.log(rng.exponential(0.5, size)), where], axis=1)


def reach(model: refti.Model, points: np.ndarray, log_z: float = LOG_Z) -> PriorReach | None:
    return find_prior_reach(model, points, log_z, 7, Meter())


def test_draws_of_a_numpyro_prior_are_exact(model: refti.Model):
    assert model.prior_draws is not None
    x = model.prior_draws(4_000, 3)
    assert stats.kstest(np.exp(x[:, 0]), stats.expon(scale=0.5).cdf).pvalue > 1e-4
    assert stats.kstest(x[:, 1], stats.norm(0, 2).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(x.T)[0, 1]) < 4 / np.sqrt(4_000)


def test_draws_of_a_pymc_prior_are_exact():
    with pymc.Model() as written:
        scale = pymc.HalfNormal("scale", 2.0)
        pymc.Normal("each", scale, 0.1, shape=2)
        pymc.Normal("seen", scale, 1.0, observed=[0.3])
    made = refti.from_pymc(written)
    assert made.prior_draws is not None
    x = made.prior_draws(2_000, 2**40 + 1)
    names = list(made.space.coordinates)
    scales = np.exp(x[:, names.index("scale") if "scale" in names else 0])
    assert stats.kstest(scales, stats.halfnorm(0, 2).cdf).pvalue > 1e-4
    each = x[:, [i for i, name in enumerate(names) if name.startswith("each")]]
    assert stats.kstest((each[:, 1] - scales) / 0.1, stats.norm.cdf).pvalue > 1e-4


def test_chains_that_get_everywhere_lack_nothing(model: refti.Model):
    found = reach(model, posterior_draws(4_000, 1).reshape(8, 500, 2))
    assert found is not None
    assert check_prior_reach(found.share, found.error, found.coordinate).ok
    assert found.share < 4 * found.error


def test_chains_that_stop_short_are_told_by_how_much_and_where(model: refti.Model):
    draws = posterior_draws(8_000, 2)
    edge = np.quantile(draws[:, 0], 0.08)
    found = reach(model, draws[draws[:, 0] > edge][:7_200].reshape(8, 900, 2))
    assert found is not None
    # What was left out, but that the last draws on that side count as lacking nothing.
    assert found.share == pytest.approx(0.08, abs=4 * found.error)
    check = check_prior_reach(found.share, found.error, found.coordinate)
    assert not check.ok
    assert "'rate'" in check.advice


def test_nothing_is_told_where_data_say_much():
    told = refti.from_numpyro(weakly_known, 1e-3)
    points = np.random.default_rng(0).normal(SEEN, 1e-3, size=(8, 100, 2))
    assert reach(told, points, float(stats.norm.logpdf(SEEN, 0, 2))) is None


def test_a_prior_that_is_not_known_by_its_parts_is_not_drawn_from(model: refti.Model):
    points = posterior_draws(800, 1).reshape(8, 100, 2)
    assert reach(model.with_prior_parts(""), points) is None
