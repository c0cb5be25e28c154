"""An epidemic's renewal equation with an AR(2) process for the log reproduction numbers.

g_s = exp(-(s - ½)² r) - exp(-(s + ½)² r) is the distribution of the generation interval, and
f_t = 1e-5 + exp(eps_t) Σ_{u<t} f_u g_{t-u} the expected cases: a triangular system of equations.
The cases of 30 days are made up. Outside the stationary region, rho1 + rho2 < 1, the density is
zero; `log_stationary` is the region's share of the prior, so that the prior integrates to one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln, xlogy
from jax.scipy.stats import norm, truncnorm
from numpyro.distributions import HalfNormal, NegativeBinomialLogits, Normal, TruncatedNormal
from scipy import stats
from scipy.integrate import quad

import refti

_RHO1 = stats.truncnorm(-16, 4, 0.8, 0.05)
_RHO2 = stats.truncnorm(-2, 18, 0.1, 0.05)
_stationary = quad(lambda b: _RHO2.pdf(b) * _RHO1.cdf(1 - b), 0, 1, points=[0.1], epsabs=1e-12)[0]
_y = [0] * 10 + [1, 0, 0, 1, 0, 2, 1, 3, 2, 5, 4, 9, 7, 12, 16, 14, 23, 19, 31, 28]
N = len(_y)
DATA = {"N": N, "y": np.array(_y), "log_stationary": float(np.log(_stationary))}

stan = Path(__file__).with_suffix(".stan")

_LAG = np.arange(N)[:, None] - np.arange(N)
_PAST = np.tril(np.ones((N, N)), -1)


def log_prior(
    sigma: jax.Array,
    phi: jax.Array,
    r: jax.Array,
    rho1: jax.Array,
    rho2: jax.Array,
    eps: jax.Array,
) -> jax.Array:
    scales = 2 * jnp.log(2) + norm.logpdf(sigma, 0, 0.2) + norm.logpdf(phi, 0, 5)
    rate = truncnorm.logpdf(r, -10, jnp.inf, 0.01, 0.001)
    memory = truncnorm.logpdf(rho1, -16, 4, 0.8, 0.05) + truncnorm.logpdf(rho2, -2, 18, 0.1, 0.05)
    share = 1 - rho1**2 - rho2**2 - 2 * rho1**2 * rho2 / (1 - rho2)
    s = sigma * jnp.sqrt(jnp.abs(share))
    path = norm.logpdf(eps[0], -1, 0.1) + norm.logpdf(eps[1], -1, s)
    path += norm.logpdf(eps[2:], rho1 * eps[1:-1] + rho2 * eps[:-2], s).sum()
    stationary = jnp.where(share > 0, -DATA["log_stationary"], -jnp.inf)
    return scales + rate + memory + stationary + path


def log_likelihood(
    sigma: jax.Array,
    phi: jax.Array,
    r: jax.Array,
    rho1: jax.Array,
    rho2: jax.Array,
    eps: jax.Array,
) -> jax.Array:
    f, y = expected_cases(r, eps), 1.0 * DATA["y"]
    ways = gammaln(y + phi) - gammaln(phi) - gammaln(y + 1.0)
    return (ways - phi * jnp.log1p(f / phi) + xlogy(y, f / (f + phi))).sum()


def expected_cases(r: jax.Array, eps: jax.Array) -> jax.Array:
    g = _PAST * (jnp.exp(-((_LAG - 0.5) ** 2) * r) - jnp.exp(-((_LAG + 0.5) ** 2) * r))
    system = jnp.eye(N) - jnp.exp(eps[:N, None]) * g
    return solve_triangular(system, jnp.full(N, 1e-5), lower=True)


def jax_model() -> refti.Model:
    supports = {
        "sigma": refti.positive(),
        "phi": refti.positive(),
        "r": refti.positive(),
        "rho1": refti.interval(0, 1),
        "rho2": refti.interval(0, 1),
        "eps": refti.real(shape=(N + 1,)),
    }
    start = {"sigma": 0.2, "phi": 5.0, "r": 0.01, "rho1": 0.8, "rho2": 0.1}
    return refti.Model(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        parameters=supports,
        start={**start, "eps": np.full(N + 1, -1.0)},
    )


def numpyro_model(N: int, y: np.ndarray, log_stationary: float) -> None:
    sigma = numpyro.sample("sigma", HalfNormal(0.2))
    phi = numpyro.sample("phi", HalfNormal(5))
    r = numpyro.sample("r", TruncatedNormal(0.01, 0.001, low=0))
    rho1 = numpyro.sample("rho1", TruncatedNormal(0.8, 0.05, low=0, high=1))
    rho2 = numpyro.sample("rho2", TruncatedNormal(0.1, 0.05, low=0, high=1))
    share = 1 - rho1**2 - rho2**2 - 2 * rho1**2 * rho2 / (1 - rho2)
    numpyro.factor("stationary", jnp.where(share > 0, -log_stationary, -jnp.inf))
    s = sigma * jnp.sqrt(jnp.abs(share))
    eps = numpyro.sample("eps", AutoRegression(rho1, rho2, s, N + 1))
    # The log odds f / phi belong to the mean f. NegativeBinomial2(f, phi) is the same up to 1e-6:
    # it calls JAX's betaln, which is less exact.
    odds = jnp.log(expected_cases(r, eps) / phi)
    numpyro.sample("y", NegativeBinomialLogits(phi, odds), obs=y)


class AutoRegression(numpyro.distributions.Distribution):
    """The joint distribution of an AR(2) process's values; each is given by the two before."""

    support = numpyro.distributions.constraints.real_vector

    def __init__(self, rho1: jax.Array, rho2: jax.Array, s: jax.Array, length: int) -> None:
        self.rho1, self.rho2, self.s = rho1, rho2, s
        super().__init__((), (length,))

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        noise = jax.random.normal(key, (*sample_shape, *self.event_shape))
        values = [-1 + 0.1 * noise[..., 0], -1 + self.s * noise[..., 1]]
        for t in range(2, self.event_shape[0]):
            mean = self.rho1 * values[-1] + self.rho2 * values[-2]
            values.append(mean + self.s * noise[..., t])
        return jnp.stack(values, axis=-1)

    def log_prob(self, value: jax.Array) -> jax.Array:
        mean = self.rho1 * value[..., 1:-1] + self.rho2 * value[..., :-2]
        first = Normal(-1, 0.1).log_prob(value[..., 0]) + Normal(-1, self.s).log_prob(value[..., 1])
        return first + Normal(mean, self.s).log_prob(value[..., 2:]).sum(-1)


