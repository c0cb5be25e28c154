"""Draws of a model's posterior by NumPyro's NUTS in whitened coordinates.

A mode search and the curvature there make the first coordinates, a short run makes better ones,
and the draws come from a last run in those. None of it is refti's but the density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC, NUTS
from scipy.optimize import minimize

LogDensity = Callable[[Any], Any]
"""From one point x[dim] to its log density, in JAX."""


@dataclass(frozen=True)
class Whitening:
    """The affine map x = centre + scale u to coordinates u of about unit covariance."""

    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> Whitening:
        """That of the moments of draws [..., dim]."""
        flat = x.reshape(-1, x.shape[-1])
        return cls(flat.mean(axis=0), np.linalg.cholesky(np.cov(flat, rowvar=False)))


@dataclass(frozen=True)
class Sampled:
    """The draws [chain, draw, dim] of one run and what they took.

    Attributes:
        x: the draws.
        gradients: those used, of the warm-up and the draws.
        computed: the gradients that were computed: chains side by side wait for the slowest.
        divergences: draws whose trajectories diverged.
    """

    x: np.ndarray
    gradients: int
    computed: int
    divergences: int


def curvature_at_mode(log_density: LogDensity, start: np.ndarray) -> tuple[Whitening, int]:
    """The whitening by the curvature at the mode uphill of a start, and the gradients it took."""
    program = jax.jit(jax.value_and_grad(lambda x: -log_density(x)))

    def value_and_slope(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = program(jnp.asarray(x))
        if not np.isfinite(value):
            return 1e10, np.zeros_like(x)
        return float(value), np.asarray(slope)

    found = minimize(
        value_and_slope, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000, "maxcor": 50}
    )
    slopes = jax.jit(jax.jacfwd(jax.grad(lambda x: -log_density(x))))
    values, vectors = np.linalg.eigh(np.asarray(slopes(jnp.asarray(found.x))))
    # A coordinate that is flat or saddled at the mode is still given a finite scale.
    scale = vectors / np.sqrt(np.maximum(np.abs(values), 1.0))
    return Whitening(found.x, scale), found.nfev + len(start)


def sample(
    log_density: LogDensity,
    whitening: Whitening,
    *,
    chains: int,
    warmup: int,
    kept: int,
    seed: int,
    starts: np.ndarray | None = None,
) -> Sampled:
    """Draws by NUTS with all chains side by side, from starts [chain, dim].

    Without starts the chains begin at draws of the whitening's own Gaussian, at half its width.
    """
    centre, scale = jnp.asarray(whitening.centre), jnp.asarray(whitening.scale)
    if starts is None:
        begin = 0.5 * np.random.default_rng(seed).normal(size=(chains, len(centre)))
    else:
        begin = np.linalg.solve(whitening.scale, (starts - whitening.centre).T).T
    sampler = MCMC(
        NUTS(potential_fn=lambda u: -log_density(centre + scale @ u)),
        num_warmup=warmup,
        num_samples=kept,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    watched = ("num_steps", "diverging")
    sampler.warmup(
        jax.random.key(seed),
        init_params=jnp.asarray(begin),
        extra_fields=watched,
        collect_warmup=True,
    )
    steps = [np.asarray(sampler.get_extra_fields(group_by_chain=True)["num_steps"])]
    sampler.run(sampler.post_warmup_state.rng_key, extra_fields=watched)
    seen = sampler.get_extra_fields(group_by_chain=True)
    steps.append(np.asarray(seen["num_steps"]))
    u = np.asarray(sampler.get_samples(group_by_chain=True))
    return Sampled(
        x=whitening.centre + u @ whitening.scale.T,
        gradients=int(sum(each.sum() for each in steps)) + chains,
        computed=int(sum(each.max(axis=0).sum() for each in steps)) * chains,
        divergences=int(np.asarray(seen["diverging"]).sum()),
    )
