"""Sampling one leg: exact draws at its start where there are any, chains at the other rungs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from refti.draws import support_share as shares
from refti.draws.draws import Draws
from refti.draws.support_share import SupportShare
from refti.errors import SamplingError
from refti.paths.path import Leg
from refti.paths.thermodynamic_length import missing as missing_rungs
from refti.references.base import Reference
from refti.sampling.chains import Trace
from refti.sampling.engine import Engine
from refti.sampling.evaluation import value_and_gradient
from refti.sampling.exact_start import draw_start, stretched
from refti.sampling.kernels.base import OUTSIDE
from refti.sampling.replica_exchange import swapped
from refti.sampling.rung import Rung, advanced, moved_to, placed, warmed_up

PROBES = 2  # steps between two looks at the ladder
PASSES = 10  # times the ladder is looked at
MOST_RUNGS = 64


@dataclass(frozen=True, eq=False)
class Block:
    """What one step leaves behind.

    Attributes:
        delta: `[rung, chain, draw]`, -inf outside the support of either end.
        end_points: `[chain, draw, dim]`, draws of the end density.
        divergences: `[sampled rung]`, the share of iterations that diverged.
        gradients: `[sampled rung]`, evaluations for each draw that is kept.
        tried: `[pair]`, exchanges tried between neighbouring rungs.
        accepted: `[pair]`, exchanges made.
    """

    delta: np.ndarray
    end_points: np.ndarray
    divergences: np.ndarray
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
        blocks: what was kept since the ladder was fixed.
        steps: how many were made in all.
    """

    leg: Leg
    index: int
    rungs: tuple[Rung, ...]
    share: SupportShare = shares.NONE_YET
    blocks: tuple[Block, ...] = ()
    steps: int = 0

    @property
    def exact(self) -> bool:
        """Whether the start is drawn exactly, without chains."""
        return isinstance(self.leg.start, Reference)

    @property
    def lambdas(self) -> np.ndarray:
        """The ladder."""
        return np.array([0.0] * self.exact + [rung.lam for rung in self.rungs])


@dataclass(frozen=True, eq=False)
class LegSample:
    """All that sampling a leg leaves behind."""

    draws: Draws
    share: SupportShare  # of the start density inside the support of the end
    end_share: SupportShare  # of the end density inside the support of the start
    end_points: np.ndarray  # [chain, draw, dim]: draws of the end density
    divergences: np.ndarray  # [sampled rung]
    exchanges: np.ndarray  # [pair], the share of exchanges tried that were made


def begun(
    leg: Leg, index: int, last: Rung, engine: Engine, warmup: int, steps: int = 0
) -> LegState:
    """The leg with chains at its end, and at its start where that cannot be drawn exactly.

    `steps` made before, from another reference, are counted on: chains that get the same random
    numbers a second time come to move as they did the first time.
    """
    state = LegState(leg, index, (last,), steps=steps)
    return state if state.exact else inserted(state, [0.0], engine, warmup)


def stepped(state: LegState, engine: Engine) -> LegState:
    """The leg after one stretch of every rung, kept as a block, and an exchange of neighbours."""
    leg = state.leg
    identity = (state.index, state.steps)

    def advance_one(k: int) -> tuple[Rung, Trace]:
        rung, traces = state.rungs[k], []
        for move in range(rung.moves):
            rung, trace = advanced(leg, rung, engine.key(2, *identity, k, move), engine)
            traces.append(trace)
        return rung, Trace(*(np.concatenate(parts, axis=1) for parts in zip(*traces, strict=True)))

    done = engine.each(advance_one, range(len(state.rungs)))
    rungs, traces = [rung for rung, _ in done], [trace for _, trace in done]
    thinned = [t.delta[:, r.moves - 1 :: r.moves] for r, t in zip(rungs, traces, strict=True)]
    delta = np.stack([np.where(d > OUTSIDE / 2, d, -np.inf) for d in thinned])
    x = np.stack([trace.x[:, -1] for trace in traces])
    share, here = state.share, delta[:, :, -1]
    if state.exact:
        start, at_start, share = draw_start(leg, share, engine.key(3, *identity), engine)
        delta = np.concatenate([at_start[None], delta])
        x = np.concatenate([start[None], x])
        here = np.concatenate([at_start[None, :, 0], here])
    parity = state.steps if len(x) > 2 else 0
    swaps = swapped(state.lambdas, x, here, parity, engine.generator(4, *identity))
    for k, (rung, moved) in enumerate(zip(rungs, swaps.moved[state.exact :], strict=True)):
        if moved:
            rungs[k] = moved_to(leg, rung, swaps.x[k + state.exact], engine)
    block = Block(
        delta=delta,
        end_points=np.asarray(traces[-1].x[:, rungs[-1].moves - 1 :: rungs[-1].moves]),
        divergences=np.array([trace.divergent.mean() for trace in traces]),
        gradients=np.array(
            [trace.gradients.mean() * r.moves for r, trace in zip(rungs, traces, strict=True)]
        ),
        tried=swaps.tried,
        accepted=swaps.accepted,
    )
    return replace(
        state,
        rungs=tuple(rungs),
        share=share,
        blocks=(*state.blocks, block),
        steps=state.steps + 1,
    )


