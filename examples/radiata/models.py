"""The radiata pine regressions in every language that refti takes.

    cd examples/radiata
    refti run models.py:numpyro_density models.py:numpyro_adjusted_density

The exact log evidences are -310.1283 (density) and -301.7046 (adjusted density).
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import numpyro
from numpyro.distributions import Gamma, Normal
from scipy import stats

import refti

HERE = Path(__file__).parent


def specimens(covariate: str) -> tuple[np.ndarray, np.ndarray]:
    """The strengths of 42 specimens, and a covariate centred at its mean."""
    data = json.loads((HERE / f"{covariate}.json").read_text())
    x = np.array(data["covariate"])
    return np.array(data["strength"], dtype=float), x - x.mean()


def in_stan(covariate: str) -> refti.Model:
    """A Stan program with its data; the prior's program is for power posteriors."""
    return refti.from_stan(
        HERE / "radiata.stan", HERE / f"{covariate}.json", prior=HERE / "prior.stan"
    )


def in_numpyro(covariate: str) -> refti.Model:
    """A NumPyro function with its arguments."""

    def regression(strength: np.ndarray, x: np.ndarray) -> None:
        tau = numpyro.sample("tau", Gamma(3.0, 2 * 300.0**2))
        alpha = numpyro.sample("alpha", Normal(3000.0, (0.06 * tau) ** -0.5))
        beta = numpyro.sample("beta", Normal(185.0, (6.0 * tau) ** -0.5))
        numpyro.sample("strength", Normal(alpha + beta * x, tau**-0.5), obs=strength)

    return refti.from_numpyro(regression, *specimens(covariate))


def in_pymc(covariate: str) -> refti.Model:
    """A PyMC model."""
    import pymc as pm

    strength, x = specimens(covariate)
    with pm.Model() as regression:
        tau = pm.Gamma("tau", alpha=3.0, beta=2 * 300.0**2)
        alpha = pm.Normal("alpha", 3000.0, tau=0.06 * tau)
        beta = pm.Normal("beta", 185.0, tau=6.0 * tau)
        pm.Normal("strength", alpha + beta * x, tau=tau, observed=strength)
    return refti.from_pymc(regression)


def in_python(covariate: str) -> refti.Model:
    """Any Python functions, of which only the values are known."""
    strength, x = specimens(covariate)

    def log_prior(alpha: float, beta: float, tau: float) -> float:
        return (
            stats.gamma.logpdf(tau, 3.0, scale=1 / (2 * 300.0**2))
            + stats.norm.logpdf(alpha, 3000.0, (0.06 * tau) ** -0.5)
            + stats.norm.logpdf(beta, 185.0, (6.0 * tau) ** -0.5)
        )

    def log_likelihood(alpha: float, beta: float, tau: float) -> float:
        return stats.norm.logpdf(strength, alpha + beta * x, tau**-0.5).sum()

    supports = {"alpha": refti.real(), "beta": refti.real(), "tau": refti.positive()}
    start = {"alpha": 3000.0, "beta": 185.0, "tau": 1e-5}
    return refti.from_callable(
        parameters=supports, log_prior=log_prior, log_likelihood=log_likelihood, start=start
    )


COVARIATES = ("density", "adjusted_density")
stan_density, stan_adjusted_density = (partial(in_stan, name) for name in COVARIATES)
numpyro_density, numpyro_adjusted_density = (partial(in_numpyro, name) for name in COVARIATES)
pymc_density, pymc_adjusted_density = (partial(in_pymc, name) for name in COVARIATES)
python_density, python_adjusted_density = (partial(in_python, name) for name in COVARIATES)
