"""The renewal equation in several formulations: value and gradient, beside the one in use.

    python -m benchmarks.renewal

Microseconds per gradient of the 201 days of South Korea, for 8 chains side by side in a compiled
loop, alone and with a second such loop in another thread (nan where that is not safe), with a rate
that is inferred and with a fixed mean of 8 days. Every formulation takes its turn in each round and
its best round counts, so that ratios hold on a busy machine. "by JAX" is differentiated by JAX;
"adjoint" runs the same solver backwards in time for the gradient, and once more with the slopes of
the weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from refti.paper.covid import renewal
from refti.paper.covid.cases import south_korea

LANES, STEPS, ROUNDS = 8, 25, 9
MEAN = 8.0  # days of the fixed interval
# As the sampler compiles its programs: quickly.
OPTIONS = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}

Solver = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
"""From source, factor and weights to sums h_t = Σ_{s<t} f_s g_{t-s}, f = source + factor · h."""
Formulation = Callable[[jax.Array, jax.Array], jax.Array]
"""From reproduction numbers and rate to expected cases."""


def past_dots(source: jax.Array, factor: jax.Array, weights: jax.Array) -> jax.Array:
    """Day by day: the dot product of all days before with the weights, the others masked."""
    days = len(source)

    def day(cases: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        t, own, times = now
        total = jnp.where(np.arange(days) < t, jnp.roll(weights[::-1], t), 0.0) @ cases
        return cases.at[t].set(own + times * total), total

    return jax.lax.scan(day, jnp.zeros(days), (jnp.arange(days), source, factor))[1]


def sweeps(source: jax.Array, factor: jax.Array, weights: jax.Array) -> jax.Array:
    """Day by day: each day is handed on to all days after it."""

    def day(pending: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        own, times = now
        today = own + times * pending[0]
        return jnp.append(pending[1:], 0.0) + today * weights, pending[0]

    return jax.lax.scan(day, jnp.zeros(len(weights)), (source, factor))[1]


def triangular(source: jax.Array, factor: jax.Array, weights: jax.Array) -> jax.Array:
    """All days at once, by LAPACK's triangular solver."""
    past = _toeplitz(weights, len(source))
    system = jnp.eye(len(source)) - factor[:, None] * past
    return past @ solve_triangular(system, source, lower=True, unit_diagonal=True)


def matrix_blocks(
    source: jax.Array, factor: jax.Array, weights: jax.Array, *, size: int
) -> jax.Array:
    """Block by block: inverses of all blocks on the diagonal, matrix products for the rest."""
    days, filled = len(source), len(source) + -len(source) % size
    own, times = (jnp.pad(v, (0, filled - days)).reshape(-1, size) for v in (source, factor))
    padded = jnp.pad(weights, (0, filled + size - len(weights)))
    slab = jnp.stack([padded[k : k + filled] for k in range(size)])
    within = _toeplitz(padded, size)
    inverses = _inverses(times[:, :, None] * within)
    backwards, sums = jnp.zeros(0), []
    for block in range(len(own)):
        pending = slab[:, : len(backwards)] @ backwards
        cases = inverses[block] @ (own[block] + times[block] * pending)
        sums.append(pending + within @ cases)
        backwards = jnp.concatenate([cases[::-1], backwards])
    return jnp.concatenate(sums)[:days]


def _toeplitz(weights: jax.Array, days: int) -> jax.Array:
    lag = np.arange(days)[:, None] - np.arange(days)
    return jnp.where(lag > 0, weights[np.maximum(lag - 1, 0)], 0.0)


def _inverses(nilpotent: jax.Array) -> jax.Array:
    """(I - M)⁻¹ = (I + M)(I + M²)(I + M⁴)… for strictly triangular M."""
    size = nilpotent.shape[-1]
    inverse, power = jnp.eye(size) + nilpotent, 1
    while 2 * power < size:
        nilpotent, power = nilpotent @ nilpotent, 2 * power
        inverse = inverse + inverse @ nilpotent
    return inverse


def by_jax(solver: Solver) -> Formulation:
    """The formulation that JAX differentiates."""

    def cases(reproduction: jax.Array, rate: jax.Array) -> jax.Array:
        weights = renewal.interval_weights(rate, len(reproduction))
        source = jnp.full_like(reproduction, renewal.IMPORTED)
        return source + reproduction * solver(source, reproduction, weights)

    return cases


def adjoint(solver: Solver) -> Formulation:
    """The formulation whose gradient is the same solver's, run backwards."""
    imported = renewal.IMPORTED

    @jax.custom_vjp
    def sums(reproduction: jax.Array, rate: jax.Array) -> jax.Array:
        return forward(reproduction, rate)[0]

    def forward(reproduction: jax.Array, rate: jax.Array) -> tuple[jax.Array, tuple[Any, ...]]:
        lagged = partial(renewal.interval_weights, lags=len(reproduction))
        weights, slopes = jax.jvp(lagged, (rate,), (jnp.ones(()),))
        found = solver(jnp.full_like(reproduction, imported), reproduction, weights)
        return found, (reproduction, weights, slopes, found)

    def backward(kept: tuple[Any, ...], cotangents: jax.Array) -> tuple[jax.Array, jax.Array]:
        reproduction, weights, slopes, found = kept
        of_cases = solver(cotangents[::-1], reproduction[::-1], weights)[::-1]
        with_slopes = solver(imported + reproduction * found, jnp.zeros_like(found), slopes)
        return of_cases * found, (cotangents + reproduction * of_cases) @ with_slopes

    sums.defvjp(forward, backward)
    return lambda reproduction, rate: imported + reproduction * sums(reproduction, rate)


