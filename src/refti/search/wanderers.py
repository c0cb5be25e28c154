"""Wanderers: the points from which other modes are climbed to, near, far, and from the prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refti.factors.either import out_rows, plain_factor, pull_rows
from refti.models.model import ValueAndGradient
from refti.search.known_peaks import KnownPeaks, OneForAll
from refti.search.large_mode import find_any_mode
from refti.search.tuning import TUNING

NOWHERE = -1  # the peak about which a wanderer set out that set out about none, and its reach


class Counted:
    """A density that counts its evaluations."""

    def __init__(self, evaluate: ValueAndGradient) -> None:
        self._evaluate = evaluate
        self.count = 0

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log densities and gradients at points x[n, dim]."""
        if len(x) == 0:
            return np.zeros(0), np.zeros(x.shape)
        self.count += len(x)
        return self._evaluate(x)


class Starts(NamedTuple):
    """Points from which wanderers set out."""

    x: np.ndarray  # [n, dim]
    about: np.ndarray  # [n], the number of the peak about which each was drawn, or NOWHERE
    reaches: np.ndarray  # [n], which of the reaches it was drawn at


def draw_flattened(
    known: KnownPeaks,
    centres: np.ndarray,
    count: int,
    rng: np.random.Generator,
    shares: np.ndarray | None = None,
) -> Starts:
    """Points of the flattened density about some of the known peaks, by the shares of reaches.

    The density to the power 1 / T is, about a peak, wider by the root of T. Most points are
    drawn from that Gaussian, for T of all sizes. In many dimensions its points lie on a far shell,
    off everything that differs in one parameter alone; so every fourth is widened along one
    parameter only, with what that parameter drags along. Where there are many modes, some are
    drawn from among them, for more of the same may lie there.
    """
    dim = known.x.shape[1]
    usual = np.array(TUNING.reach_shares)
    which = rng.choice(len(usual), size=count, p=usual if shares is None else shares)
    reaches = np.array(TUNING.reaches)[which]
    flattenings = flattenings_of(reaches, dim)
    chosen = _choose_centres(known, centres, flattenings, rng)
    noise = rng.normal(size=(count, dim))
    narrow = rng.random(count) < TUNING.along_one_parameter
    u = np.where(narrow[:, None], noise, np.sqrt(flattenings)[:, None] * noise)
    x = known.x[chosen] + _spread_about(known, chosen, u)
    axis = _rows_of_factors(known, chosen, rng.integers(dim, size=count))
    drag = _spread_about(known, chosen, axis) / np.linalg.norm(axis, axis=1)[:, None]
    shift = (narrow * reaches * rng.normal(size=count))[:, None] * drag
    x = np.asarray(x + shift)
    if len(centres) >= TUNING.many_modes:
        among = rng.random(count) < TUNING.among_modes
        x[among] = _draw_among(known, centres, int(among.sum()), rng)
        chosen = np.where(among, NOWHERE, chosen)
    return Starts(x, chosen, which)


def _spread_about(known: KnownPeaks, chosen: np.ndarray, u: np.ndarray) -> np.ndarray:
    """factor @ u for points u[n, dim], each by the factor of its peak.

    A few at a time: all factors at once would be as many matrices as points.
    """
    if isinstance(known.factors, OneForAll):
        return known.factors.factor.out_rows(u)
    step = TUNING.factors_at_once
    parts = [slice(first, first + step) for first in range(0, max(1, len(u)), step)]
    factors = known.factors
    return np.concatenate([np.einsum("nij,nj->ni", factors[chosen[p]], u[p]) for p in parts])


