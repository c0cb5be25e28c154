"""Fresh starts: chains begun at exact draws of the reference, held against those of the run.

The run's own chains set out from the pilot. Where leaps or exchanges carry draws of the reference
to the end of the path all the time, the two are mixed already. Where they hardly do, chains that
the pilot left in one part of the posterior agree with one another and with nothing else.
"""

from __future__ import annotations

import numpy as np

from refti.checks.check import Check
from refti.checks.of_run import check_fresh_starts
from refti.draws import autocorrelation
from refti.references.base import Reference
from refti.run.rounds import RunState
from refti.run.tuning import FRESH_STARTS as TUNING
from refti.sampling.engine import Engine
from refti.sampling.exact_start import exact_draws
from refti.sampling.ladder_building import keep_inside
from refti.sampling.leg import LegState
from refti.sampling.rung import advance, move_chains
from refti.sampling.streams import KeyStream


def compare_fresh_starts(state: RunState, engine: Engine) -> list[Check]:
    """The check that fresh chains come to where the run's are; none where that is known already."""
    leg = state.legs[-1]
    if not leg.exact or is_mixed(leg):
        return []
    fresh = _draw_fresh(leg, engine)
    return [check_fresh_starts(_disagreement(fresh, _last_draws(leg, fresh.shape[1])))]


def is_mixed(leg: LegState) -> bool:
    """Whether draws of the reference come to the end of the path again and again."""
    if leg.rungs[-1].leaping:
        return True
    tried, made = (np.sum([getattr(scan, name) for scan in leg.scans], axis=0) for name in _COUNTS)
    return bool(np.min(made / np.maximum(tried, 1), initial=1.0) > TUNING.mixed)


_COUNTS = "tried", "accepted"


def _draw_fresh(leg: LegState, engine: Engine) -> np.ndarray:
    """Draws [chain, draw, dim] of chains begun at exact draws of the reference, once settled."""
    assert isinstance(leg.leg.start, Reference)
    key = engine.key(KeyStream.FRESH_STARTS)
    start = np.asarray(engine.meter.call(exact_draws, leg.leg.start, key, engine.chains))
    rung = move_chains(leg.leg, leg.rungs[-1], keep_inside(leg.leg, start, engine), engine)
    drawn = []
    # Trajectories that are longer settle in fewer of them.
    blocks = max(TUNING.fewest_blocks, round(TUNING.blocks / rung.lengthening))
    for block in range(blocks):
        key = engine.key(KeyStream.FRESH_DRAWS, block)
        rung, trace, _ = advance(leg.leg, rung, key, engine)
        drawn.append(np.asarray(trace.x))
    return np.concatenate(drawn[round(TUNING.share_to_settle * blocks) :], axis=1)


def _last_draws(leg: LegState, count: int) -> np.ndarray:
    """The last draws [chain, draw, dim] that the run made of the posterior."""
    return np.concatenate([scan.end_points for scan in leg.scans], axis=1)[:, -count:]


def _disagreement(fresh: np.ndarray, own: np.ndarray) -> float:
    """The largest R-hat of a coordinate over all chains of both kinds."""
    count = min(fresh.shape[1], own.shape[1])
    both = np.concatenate([fresh[:, -count:], own[:, -count:]])
    return float(np.max(autocorrelation.r_hat(np.moveaxis(both, 2, 0))))
