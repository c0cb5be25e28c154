"""Ladders built while a leg is sampled: rungs are put in where neighbours hardly overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from refti.errors import SamplingError
from refti.paths.path import Leg
from refti.paths.thermodynamic_length import missing_rungs
from refti.sampling.block import Rung, positions
from refti.sampling.engine import Engine
from refti.sampling.evaluation import value_and_gradient
from refti.sampling.leg import LegState, choose_leaps, scan
from refti.sampling.leg_sample import collect
from refti.sampling.rung import place_chains, warm_up
from refti.sampling.streams import KeyStream
from refti.sampling.tuning import TUNING


def begin_leg(
    leg: Leg, index: int, last: Rung, engine: Engine, warmup: int, scans_made: int = 0
) -> LegState:
    """The leg with chains at its end, and at its start where that cannot be drawn exactly.

    Scans made before, from another reference, are counted on: chains that get the same random
    numbers a second time come to move as they did the first time.
    """
    state = LegState(leg, index, (last,), scans_made=scans_made)
    return state if state.exact else insert_rungs(state, [0.0], engine, warmup)


def insert_rungs(
    state: LegState, lambdas: Sequence[float], engine: Engine, warmup: int
) -> LegState:
    """The leg with more rungs, each begun where the next above it stands, and warmed up.

    What was kept before belongs to another ladder and is left out.
    """
    fresh = engine.each(partial(_new_rung, state, lambdas, engine, warmup), range(len(lambdas)))
    rungs = sorted((*state.rungs, *fresh), key=lambda rung: rung.lam)
    return replace(state, rungs=tuple(rungs), scans=())


def refine_ladder(state: LegState, engine: Engine, warmup: int) -> LegState:
    """The leg with rungs put in until neighbours overlap, the scans since the last change kept."""
    for index in range(TUNING.passes):
        for _ in range(TUNING.probes):
            state = scan(state, engine)
            if collect(state).draws.overlap().min() < TUNING.surely_far_apart:
                break
        state = choose_leaps(state)
        room = TUNING.most_rungs - len(state.lambdas)
        missing = missing_rungs(collect(state).draws)[:room]
        engine.report(f"building the ladder of leg {state.index + 1}", index + 1, TUNING.passes)
        if len(missing) == 0:
            break
        state = insert_rungs(state, list(missing), engine, warmup)
    return state


def keep_inside(leg: Leg, x: np.ndarray, engine: Engine) -> np.ndarray:
    """As many points, those outside the support of either end replaced by others of them."""
    # Halfway the density lives where both ends do, so a start there is one at every rung.
    value, _ = value_and_gradient(leg, 0.5, engine.chains, engine.meter)(x)
    inside = np.isfinite(value)
    if not inside.any():
        raise SamplingError(
            f"None of {len(x)} starting points lies inside the support of the path. "
            "Give the model a start= inside its support, or another reference."
        )
    return np.where(inside[:, None], x, np.resize(x[inside], x.shape))


def _new_rung(
    state: LegState, lambdas: Sequence[float], engine: Engine, warmup: int, k: int
) -> Rung:
    lam = lambdas[k]
    above = next(rung for rung in state.rungs if rung.lam > lam)
    rung = place_chains(
        state.leg,
        lam,
        keep_inside(state.leg, positions(state.leg, above), engine),
        above.whitening,
        engine,
        step_size=None if above.step_size is None else above.step_size.value,
        target_acceptance=above.target_acceptance,
    )
    key = engine.key(KeyStream.NEW_RUNG, state.index, state.scans_made, len(state.rungs), k)
    return warm_up(state.leg, rung, warmup, key, engine)
