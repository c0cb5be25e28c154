"""More draws of the posterior than the evidence took, or fewer: as many as were asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refti.run.rounds import RunState
from refti.sampling.engine import Engine
from refti.sampling.leg import LegState, draw_end, scan
from refti.sampling.metering import OutOfBudgetError


def draw_posterior(state: RunState, engine: Engine) -> np.ndarray:
    """Draws of the posterior [chain, draw, dim], in the run's coordinates.

    Those of the estimate, or posterior_draws= of them, rounded up to a multiple of the chains:
    evenly chosen where there are more, and otherwise the chains go on; alone where they move
    freely, with the whole ladder where they sit on modes of their own. A budget that is spent on
    the way, or an interruption, leaves what there is.
    """
    points = state.conclusion.samples[-1].end_points
    wanted = state.problem.settings.posterior_draws
    if wanted is None:
        return points
    each = -(-wanted // len(points))
    parts, made = [points], points.shape[1]
    if made < each and state.ended is None:
        try:
            for part in _more(state, engine):
                parts.append(part)
                made += part.shape[1]
                engine.report("drawing more of the posterior", min(made, each), each)
                if made >= each:
                    break
        except (OutOfBudgetError, KeyboardInterrupt):
            pass
    points = np.concatenate(parts, axis=1)
    if points.shape[1] <= each:
        return points
    return points[:, np.linspace(0, points.shape[1] - 1, each).round().astype(int)]


def _more(state: RunState, engine: Engine) -> Iterator[np.ndarray]:
    """Blocks of further draws, without end."""
    leg: LegState = state.legs[-1]
    pilot = state.plan.pilot
    together = pilot.on_separate_modes or pilot.sits_apart
    while True:
        if together:
            leg = scan(leg, engine)
            yield leg.scans[-1].end_points
        else:
            leg, points = draw_end(leg, engine)
            yield points
