"""Shells about a peak: how the mass falls from it outwards, and whether it rises again.

About a spike inside a slab it does: every climb ends at the spike, and chains begun there stay,
since between the two lies next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from refti.factors.either import into_rows
from refti.models.model import ValueAndGradient
from refti.search.climb import climb_together
from refti.search.curvatures import log_masses
from refti.search.peaks import Modes, are_apart_from
from refti.search.tuning import TUNING as SEARCH
from refti.tuning import tuned


@dataclass(frozen=True)
class BroadTuning:
    """How mass is looked for beyond the peaks that all climbs lead to."""

    most_peaks: int = tuned(4, "heaviest modes about which it is looked for")
    shells: int = tuned(24, "about each, the first of the radius of a Gaussian's mass …")
    apart: float = tuned(2**0.5, "… and each so many times the one before: out to 3,000 times")
    rays: int = tuned(32, "on which each shell is looked at, the same on all")
    rise: float = tuned(3.0, "nats that the mass rises by, beyond what few rays make of noise")
    chains_that_pass: float = tuned(0.5, "of all, over where the mass is least, to need no help …")
    passes: int = tuned(
        4,
        "… if each of them does so often: of pilots in the spike of a slab, those that did so once "
        "to three times stayed on either side, and those that need no help did it 30 times",
    )
    climbs: int = tuned(8, "from the highest points of a shell, to see where they lead")
    most_astray: float = tuned(0.75, "of them, to somewhere else than the peak")
    draws: int = tuned(512, "of a broad part's Gaussian, to which the next one is fitted …")
    turns: int = tuned(5, "… so many times at the most")
    above_known: float = tuned(1.0, "nats above the Gaussians of all modes, to be none of theirs")
    fewest_effective: float = tuned(8.0, "of the draws that count, for the mass to be one")
    wide_draws: float = tuned(
        5.0, "spreads of every peak, for each root of a dimension, off which a draw is far out"
    )
    far_draws: float = tuned(
        0.1, "of all draws far out, for climbs to set out again from about where these are …"
    )
    like_draws: float = tuned(
        0.25,
        "… if this share of the draws of a Gaussian there counts: else it is a ring or a spiral",
    )
    trimmed: float = tuned(0.1, "of those, the furthest, without which their spread is taken")
    powers: tuple[float, ...] = tuned(
        (1.0, 0.5, 0.2, 0.1, 0.05), "of the weights, the highest that leaves enough draws is used"
    )


TUNING = BroadTuning()


class Shells(NamedTuple):
    """Points[shell, ray, dim] about a peak, and the log mass of shells as thick as their radius.

    Of the mass, that counts as new which the Gaussians of all the modes do not account for.
    """

    points: np.ndarray
    values: np.ndarray  # [shell, ray], their log densities
    radii: np.ndarray  # [shell], in the peak's spreads
    log_mass: np.ndarray  # [shell]
    new_mass: np.ndarray  # [shell]

    def heaviest_unreached(self, radii: np.ndarray) -> int | None:
        """The shell of most new mass to which the mass rises and chains do not pass, if any.

        Of a single hill, however long its tails, the mass only falls. Where it falls and rises
        again, chains at these radii[chain, draw] from the peak may still pass to the other side.
        """
        best = None
        for shell in range(2, len(self.radii)):
            dip = int(np.argmin(self.log_mass[1:shell])) + 1
            lower = min(self.log_mass[:dip].max(), self.log_mass[shell])
            if not np.isfinite(self.new_mass[shell]) or lower < self.log_mass[dip] + TUNING.rise:
                continue
            within = radii < self.radii[dip]
            passes = np.sum(within[:, 1:] != within[:, :-1], axis=1)
            if np.mean(passes >= TUNING.passes) >= TUNING.chains_that_pass:
                continue
            if best is None or self.new_mass[shell] > self.new_mass[best]:
                best = shell
        return best


def find_unreached(
    evaluate: ValueAndGradient, modes: Modes, chains: np.ndarray, rng: np.random.Generator
) -> list[tuple[int, Shells, int]]:
    """The peaks beyond which lies mass that chains[chain, draw, dim] do not pass to.

    Each with its shells, and which of them holds most of that mass. Only the heaviest are looked
    at, and none where the spreads about the modes are not known.
    """
    found: list[tuple[int, Shells, int]] = []
    if modes.factors is None or modes.log_masses is None:
        return found
    rows = chains.reshape(-1, chains.shape[2])
    for peak in range(min(len(modes.peaks), TUNING.most_peaks)):
        shells = look_at_shells(evaluate, modes, peak, rng)
        distances = np.linalg.norm(into_rows(modes.factors[peak], rows - modes.peaks[peak]), axis=1)
        shell = shells.heaviest_unreached(distances.reshape(chains.shape[:2]))
        if shell is not None and _leads_up_to(evaluate, modes, peak, shells, shell):
            found.append((peak, shells, shell))
    return found


def _leads_up_to(
    evaluate: ValueAndGradient, modes: Modes, peak: int, shells: Shells, shell: int
) -> bool:
    """Whether climbs from where a shell has its mass end at the peak, or below it without a dip.

    Those that a dip parts from it set out from what the search for modes knows, such as another
    turn of a spiral.
    """
    assert modes.factors is not None
    x, factor = modes.peaks[peak], modes.factors[peak]
    highest = np.argsort(-shells.values[shell])[: TUNING.climbs]
    starts = shells.points[shell, highest[np.isfinite(shells.values[shell, highest])]]
    wide = factor * shells.radii[shell] / shells.radii[0]
    climbed = climb_together(evaluate, starts, factor=wide, iterations=SEARCH.ascent_steps)
    return bool(np.mean(are_apart_from(evaluate, x, climbed.x)) < TUNING.most_astray)


def look_at_shells(
    evaluate: ValueAndGradient, modes: Modes, peak: int, rng: np.random.Generator
) -> Shells:
    """The density on shells about a peak, along the same rays, out to thousands of its spreads."""
    assert modes.factors is not None
    x, factor = modes.peaks[peak], modes.factors[peak]
    dim = len(x)
    rays = rng.normal(size=(TUNING.rays, dim))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    radii = np.sqrt(dim) * TUNING.apart ** np.arange(TUNING.shells)
    points = x + radii[:, None, None] * (rays @ factor.T)
    rows = points.reshape(-1, dim)
    values, _ = evaluate(rows)
    values = np.where(np.isfinite(values), values, -np.inf)
    new = np.where(values > known_density(modes, rows) + TUNING.above_known, values, -np.inf)
    volumes = dim * np.log(radii) + _log_sphere(dim) + np.log(np.diag(factor)).sum()
    total, unknown = (
        volumes + logsumexp(each.reshape(len(radii), -1), axis=1) - np.log(TUNING.rays)
        for each in (values, new)
    )
    return Shells(points, values.reshape(len(radii), -1), radii, total, unknown)


def known_density(modes: Modes, x: np.ndarray) -> np.ndarray:
    """The log density at x[n, dim] of the Gaussians of all the modes together."""
    assert modes.factors is not None
    assert modes.log_masses is not None
    parts = []
    for peak, factor, mass in zip(modes.peaks, modes.factors, modes.log_masses, strict=True):
        u = into_rows(factor, x - peak)
        height = mass - log_masses(np.zeros(1), factor[None])[0]
        parts.append(height - 0.5 * np.sum(u**2, axis=1))
    return np.asarray(logsumexp(parts, axis=0))


def _log_sphere(dim: int) -> float:
    """The log area of the unit sphere."""
    return float(np.log(2) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim))
