"""The start of a leg drawn exactly: no chains, and the share inside the end's support counted."""

from __future__ import annotations

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from refti.draws.support_share import SupportShare, count_points
from refti.errors import SamplingError
from refti.models.compiled import compiled
from refti.paths.path import Leg
from refti.references.base import Reference
from refti.sampling.engine import Engine
from refti.sampling.evaluation import values
from refti.sampling.streams import key_name
from refti.sampling.tuning import TUNING


def draw_start(
    leg: Leg, share: SupportShare, key: jax.Array, engine: Engine
) -> tuple[np.ndarray, np.ndarray, SupportShare]:
    """Exact draws inside the end's support, their delta and the share inside so far.

    They are x[chain, draw, dim] and delta[chain, draw] of a block.
    """
    wanted = engine.chains * engine.block_length
    points: list[np.ndarray] = []
    deltas: list[np.ndarray] = []
    for index in range(TUNING.rounds_for_inside):
        x, delta, share = count_inside(leg, share, jax.random.fold_in(key, index), engine)
        points.append(x)
        deltas.append(delta)
        if sum(map(len, deltas)) >= wanted:
            break
    if share.inside == 0:
        raise SamplingError(
            f"None of {share.drawn} draws of the reference lie where the density is positive and "
            "finite. Use reference='covariance', or check the density's support."
        )
    x, delta = (resize(np.concatenate(parts), wanted) for parts in (points, deltas))
    shape = (engine.chains, engine.block_length)
    return x.reshape(*shape, -1), delta.reshape(shape), share


def count_inside(
    leg: Leg, share: SupportShare, key: jax.Array, engine: Engine
) -> tuple[np.ndarray, np.ndarray, SupportShare]:
    """Those of a block of exact draws that are inside, delta there, and the share so far."""
    assert isinstance(leg.start, Reference)
    count = engine.chains * engine.block_length
    x = np.asarray(engine.meter.call(exact_draws, leg.start, key, count))
    end, delta = engine.recall(f"start {key_name(key)}", lambda: values(leg, x, engine.meter))
    inside = np.isfinite(delta)
    return x[inside], delta[inside], count_points(share, x, end)


@compiled(static_argnames=("count",))
def exact_draws(reference: Reference, key: Key[Array, ""], count: int) -> Float[Array, "draw dim"]:
    """Independent draws of a reference."""
    return jax.vmap(reference.sample)(jax.random.split(key, count))


def resize(series: np.ndarray, length: int) -> np.ndarray:
    """The series at a given length: cut, or each value repeated about equally often.

    Repeats carry no information, which the autocorrelation of the series then shows.
    """
    if len(series) >= length or len(series) == 0:
        return series[:length]
    return series[np.arange(length) * len(series) // length]
