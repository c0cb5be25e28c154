"""Ongoing: what a search for modes has come to so far, and whether it may end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.climb import climb, climb_together
from refti.search.known_peaks import KnownPeaks, OneForAll
from refti.search.new_peaks import add_new_peaks
from refti.search.orbits import Orbits
from refti.search.power import narrowest_found
from refti.search.ridge_path import is_joined
from refti.search.tuning import TUNING
from refti.search.wanderers import Starts


@dataclass
class Ongoing:
    """What a search has come to so far."""

    known: KnownPeaks
    given: int = 1  # peaks known from the outset, which nobody needs to have met
    # Of these the ones that are none, but the middles of broad parts of the density.
    broad: tuple[int, ...] = ()
    knows_prior: bool = False  # whether an earlier search set out from the prior
    orbits: Orbits = field(default_factory=Orbits)
    ends: dict[int, int] = field(default_factory=dict)  # wanderers by the peak they came to
    # Those of them from about another peak, by the peak they came to and the reach they were from.
    strangers: dict[int, np.ndarray] = field(default_factory=dict)
    from_prior: int = 0
    since_new: int = 0
    scanned: int = 0  # points beside them, since then, whose bare values told where they lead
    scanned_near: int = 0  # such points of the density itself, not flattened
    outside: int = 0  # wanderers that set out from outside the support, which is uphill to nothing
    lost: int = 0
    long_climbs: int = 0
    on_ridges: int = 0  # peaks that were joined to another
    ridge_searches: int = 0  # peaks for which a ridge to another was looked for

    @property
    def arrived(self) -> int:
        """How many wanderers came to a peak, or to know that there is none above them."""
        return sum(self.ends.values()) + self.outside

    @property
    def telling(self) -> int:
        """How many peaks hold enough to count when asking whether new ones turn up."""
        return len(self._telling())

    @property
    def told(self) -> int:
        """How many points have told of a peak since the last new mode was found."""
        return self.since_new + self.scanned

    @property
    def unseen_share(self) -> float:
        """The share of wanderers that came to peaks of their own."""
        came: dict[int, int] = {}
        for peak, count in self.ends.items():
            came[self.orbits.of(peak)] = came.get(self.orbits.of(peak), 0) + count
        alone = sum(1 for peak in self._telling() if came.get(self.orbits.of(peak)) == 1)
        return alone / max(1, self.arrived)

    @property
    def is_growing(self) -> bool:
        """Whether modes keep turning up; in many dimensions they cannot be told from bumps."""
        if self.known.x.shape[1] > TUNING.curved_peaks:
            return False
        is_quiet = self.told >= TUNING.quiet * (self.arrived - self.from_prior)
        if self.unseen_share > TUNING.unseen or not is_quiet or self.rarest < TUNING.rare:
            return True
        return self.may_be_narrower

    @property
    def rarest(self) -> int:
        """How many wanderers from about other modes came to the mode that fewest came to.

        Where that is hardly any, it was found by luck, and others like it are likely to be missed.
        """
        return min((int(met.sum()) for met in self._met()), default=TUNING.rare)

    def met_anew(self, peaks: np.ndarray) -> int:
        """How many wanderers from elsewhere came to the one of some peaks that fewest came to."""
        orbits = [self.orbits.of(int(peak)) for peak in peaks]
        met = {orbit: 0 for orbit in orbits}
        for peak, strangers in self.strangers.items():
            if self.orbits.of(peak) in met:
                met[self.orbits.of(peak)] += int(strangers.sum())
        return min(met.values(), default=TUNING.rare)

    @property
    def rarest_near(self) -> float:
        """The share of those who came to that mode that set out from no reach."""
        met = min(self._met(), key=np.sum, default=np.zeros(1))
        return float(met[-1] / met.sum()) if met.sum() else 0.0

    @property
    def may_be_narrower(self) -> bool:
        """Whether the modes found are of widths down to what can be found, so that more are likely.

        One more would be narrower than the narrowest by as much as that one is than the next.
        Where wanderers also set out from the prior, how they found the modes tells more.
        """
        if self.from_prior or self.knows_prior:
            return False
        kept = np.setdiff1d(self._telling(), self.broad)
        widths = np.sort(self.known.widths[kept[self.known.is_curved[kept]]])
        if len(widths) < TUNING.modes_in_a_row:
            return False
        relative = widths[0] / widths[-1]
        least = narrowest_found(self.told, self.known.x.shape[1])
        return least is None or bool(relative ** (len(widths) / (len(widths) - 1)) < least)

    @property
    def reach_shares(self) -> np.ndarray:
        """The share of wanderers at each reach: more where the rarest mode was met from.

        They tell soonest whether it was met by luck, and come to what lies at its distance.
        """
        usual = np.array(TUNING.reach_shares)
        met = min(self._met(), key=np.sum, default=np.zeros(1))[:-1]
        if self.rarest >= TUNING.rare or met.sum() == 0:
            return usual
        return (1 - TUNING.to_the_rarest) * usual + TUNING.to_the_rarest * met / met.sum()

    def _telling(self) -> np.ndarray:
        """The peaks that count, one for all that are its images by another numbering.

        What does not curve like a peak in every direction is a bump on the way to one.
        """
        with_mass = self.known.with_mass(TUNING.telling_log_share)
        return self.orbits.first_ones(with_mass[self.known.is_curved[with_mass]])

    def _met(self) -> list[np.ndarray]:
        """The strangers at every mode that counts but those that are known from the outset."""
        nobody = np.zeros(len(TUNING.reaches) + 1)
        met = {self.orbits.of(peak): nobody for peak in self._telling()}
        for peak, strangers in self.strangers.items():
            if self.orbits.of(peak) in met:
                met[self.orbits.of(peak)] = met[self.orbits.of(peak)] + strangers
        return [strangers for peak, strangers in met.items() if peak >= self.given]

    def send_out(self, evaluate: ValueAndGradient, starts: Starts) -> int:
        """How many of those who set out were not lost, after new peaks were added."""
        climbed = climb_together(
            evaluate,
            starts.x,
            factor=self.known.factors[0],
            iterations=TUNING.ascent_steps,
            arrived=self.known.recognise,
        )
        before = len(self.known)
        self.known, tried = add_new_peaks(
            evaluate, self.known, climbed, TUNING.long_climbs - self.long_climbs
        )
        self.long_climbs += tried
        self._join_ridges(evaluate, before)
        at = climbed.arrived
        away = at < 0
        at[away] = self.known.recognise(
            climbed.x[away], climbed.values[away], climbed.gradients[away]
        )
        came = at >= 0
        came_to = self.known.belongs_to[at[came]]
        for peak in came_to:
            self.ends[int(peak)] = self.ends.get(int(peak), 0) + 1
        self.meet(came_to, starts.about[came], starts.reaches[came])
        outside = int(np.sum(~np.isfinite(climbed.values)))
        lost = int(np.sum(at < 0)) - outside
        self.outside, self.lost = self.outside + outside, self.lost + lost
        return len(starts.x) - lost

    def _join_ridges(self, evaluate: ValueAndGradient, before: int) -> None:
        """Joins those of the peaks after so many that lie on one ridge with one before.

        They stay peaks, where chains may begin, but tell of no others that would be missed.
        """
        if isinstance(self.known.factors, OneForAll):
            return
        for peak in range(max(before, self.given), len(self.known)):
            if self.ridge_searches >= TUNING.ridge_searches or self.known.belongs_to[peak] != peak:
                continue
            self.ridge_searches += 1
            joined = self._on_one_ridge(evaluate, peak)
            self.on_ridges += bool(joined)
            for other in joined:
                self.orbits.join(other, peak)

    def _on_one_ridge(self, evaluate: ValueAndGradient, peak: int) -> list[int]:
        """The peaks to which a ridge leads from one, or that the way up from there leads to."""
        assert not isinstance(self.known.factors, OneForAll)
        x, factor = self.known.x[peak], self.known.factors[peak]
        near = self.known.nearest(x, TUNING.ridge_neighbours + 1)
        near = near[(near != peak) & ~np.isin(near, self.broad)]
        scales = [self._scales_of(peak, int(other)) for other in near]
        joined = [
            int(other)
            for other, s in zip(near, scales, strict=True)
            if is_joined(evaluate, x, self.known.x[other], s)
        ]
        if joined:
            return joined
        # Not quite a top may be a bend of a ridge, where short climbs end.
        top, height = climb(evaluate, x, factor=factor, iterations=TUNING.climb_iterations)
        if height < self.known.heights[peak] + TUNING.least_gain:
            return []
        (above,) = self.known.nearest(top, 1)
        scales_above = self._scales_of(peak, int(above))
        is_there = above != peak and is_joined(evaluate, top, self.known.x[above], scales_above)
        return [int(above)] if is_there else []

    def _scales_of(self, one: int, other: int) -> np.ndarray:
        """The widths [dim] of two peaks along the coordinates, those of both together."""
        assert not isinstance(self.known.factors, OneForAll)
        return np.asarray(
            np.sqrt(np.mean(np.sum(self.known.factors[[one, other]] ** 2, axis=2), axis=0))
        )

    def meet(self, came_to: np.ndarray, about: np.ndarray, reaches: np.ndarray) -> None:
        """Notes at which peaks[n] those came out that set out about others, from which reach."""
        strange = came_to != about
        came_to, reaches = came_to[strange], reaches[strange]
        for peak in np.unique(came_to):
            # The last counts those from no reach.
            places = reaches[came_to == peak] % (len(TUNING.reaches) + 1)
            met = np.bincount(places, minlength=len(TUNING.reaches) + 1)
            self.strangers[int(peak)] = self.strangers.get(int(peak), 0.0) + met

    def begin_anew(self) -> None:
        """Counts from here: a new mode was found, so the flattened density is another."""
        self.since_new = self.scanned = self.scanned_near = 0
