"""Hierarchies of normal groups: centred, non-centred, and with an unknown scale.

Group i was measured as y[i] with the error s[i]; its value theta[i] is normal about mu with the
scale tau, and mu is normal about 0 with the scale 100: a nearly flat prior.
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

GROUPS = 12
MEASURED = np.array([21.0, 4.0, -7.5, 9.0, 2.5, -1.0, 16.0, 24.0, 6.0, 11.5, -4.0, 13.0])
ERRORS = np.array([14.0, 9.0, 17.0, 8.0, 6.0, 12.0, 10.0, 19.0, 5.0, 7.0, 13.0, 7.5])
PRIOR_SCALE = 100.0  # of mu
TAU = 4.0  # where it is known
TAU_SCALE = 10.0  # of the half-normal prior of tau where it is not


def hierarchy(*, centred: bool) -> Target:
    """Twelve groups with a known scale tau; every density is normal."""

    def log_density(mu: Float[Array, ""], group: Float[Array, " group"]) -> Float[Array, ""]:
        if centred:
            prior, theta = jnp.sum(log_normal(group, mu, TAU)), group
        else:
            prior, theta = jnp.sum(log_normal(group, 0.0, 1.0)), mu + TAU * group
        return log_normal(mu, 0.0, PRIOR_SCALE) + prior + _log_likelihood(theta)

    how = "centred" if centred else "non-centred"
    return Target(
        "hierarchy_centred" if centred else "hierarchy_non_centred",
        1 + GROUPS,
        lambda: Model(log_density, {"mu": real(), "group": real(shape=(GROUPS,))}),
        float(_log_z(np.array(TAU))),
        modes=1,
        about=f"hierarchy with a nearly flat mean, {how}",
    )


def hierarchy_scale() -> Target:
    """Twelve groups, non-centred, whose scale tau is half-normal and hardly known.

    Given tau all is normal; what is left is one smooth integral over log tau, whose trapezoid
    sum is exact to rounding.
    """

    def log_density(
        mu: Float[Array, ""], tau: Float[Array, ""], group: Float[Array, " group"]
    ) -> Float[Array, ""]:
        return (
            log_normal(mu, 0.0, PRIOR_SCALE)
            + log(2)
            + log_normal(tau, 0.0, TAU_SCALE)
            + jnp.sum(log_normal(group, 0.0, 1.0))
            + _log_likelihood(mu + tau * group)
        )

    log_tau = np.linspace(-32.0, 6.0, 2001)
    tau = np.exp(log_tau)
    log_prior = 0.5 * log(2 / pi) - log(TAU_SCALE) - 0.5 * (tau / TAU_SCALE) ** 2
    masses = log_prior + _log_z(tau) + log_tau
    supports = {"mu": real(), "tau": positive(), "group": real(shape=(GROUPS,))}
    return Target(
        "hierarchy_scale",
        2 + GROUPS,
        lambda: Model(log_density, supports),
        float(logsumexp(masses)) + log(log_tau[1] - log_tau[0]),
        modes=1,
        about="hierarchy with an unknown scale, non-centred",
    )


def _log_z(tau: np.ndarray) -> np.ndarray:
    """The log density of the measurements given tau, with mu and the groups integrated out."""
    variances = ERRORS**2 + tau[..., None] ** 2
    normal = -0.5 * np.sum(np.log(2 * pi * variances) + MEASURED**2 / variances, axis=-1)
    precision = PRIOR_SCALE**-2 + np.sum(1 / variances, axis=-1)
    pull = np.sum(MEASURED / variances, axis=-1)
    return normal - 0.5 * np.log(PRIOR_SCALE**2 * precision) + 0.5 * pull**2 / precision


def _log_likelihood(theta: Float[Array, " group"]) -> Float[Array, ""]:
    return jnp.sum(log_normal(MEASURED, theta, ERRORS))
