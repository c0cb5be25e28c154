"""Pilot: where the posterior is, by its modes and first draws or by the user's draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from refti.checks.tuning import TUNING as CHECKS
from refti.draws import autocorrelation
from refti.factors.either import into_rows, out_rows, pull_rows
from refti.factors.factor import Factor
from refti.models.model import ValueAndGradient
from refti.run.mode_search import search_beyond, search_modes
from refti.run.problem import End, Problem
from refti.run.tuning import KERNEL_CHOICE, PILOT, USERS_DRAWS
from refti.run.users_draws import (
    Judged,
    beside_fresh_ones,
    require_likeness,
    require_spread,
)
from refti.sampling.block import Rung
from refti.sampling.engine import Engine
from refti.sampling.rung import advance, place_chains, warm_up
from refti.sampling.score_whitening import wants_scores
from refti.sampling.streams import GeneratorStream, KeyStream
from refti.sampling.tuning import TUNING as SAMPLING
from refti.sampling.whitening import whitening, whitening_of
from refti.search.large_mode import LargeMode
from refti.search.mode import Mode, log_mass_within
from refti.search.peaks import Modes
from refti.search.preflight import preflight
from refti.search.ridge import mass_falls_towards
from refti.search.spread import curb_spread
from refti.search.tuning import TUNING as SEARCH


@dataclass(frozen=True)
class Peak:
    """The highest point found.

    Attributes:
        height: above the median draw, in nats.
        log_mass: the log of about the mass that it holds, by its curvature.
        has_top: whether it is smooth and falls in every direction.
        mass_falls: whether it is far from the draws and the mass falls on the way to it.
    """

    height: float
    log_mass: float
    has_top: bool
    mass_falls: bool


def measure_peak(
    evaluate: ValueAndGradient,
    mode: Mode | LargeMode,
    draws: np.ndarray,
    log_density: np.ndarray,
) -> Peak:
    """How a mode stands to draws[n, dim] of these log densities, or to those of them about it."""
    height = mode.log_density - float(np.median(log_density.ravel()[_about_mode(mode, draws)]))
    if isinstance(mode, LargeMode):  # the mass on the way to it takes dense matrices
        return Peak(height, mode.log_mass, mode.factor() is not None, mass_falls=False)
    mass = log_mass_within(mode, draws.std(axis=0))
    is_high = height > CHECKS.peak_allowance + draws.shape[1]
    has_gradient = bool(np.isfinite(evaluate(draws[:1])[1]).all())
    falls = is_high and has_gradient and mass_falls_towards(evaluate, mode, draws)
    return Peak(height, mass, mode.factor() is not None, falls)


def _about_mode(mode: Mode | LargeMode, draws: np.ndarray) -> np.ndarray:
    """Which of draws[n, dim] lie where a Gaussian about the mode has its own; all if hardly any."""
    factor = mode.factor()
    if factor is None:
        return np.full(len(draws), True)
    distances = np.linalg.norm(into_rows(factor, draws - mode.x), axis=1)
    near = distances < PILOT.about_mode * np.sqrt(draws.shape[1])
    return near if near.mean() > PILOT.share_about_mode else np.full(len(draws), True)


@dataclass(frozen=True, eq=False)
class Pilot:
    """What is known of a density before the path to it is chosen.

    Attributes:
        modes: its modes.
        rung: chains that go on from the draws.
        x: draws, `[chain, draw, dim]`.
        log_density: `[chain, draw]`; zeros for draws that are the user's.
        cost_a_draw: evaluations for each of them.
        is_users: whether the draws are the user's.
        peak: how the highest point found stands to the draws, in the model's own coordinates.
        judged: what draws of the user's are worth, where there are some.
    """

    modes: Modes
    rung: Rung
    x: np.ndarray
    log_density: np.ndarray
    cost_a_draw: float = 0.0
    is_users: bool = False
    peak: Peak | None = None
    judged: Judged | None = None

    @property
    def draws(self) -> np.ndarray:
        """All draws, x[draw, dim]."""
        return self.x.reshape(-1, self.x.shape[2])

    @property
    def chains(self) -> int:
        """The number of chains, of which every mode has one at least."""
        return len(self.rung.state[0])

    @property
    def on_separate_modes(self) -> bool:
        """Whether the density has several modes that chains will sit on."""
        return self.modes.are_separate

    @property
    def why(self) -> str:
        """What the pilot rests on, in words."""
        count, broad = self.modes.count - self.modes.broad, self.modes.broad
        source = "the user's draws" if self.is_users else f"{self.x.shape[0]} chains"
        return f"{len(self.draws)} draws of {source}, {count} mode{'s' * (count > 1)} found" + (
            f", and {broad} broad part{'s' * (broad > 1)} beyond" if broad else ""
        )

    @property
    def r_hat(self) -> float:
        """The largest R-hat of its coordinates; large where chains have not arrived."""
        return float(np.max(autocorrelation.r_hat(np.moveaxis(self.x, 2, 0))))

    @property
    def sits_apart(self) -> bool:
        """Whether chains sit on modes of their own; on bumps of one hill they do move."""
        few = self.x.shape[2] <= SEARCH.curved_peaks
        return self.r_hat > (PILOT.apart if few else PILOT.apart_in_many_dimensions)

    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second half of every chain, each x[draw, dim]."""
        middle = self.x.shape[1] // 2
        first, second = self.x[:, :middle], self.x[:, middle:]
        return first.reshape(-1, self.x.shape[2]), second.reshape(-1, self.x.shape[2])


