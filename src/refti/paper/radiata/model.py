"""Radiata pine: two regressions of strength on density, with their exact evidences.

Data: 42 specimens, Williams (1959), Regression Analysis. Priors: Friel and Wyse (2012).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import Gamma, Normal

import refti

EXACT_LOG_Z = {"density": -310.1282855367, "adjusted_density": -301.7046021344}

# strength, density, density adjusted for resin content
SPECIMENS = np.array(
    [
        (3040, 29.2, 25.4),
        (2470, 24.7, 22.2),
        (3610, 32.3, 32.2),
        (3480, 31.3, 31),
        (3810, 31.5, 30.9),
        (2330, 24.5, 23.9),
        (1800, 19.9, 19.2),
        (3110, 27.3, 27.2),
        (3670, 32.3, 29),
        (2310, 24, 23.9),
        (4360, 33.8, 33.2),
        (1880, 21.5, 21),
        (3670, 32.2, 29),
        (1740, 22.5, 22),
        (2250, 27.5, 23.8),
        (2650, 25.6, 25.3),
        (4970, 34.5, 34.2),
        (2620, 26.2, 25.7),
        (2900, 26.7, 26.4),
        (1670, 21.1, 20),
        (2540, 24.1, 23.9),
        (3840, 30.7, 30.7),
        (3800, 32.7, 32.6),
        (4600, 32.6, 32.5),
        (1900, 22.1, 20.8),
        (2530, 25.3, 23.1),
        (2920, 30.8, 29.8),
        (4990, 38.9, 38.1),
        (1670, 22.1, 21.3),
        (3310, 29.2, 28.5),
        (3450, 30.1, 29.2),
        (3600, 31.4, 31.4),
        (2850, 26.7, 25.9),
        (1590, 22.1, 21.4),
        (3770, 30.3, 29.8),
        (3850, 32, 30.6),
        (2480, 23.2, 22.6),
        (3570, 30.3, 30.3),
        (2620, 29.9, 23.8),
        (1890, 20.8, 18.4),
        (3030, 33.2, 29.4),
        (3030, 28.2, 28.2),
    ]
)


def log_prior(
    alpha: Float[Array, ""], beta: Float[Array, ""], tau: Float[Array, ""]
) -> Float[Array, ""]:
    """Normal priors of intercept and slope given the precision, Gamma prior of the precision."""
    return (
        Gamma(3.0, 2 * 300.0**2).log_prob(tau)
        + Normal(3000.0, 1 / jnp.sqrt(0.06 * tau)).log_prob(alpha)
        + Normal(185.0, 1 / jnp.sqrt(6.0 * tau)).log_prob(beta)
    )


def regression(column: int) -> refti.Model:
    """The regression of strength on one column of the specimens, centred at its mean."""
    strength, covariate = SPECIMENS[:, 0], SPECIMENS[:, column]
    centred = covariate - covariate.mean()

    def log_likelihood(
        alpha: Float[Array, ""], beta: Float[Array, ""], tau: Float[Array, ""]
    ) -> Float[Array, ""]:
        return jnp.sum(Normal(alpha + beta * centred, 1 / jnp.sqrt(tau)).log_prob(strength))

    return refti.Model(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        parameters={"alpha": refti.real(), "beta": refti.real(), "tau": refti.positive()},
    )


def density() -> refti.Model:
    """Model 1: strength on density."""
    return regression(1)


def adjusted_density() -> refti.Model:
    """Model 2: strength on density adjusted for resin content."""
    return regression(2)
