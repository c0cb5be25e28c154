"""The start of a leg drawn exactly: no chains, and the share inside the end's support counted."""

from __future__ import annotations

import jax
import numpy as np

from refti.draws import support_share as shares
from refti.draws.support_share import SupportShare
from refti.errors import SamplingError
from refti.paths.path import Leg
from refti.references.base import Reference
from refti.sampling.chains import exact_draws
from refti.sampling.engine import Engine
from refti.sampling.evaluation import values

ROUNDS_FOR_INSIDE = 64  # times the wanted number of exact draws made to get enough inside


def draw_start(
    leg: Leg, share: SupportShare, key: jax.Array, engine: Engine
) -> tuple[np.ndarray, np.ndarray, SupportShare]:
    """Exact draws inside the end's support, their delta and the share inside so far.

    They are x[chain, dim], one for each chain, and delta[chain, draw] of a stretch.
    """
    wanted = engine.chains * engine.stretch
    points: list[np.ndarray] = []
    deltas: list[np.ndarray] = []
    for index in range(ROUNDS_FOR_INSIDE):
        x, delta, share = count_inside(leg, share, jax.random.fold_in(key, index), engine)
        points.append(x)
        deltas.append(delta)
        if sum(map(len, deltas)) >= wanted:
            break
    if share.inside == 0:
        raise SamplingError(
            f"None of {share.drawn} draws of the reference lie where the density is positive "
            "and finite. Use reference='covariance', or check the density's support."
        )
    x, delta = (stretched(np.concatenate(parts), wanted) for parts in (points, deltas))
    return x[:: engine.stretch], delta.reshape(engine.chains, engine.stretch), share


def count_inside(
    leg: Leg, share: SupportShare, key: jax.Array, engine: Engine
) -> tuple[np.ndarray, np.ndarray, SupportShare]:
    """Those of a stretch of exact draws that are inside, delta there, and the share so far."""
    assert isinstance(leg.start, Reference)
    count = engine.chains * engine.stretch
    x = np.asarray(engine.meter.call(exact_draws, leg.start, key, count))
    end, delta = values(leg, x, engine.meter)
    inside = np.isfinite(delta)
    return x[inside], delta[inside], shares.count_points(share, x, end)


def stretched(series: np.ndarray, length: int) -> np.ndarray:
    """The series at a given length: cut, or each value repeated about equally often.

    Repeats carry no information, which the autocorrelation of the series then shows.
    """
    if len(series) >= length or len(series) == 0:
        return series[:length]
    return series[np.arange(length) * len(series) // length]
