"""Choice of the reference: several families fitted, the one with the shortest way taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from refti.errors import ReferenceFitError
from refti.explore import Exploration
from refti.length import stretch
from refti.path import Leg
from refti.references import Reference, fit
from refti.sampling.evaluation import values
from refti.sampling.lanes import exact_draws

SHORT = 1.0  # a length at which two rungs overlap well, so that no better family is looked for
WORTH_IT = 0.75  # of the length that a family with a program of its own must come down to
DENSE = 1500  # dimensions beyond which a full covariance is not fitted
FAR = 1e6  # stands for the length to a reference that has no draw inside the support


@dataclass(frozen=True, eq=False)
class Choice:
    """A fitted reference, the lengths of those it was chosen from, and why it was."""

    reference: Reference
    family: str
    lengths: Mapping[str, float]
    reason: str


def choose(explored: Exploration) -> Choice:
    """The reference from which the way to the posterior is shortest.

    Each family is fitted to the first half of the pilot's draws and its length measured with the
    second half and draws of its own, so a family that fits noise gains nothing by it. The one
    chosen is fitted again to all of them.
    """
    first, second = explored.pilot.halves()
    lengths: dict[str, float] = {}

    def measure(*families: str) -> None:
        for family in families:
            try:
                lengths[family] = length(explored, fitted(explored, family, lambda: first), second)
            except ReferenceFitError:
                continue

    dim = explored.model.dim
    measure(*(("low_rank", "diagonal") if dim > DENSE else ("covariance", "laplace")))
    if explored.modes_apart:
        measure("mixture")
    best = min(lengths, key=lengths.__getitem__)
    if lengths[best] > SHORT and dim <= DENSE:
        measure("warped", "student")
        others = [name for name in ("warped", "student") if name in lengths]
        better = min(others, key=lengths.__getitem__, default=best)
        if lengths[better] < WORTH_IT * lengths[best]:
            best = better
    reference = fitted(explored, best, lambda: explored.draws)
    return Choice(reference, best, lengths, _reason(best, lengths))


def fitted(explored: Exploration, family: str, draws: Callable[[], np.ndarray]) -> Reference:
    """The family's member for the posterior that is explored; only what it needs is looked up."""
    return fit.fitted(
        family,
        explored.model,
        explored.evaluate,
        lambda: explored.mode,
        draws,
        explored.engine.seed,
        base=lambda: np.asarray(explored.pilot.rung.whitening.factor),
        peaks=lambda: explored.landscape.peaks if explored.modes_apart else None,
    )


def length(explored: Exploration, reference: Reference, held_out: np.ndarray) -> float:
    """The thermodynamic length from a reference to draws that it was not fitted to."""
    engine = explored.engine
    count = engine.chains * engine.stretch
    leg = Leg(reference, explored.leg.end)
    x = np.asarray(engine.meter.call(exact_draws, reference, engine.key(8), count))
    picks = np.linspace(0, len(held_out) - 1, count).astype(int)
    (_, lower), (_, upper) = (values(leg, points, engine.meter) for points in (x, held_out[picks]))
    lower, upper = lower[np.isfinite(lower)], upper[np.isfinite(upper)]
    if len(lower) < 2 or len(upper) < 2:
        return FAR
    # Draws outside the support are not on the way, but they are not for nothing either.
    return stretch(lower, upper).length - float(np.log(len(lower) / count))


def _reason(best: str, lengths: Mapping[str, float]) -> str:
    others = ", ".join(f"{name} {value:.3g}" for name, value in lengths.items() if name != best)
    compared = f" (others: {others})" if others else ""
    return f"the way from it to the posterior is shortest, {lengths[best]:.3g}{compared}"
