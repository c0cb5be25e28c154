"""Sites: what a NumPyro model says when it is run, and what each statement adds to the density."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.distributions.distribution import MaskedDistribution, Unit

from refti.errors import ModelError
from refti.inputs.numpyro.scans import WideCarries

Site = Mapping[str, Any]
Kind = Literal["latent", "observed", "factor"]
T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A NumPyro model with its arguments, which can be run at given values of its latents.

    Attributes:
        function: the model.
        args: its arguments.
        kwargs: those given by name.
        summed_out: discrete sites that are no parameters; runs have one of their values, unseen.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    summed_out: frozenset[str] = frozenset()

    @property
    def in_64_bits(self) -> Callable[..., Any]:
        """The model with carries of 64 bits in its scans."""
        return WideCarries(self.function)

    def run(self, value_of: Callable[[Site], Any], seed: Any = 0) -> dict[str, Site]:
        """All sites by name, in the order of the model, the latents at the values given.

        The seed serves the statements that have no value otherwise. It stands outside, so that
        no random number is drawn for those that have one.
        """

        def value(site: Site) -> Any:
            if not is_latent(site):
                return None
            return _last_value(site) if site["name"] in self.summed_out else value_of(site)

        seeded = handlers.seed(handlers.substitute(self.in_64_bits, substitute_fn=value), seed)
        if self.summed_out:
            seeded = handlers.block(seeded, hide=list(self.summed_out))
        return handlers.trace(seeded).get_trace(*self.args, **self.kwargs)

    def outline(self, read: Callable[[dict[str, Site]], T], value_of: Callable[[Site], Any]) -> T:
        """What is read off the sites of a run in which nothing is computed."""
        found: list[T] = []
        jax.eval_shape(lambda: found.append(read(self.run(value_of))))
        return found[0]


def _last_value(site: Site) -> Any:
    """The last value of a discrete site's finite support, in the shape of the site."""
    last = site["fn"].enumerate_support(expand=False)[-1]
    return jnp.broadcast_to(jnp.reshape(last, site["fn"].event_shape), site["fn"].shape())


def at_random(rng: np.random.Generator, radius: float) -> Callable[[Site], Any]:
    """Values of latents whose unconstrained coordinates lie within a radius about 0."""

    def value_of(site: Site) -> Any:
        if site["fn"].support.is_discrete:
            return None
        transform = bijection(site)
        shape = transform.inverse_shape(site["fn"].shape())
        return transform(jnp.asarray(rng.uniform(-radius, radius, shape)))

    return value_of


def at_coordinates(coordinates: Mapping[str, Float[Array, "..."]]) -> Callable[[Site], Any]:
    """Values of latents at unconstrained coordinates given by name."""

    def value_of(site: Site) -> Any:
        z = coordinates.get(site["name"])
        if z is None:  # a site that was not there before; its values are drawn
            return None
        transform = bijection(site)
        step = site["infer"].get("_scan_current_index")
        if step is not None and z.ndim > len(transform.inverse_shape(site["fn"].shape())):
            z = z[step]  # inside NumPyro's scan a site is one step of the whole
        return transform(z)

    return value_of


def kind(site: Site) -> Kind | None:
    """What part a site has in the density; None for one that has none."""
    if site["type"] != "sample":
        return None
    if is_latent(site):
        return "latent"
    return "factor" if any(isinstance(d, Unit) for d in layers(site["fn"])) else "observed"


def of_kind(sites: Mapping[str, Site], wanted: Kind) -> dict[str, Site]:
    """The sites of a kind by name."""
    return {name: site for name, site in sites.items() if kind(site) == wanted}


def likelihood_kind(kinds: Collection[Kind | None]) -> Kind | None:
    """Which sites are the likelihood: observed ones, and factors where nothing is observed.

    A model without observed sites says its likelihood by factors, or has none. Beside observed
    sites a factor may be anything, and counts with the prior, which is seen to integrate to one.
    """
    return next((wanted for wanted in ("observed", "factor") if wanted in kinds), None)


def is_latent(site: Site) -> bool:
    """Whether a site is a parameter."""
    return site["type"] == "sample" and not site["is_observed"]


def log_probabilities(site: Site) -> Float[Array, "..."]:
    """What a site adds to the log density, element by element; masks and scales respected."""
    # In jax.numpy, for NumPyro holds NumPy values against bounds by NumPy, traced ones or not.
    values = site["fn"].log_prob(jnp.asarray(site["value"]))
    return values if site["scale"] is None else site["scale"] * values


def log_probability(site: Site) -> Float[Array, ""]:
    """What a site adds to the log density."""
    return jnp.sum(log_probabilities(site))


def mask_of(site: Site) -> Bool[Array, "..."]:
    """Which elements of a site count, all masks about it together; in any shape that broadcasts."""
    mask = jnp.asarray(True)
    for layer in layers(site["fn"]):
        if isinstance(layer, MaskedDistribution):
            mask = mask & layer._mask
    return mask


def log_jacobian(site: Site, z: Float[Array, "..."]) -> Float[Array, ""]:
    """The log Jacobian of the map from unconstrained coordinates to a latent's value.

    Not scaled though the site may be: a change of variables leaves the integral as it is.
    """
    return jnp.sum(bijection(site).log_abs_det_jacobian(z, site["value"]))


def bijection(site: Site) -> Any:
    """NumPyro's map from unconstrained space to the support of a site, at the values it has."""
    try:
        return biject_to(site["fn"].support)
    except NotImplementedError:
        raise ModelError(
            f'Latent site "{site["name"]}" ({family(site)}) has a support that NumPyro cannot map '
            "from unconstrained space. Write it in terms of sites that can be, for example by "
            "handlers.reparam."
        ) from None


def family(site: Site) -> str:
    """The name of a site's distribution, without the layers of plates and masks about it."""
    *_, innermost = layers(site["fn"])
    return type(innermost).__name__


def layers(distribution: Any) -> Iterator[Any]:
    """A distribution, the one inside it, and so on."""
    while distribution is not None:
        yield distribution
        distribution = getattr(distribution, "base_dist", None)
