"""Bridge sampling where many inner coordinates are near-Gaussian given a few outer ones.

The proposal draws the outer coordinates from a fit to posterior draws, and the inner ones from the
Gaussian of the density's own slope and curvature given the outer ones. A Gaussian with the draws'
covariance would carry the noise of 20,000 sampled entries, and knows nothing of widths that change
with a scale; this one carries no noise where the dimensions are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from benchmarks.skewed import Skewed

LogDensity = Callable[[Any], Any]
"""From one point x[dim] to its log density, in JAX."""
CHUNK = 50  # points whose curvatures are held at once
FLATTEST = 1e-2  # the least precision given to an inner direction


@dataclass(frozen=True)
class Bridge:
    """A log evidence by bridge sampling.

    Attributes:
        value: the log evidence.
        error: its standard error by the jackknife that leaves out one chain, and as many proposals,
            at a time: whatever the autocorrelation, chains are independent.
        overlap: ∫ 2 p g / (p + g) of the posterior p and the proposal g; 1 if they are equal.
        gradients: those spent on curvatures, a column of one counted as a gradient.
    """

    value: float
    error: float
    overlap: float
    gradients: int


class Proposal(Protocol):
    """What a bridge leads to: `gradients` is what one evaluation of it takes."""

    @property
    def gradients(self) -> int: ...

    def log_ratio_proposed(self, rng: np.random.Generator, count: int) -> np.ndarray: ...

    def log_ratio(self, x: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Whole:
    """The proposal of all coordinates at once, for the models of fewer dimensions."""

    log_density: LogDensity
    part: Skewed
    gradients: int = 0

    @classmethod
    def of(cls, log_density: LogDensity, x: np.ndarray) -> Whole:
        """That fitted to draws [..., dim]."""
        return cls(log_density, Skewed.of(x.reshape(-1, x.shape[-1])))

    def log_ratio_proposed(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """log q - log g at draws of g."""
        return self.log_ratio(self.part.draw(rng, count))

    def log_ratio(self, x: np.ndarray) -> np.ndarray:
        """log q - log g at points [n, dim]."""
        return _densities(self.log_density, x) - self.part.log_density(x)


@dataclass(frozen=True)
class Nested:
    """The proposal g(outer) · Gaussian(inner given outer).

    Attributes:
        log_density: the density it is made for.
        inner: which coordinates [dim] are inner ones.
        outer_part: the distribution of the outer ones.
        guess: coefficients of the inner coordinates on (1, outer), near the mode given outer.
    """

    log_density: LogDensity
    inner: np.ndarray
    outer_part: Skewed
    guess: np.ndarray

    @classmethod
    def of(cls, log_density: LogDensity, inner: np.ndarray, x: np.ndarray) -> Nested:
        """That fitted to draws [..., dim]."""
        flat = x.reshape(-1, x.shape[-1])
        outer = flat[:, ~inner]
        guess = np.linalg.lstsq(_with_one(outer), flat[:, inner], rcond=None)[0]
        return cls(log_density, inner, Skewed.of(outer), guess)

    @property
    def gradients(self) -> int:
        """A slope, and a column of the curvature for every inner coordinate."""
        return int(self.inner.sum()) + 1

    def log_ratio_proposed(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """log q - log g at draws of g; of q as below."""
        outer = self.outer_part.draw(rng, count)
        u = rng.normal(size=(count, int(self.inner.sum())))
        return np.concatenate(
            [self._log_ratio(*some, *self._gaussians(some[0])) for some in _chunks(outer, u)]
        )

    def log_ratio(self, x: np.ndarray) -> np.ndarray:
        """log q - log g at points [n, dim].

        With q the mean of the density at a point and at its reflection in the inner mode, which
        has the same integral and no skewness, as in the third warp of Meng and Schilling (2002).
        """
        parts = []
        for outer, inner in _chunks(x[:, ~self.inner], x[:, self.inner]):
            modes, factors = self._gaussians(outer)
            u = np.einsum("nij,ni->nj", factors, inner - modes)
            parts.append(self._log_ratio(outer, u, modes, factors))
        return np.concatenate(parts)

    def _log_ratio(
        self, outer: np.ndarray, u: np.ndarray, modes: np.ndarray, factors: np.ndarray
    ) -> np.ndarray:
        """Of inner coordinates whose whitened ones are u[n, inner]."""
        aside = np.linalg.solve(factors.swapaxes(1, 2), u[..., None])[..., 0]
        log_g = -0.5 * np.sum(u**2 + np.log(2 * np.pi), axis=1)
        log_g += np.linalg.slogdet(factors)[1] + self.outer_part.log_density(outer)
        sides = [
            _densities(self.log_density, self._joined(outer, at))
            for at in (modes + aside, modes - aside)
        ]
        return np.asarray(np.logaddexp(*sides) - np.log(2) - log_g)

    def _joined(self, outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
        x = np.empty((len(outer), len(self.inner)))
        x[:, ~self.inner], x[:, self.inner] = outer, inner
        return x

    def _gaussians(self, outer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means [n, inner] and factors [n, inner, inner], precision = factor factorᵀ, given outer.

        One Newton step from the guess, with curvatures made those of a peak. Any function of the
        outer coordinates would do; where there is no density it is the guess and unit precision.
        """
        guesses = _with_one(outer) @ self.guess
        x = jnp.asarray(self._joined(outer, guesses))
        places = tuple(int(place) for place in np.flatnonzero(self.inner))
        slopes, curvatures = (np.array(a) for a in _bends(self.log_density, places, x))
        lost = ~(np.isfinite(slopes).all(axis=1) & np.isfinite(curvatures).all(axis=(1, 2)))
        slopes[lost], curvatures[lost] = 0.0, np.eye(len(places))
        values, axes = np.linalg.eigh(curvatures)
        values = np.maximum(np.abs(values), FLATTEST)
        turned = np.einsum("nij,ni->nj", axes, slopes) / values
        return guesses - np.einsum("nij,nj->ni", axes, turned), axes * np.sqrt(values)[:, None, :]


