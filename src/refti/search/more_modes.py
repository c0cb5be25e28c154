"""More modes: a search that sets out again, about a part of the density that no climb ended in.

Wanderers set out about peaks, at distances that are measured in the spreads of those. Where a
narrow peak stands within something broad, another mode may lie well within reach of that and
hundreds of spreads beyond the peak.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refti.factors.either import into_rows
from refti.models.model import ValueAndGradient
from refti.models.space import Space
from refti.search.broad_parts import BroadPart
from refti.search.curvatures import log_masses
from refti.search.known_peaks import KnownPeaks
from refti.search.large_mode import find_any_mode
from refti.search.modes import look_around, record_of
from refti.search.ongoing import Ongoing
from refti.search.orbits import Orbits
from refti.search.peaks import Modes
from refti.search.scan import Values
from refti.search.searched import Searched
from refti.search.tuning import TUNING
from refti.search.wanderers import Counted


def find_more_modes(
    evaluate: ValueAndGradient,
    modes: Modes,
    part: BroadPart,
    rng: np.random.Generator,
    *,
    evaluations: int,
    narrow_evaluations: int = 0,
    space: Space | None = None,
    values: Values | None = None,
    scanned: int = 0,
) -> Modes:
    """The modes with those that climbs from about a broad part come to besides.

    Args:
        evaluate: the density and its gradient.
        modes: that are known, without the part; their factors must be known too.
        part: the broad one.
        rng: draws the points from which wanderers set out.
        evaluations: that the search may take, as for `find_modes`, and so are all others.
        narrow_evaluations: as there.
        space: as there.
        values: as there.
        scanned: as there.
    """
    counted = Counted(evaluate)
    known = _known(counted, modes, part)
    given, dim = len(known), len(part.x)
    broad = (0, *range(given - modes.broad, given))
    search = Ongoing(
        known,
        given,
        broad,
        knows_prior=modes.searched is not None and modes.searched.from_prior > 0,
        orbits=Orbits(space if dim <= TUNING.curved_peaks else None),
    )
    spent = look_around(
        search,
        counted,
        modes.mode.x,
        rng,
        evaluations=evaluations,
        narrow_evaluations=narrow_evaluations,
        values=values,
        scanned=scanned,
    )
    outside = _outside(part, known, given - modes.broad)
    is_met = len(outside) > 0 and search.met_anew(outside) >= TUNING.rare
    searched = _both(modes.searched, record_of(search, spent), is_met)
    return _with_found(evaluate, replace(modes, searched=searched), search)


def _known(evaluate: ValueAndGradient, modes: Modes, part: BroadPart) -> KnownPeaks:
    """What is known from the outset: the part first, in whose spreads climbers take their steps.

    A broad part is as high as the Gaussian of its mass. Where it is about one, those who set out
    about it are recognised at once.
    """
    assert modes.factors is not None
    assert modes.log_masses is not None
    factors = np.concatenate([part.factor[None], modes.factors])
    by_mass = np.append(part.log_mass, modes.log_masses) - log_masses(
        np.zeros(len(factors)), factors
    )
    tops, _ = evaluate(modes.peaks)
    heights = np.append(by_mass[:1], tops)
    heights[len(heights) - modes.broad :] = by_mass[len(heights) - modes.broad :]
    x = np.concatenate([part.x[None], modes.peaks])
    return KnownPeaks(x, heights, factors, np.full(len(x), True), np.arange(len(x)))


def _outside(part: BroadPart, known: KnownPeaks, tops: int) -> np.ndarray:
    """The numbers of the known tops that stand beyond a part, which is the first of all."""
    u = np.linalg.norm(into_rows(part.factor, known.x[1:tops] - part.x), axis=1)
    return 1 + np.flatnonzero(u > TUNING.within_a_part * np.sqrt(len(part.x)))


def _both(first: Searched | None, second: Searched, is_met: bool) -> Searched:
    """The record of two searches, the second of which set out about more.

    What may have been missed is by the second: those of the first set out about peaks alone. If
    those met a mode so rarely that others were likely missed, that is answered where wanderers
    of the second met it again and again, as all modes beyond the part. Modes that kept turning up
    to the end of the first may have others among them that are no more likely to be met now.
    """
    if first is None:
        return replace(second, about_broad=True)
    return replace(
        second,
        wanderers=first.wanderers + second.wanderers,
        from_prior=first.from_prior + second.from_prior,
        evaluations=first.evaluations + second.evaluations,
        lost=first.lost + second.lost,
        still_growing=second.still_growing
        or (first.still_growing and not (is_met and first.is_quiet)),
        relabelled=second.relabelled or first.relabelled,
        about_broad=True,
    )


def _with_found(evaluate: ValueAndGradient, modes: Modes, search: Ongoing) -> Modes:
    """The modes with those that a search found, the highest first and the broad parts last."""
    assert modes.factors is not None
    assert modes.log_masses is not None
    known = search.known
    kept = known.with_mass()
    new = kept[(kept >= search.given) & known.is_curved[kept]]
    if len(new) == 0:
        return modes
    assert isinstance(known.factors, np.ndarray)
    tops = len(modes.peaks) - modes.broad
    peaks, factors, masses = (
        np.concatenate([old[:tops], found[new], old[tops:]])
        for old, found in (
            (modes.peaks, known.x),
            (modes.factors, known.factors),
            (modes.log_masses, known.log_masses),
        )
    )
    found = replace(modes, peaks=peaks, factors=factors, log_masses=masses)
    highest = new[np.argmax(known.heights[new])]
    if known.heights[highest] <= modes.mode.log_density:
        return found
    mode = find_any_mode(evaluate, known.x[highest])
    if mode.factor() is None:
        return found
    order = np.arange(len(peaks))
    at = tops + int(np.flatnonzero(new == highest)[0])
    order = np.concatenate([[at], order[order != at]])
    return replace(
        found, mode=mode, peaks=peaks[order], factors=factors[order], log_masses=masses[order]
    )