def find_posterior(problem: Problem, end: End, engine: Engine) -> Pilot:
    """The pilot of one end of a path, after its model was seen to have an evidence."""
    search = partial(search_alone, problem, end, engine)
    modes = engine.recall(f"modes {int(1 - end.lam)}", search)
    engine = _with_a_chain_a_mode(engine, modes)
    evaluate = end.evaluate_by(engine)
    if problem.posterior_draws is None:
        pilot = _draw_from_modes(problem, end, modes, engine)
        require_spread(pilot.draws, end.model.space.coordinates)
        return replace(
            pilot, peak=measure_peak(evaluate, modes.mode, pilot.draws, pilot.log_density)
        )
    return _from_users_draws(problem, end, modes, evaluate, engine)


def _draw_from_modes(problem: Problem, end: End, modes: Modes, engine: Engine) -> Pilot:
    """The pilot of chains from all modes, and from the broad parts that those did not come to."""
    evaluate = end.evaluate_by(engine)
    blocks = PILOT.blocks if end.leg.has_gradient else PILOT.blocks_by_values
    for turn in range(PILOT.most_broad_parts + 1):
        engine = _with_a_chain_a_mode(engine, modes)
        rung = _find_rung(problem, end, modes, evaluate, engine)
        pilot = _without_bumps(_draw(end, modes, rung, blocks, engine))
        if turn == PILOT.most_broad_parts or not end.leg.has_gradient:
            break
        modes = search_beyond(problem, end, pilot.modes, pilot.x, engine, turn)
        if len(modes.peaks) == len(pilot.modes.peaks):
            pilot = replace(pilot, modes=modes)
            break
    return pilot


def search_alone(problem: Problem, end: End, engine: Engine) -> Modes:
    """The modes of one end of a path, without any draws."""
    evaluate = end.evaluate_by(engine)
    rng = engine.generator(GeneratorStream.PREFLIGHT, int(1 - end.lam))
    starts = preflight(end.model, evaluate, rng, problem.posterior_draws)
    return search_modes(problem, end, evaluate, starts, engine)


def continue_pilot(end: End, pilot: Pilot, engine: Engine) -> Pilot:
    """The pilot with as many draws again."""
    made = pilot.x.shape[1] // engine.block_length
    more = _draw(end, pilot.modes, pilot.rung, made, engine, made)
    return replace(
        pilot,
        rung=more.rung,
        x=np.concatenate([pilot.x, more.x], axis=1),
        log_density=np.concatenate([pilot.log_density, more.log_density], axis=1),
    )


def _find_rung(
    problem: Problem, end: End, modes: Modes, evaluate: ValueAndGradient, engine: Engine
) -> Rung:
    """Chains that set out from all modes, warmed up."""
    factor = curb_spread(evaluate, modes.mode, modes.factor)
    around = _around_peaks(end, modes, factor, evaluate, engine)
    rung = place_chains(end.leg, end.lam, around, whitening(modes.peaks[0], factor), engine)
    if end.model.dim <= KERNEL_CHOICE.most_dimensions:
        rung = replace(rung, most_steps=PILOT.most_steps)
    return warm_up(
        end.leg,
        rung,
        problem.warmup,
        engine.key(KeyStream.PILOT_WARM_UP, int(end.lam)),
        engine,
        on_separate_modes=modes.are_separate,
        stage="finding the posterior",
    )


def _with_a_chain_a_mode(engine: Engine, modes: Modes) -> Engine:
    """The engine with a chain for every mode at least, while they are not too many."""
    chains = max(engine.chains, min(modes.count, PILOT.most_chains))
    return replace(engine, chains=chains)


def _without_bumps(pilot: Pilot) -> Pilot:
    """The pilot with one mode where others, too many-dimensional to be judged, part no chains.

    In hundreds of dimensions climbs end short of a top, on what looks like peaks of their own.
    """
    modes = pilot.modes
    if modes.are_separate and modes.factors is None and not pilot.sits_apart:
        return replace(pilot, modes=replace(modes, peaks=modes.peaks[:1]))
    return pilot


