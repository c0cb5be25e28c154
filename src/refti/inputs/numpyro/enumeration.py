"""Discrete latent sites of a NumPyro model summed out of its density, by funsor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro import handlers

from refti.inputs.numpyro.sites import (
    Call,
    Kind,
    Site,
    at_random,
    is_latent,
    kind,
    log_jacobian,
    mask_of,
    of_kind,
)
from refti.inputs.numpyro.space import NumPyroSpace
from refti.inputs.numpyro.tuning import TUNING


def sites_to_sum_out(sites: Mapping[str, Site]) -> frozenset[str]:
    """The names of latent sites over finitely many values; none where funsor is not installed."""
    if find_spec("funsor") is None:
        return frozenset()
    return frozenset(
        name
        for name, site in sites.items()
        if is_latent(site) and site["fn"].support.is_discrete and site["fn"].has_enumerate_support
    )


def nats_of_masks(call: Call) -> dict[str, float]:
    """By how much masks raise the log density, for each site to be summed out that has any.

    Where a mask leaves out an element NumPyro counts each of its K values with weight one, so that
    together they weigh K and not 1.
    """

    def counted() -> dict[str, Array]:
        value_of = at_random(np.random.default_rng(1), TUNING.radius)
        sites = replace(call, summed_out=frozenset()).run(value_of)
        return {name: _nats_of_mask(sites[name]) for name in sorted(call.summed_out)}

    nats = {name: float(value) for name, value in jax.jit(counted)().items()}
    return {name: value for name, value in nats.items() if value > 0}


def _nats_of_mask(site: Site) -> Array:
    values = site["fn"].enumerate_support(expand=False).shape[0]
    left_out = ~jnp.broadcast_to(mask_of(site), site["fn"].batch_shape)
    return jnp.sum(left_out) * np.log(values)


def summed_log_density(
    space: NumPyroSpace, x: Float[Array, " dim"], *, without: Kind | None, nats: float = 0.0
) -> Float[Array, ""]:
    """The log density at unconstrained coordinates, Jacobian included, discrete sites summed out.

    Without the sites that are the likelihood it is the prior. `nats` is what masks add to it, which
    is taken off again.
    """
    from numpyro.contrib.funsor import config_enumerate, enum, log_density

    call, sites, coordinates = space.call, space.sites(x), space.by_name(x)
    latent = of_kind(sites, "latent")
    model = call.in_64_bits
    if without is not None:
        model = handlers.block(model, hide_fn=lambda site: kind(site) == without)
    summed = enum(config_enumerate(model), first_available_dim=-1 - _plate_depth(call))
    values = {name: site["value"] for name, site in latent.items()}
    total, _ = log_density(summed, call.args, call.kwargs, values)
    return (
        jnp.asarray(total).reshape(())
        - nats
        + sum(log_jacobian(site, coordinates[name]) for name, site in latent.items())
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
