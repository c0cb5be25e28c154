"""The normal log density, which half of the targets are made of."""

from __future__ import annotations

from math import log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Number = Float[Array, "..."] | np.ndarray | float

LOG_2_PI = log(2 * pi)


def log_normal(x: Number, mean: Number, scale: Number) -> Float[Array, "..."]:
    """The normal log density, element by element."""
    return -0.5 * (jnp.square((x - mean) / scale) + LOG_2_PI) - jnp.log(scale)
