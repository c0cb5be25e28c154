"""Student-t references: a Gaussian's ellipsoids with heavier tails."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import linalg, optimize, special

from refti.references.covariance import System, best_system, check_draws, into, out_of

# Below two degrees the variance is infinite, and with it the noise of every estimate; from a few
# hundred on the density is a Gaussian for all purposes.
_DEGREES = (2.1, 200.0)
_ROUNDS = 40


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


def student(mean: np.ndarray, factor: np.ndarray, degrees: float, log_z: float) -> Student:
    """The Student-t of a mean and the lower Cholesky factor of its scale matrix."""
    inverse = np.tril(np.linalg.solve(factor, np.eye(len(mean))))
    # NumPy keeps 64 bits wherever this is called; JAX would round outside of refti's own calls.
    numbers: Any = (np.asarray(a, np.float64) for a in (mean, factor, inverse, degrees, log_z))
    return Student(*numbers)


def fit_student(
    draws: np.ndarray, base: np.ndarray | None = None, *, effective: float | None = None
) -> Student:
    """The Student-t of the greatest likelihood, its scale matrix shrunk as covariances are.

    The degrees are those that predict draws from the other half's fit best: a fit's own draws lie
    nearer to its centre than new ones, the more so the more dimensions, and that looks like
    lighter tails. Location and scale follow for these degrees.
    """
    check_draws(draws)
    middle = np.median(draws, axis=0)
    system = _system(draws - middle, base, effective)
    u = into(system.frame, draws - middle)
    degrees = 10.0 if len(draws) >= 8 else _DEGREES[1]
    for _ in range(3 if len(draws) >= 8 else 0):
        before, degrees = degrees, _predictive_degrees(u, system, degrees)
        if abs(np.log(degrees / before)) < 0.1:
            break
    location, inner = _location_and_inner(u, system, degrees)
    shift = system.frame * location if system.frame.ndim == 1 else system.frame @ location
    return student(middle + shift, out_of(system.frame, inner), degrees, 0.0)


def _system(centred: np.ndarray, base: np.ndarray | None, effective: float | None) -> System:
    """The shrinkage of the draws after those far out are pulled in to where a Gaussian's are."""
    squares = np.mean((centred / centred.std(axis=0)) ** 2, axis=1)
    weights = 1 / np.maximum(squares, 0.3 * np.median(squares) + 1e-12)
    pulled = np.sqrt(weights / weights.mean())[:, None] * centred
    return best_system(pulled - pulled.mean(axis=0), base, effective=effective)


def _location_and_inner(
    u: np.ndarray, system: System, degrees: float
) -> tuple[np.ndarray, np.ndarray]:
    """Location and factor of the greatest likelihood for given degrees, by reweighting.

    Dividing by the sum of the weights instead of the number of draws has the same fixed point
    and comes there in a few rounds (parameter-expanded EM).
    """
    dim = u.shape[1]
    location = np.zeros(dim)
    inner = system.inner(u)
    weights = np.ones(len(u))
    for _ in range(_ROUNDS):
        before, weights = weights, (degrees + dim) / (degrees + _squares(u - location, inner))
        location = weights @ u / weights.sum()
        inner = system.inner(np.sqrt(weights / weights.mean())[:, None] * (u - location))
        if np.abs(weights / before - 1).max() < 1e-3:
            break
    return location, inner


def _predictive_degrees(u: np.ndarray, system: System, degrees: float) -> float:
    """The degrees under which either half's squared distances by the other's fit are likeliest.

    The scale is free beside them, for half the draws are shrunk more than all are.
    """
    dim = u.shape[1]
    parts = (u[: len(u) // 2], u[len(u) // 2 :])
    squares = []
    for old, new in (parts, parts[::-1]):
        location, inner = _location_and_inner(old, system, degrees)
        squares.append(_squares(new - location, inner))
    distances = np.maximum(np.concatenate(squares), 1e-300)

    def surprise(free: np.ndarray) -> float:
        log_degrees, log_scale = free
        nu = np.exp(log_degrees)
        constant = special.gammaln(0.5 * (nu + dim)) - special.gammaln(0.5 * nu)
        constant -= 0.5 * dim * (np.log(nu) + log_scale)
        tail = 0.5 * (nu + dim) * np.log1p(distances * np.exp(-log_scale) / nu)
        return float(np.mean(tail) - constant)

    limits = np.log(_DEGREES)
    size = float(np.log(np.median(distances) / dim))
    found = optimize.minimize(
        surprise,
        [np.log(degrees), size],
        bounds=[(limits[0], limits[1]), (size - 5, size + 5)],
        method="L-BFGS-B",
        options={"maxiter": 100},
    )
    return float(np.clip(np.exp(found.x[0]), *_DEGREES))


def _squares(centred: np.ndarray, factor: np.ndarray) -> np.ndarray:
    white = linalg.solve_triangular(factor, centred.T, lower=True, check_finite=False)
    return np.sum(white**2, axis=0)
