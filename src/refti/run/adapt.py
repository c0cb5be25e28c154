"""Adaptation between rounds: where moves are spent, how far and in what steps, the share inside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refti.checks.tuning import TUNING as CHECKS
from refti.draws import autocorrelation
from refti.draws.cost import Cost
from refti.estimators import influence, mbar
from refti.run.tuning import ROUNDS
from refti.sampling.engine import Engine
from refti.sampling.exact_start import count_inside
from refti.sampling.leg import LegState, choose_leaps
from refti.sampling.leg_sample import collect
from refti.sampling.rung import lengthened, shorten_steps
from refti.sampling.score_whitening import wants_scores
from refti.sampling.streams import KeyStream


def adapt_leg(state: LegState) -> LegState:
    """The leg with its chains adapted to what they have met."""
    longer, more = lengthen_trajectories(state), allocate_moves(state)
    rungs = [
        # Where trajectories are longer from now on, the draws so far say too much of moves.
        by_length if by_length.lengthening > before.lengthening else by_moves
        for before, by_length, by_moves in zip(state.rungs, longer.rungs, more.rungs, strict=True)
    ]
    return choose_leaps(shorten_diverging_steps(replace(state, rungs=tuple(rungs))))


def lengthen_trajectories(state: LegState) -> LegState:
    """The leg with longer trajectories on rungs whose draws are slow.

    Twice the length takes a quarter of the draws where twice the moves take half. In a few
    dimensions it is left to the moves.
    """
    if not wants_scores(state.scans[-1].end_points.shape[2]):
        return state
    delta = collect(state).draws.delta[state.exact :]
    times = delta[0].size / np.maximum(autocorrelation.bulk_size(delta), 1.0)
    rungs = [
        rung
        if rung.step_size is None
        else replace(
            rung, lengthening=max(rung.lengthening, lengthened(rung.lengthening, float(time)))
        )
        for rung, time in zip(state.rungs, times, strict=True)
    ]
    return replace(state, rungs=tuple(rungs))


def allocate_moves(state: LegState) -> LegState:
    """The leg with moves for each draw where they lower the error most for what they cost.

    The variance that a rung adds falls with its draws, so the best number of them goes with the
    root of variance over cost; but where draws are all but independent already, more moves between
    them add nothing.
    """
    series = influence(collect(state).draws)[state.exact :]
    variances = autocorrelation.standard_error(series) ** 2
    times = series[0].size / np.maximum(autocorrelation.effective_sample_size(series), 1.0)
    costs = np.mean([scan.gradients for scan in state.scans], axis=0)
    moves = np.array([rung.moves for rung in state.rungs])
    wanted = np.sqrt(variances / costs)
    positive = wanted[wanted > 0]
    if len(state.rungs) < 2 or len(positive) == 0:
        return state
    wanted = moves * np.minimum(wanted / np.median(positive), times / 2)
    wanted = 2.0 ** np.round(np.log2(np.clip(wanted, 1, ROUNDS.most_moves)))
    rungs = tuple(
        replace(rung, moves=int(count)) for rung, count in zip(state.rungs, wanted, strict=True)
    )
    return replace(state, rungs=rungs)


def shorten_diverging_steps(state: LegState) -> LegState:
    """The leg with shorter steps where so many trajectories diverged that trust is at stake."""
    latest = state.scans[len(state.scans) // 2 :]  # those before had longer steps
    often = np.mean([scan.divergences for scan in latest], axis=0) > CHECKS.most_divergences / 2
    rungs = [
        shorten_steps(rung) if bad else rung for rung, bad in zip(state.rungs, often, strict=True)
    ]
    return replace(state, rungs=tuple(rungs))


def refine_support_share(
    state: LegState, engine: Engine, round_index: int, usage: Cost
) -> LegState:
    """The leg with the share inside the support counted until its error no longer matters.

    Counting goes on while it costs less than all that was spent before.
    """
    share = state.share
    if not state.exact or share.inside == share.drawn:
        return state
    error, turn = mbar(collect(state).draws).error, 0
    has_gradient = state.leg.has_gradient
    most = usage.gradient_evaluations if has_gradient else usage.density_evaluations // 2
    while share.log_error > max(error / 3, 1e-4) and share.drawn < most:
        key = engine.key(KeyStream.SUPPORT_SHARE, state.index, round_index, turn)
        _, _, share = count_inside(state.leg, share, key, engine)
        turn += 1
    return replace(state, share=share)
