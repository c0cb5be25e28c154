"""Warped references: a Gaussian whose coordinates are bent, each with its own skew and tails."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from refti.factors.either import solve_rows
from refti.references.base import in_64_bits
from refti.references.bends import bend, straighten
from refti.references.family import FitInputs
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance, shrunk_factor
from refti.references.sinh_arcsinh import Bend, fit_bends
from refti.tuning import tuned

Place = Literal["none", "outer", "cholesky", "symmetric"]
PLACES: tuple[Place, ...] = ("none", "outer", "cholesky", "symmetric")


@dataclass(frozen=True)
class WarpedTuning:
    """Numbers of the choice of where the bends lie."""

    judged_by: int = tuned(1000, "draws of either half, enough to judge by")
    fewest_draws: int = tuned(20, "of a half; nothing is bent for fewer")
    judged_both_ways: int = tuned(
        20, "dimensions up to which either half judges the other; scores add up over dimensions"
    )


TUNING = WarpedTuning()


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        *("mean", "factor", "inverse_factor", "log_determinant"),
        *("inner_skew", "inner_tail", "location", "scale", "outer_skew", "outer_tail", "log_z"),
    ],
    meta_fields=[],
)
@dataclass(frozen=True)
class Warped:
    """exp(log_z) times the density of outer(mean + factor @ inner(v)), v standard normal.

    inner(v) = sinh((asinh v + skew) / tail) and outer(y) = location + scale * (the same of y),
    coordinate by coordinate (Jones and Pewsey 2009). A skew of 0 and a tail of 1 change nothing;
    a tail below 1 is heavier than a Gaussian's, exp(-c |x|^(2 tail)), and one above 1 lighter.
    `log_determinant` is that of the factor's absolute determinant.
    """

    mean: Float[Array, " dim"]
    factor: Float[Array, "dim dim"]
    inverse_factor: Float[Array, "dim dim"]
    log_determinant: Float[Array, ""]
    inner_skew: Float[Array, " dim"]
    inner_tail: Float[Array, " dim"]
    location: Float[Array, " dim"]
    scale: Float[Array, " dim"]
    outer_skew: Float[Array, " dim"]
    outer_tail: Float[Array, " dim"]
    log_z: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        standard = (x - self.location) / self.scale
        y, outer_slope = straighten(standard, self.outer_skew, self.outer_tail)
        w = self.inverse_factor @ (y - self.mean)
        v, inner_slope = straighten(w, self.inner_skew, self.inner_tail)
        log_normal = -0.5 * jnp.dot(v, v) - 0.5 * len(v) * jnp.log(2 * jnp.pi)
        slopes = inner_slope + outer_slope - jnp.log(jnp.abs(self.scale))
        return self.log_z + log_normal + jnp.sum(slopes) - self.log_determinant

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        v = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        y = self.mean + self.factor @ bend(v, self.inner_skew, self.inner_tail)
        return self.location + self.scale * bend(y, self.outer_skew, self.outer_tail)


def fit(inputs: FitInputs) -> Warped:
    """The warped Gaussian of the draws, at the posterior's level."""
    return match_level(fit_warped(inputs.draws, *inputs.bases), inputs)


def warped(
    mean: np.ndarray,
    factor: np.ndarray,
    log_z: float,
    *,
    inner: Bend | None = None,
    outer: Bend | None = None,
) -> Warped:
    """The warped Gaussian of a mean, an invertible factor and bends on either side of it.

    The inner bend's location and scale become part of the mean and the factor.
    """
    unbent = Bend.straight(len(mean))
    inner, outer = inner or unbent, outer or unbent
    mean, factor = mean + factor @ inner.location, factor * inner.scale
    values = (
        *(mean, factor, np.linalg.inv(factor), np.linalg.slogdet(factor)[1]),
        *(inner.skew, inner.tail, outer.location, outer.scale, outer.skew, outer.tail, log_z),
    )
    return Warped(*in_64_bits(*values))


def fit_warped(draws: np.ndarray, *bases: np.ndarray | None) -> Warped:
    """The warped Gaussian of the draws, bent where that predicts draws left out best.

    The bends may lie outside of the Gaussian, one on each parameter (a Gaussian copula); inside,
    one on each coordinate whitened by the Cholesky factor or by the symmetric root of the
    correlation; or nowhere. Each is fitted to either half of the draws and judged on the other.
    """
    require_covariance(draws)
    half = len(draws) // 2
    parts = tuple(part[:: -(-half // TUNING.judged_by)] for part in (draws[:half], draws[half:]))
    if half < TUNING.fewest_draws or not all((part.std(axis=0) > 0).all() for part in parts):
        return bend_at("none", draws, *bases)
    ways = (parts, parts[::-1]) if draws.shape[1] <= TUNING.judged_both_ways else (parts,)
    scores = dict.fromkeys(PLACES, 0.0)
    for old, new in ways:
        gaussian = shrunk_factor(old, *bases)
        for place in PLACES:
            fitted = bend_at(place, old, *bases, gaussian=gaussian)
            scores[place] += float(np.mean(log_densities(fitted, new)))
    best = max(scores, key=lambda place: scores[place])
    return bend_at(best, draws, *bases)


def bend_at(
    place: Place,
    draws: np.ndarray,
    *bases: np.ndarray | None,
    gaussian: tuple[np.ndarray, np.ndarray] | None = None,
) -> Warped:
    """The warped Gaussian of the draws with its bends in one place.

    `gaussian` is the draws' mean and shrunk factor, where they are known already.
    """
    if place == "outer":
        bends = fit_bends(draws)
        y, log_slopes = bends.straighten(draws)
        # A base in the straightened coordinates, by the typical slope of each.
        slopes = np.exp(np.mean(log_slopes, axis=0))[:, None]
        mean, factor = shrunk_factor(y, *(None if b is None else slopes * b for b in bases))
        return warped(mean, factor, 0.0, outer=bends)
    mean, factor = gaussian or shrunk_factor(draws, *bases)
    if place == "none":
        return warped(mean, factor, 0.0)
    if place == "symmetric":
        factor = _symmetric(factor)
    whitened = solve_rows(factor, draws - mean)
    return warped(mean, factor, 0.0, inner=fit_bends(whitened))


def log_densities(reference: Warped, x: np.ndarray) -> np.ndarray:
    """log density at points x[n, dim], in NumPy: a fit should not wait for a compiler."""
    numbers: Any = reference
    outer = Bend(numbers.location, numbers.scale, numbers.outer_skew, numbers.outer_tail)
    unit = Bend.straight(x.shape[1])
    inner = Bend(unit.location, unit.scale, numbers.inner_skew, numbers.inner_tail)
    y, outer_slopes = outer.straighten(x)
    v, inner_slopes = inner.straighten((y - numbers.mean) @ numbers.inverse_factor.T)
    log_normal = -0.5 * v**2 - 0.5 * np.log(2 * np.pi)
    total = np.sum(log_normal + inner_slopes + outer_slopes, axis=1)
    return total - numbers.log_determinant + numbers.log_z


def _symmetric(factor: np.ndarray) -> np.ndarray:
    """The factor whose inverse turns the draws least: scales times the correlation's root."""
    scales = np.sqrt(np.sum(factor**2, axis=1))
    left, values, _ = np.linalg.svd(factor / scales[:, None])
    return scales[:, None] * (left * values) @ left.T
