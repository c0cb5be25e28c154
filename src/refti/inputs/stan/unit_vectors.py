"""Unit vectors of Stan programs: the lengths of their coordinates, which are nobody's parameters.

Stan gives a unit vector of n numbers n coordinates, whose direction it is, and a standard normal of
them. At zero there is no direction: the density of the data, as a function of the coordinates, is a
wedge that ends in a point, and that is the highest one. So the density is multiplied by the squared
length, which is zero there, and divided by what the length then integrates to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import lgamma, log

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from refti.inputs.stan.space import StanSpace


@partial(jax.tree_util.register_dataclass, data_fields=["vector_of"], meta_fields=["count"])
@dataclass(frozen=True, eq=False)
class UnitVectors:
    """The unit vectors of a program.

    Attributes:
        vector_of: by coordinate, which unit vector it belongs to; `count` of one of none.
        count: how many there are.
    """

    vector_of: Int[Array, " dim"]
    count: int

    def log_lengths(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The sum of the logs of the squared lengths."""
        squares = jax.ops.segment_sum(x * x, self.vector_of, self.count + 1)[: self.count]
        return jnp.log(squares).sum()


def unit_vectors(space: StanSpace) -> tuple[UnitVectors | None, float]:
    """The unit vectors, or None without any; and the log of what their lengths integrate to."""
    count = len(space.unit_vectors)
    if count == 0:
        return None, 0.0
    vector_of = np.full(len(space.coordinates), count)
    excess = 0.0
    for number, places in enumerate(space.unit_vectors):
        vector_of[places] = number
        excess += len(places) / 2 * log(2) + lgamma(len(places) / 2 + 1)
    with jax.enable_x64(True):
        return UnitVectors(jnp.asarray(vector_of), count), excess
