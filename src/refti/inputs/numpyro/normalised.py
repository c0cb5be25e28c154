"""Whether every factor of a NumPyro model's prior is a distribution known to integrate to 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpyro.distributions import ExpandedDistribution, Independent, TransformedDistribution

from refti.inputs.numpyro.sites import Site, layers, of_kind

# A test integrates each of them; those of several dimensions in two or three.
FAMILIES = frozenset(
    [
        "Beta",
        "Cauchy",
        "Dirichlet",
        "Exponential",
        "Gamma",
        "GaussianRandomWalk",
        "Gumbel",
        "HalfCauchy",
        "HalfNormal",
        "InverseGamma",
        "Laplace",
        "LeftTruncatedDistribution",
        "LKJCholesky",
        "Logistic",
        "LogNormal",
        "MultivariateNormal",
        "Normal",
        "Pareto",
        "RightTruncatedDistribution",
        "StudentT",
        "TwoSidedTruncatedDistribution",
        "Uniform",
        "Weibull",
    ]
)
AROUND = (Independent, ExpandedDistribution)


def prior_parts(sites: Mapping[str, Site]) -> str:
    """How the prior is made of normalised factors, in words; empty if any is not known to be one.

    A product of densities, each of which integrates to 1 whatever those before it are, does so too.
    """
    latent = of_kind(sites, "latent").values()
    has_factors = bool(of_kind(sites, "factor")) and bool(of_kind(sites, "observed"))
    if has_factors or not all(_is_normalised(site) for site in latent):
        return ""
    return f"each of its {len(latent)} sites has a distribution of NumPyro that integrates to 1"


def _is_normalised(site: Site) -> bool:
    return site["scale"] is None and _is_known(site["fn"])


def _is_known(distribution: Any) -> bool:
    for layer in layers(distribution):
        if _is_of_numpyro(layer) and type(layer).__name__ in FAMILIES:
            return True
        if type(layer) is TransformedDistribution:
            if not all(_is_of_numpyro(transform) for transform in layer.transforms):
                return False
        elif type(layer) not in AROUND:
            return False
    return False


def _is_of_numpyro(thing: object) -> bool:
    return type(thing).__module__.startswith("numpyro.distributions.")
