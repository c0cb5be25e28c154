"""Targets of two to a hundred modes, of unlike widths and weights, far apart or in one another."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp

from refti.models.model import Model
from refti.suite.box import Box, cube
from refti.suite.normal import LOG_2_PI
from refti.suite.target import Target, in_box

HEIGHT = 1.3


@dataclass(frozen=True, eq=False)
class Normals:
    """The parts of a mixture of round normals: means[mode, dim], widths[mode], weights[mode]."""

    means: np.ndarray
    widths: np.ndarray
    weights: np.ndarray

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The normalised log density of the mixture."""
        dim = self.means.shape[1]
        heights = np.log(self.weights) - dim * np.log(self.widths) - 0.5 * dim * LOG_2_PI
        squares = jnp.sum((x - self.means) ** 2, axis=1) / self.widths**2
        return jax.nn.logsumexp(heights - 0.5 * squares)


def two_widths(dim: int) -> Target:
    """Two normals of equal weight 15 apart, of widths 1 and 0.5."""
    direction = np.linspace(1.0, 2.0, dim)
    direction /= np.linalg.norm(direction)
    means = np.outer([-6.0, 9.0], direction)
    parts = Normals(means, np.array([1.0, 0.5]), np.array([0.5, 0.5]))
    return _free(f"two_widths_{dim}", parts, "two modes 15 sd apart, one half as wide")


def two_widths_in_box() -> Target:
    """Two normals of equal weight and of widths 1 and 0.3 in a box of side 20, 13 apart."""
    means = np.array([[-2.5, -2.0, -3.0, -2.5, -2.0], [3.5, 3.0, 3.5, 4.0, 3.0]])
    parts = Normals(means, np.array([1.0, 0.3]), np.array([0.5, 0.5]))
    about = "two modes in a box, one a third as wide"
    return _boxed("two_widths_5_box", parts, cube(10.0, 5, parts.log_density), about)


def mixture(modes: int, dim: int, *, boxed: bool = False) -> Target:
    """Round normals at random places, each several widths from every other."""
    parts = scattered(modes, dim)
    name = f"mixture_{modes}_{dim}d"
    about = f"{modes} modes of unlike widths and weights"
    if not boxed:
        return _free(name, parts, about)
    half = float(np.ceil(np.abs(parts.means).max() + 8))
    box = cube(half, dim, parts.log_density)
    return _boxed(f"{name}_box", parts, box, f"{about}, in a box")


def grid_of_modes() -> Target:
    """Twenty-five normals of equal weight on a grid of five by five, in a box."""
    places = 4.0 * (np.arange(5) - 1.8)
    means = np.array([[a, b] for a in places for b in places])
    parts = Normals(means, np.linspace(0.25, 0.5, 25), np.full(25, 1 / 25))
    return _boxed("grid_25_box", parts, cube(14.0, 2, parts.log_density), "25 modes on a grid")


def eggbox() -> Target:
    """(2 + cos(a / 2) cos(b / 2))^5 as a log likelihood, a and b between 0 and 10 pi.

    The integrand is even about both ends of the box, hence periodic, and the trapezoid rule is
    exact to rounding.
    """

    def log_likelihood(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return (2 + jnp.prod(jnp.cos(x / 2))) ** 5

    cosines = np.cos(np.linspace(0, 10 * pi, 601) / 2)
    weights = np.full(601, 1 / 600)
    weights[[0, -1]] /= 2
    values = (2 + np.multiply.outer(cosines, cosines)) ** 5
    log_z = float(logsumexp(values, b=np.multiply.outer(weights, weights)))
    box = Box(((0.0, 10 * pi),) * 2, log_likelihood)
    return in_box("eggbox", box, log_z, 18, "the usual eggbox of 18 modes")


def needle(dim: int) -> Target:
    """A needle of width 0.05 that holds 30 % of the mass, two deviations off a normal's centre."""
    off = np.linspace(1.0, 2.0, dim)
    means = np.stack([np.full(dim, -0.5), 2 * off / np.linalg.norm(off) - 0.5])
    parts = Normals(means, np.array([1.0, 0.05]), np.array([0.7, 0.3]))
    return _free(f"needle_{dim}", parts, "a needle in a hump")


def spike_in_slab(dim: int) -> Target:
    """A spike a tenth as wide as the normal in whose middle it stands, with 30 % of the mass.

    Every climb ends on the spike, and from there chains do not come to the rest.
    """
    parts = Normals(np.full((2, dim), 0.5), np.array([1.0, 0.1]), np.array([0.7, 0.3]))
    return _free(f"spike_in_slab_{dim}", parts, "a spike in the middle of a slab")


def spike_in_slab_and_far(dim: int) -> Target:
    """A spike in the middle of a slab, and a mode half as wide as the slab, 25 of it away.

    That is 250 spreads of the spike: climbs have to set out about the slab to come there.
    """
    off = np.linspace(1.0, 2.0, dim)
    means = np.full((3, dim), 0.5)
    means[2] -= 25 * off / np.linalg.norm(off)
    parts = Normals(means, np.array([1.0, 0.1, 0.5]), np.array([0.4, 0.3, 0.3]))
    about = "a spike in a slab, and a mode far from both"
    return _free(f"spike_in_slab_and_far_{dim}", parts, about)


def nested_normals(dim: int) -> Target:
    """Three normals about one point, each a tenth as wide as the one before."""
    parts = Normals(np.zeros((3, dim)), np.array([1.0, 0.1, 0.01]), np.array([0.5, 0.3, 0.2]))
    return _free(f"nested_normals_{dim}", parts, "normals within normals")


def scattered(modes: int, dim: int) -> Normals:
    """Normals of widths 0.4 to 1.2, the largest with five times the weight of the smallest.

    Places are drawn one after the other, and drawn again if nearer to an earlier one than four
    times the sum of both widths.
    """
    rng = np.random.default_rng([modes, dim])
    widths = rng.permutation(np.geomspace(0.4, 1.2, modes))
    weights = rng.permutation(np.geomspace(1.0, 0.2, modes))
    half = 5.0 * modes ** (1 / dim)
    places: list[np.ndarray] = []
    while len(places) < modes:
        place = rng.uniform(-half, half, size=dim) + 0.2 * half
        reach = 4 * (widths[: len(places)] + widths[len(places)])
        if all(np.linalg.norm(place - other) > r for other, r in zip(places, reach, strict=True)):
            places.append(place)
    return Normals(np.array(places), widths, weights / weights.sum())


def _free(name: str, parts: Normals, about: str) -> Target:
    """The mixture on all of space, times a constant."""
    dim = parts.means.shape[1]

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return parts.log_density(x) + HEIGHT

    return Target(name, dim, lambda: Model(log_density, dim=dim), HEIGHT, len(parts.means), about)


def _boxed(name: str, parts: Normals, box: Box, about: str) -> Target:
    """The mixture as a likelihood in a box, every mode six widths or more from its sides."""
    return in_box(name, box, -box.log_volume, len(parts.means), about)