def inserted(state: LegState, lambdas: Sequence[float], engine: Engine, warmup: int) -> LegState:
    """The leg with more rungs, each begun where the next above it stands, and warmed up.

    What was kept before belongs to another ladder and is left out.
    """

    def new(k: int) -> Rung:
        lam = lambdas[k]
        above = next(rung for rung in state.rungs if rung.lam > lam)
        x = inside_of(state.leg, above.x, engine)
        rung = placed(
            state.leg,
            lam,
            x,
            above.whitening,
            engine,
            step_size=above.step_size,
            target=above.target,
        )
        key = engine.key(5, *(state.index, state.steps, len(state.rungs), k))
        return warmed_up(state.leg, rung, warmup, key, engine)

    fresh = engine.each(new, range(len(lambdas)))
    rungs = sorted((*state.rungs, *fresh), key=lambda rung: rung.lam)
    return replace(state, rungs=tuple(rungs), blocks=())


def refined(
    state: LegState, engine: Engine, warmup: int, progress: Callable[[int, int], None]
) -> LegState:
    """The leg with as many rungs as its measured overlap asks for.

    The ladder is looked at after a few steps, rungs are put where neighbours hardly overlap, and
    so on until none is missing. The steps since the last change are kept.
    """
    for index in range(PASSES):
        for _ in range(PROBES):
            state = stepped(state, engine)
        sample = collected(state)
        missing = missing_rungs(sample.draws)[: MOST_RUNGS - len(state.lambdas)]
        progress(index + 1, PASSES)
        if len(missing) == 0:
            break
        state = inserted(state, list(missing), engine, warmup)
    return state


def collected(state: LegState, kept: int | None = None) -> LegSample:
    """The draws kept so far, or only so many, restricted at the ends to the other's support."""
    delta = np.concatenate([block.delta for block in state.blocks], axis=2)[:, :, :kept]
    at_start, share = (delta[0], state.share) if state.exact else _restricted(delta[0])
    at_end, end_share = _restricted(delta[-1])
    tried = np.sum([block.tried for block in state.blocks], axis=0)
    accepted = np.sum([block.accepted for block in state.blocks], axis=0)
    return LegSample(
        draws=Draws(state.lambdas, np.concatenate([at_start[None], delta[1:-1], at_end[None]])),
        share=share,
        end_share=end_share,
        end_points=np.concatenate([block.end_points for block in state.blocks], axis=1)[:, :kept],
        divergences=np.mean([block.divergences for block in state.blocks], axis=0),
        exchanges=np.where(tried > 0, accepted / np.maximum(tried, 1), np.nan),
    )


def inside_of(leg: Leg, x: np.ndarray, engine: Engine) -> np.ndarray:
    """As many points, those outside the support of either end replaced by others of them."""
    # Halfway the density lives where both ends do, so a start there is one at every rung.
    value, _ = value_and_gradient(leg, 0.5, engine.chains, engine.meter)(x)
    inside = np.isfinite(value)
    if not inside.any():
        raise SamplingError(
            f"None of {len(x)} starting points lies inside the support of the path. "
            "Give the model a start= inside its support, or another reference."
        )
    return np.where(inside[:, None], x, np.resize(x[inside], x.shape))


def _restricted(delta: np.ndarray) -> tuple[np.ndarray, SupportShare]:
    """Delta[chain, draw] of a sampled end with only the draws inside the other, and their share."""
    inside = np.isfinite(delta)
    if not inside.any(axis=1).all():
        raise SamplingError(
            "A chain at one end of the path never entered the support of the other. Check that "
            "the two densities overlap."
        )
    rows = [stretched(row[keep], len(row)) for row, keep in zip(delta, inside, strict=True)]
    return np.stack(rows), shares.count_draws(inside)
