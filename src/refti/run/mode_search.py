"""The search for modes within a run: what it may cost, and that the density is proper."""

from __future__ import annotations

from functools import partial

import numpy as np

from refti.models.model import Model, ValueAndGradient
from refti.models.operations import operations_of
from refti.run.flattened import explore_flattened
from refti.run.problem import End, Problem
from refti.run.tuning import PILOT, USERS_DRAWS
from refti.run.wide_densities import wide_densities, wide_values
from refti.sampling.engine import Engine
from refti.sampling.streams import GeneratorStream
from refti.search.modes import find_modes
from refti.search.modes_by_values import find_modes_by_values
from refti.search.peaks import Modes
from refti.search.proper import require_finite_parameters, require_proper
from refti.search.searched import evaluations_of, narrow_evaluations_of, scanned_points_of


def search_modes(
    problem: Problem, end: End, evaluate: ValueAndGradient, starts: np.ndarray, engine: Engine
) -> Modes:
    """The modes, after the density was seen to fall away from them."""
    engine.report("finding the modes", 0, 1)
    spent = engine.meter.spent.evaluations
    if end.leg.has_gradient:
        rng = engine.generator(GeneratorStream.WANDERERS, int(1 - end.lam))
        density, prior = wide_densities(end, evaluate, engine)
        most, narrow, scanned = _allowed_evaluations(problem, end.model)
        modes = find_modes(
            density,
            starts,
            rng,
            evaluations=most,
            narrow_evaluations=narrow,
            prior=prior,
            space=end.model.space,
            values=wide_values(end, engine),
            scanned=scanned,
        )
    else:
        modes = find_modes_by_values(evaluate, starts, partial(explore_flattened, end, engine))
        modes = modes.after(engine.meter.spent.evaluations - spent)
    rng = engine.generator(GeneratorStream.PROPER_AXES, int(1 - end.lam))
    # What is proper by the way it is made may rise without bound along a ridge ever narrower, as
    # hierarchies do, and numbers end there before it falls.
    if not end.model.is_normalised:
        require_proper(end.model, evaluate, modes.mode, rng)
        require_finite_parameters(end.model, modes.mode)
    engine.report("finding the modes", 1, 1)
    return modes


def _allowed_evaluations(problem: Problem, model: Model) -> tuple[int, int, int]:
    """What the search may take as a rule, in all while narrow modes would be missed, and scan."""
    effort = problem.settings.search
    usual = evaluations_of(effort, model.dim)
    if isinstance(effort, str) and problem.judged_alone.agree:
        return round(USERS_DRAWS.search_share * usual), 0, 0
    most, work = problem.settings.max_evaluations, operations_of(model)
    narrow = narrow_evaluations_of(effort, model.dim, work)
    scanned = scanned_points_of(effort, model.dim, work)
    return (
        usual,
        min(narrow, round(PILOT.narrow_share * most)),
        min(scanned, round(PILOT.scanned_share * most)),
    )
