"""Nested samplers at their defaults: dynesty, nautilus, UltraNest and BlackJAX's slices."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.problems import Problem
from benchmarks.peers.rows import Answer
from benchmarks.peers.splits import Split

LIVE = 1000  # of dynesty and BlackJAX
REMAINING = 0.01  # nats left in live points at the end


def dynesty(problem: Problem, seed: int) -> Answer:
    """Static, its own choice of bounds and sampler."""
    import dynesty as package

    # It has much to say of bounds that it enlarges, at every update of them.
    warnings.filterwarnings("ignore", message="The enlargement factor", category=UserWarning)
    split = _split(problem)
    one, _ = _likelihoods(split)
    begun = time.perf_counter()
    sampler = package.NestedSampler(
        one, split.from_cube, problem.dim, nlive=LIVE, rstate=np.random.default_rng(seed)
    )
    sampler.run_nested(dlogz=REMAINING, print_progress=False)
    found = sampler.results
    seconds = time.perf_counter() - begun
    values = float(found.logz[-1]), float(found.logzerr[-1])
    return Answer(*values, 0, int(np.sum(found.ncall)), seconds)


def nautilus(problem: Problem, seed: int) -> Answer:
    """Its default of 2,000 live points; the claimed error is one over the root of its draws."""
    from nautilus import Sampler

    split = _split(problem)
    _, many = _likelihoods(split)
    begun = time.perf_counter()
    sampler = Sampler(
        split.from_cube, many, problem.dim, vectorized=True, pass_dict=False, seed=seed
    )
    sampler.run(verbose=False)
    seconds = time.perf_counter() - begun
    error = 1 / np.sqrt(sampler.n_eff)
    return Answer(float(sampler.log_z), float(error), 0, int(sampler.n_like), seconds)


def ultranest(problem: Problem, seed: int) -> Answer:
    """Reactive, 400 live points; its random numbers are NumPy's global ones."""
    from ultranest import ReactiveNestedSampler

    logging.getLogger("ultranest").setLevel(logging.ERROR)
    split = _split(problem)
    _, many = _likelihoods(split)
    np.random.seed(seed)
    begun = time.perf_counter()
    names = [f"x{i}" for i in range(problem.dim)]
    sampler = ReactiveNestedSampler(names, many, split.from_cube, vectorized=True)
    found = sampler.run(show_status=False, viz_callback=False)
    seconds = time.perf_counter() - begun
    values = float(found["logz"]), float(found["logzerr"])
    return Answer(*values, 0, int(found["ncall"]), seconds)


def blackjax_slices(problem: Problem, seed: int) -> Answer:
    """Nested slice sampling, a tenth of the live points replaced at a time."""
    import blackjax
    from blackjax.ns.utils import finalise, log_weights

    split = _split(problem)
    with jax.enable_x64(True):
        sampler = blackjax.nss(
            split.log_prior,
            split.log_likelihood,
            num_inner_steps=max(5, 2 * problem.dim),
            num_delete=LIVE // 10,
        )
        key = jax.random.key(seed)
        cube = np.random.default_rng(seed).uniform(size=(LIVE, problem.dim))
        state = sampler.init(jnp.asarray(split.from_cube(cube)))
        step = jax.jit(sampler.step).lower(key, state).compile()
        begun, dead = time.perf_counter(), []
        while state.integrator.logZ_live - state.integrator.logZ > np.log(REMAINING):
            key, own = jax.random.split(key)
            state, info = step(own, state)
            dead.append(info)
        seconds = time.perf_counter() - begun
        whole = finalise(state, dead)
        weights = log_weights(key, whole, shape=100)
        values = jax.scipy.special.logsumexp(jnp.nan_to_num(weights, nan=-jnp.inf), axis=0)
    return Answer(float(values.mean()), float(values.std()), 0, _slice_calls(whole), seconds)


def _slice_calls(whole: Any) -> int:
    """The likelihoods that slices took, by their expansions and shrinkages."""
    info = whole.update_info
    found = [
        leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(info)
        if any(word in jax.tree_util.keystr(path) for word in ("num_expansions", "num_shrink"))
    ]
    return int(sum(np.asarray(leaf).sum() for leaf in found))


def _split(problem: Problem) -> Split:
    assert problem.split is not None
    return problem.split()


def _likelihoods(
    split: Split,
) -> tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]:
    """The likelihood of one point and of many, compiled for numbers of points that do not vary."""
    with jax.enable_x64(True):
        one, many = jax.jit(split.log_likelihood), jax.jit(jax.vmap(split.log_likelihood))

    def of_one(x: np.ndarray) -> float:
        with jax.enable_x64(True):
            return float(one(x))

    def of_many(x: np.ndarray) -> np.ndarray:
        # Widths by powers of two: each number of points would be a program of its own.
        width = 1 << max(4, (len(x) - 1).bit_length())
        padded = np.concatenate([x, np.repeat(x[-1:], width - len(x), axis=0)])
        with jax.enable_x64(True):
            return np.array(many(padded))[: len(x)]

    return of_one, of_many
