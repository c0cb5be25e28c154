"""Scan: bare values of the density at very many points, for modes too narrow for climbs to meet.

A value takes a tenth of the time of a gradient, in wide batches. About peaks that are Gaussian it
also tells whether a point lies on the slope of one of them; only those climb that no known peak
explains. About others a value tells nothing, and the scan ends where it began.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from refti.factors.either import out_rows
from refti.search.known_peaks import KnownPeaks
from refti.search.ongoing import Ongoing
from refti.search.power import wanderers_for
from refti.search.tuning import TUNING
from refti.search.wanderers import NOWHERE, Counted, Starts, flattenings_of

Values = Callable[[np.ndarray], np.ndarray]
"""From points x[n, dim] to the log densities [n] there."""


def scan(
    search: Ongoing, evaluate: Counted, values: Values, rng: np.random.Generator, most: int
) -> int:
    """Takes a search further by bare values, and says at how many points it looked.

    Args:
        search: as wanderers left it.
        evaluate: the density and its gradient, for the few points that climb.
        values: the density alone.
        rng: draws the points.
        most: points to look at; several times as many while new modes keep turning up.
    """
    dim, seen = search.known.x.shape[1], 0
    enough = wanderers_for(TUNING.scan_width, dim, TUNING.narrow_found_with)
    if most == 0 or not _explains(search, evaluate):
        return 0
    # Each point is held against every mode, so it is fewer of them where there are many.
    most = min(most, TUNING.scan_points * TUNING.few_modes // len(search.known.with_mass()))
    while search.told < enough or search.is_growing:
        room = int(TUNING.scan_growth * most if search.is_growing else most) - seen
        count = min(TUNING.scan_batch if seen else TUNING.first_scan, room)
        if count < min(TUNING.first_scan, most):
            break
        seen += count
        if not _scan_batch(search, evaluate, values, rng, count):
            break
    return seen


def _explains(search: Ongoing, evaluate: Counted) -> bool:
    """Whether wanderers were recognised about where they stood, as they are on Gaussian peaks."""
    return evaluate.count < TUNING.scan_cost * search.arrived


def _scan_batch(
    search: Ongoing, evaluate: Counted, values: Values, rng: np.random.Generator, count: int
) -> bool:
    """Looks at so many points, and climbs from those that no known peak explains.

    False where there were more of these than may climb: then the batch does not count.
    """
    telling, lost = search.telling, search.lost
    starts = draw_in_bulk(search.known, count, rng, _shares(search))
    there = values(starts.x)
    left = np.arange(count)
    for _ in range(TUNING.scan_turns):
        peaks, above = explain(search.known, starts.x[left], there[left])
        met = peaks >= 0
        search.meet(peaks[met], starts.about[left[met]], starts.reaches[left[met]])
        left, above = left[~met], above[~met]
        if len(left) == 0:
            break
        # The highest first: where a narrow mode was met, its own points stand out most.
        order = np.argsort(-above, kind="stable")
        climbing, left = left[order[: TUNING.scan_climbs]], left[order[TUNING.scan_climbs :]]
        search.send_out(evaluate, Starts(*(part[climbing] for part in starts)))
        search.known = search.orbits.complete(evaluate, search.known)
    if search.telling != telling:
        search.begin_anew()
    if len(left):
        return False
    near = int(np.sum(starts.reaches == NOWHERE))
    search.scanned += count - near - (search.lost - lost)
    search.scanned_near += near - (search.lost - lost)
    return True


def _shares(search: Ongoing) -> np.ndarray:
    """The share of points at each reach, and last of those that are not flattened at all.

    A needle within a hump is nowhere else to be met; one that was met there is looked for there.
    """
    near = TUNING.scan_near
    if search.rarest < TUNING.rare:
        near = (1 - TUNING.to_the_rarest) * near + TUNING.to_the_rarest * search.rarest_near
    return np.append((1 - near) * search.reach_shares, near)


def draw_in_bulk(
    known: KnownPeaks, count: int, rng: np.random.Generator, shares: np.ndarray
) -> Starts:
    """Points of the density about known peaks, flattened by all reaches and not at all.

    As wanderers set out from, but all those about one peak and of one reach at once, and none
    along one parameter, so that a million of them take a tenth of a second.
    """
    centres, dim = known.with_mass(), known.x.shape[1]
    flattenings = np.append(flattenings_of(np.array(TUNING.reaches), dim), 1.0)
    widths = known.log_widths(centres)
    x, about, reaches = np.empty((count, dim)), np.empty(count, int), np.empty(count, int)
    at = 0
    for reach, points in enumerate(rng.multinomial(count, shares)):
        by_mass = special.softmax(known.heights[centres] / flattenings[reach] + widths)
        mixed = TUNING.by_flattened_mass * by_mass + (1 - TUNING.by_flattened_mass) / len(centres)
        for centre, few in zip(centres, rng.multinomial(points, mixed), strict=True):
            here = slice(at, at + few)
            noise = np.sqrt(flattenings[reach]) * rng.standard_normal((few, dim))
            x[here] = known.x[centre] + out_rows(known.factors[centre], noise)
            about[here], at = centre, at + few
            reaches[here] = reach if reach < len(TUNING.reaches) else NOWHERE
    return Starts(x, about, reaches)


def explain(known: KnownPeaks, x: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers [n] of the peaks whose slopes points x[n, dim] lie on, and what is left over.

    A value is explained where it is about that of all peaks together, each by its parabola; the
    peak is then the one with most of it, and otherwise -1. A point outside the support is as good
    as on the slope of the first peak. What is left over, in nats, is how far a value lies above.
    """
    alone = np.flatnonzero((known.belongs_to == np.arange(len(known))) & known.is_curved)
    heights = np.stack([_parabola(known, x, int(peak)) for peak in alone])
    together = np.logaddexp.reduce(heights, axis=0)
    inside = np.isfinite(values)
    above = np.where(inside, values, together) - together
    fall = known.heights.max() - together
    explained = above <= TUNING.like_above * fall + TUNING.dip / 2
    explained &= above >= -TUNING.like_below * fall - TUNING.dip / 2
    most = np.where(inside, alone[np.argmax(heights, axis=0)], 0)
    return np.where(explained, most, -1), above


def _parabola(known: KnownPeaks, x: np.ndarray, peak: int) -> np.ndarray:
    """The log densities [n] at points x[n, dim] by the height and curvature of one peak."""
    into = np.linalg.inv(
        np.asarray(known.factors[peak])
    ).T  # some hundred times as many points as dimensions
    u = x @ into - known.x[peak] @ into
    return np.asarray(known.heights[peak] - 0.5 * np.einsum("ni,ni->n", u, u))
