"""What a gradient costs from each source, beside Stan's own sampler and nutpie, in one run.

    python -m benchmarks.sources [--peers]

Microseconds per gradient of hierarchical regressions of 5, 36 and 208 parameters. "alone" is a
compiled loop of one gradient after the other; "batch" is a compiled loop of batches of 64, on all
cores as sampling uses them: Stan shares out one batch, the others run half of it in each thread.
Peers pay for their sampler too, a few operations a coordinate: time of sampling over gradients.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.stats import expon, norm
from numpyro.distributions import Exponential, HalfNormal, Normal

import refti

BATCH = 64
GROUPS = {5: 1, 36: 32, 208: 204}  # parameters: groups
PER_GROUP = 10
PROGRAM = """
data { int N; int J; array[N] int<lower=1, upper=J> group; vector[N] x; vector[N] y; }
parameters { real mu; real beta; real<lower=0> tau; real<lower=0> sigma; vector[J] z; }
model {
  mu ~ normal(0, 5);
  beta ~ normal(0, 2);
  tau ~ normal(0, 2) T[0, ];
  sigma ~ exponential(1);
  z ~ std_normal();
  y ~ normal(mu + tau * z[group] + beta * x, sigma);
}
"""


def data_of(groups: int) -> dict[str, Any]:
    """Simulated data of so many groups."""
    rng = np.random.default_rng(1)
    count = max(100, PER_GROUP * groups)
    group = rng.integers(1, groups + 1, count)
    x = rng.normal(size=count)
    y = 1 + 0.7 * rng.normal(size=groups)[group - 1] + 0.5 * x + rng.normal(size=count)
    return {"N": count, "J": groups, "group": group, "x": x, "y": y}


def in_jax(data: dict[str, Any]) -> refti.Model:
    """The model in plain JAX."""
    index, x, y = data["group"] - 1, data["x"], data["y"]

    def log_prior(mu: Any, beta: Any, tau: Any, sigma: Any, z: Any) -> Any:
        half = norm.logpdf(tau, 0, 2) + np.log(2)
        hyper = norm.logpdf(mu, 0, 5) + norm.logpdf(beta, 0, 2) + half + expon.logpdf(sigma)
        return hyper + norm.logpdf(z).sum()

    def log_likelihood(mu: Any, beta: Any, tau: Any, sigma: Any, z: Any) -> Any:
        return norm.logpdf(y, mu + tau * z[index] + beta * x, sigma).sum()

    supports = {"mu": refti.real(), "beta": refti.real(), "tau": refti.positive()}
    supports |= {"sigma": refti.positive(), "z": refti.real(shape=(data["J"],))}
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def in_numpyro(data: dict[str, Any]) -> refti.Model:
    """The model in NumPyro."""

    def hierarchy(group: np.ndarray, x: np.ndarray, y: np.ndarray, J: int) -> None:
        mu, beta = numpyro.sample("mu", Normal(0, 5)), numpyro.sample("beta", Normal(0, 2))
        tau = numpyro.sample("tau", HalfNormal(2))
        sigma = numpyro.sample("sigma", Exponential(1))
        z = numpyro.sample("z", Normal(0, 1).expand([J]).to_event(1))
        numpyro.sample("y", Normal(mu + tau * z[group - 1] + beta * x, sigma), obs=y)

    return refti.from_numpyro(hierarchy, data["group"], data["x"], data["y"], data["J"])


def pymc_model(data: dict[str, Any]) -> Any:
    """The model in PyMC."""
    import pymc as pm

    with pm.Model() as model:
        mu, beta = pm.Normal("mu", 0, 5), pm.Normal("beta", 0, 2)
        tau, sigma = pm.HalfNormal("tau", 2), pm.Exponential("sigma", 1)
        z = pm.Normal("z", 0, 1, shape=data["J"])
        pm.Normal(
            "y", mu + tau * z[data["group"] - 1] + beta * data["x"], sigma, observed=data["y"]
        )
    return model


SOURCES: dict[str, Callable[[dict[str, Any]], refti.Model]] = {
    "Stan": lambda data: refti.from_stan(PROGRAM, data),
    "JAX": in_jax,
    "NumPyro": in_numpyro,
    "PyMC, JAX": lambda data: refti.from_pymc(pymc_model(data), backend="jax"),
    "PyMC, Numba": lambda data: refti.from_pymc(pymc_model(data), backend="numba"),
}


def microseconds(model: refti.Model, lanes: int, threads: int) -> float:
    """Wall time per gradient of compiled loops, the best of several."""
    gradient = jax.vmap(jax.value_and_grad(model.density.log_density))
    steps = 200

    @jax.jit
    def loop(x: jax.Array) -> jax.Array:
        # Each step goes on from the last by next to nothing, so that none can be left out.
        def step(_: Any, x: jax.Array) -> jax.Array:
            value, slope = gradient(x)
            return x + 1e-12 * slope * jnp.isfinite(value)[:, None]

        return jax.lax.fori_loop(0, steps, step, x)

    points = 0.1 * np.random.default_rng(2).normal(size=(lanes // threads, model.dim))

    def once(_: int) -> None:
        with jax.enable_x64(True):
            jax.block_until_ready(loop(jnp.asarray(points)))

    once(0)
    best = np.inf
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(7):
            begun = time.perf_counter()
            list(pool.map(once, range(threads)))
            best = min(best, time.perf_counter() - begun)
    return best / (steps * lanes) * 1e6


def stan_sampler(data: dict[str, Any]) -> float:
    """Microseconds per gradient of Stan's own NUTS, by PyStan, one chain."""
    import contextlib
    import io

    import stan

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in data.items()}
        built = stan.build(PROGRAM, data=plain, random_seed=1)
        # Starting up the service and writing down the draws is no part of a gradient's cost:
        # runs of two lengths differ by gradients alone.
        taken = []
        for count in (500, 4500):
            begun = time.perf_counter()
            fit = built.sample(num_chains=1, num_warmup=500, num_samples=count)
            taken.append((time.perf_counter() - begun, fit["n_leapfrog__"].sum()))
    (short, few), (long, many) = taken
    return float((long - short) / (many - few) * 1e6)


