"""Chance: a log density must be the same at the same point each time it is asked."""

from __future__ import annotations

import numpy as np

from refti.errors import ModelError


def require_deterministic(name: str, first: np.ndarray, second: np.ndarray) -> None:
    """Nothing, or a ModelError where the same points gave other values the second time."""
    other = ~np.isclose(first, second, rtol=1e-8, atol=1e-8, equal_nan=True)
    if other.any():
        at = int(np.argmax(other))
        raise ModelError(
            f"{name} must give the same number for the same values; got {first[at]:.10g} and then "
            f"{second[at]:.10g}. Stochastic likelihoods are not supported: fix the seed inside the "
            "function, or average until the noise is below 1e-8."
        )
