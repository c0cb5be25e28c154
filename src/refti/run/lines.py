"""Lines: how much of a density's mass lies beyond a distance, along lines that it is followed on.

A density is integrated on each line from values that are spaced like a hyperbolic sine, about the
line's middle and about the draw that it was laid through, and then between those where its mass is,
until that changes nothing any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from refti.checks.tuning import TUNING
from refti.models.density import ValueOnlyDensity
from refti.models.model import Model
from refti.sampling.metering import Meter

LogDensities = Callable[[np.ndarray, Meter], np.ndarray]
"""From points x[n, dim] to the log densities [n] there, on a meter's account."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Straight lines middles + t * steps, or rays where a volume grows with the distance t.

    Attributes:
        middles: `[line, dim]`.
        steps: `[line, dim]`.
        at: `[line]`, the distance of the draw that each goes through.
        begins: `[line]`, the distance from which on mass lies beyond.
        spreads: `[line]`, of the draws along each.
        power: of the distance that the volume grows by: dim - 1 on rays; 0 on lines, which go to
            both sides.
    """

    middles: np.ndarray
    steps: np.ndarray
    at: np.ndarray
    begins: np.ndarray
    spreads: np.ndarray
    power: int = 0

    def shares_beyond(self, density: LogDensities, meter: Meter) -> np.ndarray:
        """The share [line] of the mass beyond; NaN where the mass of a line was not found.

        Raises OutOfBudgetError if the budget has no room for that.
        """
        left = list(range(len(self.at)))
        at = [self._grid(line) for line in left]
        logs = self._values(density, left, at, meter)
        shares = np.full(len(left), np.nan)
        for _ in range(TUNING.tail_refinements):
            pieces = [self._pieces(line, at[line], logs[line]) for line in left]
            new = [_middles(at[line], mass) for line, (mass, _) in zip(left, pieces, strict=True)]
            found = self._values(density, left, new, meter)
            changing = []
            for line, (_, before), t, values in zip(left, pieces, new, found, strict=True):
                order = np.argsort(joined := np.concatenate([at[line], t]))
                at[line] = joined[order]
                logs[line] = np.concatenate([logs[line], values])[order]
                mass, total = self._pieces(line, at[line], logs[line])
                outside = np.abs(0.5 * (at[line][1:] + at[line][:-1])) > self.begins[line]
                shares[line] = mass[outside].sum() / max(mass.sum(), 1e-300)
                if not abs(total - before) < TUNING.most_unresolved:
                    changing.append(line)
            left = changing
            if not left:
                break
        shares[left] = np.nan
        return shares

    def _grid(self, line: int) -> np.ndarray:
        """The distances at which a line is first looked at."""
        grain = TUNING.tail_grain * self.spreads[line]
        last = np.arcsinh(TUNING.tail_ends * self.begins[line] / grain)
        side = grain * np.sinh(np.linspace(0, last, TUNING.tail_points + 1)[1:])
        both = np.concatenate([-side, [0.0], side])
        edges = self.begins[line] * np.array([-1.0, 1.0])
        found = np.unique(np.concatenate([both, self.at[line] + both, edges]))
        return found[found > 0] if self.power else found

    def _values(
        self, density: LogDensities, lines: list[int], at: list[np.ndarray], meter: Meter
    ) -> list[np.ndarray]:
        """The log densities, with the volume, at some distances on each of some lines."""
        points = np.concatenate(
            [
                self.middles[line] + t[:, None] * self.steps[line]
                for line, t in zip(lines, at, strict=True)
            ]
        )
        values = density(points, meter)
        ends = np.cumsum([len(t) for t in at])[:-1]
        split = np.split(np.where(np.isfinite(values), values, -np.inf), ends)
        if self.power == 0:
            return split
        return [v + self.power * np.log(t) for v, t in zip(split, at, strict=True)]

    def _pieces(self, line: int, at: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, float]:
        """The mass between each two points, relative to a height, and the log of all of it.

        Between two points far out it is that of a power of the distance, and of an exponential
        nearer by: tails bend so much that straight lines would overstate.
        """
        height = logs.max()
        if not np.isfinite(height):
            return np.zeros(len(at) - 1), -np.inf
        density, away = np.exp(logs - height), np.abs(at)
        mass = np.diff(at) * _log_mean(density[1:], density[:-1])
        far = (at[1:] * at[:-1] > 0) & (np.minimum(away[1:], away[:-1]) > self.spreads[line])
        steps = np.abs(np.diff(np.log(np.where(away > 0, away, 1.0))))
        mass = np.where(far, steps * _log_mean((density * away)[1:], (density * away)[:-1]), mass)
        with np.errstate(divide="ignore"):
            return mass, float(height + np.log(mass.sum()))


def _middles(at: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Half way between those points between which most of the mass lies."""
    heaviest = np.argsort(-mass)[: TUNING.tail_points_more]
    return np.asarray(0.5 * (at[heaviest] + at[heaviest + 1]))


def _log_mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The mean of an exponential between two of its values; half their sum where one is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (a - b) / (np.log(a) - np.log(b))
    return np.where(np.isfinite(mean) & (a != b), mean, 0.5 * (a + b))


def log_densities_of(model: Model) -> LogDensities:
    """The log densities of a model, in batches of one size: each size is a program of its own."""
    size = TUNING.tail_batch

    def one_by_one(x: np.ndarray, meter: Meter) -> np.ndarray:
        meter.reserve(len(x))
        return model.log_densities(x)

    def in_batches(x: np.ndarray, meter: Meter) -> np.ndarray:
        rows = -(-len(x) // size) * size
        meter.reserve(rows)
        padded = np.concatenate([x, np.repeat(x[:1], rows - len(x), axis=0)])
        parts = [
            model.log_densities(padded[first : first + size]) for first in range(0, rows, size)
        ]
        return np.concatenate(parts)[: len(x)]

    return one_by_one if isinstance(model.density, ValueOnlyDensity) else in_batches
