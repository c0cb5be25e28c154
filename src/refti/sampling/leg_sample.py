"""All that sampling a leg leaves behind, gathered from its scans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.draws.draws import Draws
from refti.draws.support_share import SupportShare, count_draws
from refti.errors import SamplingError
from refti.sampling.exact_start import resize
from refti.sampling.leg import LegState


@dataclass(frozen=True, eq=False)
class LegSample:
    """What the estimators and checks get of a leg.

    Attributes:
        draws: lambda and delta of every rung.
        share: of the start density inside the support of the end.
        end_share: of the end density inside the support of the start.
        end_points: `[chain, draw, dim]`, draws of the end density.
        divergences: `[sampled rung]`, the share of iterations that diverged in the later half of
            the scans; those before may have had longer steps, of which the halves tell.
        acceptance: `[sampled rung]`, the share of moves that were accepted.
        gradients: `[sampled rung]`, evaluations in all scans.
        exchanges: `[pair]`, the share of exchanges tried that were made.
    """

    draws: Draws
    share: SupportShare
    end_share: SupportShare
    end_points: np.ndarray
    divergences: np.ndarray
    acceptance: np.ndarray
    gradients: np.ndarray
    exchanges: np.ndarray


def collect(state: LegState, kept: int | None = None) -> LegSample:
    """The draws kept so far, or only so many, restricted at the ends to the other's support."""
    scans = state.scans
    delta = np.concatenate([scan.delta for scan in scans], axis=2)[:, :, :kept]
    at_start, share = (delta[0], state.share) if state.exact else _restrict(delta[0])
    at_end, end_share = _restrict(delta[-1])
    tried = np.sum([scan.tried for scan in scans], axis=0)
    accepted = np.sum([scan.accepted for scan in scans], axis=0)
    draws_a_scan = scans[0].delta.shape[1] * scans[0].delta.shape[2]
    return LegSample(
        draws=Draws(state.lambdas, np.concatenate([at_start[None], delta[1:-1], at_end[None]])),
        share=share,
        end_share=end_share,
        end_points=np.concatenate([scan.end_points for scan in scans], axis=1)[:, :kept],
        divergences=np.mean([scan.divergences for scan in scans[len(scans) // 2 :]], axis=0),
        acceptance=np.mean([scan.acceptance for scan in scans], axis=0),
        gradients=draws_a_scan * np.sum([scan.gradients for scan in scans], axis=0),
        exchanges=np.where(tried > 0, accepted / np.maximum(tried, 1), np.nan),
    )


def _restrict(delta: np.ndarray) -> tuple[np.ndarray, SupportShare]:
    """Delta[chain, draw] of a sampled end with only the draws inside the other, and their share."""
    inside = np.isfinite(delta)
    if not inside.any(axis=1).all():
        raise SamplingError(
            "A chain at one end of the path never entered the support of the other. Check that "
            "the two densities overlap."
        )
    rows = [resize(row[keep], len(row)) for row, keep in zip(delta, inside, strict=True)]
    return np.stack(rows), count_draws(inside)
