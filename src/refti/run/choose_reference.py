"""Choice of the reference: several families fitted, the one with the shortest way taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from refti.errors import ReferenceFitError
from refti.paths.path import Leg
from refti.paths.thermodynamic_length import stretch
from refti.references import registry
from refti.references.base import Reference
from refti.references.family import FitInputs
from refti.run.pilot import Exploration, Pilot
from refti.sampling.chains import exact_draws
from refti.sampling.evaluation import values

SHORT = 1.25  # a length at which two rungs overlap well, so that no better family is looked for
SHORT_BY_VALUES = 0.6  # the same where evaluations are dear and programs are not
WORTH_IT = 400  # draws that a shaped family must save, for it has programs to compile
WORTH_IT_BY_VALUES = 50
DRAWS_A_DIMENSION = 50  # of the pilot, beyond which a covariance hardly gains by more
MOST_DRAWS = 20_000
CLOSE = 1.2  # times the shortest length, within which a family is measured again
SHORTER = 0.95  # of the length before that twice the draws must come down to, to be doubled again
DENSE = 1500  # dimensions beyond which a full covariance is not fitted
FAR = 1e6  # stands for the length to a reference that has no draw inside the support


@dataclass(frozen=True, eq=False)
class Choice:
    """A fitted reference, and how it came about.

    Attributes:
        reference: what was chosen.
        family: its name.
        lengths: the length of the way from each family that was tried.
        pilot: the draws it was fitted to, and chains that go on from them.
        reason: why it was chosen, in words.
    """

    reference: Reference
    family: str
    lengths: Mapping[str, float]
    pilot: Pilot
    reason: str


def choose(explored: Exploration, target_error: float) -> Choice:
    """The reference from which the way to the posterior is shortest.

    An estimate needs about (length / error)^2 draws. While the pilot has fewer than half of
    that, is short of draws for the dimension, and more of them have shortened the way from a
    reference fitted to them, it goes on: draws that shorten the way save more of them later. The
    way from the mode is the same whatever the draws, so it may not end this: it is the shortest
    of all where chains have not arrived yet.
    """
    pilot = explored.pilot
    lengths = measured(explored, pilot)
    worth = WORTH_IT if explored.leg.has_gradient else WORTH_IT_BY_VALUES
    best = _best(lengths, target_error, worth)
    while (
        explored.given is None
        and len(pilot.draws) < min(DRAWS_A_DIMENSION * explored.model.dim, MOST_DRAWS)
        and len(pilot.draws) < 0.5 * (lengths[best] / target_error) ** 2
    ):
        before = _of_draws(lengths)
        pilot = explored.continued(pilot)
        # The families that lost by far would not win with twice the draws.
        shortest = min(before.values(), default=FAR)
        close = [name for name, value in before.items() if value < CLOSE * shortest]
        lengths |= measured(explored, pilot, close)
        best = _best(lengths, target_error, worth)
        if min(_of_draws(lengths).values(), default=FAR) > SHORTER * shortest:
            break
    reference = fitted(explored, best, pilot)
    return Choice(reference, best, lengths, pilot, _reason(best, lengths))


def measured(
    explored: Exploration, pilot: Pilot, families: Sequence[str] | None = None
) -> dict[str, float]:
    """The length of the way from each family that is worth trying, or from some of them.

    Each is fitted to the first half of the pilot's draws and measured with the second half and
    draws of its own, so a family that fits noise gains nothing by it.
    """
    first, second = pilot.halves()
    lengths: dict[str, float] = {}

    def measure(*families: str) -> None:
        for family in families:
            try:
                reference = fitted(explored, family, pilot, first)
            except ReferenceFitError:
                continue
            lengths[family] = length(explored, reference, second)

    if families is not None:
        measure(*families)
        return lengths
    dim = explored.model.dim
    measure(*registry.tried_by_auto("high_dimension" if dim > DENSE else "dense"))
    if explored.modes_apart:
        measure(*registry.tried_by_auto("several_modes"))
    short = SHORT if explored.leg.has_gradient else SHORT_BY_VALUES
    if min(lengths.values()) > short and dim <= DENSE:
        measure(*registry.tried_by_auto("shaped"))
    return lengths


def fitted(
    explored: Exploration,
    family: str,
    pilot: Pilot,
    draws: np.ndarray | None = None,
) -> Reference:
    """The family's member for the pilot's draws, or for others."""
    inputs = FitInputs(
        model=explored.model,
        evaluate=explored.evaluate,
        mode=explored.mode,
        draws=pilot.draws if draws is None else draws,
        base=np.asarray(pilot.rung.whitening.factor),
        peaks=explored.landscape.peaks if explored.modes_apart else None,
        seed=explored.engine.seed,
    )
    return registry.fit(family, inputs)


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


def _of_draws(lengths: Mapping[str, float]) -> dict[str, float]:
    """The lengths from families that are fitted to draws."""
    return {name: value for name, value in lengths.items() if registry.FAMILIES[name].uses_draws}


def _best(lengths: Mapping[str, float], target_error: float, worth: float = WORTH_IT) -> str:
    """The family of the shortest way; a shaped one only where it saves enough draws."""
    shaped = registry.tried_by_auto("shaped")
    plain = {name: value for name, value in lengths.items() if name not in shaped}
    best = min(plain, key=plain.__getitem__)
    better = min(lengths, key=lengths.__getitem__)
    saved = (lengths[best] ** 2 - lengths[better] ** 2) / target_error**2
    return better if saved > worth else best


def _reason(best: str, lengths: Mapping[str, float]) -> str:
    others = ", ".join(f"{name} {value:.3g}" for name, value in lengths.items() if name != best)
    compared = f" (others: {others})" if others else ""
    return f"the way from it to the posterior is shortest, {lengths[best]:.3g}{compared}"