def _rows_of_factors(known: KnownPeaks, chosen: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The given row [n] of each factor: what a parameter is made of."""
    if isinstance(known.factors, OneForAll):
        units = np.zeros((len(rows), known.x.shape[1]))
        units[np.arange(len(rows)), rows] = 1.0
        return known.factors.factor.pull_rows(units)
    return known.factors[chosen, rows]


def start_anywhere(x: np.ndarray) -> Starts:
    """Points x[n, dim] that were drawn about no peak and at no reach."""
    return Starts(x, np.full(len(x), NOWHERE), np.full(len(x), NOWHERE))


def flattenings_of(reaches: np.ndarray, dim: int) -> np.ndarray:
    """The T of the density to the power 1 / T whose draws are about so far off, in spreads."""
    return np.maximum(reaches**2 / dim, TUNING.least_flattening)


def _choose_centres(
    known: KnownPeaks, centres: np.ndarray, flattenings: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The numbers [n] of the peaks about which points of so flat a density [n] are drawn.

    Flattened, nearly all of the mass is that of wide peaks, and what lies far from those is seldom
    near a narrow one. But a narrow one may have others of its kind beside it.
    """
    widths = known.log_widths(centres)
    weights = known.heights[centres] / flattenings[:, None] + widths
    # The largest of the log weights, each with Gumbel noise, is a pick by the weights.
    by_mass = np.argmax(weights + rng.gumbel(size=weights.shape), axis=1)
    alike = rng.integers(len(centres), size=len(flattenings))
    picks = np.where(rng.random(len(flattenings)) < TUNING.by_flattened_mass, by_mass, alike)
    return np.asarray(centres[picks])


def _draw_among(
    known: KnownPeaks, centres: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Points x[n, dim] of a Gaussian as wide as the modes lie apart, where others lie between."""
    x = known.x[centres]
    pairs = rng.normal(size=(count, len(x))) / np.sqrt(len(x))
    about = x.mean(axis=0) + TUNING.among_width * pairs @ (x - x.mean(axis=0))
    chosen = rng.choice(centres, size=count)
    noise = np.sqrt(TUNING.among_flattening) * rng.normal(size=(count, x.shape[1]))
    return np.asarray(about + _spread_about(known, chosen, noise))


class PriorChains:
    """Chains on the prior, whose positions are where wanderers set out from."""

    def __init__(
        self, evaluate: ValueAndGradient, start: np.ndarray, rng: np.random.Generator
    ) -> None:
        self._evaluate, self._rng = evaluate, rng
        mode = find_any_mode(evaluate, start)
        factor = mode.factor()
        self._factor = plain_factor(len(start)) if factor is None else factor
        shape = (TUNING.prior_chains, len(start))
        x = mode.x + out_rows(self._factor, TUNING.prior_spread * rng.normal(size=shape))
        values, gradients = evaluate(x)
        inside = np.isfinite(values)
        picks = np.resize(np.flatnonzero(inside), len(x)) if inside.any() else np.arange(len(x))
        self._state = x[picks], values[picks], gradients[picks]
        self._step = TUNING.prior_step * len(start) ** -0.25
        for _ in range(TUNING.prior_moves_before):
            self._move()

    def draw(self, count: int) -> np.ndarray:
        """As many draws x[n, dim] of about the prior, or a few more."""
        moves = -(-count // TUNING.prior_chains)
        return np.concatenate([self._move() for _ in range(moves)])

    def _move(self) -> np.ndarray:
        """The positions after one trajectory of Hamiltonian Monte Carlo, in whitened coordinates.

        The step is adapted all the while: a little bias in where a search sets out does no harm.
        """
        x, values, gradients = self._state
        momentum = self._rng.normal(size=x.shape)
        energy = values - 0.5 * np.sum(momentum**2, axis=1)
        new_x, new_values, new_gradients = x, values, gradients
        step = self._step * self._rng.uniform(0.7, 1.3)
        with np.errstate(invalid="ignore", over="ignore"):
            for _ in range(TUNING.prior_steps):
                momentum = momentum + pull_rows(self._factor, 0.5 * step * new_gradients)
                new_x = new_x + out_rows(self._factor, step * momentum)
                new_values, new_gradients = self._evaluate(new_x)
                momentum = momentum + pull_rows(self._factor, 0.5 * step * new_gradients)
            gain = new_values - 0.5 * np.sum(momentum**2, axis=1) - energy
        gain = np.where(np.isfinite(gain), gain, -np.inf)
        accepted = np.log(self._rng.random(len(x))) < gain
        self._step *= 1.1 if accepted.mean() > TUNING.prior_acceptance else 0.8
        self._state = (
            np.where(accepted[:, None], new_x, x),
            np.where(accepted, new_values, values),
            np.where(accepted[:, None], new_gradients, gradients),
        )
        return self._state[0]
