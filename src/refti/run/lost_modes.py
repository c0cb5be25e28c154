"""Lost modes: those that the search found, that hold mass, and that no draw of the run lies about.

Chains that begin on a mode may leave it through its tails while they settle. If no chain is left
there, a reference that is fitted to their draws does not know it either, and all that is looked at
in the draws agrees. The mass about a mode is known from the density itself, as a mean over draws
of a Gaussian there, and the run has drawn its share of it or not.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from refti.checks.check import Check
from refti.checks.of_run import check_lost_modes
from refti.checks.tuning import TUNING
from refti.factors.either import into_rows
from refti.factors.factor import Factor
from refti.results.result import Evidence
from refti.run.lines import LogDensities, log_densities_of
from refti.run.rounds import RunState
from refti.run.tuning import PILOT
from refti.sampling.engine import Engine
from refti.sampling.metering import Meter
from refti.sampling.streams import GeneratorStream
from refti.search.curvatures import log_masses
from refti.search.peaks import Modes


def look_for_lost_modes(state: RunState, engine: Engine) -> list[Check]:
    """The check that every mode has draws about it; none where there is but one."""
    problem, pilot = state.problem, state.plan.pilot
    apart = pilot.on_separate_modes and problem.way is None
    if not apart or problem.kind is not Evidence or pilot.modes.log_masses is None:
        return []
    size = next(c.value for c in state.conclusion.checks if c.name == "effective draws")
    share = find_lost_modes(
        log_densities_of(problem.model),
        pilot.modes,
        state.conclusion.samples[-1].end_points,
        state.conclusion.estimates["mbar"].value,
        size,
        engine.generator(GeneratorStream.BROAD_PARTS, 0, PILOT.most_broad_parts + 1),
        engine.meter,
    )
    return [check_lost_modes(share)]


def find_lost_modes(
    density: LogDensities,
    modes: Modes,
    points: np.ndarray,
    log_z: float,
    size: float,
    rng: np.random.Generator,
    meter: Meter,
) -> float:
    """The share of the evidence about modes that hardly any of draws[chain, draw, dim] lies about.

    Raises OutOfBudgetError if the budget has no room for that.

    Args:
        density: of the posterior.
        modes: with their spreads and masses.
        points: the draws.
        log_z: the log evidence, as it was found.
        size: how many independent draws those are worth.
        rng: draws points about the modes.
        meter: of the run.
    """
    factors, masses = modes.factors, modes.log_masses
    if not isinstance(factors, np.ndarray) or isinstance(factors, Factor) or masses is None:
        return 0.0
    x, lost = points.reshape(-1, points.shape[2]), 0.0
    for mode in np.argsort(-masses)[: TUNING.most_lost_modes]:
        place, factor = modes.peaks[mode], factors[mode]
        scale, log_mass = _mass_about(density, place, factor, rng, meter)
        share = float(np.exp(min(log_mass - log_z, 0.0)))
        within = np.linalg.norm(into_rows(scale * factor, x - place), axis=1) < _radius(len(place))
        if share * size >= TUNING.draws_of_a_lost_mode and within.mean() < TUNING.lost * share:
            lost += share - float(within.mean())
    return lost


def _mass_about(
    density: LogDensities,
    place: np.ndarray,
    factor: np.ndarray,
    rng: np.random.Generator,
    meter: Meter,
) -> tuple[float, float]:
    """The scale of the widest ball about a mode in which the log mass is known, and that."""
    best = (1.0, -np.inf)
    for scale in TUNING.lost_mode_scales:
        normals = rng.normal(size=(TUNING.lost_mode_draws, len(place)))
        values = density(place + scale * normals @ factor.T, meter)
        own = -0.5 * np.sum(normals**2, axis=1) - log_masses(np.zeros(1), scale * factor[None])[0]
        within = np.linalg.norm(normals, axis=1) < _radius(len(place))
        weights = (values - own)[within & np.isfinite(values)]
        if len(weights) == 0:
            continue
        effective = float(np.exp(2 * logsumexp(weights) - logsumexp(2 * weights)))
        best = scale, float(logsumexp(weights) - np.log(len(normals)))
        if effective > TUNING.lost_mode_effective * len(normals):
            break
    return best


def _radius(dim: int) -> float:
    """Within which five in six draws of a standard normal lie."""
    return float(np.sqrt(dim + np.sqrt(2 * dim)))
