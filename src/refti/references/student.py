"""Student-t references: a Gaussian's ellipsoids with heavier tails."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import optimize, special

from refti.references.base import in_64_bits
from refti.references.family import FitInputs
from refti.references.gaussian import invert_lower, square_distances
from refti.references.level import match_level
from refti.references.shrinkage import (
    Shrinkage,
    best_shrinkage,
    into_frame,
    out_of_frame,
    require_covariance,
)
from refti.tuning import tuned


@dataclass(frozen=True)
class StudentTuning:
    """Numbers of the fit of a Student-t."""

    fewest_degrees: float = tuned(
        2.1, "below two the variance is infinite, and with it the noise of every estimate"
    )
    most_degrees: float = tuned(200.0, "from where on the density is a Gaussian for all purposes")
    first_degrees: float = tuned(10.0, "that the search begins with")
    fewest_draws: int = tuned(8, "of which degrees are found; fewer are taken for a Gaussian's")
    searches: int = tuned(3, "for the degrees, each with the location and scale of the last")
    same_degrees: float = tuned(0.1, "change of their logarithm below which a search was the last")
    rounds: int = tuned(40, "of reweighting at the most")
    settled: float = tuned(1e-3, "relative change of the weights below which a round was the last")


TUNING = StudentTuning()


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "factor", "inverse_factor", "degrees", "log_z"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Student:
    """exp(log_z) times the multivariate Student-t density.

    `factor` is the lower Cholesky factor of the scale matrix, which the covariance is
    degrees / (degrees - 2) times; `inverse_factor` is its inverse.
    """

    mean: Float[Array, " dim"]
    factor: Float[Array, "dim dim"]
    inverse_factor: Float[Array, "dim dim"]
    degrees: Float[Array, ""]
    log_z: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        dim, degrees = len(self.mean), self.degrees
        whitened = self.inverse_factor @ (x - self.mean)
        log_constant = (
            jax.scipy.special.gammaln(0.5 * (degrees + dim))
            - jax.scipy.special.gammaln(0.5 * degrees)
            - 0.5 * dim * jnp.log(jnp.pi * degrees)
            - jnp.sum(jnp.log(jnp.abs(jnp.diagonal(self.factor))))
        )
        square = jnp.dot(whitened, whitened)
        return self.log_z + log_constant - 0.5 * (degrees + dim) * jnp.log1p(square / degrees)

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw: a normal one over the root of a chi-square's share."""
        normal_key, chi_key = jax.random.split(key)
        normal = jax.random.normal(normal_key, self.mean.shape, self.mean.dtype)
        half = 0.5 * jnp.asarray(self.degrees)
        # By its logarithm, because a share that rounds to zero would put the draw at infinity.
        log_share = jax.random.loggamma(chi_key, half, dtype=self.mean.dtype) - jnp.log(half)
        return self.mean + self.factor @ normal * jnp.exp(-0.5 * log_share)


def fit(inputs: FitInputs) -> Student:
    """The Student-t of the draws, at the posterior's level."""
    return match_level(fit_student(inputs.draws, *inputs.bases), inputs)


def student(mean: np.ndarray, factor: np.ndarray, degrees: float, log_z: float) -> Student:
    """The Student-t of a mean and the lower Cholesky factor of its scale matrix."""
    return Student(*in_64_bits(mean, factor, invert_lower(factor), degrees, log_z))


def fit_student(draws: np.ndarray, *bases: np.ndarray | None) -> Student:
    """The Student-t of the greatest likelihood, its scale matrix shrunk as covariances are.

    The degrees are those that predict draws from the other half's fit best: a fit's own draws lie
    nearer to its centre than new ones, the more so the more dimensions, and that looks like
    lighter tails. Location and scale follow for these degrees.
    """
    require_covariance(draws)
    middle = np.median(draws, axis=0)
    shrinkage = _robust_shrinkage(draws - middle, *bases)
    frame = shrinkage.frame
    u = into_frame(frame, draws - middle)
    degrees = _find_degrees(u, shrinkage)
    location, inner = _location_and_inner(u, shrinkage, degrees)
    shift = frame * location if frame.ndim == 1 else frame @ location
    return student(middle + shift, out_of_frame(frame, inner), degrees, 0.0)


def _find_degrees(u: np.ndarray, shrinkage: Shrinkage) -> float:
    """The degrees of freedom of draws in the frame's coordinates."""
    if len(u) < TUNING.fewest_draws:
        return TUNING.most_degrees
    degrees = TUNING.first_degrees
    for _ in range(TUNING.searches):
        before, degrees = degrees, _predictive_degrees(u, shrinkage, degrees)
        if abs(np.log(degrees / before)) < TUNING.same_degrees:
            break
    return degrees


def _robust_shrinkage(centred: np.ndarray, *bases: np.ndarray | None) -> Shrinkage:
    """The shrinkage of the draws after those far out are pulled in to where a Gaussian's are."""
    squares = np.mean((centred / centred.std(axis=0)) ** 2, axis=1)
    weights = 1 / np.maximum(squares, 0.3 * np.median(squares) + 1e-12)
    pulled = np.sqrt(weights / weights.mean())[:, None] * centred
    return best_shrinkage(pulled - pulled.mean(axis=0), *bases)


def _location_and_inner(
    u: np.ndarray, shrinkage: Shrinkage, degrees: float
) -> tuple[np.ndarray, np.ndarray]:
    """Location and factor of the greatest likelihood for given degrees, by reweighting.

    Dividing by the sum of the weights instead of the number of draws has the same fixed point
    and comes there in a few rounds (parameter-expanded EM).
    """
    dim = u.shape[1]
    location = np.zeros(dim)
    inner = shrinkage.inner_factor(u)
    weights = np.ones(len(u))
    for _ in range(TUNING.rounds):
        before, weights = (
            weights,
            (degrees + dim) / (degrees + square_distances(u - location, inner)),
        )
        location = weights @ u / weights.sum()
        inner = shrinkage.inner_factor(np.sqrt(weights / weights.mean())[:, None] * (u - location))
        if np.abs(weights / before - 1).max() < TUNING.settled:
            break
    return location, inner


def _predictive_degrees(u: np.ndarray, shrinkage: Shrinkage, degrees: float) -> float:
    """The degrees under which either half's squared distances by the other's fit are likeliest.

    The scale is free beside them, for half the draws are shrunk more than all are.
    """
    dim = u.shape[1]
    parts = (u[: len(u) // 2], u[len(u) // 2 :])
    squares = []
    for old, new in (parts, parts[::-1]):
        location, inner = _location_and_inner(old, shrinkage, degrees)
        squares.append(square_distances(new - location, inner))
    distances = np.maximum(np.concatenate(squares), 1e-300)

    def surprise(free: np.ndarray) -> float:
        log_degrees, log_scale = free
        nu = np.exp(log_degrees)
        constant = special.gammaln(0.5 * (nu + dim)) - special.gammaln(0.5 * nu)
        constant -= 0.5 * dim * (np.log(nu) + log_scale)
        tail = 0.5 * (nu + dim) * np.log1p(distances * np.exp(-log_scale) / nu)
        return float(np.mean(tail) - constant)

    limits = np.log((TUNING.fewest_degrees, TUNING.most_degrees))
    size = float(np.log(np.median(distances) / dim))
    found = optimize.minimize(
        surprise,
        [np.log(degrees), size],
        bounds=[(limits[0], limits[1]), (size - 5, size + 5)],
        method="L-BFGS-B",
        options={"maxiter": 100},
    )
    return float(np.clip(np.exp(found.x[0]), TUNING.fewest_degrees, TUNING.most_degrees))
