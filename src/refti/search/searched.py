"""Searched: how hard other modes were looked for, and which of them may have been missed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from refti.search.tuning import TUNING

Effort = Literal["quick", "default", "thorough"]


@dataclass(frozen=True)
class Searched:
    """The record of a search for modes.

    A wanderer sets out from a random point and climbs. Points are drawn from the flattened
    density, which is taken to be that of the modes found, each a Gaussian widened by the root of
    T for several T; where the prior is apart, half of them are drawn from the prior. A mode that
    is uphill of the share p of such points is missed by M independent ones with probability
    (1 - p)^M.

    Attributes:
        wanderers: that came to a peak, from either, or set out from outside the support.
        from_prior: as many of them set out from the prior.
        since_new: how many of the others came to a peak after the last new mode had been found,
            that is, from the flattened density as it stands at the end.
        evaluations: of the density and its gradient, and of the density alone.
        unseen_share: of the wanderers, that came to a peak to which no other came: about the
            share of all points that lie below peaks not found yet (Good and Turing).
        lost: wanderers beside them that came to no peak, and so tell nothing.
        still_growing: whether peaks kept turning up when the search ended.
        narrowest: width of the narrowest normal that would have been found, relative to the mode
            that wanderers set out about, with as much mass and some spreads away from it; None
            where that was not worked out.
        by_values: whether the density is known by its values alone, for which little is searched.
        dim: the dimension, where it is so large that only wide modes have any basin; else None.
        relabelled: what was added by renumbering components, in words; empty if nothing was.
        scanned: points beside the wanderers since the last new mode at which the bare value told
            that they lie on the slope of a known one.
        scanned_near: such points of the density itself, not flattened: what lies within a hump.
        on_ridges: peaks that count as one with another, as a ridge leads from one to the other.
        about_broad: whether wanderers set out again about a part of the density that is far
            broader than its peaks, so that what is stated is in its spreads.
    """

    wanderers: int
    from_prior: int
    since_new: int
    evaluations: int
    unseen_share: float = 0.0
    lost: int = 0
    still_growing: bool = False
    narrowest: float | None = None
    by_values: bool = False
    dim: int | None = None
    relabelled: str = ""
    scanned: int = 0
    scanned_near: int = 0
    on_ridges: int = 0
    about_broad: bool = False

    @property
    def is_quiet(self) -> bool:
        """Whether most wanderers came after the last new mode, and hardly any to one of its own."""
        told, sent = self.since_new + self.scanned, self.wanderers - self.from_prior
        return told >= TUNING.quiet * sent and self.unseen_share <= TUNING.unseen

    @property
    def smallest_share(self) -> float:
        """The share of the flattened density that a mode needs to be found with 95 %."""
        return share_found(self.since_new + self.scanned)

    @property
    def smallest_prior_share(self) -> float | None:
        """The share of the prior's mass that a mode needs; None where the prior is not apart."""
        return share_found(self.from_prior) if self.from_prior else None

    @property
    def sentence(self) -> str:
        """What was searched and what may have been missed, in plain English."""
        if self.wanderers == 0:
            return (
                "Other modes were not searched for, so nothing would reveal one: the highest point "
                "has no curvature, or no climb reached a peak."
            )
        slopes = f"{_percent(self.smallest_share)} of the flattened density"
        if self.smallest_prior_share is not None:
            slopes += f", or {_percent(self.smallest_prior_share)} of the prior,"
        if self.scanned_near:
            slopes += f", or {_percent(share_found(self.scanned_near))} of the modes found,"
        scanned = f"{self.scanned + self.scanned_near:,} values, " if self.scanned else ""
        words = "Little was searched, as the density gives no gradient: " if self.by_values else ""
        words += (
            f"{self.wanderers:,} climbs, {scanned}{self.evaluations:,} evaluations. Another mode "
            f"would have been found with {100 * TUNING.found_with:g} % probability if at least "
            f"{slopes} leads up to it"
        )
        if self.narrowest is not None:
            widest = " as the widest part known" if self.about_broad else ""
            words += (
                f"; for example, one with as much mass{widest}, {TUNING.pictured_distance:g} "
                f"{'of its ' if widest else ''}standard deviations away and at least "
                f"{self.narrowest:.2g} times as wide"
            )
        if self.relabelled:
            words += f"; {self.relabelled}"
        if self.narrowest is None and self.dim is not None:
            words += (
                f". In {self.dim:,} dimensions, starting points lie on a distant shell, where "
                "they meet only modes that are about as wide as this one in nearly all "
                "dimensions: a mode that differs in a few parameters is looked for along single "
                "parameters only, and may well be missed"
            )
        if self.still_growing:
            words += ". New modes were still turning up when the search ended"
        return words + "."

    def record(self) -> dict[str, Any]:
        """The search as plain values, for a file."""
        return {
            **asdict(self),
            "smallest_share": self.smallest_share,
            "smallest_prior_share": self.smallest_prior_share,
            "smallest_near_share": share_found(self.scanned_near) if self.scanned_near else None,
            "sentence": self.sentence,
        }


def share_found(wanderers: int) -> float:
    """The least share p for which 1 - (1 - p)^M is at least 95 %; 1 without wanderers."""
    return 1.0 if wanderers == 0 else float(1 - (1 - TUNING.found_with) ** (1 / wanderers))


def evaluations_of(effort: Effort | int, dim: int) -> int:
    """How many evaluations a search may take for an effort, or just that many."""
    if isinstance(effort, int):
        return effort
    usual = TUNING.search_evaluations + TUNING.search_evaluations_a_dimension * min(
        dim, TUNING.search_dimensions
    )
    return round(usual * dict(TUNING.efforts)[effort])


def narrow_evaluations_of(effort: Effort | int, dim: int, operations: int | None) -> int:
    """How many it may take in all while a narrow mode would be missed; 0 for no more than usual.

    Args:
        effort: that is asked for; a number of evaluations is taken as it is.
        dim: of the density. In more than some dimensions more evaluations would find nothing more.
        operations: of one evaluation, roughly; None for not known, which is taken for many.
    """
    if isinstance(effort, int) or operations is None or dim > TUNING.narrow_dimensions:
        return 0
    cheap = min(TUNING.narrow_evaluations, TUNING.narrow_operations // max(1, operations))
    return round(cheap * dict(TUNING.efforts)[effort])


def scanned_points_of(effort: Effort | int, dim: int, operations: int | None) -> int:
    """At how many points bare values may be looked at besides; 0 for none, as above."""
    if isinstance(effort, int) or operations is None or dim > TUNING.scan_dimensions:
        return 0
    cheap = min(TUNING.scan_points, TUNING.scan_operations // max(1, operations))
    return round(cheap * dict(TUNING.efforts)[effort])


def _percent(share: float) -> str:
    """A share to two digits in per cent."""
    return f"{float(f'{100 * share:.2g}'):g} %"
