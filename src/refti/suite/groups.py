"""Centred hierarchies with an unknown scale: funnels as data make them.

Group i was measured as y[i] with the error s[i]; its value theta[i] is normal about mu with the
scale tau, which is half-Cauchy. As tau falls to 0 the groups close in on mu and the density
rises without bound, over a volume that vanishes faster.
"""

from __future__ import annotations

from math import log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp

from refti.models.model import Model
from refti.models.supports import positive, real
from refti.suite.normal import log_normal
from refti.suite.target import Target

# Rubin's eight schools: effects of coaching and their standard errors.
SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOL_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools() -> Target:
    """Eight schools, centred: mu normal and tau half-Cauchy, both of scale 5."""
    return _hierarchy(
        "eight_schools", SCHOOLS, SCHOOL_ERRORS, 5.0, "eight schools, centred, half-Cauchy scale"
    )


def centred(groups: int, spread: float) -> Target:
    """Groups that were drawn with the scale `spread` about 1.5 and measured with errors near 1."""
    measured, errors = measurements(groups, spread)
    about = f"{groups} groups of spread {spread:g}, centred, half-Cauchy scale"
    return _hierarchy(f"centred_{groups}", measured, errors, 2.0, about)


def measurements(groups: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Measured values of the groups and their errors."""
    rng = np.random.default_rng(groups)
    errors = np.linspace(0.6, 1.4, groups)
    return 1.5 + np.hypot(spread, errors) * rng.normal(size=groups), errors


def _hierarchy(
    name: str, measured: np.ndarray, errors: np.ndarray, scale: float, about: str
) -> Target:
    groups = len(measured)

    def log_density(
        mu: Float[Array, ""], tau: Float[Array, ""], theta: Float[Array, " group"]
    ) -> Float[Array, ""]:
        return (
            log_normal(mu, 0.0, scale)
            + log(2 / (pi * scale))
            - jnp.log1p((tau / scale) ** 2)
            + jnp.sum(log_normal(theta, mu, tau))
            + jnp.sum(log_normal(measured, theta, errors))
        )

    supports = {"mu": real(), "tau": positive(), "theta": real(shape=(groups,))}
    return Target(
        name,
        groups + 2,
        lambda: Model(log_density, supports),
        _log_z(measured, errors, scale),
        modes=1,
        about=about,
    )


def _log_z(measured: np.ndarray, errors: np.ndarray, scale: float) -> float:
    """The log evidence: given tau all is normal, and a trapezoid sum over log tau is exact."""
    log_tau = np.linspace(-40.0, 12.0, 2081)
    tau = np.exp(log_tau)
    variances = errors**2 + tau[:, None] ** 2
    normal = -0.5 * np.sum(np.log(2 * pi * variances) + measured**2 / variances, axis=1)
    precision = scale**-2 + np.sum(1 / variances, axis=1)
    pull = np.sum(measured / variances, axis=1)
    given = normal - 0.5 * np.log(scale**2 * precision) + 0.5 * pull**2 / precision
    log_prior = log(2 / (pi * scale)) - np.log1p((tau / scale) ** 2)
    return float(logsumexp(given + log_prior + log_tau)) + log(log_tau[1] - log_tau[0])
