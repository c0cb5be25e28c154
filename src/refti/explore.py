"""Exploration: where the posterior is, from its mode and first draws or from the user's draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.cost import Meter
from refti.errors import ModelError
from refti.mode import Mode, climb, find_mode
from refti.model import Model, ValueAndGradient
from refti.path import Leg
from refti.preflight import preflight
from refti.sampling.chains import Effort, run_chains
from refti.sampling.evaluation import value_and_gradient
from refti.sampling.whitening import same_for_all

OTHER_STARTS = 4  # searched for other modes than the one uphill of the best start


@dataclass(frozen=True)
class Exploration:
    """What is known of the density at one end of a leg; each part is found when first needed."""

    model: Model
    leg: Leg
    lam: float  # which end of the leg: 0 or 1
    rungs: int
    effort: Effort
    seed: int
    key: jax.Array
    meter: Meter
    progress: Callable[[str, int, int], None]
    given: np.ndarray | None = None

    @cached_property
    def evaluate(self) -> ValueAndGradient:
        """The density and its gradient at given points."""
        return value_and_gradient(self.leg, self.lam, self.rungs, self.effort.chains, self.meter)

    @cached_property
    def starts(self) -> np.ndarray:
        """Points inside the support, best first, after the model has passed its preflight."""
        return preflight(self.model, self.evaluate, self.seed, self.given)

    def check(self) -> None:
        """Nothing, after the model has passed its preflight; a ModelError otherwise."""
        _ = self.starts

    @cached_property
    def mode(self) -> Mode:
        """The mode uphill of the best start."""
        return find_mode(self.evaluate, self.starts[0])

    @cached_property
    def peaks(self) -> np.ndarray:
        """The mode and what is uphill of other starts, x[peak, dim]: where chains set out.

        Peaks at the bottom of the density are left out: ends of searches that did not arrive.
        """
        picks = np.linspace(1, len(self.starts) - 1, OTHER_STARTS).astype(int)
        plain = np.eye(self.model.dim)
        found = [
            climb(self.evaluate, self.starts[pick], factor=plain, iterations=100)
            for pick in np.unique(picks[picks > 0])
        ]
        height = self.mode.log_density - 10 - 2 * self.model.dim
        return np.stack([self.mode.x, *(x for x, value in found if value > height)])

    @cached_property
    def draws(self) -> np.ndarray:
        """Draws of the density, x[draw, dim]: the user's, or by chains on every lane."""
        if self.given is not None:
            return self.given
        factor = self.mode.factor()
        if factor is None:
            factor = np.eye(self.model.dim)
        stretches = 5 * self.effort.stretch
        chains = run_chains(
            self.leg,
            np.full(self.rungs, self.lam),
            self._around_peaks(factor),
            same_for_all(self.mode.x, factor, self.rungs),
            replace(self.effort, warmup=stretches, kept=stretches),
            self.key,
            pooled=True,
            keep_all_x=True,
            meter=self.meter,
            progress=lambda done, total: self.progress("finding the posterior", done, total),
        )
        return chains.x.reshape(-1, self.model.dim)

    def _around_peaks(self, factor: np.ndarray) -> np.ndarray:
        """Points spread about each peak in turn, those outside the support drawn in towards it."""
        lanes = self.rungs * self.effort.chains
        centres = self.peaks[np.arange(lanes) % len(self.peaks)]
        offsets = np.random.default_rng(self.seed).normal(size=centres.shape) @ factor.T
        for _ in range(20):
            values, _ = self.evaluate(centres + offsets)
            outside = ~np.isfinite(values)
            if not outside.any():
                break
            offsets[outside] *= 0.5
        return (centres + offsets).reshape(self.rungs, self.effort.chains, -1)


def unconstrained_draws(model: Model, draws: Mapping[str, Any]) -> np.ndarray:
    """The user's posterior draws as x[draw, dim], after their names and shapes were checked."""
    missing = [name for name in model.parameters if name not in draws]
    if missing:
        raise ModelError(
            f"draws= must hold every parameter of the model; {', '.join(missing)} missing, got "
            f"{', '.join(map(str, draws))}."
        )
    flat: dict[str, np.ndarray] = {}
    faults = []
    for name, support in model.parameters.items():
        values = np.asarray(draws[name], dtype=np.float64)
        lead = values.ndim - len(support.shape)
        if lead not in (1, 2) or values.shape[lead:] != support.shape:
            faults.append(
                f'draws= gives "{name}" the shape {values.shape}; expected [draw, '
                f"*{support.shape}] or [chain, draw, *{support.shape}]."
            )
        elif not support.holds(values):
            faults.append(f'draws= gives "{name}" values outside its support.')
        else:
            flat[name] = values.reshape(-1, *support.shape)
    if len({len(values) for values in flat.values()}) > 1:
        faults.append("draws= holds different numbers of draws for different parameters.")
    if faults:
        raise ModelError("\n".join(faults))
    x = np.asarray(
        jax.jit(jax.vmap(model.unconstrain))({k: jnp.asarray(v) for k, v in flat.items()})
    )
    if len(x) < 2 or not np.all(np.isfinite(x)):
        raise ModelError(
            f"draws= must hold at least two draws inside the supports, none at an edge; got "
            f"{len(x)}, of which {int(np.isfinite(x).all(axis=1).sum())} inside."
        )
    return x
