"""Choice of the kernel: slices in place of trajectories where the pilot's were cut up by jumps.

A density that jumps has no gradient that tells of it, so trajectories shorten their steps until
they get nowhere. Elliptical slices need no gradient, and leap besides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refti.draws import autocorrelation
from refti.run.pilot import Pilot, draw_pilot
from refti.run.problem import End, Problem
from refti.run.settings import Settings
from refti.run.tuning import KERNEL_CHOICE as TUNING
from refti.sampling.block import positions
from refti.sampling.engine import Engine
from refti.sampling.kernels.registry import BY_VALUES, KERNELS
from refti.sampling.rung import place_chains, warm_up
from refti.sampling.streams import GeneratorStream, KeyStream
from refti.sampling.whitening import whitening_of
from refti.search.jumps import has_jumps
from refti.search.tuning import TUNING as SEARCH


def is_cut_up(problem: Problem, pilot: Pilot, engine: Engine) -> bool:
    """Whether trajectories of the pilot were cut up by jumps of the density."""
    if pilot.cost_a_draw < TUNING.many_steps or problem.model.dim > TUNING.most_dimensions:
        return False
    if problem.known_path is not None or not problem.ends[0].leg.has_gradient:
        return False
    rng = engine.generator(GeneratorStream.JUMPS)
    return has_jumps(problem.ends[0].evaluate_by(engine), pilot.draws, rng)


def choose_kernel(problem: Problem, pilot: Pilot, engine: Engine) -> tuple[Engine, Pilot]:
    """The engine with the kernel that draws most for what it costs, and its pilot."""
    asked_for = problem.settings.kernel != Settings.kernel  # another than what runs begin with
    if asked_for or pilot.is_users:
        return engine, pilot
    (end,) = problem.ends
    other = replace(engine, kernel=KERNELS[BY_VALUES])
    start = _starts(end, pilot, engine)
    rung = place_chains(end.leg, end.lam, start, whitening_of(pilot.draws), other)
    key = engine.key(KeyStream.OTHER_KERNEL_WARM_UP)
    separate = pilot.on_separate_modes
    rung = warm_up(end.leg, rung, TUNING.warmup, key, other, on_separate_modes=separate)
    stream = KeyStream.OTHER_KERNEL_DRAWS
    drawn = draw_pilot(end, pilot.modes, rung, TUNING.blocks, other, stream)
    if _worth_for_cost(drawn) < TUNING.gain * _worth_for_cost(pilot):
        return engine, pilot
    return other, replace(_settle(end, drawn, other), peak=pilot.peak)


def _settle(end: End, pilot: Pilot, engine: Engine) -> Pilot:
    """The pilot of chains that move by what they have drawn so far, learned again turn by turn.

    Beside a peak that jumps stand in, wide shelves hold some of the mass. Chains that know the
    peak alone enter and leave them so seldom that a run of any usual length sees too much or too
    little of them; those that know of the shelves as well pass between all parts in a few moves.
    """
    for turn, blocks in enumerate(TUNING.settling_blocks):
        start = positions(end.leg, pilot.rung)
        rung = place_chains(end.leg, end.lam, start, whitening_of(pilot.draws), engine)
        stream = KeyStream.SETTLING_DRAWS
        pilot = draw_pilot(end, pilot.modes, rung, blocks, engine, stream, turn)
    return pilot


def _starts(end: End, pilot: Pilot, engine: Engine) -> np.ndarray:
    """Points x[chain, dim], half of them the pilot's, half spread out as far as starts may be.

    Trajectories that get nowhere leave chains where they began, and jumps keep all of a peak's
    surroundings from them.
    """
    start = positions(end.leg, pilot.rung)
    rng = engine.generator(GeneratorStream.OTHER_KERNEL_STARTS)
    spread = end.model.start + rng.uniform(-SEARCH.start_reach, SEARCH.start_reach, start.shape)
    values, _ = end.evaluate_by(engine)(spread)
    fresh = np.isfinite(values) & (np.arange(len(start)) % 2 == 0)
    return np.where(fresh[:, None], spread, start)


def _worth_for_cost(pilot: Pilot) -> float:
    """Effective draws of the worst coordinate and of the log density, for one evaluation."""
    series = np.concatenate([np.moveaxis(pilot.x, 2, 0), pilot.log_density[None]])
    worth = float(np.min(autocorrelation.effective_sample_size(series)))
    return worth / (pilot.cost_a_draw * pilot.log_density.size)