@partial(jax.jit, static_argnums=(0, 1))
def _bends(log_density: LogDensity, places: tuple[int, ...], x: Any) -> tuple[Any, Any]:
    """Slopes [n, inner] and curvatures [n, inner, inner] of -log_density at points [n, dim]."""
    at = np.array(places)

    def one(point: Any) -> tuple[Any, Any]:
        def slope(part: Any) -> Any:
            return jax.grad(lambda own: -log_density(point.at[at].set(own)))(part)

        return slope(point[at]), jax.jacfwd(slope)(point[at])

    return jax.lax.map(one, x)


def _densities(log_density: LogDensity, x: np.ndarray) -> np.ndarray:
    values = np.asarray(_mapped(log_density, jnp.asarray(x)))
    return np.where(np.isfinite(values), values, -np.inf)


@partial(jax.jit, static_argnums=0)
def _mapped(log_density: LogDensity, x: Any) -> Any:
    return jax.vmap(log_density)(x)


def bridge(proposal: Proposal, x: np.ndarray, rng: np.random.Generator) -> Bridge:
    """The log evidence from draws x[chain, draw, dim] that the proposal was not fitted to."""
    chains, kept, dim = x.shape
    at_draws = proposal.log_ratio(x.reshape(-1, dim)).reshape(chains, kept)
    at_proposed = proposal.log_ratio_proposed(rng, chains * kept).reshape(chains, kept)
    value = fixed_point(at_draws, at_proposed)
    left_out = [
        fixed_point(np.delete(at_draws, c, axis=0), np.delete(at_proposed, c, axis=0))
        for c in range(chains)
    ]
    error = float(np.sqrt((chains - 1) * np.var(left_out)))
    overlap = 2 * float(np.mean(np.exp(-np.logaddexp(0.0, at_draws - value))))
    spent = 2 * chains * kept * proposal.gradients
    return Bridge(value, error, overlap, spent)


def fixed_point(at_draws: np.ndarray, at_proposed: np.ndarray) -> float:
    """log r of the bridge of Meng and Wong (1996), from log q - log g at samples of one size."""
    at_draws, at_proposed = at_draws.ravel(), at_proposed.ravel()
    finite = np.concatenate([at_draws, at_proposed])
    finite = finite[np.isfinite(finite)]
    low, high = float(finite.min()) - 50.0, float(finite.max()) + 50.0
    while high - low > 1e-9:
        log_r = 0.5 * (low + high)
        # E_g[q / (q + r g)] falls in r, and E_p[r g / (q + r g)] rises to meet it.
        above = logsumexp(-np.logaddexp(0.0, log_r - at_proposed))
        below = logsumexp(-np.logaddexp(0.0, at_draws - log_r))
        low, high = (log_r, high) if above > below else (low, log_r)
    return 0.5 * (low + high)


def _with_one(outer: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(outer)), outer])


def _chunks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Parts of arrays [n, ...] of as many points as may have their curvatures held at once."""
    for begin in range(0, len(arrays[0]), CHUNK):
        yield tuple(array[begin : begin + CHUNK] for array in arrays)
