"""The numbers by which PyMC models are compared with what PyMC itself makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class PymcTuning:
    """Where a backend is compared with PyMC, and how far they may differ."""

    points: int = tuned(3, "points near PyMC's start at which they are compared")
    directions: int = tuned(3, "lines through each of them along which gradients are compared")
    chains: int = tuned(
        8, "points of a batch like the sampler's, in which XLA may compile otherwise"
    )
    step: float = tuned(1e-5, "of the differences that gradients are compared with, and a quarter")
    same_difference: float = tuned(1e-9, "relative difference of values that comes of rounding")
    rounded_difference: float = tuned(
        1e-6, "the same where PyMC rounds constants to 32 bits, as it does"
    )
    slope_difference: float = tuned(
        1e-4, "of the sum of a gradient's sizes, that a slope may be off"
    )
    round_trip: float = tuned(
        1e-6, "of a value with what comes back of it from unconstrained space, if it is inside"
    )


TUNING = PymcTuning()
