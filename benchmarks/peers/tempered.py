"""Sequential Monte Carlo from the prior: PyMC's sample_smc, and BlackJAX's persistent sampling."""

from __future__ import annotations

import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.problems import Problem
from benchmarks.peers.rows import Answer

PARTICLES, CHAINS = 2000, 4
MOST_STEPS = 60  # temperatures for which persistent sampling sets memory aside
SWEEPS = 3  # of all coordinates, between two temperatures


def pymc(problem: Problem, seed: int) -> Answer:
    """sample_smc at its defaults; the error is that of the mean over its chains."""
    import pymc as pm

    with _pymc_model(problem):
        begun = time.perf_counter()
        trace = pm.sample_smc(
            PARTICLES, chains=CHAINS, cores=2, random_seed=seed, progressbar=False
        )
        seconds = time.perf_counter() - begun
    stats = trace.sample_stats
    # Each chain has a list with one number for every temperature, of which the last counts.
    values = np.array(
        [[v for v in np.ravel(chain) if v == v][-1] for chain in _chains(stats)], dtype=float
    )
    return Answer(
        float(values.mean()), float(values.std(ddof=1) / math.sqrt(CHAINS)), 0, 0, seconds
    )


def _chains(stats: Any) -> list[Any]:
    found = stats["log_marginal_likelihood"].values
    return [np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in row]) for row in found]


def _pymc_model(problem: Problem) -> Any:
    import pymc as pm

    if problem.zoo is not None:
        from tests.zoo import MODELS, exact_pymc

        with exact_pymc():
            return MODELS[problem.zoo].pymc_model()
    if problem.data is None:
        raise ValueError("It is not written in PyMC.")
    data = problem.data()
    with pm.Model() as model:
        if problem.name == "radiata":
            centred = data["covariate"] - data["covariate"].mean()
            tau = pm.Gamma("tau", 3.0, 2 * 300.0**2)
            alpha = pm.Normal("alpha", 3000.0, tau=0.06 * tau)
            beta = pm.Normal("beta", 185.0, tau=6.0 * tau)
            pm.Normal("y", alpha + beta * centred, tau=tau, observed=data["strength"])
        else:
            alpha = pm.Normal("alpha", 0, 2)
            slopes = pm.StudentT("beta", nu=4, mu=0, sigma=1, shape=data["K"])
            pm.Bernoulli("y", logit_p=alpha + data["x"] @ slopes, observed=data["y"])
    return model


def blackjax_persistent(problem: Problem, seed: int) -> Answer:
    """Persistent sampling with slices along coordinates; it claims no error of its evidence."""
    import blackjax
    from blackjax.mcmc import slice as slices
    from blackjax.smc import resampling

    assert problem.split is not None
    split = problem.split()
    cube = np.random.default_rng(seed).uniform(size=(PARTICLES, problem.dim))
    with jax.enable_x64(True):
        particles = jnp.asarray(split.from_cube(cube))
        step = slices.build_coordinate_kernel(initial_widths=particles.std(axis=0))
        sampler = blackjax.adaptive_persistent_sampling_smc(
            split.log_prior,
            split.log_likelihood,
            max_iterations=MOST_STEPS,
            mcmc_step_fn=step,
            mcmc_init_fn=slices.init,
            mcmc_parameters={},
            resampling_fn=resampling.systematic,
            target_ess=3,
            num_mcmc_steps=SWEEPS,
        )
        key, state = jax.random.key(seed), sampler.init(particles)
        advance = jax.jit(sampler.step).lower(key, state).compile()
        begun, steps = time.perf_counter(), 0
        while float(state.tempering_param) < 1 and steps < MOST_STEPS:
            key, own = jax.random.split(key)
            state, _ = advance(own, state)
            steps += 1
        seconds = time.perf_counter() - begun
        reached, log_z = float(state.tempering_param) >= 1, float(state.log_Z)
    # About six densities a coordinate: where a slice ends, and points of it.
    calls = 6 * steps * SWEEPS * PARTICLES * problem.dim
    return Answer(log_z, math.nan, 0, calls, seconds, trusted=reached)
