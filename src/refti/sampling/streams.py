"""Streams: where the randomness of each part of a run comes from; no two parts share one.

The randomness of a part is that of the seed, the stream's number, and the numbers that tell the
part from others of its stream, always as many. So two parts of one kind of randomness, JAX's or
NumPy's, differ in the stream or in one of those numbers. Streams decide the bits of every result:
a number is never given to another stream.
"""

from __future__ import annotations

from enum import Enum, unique

import jax
import jax.numpy as jnp
import numpy as np


@unique
class KeyStream(Enum):
    """The parts that draw by JAX: the stream's number, and what tells parts of it apart."""

    PILOT_WARM_UP = 0, ("end",)
    PILOT_DRAWS = 1, ("end", "block")
    SCAN = 2, ("leg", "scan", "rung", "move")
    EXACT_START = 3, ("leg", "scan")
    NEW_RUNG = 5, ("leg", "scan", "rungs there are", "rung")
    REFERENCE_LENGTH = 8, ()
    LEG_END_WARM_UP = 9, ("leg",)
    SUPPORT_SHARE = 10, ("leg", "round", "turn")
    FLATTENED = 11, ("end", "step")
    RESHAPED_WARM_UP = 20, ("turn",)
    RESHAPED_DRAWS = 21, ("turn", "block")
    OTHER_KERNEL_WARM_UP = 25, ()
    OTHER_KERNEL_DRAWS = 26, ("block",)
    FRESH_STARTS = 30, ()
    FRESH_DRAWS = 31, ("block",)
    REFERENCE_SHOWN = 32, ()
    SETTLING_DRAWS = 34, ("turn", "block")
    RIDGE_STARTS = 41, ()
    RIDGE_WARM_UP = 42, ()


@unique
class GeneratorStream(Enum):
    """The parts that draw by NumPy: the stream's number, and what tells parts of it apart."""

    PREFLIGHT = 0, ("end",)
    EXCHANGE = 4, ("leg", "scan")
    POSTERIOR_DRAWS = 6, ()
    AROUND_PEAKS = 7, ("end",)
    LEG_END_STARTS = 12, ("leg",)
    # 13 was that of starts far out, which wanderers took the place of.
    PROPER_AXES = 14, ("end",)
    REFERENCE_FIT = 15, ()
    RESHAPED_STARTS = 22, ("turn",)
    WANDERERS = 24, ("end",)
    JUMPS = 27, ()
    LEAPS = 28, ("leg", "scan")
    OTHER_KERNEL_STARTS = 29, ()
    BROAD_PARTS = 33, ("end", "turn")
    WANDERERS_ABOUT_BROAD_PARTS = 34, ("end", "turn")
    RIDGE_STARTS = 43, ()


def key_of(seed: int, stream: KeyStream, *identity: int) -> jax.Array:
    """JAX's randomness for a part of the run."""
    words = np.random.SeedSequence(_entropy(seed, stream, identity)).generate_state(2)
    return jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32))


def generator_of(seed: int, stream: GeneratorStream, *identity: int) -> np.random.Generator:
    """NumPy's randomness for a part of the run."""
    return np.random.default_rng(_entropy(seed, stream, identity))


def key_name(key: jax.Array) -> str:
    """The words of a key as text, which no other part of a run has."""
    return np.asarray(jax.random.key_data(key)).tobytes().hex()


def _entropy(
    seed: int, stream: KeyStream | GeneratorStream, identity: tuple[int, ...]
) -> tuple[int, ...]:
    number, names = stream.value
    # NumPy takes (1, 2) and (1, 2, 0) for the same, so parts must not differ in length.
    if len(identity) != len(names):
        raise ValueError(f"{stream.name} needs the numbers {names}; got {identity}.")
    return (seed, number, *identity)
