"""Targets that close on themselves or curl up: rings, shells and spirals."""

from __future__ import annotations

from math import lgamma, log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.models.model import Model
from refti.suite.box import cube
from refti.suite.normal import LOG_2_PI, log_normal
from refti.suite.target import Target, in_box

RING_CENTRE = np.array([1.0, -0.5])
RING_RADIUS, RING_WIDTH = 5.0, 0.2
REST_MEAN, REST_SCALE = np.array([0.5, -1.0, 0.0]), np.array([0.6, 1.0, 0.8])
SMALL_RADIUS, SMALL_WIDTH, LEAN = 3.0, 0.1, 0.8
SHELL_RADIUS, SHELL_WIDTH = 4.0, 0.25
TWIN_RADII, TWIN_WIDTHS, TWIN_PLACES = (2.0, 1.6), (0.1, 0.15), (-3.0, 3.2)


def ring(*, boxed: bool = False) -> Target:
    """A ring of radius 5 and width 0.2 in two of five dimensions, normals in the others.

    The density is normalised in the radius, so that its integral is 2 pi E[r] = 10 pi.
    """

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        radius = _distance(x[:2], RING_CENTRE)
        rest = jnp.sum(log_normal(x[2:], REST_MEAN, REST_SCALE))
        return log_normal(radius, RING_RADIUS, RING_WIDTH) + rest

    log_z = log(2 * pi * RING_RADIUS)
    about = "a ring of radius 5 and width 0.2 in two of five dimensions"
    if boxed:
        box = cube(9.0, 5, log_density)
        return in_box("ring_5_box", box, log_z - box.log_volume, 1, f"{about}, in a box")
    return Target("ring_5", 5, lambda: Model(log_density, dim=5), log_z, modes=1, about=about)


def ring_in_plane() -> Target:
    """A ring of radius 3 and width 0.1 in a box, nine times as high on one side as on the other."""

    def log_likelihood(x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = x - RING_CENTRE
        radius = _distance(x, RING_CENTRE)
        # The cosine of the angle to a direction integrates to 0 around the ring.
        cosine = (0.6 * u[0] - 0.8 * u[1]) / radius
        return log_normal(radius, SMALL_RADIUS, SMALL_WIDTH) + jnp.log1p(LEAN * cosine)

    box = cube(6.0, 2, log_likelihood)
    log_z = log(2 * pi * SMALL_RADIUS) - box.log_volume
    return in_box("ring_2_box", box, log_z, 1, "a ring in a plane, uneven, in a box")


def shell(dim: int, *, boxed: bool = False) -> Target:
    """The shell of a sphere of radius 4 and width 0.25."""
    centre = np.linspace(0.8, -0.5, dim)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return log_normal(_distance(x, centre), SHELL_RADIUS, SHELL_WIDTH)

    log_z = _log_shell(dim, SHELL_RADIUS, SHELL_WIDTH)
    about = f"the shell of a sphere in {dim} dimensions"
    if boxed:
        box = cube(7.0, dim, log_density)
        return in_box(f"shell_{dim}_box", box, log_z - box.log_volume, 1, f"{about}, in a box")
    return Target(f"shell_{dim}", dim, lambda: Model(log_density, dim=dim), log_z, 1, about)


def double_shell(dim: int) -> Target:
    """Two shells of unlike radii and widths, apart from each other, in a box."""
    places = np.zeros((2, dim))
    places[:, 0] = TWIN_PLACES
    radii, widths = np.array(TWIN_RADII), np.array(TWIN_WIDTHS)

    def log_likelihood(x: Float[Array, " dim"]) -> Float[Array, ""]:
        distances = jnp.sqrt(jnp.sum((x - places) ** 2, axis=1))
        return jnp.logaddexp(*log_normal(distances, radii, widths))

    box = cube(6.0, dim, log_likelihood)
    shells = [_log_shell(dim, r, w) for r, w in zip(TWIN_RADII, TWIN_WIDTHS, strict=True)]
    log_z = float(np.logaddexp.reduce(shells)) - box.log_volume
    return in_box(f"double_shell_{dim}_box", box, log_z, 2, f"two shells in a box, {dim}-D")


def spiral(dim: int) -> Target:
    """A long normal wound up: the angle of a point is turned by a quarter of its radius squared.

    The turn leaves the volume as it is. In three dimensions the third coordinate rises with the
    square of the radius.
    """
    scale, rise = np.array([2.0, 0.3]), np.array([0.2, 0.4])

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        square = jnp.sum(x[:2] ** 2)
        angle = 0.25 * square
        back = jnp.stack(
            [
                jnp.cos(angle) * x[0] + jnp.sin(angle) * x[1],
                jnp.cos(angle) * x[1] - jnp.sin(angle) * x[0],
            ]
        )
        off = (x[2:] - rise[0] * square) / rise[1]
        return -0.5 * (jnp.sum((back / scale) ** 2) + jnp.sum(off**2))

    log_z = 0.5 * dim * LOG_2_PI + float(np.log(scale).sum()) + (dim - 2) * log(rise[1])
    return Target(
        f"spiral_{dim}",
        dim,
        lambda: Model(log_density, dim=dim),
        log_z,
        modes=1,
        about="a ridge wound into two arms of a spiral",
    )


def _distance(x: Float[Array, " dim"], centre: np.ndarray) -> Float[Array, ""]:
    return jnp.sqrt(jnp.sum((x - centre) ** 2))


def _log_shell(dim: int, radius: float, width: float) -> float:
    """The log integral of a density that is normal in the distance from a point.

    That is the surface of the unit sphere times E[r^(dim - 1)], a polynomial for which
    Gauss-Hermite sums are exact; what lies below r = 0, ten widths off and more, is rounding.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(dim)
    moment = np.sum(weights * (radius + width * nodes) ** (dim - 1)) / np.sum(weights)
    return log(2) + 0.5 * dim * log(pi) - lgamma(0.5 * dim) + log(float(moment))
