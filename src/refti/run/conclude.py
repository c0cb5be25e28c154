"""Conclusion: from what the legs have drawn to estimates, and what is to be thought of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from refti.checks.check import Check
from refti.checks.of_draws import check_estimates, check_legs, check_positions, check_share
from refti.draws.support_share import SupportShare
from refti.estimators import Estimate, estimate_path
from refti.paths.path import Path
from refti.run.settings import Settings
from refti.sampling.leg_sample import LegSample


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What can be said so far."""

    samples: Sequence[LegSample]
    estimates: Mapping[str, Estimate]
    checks: tuple[Check, ...]


def conclude(
    path: Path, samples: Sequence[LegSample], settings: Settings, *, jumps: bool = False
) -> Conclusion:
    """The estimates of the samples of all legs, and what is to be thought of them.

    The density may be one that jumps.
    """
    legs = [sample.draws for sample in samples]
    starts, ends = shares_of(samples)
    estimates = estimate_path(legs, _known(path, starts, ends))
    divergences = np.concatenate([sample.divergences for sample in samples])
    checks = (
        *check_legs(legs, divergences, [sample.exchanges for sample in samples]),
        check_positions(samples[-1].end_points, jumps=jumps),
        *check_estimates(estimates, settings.estimator, settings.target_error, legs),
        *check_share([*starts, *ends]),
    )
    return Conclusion(samples, estimates, checks)


def shares_of(samples: Sequence[LegSample]) -> tuple[list[SupportShare], list[SupportShare]]:
    """The shares of the legs' starts inside their ends, and of their ends inside their starts."""
    return [sample.share for sample in samples], [sample.end_share for sample in samples]


def _known(path: Path, starts: Sequence[SupportShare], ends: Sequence[SupportShare]) -> Estimate:
    """What of log z is known without the legs: its start, and the shares inside the supports.

    A leg joins the part of its start inside the end's support to the part of its end inside the
    start's, so the first share is multiplied and the second divided by.
    """
    shares = sum(share.log_share for share in starts) - sum(share.log_share for share in ends)
    return Estimate(
        (path.log_z_start or 0.0) + shares,
        float(np.hypot.reduce([share.log_error for share in (*starts, *ends)])),
    )
