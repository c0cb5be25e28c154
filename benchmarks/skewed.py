"""A proposal for a few skewed coordinates: a Gaussian with sinh-arcsinh margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize


@dataclass(frozen=True)
class Margin:
    """The map t = sinh(tail · asinh((x - centre) / width) - skew) to a near-normal variable."""

    centre: float
    width: float
    skew: float
    tail: float

    @classmethod
    def of(cls, x: np.ndarray) -> Margin:
        """That of greatest likelihood for draws [n], with t standard normal."""
        centre, width = float(np.median(x)), float(np.std(x))

        def made(p: np.ndarray) -> Margin:
            return cls(
                centre + width * p[0], width * np.exp(p[1]), p[2], np.exp(np.clip(p[3], -1.0, 1.0))
            )

        def loss(p: np.ndarray) -> float:
            t, log_slope = made(p).normalised(x)
            return float(np.mean(0.5 * t**2 - log_slope)) + 1e-3 * float(p @ p)

        found = minimize(loss, np.zeros(4), method="Nelder-Mead", options={"maxiter": 2000})
        return made(found.x)

    def normalised(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """t and log dt/dx."""
        w = (x - self.centre) / self.width
        angle = self.tail * np.arcsinh(w) - self.skew
        # log cosh, for any angle.
        log_cosh = np.logaddexp(angle, -angle) - np.log(2)
        log_slope = np.log(self.tail / self.width) + log_cosh - 0.5 * np.log1p(w**2)
        return np.sinh(angle), log_slope

    def back(self, t: np.ndarray) -> np.ndarray:
        """x of t."""
        return self.centre + self.width * np.sinh((np.arcsinh(t) + self.skew) / self.tail)


@dataclass(frozen=True)
class Skewed:
    """A distribution of a few coordinates: margins, and a Gaussian that joins them."""

    margins: tuple[Margin, ...]
    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> Skewed:
        """That fitted to draws [n, dim]."""
        margins = tuple(Margin.of(column) for column in x.T)
        t = np.stack([m.normalised(column)[0] for m, column in zip(margins, x.T, strict=True)], 1)
        return cls(margins, t.mean(axis=0), np.linalg.cholesky(np.cov(t, rowvar=False)))

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Independent draws [n, dim]."""
        t = self.centre + rng.normal(size=(count, len(self.centre))) @ self.scale.T
        return np.stack([m.back(column) for m, column in zip(self.margins, t.T, strict=True)], 1)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """The log density at points [n, dim]."""
        mapped = [m.normalised(column) for m, column in zip(self.margins, x.T, strict=True)]
        t, log_slope = (np.stack(parts, axis=1) for parts in zip(*mapped, strict=True))
        u = np.linalg.solve(self.scale, (t - self.centre).T).T
        normal = -0.5 * np.sum(u**2 + np.log(2 * np.pi), axis=1)
        return np.asarray(normal - np.log(np.diag(self.scale)).sum() + log_slope.sum(axis=1))
