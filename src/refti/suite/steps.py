"""Targets whose densities jump, which gradients do not tell of."""

from __future__ import annotations

from math import log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln, logsumexp, ndtr

from refti.models.model import Model
from refti.models.supports import interval, positive
from refti.suite.normal import LOG_2_PI
from refti.suite.target import Target

PERIODS = 40
SHAPES, RATES = np.array([2.0, 1.5]), np.array([0.6, 1.0])  # of the Gamma priors of both rates
CELL, LOW = 0.7, 0.1  # of the checkerboard
STEP = 0.5  # of the staircase, in deviations


def change_point() -> Target:
    """Forty Poisson counts whose rate jumps at an unknown time, prior and likelihood apart.

    The time enters by comparison only. Between two counts nothing depends on it, so that the
    evidence is the mean of forty conjugate ones.
    """
    counts = change_point_counts()
    times = np.arange(PERIODS)
    factorials = float(gammaln(counts + 1).sum())

    def log_prior(
        early: Float[Array, ""], late: Float[Array, ""], when: Float[Array, ""]
    ) -> Float[Array, ""]:
        rates = jnp.stack([early, late])
        gammas = SHAPES * np.log(RATES) - gammaln(SHAPES) + (SHAPES - 1) * jnp.log(rates)
        return jnp.sum(gammas - RATES * rates) - log(PERIODS) + 0.0 * when

    def log_likelihood(
        early: Float[Array, ""], late: Float[Array, ""], when: Float[Array, ""]
    ) -> Float[Array, ""]:
        rate = jnp.where(times < when, early, late)
        return jnp.sum(counts * jnp.log(rate) - rate) - factorials

    before = np.arange(1, PERIODS + 1)
    sums = np.cumsum(counts)
    seen = np.stack([sums, sums[-1] - sums], axis=1)
    exposures = np.stack([before, PERIODS - before], axis=1)
    given = np.sum(
        SHAPES * np.log(RATES)
        - gammaln(SHAPES)
        + gammaln(SHAPES + seen)
        - (SHAPES + seen) * np.log(RATES + exposures),
        axis=1,
    )
    supports = {"early": positive(), "late": positive(), "when": interval(0, PERIODS)}
    return Target(
        "change_point",
        3,
        lambda: Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports),
        float(logsumexp(given)) - log(PERIODS) - factorials,
        modes=1,
        about="Poisson counts whose rate jumps at an unknown time",
    )


def change_point_counts() -> np.ndarray:
    """Counts of rate 3.2 for 17 periods and of rate 1.4 after them."""
    rates = np.where(np.arange(PERIODS) < 17, 3.2, 1.4)
    return np.random.default_rng(8).poisson(rates).astype(float)


def checkerboard() -> Target:
    """A normal in the plane, ten times lower on the black squares of a checkerboard.

    With s(a) = 1 or -1 by turns the factor is (1 + 0.1) / 2 + (1 - 0.1) / 2 s(a) s(b), and the
    mean of s over a normal is a sum of its differences.
    """
    mean, scale = np.array([0.3, -0.8]), np.array([1.0, 1.6])

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        black = jnp.sum(jnp.floor(x / CELL)) % 2
        return -0.5 * jnp.sum(((x - mean) / scale) ** 2) + log(LOW) * black

    edges = CELL * np.arange(-60, 61)
    signs = np.where(np.arange(-60, 60) % 2 == 0, 1.0, -1.0)
    turns = [signs @ np.diff(ndtr((edges - m) / s)) for m, s in zip(mean, scale, strict=True)]
    share = 0.5 * (1 + LOW) + 0.5 * (1 - LOW) * turns[0] * turns[1]
    return Target(
        "checkerboard_2",
        2,
        lambda: Model(log_density, dim=2),
        LOG_2_PI + float(np.log(scale).sum()) + log(share),
        modes=1,
        about="a normal on a checkerboard",
    )


def staircase(dim: int) -> Target:
    """Independent coordinates, half of whose log density is a smooth bell's, half a staircase's.

    The log density of u is -u^2 / 4 - v^2 / 4, v being u rounded to steps of a half.
    """
    centre, scale = np.linspace(-0.7, 1.1, dim), np.geomspace(0.5, 3.0, dim)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = (x - centre) / scale
        return -0.25 * jnp.sum(u**2 + (STEP * jnp.round(u / STEP)) ** 2)

    steps = np.arange(-60, 61)
    edges = STEP * (np.arange(-60, 62) - 0.5) / np.sqrt(2)
    each = np.exp(-0.25 * (STEP * steps) ** 2) @ np.diff(ndtr(edges)) * np.sqrt(4 * pi)
    return Target(
        f"staircase_{dim}",
        dim,
        lambda: Model(log_density, dim=dim),
        dim * log(each) + float(np.log(scale).sum()),
        modes=1,
        about="a bell with steps",
    )
