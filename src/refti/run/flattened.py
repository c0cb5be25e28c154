"""Chains on the flattened density, which come to other modes where no gradient can be climbed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refti.paths.path import Leg
from refti.references.gaussian import gaussian
from refti.run.problem import End
from refti.run.tuning import PILOT
from refti.sampling.block import Rung
from refti.sampling.engine import Engine
from refti.sampling.kernels.base import Trace
from refti.sampling.rung import advance, place_chains
from refti.sampling.streams import KeyStream
from refti.sampling.whitening import whitening


def explore_flattened(
    end: End, engine: Engine, mode: np.ndarray, factor: np.ndarray, times: int = 1
) -> np.ndarray:
    """Where chains on the flattened density come to, x[n, dim].

    The density to the power 1 / T is wider by the root of T, and the dips in it are T times
    shallower: modes 30 spreads apart are one hill at T = 100. Given are last points of chains,
    and some that are highest for their distance. Chains make so many times the usual moves.
    """
    leg = Leg(gaussian(mode, PILOT.widest * factor, 0.0), end.model.density)
    x = np.broadcast_to(mode, (engine.chains, len(mode)))
    last, highest = PILOT.flattened_points_by_values
    engine = replace(engine, block_length=times * PILOT.flattened_moves_by_values)
    found = []
    for index, flattening in enumerate(PILOT.flattenings_by_values):
        wider = whitening(mode, np.sqrt(flattening) * factor)
        rung = place_chains(leg, 1 / flattening, x, wider, engine)
        key = engine.key(KeyStream.FLATTENED, int(end.lam), index)
        _, trace, _ = advance(leg, rung, key, engine, adapting=True)
        x = np.asarray(trace.x[:, -1])
        found += [x[:last], _highest_for_distance(trace, rung)[:highest]]
    return np.concatenate(found)


def _highest_for_distance(trace: Trace, rung: Rung) -> np.ndarray:
    """The trace's points x[n, dim], first those far higher than a Gaussian is at their distance."""
    x = np.asarray(trace.x).reshape(-1, trace.x.shape[-1])
    value = np.ravel(trace.log_density) + (1 - rung.lam) * np.ravel(trace.delta)
    location, factor = (np.asarray(a) for a in rung.whitening)
    squares = np.sum(np.linalg.solve(factor, (x - location).T) ** 2, axis=0)
    depth = (value.max() - value) / (1e-3 + squares)
    return x[np.argsort(depth)]
