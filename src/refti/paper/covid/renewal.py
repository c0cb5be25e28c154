"""The renewal equation: expected cases a day from reproduction numbers and a generation interval.

f_t = c + R_t Σ_{s<t} f_s g_{t-s} is a triangular system of equations, and its gradient is another
one with the same weights, run backwards in time. Both are solved a block of days at a time: the
days of a block one after the other, then what they hand on to all later days in one sweep.
`python -m benchmarks.renewal` compares this with other ways to write it.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

IMPORTED = 1e-5  # cases a day that come from elsewhere, the c of the equation
DAYS_A_BLOCK = 8  # days; more make longer programs, fewer make more sweeps
NEGLIGIBLE = 1e-30  # share of infections, below rounding even behind a peak of 1e9 cases

Days = Float[Array, " day"]


def rate_of_mean(mean: float) -> float:
    """The Rayleigh rate of a mean generation interval in days."""
    return float(1 / (2 * (np.sqrt(2 / np.pi) * mean) ** 2))


def interval_weights(rate: Float[Array, ""], lags: int) -> Float[Array, " lag"]:
    """g_s, s = 1…lags: the share of infections s days on, of a Rayleigh distribution by days."""
    beyond = jnp.exp(-((np.arange(lags + 1) + 0.5) ** 2) * rate)
    return beyond[:-1] - beyond[1:]


def lags_that_count(rate: float, days: int) -> int:
    """How many lags carry all infections up to rounding, in whole 64s so that programs are shared.

    The weights beyond lag B add up to exp(-(B + ½)² rate). No day expects fewer than c cases, so
    what is left out of a sum is at most this much times the highest peak over c.
    """
    needed = np.sqrt(-np.log(NEGLIGIBLE) / rate) - 0.5
    return min(days, 64 * int(np.ceil(needed / 64)))


def expected_cases(reproduction: Days, rate: Float[Array, ""], *, lags: int) -> Days:
    """f_t = c + R_t Σ_{s<t} f_s g_{t-s}, with weights of the given rate up to so many lags."""
    return IMPORTED + reproduction * _infections(lags, reproduction, rate)


# Compiled by itself it is traced once, so models that differ in data alone share their programs.
@partial(jax.jit, static_argnums=0)
def _infections(lags: int, reproduction: Days, rate: Float[Array, ""]) -> Days:
    """Σ_{s<t} f_s g_{t-s} for every day t."""
    return _differentiable(lags, reproduction, rate)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _differentiable(lags: int, reproduction: Days, rate: Float[Array, ""]) -> Days:
    (sums,) = _solve(IMPORTED, reproduction, interval_weights(rate, lags))
    return sums


def _forward(
    lags: int, reproduction: Days, rate: Float[Array, ""]
) -> tuple[Days, tuple[Array, ...]]:
    weights, slopes = jax.jvp(partial(interval_weights, lags=lags), (rate,), (jnp.ones(()),))
    sums, with_slopes = _solve(IMPORTED, reproduction, weights, slopes)
    return sums, (reproduction, weights, sums, with_slopes)


def _backward(lags: int, kept: tuple[Array, ...], slopes: Days) -> tuple[Days, Float[Array, ""]]:
    """The slopes in R and in the rate: a case more on day t is felt on all days after it."""
    reproduction, weights, sums, with_slopes = kept
    (backwards,) = _solve(slopes[::-1], reproduction[::-1], weights)
    of_cases = backwards[::-1]
    return of_cases * sums, (slopes + reproduction * of_cases) @ with_slopes


_differentiable.defvjp(_forward, _backward)


def _solve(
    source: Days | float, factor: Days, weights: Float[Array, " lag"], *others: Float[Array, " lag"]
) -> tuple[Days, ...]:
    """Σ_{s<t} f_s g_{t-s} with f = source + factor · this; then the same sums of f with others."""
    lags = len(weights)
    padded = [jnp.concatenate([g, jnp.zeros(DAYS_A_BLOCK)]) for g in (weights, *others)]

    def block(pending: list[Array], days: tuple[Array, Array]) -> tuple[list[Array], list[Array]]:
        own, times = days
        cases: list[Array] = []
        sums: list[list[Array]] = [[] for _ in padded]
        for k in range(DAYS_A_BLOCK):
            for g, waiting, found in zip(padded, pending, sums, strict=True):
                within = (f * g[k - 1 - s] for s, f in enumerate(cases))
                found.append(sum(within, start=waiting[k]))
            cases.append(own[k] + times[k] * sums[0][k])
        together = jnp.stack(cases)
        later = [
            jnp.concatenate([waiting[DAYS_A_BLOCK:], jnp.zeros(DAYS_A_BLOCK)])
            for waiting in pending
        ]
        for k in range(DAYS_A_BLOCK):
            handed_on = (g[DAYS_A_BLOCK - 1 - k :][:lags] for g in padded)
            later = [sweep + together[k] * g for sweep, g in zip(later, handed_on, strict=True)]
        return later, [jnp.stack(found) for found in sums]

    source = jnp.broadcast_to(source, factor.shape)
    nothing = [jnp.zeros(lags) for _ in padded]
    _, sums = jax.lax.scan(block, nothing, (_in_blocks(source), _in_blocks(factor)))
    return tuple(found.reshape(-1)[: len(factor)] for found in sums)


def _in_blocks(values: Days) -> Float[Array, "block day"]:
    """The values in rows of a block each, the last filled up with zeros."""
    filler = jnp.zeros(-len(values) % DAYS_A_BLOCK)
    return jnp.concatenate([values, filler]).reshape(-1, DAYS_A_BLOCK)
