"""One leg under way: exact draws at its start where there are any, chains at the other rungs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from refti.draws.support_share import NONE_YET, SupportShare
from refti.paths.path import Leg
from refti.references.base import Reference
from refti.sampling.block import Block, Rung
from refti.sampling.density_along_leg import OUTSIDE
from refti.sampling.engine import Engine
from refti.sampling.exact_start import draw_start
from refti.sampling.kept_points import thin
from refti.sampling.kernels.base import Trace
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.replica_exchange import exchange
from refti.sampling.rung import move_chains
from refti.sampling.streams import GeneratorStream, KeyStream
from refti.sampling.tuning import TUNING


@dataclass(frozen=True, eq=False)
class Scan:
    """What one scan leaves behind: a block of every rung, and an exchange of neighbours.

    Attributes:
        delta: `[rung, chain, draw]`, -inf outside the support of either end.
        end_points: `[chain, draw, dim]`, draws of the end density, or some of them, evenly, where
            all of them are too many numbers.
        divergences: `[sampled rung]`, the share of iterations that diverged.
        acceptance: `[sampled rung]`, the share of moves that were accepted.
        gradients: `[sampled rung]`, evaluations for each draw that is kept.
        tried: `[pair]`, exchanges tried between neighbouring rungs.
        accepted: `[pair]`, exchanges made.
    """

    delta: np.ndarray
    end_points: np.ndarray
    divergences: np.ndarray
    acceptance: np.ndarray
    gradients: np.ndarray
    tried: np.ndarray
    accepted: np.ndarray


@dataclass(frozen=True, eq=False)
class LegState:
    """A leg as far as it has been sampled.

    Attributes:
        leg: the two densities.
        index: which leg of the path it is.
        rungs: those with chains, the last at lambda = 1.
        share: of the start inside the support of the end, where the start is drawn exactly.
        scans: what was kept since the ladder was fixed.
        scans_made: how many were made in all, which the next one's randomness depends on.
        rounds_refined: up to which round the share was counted further.
    """

    leg: Leg
    index: int
    rungs: tuple[Rung, ...]
    share: SupportShare = NONE_YET
    scans: tuple[Scan, ...] = ()
    scans_made: int = 0
    rounds_refined: int = 0

    @property
    def exact(self) -> bool:
        """Whether the start is drawn exactly, without chains."""
        return isinstance(self.leg.start, Reference)

    @property
    def lambdas(self) -> np.ndarray:
        """The ladder."""
        return np.array([0.0] * self.exact + [rung.lam for rung in self.rungs])


def choose_leaps(state: LegState) -> LegState:
    """The leg with leaps on those rungs where enough of them would be taken."""
    if not state.exact or not state.scans:
        return state
    delta = np.concatenate([scan.delta for scan in state.scans], axis=2)
    delta = delta.reshape(len(delta), -1)
    rungs = []
    for rung, here in zip(state.rungs, delta[1:], strict=True):
        usable = np.isfinite(here) & np.isfinite(delta[0])
        # Both rows are long and in no common order, so pairs of them are as good as any.
        gain = rung.lam * (delta[0][usable] - here[usable])
        taken = np.exp(np.minimum(gain, 0.0)).mean() if usable.any() else 0.0
        rungs.append(replace(rung, leaping=bool(taken > TUNING.least_leaps)))
    return replace(state, rungs=tuple(rungs))


def scan(state: LegState, engine: Engine) -> LegState:
    """The leg after one block of every rung, kept as a scan, and an exchange of neighbours."""
    blocks = engine.each(partial(_run_rung, state, engine), range(len(state.rungs)))
    delta = np.stack([_inside(block.trace) for block in blocks])
    last = np.stack([np.asarray(block.trace.x[:, -1]) for block in blocks])
    x = last.copy()
    share, here = state.share, delta[:, :, -1]
    identity = state.index, state.scans_made
    if state.exact:
        key = engine.key(KeyStream.EXACT_START, *identity)
        start, at_start, share = draw_start(state.leg, share, key, engine)
        if not KERNELS[state.rungs[0].kernel].needs_gradient:  # those that do leap on their way
            rng = engine.generator(GeneratorStream.LEAPS, *identity)
            x[0], here[0] = _leap(state.rungs[0].lam, x[0], here[0], start, at_start, rng)
        delta = np.concatenate([at_start[None], delta])
        x = np.concatenate([start[None, :, 0], x])
        here = np.concatenate([at_start[None, :, 0], here])
    # Two rungs are one pair, which takes part every time.
    parity = state.scans_made if len(x) > 2 else 0
    rng = engine.generator(GeneratorStream.EXCHANGE, *identity)
    exchanged = exchange(state.lambdas, x, here, parity, rng)
    rungs = [block.rung for block in blocks]
    for k in range(len(rungs)):
        if not np.array_equal(exchanged.x[k + state.exact], last[k]):
            rungs[k] = move_chains(state.leg, rungs[k], exchanged.x[k + state.exact], engine)
    made = Scan(
        delta=delta,
        end_points=np.asarray(blocks[-1].trace.x),
        divergences=np.array([block.trace.divergent.mean() for block in blocks]),
        acceptance=np.array([block.trace.acceptance.mean() for block in blocks]),
        gradients=np.array([block.trace.gradients.mean() * block.rung.moves for block in blocks]),
        tried=exchanged.tried,
        accepted=exchanged.accepted,
    )
    scans = (*state.scans, made)
    kept = thin([one.end_points for one in scans], delta.shape[2])
    scans = tuple(replace(one, end_points=x) for one, x in zip(scans, kept, strict=True))
    return replace(
        state,
        rungs=tuple(rungs),
        share=share,
        scans=scans,
        scans_made=state.scans_made + 1,
    )


def draw_end(state: LegState, engine: Engine) -> tuple[LegState, np.ndarray]:
    """The leg after one more block of its last rung alone, and the draws [chain, draw, dim] of it.

    They have no part in an estimate, for which every rung must have as many.
    """
    block = _run_rung(state, engine, len(state.rungs) - 1)
    rungs = (*state.rungs[:-1], block.rung)
    return replace(state, rungs=rungs, scans_made=state.scans_made + 1), np.asarray(block.trace.x)


def _leap(
    lam: float,
    x: np.ndarray,
    delta: np.ndarray,
    start: np.ndarray,
    at_start: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Where chains at x[chain, dim] are after every exact draw but the first was tried as a leap.

    The draws start[chain, draw, dim] have been evaluated for the estimate, so leaps cost nothing.
    The first is left for the exchange.
    """
    x, delta = x.copy(), delta.copy()
    for draw in range(1, start.shape[1]):
        there = at_start[:, draw]
        usable = np.isfinite(there) & np.isfinite(delta)
        gain = lam * (np.where(usable, there, 0.0) - np.where(usable, delta, 0.0))
        taken = usable & (np.log(rng.uniform(size=len(x))) < gain)
        x[taken], delta[taken] = start[taken, draw], there[taken]
    return x, delta


def _run_rung(state: LegState, engine: Engine, k: int) -> Block:
    rung = state.rungs[k]
    keys = (
        engine.key(KeyStream.SCAN, state.index, state.scans_made, k, move)
        for move in range(rung.moves)
    )
    is_end = k == len(state.rungs) - 1
    return engine.run_block(state.leg, rung, tuple(keys), points="kept" if is_end else "last")


def _inside(trace: Trace) -> np.ndarray:
    """Delta[chain, draw], -inf outside the support of either end."""
    return np.where(trace.delta > OUTSIDE / 2, trace.delta, -np.inf)
