"""Choice of coordinates: maps fitted to the pilot's draws, and the pilot drawn again through them.

In a map's latent coordinates a funnel, a hierarchy or a heavy tail is about round, so chains reach
what they did not reach before; the map is then fitted again to what they found, until they find no
more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from refti.coordinates.curvature import Curvature, measure_curvature
from refti.coordinates.far_out import find_heavy_sides
from refti.coordinates.fit_tails import robust_standard
from refti.coordinates.map import Map, from_latent, to_latent
from refti.coordinates.power_tails import PowerTails, RadialTail
from refti.coordinates.shapes import LINKS, SHAPES, SLANTING, VALLEYS, Cloud, fit_shape
from refti.coordinates.tuning import TUNING as COORDINATES
from refti.draws import autocorrelation
from refti.errors import ReferenceFitError
from refti.factors.factor import Factor
from refti.run.choose_reference import fit_family, measure_families, measure_length
from refti.run.pilot import Pilot, draw_pilot, measure_peak
from refti.run.problem import End, Problem
from refti.run.tuning import COORDINATES_CHOICE as TUNING
from refti.run.tuning import PILOT, REFERENCE_CHOICE
from refti.sampling.engine import Engine
from refti.sampling.rung import place_chains, warm_up
from refti.sampling.streams import GeneratorStream, KeyStream
from refti.sampling.whitening import whitening_of
from refti.search.mode import find_mode
from refti.search.peaks import Modes


@dataclass(frozen=True, eq=False)
class Reshaped:
    """A problem and its pilot in the coordinates of choice.

    Attributes:
        problem: the problem in them.
        pilot: its pilot in them.
        reason: why they were chosen, in words; None where they are the model's own.
        lengths: of the way from each family in the model's own, where these were chosen by them.
    """

    problem: Problem
    pilot: Pilot
    reason: str | None = None
    lengths: Mapping[str, float] | None = None


def choose_coordinates(problem: Problem, pilot: Pilot, engine: Engine) -> Reshaped:
    """The problem in the coordinates from which the way is shortest, its pilot drawn in them."""
    # A station of the user's is a density of the model's own coordinates.
    if problem.known_path is not None or problem.settings.stations != ("auto",):
        return Reshaped(problem, pilot)
    if not problem.ends[0].leg.has_gradient:
        return Reshaped(problem, pilot)
    # A map of thousands of coordinates would take matrices of them.
    if isinstance(pilot.rung.whitening.factor, Factor):
        return Reshaped(problem, pilot)
    (end,) = problem.ends
    lengths = measure_families(end, pilot, problem.settings.target_error, engine)
    own, as_it_is = min(lengths.values()), Reshaped(problem, pilot, lengths=lengths)
    is_far = own > REFERENCE_CHOICE.short
    # Chains on modes of their own do not agree, and need not where the way from them is short.
    unsettled = pilot.r_hat > TUNING.unsettled and (is_far or not pilot.on_separate_modes)
    x, with_curvature = pilot.x, is_far or unsettled
    curvature = _curvature(end, x, engine) if with_curvature else None
    heavy = _heavy_sides(end, pilot, engine)
    usable = partial(_may_be_worth_it, own=own, unsettled=unsettled)
    best = _shortest(problem, x, curvature, heavy, pilot, engine, usable)
    if best is None or not _is_worth_it(best, own, unsettled):
        return as_it_is
    reshaped = as_it_is
    few = x.shape[2] <= TUNING.few_dimensions
    for turn in range(TUNING.turns if few else TUNING.turns_in_many_dimensions):
        flat = x.reshape(-1, x.shape[2])
        way = _fit_further_out(best.name, Cloud(flat, _worth(x), curvature, heavy), end, engine)
        if way is None:
            break
        seen = replace(problem, way=way)
        latent = to_latent(way, flat).reshape(x.shape)
        most_steps = None if few else round(TUNING.much_dearer * pilot.cost_a_draw)
        drawn = _draw_again(seen, latent, turn, most_steps, engine)
        if not few and drawn.cost_a_draw > TUNING.dearer * pilot.cost_a_draw:
            return as_it_is  # a shorter way, but a rougher one
        reshaped = Reshaped(seen, drawn, best.reason)
        engine.report("finding its shape", turn + 1, TUNING.turns)
        x, before = from_latent(way, drawn.draws)[0].reshape(drawn.x.shape), best
        curvature = _curvature(end, x, engine)
        best = _shortest(problem, x, curvature, heavy, pilot, engine)
        if best is None or (best.name == before.name and _is_settled(latent, drawn.x)):
            break
        if not few and best.name != before.name and not _is_worth_it(best, own, unsettled):
            return as_it_is  # what the map was for was chance, and the next is not worth a turn
    if reshaped.problem.way is None:
        return reshaped
    if pilot.on_separate_modes and reshaped.pilot.r_hat > TUNING.settled:
        return as_it_is  # they are modes, and not bumps that a map takes away
    return replace(reshaped, pilot=_with_modes(reshaped, pilot, engine))


@dataclass(frozen=True)
class _Found:
    """A shape that draws have: the length of the way in its coordinates, and that of others."""

    name: str
    length: float
    is_heavy: bool
    others: str

    @property
    def reason(self) -> str:
        """Why its coordinates are used, in words."""
        return (
            f"the posterior has {self.name}: in coordinates made for them, the path to it has "
            f"length {self.length:.3g}" + (f" ({self.others})" if self.others else "")
        )


def _curvature(end: End, x: np.ndarray, engine: Engine) -> Curvature | None:
    """The curvature at some of the draws x[chain, draw, dim]."""
    return measure_curvature(end.evaluate_by(engine), x.reshape(-1, x.shape[2]))


def _fit_further_out(name: str, cloud: Cloud, end: End, engine: Engine) -> Map | None:
    """The map of a shape, fitted to what the density is like further out than the draws as well."""
    way = fit_shape(name, cloud)
    if way is None or cloud.curvature is None or name != LINKS:
        return way
    latent = to_latent(way, cloud.draws)
    middle = np.median(latent, axis=0)
    beyond, _ = from_latent(way, middle + COORDINATES.beyond * (latent - middle))
    beyond = beyond[np.isfinite(beyond).all(axis=1)]
    further = measure_curvature(end.evaluate_by(engine), beyond) if len(beyond) else None
    return fit_shape(name, replace(cloud, curvature=cloud.curvature.joined(further))) or way


def _heavy_sides(end: End, pilot: Pilot, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Whether the density has a heavy tail to the left and right of every coordinate."""
    x = pilot.draws
    centre = x[np.argsort(pilot.log_density, axis=None)[x.shape[0] // 2]]
    return find_heavy_sides(end.evaluate_by(engine), centre, robust_standard(x)[1])


def _shortest(
    problem: Problem,
    x: np.ndarray,
    curvature: Curvature | None,
    heavy: tuple[np.ndarray, np.ndarray],
    pilot: Pilot,
    engine: Engine,
    usable: Callable[[Map], bool] = lambda way: True,
) -> _Found | None:
    """The shape in whose coordinates the way to draws x[chain, draw, dim] is shortest, if any.

    Those that would not be used whatever their length are left out, with their programs.
    """
    middle, dim = x.shape[1] // 2, x.shape[2]
    first, second = x[:, :middle].reshape(-1, dim), x[:, middle:].reshape(-1, dim)
    found: dict[str, _Found] = {}
    for name in SHAPES:
        way = fit_shape(name, Cloud(first, _worth(x[:, :middle]), curvature, heavy))
        if way is None or not usable(way):
            continue
        (seen,) = replace(problem, way=way).ends
        latent = to_latent(way, first)
        if not np.isfinite(latent).all():  # the map has no place for some draw
            continue
        try:
            reference = fit_family(seen, pilot, "covariance", latent, engine)
        except ReferenceFitError:
            continue
        length = measure_length(seen, reference, to_latent(way, second), engine)
        found[name] = _Found(name, length, _is_heavy(way), "")
    if not found:
        return None
    best = min(found.values(), key=lambda one: one.length)
    others = [f"{one.name} {one.length:.3g}" for one in found.values() if one is not best]
    return replace(best, others=f"others: {', '.join(others)}" if others else "")


def _may_be_worth_it(way: Map, own: float, unsettled: bool) -> bool:
    """Whether there is a length at which a map is worth more than the model's own coordinates."""
    return _is_heavy(way) or own > REFERENCE_CHOICE.short or (unsettled and way.name == LINKS)


def _is_worth_it(best: _Found, own: float, unsettled: bool) -> bool:
    """Whether a shape's coordinates are worth more than the model's own, with their length.

    Where chains have not arrived lengths tell little: only what the density itself says counts.
    """
    if best.is_heavy:
        return best.length < TUNING.no_longer * own
    if unsettled and best.name == LINKS:
        return best.length < TUNING.much_longer * own
    # Skew looks a little like a bend, and a parabola through it is not worth its programs.
    shorter = TUNING.much_shorter if best.name in (VALLEYS, SLANTING) else TUNING.shorter
    return own > REFERENCE_CHOICE.short and best.length < shorter * own


def _worth(x: np.ndarray) -> float:
    """How many independent draws those x[chain, draw, dim] are worth in their worst coordinate."""
    return float(np.min(autocorrelation.effective_sample_size(np.moveaxis(x, 2, 0))))


def _is_heavy(way: Map) -> bool:
    """Whether the map has tails so heavy that chains would not get to their ends without it."""
    heaviness = [
        np.max([layer.left, layer.right]) if isinstance(layer, PowerTails) else layer.heaviness
        for layer in way.layers
        if isinstance(layer, PowerTails | RadialTail)
    ]
    return bool(np.max(heaviness, initial=0.0) > TUNING.much_heavier)


def _draw_again(
    problem: Problem, latent: np.ndarray, turn: int, most_steps: int | None, engine: Engine
) -> Pilot:
    """The pilot in latent coordinates, its chains begun at given draws[chain, draw, dim].

    Trajectories have so many steps at the most, if a number is given.
    """
    (end,) = problem.ends
    rng = engine.generator(GeneratorStream.RESHAPED_STARTS, turn)
    flat = latent.reshape(-1, latent.shape[2])
    # From the whole cloud, not from where chains happen to stand: the map is to carry them on.
    start = flat[rng.permutation(len(flat))[: engine.chains]]
    rung = place_chains(end.leg, end.lam, start, whitening_of(flat), engine)
    if most_steps is not None:
        rung = replace(rung, most_steps=max(most_steps, PILOT.fewest_steps))
    key = engine.key(KeyStream.RESHAPED_WARM_UP, turn)
    rung = warm_up(end.leg, rung, TUNING.warmup, key, engine)
    nowhere = Modes(None, start)  # type: ignore[arg-type]
    return draw_pilot(end, nowhere, rung, PILOT.blocks, engine, KeyStream.RESHAPED_DRAWS, turn)


def _is_settled(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether draws[chain, draw, dim] neither moved nor widened much, as they do on new ground."""
    old, new = (a.reshape(-1, a.shape[2]) for a in (before, after))
    spread = old.std(axis=0)
    shift = np.abs(np.median(new, axis=0) - np.median(old, axis=0)) / spread
    stretch = np.abs(np.log(new.std(axis=0) / spread))
    # Of hundreds of coordinates some are always off by chance.
    most = 1.0 if len(spread) <= TUNING.few_dimensions else TUNING.most_settled
    shift, stretch = (np.quantile(by, most) for by in (shift, stretch))
    return bool(shift < TUNING.shift and stretch < np.log(TUNING.stretch))


def _with_modes(reshaped: Reshaped, before: Pilot, engine: Engine) -> Pilot:
    """The pilot with its mode in the new coordinates, and how the old one stands to its draws."""
    (end,) = reshaped.problem.ends
    pilot, way = reshaped.pilot, reshaped.problem.way
    assert way is not None
    mode = find_mode(end.evaluate_by(engine), pilot.draws[np.argmax(pilot.log_density)])
    (own_end,) = replace(reshaped.problem, way=None).ends
    x, log_jacobian = from_latent(way, pilot.draws)
    own = np.ravel(pilot.log_density) - log_jacobian
    peak = measure_peak(own_end.evaluate_by(engine), before.modes.mode, x, own)
    # Seen once to fall is enough: wide draws may ask for depths at which numbers end.
    fell = peak.mass_falls or (before.peak is not None and before.peak.mass_falls)
    modes = Modes(mode, mode.x[None], searched=before.modes.searched)
    return replace(pilot, modes=modes, peak=replace(peak, mass_falls=fell))
