"""Discrete latent sites of a NumPyro model summed out of its density, by funsor."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

import jax.numpy as jnp
from jaxtyping import Array, Float
from numpyro import handlers

from refti.inputs.numpyro.sites import Call, Kind, Site, is_latent, kind, log_jacobian, of_kind
from refti.inputs.numpyro.space import NumPyroSpace


def sites_to_sum_out(sites: Mapping[str, Site]) -> frozenset[str]:
    """The names of latent sites over finitely many values; none where funsor is not installed."""
    if find_spec("funsor") is None:
        return frozenset()
    return frozenset(
        name
        for name, site in sites.items()
        if is_latent(site) and site["fn"].support.is_discrete and site["fn"].has_enumerate_support
    )


def summed_log_density(
    space: NumPyroSpace, x: Float[Array, " dim"], *, without: Kind | None
) -> Float[Array, ""]:
    """The log density at unconstrained coordinates, Jacobian included, discrete sites summed out.

    Without the sites that are the likelihood it is the prior.
    """
    from numpyro.contrib.funsor import config_enumerate, enum, log_density

    call, sites, coordinates = space.call, space.sites(x), space.by_name(x)
    latent = of_kind(sites, "latent")
    model = call.function
    if without is not None:
        model = handlers.block(model, hide_fn=lambda site: kind(site) == without)
    summed = enum(config_enumerate(model), first_available_dim=-1 - _plate_depth(call))
    values = {name: site["value"] for name, site in latent.items()}
    total, _ = log_density(summed, call.args, call.kwargs, values)
    return jnp.asarray(total).reshape(()) + sum(
        log_jacobian(site, coordinates[name]) for name, site in latent.items()
    )


def _plate_depth(call: Call) -> int:
    """How many axes from the right plates take, beyond which enumerated values may spread."""
    depths = [0]

    def read(sites: dict[str, Site]) -> None:
        for site in sites.values():
            for plate in site.get("cond_indep_stack", ()) if site["type"] == "sample" else ():
                depths.append(-plate.dim)
            if site["type"] == "sample":
                depths.append(len(site["fn"].batch_shape))

    call.outline(read, lambda site: None)
    return max(depths)
