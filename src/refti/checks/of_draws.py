"""Checks: what must hold for an estimate to be trusted, each a record with advice in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from refti.checks.pareto import pareto_shape
from refti.draws import autocorrelation
from refti.draws.draws import Draws
from refti.draws.support_share import Share
from refti.estimators import Estimate, add, influence, mbar

MOST_DIVERGENCES = 0.005  # the share of a rung's trajectories


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


def check_legs(
    legs: Sequence[Draws], divergences: np.ndarray, exchanges: Sequence[np.ndarray]
) -> list[Check]:
    """Convergence, effective draws, divergences, overlap and agreement of all legs."""
    r_hats = np.concatenate([leg.r_hat() for leg in legs])
    sizes = np.concatenate([autocorrelation.bulk_size(leg.delta) for leg in legs])
    overlaps = np.concatenate([leg.overlap() for leg in legs])
    swaps = np.concatenate(exchanges)
    total = [influence(leg).sum(axis=0) for leg in legs]
    return [
        at_most(
            "convergence",
            r_hats.max(),
            1.03,
            f"the chains of rung {int(r_hats.argmax())} disagree (R-hat); sample longer (warmup=, "
            "max_evaluations=), look for several modes, or reparametrise the model",
        ),
        at_least(
            "effective draws",
            sizes.min(),
            200.0,
            f"rung {int(sizes.argmin())} has too few effective draws for its error to be known; "
            "raise max_evaluations= or kept=",
        ),
        at_most(
            "divergences",
            divergences.max(initial=0.0),
            MOST_DIVERGENCES,
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
        at_least(
            "exchange",
            np.nanmin(swaps, initial=1.0),
            0.01,
            "neighbouring rungs hardly ever exchange positions, so a mode found by one stays "
            "unknown to the others; use more rungs or a better reference",
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
        at_most(
            "chains",
            max(float(autocorrelation.r_hat(series)) for series in total),
            1.05,
            "the chains give different estimates (R-hat of what they add to it); sample longer, "
            "or look for several modes",
        ),
        *_check_tails(legs),
    ]


def _check_tails(legs: Sequence[Draws]) -> list[Check]:
    """The tails of the weights with which each end of a leg takes part in the estimate.

    A draw of an end weighs by the probability that it belongs to the neighbouring rung. Where the
    two overlap well that is bounded; where they do not, it is the bare importance weight.
    """
    shapes = []
    for leg in legs:
        steps, bridges = np.diff(leg.lambdas), leg.bridges()
        forward, backward = (
            steps[0] * leg.delta[0] - bridges[0],
            bridges[-1] - steps[-1] * leg.delta[-1],
        )
        shapes.append([pareto_shape(-np.logaddexp(0, -way)) for way in (forward, backward)])
    first, last = np.max(shapes, axis=0)
    advice = (
        "the weights of a few draws dominate (Pareto k), so the draws hardly reach what matters; "
        "use a reference with heavier tails, such as 'student', or more rungs"
    )
    return [
        at_most("tail of the start", first, 0.7, advice),
        at_most("tail of the end", last, 0.7, advice),
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
            "the error asked for was not reached; raise max_evaluations=, max_seconds= or kept=, "
            "or use a better reference",
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
        at_most(
            "infinite",
            max(share.infinite / share.drawn for share in shares),
            0.0,
            f"the density is +infinity at some points, such as unconstrained x = "
            f"{strangest.example}, so the evidence is not finite; mend the log density there",
        ),
    ]


def check_peak(height: float, mass: float, dim: int) -> Check:
    """Whether the highest point found stands no higher than a density of this dimension has it.

    A Gaussian's mode is half the dimension, in nats, above its draws, and that of heavier tails a
    few times that. A density that grows without bound towards a point has it anywhere. A higher
    mode is no matter where next to nothing of the evidence lies about it, as in hierarchies whose
    scale is a parameter: the smaller the scale, the higher the density, and the narrower.

    Args:
        height: of the peak above the median draw, in nats.
        mass: the log of the peak's share of the evidence by Laplace's approximation; NaN where it
            has no curvature, as a spike without a top has none.
        dim: the number of parameters.
    """
    size = 10.0 + dim
    found = at_most(
        "peak",
        height / size,
        1.0,
        "the density has a spike far above all draws and may be unbounded there, so its evidence "
        "may be infinite; bound the parameters away from it, or reparametrise the model (a "
        "hierarchy non-centred)",
    )
    # Laplace's approximation may be off by a good part of a nat for each parameter.
    return replace(found, ok=found.ok or bool(mass < -size / 2))


def check_solver(stopped: float) -> Check:
    """Whether solvers of differential equations were hardly ever stopped on the path.

    Args:
        stopped: the share of the path's evaluations that were given up for taking too long.
    """
    return at_most(
        "solver",
        stopped,
        0.001,
        "the solver of the model's differential equations was stopped at this share of the points "
        "on the path, which counted as density zero, so the evidence may be too low; raise "
        "solver_limit= of refti.from_stan (--solver-limit), or use a solver for stiff equations, "
        "such as ode_bdf",
    )


def check_modes(modes: int, chains: int) -> Check:
    """Whether every mode that was found has a chain to tell of it."""
    return at_most(
        "modes",
        float(modes),
        float(chains),
        "the density has more modes than there are chains to set out from them; raise chains=",
    )


def check_end(reason: str | None) -> Check:
    """Whether the run came to its own end."""
    return at_most(
        "finished", 0.0 if reason is None else 1.0, 0.0, f"the run was ended early: {reason}"
    )


def check_prior(estimate: Estimate) -> Check:
    """Whether the prior alone integrates to one; NaN where its integral was not found."""
    allowed = max(0.05, 4 * estimate.error)
    advice = (
        f"the prior integrates to exp({estimate.value:.3f}), not to 1: a constant is missing, such "
        "as the factor 2 of a half-normal, or a Jacobian"
    )
    if not np.isfinite(estimate.value):
        advice = (
            "the prior's own integral was not found, so an improper prior or a missing constant "
            "would go unseen: write the prior in a form that is easier to sample (a scale that "
            "multiplies standard normals, say), or see by hand that it integrates to 1 and set "
            "check_prior=False"
        )
    return at_most("prior", abs(estimate.value), allowed, advice)


def _mbar_sum(legs: Sequence[Draws]) -> Estimate:
    return add(mbar(leg) for leg in legs)


def _distance(a: Estimate, b: Estimate) -> float:
    """The difference of two estimates in combined errors; none if both are exact and equal."""
    difference, error = abs(a.value - b.value), np.hypot(a.error, b.error)
    if not np.isfinite(difference):
        return float("inf")
    # Estimates of a density equal to its reference differ by rounding only.
    return difference / max(error, 1e-9 * max(1.0, abs(a.value)))
