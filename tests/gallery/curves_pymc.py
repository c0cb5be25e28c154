"""Regressions, tests and mixtures after PyMC's gallery, of few parameters, on simulated data."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt

YEARS = np.arange(1.0, 41.0)


def two_groups_data() -> tuple[np.ndarray, np.ndarray]:
    """The scores of two groups, with a few outliers."""
    rng = np.random.default_rng(21)
    return 101.5 + 2 * rng.standard_t(3, 40), 100.5 + 1.2 * rng.standard_t(3, 35)


def two_groups_pymc() -> pm.Model:
    """Kruschke's BEST in place of the t test."""
    treated, control = two_groups_data()
    with pm.Model() as model:
        mean = pm.Normal("group_mean", 101.0, 4.0, shape=2)
        spread = pm.Uniform("group_std", 0.1, 10.0, shape=2)
        less = pm.Exponential("nu_minus_one", 1 / 29.0)
        pm.StudentT("treated", less + 1, mean[0], sigma=spread[0], observed=treated)
        pm.StudentT("control", less + 1, mean[1], sigma=spread[1], observed=control)
        pm.Deterministic("difference of means", mean[0] - mean[1])
    return model


def heaps_data() -> np.ndarray:
    """Values of three heaps."""
    rng = np.random.default_rng(22)
    return rng.normal(rng.choice([-4.0, 0.0, 5.0], 90, p=[0.3, 0.4, 0.3]), 1.0)


def heaps_pymc() -> pm.Model:
    """A Gaussian mixture whose means are ordered."""
    with pm.Model() as model:
        mean = pm.Normal(
            "mu",
            0.0,
            8.0,
            transform=pm.distributions.transforms.ordered,
            shape=3,
            initval=[-3.0, 0.0, 3.0],
        )
        spread = pm.HalfNormal("sigma", 2.0, shape=3)
        weight = pm.Dirichlet("w", np.ones(3))
        pm.NormalMixture("x", w=weight, mu=mean, sigma=spread, observed=heaps_data())
    return model


def logistic_data() -> tuple[np.ndarray, np.ndarray]:
    """A design of an intercept and three covariates, and answers."""
    rng = np.random.default_rng(23)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 3))])
    return x, rng.binomial(1, 1 / (1 + np.exp(-x @ np.array([-0.4, 1.0, -0.6, 0.0]))))


def logistic_pymc() -> pm.Model:
    """Logistic regression."""
    x, y = logistic_data()
    with pm.Model(coords={"coeffs": ["intercept", "age", "hours", "hours^2"]}) as model:
        beta = pm.Normal("beta", 0.0, 2.5, dims="coeffs")
        pm.Bernoulli("y", logit_p=pm.math.dot(x, beta), observed=y)
    return model


def robust_data() -> tuple[np.ndarray, np.ndarray]:
    """A line with outliers."""
    rng = np.random.default_rng(24)
    x = np.linspace(0, 1, 40)
    y = 1 + 2 * x + 0.3 * rng.normal(size=40)
    y[[3, 17, 33]] += [4.0, 5.0, 3.0]
    return x, y


def robust_pymc() -> pm.Model:
    """Robust regression by a Student-t likelihood."""
    x, y = robust_data()
    with pm.Model() as model:
        a, b = pm.Normal("a", 0.0, 5.0), pm.Normal("b", 0.0, 5.0)
        sigma, nu = pm.HalfCauchy("sigma", 2.0), pm.Gamma("nu", 2.0, 0.1)
        pm.StudentT("y", nu, mu=a + b * x, sigma=sigma, observed=y)
    return model


def sneezes_data() -> tuple[np.ndarray, np.ndarray]:
    """Counts of sneezes by alcohol and antihistamines, more spread than Poisson counts."""
    rng = np.random.default_rng(25)
    alcohol, drug = np.tile([0.0, 1.0], 40), np.repeat([0.0, 1.0], 40)
    x = np.column_stack([np.ones(80), alcohol, drug, alcohol * drug])
    mean = np.exp(x @ np.array([0.4, 1.0, 0.6, 0.2]))
    return x, rng.negative_binomial(3.0, 3.0 / (3.0 + mean))


def sneezes_pymc() -> pm.Model:
    """Negative binomial regression of overdispersed counts."""
    x, y = sneezes_data()
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 2.0, shape=4)
        alpha = pm.Exponential("alpha", 0.5)
        pm.NegativeBinomial("y", mu=pm.math.exp(pm.math.dot(x, beta)), alpha=alpha, observed=y)
    return model


