"""The search for modes within a run: what it may cost, and that the density is proper."""

from __future__ import annotations

from functools import partial
from typing import TypedDict

import numpy as np

from refti.models.model import Model, ValueAndGradient
from refti.models.operations import operations_of
from refti.models.space import Space
from refti.run.flattened import explore_flattened
from refti.run.problem import End, Problem
from refti.run.tuning import PILOT, USERS_DRAWS
from refti.run.wide_densities import wide_densities, wide_values
from refti.sampling.engine import Engine
from refti.sampling.streams import GeneratorStream
from refti.search.broad_parts import (
    BroadPart,
    find_broad_part,
    part_of_draws,
    with_broad_part,
)
from refti.search.modes import find_modes
from refti.search.modes_by_values import find_modes_by_values
from refti.search.more_modes import find_more_modes
from refti.search.peaks import Modes
from refti.search.proper import require_finite_parameters, require_proper
from refti.search.scan import Values
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
        modes = find_modes(density, starts, rng, prior=prior, **_means(problem, end, engine))
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


def search_beyond(
    problem: Problem, end: End, modes: Modes, chains: np.ndarray, engine: Engine, turn: int
) -> Modes:
    """The modes with what lies beyond them and is broad, by the pilot's chains[chain, draw, dim].

    Climbs set out again from about that, and what they come to is a mode too. Where chains come
    to it by themselves it does not count as a part, and is searched about once.
    """
    evaluate = end.evaluate_by(engine)
    rng = engine.generator(GeneratorStream.BROAD_PARTS, int(1 - end.lam), turn)
    part = find_broad_part(evaluate, modes, chains, rng)
    if part is not None:
        found = _search_about(problem, end, modes, part, engine, turn)
        return with_broad_part(found, part)
    if modes.searched is not None and modes.searched.about_broad:
        return modes
    part = part_of_draws(evaluate, modes, chains, rng)
    if part is None:
        return modes
    return _search_about(problem, end, modes, part, engine, turn, PILOT.searched_about_draws)


def _search_about(
    problem: Problem,
    end: End,
    modes: Modes,
    part: BroadPart,
    engine: Engine,
    turn: int,
    share: float | None = None,
) -> Modes:
    """The modes with those that climbs from about a broad part come to besides.

    With a share, it takes so much of the usual evaluations, and no more of them for narrow modes.

    From the prior, where it is apart, climbs have set out already.
    """
    rng = engine.generator(GeneratorStream.WANDERERS_ABOUT_BROAD_PARTS, int(1 - end.lam), turn)
    density, _ = wide_densities(end, end.evaluate_by(engine), engine)
    means = _means(problem, end, engine)
    if share is not None:
        means["evaluations"], means["narrow_evaluations"] = round(share * means["evaluations"]), 0
    return find_more_modes(density, modes, part, rng, **means)


class _Means(TypedDict):
    """What a search for modes has to search with, as `find_modes` wants it."""

    evaluations: int
    narrow_evaluations: int
    space: Space
    values: Values
    scanned: int


def _means(problem: Problem, end: End, engine: Engine) -> _Means:
    """What a search has to search with beside the density and its prior."""
    most, narrow, scanned = _allowed_evaluations(problem, end.model)
    return {
        "evaluations": most,
        "narrow_evaluations": narrow,
        "space": end.model.space,
        "values": wide_values(end, engine),
        "scanned": scanned,
    }


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
