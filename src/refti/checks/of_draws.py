"""Checks of the draws of the legs, and of the estimates made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from refti.checks.check import Check, at_least, at_most
from refti.checks.pareto import pareto_shape
from refti.checks.tuning import TUNING
from refti.draws import autocorrelation
from refti.draws.draws import Draws
from refti.draws.support_share import SupportShare
from refti.estimators import Estimate, add, influence, mbar

SAMPLE_LONGER = "sample longer"  # by what, the end of a run says


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
            TUNING.most_r_hat,
            f"the chains of rung {int(r_hats.argmax())} disagree (R-hat); sample longer, look "
            "for several modes, or reparametrise the model",
            mended_by_draws=True,
        ),
        at_least(
            "effective draws",
            sizes.min(),
            TUNING.fewest_effective_draws,
            f"rung {int(sizes.argmin())} has too few effective draws for its error to be known; "
            "sample longer",
            mended_by_draws=True,
        ),
        at_most(
            "divergences",
            divergences.max(initial=0.0),
            TUNING.most_divergences,
            "trajectories diverge at some rung, because the density bends too sharply there; "
            "reparametrise the model, for example write a hierarchy in non-centred form",
        ),
        at_least(
            "overlap",
            overlaps.min(),
            TUNING.least_overlap,
            "neighbouring rungs hardly overlap; use more rungs where they are furthest apart, or "
            "a better reference",
        ),
        at_least(
            "exchange",
            np.nanmin(swaps, initial=1.0),
            TUNING.least_exchange,
            "neighbouring rungs hardly ever exchange positions, so a mode found at one rung does "
            "not reach the others; use more rungs or a better reference",
            mended_by_draws=True,
        ),
        at_most(
            "halves",
            _distance(
                *(_mbar_sum(halves) for halves in zip(*map(Draws.halves, legs), strict=True))
            ),
            TUNING.most_distance,
            "the first and the second half of the draws disagree by this many errors; "
            "sample longer, with a longer warmup=",
            mended_by_draws=True,
        ),
        at_most(
            "chains",
            max(float(autocorrelation.r_hat(series)) for series in total),
            TUNING.most_r_hat_of_the_estimate,
            "the chains give different estimates (R-hat of their contributions); sample longer, "
            "or look for several modes",
            mended_by_draws=True,
        ),
        *_check_tails(legs),
    ]


def check_positions(points: np.ndarray, *, jumps: bool = False) -> Check:
    """Whether chains at the end of the path agree in where they are, points[chain, draw, dim].

    They must agree more closely where the density jumps: a shelf beside a peak is entered rarely,
    and holds what a whole chain has not seen yet.
    """
    thinned = points[:, :: max(1, points.shape[1] // TUNING.positions_looked_at)]
    r_hats = autocorrelation.r_hat(np.moveaxis(thinned, 2, 0))
    return at_most(
        "positions",
        float(np.max(r_hats)),
        TUNING.most_r_hat_where_it_jumps if jumps else TUNING.most_r_hat_of_positions,
        "the chains of the posterior are in different places (R-hat of a coordinate), so they "
        "hardly move between its parts; sample longer, or reparametrise the model",
        mended_by_draws=True,
    )


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
        "a few draws have nearly all the weight (Pareto k), so the rest miss what matters; "
        "use a reference with heavier tails, such as 'student', or more rungs"
    )
    return [
        at_most("tail of the start", first, TUNING.most_tail_shape, advice, mended_by_draws=True),
        at_most("tail of the end", last, TUNING.most_tail_shape, advice, mended_by_draws=True),
    ]


def check_estimates(
    estimates: Mapping[str, Estimate],
    chosen: str,
    target_error: float,
    legs: Sequence[Draws] = (),
) -> list[Check]:
    """Agreement of the estimators of these legs, and whether the error asked for was reached.

    Stepping stones whose weights have a heavy tail are likely too low, and their error, which sees
    the draws alone, too small: where they are lower than MBAR, those on the way back are compared.
    """
    stones = _distance(estimates["mbar"], estimates["stepping_stone"])
    too_low = estimates["stepping_stone"].value < estimates["mbar"].value
    if stones > TUNING.most_distance and too_low and _have_heavy_tails(legs):
        stones = _distance(estimates["mbar"], estimates["stepping_stone_reverse"])
    distance = max(_distance(estimates["mbar"], estimates["ti"]), stones)
    return [
        at_most(
            "agreement",
            distance,
            TUNING.most_distance,
            "TI, stepping stone and MBAR differ by this many errors; use more rungs or a better "
            "reference",
            mended_by_draws=True,
        ),
        at_most(
            "target error",
            estimates[chosen].error,
            target_error,
            "the error asked for was not reached; sample longer, or use a better reference",
            mended_by_draws=True,
        ),
    ]


def _have_heavy_tails(legs: Sequence[Draws]) -> bool:
    """Whether bare importance weights from any rung to the next have a tail without a variance."""
    return any(
        pareto_shape(step * delta) > TUNING.most_tail_shape
        for leg in legs
        for step, delta in zip(np.diff(leg.lambdas), leg.delta[:-1], strict=True)
    )


def check_share(shares: Sequence[SupportShare]) -> list[Check]:
    """Whether enough of each leg's start lies inside the support, and whether NaN was met."""
    strangest = max(shares, key=lambda share: share.not_a_number_share)
    return [
        at_least(
            "support",
            min(share.inside / share.drawn for share in shares),
            TUNING.least_support,
            "hardly any of the reference lies where the density is positive; declare the bounds of "
            "the parameters as supports, such as refti.positive()",
        ),
        at_most(
            "not a number",
            strangest.not_a_number_share,
            TUNING.most_not_a_number,
            "the density is NaN or infinite on most of the reference, such as at unconstrained "
            f"x = {strangest.example}, and counts as zero there; fix it or declare its support",
        ),
        at_most(
            "infinite",
            max(share.infinite / share.drawn for share in shares),
            0.0,
            f"the density is +infinity at some points, such as unconstrained x = "
            f"{strangest.example}, so the evidence is not finite; fix the log density there",
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