def smooth_data() -> tuple[np.ndarray, np.ndarray]:
    """A smooth curve with noise."""
    rng = np.random.default_rng(26)
    x = np.linspace(0, 5, 30)
    return x, np.sin(1.5 * x) + 0.3 * rng.normal(size=30)


def smooth_pymc() -> pm.Model:
    """A Gaussian process whose latent curve is integrated out."""
    x, y = smooth_data()
    with pm.Model() as model:
        length, height = pm.Gamma("ell", 2.0, 1.0), pm.HalfCauchy("eta", 3.0)
        process = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.Matern52(1, length))
        process.marginal_likelihood("y", X=x[:, None], y=y, sigma=pm.HalfCauchy("sigma", 1.0))
    return model


def latent_data() -> tuple[np.ndarray, np.ndarray]:
    """Counts along a line."""
    rng = np.random.default_rng(27)
    x = np.linspace(0, 4, 20)
    return x, rng.poisson(np.exp(1 + np.sin(2 * x)))


def latent_pymc() -> pm.Model:
    """A latent Gaussian process of log rates."""
    x, y = latent_data()
    with pm.Model() as model:
        length, height = pm.InverseGamma("ell", 4.0, 4.0), pm.HalfNormal("eta", 1.5)
        process = pm.gp.Latent(cov_func=height**2 * pm.gp.cov.ExpQuad(1, length))
        curve = process.prior("f", X=x[:, None])
        pm.Poisson("y", pm.math.exp(pm.Normal("mean", 0.0, 2.0) + curve), observed=y)
    return model


def mining_data() -> np.ndarray:
    """Disasters in each of 40 years; they become rarer."""
    rng = np.random.default_rng(28)
    return rng.poisson(np.where(YEARS < 18, 3.2, 1.1))


def mining_pymc() -> pm.Model:
    """Rates before and after a year of change, which is summed out by hand."""
    y = mining_data()
    with pm.Model() as model:
        early, late = pm.Exponential("early", 1.0), pm.Exponential("late", 1.0)
        before = pt.cumsum(pm.logp(pm.Poisson.dist(early), y))
        after = pt.cumsum(pm.logp(pm.Poisson.dist(late), y)[::-1])[::-1]
        by_year = before[:-1] + after[1:]
        pm.Potential("counts", pt.logsumexp(by_year) - np.log(len(y) - 1))
    return model


def lifetimes_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A covariate, times, and whether each was seen to end."""
    rng = np.random.default_rng(29)
    x = rng.binomial(1, 0.5, 50).astype(float)
    time = np.exp(1.2 + 0.5 * x) * rng.weibull(1.4, 50)
    return x, np.minimum(time, 6.0), time < 6.0


def lifetimes_pymc() -> pm.Model:
    """Accelerated failure times: Weibull, censored on the right."""
    x, time, seen = lifetimes_data()
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 3.0, shape=2)
        shape = pm.HalfNormal("alpha", 3.0)
        scale = pm.math.exp(beta[0] + beta[1] * x)
        pm.Weibull("seen", shape, scale[seen], observed=time[seen])
        pm.Potential("censored", -((time[~seen] / scale[~seen]) ** shape))
    return model


def censored_data() -> tuple[np.ndarray, np.ndarray]:
    """A line cut off at both ends."""
    rng = np.random.default_rng(30)
    x = rng.uniform(-3, 3, 50)
    return x, np.clip(0.5 + 1.2 * x + rng.normal(size=50), -2.0, 3.0)


def censored_pymc() -> pm.Model:
    """Censored regression."""
    x, y = censored_data()
    with pm.Model() as model:
        line = pm.Normal("intercept", 0.0, 2.0) + pm.Normal("slope", 0.0, 2.0) * x
        noise = pm.Normal.dist(mu=line, sigma=pm.HalfNormal("sigma", 2.0))
        pm.Censored("y", noise, lower=-2.0, upper=3.0, observed=y)
    return model


def prices_data() -> np.ndarray:
    """Daily returns whose volatility wanders."""
    rng = np.random.default_rng(31)
    walk = -1.0 + np.cumsum(0.25 * rng.normal(size=50))
    return np.exp(walk) * rng.standard_t(8, 50)


def prices_pymc() -> pm.Model:
    """Stochastic volatility: a random walk of log volatilities, Student-t returns."""
    with pm.Model() as model:
        step, nu = pm.Exponential("step_size", 5.0), pm.Exponential("nu", 0.1)
        walk = pm.GaussianRandomWalk(
            "volatility", sigma=step, init_dist=pm.Normal.dist(0.0, 2.0), shape=50
        )
        pm.StudentT("returns", nu=nu, lam=pm.math.exp(-2 * walk), observed=prices_data())
    return model
