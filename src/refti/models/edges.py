"""Edges by name: exact distances to bounds, for functions that ask for them.

Near a bound a value has few digits of its distance left, and the unconstrained coordinate has them
all. For a parameter p between two bounds a function may ask for `p_to_lower` and `p_to_upper`, for
their logarithms `log_p_to_lower` and `log_p_to_upper`, and for the logarithms `log_p` of a simplex.
A parameter of such a name goes before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import constraints

from refti.models.supports import Support

LogDistance = Callable[[Float[Array, "..."]], Float[Array, "..."]]


def edge_names(supports: Mapping[str, Support]) -> dict[str, str]:
    """The parameter of each edge that a function may ask for by name."""
    found = {edge: name for name, support in supports.items() for edge in _edges_of(name, support)}
    return {edge: name for edge, name in found.items() if edge not in supports}


def edge(name: str, support: Support, wanted: str, x: Float[Array, " size"]) -> Array:
    """The edge of a parameter by its name, at the parameter's unconstrained coordinates."""
    return _edges_of(name, support)[wanted](x.reshape(support.unconstrained_shape))


class Values(dict[str, Any]):
    """The parameters' values, and edges that are computed when they are asked for."""

    def __init__(self, values: Mapping[str, Any], edges: Callable[[str], Any]):
        super().__init__(values)
        self._edges = edges

    def __missing__(self, name: str) -> Any:
        return self._edges(name)


def _edges_of(name: str, support: Support) -> dict[str, LogDistance]:
    if support.constraint is constraints.simplex:
        return {f"log_{name}": _log_shares}
    found: dict[str, LogDistance] = {}
    for side, log in _log_distances(support).items():
        found[f"log_{name}_to_{side}"] = log
        found[f"{name}_to_{side}"] = _exponential(log)
    return found


def _log_distances(support: Support) -> dict[str, LogDistance]:
    """The logarithm of the distance to each finite bound, as a function of the coordinate."""
    low, high = support.lower, support.upper
    if low is None or high is None:
        return {}
    if np.isfinite(low) and np.isfinite(high):
        scale = float(np.log(high - low))
        return {
            "lower": lambda x: scale + jax.nn.log_sigmoid(x),
            "upper": lambda x: scale + jax.nn.log_sigmoid(-x),
        }
    sides = {"lower": low, "upper": high}
    return {side: lambda x: x for side, bound in sides.items() if np.isfinite(bound)}


def _exponential(log: LogDistance) -> LogDistance:
    return lambda x: jnp.exp(log(x))


def _log_shares(x: Float[Array, " size"]) -> Float[Array, " shares"]:
    """The logarithms of all shares, log z_k + sum of log(1 - z_j) over j < k, as sticks break."""
    size = x.shape[-1]
    x = x - jnp.log(size - jnp.arange(size))
    broken = jnp.append(jax.nn.log_sigmoid(x), 0.0)
    return broken + jnp.append(0.0, jnp.cumsum(jax.nn.log_sigmoid(-x)))
