"""Mixtures of normals in NumPy, with their gradients: densities with known modes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normals with diagonal covariances: means and scales [mode, dim], and weights."""

    means: np.ndarray
    scales: np.ndarray
    weights: tuple[float, ...]

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log density, of integral (2 pi)^(dim / 2), at points x[n, dim], and its gradient."""
        apart = (x[:, None] - self.means) / self.scales
        heights = np.log(self.weights) - np.log(self.scales).sum(axis=1)
        parts = heights - 0.5 * np.sum(apart**2, axis=2)
        value = logsumexp(parts, axis=1)
        shares = np.exp(parts - value[:, None])
        return value, -np.einsum("nm,nmd->nd", shares, apart / self.scales)

    def explore(self, mode: np.ndarray, factor: np.ndarray, times: int = 1) -> np.ndarray:
        """Draws of about the density to the power 1 / T, whose peaks are wider by the root of T."""
        rng = np.random.default_rng(1)
        picks = rng.integers(len(self.means), size=24)
        wider = np.sqrt(np.repeat([10.0, 30.0, 100.0], 8))[:, None]
        return self.means[picks] + wider * self.scales[picks] * rng.normal(size=(24, len(mode)))


def starts_about(start: np.ndarray, seed: int) -> np.ndarray:
    """A start and some about it, as the preflight gives them."""
    noise = np.random.default_rng(seed).uniform(-2, 2, size=(31, len(start)))
    return np.concatenate([start[None], start + noise])
