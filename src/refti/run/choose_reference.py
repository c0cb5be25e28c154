"""Choice of the reference: several families fitted, the one with the shortest way taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from refti.errors import ReferenceFitError, SamplingError
from refti.factors.either import on_host
from refti.factors.factor import Factor
from refti.factors.tuning import TUNING as FACTORS
from refti.paths.path import Leg
from refti.paths.thermodynamic_length import measure_segment
from refti.references import registry
from refti.references.base import Reference
from refti.references.family import FitInputs
from refti.run.pilot import Pilot, continue_pilot
from refti.run.problem import End
from refti.run.tuning import REFERENCE_CHOICE as TUNING
from refti.run.tuning import ROUNDS
from refti.sampling.engine import Engine
from refti.sampling.evaluation import values
from refti.sampling.exact_start import exact_draws
from refti.sampling.kernels.registry import BY_VALUES
from refti.sampling.rung import place_chains, warm_up
from refti.sampling.score_whitening import refit_by_scores, wants_scores
from refti.sampling.streams import GeneratorStream, KeyStream
from refti.sampling.whitening import whitening_of
from refti.search.large_mode import LargeMode


@dataclass(frozen=True, eq=False)
class Choice:
    """A fitted reference, and how it came about.

    Attributes:
        reference: what was chosen.
        family: its name.
        lengths: the length of the way from each family that was tried.
        reason: why it was chosen, in words.
    """

    reference: Reference
    family: str
    lengths: Mapping[str, float]
    reason: str


def choose_reference(
    end: End,
    pilot: Pilot,
    target_error: float,
    engine: Engine,
    measured: Mapping[str, float],
    *,
    is_shaped: bool = False,
) -> tuple[Choice, Pilot]:
    """The reference from which the way to the posterior is shortest, and the pilot it rests on.

    The lengths of the ways from families as measured with this pilot are given.

    An estimate needs about (length / error)^2 draws. While the pilot has fewer than a share of
    that, is short of draws for the dimension, and more of them have shortened the way from a
    reference fitted to them, it goes on: draws that shorten the way save more of them later. The
    way from the mode is the same whatever the draws, so it may not end this: it is the shortest
    of all where chains have not arrived yet.

    Where the coordinates are those of a shape (`is_shaped`) what is left of it, such as the skew
    of a scale's logarithm, is worth any program: there the reference's tails decide what is met.
    """
    lengths = dict(measured)
    if _may_wind(end, lengths, engine, is_shaped=is_shaped):
        lengths |= measure_lengths(end, pilot, registry.tried_by_auto("ridges"), engine)
    worth = _worth(end, is_shaped)
    best = pick_best(lengths, target_error, worth)
    most_draws = min(
        TUNING.draws_a_dimension * end.model.dim,
        TUNING.most_pilot_draws,
        TUNING.most_pilot_numbers // end.model.dim,
    )
    share = TUNING.pilot_share_with_scores if uses_scores(end, pilot) else TUNING.pilot_share
    while (
        not pilot.is_users
        and len(pilot.draws) < most_draws
        and len(pilot.draws) < share * (lengths[best] / target_error) ** 2
    ):
        before = _of_draws(lengths)
        pilot = continue_pilot(end, pilot, engine)
        # The families that lost by far would not win with twice the draws.
        shortest = min(before.values(), default=TUNING.no_way)
        close = [name for name, value in before.items() if value < TUNING.close * shortest]
        lengths |= measure_lengths(end, pilot, close, engine)
        best = pick_best(lengths, target_error, worth)
        if min(_of_draws(lengths).values(), default=TUNING.no_way) > (
            TUNING.still_shorter * shortest
        ):
            break
    while True:
        try:
            reference = fit_family(end, pilot, best, pilot.draws, engine)
        except ReferenceFitError:  # half of the draws may have what all of them have not
            del lengths[best]
            best = pick_best(lengths, target_error, worth)
            continue
        if registry.FAMILIES[best].auto == "ridges" and not pilot.is_users:
            pilot = _set_out_anew(end, pilot, reference, engine)
        return Choice(reference, best, lengths, _reason(best, lengths)), pilot


def _set_out_anew(end: End, pilot: Pilot, reference: Reference, engine: Engine) -> Pilot:
    """The pilot with chains that set out from draws of the reference, weighed by the density.

    At the thin ends of a ridge, where climbs end, chains came to be stuck, and their steps are as
    short as it takes there. The reference knows all places where chains have been, and the mass of
    each, so nothing is lost. As leaps are to move them, trajectories need not be long.
    """
    count = engine.chains * engine.block_length
    key = engine.key(KeyStream.RIDGE_STARTS)
    x = np.asarray(engine.meter.call(exact_draws, reference, key, count))
    _, delta = values(Leg(reference, end.leg.end), x, engine.meter)
    x, delta = x[np.isfinite(delta)], delta[np.isfinite(delta)]
    if len(x) < engine.chains:
        return pilot
    # As by Gumbel: so many of them without any twice, each by its weight.
    rng = engine.generator(GeneratorStream.RIDGE_STARTS)
    order = np.argsort(-(delta + rng.gumbel(size=len(delta))))
    whitening = whitening_of(x[order[: len(order) // 2]])
    rung = place_chains(end.leg, end.lam, x[order[: engine.chains]], whitening, engine)
    rung = replace(rung, most_steps=TUNING.steps_beside_leaps)
    rung = warm_up(end.leg, rung, ROUNDS.warmup_beside, engine.key(KeyStream.RIDGE_WARM_UP), engine)
    return replace(pilot, rung=rung)


def measure_families(
    end: End, pilot: Pilot, target_error: float, engine: Engine, *, is_shaped: bool = False
) -> dict[str, float]:
    """The length of the way from each family that is worth trying.

    No shaped one is where the whole way from a plain one takes fewer draws than it would have to
    save. The shelves beside a peak that a density jumps down from are like modes of their own.
    """
    is_dense = end.model.dim <= FACTORS.densest
    is_dense &= not isinstance(pilot.rung.whitening.factor, Factor)
    plain = registry.tried_by_auto("dense" if is_dense else "high_dimension")
    if isinstance(pilot.modes.mode, LargeMode) and pilot.modes.mode.sparse:
        plain = registry.SPARSE
    lengths = measure_lengths(end, pilot, plain, engine)
    jumps = is_shaped and engine.kernel.name == BY_VALUES and end.leg.has_gradient
    if pilot.on_separate_modes or jumps:
        several = registry.tried_by_auto("several_modes")
        gaussian = [name for name in several if not registry.FAMILIES[name].reaches_far]
        lengths |= measure_lengths(end, pilot, gaussian, engine)
        if min(lengths.values(), default=TUNING.no_way) > TUNING.as_good_as_normal:
            far = [name for name in several if name not in gaussian]
            lengths |= measure_lengths(end, pilot, far, engine)
    if not lengths:
        raise SamplingError(
            "No reference could be fitted to the first draws of the posterior: they lie in fewer "
            "dimensions than the model has parameters. Check that no parameters are exact "
            "functions of each other, and that the density is finite around the start."
        )
    short = TUNING.short if end.leg.has_gradient else TUNING.short_by_values
    shortest = min(lengths.values())
    may_be_taken = shortest > short and (shortest / target_error) ** 2 > _worth(end, is_shaped)
    if is_shaped or may_be_taken:
        shaped = registry.tried_by_auto("shaped" if is_dense else "high_dimension_shaped")
        lengths |= measure_lengths(end, pilot, shaped, engine)
    return lengths


def measure_lengths(
    end: End, pilot: Pilot, families: Iterable[str], engine: Engine
) -> dict[str, float]:
    """The length of the way from each of these families, where it can be fitted.

    Each is fitted to the first half of the pilot's draws and measured with the second half and
    draws of its own, so a family that fits noise gains nothing by it.
    """
    first, second = pilot.halves()
    lengths: dict[str, float] = {}
    base = find_base(end, pilot, first, engine)
    for family in families:
        try:
            reference = fit_family(end, pilot, family, first, engine, base)
        except ReferenceFitError:
            continue
        lengths[family] = measure_length(end, reference, second, engine)
    return lengths


def uses_scores(end: End, pilot: Pilot) -> bool:
    """Whether references are fitted to gradients at draws as well."""
    one_hill = not pilot.on_separate_modes
    is_dense = not isinstance(pilot.rung.whitening.factor, Factor)
    return end.leg.has_gradient and is_dense and wants_scores(end.model.dim) and one_hill


def find_base(end: End, pilot: Pilot, draws: np.ndarray, engine: Engine) -> np.ndarray | Factor:
    """A factor that makes the posterior about round, by draws[n, dim] and the scores there.

    A covariance that is shrunk towards it needs far fewer draws. In a few dimensions, and where
    modes lie apart, it is the factor that chains are whitened by.
    """
    current = pilot.rung.whitening
    known = on_host(current.factor)
    if not uses_scores(end, pilot):
        return known
    picks = np.linspace(0, len(draws) - 1, min(len(draws), TUNING.most_scores)).astype(int)
    values_there, scores = end.evaluate_by(engine)(draws[picks])
    inside = np.isfinite(values_there)
    found = refit_by_scores(current, draws[picks][None, inside], scores[None, inside])
    return known if found is None else np.asarray(found.factor)


def fit_family(
    end: End,
    pilot: Pilot,
    family: str,
    draws: np.ndarray,
    engine: Engine,
    base: np.ndarray | Factor | None = None,
) -> Reference:
    """The family's member for these draws; the base is found if it is not given."""
    inputs = FitInputs(
        model=end.model,
        evaluate=end.evaluate_by(engine),
        mode=pilot.modes.mode,
        draws=draws,
        base=find_base(end, pilot, draws, engine) if base is None else base,
        curved=pilot.modes.dense_factor if uses_scores(end, pilot) else None,
        peaks=pilot.modes.peaks if pilot.on_separate_modes else None,
        peak_factors=pilot.modes.factors if pilot.on_separate_modes else None,
        peak_masses=pilot.modes.log_masses if pilot.on_separate_modes else None,
        seed=int(engine.generator(GeneratorStream.REFERENCE_FIT).integers(2**31)),
    )
    return registry.fit(family, inputs)