def pymc_model() -> Any:
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 0.2)
        phi = pm.HalfNormal("phi", 5.0)
        r = pm.TruncatedNormal("r", 0.01, 0.001, lower=0.0)
        rho1 = pm.TruncatedNormal("rho1", 0.8, 0.05, lower=0.0, upper=1.0)
        rho2 = pm.TruncatedNormal("rho2", 0.1, 0.05, lower=0.0, upper=1.0)
        share = 1 - rho1**2 - rho2**2 - 2 * rho1**2 * rho2 / (1 - rho2)
        pm.Potential("stationary", pt.switch(share > 0, -DATA["log_stationary"], -np.inf))
        s = sigma * pt.sqrt(pt.abs(share))
        first_two = pm.Normal.dist(-1.0, pt.stack([0.1, s]), shape=2)
        eps = pm.AR("eps", pt.stack([rho1, rho2]), s, init_dist=first_two, shape=N + 1)
        g = _PAST * (pt.exp(-((_LAG - 0.5) ** 2) * r) - pt.exp(-((_LAG + 0.5) ** 2) * r))
        system = pt.eye(N) - pt.exp(eps[:N, None]) * g
        f = pt.linalg.solve_triangular(system, np.full(N, 1e-5), lower=True)
        pm.NegativeBinomial("y", mu=f, alpha=phi, observed=DATA["y"])
    return model