def in_use(reproduction: jax.Array, rate: jax.Array, *, mean: float | None = None) -> jax.Array:
    """The formulation of refti.paper.covid.renewal, with lags left out if the mean is fixed."""
    days = len(reproduction)
    lags = days if mean is None else renewal.lags_that_count(renewal.rate_of_mean(mean), days)
    return renewal.expected_cases(reproduction, rate, lags=lags)


FORMULATIONS: dict[str, Formulation] = {
    "dot with the past, by JAX": by_jax(past_dots),
    "dot with the past, adjoint": adjoint(past_dots),
    "sweep a day, by JAX": by_jax(sweeps),
    "sweep a day, adjoint": adjoint(sweeps),
    "triangular solve, by JAX": by_jax(triangular),
    "triangular solve, adjoint": adjoint(triangular),
    "matrix blocks of 16, adjoint": adjoint(partial(matrix_blocks, size=16)),
    "matrix blocks of 32, adjoint": adjoint(partial(matrix_blocks, size=32)),
    "sweep a block of 8 (in use)": in_use,
}
# With jaxlib 0.10, compiled loops around vectorised triangular solves can wait for each other for
# ever when two threads run them on two cores; formulations with linear algebra are timed alone.
ALONE = {name for name in FORMULATIONS if name.startswith(("triangular", "matrix"))}


@dataclass(frozen=True)
class Timed:
    """A formulation's compiled loop and what it was found to give."""

    loop: Any
    compile_seconds: float
    value: jax.Array
    gradient: jax.Array


def prepared(cases: Formulation, x: jax.Array, *, fixed: bool) -> Timed:
    """The compiled loop of a formulation, one gradient after the other."""
    y = south_korea().counts.astype(float)
    mean_rate = jnp.asarray(renewal.rate_of_mean(MEAN))

    def log_density(x: jax.Array) -> jax.Array:
        f = cases(jnp.exp(x[:-1]), mean_rate if fixed else jnp.exp(x[-1]))
        return jnp.sum(y * jnp.log(f) - (y + 5.0) * jnp.log(1 + f / 5.0))

    gradient = jax.vmap(jax.value_and_grad(log_density))

    def loop(x: jax.Array, steps: jax.Array) -> Any:
        # Each step goes on from the last by next to nothing, so that none can be left out.
        def step(_: Any, state: Any) -> Any:
            x, *_ = state
            value, slope = gradient(x)
            return x + 1e-14 * slope * jnp.isfinite(value)[:, None], value, slope

        return jax.lax.fori_loop(0, steps, step, (x, x[:, 0], x))

    begun = time.perf_counter()
    compiled = jax.jit(loop, compiler_options=OPTIONS).lower(x, jnp.asarray(1)).compile()
    seconds = time.perf_counter() - begun
    _, value, slope = compiled(x, jnp.asarray(1))
    return Timed(partial(compiled, x, jnp.asarray(STEPS)), seconds, value, slope)


def microseconds(timed: dict[str, Timed], threads: int) -> dict[str, float]:
    """Wall time per gradient of each loop, the best of all rounds."""
    best = dict.fromkeys(timed, np.inf)

    def once(loop: Any) -> None:
        with jax.enable_x64(True):  # a setting of each thread
            jax.block_until_ready(loop())

    with ThreadPoolExecutor(threads) as pool:
        for _ in range(ROUNDS):
            for name, each in timed.items():
                begun = time.perf_counter()
                list(pool.map(once, [each.loop] * threads))
                best[name] = min(best[name], time.perf_counter() - begun)
    return {name: taken / (STEPS * LANES * threads) * 1e6 for name, taken in best.items()}


def report(title: str, formulations: dict[str, Formulation], *, fixed: bool) -> None:
    """Prints one table."""
    days = len(south_korea())
    x = 0.2 * np.random.default_rng(2).normal(size=(LANES, days + 1))
    x[:, -1] = np.log(0.01) + 0.1 * x[:, -1]
    lanes = jnp.asarray(x)
    timed = {name: prepared(each, lanes, fixed=fixed) for name, each in formulations.items()}
    alone = microseconds(timed, 1)
    two = microseconds({k: v for k, v in timed.items() if k not in ALONE}, 2)
    plain, *_ = timed
    print(f"\n{title}\n{'':<32}{'alone':>8}{'faster':>8}{'two threads':>13}", end="")
    print(f"{'compile s':>11}{'value':>10}{'gradient':>10}")
    for name, each in timed.items():
        off = np.max(np.abs(each.value / timed[plain].value - 1))
        scale = np.abs(timed[plain].gradient).max(axis=1, keepdims=True)
        slope_off = np.max(np.abs(each.gradient - timed[plain].gradient) / scale)
        threads = two.get(name, np.nan)
        print(
            f"{name:<32}{alone[name]:8.1f}{alone[plain] / alone[name]:7.1f}×{threads:13.1f}", end=""
        )
        print(f"{each.compile_seconds:11.1f}{off:10.0e}{slope_off:10.0e}", flush=True)


def main() -> None:
    """Prints the tables."""
    with jax.enable_x64(True):
        report("rate inferred, microseconds per gradient", FORMULATIONS, fixed=False)
        shorter = {"the same, of the lags that count": partial(in_use, mean=MEAN)}
        report(f"mean interval {MEAN:g} days", FORMULATIONS | shorter, fixed=True)


if __name__ == "__main__":
    main()
