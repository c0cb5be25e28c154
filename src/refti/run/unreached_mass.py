"""Unreached mass: what the density holds beyond its peaks and the chains of a run never pass to."""

from __future__ import annotations

import numpy as np

from refti.checks.check import Check
from refti.checks.of_run import check_unreached_mass
from refti.results.result import Evidence
from refti.run.rounds import RunState
from refti.run.tuning import PILOT
from refti.sampling.engine import Engine
from refti.sampling.streams import GeneratorStream
from refti.search.shells import find_unreached


def check_beyond_peaks(state: RunState, engine: Engine) -> list[Check]:
    """The check that chains pass to the mass beyond the peaks; none where it is not looked at."""
    end, modes = state.problem.ends[0], state.plan.pilot.modes
    is_evidence = state.problem.kind is Evidence  # a ratio does not tell what is little of it
    if not is_evidence or not end.leg.has_gradient:
        return []
    if modes.factors is None:
        return []
    rng = engine.generator(GeneratorStream.BROAD_PARTS, 0, PILOT.most_broad_parts)
    chains = np.concatenate([scan.end_points for scan in state.legs[-1].scans], axis=1)
    found = find_unreached(end.evaluate_by(engine), modes, chains, rng)
    log_z = state.conclusion.estimates["mbar"].value
    return [check_unreached_mass(sum(np.exp(s.new_mass[k] - log_z) for _, s, k in found))]
