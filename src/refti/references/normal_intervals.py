"""The standard normal on an interval: its mass and its quantiles, at any distance from zero."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, Int


def log_normal_mass(a: Float[Array, "*shape"], b: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """log(Phi(b) - Phi(a)), the log share of a standard normal between a < b.

    Exact to rounding wherever the interval is: nearly everything, far in either tail, or narrow.
    Each of three forms keeps the digits that the other two would cancel away.
    """
    # Reflected where needed, so that the interval's middle is not above zero.
    a, b = jnp.where(a + b > 0, -b, a), jnp.where(a + b > 0, -a, b)
    middle, half_width = 0.5 * (a + b), 0.5 * (b - a)
    around_centre = jnp.log1p(-ndtr(a) - ndtr(-b))
    in_tail = log_lower_tail(b) + jnp.log1p(-jnp.exp(log_lower_tail(a) - log_lower_tail(b)))
    is_narrow = half_width * (1 + jnp.abs(middle)) < 2
    narrow = _narrow_log_mass(middle, half_width)
    return jnp.where(is_narrow, narrow, jnp.where(b > 0, around_centre, in_tail))


def truncated_standard_normal(
    u: Float[Array, "*shape"], a: Float[Array, "*shape"], b: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """The point of [a, b] below which lies the share u of a standard normal cut to [a, b].

    Works from whichever tail is the lighter, so that it is as exact at 40 standard deviations as
    at one. `u` must lie strictly between 0 and 1.
    """
    log_mass = log_normal_mass(a, b)
    below = jnp.logaddexp(log_lower_tail(a), jnp.log(u) + log_mass)
    above = jnp.logaddexp(log_lower_tail(-b), jnp.log1p(-u) + log_mass)
    quantile = _inverse_log_lower_tail(jnp.minimum(below, above))
    return jnp.clip(jnp.where(below < above, quantile, -quantile), a, b)


def log_lower_tail(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """log Phi(x), to rounding for x <= 0."""
    # The default of three terms in the asymptotic series is good to 2e-11 only, at x = -20.
    return jax.scipy.special.log_ndtr(x, series_order=10)


def _narrow_log_mass(
    middle: Float[Array, "*shape"], half_width: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """The log mass by Gauss-Legendre quadrature about the middle, where nothing cancels."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    steps = half_width[..., None] * nodes
    heights = jnp.exp(-steps * (middle[..., None] + 0.5 * steps))
    integral = half_width * jnp.sum(weights * heights, axis=-1)
    return jnp.log(integral) - 0.5 * middle**2 - 0.5 * np.log(2 * np.pi)


def _inverse_log_lower_tail(log_share: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The x <= 0 of log Phi(x) = log_share."""
    # The share itself underflows beyond 37 standard deviations: start from the first terms of
    # the tail's expansion there, which Newton's steps on the nearly parabolic log Phi polish.
    double = -2 * jnp.minimum(log_share, -100.0) - np.log(2 * np.pi)
    far = -jnp.sqrt(double - jnp.log(double))
    x = jnp.where(log_share < -100.0, far, ndtri(jnp.exp(jnp.minimum(log_share, np.log(0.5)))))

    def newton(_: Int[Array, ""], x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        log_value = log_lower_tail(x)
        log_slope = -0.5 * x**2 - 0.5 * np.log(2 * np.pi) - log_value
        return x - (log_value - log_share) * jnp.exp(-log_slope)

    return jax.lax.fori_loop(0, 3, newton, x)
