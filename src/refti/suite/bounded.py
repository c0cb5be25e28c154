"""Targets with declared supports: intervals, simplices, orders, correlation matrices."""

from __future__ import annotations

from math import lgamma, log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import betaln, gammaln

from refti.models.model import Model
from refti.models.supports import correlation_cholesky, interval, lower, positive, simplex, upper
from refti.models.supports import ordered as increasing
from refti.suite.normal import LOG_2_PI
from refti.suite.target import Target

LKJ_SIZE, LKJ_CONCENTRATION = 3, 1.7


def beta_on_2_5() -> Target:
    """(u - 2)^1.5 (5 - u)^0.5 between 2 and 5."""

    def log_density(u: Float[Array, ""]) -> Float[Array, ""]:
        return 1.5 * jnp.log(u - 2) + 0.5 * jnp.log(5 - u)

    return Target(
        "beta_on_2_5",
        1,
        lambda: Model(log_density, {"u": interval(2, 5)}),
        3 * log(3) + float(betaln(2.5, 1.5)),
        modes=1,
        about="one bounded parameter",
    )


def beta_half() -> Target:
    """(u + 1)^-0.5 (3 - u)^0.5 between -1 and 3, infinitely high at its lower bound."""

    def log_density(u: Float[Array, ""]) -> Float[Array, ""]:
        return -0.5 * jnp.log(u + 1) + 0.5 * jnp.log(3 - u)

    return Target(
        "beta_half",
        1,
        lambda: Model(log_density, {"u": interval(-1, 3)}),
        log(4) + float(betaln(0.5, 1.5)),
        modes=1,
        about="one bounded parameter, infinite density at a bound",
    )


def bounded() -> Target:
    """A half-normal, a Gamma above 1, one below 3 and two Betas on (2, 5), independent."""

    def log_density(values: dict[str, Float[Array, "..."]]) -> Float[Array, ""]:
        above, below, share = values["above"] - 1, 3 - values["below"], values["share"]
        return (
            -0.5 * (values["scale"] / 0.8) ** 2
            + 2 * jnp.log(above)
            - 0.5 * above
            + 1.5 * jnp.log(below)
            - 2 * below
            + jnp.sum(1.5 * jnp.log(share - 2) + 0.5 * jnp.log(5 - share))
        )

    supports = {
        "scale": positive(),
        "above": lower(1),
        "below": upper(3),
        "share": interval(2, 5, shape=(2,)),
    }
    half_normal = log(0.8) + 0.5 * LOG_2_PI - log(2)
    gammas = lgamma(3) + 3 * log(2) + lgamma(2.5) - 2.5 * log(2)
    betas = 2 * (3 * log(3) + float(betaln(2.5, 1.5)))
    return Target(
        "bounded",
        5,
        lambda: Model(log_density, supports),
        half_normal + gammas + betas,
        modes=1,
        about="half-normal, Gammas and Betas at their bounds",
    )


def dirichlet(size: int) -> Target:
    """A Dirichlet density without its constant; concentrations from 0.7 to 5."""
    concentrations = np.linspace(0.7, 5.0, size)

    def log_density(p: Float[Array, " size"]) -> Float[Array, ""]:
        return jnp.sum((concentrations - 1) * jnp.log(p))

    log_z = gammaln(concentrations).sum() - lgamma(concentrations.sum())
    return Target(
        f"dirichlet_{size}",
        size - 1,
        lambda: Model(log_density, {"p": simplex(size)}),
        float(log_z),
        modes=1,
        about=f"simplex of {size} shares",
    )


def ordered() -> Target:
    """Three normals of scale 2 about 1, in increasing order: a sixth of their cube's mass."""

    def log_density(c: Float[Array, " size"]) -> Float[Array, ""]:
        return -0.5 * jnp.sum(((c - 1) / 2) ** 2)

    return Target(
        "ordered",
        3,
        lambda: Model(log_density, {"c": increasing(3)}),
        3 * (log(2) + 0.5 * LOG_2_PI) - log(6),
        modes=1,
        about="three increasing values",
    )


def lkj() -> Target:
    """The LKJ density of the Cholesky factor of a correlation matrix, without its constant.

    Row i = 2, ..., n is a point of the unit ball in i - 1 dimensions with density
    (1 - |row|^2)^c, c = (n - i) / 2 + concentration - 1, since its last entry is the rest.
    """
    rows = np.arange(2, LKJ_SIZE + 1)
    powers = 0.5 * (LKJ_SIZE - rows) + LKJ_CONCENTRATION - 1

    def log_density(factor: Float[Array, "size size"]) -> Float[Array, ""]:
        return 2 * jnp.sum(powers * jnp.log(jnp.diagonal(factor)[1:]))

    balls = 0.5 * (rows - 1)
    log_z = np.sum(balls * log(pi) + gammaln(powers + 1) - gammaln(powers + 1 + balls))
    return Target(
        "lkj",
        LKJ_SIZE * (LKJ_SIZE - 1) // 2,
        lambda: Model(log_density, {"factor": correlation_cholesky(LKJ_SIZE)}),
        float(log_z),
        modes=1,
        about="correlation matrix of three variables",
    )