def nutpie_sampler(data: dict[str, Any]) -> float:
    """Microseconds per gradient of nutpie on the PyMC model by Numba, one chain."""
    import nutpie

    compiled = nutpie.compile_pymc_model(pymc_model(data))
    taken = []
    for count in (500, 4500):
        begun = time.perf_counter()
        trace = nutpie.sample(compiled, draws=count, tune=500, chains=1, seed=1, progress_bar=False)
        taken.append((time.perf_counter() - begun, int(trace.sample_stats.n_steps.sum())))
    (short, few), (long, many) = taken
    return (long - short) / (many - few) * 1e6


def compile_seconds() -> tuple[float, float, float]:
    """Seconds to compile a first, a second and a third program, with an empty cache."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.environ["REFTI_CACHE"] = folder
        taken = []
        for turn in (1, 2, 3):
            begun = time.perf_counter()
            refti.from_stan(PROGRAM.replace("std_normal()", f"normal(0, {turn})"), data_of(1))
            taken.append(time.perf_counter() - begun)
        del os.environ["REFTI_CACHE"]
    return taken[0], taken[1], taken[2]


def main() -> None:
    """Prints the tables."""
    peers = "--peers" in sys.argv
    threads = os.cpu_count() or 1
    print(f"microseconds per gradient, alone / batch of {BATCH} on {threads} threads")
    print(f"{'source':<24}" + "".join(f"{dim:>20}" for dim in GROUPS))
    datas = {dim: data_of(groups) for dim, groups in GROUPS.items()}
    for name, make in SOURCES.items():
        cells = []
        for data in datas.values():
            model = make(data)
            with jax.enable_x64(True):
                alone = microseconds(model, 1, 1)
                batch = microseconds(model, BATCH, 1 if name == "Stan" else threads)
            cells.append(f"{alone:9.2f} / {batch:8.2f}")
        print(f"{name:<24}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    if peers:
        for name, sampler in {"Stan's NUTS": stan_sampler, "nutpie, Numba": nutpie_sampler}.items():
            cells = [f"{sampler(data):9.2f}" for data in datas.values()]
            print(f"{name:<24}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    seconds = ", ".join(f"{taken:.0f}" for taken in compile_seconds())
    print(f"seconds to compile a first, a second and a third Stan program: {seconds}")


if __name__ == "__main__":
    main()
