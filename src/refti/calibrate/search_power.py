"""Search power: how often a second mode is found, beside how often the search says it would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from scipy import stats

import refti
from refti.calibrate.answer_first import answer_first
from refti.calibrate.coverage import CountedShare, wilson
from refti.calibrate.tuning import TUNING
from refti.studies import mode_search

DIMS, SHARES = (2, 5, 10, 20), (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
QUICK_DIMS, QUICK_SHARES = (2, 5), (0.003, 0.03)


@dataclass(frozen=True)
class PowerRow:
    """How a search of one mixture came out under many seeds.

    Attributes:
        dim: of two normals of equal mass, of which the search begins at the first.
        width: of the second, in those of the first.
        share: of the points wanderers set out from, that lie uphill of the second.
        wanderers: that were sent out.
        stated: the probability 1 - (1 - share)^wanderers that it is found.
        seeds: under which it was looked for.
        found: the share of them under which it was found.
    """

    dim: int
    width: float
    share: float
    wanderers: int
    stated: float
    seeds: int
    found: CountedShare

    @property
    def holds(self) -> bool:
        """Whether the measured share is not clearly below the stated one."""
        chance = stats.binom.cdf(round(self.found.value * self.seeds), self.seeds, self.stated)
        return bool(chance > TUNING.search_alarm)


def power(
    seeds: int, *, quick: bool = False, finished: Callable[[PowerRow], None] | None = None
) -> list[PowerRow]:
    """A row for every dimension and share."""
    rows = []
    for dim in QUICK_DIMS if quick else DIMS:
        alone = mode_search.search_modes(_mixture(dim, None), search=TUNING.search_evaluations)
        assert alone.searched is not None
        for share in QUICK_SHARES if quick else SHARES:
            rows.append(_row(dim, share, alone.searched.since_new, seeds))
            if finished is not None:
                finished(rows[-1])
    return rows


def passes(rows: Sequence[PowerRow]) -> bool:
    """Whether the search finds as much as it says, everywhere."""
    return all(row.holds for row in rows)


def text(rows: Sequence[PowerRow]) -> str:
    """Whether the search finds what it says, then a row a mixture."""
    below = sum(not row.holds for row in rows)
    answer = (
        f"In {below} of {len(rows)} mixtures the second mode was found less often than stated, "
        "beyond chance."
        if below
        else f"In all {len(rows)} mixtures the second mode was found as often as stated, within "
        "chance."
    )
    table = [
        f"{'dim':>4s} {'width':>6s} {'share':>8s} {'sent':>5s} {'stated':>7s} {'found':>6s} 95 %"
    ]
    for row in rows:
        low, high = row.found.low, row.found.high
        table.append(
            f"{row.dim:4d} {row.width:6.2f} {100 * row.share:6.2f} % {row.wanderers:5d} "
            f"{row.stated:7.3f} {row.found.value:6.3f} {low:.2f} to {high:.2f}"
            + ("" if row.holds else "  below")
        )
    return answer_first(answer, table)


def _row(dim: int, share: float, wanderers: int, seeds: int) -> PowerRow:
    points = mode_search.points_about_a_mode(dim, TUNING.search_points)
    width = _width_of(points, share)
    real = _share_of(points, width)
    model = _mixture(dim, width)
    counts = [
        mode_search.search_modes(model, seed=seed, search=TUNING.search_evaluations).count
        for seed in range(seeds)
    ]
    found = wilson(sum(count > 1 for count in counts), seeds)
    return PowerRow(dim, width, real, wanderers, 1 - (1 - real) ** wanderers, seeds, found)


def _mixture(dim: int, width: float | None) -> refti.Model:
    """A standard normal, and one of another width and as much mass some spreads away."""
    away = TUNING.search_distance * _direction(dim)

    def log_density(x):  # type: ignore[no-untyped-def]
        first = -0.5 * jnp.sum(x**2)
        if width is None:
            return first
        second = -0.5 * jnp.sum(((x - away) / width) ** 2) - dim * np.log(width)
        return jnp.logaddexp(first, second)

    return refti.Model(log_density, dim=dim, start=np.zeros(dim))


def _direction(dim: int) -> np.ndarray:
    """A direction that is no axis and has no two coordinates alike."""
    direction = np.linspace(1.0, 2.0, dim) * np.where(np.arange(dim) % 2, -1, 1)
    return np.asarray(direction / np.linalg.norm(direction))


def _share_of(points: np.ndarray, width: float) -> float:
    """The share of points[n, dim] at which the second normal is the larger one."""
    dim = points.shape[1]
    first = 0.5 * np.sum(points**2, axis=1)
    apart = (points - TUNING.search_distance * _direction(dim)) / width
    return float(np.mean(0.5 * np.sum(apart**2, axis=1) + dim * np.log(width) < first))


def _width_of(points: np.ndarray, share: float) -> float:
    """The width of the second normal at which it has this share of the points, by bisection."""
    low, high = TUNING.search_widths
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if _share_of(points, middle) < share else (low, middle)
    return high
