"""Ridge: whether the mass falls on the way from the draws to a peak that stands far from them.

Where the scale of a hierarchy goes to zero its density grows without bound, and yet next to nothing
of the mass lies there: what is left of the other parameters' room shrinks faster. The mass across
such a ridge, by Laplace's approximation, is looked at on the way, since at its end numbers are too
close to each other for any curvature.
"""

from __future__ import annotations

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.mode import Mode, find_mode
from refti.search.tuning import TUNING


def mass_falls_towards(evaluate: ValueAndGradient, peak: Mode, draws: np.ndarray) -> bool:
    """Whether the mass across the ridge falls from the draws[n, dim] on towards the peak.

    The ridge goes along the coordinate in which the peak is furthest from the draws. False where
    it is not far in any: then there is no ridge. Where ridges go side by side, that from the draws
    and that to the peak, the one with more of the mass counts.
    """
    middle, spread = np.median(draws, axis=0), draws.std(axis=0)
    offsets = (peak.x - middle) / spread
    along = int(np.argmax(np.abs(offsets)))
    sign, dim = np.sign(offsets[along]), draws.shape[1]
    if dim < 2 or abs(offsets[along]) < TUNING.ridge_depths[-1]:
        return False
    x = draws[np.argmax(sign * draws[:, along])].copy()
    others = np.arange(dim) != along
    masses = []
    for depth in TUNING.ridge_depths:
        x[along] = middle[along] + sign * depth * spread[along]
        density = _across(evaluate, x, others)
        found = [find_mode(density, start[others]) for start in (x, peak.x)]
        most = found[int(np.argmax([across.log_mass for across in found]))]  # or what has no mass
        masses.append(most.log_mass)
        x[others] = most.x
    falls = -np.diff(masses)
    return bool((falls > 0).all() and falls.sum() > TUNING.ridge_fall)


def _across(evaluate: ValueAndGradient, x: np.ndarray, others: np.ndarray) -> ValueAndGradient:
    """The density of the other coordinates with one held as it is."""
    held = x.copy()

    def restricted(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points = np.broadcast_to(held, (len(rest), len(held))).copy()
        points[:, others] = rest
        values, gradients = evaluate(points)
        return values, gradients[:, others]

    return restricted
