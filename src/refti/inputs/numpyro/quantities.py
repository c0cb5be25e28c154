"""What a NumPyro model knows beside its latents: deterministics, plates, data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.inputs.numpyro.sites import Site, is_latent, log_probabilities, of_kind
from refti.inputs.numpyro.space import NumPyroSpace
from refti.models.quantities import ByName, Quantities


def read_quantities(space: NumPyroSpace, start: np.ndarray) -> Quantities:
    """All that the result of a run may tell of the model; plates are the names of axes."""
    sites = space.sites(jnp.asarray(start))
    derived = [name for name, site in sites.items() if site["type"] == "deterministic"]
    observed = of_kind(sites, "observed")
    return Quantities(
        dims={
            name: _plates(site)
            for name, site in sites.items()
            if name in observed or (site["type"] == "sample" and is_latent(site))
        },
        derived=_by_name(space, derived, lambda site: site["value"]),
        observed={name: np.asarray(site["value"]) for name, site in observed.items()},
        log_likelihoods=_by_name(space, list(observed), log_probabilities),
    )


def _plates(site: Site) -> tuple[str, ...]:
    """The names of a site's axes: those of its plates, numbered where there are none."""
    shape = jnp.shape(site["value"])
    names = [f"{site['name']}_dim_{axis}" for axis in range(len(shape))]
    for plate in site.get("cond_indep_stack", ()):
        axis = len(shape) - site["fn"].event_dim + plate.dim
        if 0 <= axis < len(shape) and shape[axis] == plate.size:
            names[axis] = plate.name
    return tuple(names)


def _by_name(space: NumPyroSpace, names: list[str], read: Callable[[Site], Any]) -> ByName | None:
    """What is read off some sites as a function of points; None if there are no such sites."""
    if not names:
        return None

    @cache
    def program() -> Callable[[Any], Mapping[str, Any]]:
        def at(x: Any) -> dict[str, Any]:
            sites = space.sites(x)
            return {name: jnp.asarray(read(sites[name])) for name in names}

        # One point after another: some batches wait for ever (see models/batching).
        return jax.jit(lambda points: jax.lax.map(at, points))

    def values(x: np.ndarray) -> dict[str, np.ndarray]:
        with jax.enable_x64(True):
            found = program()(jnp.asarray(x, jnp.float64))
        return {name: np.asarray(found[name]) for name in names}

    return values
