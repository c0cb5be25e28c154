"""Grouped models after NumPyro's examples: baseball, schools, admissions, a horseshoe, a funnel.

Baseball (Efron and Morris), the eight schools and the admissions to Berkeley are public data; the
others are simulated.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.distributions import (
    Beta,
    Binomial,
    HalfCauchy,
    InverseGamma,
    Normal,
    Pareto,
    TransformedDistribution,
    Uniform,
    transforms,
)
from numpyro.infer.reparam import TransformReparam

import refti

from .groups_pymc import schools_data

HITS = np.array([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7])
AT_BAT = 45

# Departments A to F, men and then women of each: admitted, rejected.
ADMITTED = np.array([512, 89, 353, 17, 120, 202, 138, 131, 53, 94, 22, 24])
REJECTED = np.array([313, 19, 207, 8, 205, 391, 279, 244, 138, 299, 351, 317])


def baseball_numpyro() -> refti.Model:
    """Baseball, partially pooled by a beta distribution."""

    def partially_pooled() -> None:
        mean = numpyro.sample("phi", Uniform(0.0, 1.0))
        size = numpyro.sample("kappa", Pareto(1.0, 1.5))
        with numpyro.plate("player", len(HITS)):
            rate = numpyro.sample("theta", Beta(mean * size, (1 - mean) * size))
            numpyro.sample("hits", Binomial(AT_BAT, probs=rate), obs=HITS)

    return refti.from_numpyro(partially_pooled)


def baseball_logits_numpyro() -> refti.Model:
    """Baseball, partially pooled in logits, centred."""

    def partially_pooled_with_logit() -> None:
        mean = numpyro.sample("loc", Normal(-1.0, 1.0))
        spread = numpyro.sample("scale", HalfCauchy(1.0))
        with numpyro.plate("player", len(HITS)):
            logit = numpyro.sample("alpha", Normal(mean, spread))
            numpyro.sample("hits", Binomial(AT_BAT, logits=logit), obs=HITS)

    return refti.from_numpyro(partially_pooled_with_logit)


def schools_numpyro() -> refti.Model:
    """Eight schools, non-centred by TransformReparam as in NumPyro's readme."""
    y, known = schools_data()

    def eight_schools() -> None:
        mean, spread = numpyro.sample("mu", Normal(0, 5)), numpyro.sample("tau", HalfCauchy(5))
        effects = TransformedDistribution(
            Normal(0.0, 1.0), transforms.AffineTransform(mean, spread)
        )
        with numpyro.plate("school", 8):
            with numpyro.handlers.reparam(config={"theta": TransformReparam()}):
                theta = numpyro.sample("theta", effects)
            numpyro.sample("obs", Normal(theta, known), obs=y)

    return refti.from_numpyro(eight_schools)


def schools_centred_numpyro() -> refti.Model:
    """Eight schools, centred."""
    y, known = schools_data()

    def eight_schools() -> None:
        mean, spread = numpyro.sample("mu", Normal(0, 5)), numpyro.sample("tau", HalfCauchy(5))
        with numpyro.plate("school", 8):
            theta = numpyro.sample("theta", Normal(mean, spread))
            numpyro.sample("obs", Normal(theta, known), obs=y)

    return refti.from_numpyro(eight_schools)


def admissions_numpyro() -> refti.Model:
    """Admissions to Berkeley: a logistic regression with departments, centred."""
    department, male = np.repeat(np.arange(6), 2), np.tile([1.0, 0.0], 6)

    def admissions() -> None:
        mean, spread = numpyro.sample("a", Normal(0, 1)), numpyro.sample("sigma", HalfCauchy(1))
        gap = numpyro.sample("bm", Normal(0, 1))
        with numpyro.plate("department", 6):
            level = numpyro.sample("a_dept", Normal(mean, spread))
        logit = level[department] + gap * male
        numpyro.sample("admitted", Binomial(ADMITTED + REJECTED, logits=logit), obs=ADMITTED)

    return refti.from_numpyro(admissions)


def horseshoe_data() -> tuple[np.ndarray, np.ndarray]:
    """Four covariates of which one matters."""
    rng = np.random.default_rng(51)
    x = rng.normal(size=(25, 4))
    return x, 1.5 * x[:, 0] + 0.7 * rng.normal(size=25)


def horseshoe_numpyro() -> refti.Model:
    """Horseshoe regression, non-centred."""
    x, y = horseshoe_data()

    def horseshoe() -> None:
        local = numpyro.sample("lambdas", HalfCauchy(jnp.ones(4)).to_event(1))
        overall = numpyro.sample("tau", HalfCauchy(1.0))
        raw = numpyro.sample("unscaled_betas", Normal(jnp.zeros(4), 1.0).to_event(1))
        variance = numpyro.sample("variance", InverseGamma(3.0, 1.0))
        beta = numpyro.deterministic("betas", overall * local * raw)
        numpyro.sample("y", Normal(x @ beta, jnp.sqrt(variance)), obs=y)

    return refti.from_numpyro(horseshoe)


def funnel_numpyro() -> refti.Model:
    """Neal's funnel in ten dimensions, without data: its evidence is 1."""

    def funnel() -> None:
        y = numpyro.sample("y", Normal(0.0, 3.0))
        numpyro.sample("x", Normal(jnp.zeros(9), jnp.exp(y / 2)).to_event(1))

    return refti.from_numpyro(funnel)


def network_data() -> tuple[np.ndarray, np.ndarray]:
    """A curve with noise."""
    rng = np.random.default_rng(52)
    x = np.linspace(-1.5, 1.5, 15)
    return x, np.tanh(2 * x) + 0.3 * rng.normal(size=15)


def network_numpyro() -> refti.Model:
    """A Bayesian neural network of two hidden units: eight images of every mode."""
    x, y = network_data()

    def network() -> None:
        first = numpyro.sample("w1", Normal(jnp.zeros((2, 2)), 1.0).to_event(2))
        second = numpyro.sample("w2", Normal(jnp.zeros(2), 1.0).to_event(1))
        precision = numpyro.sample("prec_obs", numpyro.distributions.Gamma(3.0, 1.0))
        hidden = jnp.tanh(jnp.stack([jnp.ones(len(x)), x], axis=1) @ first)
        numpyro.sample("y", Normal(hidden @ second, 1 / jnp.sqrt(precision)), obs=y)

    return refti.from_numpyro(network)
