"""The renewal model by its expected cases instead of its reproduction numbers.

The posterior of ε = log R is strongly bent: a higher R today is made good by lower ones after it.
In v_t = ε_t + log Σ_{s<t} f_s g_{t-s}, which is the log of the cases that are not imported, every
count speaks of one coordinate. Each v_t is ε_t and a function of the days before, so the map
preserves volume whatever the weights g: a mistake in them could cost efficiency and never move an
integral.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import refti
from refti.paper.covid import model as covid

IMPORTED = 1e-5  # cases a day


@dataclass(frozen=True)
class Coordinates:
    """The maps between a model's unconstrained x and y, in which ε is replaced by v.

    Attributes:
        effects: which coordinates are those of ε, in time's order.
        days: the number of days of data.
        rate: the Rayleigh rate of the generation interval, or the place of its logarithm in x.
        daily: whether every day has its own ε; if not, y is x.
    """

    effects: np.ndarray
    days: int
    rate: float | int
    daily: bool

    @classmethod
    def of(cls, model: refti.Model, variant: covid.Variant) -> Coordinates:
        """Those of a variant's model."""
        names = model.space.coordinates
        effects = np.array([name.startswith("eps") for name in names])
        mean = variant.generation_interval
        rate = names.index("r") if mean is None else 1.0 / (2.0 * (np.sqrt(2 / np.pi) * mean) ** 2)
        return cls(effects, int(effects.sum()) - 1, rate, variant.window == 1)

    def density(self, log_density: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The log density of y, of that of x."""
        return (lambda y: log_density(self.to_x(y))) if self.daily else log_density

    def to_x(self, y: Any) -> Any:
        """One point's x, in JAX."""
        if not self.daily:
            return y
        places = np.flatnonzero(self.effects)[1 : self.days]
        return y.at[places].add(-self._log_infectiousness(y, jnp.exp(y[places])))

    def to_y(self, x: np.ndarray) -> np.ndarray:
        """The y of points x[n, dim], day by day."""
        if not self.daily:
            return x
        y = np.array(x)
        places = np.flatnonzero(self.effects)[1 : self.days]
        rates = (
            np.exp(x[:, self.rate]) if isinstance(self.rate, int) else np.full(len(x), self.rate)
        )
        weights = _rayleigh(np, np.arange(1, self.days), rates[:, None])
        cases = np.full((len(x), self.days), IMPORTED)
        for day, place in enumerate(places, start=1):
            infectious = np.sum(cases[:, :day] * weights[:, :day][:, ::-1], axis=1)
            y[:, place] += np.log(infectious)
            cases[:, day] += np.exp(y[:, place])
        return y

    def _log_infectiousness(self, y: Any, own: Any) -> Any:
        """log Σ_{s<t} f_s g_{t-s} of the second day on, of the cases that are not imported."""
        # NumPy where the rate is fixed, so that nothing is left for the compiler to fold.
        kind = jnp if isinstance(self.rate, int) else np
        days, period = self.days, 2 * self.days
        rate = jnp.exp(y[self.rate]) if isinstance(self.rate, int) else self.rate
        weights = _rayleigh(kind, np.arange(1, days), rate)
        row = kind.concatenate([np.zeros(1), weights, np.zeros(days)])
        # Row s of the matrix is the row of weights moved s days on, with neither gather nor loop.
        moved = kind.broadcast_to(row, (days, period)).reshape(-1)[: days * (period - 1)]
        moved = moved.reshape(days, period - 1)[:, 1:days]
        return jnp.log((IMPORTED + jnp.concatenate([jnp.zeros(1), own])) @ moved)


def _rayleigh(kind: Any, lags: np.ndarray, rate: Any) -> Any:
    return kind.exp(-((lags - 0.5) ** 2) * rate) - kind.exp(-((lags + 0.5) ** 2) * rate)
