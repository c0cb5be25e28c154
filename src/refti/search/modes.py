"""The modes of a density with a gradient, searched for by many wanderers from near and far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from refti.factors.factor import Factor
from refti.models.model import ValueAndGradient
from refti.models.space import Space
from refti.search.known_peaks import KnownPeaks, OneForAll
from refti.search.large_mode import LargeMode, find_any_mode
from refti.search.large_tuning import LARGE
from refti.search.mode import Mode
from refti.search.ongoing import Ongoing
from refti.search.orbits import Orbits
from refti.search.peaks import Modes, pick_near_starts
from refti.search.power import narrowest_found, wanderers_for
from refti.search.rounded import cost_of_rounding, round_off
from refti.search.scan import Values, scan
from refti.search.searched import Searched
from refti.search.tuning import TUNING
from refti.search.wanderers import Counted, PriorChains, draw_flattened, start_anywhere


def find_modes(
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    rng: np.random.Generator,
    *,
    evaluations: int,
    narrow_evaluations: int = 0,
    prior: ValueAndGradient | None = None,
    space: Space | None = None,
    values: Values | None = None,
    scanned: int = 0,
) -> Modes:
    """The peaks uphill of several starts, and of points of the flattened density and the prior.

    Args:
        evaluate: the density and its gradient.
        starts: `[start, dim]`, inside the support, best first.
        rng: draws the points from which wanderers set out.
        evaluations: that the search may take beside the climb to the first mode; several times as
            many while new modes keep turning up.
        narrow_evaluations: up to which it goes on, where that is more, while a narrow mode would
            be missed.
        prior: the prior and its gradient, where it is apart.
        space: the parameters, among which components that may be renumbered are looked for.
        values: the density alone, for many points at once.
        scanned: points at which it may be looked at by these, for modes that are narrower still.
    """
    mode = find_any_mode(evaluate, starts[0])
    if mode.factor() is None:
        most = max(evaluations, narrow_evaluations)
        return _find_modes_rounded(evaluate, mode, starts, rng, most)
    return _find_modes_about(
        mode,
        evaluate,
        starts,
        space,
        lambda search, counted: look_around(
            search,
            counted,
            starts[0],
            rng,
            evaluations=evaluations,
            narrow_evaluations=narrow_evaluations,
            prior=prior,
            values=values,
            scanned=scanned,
        ),
    )


def _find_modes_about(
    mode: Mode | LargeMode,
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    space: Space | None,
    look: Callable[[Ongoing, Counted], int],
) -> Modes:
    """The peaks from a first mode with a curvature on; `look` goes on and tells what it took."""
    factor, counted = mode.factor(), Counted(evaluate)
    assert factor is not None
    is_small = len(mode.x) <= TUNING.curved_peaks
    search = Ongoing(_only(mode, factor), orbits=Orbits(space if is_small else None))
    search.send_out(counted, start_anywhere(pick_near_starts(starts)))
    return _gather(evaluate, mode, search, starts, look(search, counted))


def _find_modes_rounded(
    evaluate: ValueAndGradient,
    mode: Mode | LargeMode,
    starts: np.ndarray,
    rng: np.random.Generator,
    evaluations: int,
) -> Modes:
    """The peaks of a density whose highest point has no curvature, searched for as if it had.

    If there is one alone, what is known of it stays what it was: that it has no curvature.
    """
    alone, dim = Modes(mode, starts, searched=Searched(0, 0, 0, 0)), len(mode.x)
    is_small = dim <= TUNING.search_dimensions
    rounded = round_off(evaluate, mode.x, mode.log_density) if is_small else None
    if rounded is None:
        return alone
    cost = cost_of_rounding(dim)
    round_mode = find_any_mode(rounded, mode.x)
    if round_mode.factor() is None:  # a pole has none at any scale
        return alone
    most = evaluations // cost
    found = _find_modes_about(
        round_mode,
        rounded,
        starts,
        None,
        lambda search, counted: look_around(search, counted, mode.x, rng, evaluations=most),
    )
    if found.searched is None:
        return alone
    searched = replace(found.searched, evaluations=cost * found.searched.evaluations)
    return replace(found if found.are_separate else alone, searched=searched)


def look_around(
    search: Ongoing,
    evaluate: Counted,
    first: np.ndarray,
    rng: np.random.Generator,
    *,
    evaluations: int,
    narrow_evaluations: int = 0,
    prior: ValueAndGradient | None = None,
    values: Values | None = None,
    scanned: int = 0,
) -> int:
    """Takes a search to its end, and says how many evaluations it took; as for `find_modes`.

    Args:
        search: what is known already.
        evaluate: the density and its gradient.
        first: a point inside the support.
        rng: draws the points from which wanderers set out.
        evaluations: as there, and so are all others.
        narrow_evaluations: as there.
        prior: as there.
        values: as there.
        scanned: as there.
    """
    on_prior = None if prior is None else Counted(prior)
    allowance = _Allowance(evaluations, narrow_evaluations, first.size)
    _wander(search, evaluate, on_prior, first, rng, allowance)
    looked_at = 0
    if values is not None:
        looked_at = scan(search, evaluate, values, rng, scanned)
    return looked_at + evaluate.count + (0 if on_prior is None else on_prior.count)


class _Allowance:
    """How many evaluations a search may take, by what it has come to."""

    def __init__(self, evaluations: int, narrow_evaluations: int, dim: int) -> None:
        self._usual, self._narrow = evaluations, max(evaluations, narrow_evaluations)
        self._enough = wanderers_for(TUNING.narrow_width, dim, TUNING.narrow_found_with)

    def at(self, search: Ongoing) -> tuple[float, float]:
        """Evaluations in all for wanderers from the flattened density, and from the prior.

        The latter find narrow modes anyway, in a prior that is not too wide.
        """
        if search.is_growing:
            growing = TUNING.while_new * self._usual
            return max(growing, TUNING.narrow_growth * self._narrow), growing
        is_enough = search.since_new >= self._enough
        return float(self._usual if is_enough else self._narrow), float(self._usual)


def _only(mode: Mode | LargeMode, factor: np.ndarray | Factor) -> KnownPeaks:
    """The first mode as all that is known."""
    height = np.array([mode.log_density])
    factors = OneForAll(factor) if isinstance(factor, Factor) else factor[None]
    return KnownPeaks(mode.x[None], height, factors, np.array([True]), np.array([0]))


def _wander(
    search: Ongoing,
    evaluate: Counted,
    prior: Counted | None,
    first: np.ndarray,
    rng: np.random.Generator,
    allowance: _Allowance,
) -> None:
    """Sends out wanderers until the evaluations are spent, and longer while they find modes.

    They go in batches, by turns from the flattened density and from the prior. Those from the
    prior have far to climb, so they get more evaluations, but they need not be as many.
    """
    chains = None if prior is None else PriorChains(prior, first, rng)
    counts = [evaluate] if prior is None else [evaluate, prior]
    spent, sent = [evaluate.count, 0 if prior is None else prior.count], [0, 0]
    # In many dimensions few wanderers arrive at all.
    share = TUNING.prior_share if len(first) <= TUNING.curved_peaks else 1.0
    shares = (1.0, 0.0 if chains is None else share)
    while len(search.known) <= TUNING.most_peaks:
        allowed = allowance.at(search)
        left = [share * most - one for share, most, one in zip(shares, allowed, spent, strict=True)]
        if sent[1] >= TUNING.most_from_prior and len(search.known) == 1:
            left[1] = 0.0
        if sent[0] >= LARGE.most_wanderers and isinstance(search.known.factors, OneForAll):
            left[0] = 0.0
        by_prior = left[1] / max(shares[1], 1e-9) > left[0]
        cost = (spent[by_prior] / sent[by_prior]) if sent[by_prior] else TUNING.guessed_cost
        most = TUNING.batch if sent[by_prior] else TUNING.first_batch
        most = min(most, max(TUNING.least_batch, TUNING.numbers_at_once // len(first)))
        count = int(min(most, left[by_prior] / cost))
        if count < TUNING.least_batch:
            return
        before = sum(one.count for one in counts)
        telling = search.telling
        if chains is not None and by_prior:
            starts = start_anywhere(chains.draw(count))
        else:
            centres = search.known.with_mass()
            starts = draw_flattened(search.known, centres, count, rng, search.reach_shares)
        arrived = search.send_out(evaluate, starts)
        sent[by_prior] += len(starts.x)
        spent[by_prior] += sum(one.count for one in counts) - before
        # Images of modes are no wanderers, so they do not cost the search any of those.
        search.known = search.orbits.complete(evaluate, search.known)
        search.from_prior += arrived if by_prior else 0
        search.since_new += 0 if by_prior else arrived
        if search.telling != telling:
            search.begin_anew()


def _gather(
    evaluate: ValueAndGradient,
    first: Mode | LargeMode,
    search: Ongoing,
    starts: np.ndarray,
    spent: int,
) -> Modes:
    """The modes that were found and the record of the search."""
    known = search.known
    kept = known.with_mass()
    searched = record_of(search, spent)
    highest = kept[np.argmax(known.heights[kept])]
    mode = first if highest == 0 else find_any_mode(evaluate, known.x[highest])
    if mode.factor() is None:
        return Modes(mode, starts, searched=searched)
    order = np.concatenate([[highest], kept[kept != highest]])
    peaks = np.concatenate([mode.x[None], known.x[order[1:]]])
    if isinstance(known.factors, OneForAll) or not known.is_curved[order].all():
        return Modes(mode, peaks, searched=searched)
    factors, masses = known.factors[order], known.log_masses[order]
    return Modes(mode, peaks, factors=factors, log_masses=masses, searched=searched)


def record_of(search: Ongoing, spent: int) -> Searched:
    """The record of a search that took so many evaluations."""
    known = search.known
    return Searched(
        wanderers=search.arrived,
        from_prior=search.from_prior,
        since_new=search.since_new,
        scanned=search.scanned,
        scanned_near=search.scanned_near,
        evaluations=spent,
        unseen_share=search.unseen_share,
        lost=search.lost,
        still_growing=search.is_growing or len(known) > TUNING.most_peaks,
        narrowest=narrowest_found(search.told, known.x.shape[1]),
        dim=known.x.shape[1] if isinstance(known.factors, OneForAll) else None,
        relabelled=search.orbits.sentence,
        on_ridges=search.on_ridges,
    )
