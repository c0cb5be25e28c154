"""Known: data of the problems, and their log evidences by ways that refti has no part in.

`python -m benchmarks.peers.known` makes the numbers of LOGISTIC again.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm as jax_norm
from jax.scipy.stats import t as jax_t
from scipy import integrate, optimize, special, stats

import refti
from refti.paper.covid import model as covid
from refti.paper.radiata import model as radiata

# Rubin's eight schools, under mu ~ normal(0, 10) and tau ~ half-normal(0, 10).
SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOL_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCALE = 10.0

# By importance sampling from a multivariate t at the mode: value, standard error.
LOGISTIC: dict[int, tuple[float, float]] = {
    8: (-103.9100, 0.0009),
    21: (-90.0239, 0.0061),
}
# W = 7 by the bridge of the priors as printed, whose mass is known; AR(2) by another sampler and a
# bridge that is Gaussian given the scales (benchmarks.covid_check).
COVID: dict[str, tuple[float, float]] = {
    "W=7": (-812.87 - covid.log_prior_mass(covid.variant_as_printed("W=7")), 0.05),
    "AR(2)": (-798.56, 0.05),
}


def eight_schools() -> float:
    """The log evidence of the eight schools: normal given tau, and one integral over tau."""
    count = len(SCHOOLS)

    def log_given(tau: float) -> float:
        covariance = np.diag(SCHOOL_ERRORS**2 + tau**2) + SCALE**2 * np.ones((count, count))
        prior = stats.halfnorm.logpdf(tau, scale=SCALE)
        return float(stats.multivariate_normal.logpdf(SCHOOLS, np.zeros(count), covariance) + prior)

    height = log_given(1.0)
    found, _ = integrate.quad(lambda tau: np.exp(log_given(tau) - height), 0, 100, epsabs=1e-12)
    return float(np.log(found) + height)


def log_z_of_skewed(dim: int) -> float:
    """The log evidence of the skewed target of the suite, by the diagonal of its matrix."""
    shapes, diagonal = np.linspace(1.0, 5.0, dim), np.linspace(0.5, 2.0, dim)
    return float(special.gammaln(shapes).sum() - np.log(diagonal).sum())


def radiata_data() -> dict[str, Any]:
    """The data of the Stan program of the radiata pine."""
    strength, covariate = radiata.SPECIMENS[:, 0], radiata.SPECIMENS[:, 1]
    return {"n": len(strength), "strength": strength, "covariate": covariate}


def logistic_data(dim: int) -> dict[str, Any]:
    """Made-up answers of 200 people to dim - 1 covariates."""
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(200, dim - 1))
    slopes = rng.normal(scale=0.7, size=dim - 1)
    y = rng.binomial(1, special.expit(0.3 + x @ slopes))
    return {"N": 200, "K": dim - 1, "x": x, "y": y}


def log_prior_of_logistic(alpha: jax.Array, beta: jax.Array) -> jax.Array:
    """An intercept of scale 2, and slopes by Student's t of 4 degrees."""
    return jax_norm.logpdf(alpha, 0, 2) + jax_t.logpdf(beta, 4).sum()


def log_likelihood_of_logistic(data: dict[str, Any], alpha: jax.Array, beta: jax.Array) -> Any:
    """The log probability of the answers."""
    towards = alpha + jnp.asarray(data["x"]) @ beta
    return jax.nn.log_sigmoid(jnp.where(data["y"] == 1, towards, -towards)).sum()


def logistic(dim: int) -> refti.Model:
    """A logistic regression of so many parameters."""
    data = logistic_data(dim)
    return refti.Model(
        log_prior=log_prior_of_logistic,
        log_likelihood=lambda alpha, beta: log_likelihood_of_logistic(data, alpha, beta),
        parameters={"alpha": refti.real(), "beta": refti.real(shape=(dim - 1,))},
    )


def by_importance_sampling(dim: int, draws: int = 400_000) -> tuple[float, float]:
    """The log evidence of the logistic regression and its standard error, in NumPy."""
    data = logistic_data(dim)
    sign = np.where(data["y"] == 1, 1.0, -1.0)

    def log_density(points: np.ndarray) -> np.ndarray:
        alpha, beta = points[:, 0], points[:, 1:]
        towards = sign * (alpha[:, None] + beta @ data["x"].T)
        prior = stats.norm.logpdf(alpha, 0, 2) + stats.t.logpdf(beta, 4).sum(axis=1)
        return prior - np.logaddexp(0, -towards).sum(axis=1)

    found = optimize.minimize(lambda x: -log_density(x[None])[0], np.zeros(dim), method="BFGS")
    proposal = stats.multivariate_t(found.x, 1.1 * found.hess_inv, df=8, seed=1)
    weights = []
    for _ in range(draws // 20_000):
        points = proposal.rvs(20_000)
        weights.append(log_density(points) - proposal.logpdf(points))
    log_weights = np.concatenate(weights)
    relative = np.exp(log_weights - log_weights.max())
    value = np.log(relative.mean()) + log_weights.max()
    return float(value), float(relative.std() / relative.mean() / np.sqrt(draws))


if __name__ == "__main__":
    for size in LOGISTIC:
        print(size, by_importance_sampling(size))
