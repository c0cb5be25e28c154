"""The modes of a density with a gradient, searched for by many wanderers from near and far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from refti.factors.factor import Factor
from refti.models.model import ValueAndGradient
from refti.models.space import Space
from refti.search.climb import climb_together
from refti.search.known_peaks import KnownPeaks, OneForAll
from refti.search.large_mode import LargeMode, find_any_mode
from refti.search.mode import Mode
from refti.search.new_peaks import add_new_peaks
from refti.search.orbits import Orbits
from refti.search.peaks import Modes, pick_near_starts
from refti.search.power import narrowest_found, wanderers_for
from refti.search.searched import Searched
from refti.search.tuning import LARGE, TUNING
from refti.search.wanderers import Counted, PriorChains, Starts, draw_flattened, start_anywhere


def find_modes(
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    rng: np.random.Generator,
    *,
    evaluations: int,
    narrow_evaluations: int = 0,
    prior: ValueAndGradient | None = None,
    space: Space | None = None,
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
    """
    mode = find_any_mode(evaluate, starts[0])
    factor = mode.factor()
    counted = Counted(evaluate)
    if factor is None:
        return Modes(mode, starts, searched=Searched(0, 0, 0, 0))
    is_small = len(mode.x) <= TUNING.curved_peaks
    search = _Search(_only(mode, factor), orbits=Orbits(space if is_small else None))
    near = pick_near_starts(starts)
    search.send_out(counted, start_anywhere(near))
    on_prior = None if prior is None else Counted(prior)
    allowance = _Allowance(evaluations, narrow_evaluations, mode.x.size)
    _wander(search, counted, on_prior, starts[0], rng, allowance)
    spent = counted.count + (0 if on_prior is None else on_prior.count)
    return _gather(evaluate, mode, search, starts, spent)


@dataclass
class _Search:
    """What a search has come to so far."""

    known: KnownPeaks
    orbits: Orbits = field(default_factory=Orbits)
    ends: dict[int, int] = field(default_factory=dict)  # wanderers by the peak they came to
    # Those of them from about another peak, by the peak they came to and the reach they were from.
    strangers: dict[int, np.ndarray] = field(default_factory=dict)
    from_prior: int = 0
    since_new: int = 0
    outside: int = 0  # wanderers that set out from outside the support, which is uphill to nothing
    lost: int = 0
    long_climbs: int = 0

    @property
    def arrived(self) -> int:
        """How many wanderers came to a peak, or to know that there is none above them."""
        return sum(self.ends.values()) + self.outside

    @property
    def telling(self) -> int:
        """How many peaks hold enough to count when asking whether new ones turn up."""
        return len(self._telling())

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
        is_quiet = self.since_new >= TUNING.quiet * (self.arrived - self.from_prior)
        if self.unseen_share > TUNING.unseen or not is_quiet or self.rarest < TUNING.rare:
            return True
        return self.may_be_narrower

    @property
    def rarest(self) -> int:
        """How many wanderers from about other modes came to the mode that fewest came to.

        Where that is hardly any, it was found by luck, and others like it are likely to be missed.
        """
        return min((int(met.sum()) for met in self._met()), default=TUNING.rare)

    @property
    def may_be_narrower(self) -> bool:
        """Whether the modes found are of widths down to what can be found, so that more are likely.

        One more would be narrower than the narrowest by as much as that one is than the next.
        Where wanderers also set out from the prior, how they found the modes tells more.
        """
        if self.from_prior:
            return False
        kept = self._telling()
        widths = np.sort(self.known.widths[kept[self.known.is_curved[kept]]])
        if len(widths) < TUNING.modes_in_a_row:
            return False
        relative = widths[0] / widths[-1]
        least = narrowest_found(self.since_new, self.known.x.shape[1])
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
        """The strangers at every mode that counts but the first, which is known from the outset."""
        nobody = np.zeros(len(TUNING.reaches) + 1)
        met = {self.orbits.of(peak): nobody for peak in self._telling()}
        for peak, strangers in self.strangers.items():
            if self.orbits.of(peak) in met:
                met[self.orbits.of(peak)] = met[self.orbits.of(peak)] + strangers
        return [strangers for peak, strangers in met.items() if peak != 0]

    def send_out(self, evaluate: ValueAndGradient, starts: Starts) -> int:
        """How many of those who set out were not lost, after new peaks were added."""
        climbed = climb_together(
            evaluate,
            starts.x,
            factor=self.known.factors[0],
            iterations=TUNING.ascent_steps,
            arrived=self.known.recognise,
        )
        self.known, tried = add_new_peaks(
            evaluate, self.known, climbed, TUNING.long_climbs - self.long_climbs
        )
        self.long_climbs += tried
        at = climbed.arrived
        away = at < 0
        at[away] = self.known.recognise(
            climbed.x[away], climbed.values[away], climbed.gradients[away]
        )
        came = at >= 0
        came_to = self.known.belongs_to[at[came]]
        for peak, origin, reach in zip(
            came_to, starts.about[came], starts.reaches[came], strict=True
        ):
            self.ends[int(peak)] = self.ends.get(int(peak), 0) + 1
            if peak != origin:
                met = self.strangers.setdefault(int(peak), np.zeros(len(TUNING.reaches) + 1))
                met[reach] += 1  # the last counts those from no reach
        outside = int(np.sum(~np.isfinite(climbed.values)))
        lost = int(np.sum(at < 0)) - outside
        self.outside, self.lost = self.outside + outside, self.lost + lost
        return len(starts.x) - lost


class _Allowance:
    """How many evaluations a search may take, by what it has come to."""

    def __init__(self, evaluations: int, narrow_evaluations: int, dim: int) -> None:
        self._usual, self._narrow = evaluations, max(evaluations, narrow_evaluations)
        self._enough = wanderers_for(TUNING.narrow_width, dim, TUNING.narrow_found_with)

    def at(self, search: _Search) -> tuple[float, float]:
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
    search: _Search,
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
            search.since_new = 0


def _gather(
    evaluate: ValueAndGradient,
    first: Mode | LargeMode,
    search: _Search,
    starts: np.ndarray,
    spent: int,
) -> Modes:
    """The modes that were found and the record of the search."""
    known = search.known
    kept = known.with_mass()
    unseen = search.unseen_share
    searched = Searched(
        wanderers=search.arrived,
        from_prior=search.from_prior,
        since_new=search.since_new,
        evaluations=spent,
        unseen_share=unseen,
        lost=search.lost,
        still_growing=search.is_growing or len(known) > TUNING.most_peaks,
        narrowest=narrowest_found(search.since_new, known.x.shape[1]),
        dim=known.x.shape[1] if isinstance(known.factors, OneForAll) else None,
        relabelled=search.orbits.sentence,
    )
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