def _around_peaks(
    end: End, modes: Modes, factor: np.ndarray | Factor, evaluate: ValueAndGradient, engine: Engine
) -> np.ndarray:
    """Points spread about each peak in turn, those outside the support drawn in towards it.

    So are those beside an edge at which the density falls like a wall, so steep that no step gets
    a chain away from there.
    """
    which = np.arange(engine.chains) % len(modes.peaks)
    centres = modes.peaks[which]
    noise = engine.generator(GeneratorStream.AROUND_PEAKS, int(1 - end.lam)).normal(
        size=centres.shape
    )
    if modes.are_separate and modes.factors is not None:
        offsets = np.einsum("cij,cj->ci", modes.factors[which], noise)
    elif modes.mode.factor() is not None:
        offsets = out_rows(factor, noise)
    else:  # starts that stand in for peaks are spread out already
        offsets = 0 * noise
    for _ in range(PILOT.tries_to_get_inside):
        values, gradients = evaluate(centres + offsets)
        outside = ~np.isfinite(values)
        if not modes.are_separate and wants_scores(centres.shape[1]):
            slopes = pull_rows(factor, gradients)
            outside |= np.sqrt(np.mean(slopes**2, axis=1)) > PILOT.steepest_start
        if not outside.any():
            break
        offsets[outside] *= 0.5
    return centres + offsets


def draw_pilot(
    end: End,
    modes: Modes,
    rung: Rung,
    blocks: int,
    engine: Engine,
    stream: KeyStream,
    *identity: int,
    made: int = 0,
) -> Pilot:
    """The pilot of some blocks of these chains, of which some were made before."""
    traces = []
    for index in range(blocks):
        key = engine.key(stream, *identity, made + index)
        rung, trace, _ = advance(end.leg, rung, key, engine)
        traces.append(trace)
        engine.report("drawing from the posterior", index + 1, blocks)
    return Pilot(
        modes,
        replace(rung, most_steps=SAMPLING.most_steps),
        np.concatenate([trace.x for trace in traces], axis=1),
        np.concatenate([trace.log_density for trace in traces], axis=1),
        float(np.mean([trace.gradients.mean() for trace in traces])),
    )


def _draw(end: End, modes: Modes, rung: Rung, blocks: int, engine: Engine, made: int = 0) -> Pilot:
    stream = KeyStream.PILOT_DRAWS
    return draw_pilot(end, modes, rung, blocks, engine, stream, int(end.lam), made=made)


def _from_users_draws(
    problem: Problem, end: End, modes: Modes, evaluate: ValueAndGradient, engine: Engine
) -> Pilot:
    """The user's draws, after chains begun at them were seen to stay among them.

    Where something is wrong with them the pilot is that of these chains.
    """
    users, judged = problem.posterior_draws, problem.judged_alone
    assert users is not None
    picks = engine.generator(GeneratorStream.POSTERIOR_DRAWS).permutation(len(users))[
        : 4 * engine.chains
    ]
    values, _ = evaluate(users[picks])
    inside = users[picks][np.isfinite(values)]  # not empty: the preflight has seen to that
    start = np.resize(inside, (engine.chains, end.model.dim))
    if modes.are_separate:
        # Chains on every mode tell of one that the draws do not know: they disagree.
        others = modes.peaks[: engine.chains // 2]
        start[: len(others)] = others
    rung = place_chains(end.leg, end.lam, start, whitening_of(users, modes.factor), engine)
    key = engine.key(KeyStream.PILOT_WARM_UP, int(end.lam))
    shorter = judged.agree and problem.settings.warmup is None and end.leg.has_gradient
    iterations = USERS_DRAWS.warmup if shorter else problem.warmup
    rung = warm_up(end.leg, rung, iterations, key, engine)
    fresh = _draw(end, modes, rung, PILOT.blocks_to_compare, engine)
    each = problem.users_chains.shape[1]
    settled = np.isfinite(values) & (picks % each >= each // 2)  # warm-up is another fault
    if settled.any():
        require_likeness(values[settled], fresh.log_density)
    names = end.model.space.coordinates
    if not modes.are_separate and not judged.faults:
        differing = beside_fresh_ones(problem.users_chains, fresh.x, names)
        judged = replace(judged, faults=(*judged.faults, *differing))
    if judged.faults:
        blocks = PILOT.blocks if end.leg.has_gradient else PILOT.blocks_by_values
        pilot = _draw(end, modes, fresh.rung, blocks, engine, PILOT.blocks_to_compare)
        return replace(pilot, judged=judged)
    fresh_rung = fresh.rung if shorter else rung
    none_yet = np.zeros((1, len(users)))
    return Pilot(modes, fresh_rung, users[None], none_yet, is_users=True, judged=judged)
