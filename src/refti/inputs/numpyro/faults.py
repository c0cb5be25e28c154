"""Faults of a NumPyro model that its statements show, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import jax.numpy as jnp
import numpy as np
from numpyro.distributions import Delta, ImproperUniform

from refti.inputs.numpyro.sites import (
    Site,
    family,
    is_latent,
    kind,
    layers,
    log_probabilities,
    of_kind,
)


def faults(sites: Mapping[str, Site]) -> list[str]:
    """Why the model has no evidence, or none that can be had here."""
    told = [
        fault
        for name, site in sites.items()
        for check in _CHECKS
        if (fault := check(name, site)) is not None
    ]
    if not told and not of_kind(sites, "latent"):
        told.append(
            "The model has no latent site, so there is nothing to integrate. Expected at least "
            "one numpyro.sample without obs=. Of a point null hypothesis the log evidence is the "
            "log probability of its data: numpyro.infer.util.log_density(model, args, {}, {})[0]."
        )
    return told


def doubts(sites: Mapping[str, Site]) -> Iterator[str]:
    """What the user should know of a model that can be used."""
    factors, observed = of_kind(sites, "factor"), of_kind(sites, "observed")
    for name in factors if observed else ():
        yield (
            f'factor "{name}" counts as part of the prior, which no longer integrates to one if '
            "the factor is not normalised; write data as numpyro.sample(..., obs=)."
        )
    if not observed and not factors:
        yield (
            "The model has no observed site, so all of it is prior, and the evidence of a prior "
            "is 1. Pass the data (obs=), unless that is what you want."
        )
    for name, site in observed.items():
        shape, distribution = jnp.shape(site["value"]), site["fn"]
        data = shape[: len(shape) - distribution.event_dim]
        together = log_probabilities(site).size
        if together > max(np.prod(data), np.prod(distribution.batch_shape)):
            yield (
                f'observed site "{name}" has data of shape {shape} and a distribution of shape '
                f"{distribution.shape()}, which together give {together} log probabilities: "
                "values are counted several times. Give both the same shape."
            )


def structure(sites: Mapping[str, Site]) -> dict[str, str]:
    """The kind and shape of every site that has a part in the density, in words."""
    return {
        name: f"{kind(site)} of shape {jnp.shape(site['value'])}"
        for name, site in sites.items()
        if kind(site) is not None
    }


def structure_changes(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """How the structures of two runs differ."""
    return [
        f'Site "{name}" is {one.get(name, "absent")} in one run of the model and '
        f"{other.get(name, 'absent')} in another. Evidence needs the same sites and shapes "
        "whatever the values: write one model for each structure and compare them."
        for name in {**one, **other}
        if one.get(name) != other.get(name)
    ]


def _discrete(name: str, site: Site) -> str | None:
    if not (is_latent(site) and site["fn"].support.is_discrete):
        return None
    by_hand = (
        f'sum "{name}" out of the model, for example with '
        "numpyro.distributions.MixtureSameFamily, or give its values by obs="
    )
    if site["fn"].has_enumerate_support:
        by_hand = "run pip install funsor, so that refti can sum it out, or " + by_hand
    return (
        f'Latent site "{name}" is discrete ({family(site)}). Evidence needs a density over '
        f"continuous parameters: {by_hand}."
    )


def _not_real(name: str, site: Site) -> str | None:
    if not is_latent(site) or site["fn"].support.is_discrete:
        return None
    dtype = jnp.result_type(site["value"])
    if jnp.issubdtype(dtype, jnp.floating):
        return None
    return f'Latent site "{name}" ({family(site)}) has values of type {dtype}; expected real ones.'


def _point_mass(name: str, site: Site) -> str | None:
    if not (is_latent(site) and _holds(site, Delta)):
        return None
    return (
        f'Latent site "{name}" is a point mass (Delta), which has no density. Write it with '
        "numpyro.deterministic."
    )


def _improper(name: str, site: Site) -> str | None:
    if not (is_latent(site) and _holds(site, ImproperUniform)):
        return None
    return (
        f'Latent site "{name}" has an improper prior (ImproperUniform), with which the evidence '
        "does not exist. Give it a proper prior, or leave out the reparametrisation that made it."
    )


def _parameter(name: str, site: Site) -> str | None:
    if site["type"] != "param":
        return None
    return (
        f'"{name}" is a numpyro.param, which has no probability. Write it with numpyro.sample '
        "and a prior, or pass its value as an argument."
    )


def _subsampled(name: str, site: Site) -> str | None:
    if site["type"] != "plate" or site["args"][1] in (None, site["args"][0]):
        return None
    return (
        f'plate "{name}" takes {site["args"][1]} of {site["args"][0]} at random, so the density '
        "is random too. Leave out subsample_size=."
    )


def _holds(site: Site, distribution: type) -> bool:
    return any(isinstance(layer, distribution) for layer in layers(site["fn"]))


_CHECKS: tuple[Callable[[str, Site], str | None], ...] = (
    _discrete,
    _not_real,
    _point_mass,
    _improper,
    _parameter,
    _subsampled,
)
