"""Streams: where the randomness of each part of a run comes from; no two parts share one.

The randomness of a part is that of the seed, the stream's number and what tells the part from
others of its stream, always as many numbers. The numbers decide the bits of every result, so they
are never given to another part.
"""

from __future__ import annotations

from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np


class Stream(IntEnum):
    """The parts of a run that need randomness, and what tells each from others of its stream."""

    PILOT_WARM_UP = 0  # which end of the leg
    PILOT_DRAWS = 1  # which end of the leg, block
    SCAN = 2  # leg, scan, rung, move
    EXACT_START = 3  # leg, scan
    EXCHANGE = 4  # leg, scan
    NEW_RUNG = 5  # leg, scan, rungs there are, rung
    POSTERIOR_DRAWS = 6
    AROUND_PEAKS = 7  # which end of the leg
    REFERENCE_LENGTH = 8
    LEG_END_WARM_UP = 9  # leg
    SUPPORT_SHARE = 10  # leg, round, turn
    FLATTENED = 11  # which end of the leg, step
    LEG_END_STARTS = 12  # leg


def key_of(seed: int, stream: Stream, *identity: int) -> jax.Array:
    """JAX's randomness for a part of the run."""
    words = np.random.SeedSequence((seed, int(stream), *identity)).generate_state(2)
    return jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32))


def generator_of(seed: int, stream: Stream, *identity: int) -> np.random.Generator:
    """NumPy's randomness for a part of the run."""
    return np.random.default_rng((seed, int(stream), *identity))
