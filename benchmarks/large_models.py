"""Models of thousands of parameters with known evidence: what refti makes of each.

`python -m benchmarks.large_models` prints a table; names after it choose some of them. Every run
has a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import refti
from benchmarks.growth import HEAD, RULE, Case, run_apart

LOG_2_PI = float(np.log(2 * np.pi))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--max-seconds", type=float)
    asked = parser.parse_args()
    print(f"{HEAD}\n{RULE}", flush=True)
    for name in asked.names:
        runs = [run_apart(made, name, 0, seed, asked.max_seconds) for seed in range(asked.seeds)]
        failed = next((run for run in runs if isinstance(run, str)), "")
        kept = [run for run in runs if not isinstance(run, str)]
        print(Case(name, MODELS[name][1], () if failed else kept, failed).line(), flush=True)


def made(name: str, dim: int) -> tuple[refti.Model, float]:
    """The model of a name and its log evidence; its dimension is its own."""
    del dim
    build, size = MODELS[name]
    return build(size)


def local_level(dim: int) -> tuple[refti.Model, float]:
    """A random walk seen with noise, one level at each time; its evidence by the Kalman filter."""
    rng = np.random.default_rng(0)
    step, noise, first = 0.3, 1.0, 5.0
    levels = np.cumsum(np.append(rng.normal(scale=first), rng.normal(scale=step, size=dim - 1)))
    data = levels + rng.normal(scale=noise, size=dim)

    def log_density(x: jax.Array) -> jax.Array:
        walk = -0.5 * (x[0] / first) ** 2 - 0.5 * jnp.sum((x[1:] - x[:-1]) ** 2) / step**2
        seen = -0.5 * jnp.sum((data - x) ** 2) / noise**2
        constants = (2 * dim) * 0.5 * LOG_2_PI + np.log(first) + (dim - 1) * np.log(step)
        return walk + seen - constants - dim * np.log(noise)

    mean, variance, log_z = 0.0, first**2, 0.0
    for value in data:
        spread = variance + noise**2
        log_z += float(stats.norm.logpdf(value, mean, np.sqrt(spread)))
        mean += variance / spread * (value - mean)
        variance = variance * noise**2 / spread + step**2
    return refti.Model(log_density, dim=dim), log_z


def non_centred(dim: int) -> tuple[refti.Model, float]:
    """Groups about a common mean, their effects standard normal and scaled by a common scale."""
    return _groups(dim, centred=False)


def centred(dim: int) -> tuple[refti.Model, float]:
    """The same groups by their effects themselves."""
    return _groups(dim, centred=True)


def _groups(dim: int, *, centred: bool) -> tuple[refti.Model, float]:
    rng = np.random.default_rng(1)
    groups, noise = dim - 2, 0.7
    data = 1.0 + 0.8 * rng.normal(size=groups) + noise * rng.normal(size=groups)

    def log_prior(mean: jax.Array, log_scale: jax.Array) -> jax.Array:
        return -0.5 * (mean**2 / 25 + log_scale**2) - LOG_2_PI - np.log(5.0)

    def log_density(x: jax.Array) -> jax.Array:
        mean, log_scale, effects = x[0], x[1], x[2:]
        scale = jnp.exp(log_scale)
        if centred:
            z, change = (effects - mean) / scale, -groups * log_scale
        else:
            z, change, effects = effects, 0.0, mean + scale * effects
        each = -0.5 * z**2 - 0.5 * ((data - effects) / noise) ** 2 - LOG_2_PI - np.log(noise)
        return log_prior(mean, log_scale) + change + jnp.sum(each)

    means, scales = np.meshgrid(np.linspace(0, 2, 801), np.linspace(-2, 1, 801), indexing="ij")
    spread = np.exp(2 * scales) + noise**2
    squares = np.sum(data**2) - 2 * means * data.sum() + groups * means**2
    log_likelihood = -0.5 * (groups * (LOG_2_PI + np.log(spread)) + squares / spread)
    logs = np.asarray(log_prior(means, scales)) + log_likelihood
    cell = np.log(means[1, 0] - means[0, 0]) + np.log(scales[0, 1] - scales[0, 0])
    log_z = float(np.log(np.exp(logs - logs.max()).sum()) + logs.max() + cell)
    return refti.Model(log_density, dim=dim), log_z


def smooth_field(dim: int) -> tuple[refti.Model, float]:
    """A field with a squared exponential covariance and a nugget: every entry of it is felt."""
    places = np.linspace(0, 1, dim)
    # The kernel's leading directions by those on a coarse grid, orthonormal on the fine one.
    coarse = places[:: dim // 300]
    kernel = np.exp(-0.5 * ((coarse[:, None] - coarse) / 0.05) ** 2)
    sizes, vectors = np.linalg.eigh(kernel)
    kept = sizes > 1e-3 * sizes[-1]
    fine = np.exp(-0.5 * ((places[:, None] - coarse) / 0.05) ** 2) @ vectors[:, kept]
    directions = np.linalg.qr(fine)[0]
    sizes, nugget = sizes[kept] * len(places) / len(coarse), 0.5
    shrink = sizes / (sizes + nugget)

    def log_density(x: jax.Array) -> jax.Array:
        along = directions.T @ (x - 1.0)
        return -0.5 * (jnp.sum((x - 1.0) ** 2) - jnp.sum(shrink * along**2)) / nugget

    log_z = 0.5 * dim * (LOG_2_PI + np.log(nugget)) + 0.5 * np.sum(np.log1p(sizes / nugget))
    return refti.Model(log_density, dim=dim), float(log_z)


MODELS: dict[str, tuple[Callable[[int], tuple[refti.Model, float]], int]] = {
    "local level": (local_level, 5000),
    "groups, non-centred": (non_centred, 2002),
    "groups, centred": (centred, 2002),
    "smooth field": (smooth_field, 3000),
}

if __name__ == "__main__":
    main()
