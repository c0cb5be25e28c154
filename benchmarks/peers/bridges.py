"""NUTS, then bridge sampling: NumPyro's and nutpie's draws, one bridge for both."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.bridge import CHAINS, KEPT, WARMUP, bridge, bridged
from benchmarks.peers.problems import Problem
from benchmarks.peers.rows import Answer


def numpyro(problem: Problem, seed: int) -> Answer:
    """NumPyro's NUTS at its defaults, chains side by side."""
    model = problem.model()
    begun = time.perf_counter()
    (found,) = bridged(model, 1, seed=seed)
    seconds = time.perf_counter() - begun
    kept = found.draw_gradients * KEPT
    gradients = round(found.warmup_gradients + kept)
    return Answer(found.value, found.error, gradients, CHAINS * KEPT, seconds * kept / gradients)


def nutpie(problem: Problem, seed: int) -> Answer:
    """nutpie's NUTS at its defaults, on the compiled gradient."""
    import nutpie

    model = problem.model()
    with jax.enable_x64(True):
        gradient = jax.jit(jax.value_and_grad(model.log_density))
        gradient(jnp.zeros(problem.dim))
        many = jax.jit(jax.vmap(model.log_density))

    def make_log_density() -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        def log_density(x: np.ndarray) -> tuple[float, np.ndarray]:
            with jax.enable_x64(True):
                value, slope = gradient(x)
                return float(value), np.array(slope)

        return log_density

    def make_expand(*_: Any) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
        return lambda x: {"x": np.array(x)}

    compiled = nutpie.compiled_pyfunc.from_pyfunc(
        problem.dim, make_log_density, make_expand, [np.dtype(np.float64)], [(problem.dim,)], ["x"]
    )
    options = {"draws": KEPT, "tune": WARMUP, "chains": CHAINS, "cores": 2, "seed": seed}
    begun = time.perf_counter()
    trace = nutpie.sample(compiled, **options, progress_bar=False, store_unconstrained=True)
    seconds = time.perf_counter() - begun
    steps = [trace.sample_stats.n_steps.values, trace.warmup_sample_stats.n_steps.values]
    draws = np.asarray(trace.posterior["x"].values)

    def at(points: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            values = np.asarray(many(jnp.asarray(points)))
        return np.where(np.isfinite(values), values, -np.inf)

    value, error = bridge(draws, at, np.random.default_rng(seed))
    kept, gradients = int(steps[0].sum()), int(sum(each.sum() for each in steps))
    return Answer(value, error, gradients, CHAINS * KEPT, seconds * kept / gradients)
