"""Factor: a map of white coordinates to those of a density, in memory linear in the dimension."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.factors.banded import Banded
from refti.factors.standing_out import Directions, standing_out, worth_of_draws
from refti.factors.tuning import TUNING


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["scales", "directions", "lengthened"],
    meta_fields=[],
)
@dataclass(frozen=True, eq=False)
class Widening:
    """diag(scales) (I + V diag(lengthened) V^T), V the directions[dim, rank], orthonormal or 0."""

    scales: Any
    directions: Any
    lengthened: Any

    @property
    def log_determinant(self) -> Any:
        """Of the map."""
        xp = np if isinstance(self.scales, np.ndarray) else jnp
        return xp.sum(xp.log(self.scales)) + xp.sum(xp.log1p(self.lengthened))

    def apply(self, u: Any) -> Any:
        """The map of columns u[dim, n]."""
        return self.scales[:, None] * self._along(u, self.lengthened)

    def undo(self, x: Any) -> Any:
        """Its inverse."""
        return self._along(x / self.scales[:, None], -self.lengthened / (1 + self.lengthened))

    def pull(self, g: Any) -> Any:
        """Its transpose."""
        return self._along(self.scales[:, None] * g, self.lengthened)

    def _along(self, u: Any, lengthened: Any) -> Any:
        return u + self.directions @ (lengthened[:, None] * (self.directions.T @ u))


@partial(
    jax.tree_util.register_dataclass, data_fields=["banded", "curved", "learned"], meta_fields=[]
)
@dataclass(frozen=True, eq=False)
class Factor:
    """x = B C D u: what stands in for the Cholesky factor of a covariance.

    Attributes:
        banded: B, the inverse of the transposed factor of a banded precision; None for none.
        curved: C, widths and a few directions by the curvature at a mode.
        learned: D, those by which draws differ from that.
    """

    banded: Banded | None
    curved: Widening
    learned: Widening

    @property
    def dim(self) -> int:
        """The dimension."""
        return len(self.learned.scales)

    @property
    def log_determinant(self) -> Any:
        """The log of the absolute determinant."""
        found = self.curved.log_determinant + self.learned.log_determinant
        return found if self.banded is None else found - self.banded.log_determinant

    def out(self, u: Any) -> Any:
        """x of one point u[dim], in JAX."""
        return self._out(u[:, None])[:, 0]

    def into(self, x: Any) -> Any:
        """u of one point x[dim], in JAX."""
        return self._into(x[:, None])[:, 0]

    def out_rows(self, u: np.ndarray) -> np.ndarray:
        """x[n, dim] of points u[n, dim], in NumPy."""
        return np.ascontiguousarray(self.on_host._out(u.T).T)

    def into_rows(self, x: np.ndarray) -> np.ndarray:
        """u[n, dim] of points x[n, dim], in NumPy."""
        return np.ascontiguousarray(self.on_host._into(x.T).T)

    def pull_rows(self, gradients: np.ndarray) -> np.ndarray:
        """The gradients[n, dim] of a density of x, as one of u has them."""
        here, g = self.on_host, gradients.T
        g = g if here.banded is None else here.banded.pull(g)
        return np.ascontiguousarray(here.learned.pull(here.curved.pull(g)).T)

    @property
    def on_host(self) -> Factor:
        """The same in NumPy's arrays."""
        if isinstance(self.learned.scales, np.ndarray):
            return self
        found: Factor = jax.tree.map(np.asarray, self)
        return found

    def wider(self, times: float) -> Factor:
        """The factor of a density so many times as wide."""
        return replace(self, learned=replace(self.learned, scales=times * self.learned.scales))

    def _out(self, u: Any) -> Any:
        x = self.curved.apply(self.learned.apply(u))
        return x if self.banded is None else self.banded.spread(x)

    def _into(self, x: Any) -> Any:
        u = x if self.banded is None else self.banded.whiten(x)
        return self.learned.undo(self.curved.undo(u))


def no_widening(dim: int, rank: int = 0) -> Widening:
    """The map that changes nothing, with room for so many directions."""
    return Widening(np.ones(dim), np.zeros((dim, rank)), np.zeros(rank))


def factor_of(dim: int, banded: Banded | None = None, curved: Widening | None = None) -> Factor:
    """The factor of a curvature, of which draws have told nothing yet."""
    rank = min(TUNING.largest_rank, dim)
    return Factor(banded, curved or no_widening(dim), no_widening(dim, rank))


def learn(factor: Factor, centred: np.ndarray) -> Factor:
    """The factor with what centred draws[n, dim] tell of it beyond the curvature.

    A coordinate's width so far counts as some draws more; a direction has to stand out from the
    noise of so few draws for the dimension.
    """
    here = factor.on_host
    before, count = here.learned, len(centred)
    u = replace(here, learned=no_widening(here.dim)).into_rows(centred)
    widths = np.sqrt(np.mean(u**2, axis=0))
    old = before.scales * np.sqrt(
        1 + np.sum(before.directions**2 * (before.lengthened * (2 + before.lengthened)), axis=1)
    )
    weight = TUNING.draws_of_before
    widths = np.sqrt((count * widths**2 + weight * old**2) / (count + weight))
    if not np.isfinite(widths).all():
        return factor
    widths = np.maximum(widths, TUNING.least_width * np.median(widths))
    found = standing_out(u / widths, before.directions.shape[1], worth_of_draws(u / widths))
    return replace(here, learned=_widening(widths, found))


def learn_from_nothing(centred: np.ndarray) -> Factor:
    """The factor of centred draws[n, dim] alone: their widths, and directions that stand out."""
    dim = centred.shape[1]
    widths = np.sqrt(np.mean(centred**2, axis=0)) + 1e-300
    empty = factor_of(dim)
    standard = centred / widths
    found = standing_out(standard, min(TUNING.largest_rank, dim), worth_of_draws(standard))
    return replace(empty, learned=_widening(widths, found))


def _widening(widths: np.ndarray, found: Directions) -> Widening:
    """The map whose square is diag(widths) (diag(noise^2) + loadings loadings^T) diag(widths)."""
    loadings = found.loadings / found.noise[:, None]
    left, sizes, _ = np.linalg.svd(loadings, full_matrices=False)
    return Widening(widths * found.noise, left * (sizes > 0), np.sqrt(1 + sizes**2) - 1)