def measure_length(end: End, reference: Reference, held_out: np.ndarray, engine: Engine) -> float:
    """The thermodynamic length from a reference to draws that it was not fitted to."""
    count = engine.chains * engine.block_length
    leg = Leg(reference, end.leg.end)
    key = engine.key(KeyStream.REFERENCE_LENGTH)
    x = np.asarray(engine.meter.call(exact_draws, reference, key, count))
    picks = np.linspace(0, len(held_out) - 1, count).astype(int)
    (_, lower), (_, upper) = (values(leg, points, engine.meter) for points in (x, held_out[picks]))
    lower, upper = lower[np.isfinite(lower)], upper[np.isfinite(upper)]
    if len(lower) < 2 or len(upper) < 2:
        return TUNING.no_way
    # Draws outside the support are not on the way, but they are not for nothing either.
    return measure_segment(lower, upper).length - float(np.log(len(lower) / count))


def pick_best(lengths: Mapping[str, float], target_error: float, worth: float) -> str:
    """The family of the shortest way; a shaped one only where it saves enough draws.

    One whose flanks reach far is taken where its way is short and about as short as any: by draws
    of a pilot that have not been in the flanks, the way from one without them is the shorter. So is
    one that goes on to the ends of a ridge, by draws that were stuck beyond them or short of them.
    """
    plain = {
        name: value
        for name, value in lengths.items()
        if not registry.FAMILIES[name].auto.endswith("shaped")
    }
    best = min(plain, key=plain.__getitem__)
    about_as_short = min(TUNING.about_as_short * plain[best], TUNING.short)
    for name, value in plain.items():
        if registry.FAMILIES[name].reaches_far and value < about_as_short:
            return name
        if registry.FAMILIES[name].auto == "ridges" and value < TUNING.about_as_short * plain[best]:
            return name
    better = min(lengths, key=lengths.__getitem__)
    saved = (lengths[best] ** 2 - lengths[better] ** 2) / target_error**2
    return better if saved > worth else best


