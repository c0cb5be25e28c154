"""Chains: warm-up and kept draws of all rungs of a leg, in stretches of one length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from refti.cost import Meter
from refti.path import Leg
from refti.sampling.kernel import OUTSIDE, KernelName
from refti.sampling.lanes import Lanes, Trace, Whitening, advance, begin, fresh_steps
from refti.sampling.whitening import refit

QUARTER_TURN = np.pi / 2  # the trajectory length that forgets a standard normal's start
TARGET_ACCEPTANCE = 0.85
FEW_DIVERGENCES = 0.001  # the share of iterations above which a rung's steps are made shorter


@dataclass(frozen=True)
class Effort:
    """How much to sample: iterations of each chain, and how they are made."""

    chains: int
    warmup: int
    kept: int
    stretch: int  # iterations run in one call: one length for all, so that one program serves
    kernel: KernelName = "hmc"


@dataclass(frozen=True)
class Chains:
    """Kept draws of every sampled rung, the coordinates they were made in, and what it cost."""

    x: np.ndarray  # [rung, chain, draw, dim], or only the last rung
    delta: np.ndarray  # [rung, chain, draw], -inf outside the support of the end
    whitening: Whitening
    acceptance: np.ndarray  # [rung]
    divergences: np.ndarray  # [rung], the share of kept iterations


def run_chains(
    leg: Leg,
    lambdas: np.ndarray,
    start: np.ndarray,
    whitening: Whitening,
    effort: Effort,
    key: jax.Array,
    *,
    pooled: bool = False,
    keep_all_x: bool = False,
    meter: Meter,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Chains:
    """The chains of every rung after warm-up, from start[rung, chain, dim].

    Warm-up stretches double between refits of each rung's whitening; the last quarter adapts
    only the step sizes. Where trajectories diverge, a larger share of them has to be accepted
    from then on. With `pooled` all rungs share one whitening (the pilot's lanes all sample the
    same density).
    """
    warmup = -(-effort.warmup // effort.stretch)
    kept = -(-effort.kept // effort.stretch)
    refits = _refit_after(warmup)
    rungs = jnp.asarray(lambdas)
    lengths = jnp.asarray(np.full(lambdas.shape, QUARTER_TURN))
    first_size = np.full(lambdas.shape, 0.7 * start.shape[-1] ** -0.25)

    def restart(whitening: Whitening, x: np.ndarray, sizes: np.ndarray) -> Lanes:
        meter.gradients += x.shape[0] * x.shape[1]
        state = meter.call(begin, leg, rungs, whitening, jnp.asarray(x))
        return Lanes(state, meter.call(fresh_steps, jnp.asarray(sizes)))

    lanes = restart(whitening, start, first_size)
    targets = np.full(lambdas.shape, TARGET_ACCEPTANCE)
    window: list[Trace] = []
    traces: list[Trace] = []

    for index in range(warmup + kept):
        adapting = index < warmup
        lanes, trace = meter.call(
            advance,
            leg,
            rungs,
            whitening,
            lanes,
            jax.random.fold_in(key, index),
            lengths,
            jnp.asarray(targets),
            jnp.asarray(adapting),
            kernel=effort.kernel,
            iterations=effort.stretch,
        )
        trace = Trace(*(np.asarray(a) for a in trace))
        meter.gradients += int(trace.gradients.sum())
        if adapting:
            window.append(trace)
            if index + 1 in refits:
                recent = np.concatenate([part.x for part in window], axis=2)
                whitening = refit(whitening, recent, pooled=pooled)
                if index > 0:  # the very first steps are guesses, and may well diverge
                    divergent = np.mean([part.divergent for part in window], axis=(0, 2, 3))
                    targets = np.where(divergent > FEW_DIVERGENCES, 0.5 + 0.5 * targets, targets)
                sizes = np.exp(np.asarray(lanes.steps.log_step_size_avg))
                lanes = restart(whitening, np.asarray(trace.x[:, :, -1]), sizes)
                window = []
        else:
            traces.append(trace if keep_all_x else trace._replace(x=trace.x[-1:]))
        progress(index + 1, warmup + kept)

    whole = Trace(*(np.concatenate(parts, axis=2) for parts in zip(*traces, strict=True)))
    whole = Trace(*(a[:, :, : effort.kept] for a in whole))
    return Chains(
        x=np.asarray(whole.x),
        delta=np.where(whole.delta > OUTSIDE / 2, whole.delta, -np.inf),
        whitening=whitening,
        acceptance=np.mean(whole.acceptance, axis=(1, 2)),
        divergences=np.mean(whole.divergent, axis=(1, 2)),
    )


def _refit_after(warmup: int) -> set[int]:
    def doubling() -> Iterator[int]:
        at = 1
        while at <= 0.75 * warmup:
            yield at
            at = 2 * at + 1

    return set(doubling())
