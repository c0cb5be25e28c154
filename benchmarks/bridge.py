"""The peer of the cost study: plain NUTS, then bridge sampling with a Gaussian proposal.

What many people run today, in code that shares nothing with refti's samplers and estimators:
NumPyro's NUTS at its defaults, and the default recipe of R's bridgesampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import refti

CHAINS, WARMUP, KEPT = 4, 1000, 1000
FEWEST = 200  # draws a chain below which nobody goes

LogDensity = Callable[[np.ndarray], np.ndarray]
"""From points x[n, dim] to log densities [n]; -inf outside the support."""


@dataclass(frozen=True)
class Bridged:
    """A log evidence by NUTS and bridge sampling, and what it took.

    Attributes:
        value: the log evidence.
        error: its standard error, by the relative mean squared error of Frühwirth-Schnatter (2004).
        warmup_gradients: gradients of all chains before the kept draws.
        draw_gradients: gradients of all chains for one kept draw in each.
    """

    value: float
    error: float
    warmup_gradients: int
    draw_gradients: float


def bridged(model: refti.Model, repeats: int, *, seed: int = 0) -> list[Bridged]:
    """Independent log evidences, each from chains of its own.

    Each chain adapts by itself, so those of all repeats run beside each other in one program.
    """
    program = jax.jit(jax.vmap(model.log_density))

    def log_density(x: np.ndarray) -> np.ndarray:
        values = np.asarray(program(jnp.asarray(x)))
        return np.where(np.isfinite(values), values, -np.inf)

    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        starts = _starts(model, log_density, rng, repeats * CHAINS)
        draws, warmup_steps, kept_steps = _nuts(model, starts, seed)
        runs = []
        for repeat in range(repeats):
            own = slice(repeat * CHAINS, (repeat + 1) * CHAINS)
            value, error = bridge(draws[own], log_density, rng)
            # Besides one gradient a step there is one at each start.
            warmup_gradients = int(warmup_steps[own].sum()) + CHAINS
            draw_gradients = float(kept_steps[own].sum()) / KEPT
            runs.append(Bridged(value, error, warmup_gradients, draw_gradients))
    return runs


def bridge(
    draws: np.ndarray, log_density: LogDensity, rng: np.random.Generator
) -> tuple[float, float]:
    """The log evidence from posterior draws[chain, draw, dim], and its standard error.

    The moments of the first half of each chain make the proposal g; the second half and as many
    draws of g make the estimate, with the shares s₁, s₂ of effective draws in the optimal bridge
    of Meng and Wong (1996): r = E_g[q / (s₁ q + s₂ r g)] / E_p[g / (s₁ q + s₂ r g)], iterated.
    """
    half = draws.shape[1] // 2
    fitted, kept = draws[:, :half].reshape(-1, draws.shape[2]), draws[:, half:]
    proposal = multivariate_normal(fitted.mean(axis=0), np.cov(fitted, rowvar=False))
    flat = kept.reshape(-1, draws.shape[2])
    proposed = proposal.rvs(len(flat), random_state=rng).reshape(flat.shape)
    at_kept = log_density(flat) - proposal.logpdf(flat)
    at_proposed = log_density(proposed) - proposal.logpdf(proposed)
    effective = np.median(effective_sample_size(kept))
    share = effective / (effective + len(proposed))
    log_r = _fixed_point(at_kept, at_proposed, share)
    from_proposed = np.exp(at_proposed - log_r - _log_mixture(at_proposed, log_r, share))
    from_kept = np.exp(-_log_mixture(at_kept, log_r, share))
    independent = effective_sample_size(from_kept.reshape(kept.shape[:2]))
    squared = _relative_variance(from_proposed) / len(proposed)
    squared += _relative_variance(from_kept) / independent
    return float(log_r), float(np.sqrt(squared))


def _starts(
    model: refti.Model, log_density: LogDensity, rng: np.random.Generator, count: int
) -> np.ndarray:
    """Starts [chain, dim] as NumPyro draws them, within 2 of the model's and in the support."""
    candidates = model.start + rng.uniform(-2.0, 2.0, (100 * count, model.dim))
    inside = candidates[np.isfinite(log_density(candidates))]
    if len(inside) < count:
        raise ValueError("The peer finds no start inside the support.")
    return inside[:count]


def _nuts(
    model: refti.Model, starts: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws [chain, draw, dim] and the steps [chain, iteration] of the warm-up and of the draws."""
    sampler = MCMC(
        NUTS(potential_fn=lambda x: -model.log_density(x), target_accept_prob=0.8),
        num_warmup=WARMUP,
        num_samples=KEPT,
        num_chains=len(starts),
        chain_method="vectorized",
        progress_bar=False,
    )
    watched = ("num_steps",)
    sampler.warmup(
        jax.random.key(seed),
        init_params=jnp.asarray(starts),
        extra_fields=watched,
        collect_warmup=True,
    )
    warmup_steps = sampler.get_extra_fields(group_by_chain=True)["num_steps"]
    sampler.run(sampler.post_warmup_state.rng_key, extra_fields=watched)
    kept_steps = sampler.get_extra_fields(group_by_chain=True)["num_steps"]
    draws = sampler.get_samples(group_by_chain=True)
    return np.asarray(draws), np.asarray(warmup_steps), np.asarray(kept_steps)


def _fixed_point(at_kept: np.ndarray, at_proposed: np.ndarray, share: float) -> np.float64:
    """log r, from log q - log g at the posterior's and at the proposal's draws."""
    log_r = np.median(at_kept)
    for _ in range(10_000):  # poor overlap makes it slow, and never makes it diverge
        before = log_r
        log_r = logsumexp(at_proposed - _log_mixture(at_proposed, before, share))
        log_r -= logsumexp(-_log_mixture(at_kept, before, share))
        if abs(log_r - before) < 1e-10:
            break
    return log_r


def _log_mixture(log_ratios: np.ndarray, log_r: np.float64, share: float) -> np.ndarray:
    """log (s₁ p + s₂ g) - log g, with p = q / r."""
    return np.logaddexp(np.log(share) + log_ratios - log_r, np.log1p(-share))


def _relative_variance(values: np.ndarray) -> np.float64:
    return values.var(ddof=1) / values.mean() ** 2
