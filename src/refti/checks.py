"""Checks: what must hold for an estimate to be trusted, each a record with advice in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from refti.draws import Draws
from refti.estimators import Estimate, add, mbar
from refti.share import Share


@dataclass(frozen=True)
class Check:
    """One reason to trust a result, or not to: `advice` says what to do where it is not ok."""

    name: str
    value: float
    threshold: float
    ok: bool
    advice: str

    def __str__(self) -> str:
        state = "ok" if self.ok else f"FAILED: {self.advice}"
        return f"{self.name}: {self.value:.3g} (threshold {self.threshold:.3g}) {state}"


def at_most(name: str, value: float, threshold: float, advice: str) -> Check:
    """A check that holds while the value does not exceed the threshold; NaN fails."""
    return Check(name, float(value), threshold, bool(value <= threshold), advice)


def at_least(name: str, value: float, threshold: float, advice: str) -> Check:
    """A check that holds while the value reaches the threshold; NaN fails."""
    return Check(name, float(value), threshold, bool(value >= threshold), advice)


def check_legs(legs: Sequence[Draws], divergences: np.ndarray) -> list[Check]:
    """Convergence, effective draws, divergences, overlap and agreement in time of all legs."""
    r_hats = np.concatenate([leg.r_hat() for leg in legs])
    sizes = np.concatenate([leg.effective_sample_size() for leg in legs])
    overlaps = np.concatenate([leg.overlap() for leg in legs])
    return [
        at_most(
            "convergence",
            r_hats.max(),
            1.02,
            "the chains of a rung disagree (R-hat); sample longer (warmup=, kept=), or look for "
            "several modes",
        ),
        at_least(
            "effective draws",
            sizes.min(),
            200.0,
            "a rung has too few effective draws for its error to be known; raise kept=",
        ),
        at_most(
            "divergences",
            divergences.max(initial=0.0),
            0.005,
            "trajectories diverge at some rung: the density bends too sharply there; "
            "reparametrise the model, such as non-centred for a hierarchy",
        ),
        at_least(
            "overlap",
            overlaps.min(),
            0.05,
            "neighbouring rungs hardly overlap; use more rungs where they are furthest apart, or "
            "a better reference",
        ),
        at_most(
            "halves",
            _distance(
                *(_mbar_sum(halves) for halves in zip(*map(Draws.halves, legs), strict=True))
            ),
            4.0,
            "the first and the second half of the draws disagree by this many errors; raise "
            "warmup= and kept=",
        ),
    ]


def check_estimates(
    estimates: Mapping[str, Estimate], chosen: str, target_error: float
) -> list[Check]:
    """Agreement of the estimators, and whether the error asked for was reached."""
    compared = [estimates[name] for name in ("ti", "stepping_stone")]
    distance = max(_distance(estimates["mbar"], other) for other in compared)
    return [
        at_most(
            "agreement",
            distance,
            4.0,
            "TI, stepping stone and MBAR disagree by this many errors; use more rungs or a better "
            "reference",
        ),
        at_most(
            "target error",
            estimates[chosen].error,
            target_error,
            "the error asked for was not reached; raise kept=, add rungs or use a better reference",
        ),
    ]


def check_share(shares: Sequence[Share]) -> list[Check]:
    """Whether enough of each leg's start lies inside the support, and whether NaN was met."""
    strangest = max(shares, key=lambda share: share.not_a_number / share.drawn)
    return [
        at_least(
            "support",
            min(share.inside / share.drawn for share in shares),
            0.01,
            "hardly any of the reference lies where the density is positive; declare the bounds as "
            "supports, such as refti.positive()",
        ),
        at_most(
            "not a number",
            strangest.not_a_number / strangest.drawn,
            0.5,
            "the density is NaN or infinite on most of the reference, such as at unconstrained "
            f"x = {strangest.example}, and counts as zero there; mend it or declare its support",
        ),
    ]


def _mbar_sum(legs: Sequence[Draws]) -> Estimate:
    return add(mbar(leg) for leg in legs)


def _distance(a: Estimate, b: Estimate) -> float:
    """The difference of two estimates in combined errors; none if both are exact and equal."""
    difference, error = abs(a.value - b.value), np.hypot(a.error, b.error)
    if not np.isfinite(difference):
        return float("inf")
    # Estimates of a density equal to its reference differ by rounding only.
    return difference / max(error, 1e-9 * max(1.0, abs(a.value)))
