"""Targets that no single covariance describes: funnel, bananas, cuts and two modes."""

from __future__ import annotations

from math import log

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from refti.models.model import Model
from refti.suite.normal import LOG_2_PI
from refti.suite.target import Target

CUT = 0.3
CUT_FACTOR = np.array(
    [
        [1.2, 0.0, 0.0, 0.0, 0.0],
        [0.9, 0.7, 0.0, 0.0, 0.0],
        [-0.4, 0.3, 2.0, 0.0, 0.0],
        [0.0, -0.5, 0.6, 0.4, 0.0],
        [0.3, 0.0, -1.0, 0.2, 1.1],
    ]
)


def funnel(dim: int = 10, scale: float = 3.0) -> Target:
    """Neal's funnel: x[0] is normal, the others are normal with the variance exp(x[0])."""

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        neck, rest = x[0], x[1:]
        return -0.5 * ((neck / scale) ** 2 + jnp.sum(rest**2) * jnp.exp(-neck) + len(rest) * neck)

    return Target(
        f"funnel_{dim}",
        dim,
        lambda: Model(log_density, dim=dim),
        0.5 * dim * LOG_2_PI + log(scale),
        modes=1,
        about=f"Neal's funnel of scale {scale:g}",
    )


def banana(dim: int) -> Target:
    """Pairs (a, b) in which b follows a parabola of a, all of them turned together.

    a is normal about 0.5 with the scale s, and b is normal about curvature * (a^2 - s^2). The
    rotation leaves the volume as it is.
    """
    pairs = dim // 2
    scale, width = np.linspace(2.0, 1.0, pairs), np.linspace(0.6, 0.9, pairs)
    curvature = np.linspace(0.3, 0.6, pairs)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(dim, dim)))[0]

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        a, b = jnp.split(turn @ x, 2)
        off = b - curvature * (a**2 - scale**2)
        return -0.5 * jnp.sum(((a - 0.5) / scale) ** 2 + (off / width) ** 2)

    log_z = 0.5 * dim * LOG_2_PI + np.log(scale).sum() + np.log(width).sum()
    return Target(
        f"banana_{dim}",
        dim,
        lambda: Model(log_density, dim=dim),
        float(log_z),
        modes=1,
        about="curved ridges",
    )


def rosenbrock(dim: int, *, slanting: bool = False) -> Target:
    """Curved valleys from one stem: x[0] is normal, and all others hang on it in chains of two.

    The first of a chain is normal about 0.5 x[0]^2, the second about 0.5 times the first's square:
    the hybrid Rosenbrock density of Pagani, Wiegand and Nadarajah (2022), of other widths.
    Slanting ones are turned, so that no coordinate is one of these.
    """
    widths = np.geomspace(0.6, 0.3, dim - 1)
    parents = np.array([0 if i % 2 == 0 else i for i in range(dim - 1)])  # of x[1], x[2], ...
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(dim, dim)))[0]

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        x = jnp.asarray(turn) @ x if slanting else x
        off = x[1:] - 0.5 * x[parents] ** 2
        return -0.5 * ((x[0] - 1) ** 2 + jnp.sum((off / widths) ** 2))

    return Target(
        f"rosenbrock_{dim}{'_slanting' * slanting}",
        dim,
        lambda: Model(log_density, dim=dim),
        0.5 * dim * LOG_2_PI + float(np.log(widths).sum()),
        modes=1,
        about=f"curved valleys that curve again{', at a slant' * slanting}",
    )


def cut_gaussian(outside: float = -np.inf) -> Target:
    """A correlated Gaussian cut at x[0] >= 0.3, of which only the density's values tell."""
    inverse = np.linalg.inv(CUT_FACTOR)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        inside = 1.7 - 0.5 * jnp.sum((inverse @ x) ** 2)
        return jnp.where(x[0] >= CUT, inside, outside)

    share = special.log_ndtr(-CUT / CUT_FACTOR[0, 0])
    log_z = 1.7 + 2.5 * LOG_2_PI + np.log(np.diag(CUT_FACTOR)).sum() + share
    beyond = "NaN" if np.isnan(outside) else "zero"
    return Target(
        "cut_gaussian" if beyond == "zero" else "cut_gaussian_nan",
        5,
        lambda: Model(log_density, dim=5, start=[1.0, 0.5, 0.0, 0.0, 0.0]),
        float(log_z),
        modes=1,
        about=f"undeclared support, {beyond} beyond the cut",
    )


def bimodal(dim: int, distance: float, weight: float) -> Target:
    """Two normals whose means are `distance` apart; the first has the share `weight`.

    The first has the unit covariance, in whose standard deviations the distance counts; the
    second is up to 1.4 times wider or narrower, coordinate by coordinate. Neither sits at the
    start.
    """
    direction = np.linspace(1.0, 2.0, dim)
    direction /= np.linalg.norm(direction)
    means = distance * np.array([[-0.4], [0.6]]) * direction
    scales = np.stack([np.ones(dim), np.geomspace(0.7, 1.4, dim)])
    # As one array: mixtures of different weights and distances are then the same program.
    heights = np.log([weight, 1 - weight]) - np.log(scales).sum(axis=1) - 0.5 * dim * LOG_2_PI

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        squares = jnp.sum(((x - means) / scales) ** 2, axis=1)
        return jax.nn.logsumexp(heights - 0.5 * squares) - 3.2

    return Target(
        f"bimodal_{dim}d_{distance:g}sd_{100 * weight:g}",
        dim,
        lambda: Model(log_density, dim=dim),
        -3.2,
        modes=2,
        about=f"two modes {distance:g} sd apart, {100 * weight:g} % in one",
    )
