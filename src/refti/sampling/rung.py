"""Rungs: chains placed at one lambda of a leg, moved, and warmed up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import jax
import numpy as np

from refti.draws import autocorrelation
from refti.factors.factor import Factor
from refti.paths.path import Leg
from refti.sampling.block import Block, Rung
from refti.sampling.engine import Engine
from refti.sampling.evaluation import value_and_gradient
from refti.sampling.kernels.base import RungDensity, Trace
from refti.sampling.kernels.step_size import fresh_step_size, shorten
from refti.sampling.score_whitening import refit_by_scores, wants_scores
from refti.sampling.tuning import TUNING
from refti.sampling.whitening import Whitening, refit


def place_chains(
    leg: Leg,
    lam: float,
    x: np.ndarray,
    whitening: Whitening,
    engine: Engine,
    *,
    step_size: float | None = None,
    target_acceptance: float = TUNING.target_acceptance,
) -> Rung:
    """A rung whose chains stand at x[chain, dim], its step size to be adapted."""
    steps = None
    if engine.kernel.has_step_size:
        usual = TUNING.first_step * x.shape[1] ** -0.25
        steps = fresh_step_size(usual if step_size is None else step_size, engine.meter)
    state = engine.kernel.start(RungDensity(leg, lam, whitening), x, engine.meter)
    return Rung(lam, engine.kernel.name, whitening, state, steps, target_acceptance)


def move_chains(leg: Leg, rung: Rung, x: np.ndarray, engine: Engine) -> Rung:
    """The rung with its chains at x[chain, dim] instead."""
    density = RungDensity(leg, rung.lam, rung.whitening)
    return replace(rung, state=engine.kernel.start(density, x, engine.meter))


def advance(
    leg: Leg, rung: Rung, key: jax.Array, engine: Engine, *, adapting: bool = False
) -> Block:
    """The rung after one block."""
    return engine.run_block(leg, rung, (key,), adapting=adapting)


def shorten_steps(rung: Rung) -> Rung:
    """The rung with shorter steps, where its moves have any."""
    if rung.step_size is None:
        return rung
    return replace(rung, step_size=shorten(rung.step_size, TUNING.step_left))


def warm_up(
    leg: Leg,
    rung: Rung,
    iterations: int,
    key: jax.Array,
    engine: Engine,
    *,
    on_separate_modes: bool = False,
    stage: str | None = None,
) -> Rung:
    """The rung after its chains have found and learned its density.

    Windows double between refits of the whitening; the last quarter adapts only the step size.
    Where trajectories diverge, a larger share of them has to be accepted from then on. Progress is
    told under the name of a stage, if there is one.
    """
    blocks = max(2, -(-iterations // engine.block_length))
    refits = set(_refit_after(blocks))
    window: list[Trace] = []
    for index in range(blocks):
        rung, trace, _ = advance(leg, rung, jax.random.fold_in(key, index), engine, adapting=True)
        window.append(trace)
        if index + 1 in refits:
            # The very first steps are guesses, and may well diverge.
            diverging = np.mean([part.divergent for part in window]) > TUNING.few_divergences
            target = rung.target_acceptance
            # Before the last window draws drift, which looks as if they were slow.
            is_last = index + 1 == max(refits)
            most_steps, lengthening = (
                rung.most_steps,
                _lengthening(rung, window) if is_last else 1.0,
            )
            rung = place_chains(
                leg,
                rung.lam,
                np.asarray(trace.x[:, -1]),
                _refit(leg, rung, window, engine, on_separate_modes=on_separate_modes),
                engine,
                step_size=None if rung.step_size is None else rung.step_size.value,
                target_acceptance=0.5 + 0.5 * target if index > 0 and diverging else target,
            )
            rung = replace(rung, most_steps=most_steps, lengthening=lengthening)
            window = []
        if stage is not None:
            engine.report(stage, index + 1, blocks)
    return rung


def _refit(
    leg: Leg, rung: Rung, window: list[Trace], engine: Engine, *, on_separate_modes: bool
) -> Whitening:
    """The whitening of a window's draws, and of the scores there where these are worth it."""
    x = np.concatenate([part.x for part in window], axis=1)
    dim, found = x.shape[2], None
    is_dense = not isinstance(rung.whitening.factor, Factor)
    if engine.kernel.needs_gradient and is_dense and wants_scores(dim):
        evaluate = value_and_gradient(leg, rung.lam, engine.chains, engine.meter)
        most = max(TUNING.fewest_scores, TUNING.scores_a_dimension * dim)
        some = x[:, :: -(-x[..., 0].size // most)]
        _, scores = evaluate(some.reshape(-1, dim))
        found = refit_by_scores(rung.whitening, some, scores, on_separate_modes=on_separate_modes)
    return found or refit(rung.whitening, x, on_separate_modes=on_separate_modes)


def _lengthening(rung: Rung, window: list[Trace]) -> float:
    """How long trajectories are to be, by how slowly the log density changed in a window."""
    if rung.step_size is None or not wants_scores(window[0].x.shape[2]):
        return rung.lengthening
    series = np.concatenate([part.log_density for part in window], axis=1)
    time = series.size / max(float(autocorrelation.effective_sample_size(series)), 1.0)
    return lengthened(rung.lengthening, time)


def lengthened(lengthening: float, time: float) -> float:
    """The lengthening of trajectories whose draws, at the present one, take that time to forget.

    While a trajectory is short beside the widest direction, the time falls with the square of its
    length; once it is not, longer ones only cost.
    """
    wanted = lengthening * np.sqrt(time / TUNING.forgotten_after)
    return float(np.clip(wanted, 1.0, TUNING.most_lengthened))


def _refit_after(blocks: int) -> Iterator[int]:
    at = 1
    while at <= 0.75 * blocks:
        yield at
        at = 2 * at + 1