def _may_wind(end: End, lengths: Mapping[str, float], engine: Engine, *, is_shaped: bool) -> bool:
    """Whether the posterior may be a ridge that winds: in a few dimensions, and far from all.

    In the coordinates of a shape that it is, the way is short; where it is not, the shape is
    another, such as a valley that bends otherwise. Gradients tell nothing of a density that jumps.
    """
    if end.model.dim > TUNING.most_that_wind or end.model.dim < 2 or not end.leg.has_gradient:
        return False
    longer = TUNING.winding_still if is_shaped else TUNING.winding
    return min(lengths.values()) > longer and engine.kernel.name != BY_VALUES


def _worth(end: End, is_shaped: bool) -> float:
    """How many draws a shaped family must save to be taken."""
    if is_shaped:
        return 0.0
    return TUNING.worth_compiling if end.leg.has_gradient else TUNING.worth_compiling_by_values


def _of_draws(lengths: Mapping[str, float]) -> dict[str, float]:
    """The lengths from families that are fitted to draws."""
    return {name: value for name, value in lengths.items() if registry.FAMILIES[name].uses_draws}


def _reason(best: str, lengths: Mapping[str, float]) -> str:
    others = ", ".join(f"{name} {value:.3g}" for name, value in lengths.items() if name != best)
    compared = f" (others: {others})" if others else ""
    way = f"the path from it to the posterior is the shortest, {lengths[best]:.3g}{compared}"
    goes_on = registry.FAMILIES[best].reaches_far or registry.FAMILIES[best].auto == "ridges"
    if lengths[best] > min(lengths.values()) and goes_on:
        way = f"it reaches far, and the path from it is about as short as any, {lengths[best]:.3g}"
        way += compared
    return way
