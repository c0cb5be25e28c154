"""from_numpyro(): the model of a NumPyro function and its arguments."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.extend.core import ClosedJaxpr
from jaxtyping import Array, Float

from refti.errors import ModelError
from refti.inputs.numpyro.enumeration import (
    nats_of_masks,
    sites_to_sum_out,
    summed_log_density,
)
from refti.inputs.numpyro.faults import doubts, faults, structure
from refti.inputs.numpyro.normalised import prior_parts
from refti.inputs.numpyro.quantities import read_quantities
from refti.inputs.numpyro.sites import (
    Call,
    Kind,
    Site,
    at_random,
    kind,
    likelihood_kind,
    log_jacobian,
    log_probability,
    of_kind,
)
from refti.inputs.numpyro.space import Latent, NumPyroSpace, latents
from refti.inputs.numpyro.trial import Trial, try_model
from refti.inputs.numpyro.tuning import TUNING
from refti.models.density import Density, ProductDensity, to_density, trace
from refti.models.exact_edges import keep_edges
from refti.models.model import Model
from refti.models.recipe import Recipe, copy_arrays
from refti.models.user_functions import first_line, warn_of_32_bits, where


def from_numpyro(model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Model:
    """The model of a NumPyro function called with these arguments.

    The latent sites are the parameters, mapped from unconstrained space by NumPyro's own
    transforms. Their log probabilities and the Jacobians are the prior; observed sites are the
    likelihood. A `numpyro.factor` may be anything: if there are observed sites it counts as part of
    the prior, so that the check that the prior integrates to one covers it too; in a model without
    observed sites the factors are the likelihood. Scales, masks and reparametrisations by handlers
    are respected; the Jacobian of a scaled site is not scaled. Discrete latent sites over finitely
    many values are summed out if the package funsor is installed.

    The function is run here and never again: whatever it reads from outside is fixed from then on.

    Args:
        model: a function of NumPyro statements, or one wrapped by NumPyro's handlers.
        *args: its arguments, such as the data.
        **kwargs: its arguments given by name.
    """
    call = _check_call(model, args, kwargs)
    with jax.enable_x64(True):
        outline = _run_users_function(lambda: _outline(call))
        if outline.discrete:
            call = replace(call, summed_out=outline.discrete)
            outline = _run_users_function(lambda: _outline(call))
        _require_no_faults(outline.faults)
        space = NumPyroSpace(call, outline.latents)
        trial = _run_users_function(lambda: try_model(space, outline.structure))
        _require_no_faults(trial.faults)
        for doubt in (*outline.doubts, *trial.doubts):
            warnings.warn(doubt, stacklevel=2)
        if call.summed_out:
            return _with_sites_summed_out(space, outline, trial)
        data = likelihood_kind(outline.kinds)
        prior = _trace_factor(space, ("latent",) if data == "factor" else ("latent", "factor"))
        warn_of_32_bits(prior, "The prior of the NumPyro model", stacklevel=3)
        prior = keep_edges(prior)
        density: Density = to_density(prior)
        if data is not None:
            likelihood = _trace_factor(space, (data,))
            warn_of_32_bits(likelihood, "The likelihood of the NumPyro model", stacklevel=3)
            density = ProductDensity((density, to_density(keep_edges(likelihood))))
        made = Model.assembled(
            space,
            density,
            prior=to_density(prior) if data is not None else None,
            start=trial.start,
            source=f"NumPyro {numpyro.__version__}",
            recipe=Recipe(f"{__name__}:from_numpyro", (call.function, *call.args), call.kwargs),
            prior_parts=outline.prior_parts,
            prior_draws=space.draw_prior if outline.prior_parts else None,
        )
        found = _run_users_function(lambda: read_quantities(space, trial.start))
        return made.with_quantities(found)


def _with_sites_summed_out(space: NumPyroSpace, outline: _Outline, trial: Trial) -> Model:
    """The model whose discrete sites are summed out of its density.

    What each observation adds to the likelihood depends on them, and so may deterministics, so
    that neither is given in results.
    """

    call, data = space.call, likelihood_kind(outline.kinds)
    masked = _run_users_function(lambda: nats_of_masks(call))
    for name, nats in masked.items():
        warnings.warn(_of_mask(name, nats), stacklevel=3)

    def traced(without: Kind | None) -> Density:
        def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
            return summed_log_density(space, x, without=without, nats=sum(masked.values()))

        dim = len(space.coordinates)
        return to_density(_run_users_function(lambda: trace(log_density, dim)))

    made = Model.assembled(
        space,
        traced(None),
        prior=None if data is None else traced(data),
        start=trial.start,
        source=f"NumPyro {numpyro.__version__}, {_listed(call.summed_out)} summed out by funsor",
        recipe=Recipe(f"{__name__}:from_numpyro", (call.function, *call.args), call.kwargs),
    )
    known = read_quantities(space, trial.start)
    return made.with_quantities(replace(known, derived=None, log_likelihoods=None))


def _of_mask(name: str, nats: float) -> str:
    return (
        f'Discrete site "{name}" is masked out in places. NumPyro counts each of its values there '
        f"with weight one, which is {nats:.3f} nats too many; refti divides by them, so that the "
        "values left out are equally probable. If that is not what you mean, mask the observed "
        "sites alone."
    )


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f'"{name}"' for name in sorted(names))


def _check_call(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    if isinstance(model, Model):
        raise ModelError("This is already a refti.Model; from_numpyro takes a NumPyro function.")
    if not callable(model):
        raise ModelError(
            f"from_numpyro takes a function of NumPyro statements and its arguments; got "
            f"{type(model).__name__}."
        )
    try:
        inspect.signature(model).bind(*args, **kwargs)
    except TypeError as error:
        raise ModelError(
            f"The arguments do not fit the NumPyro model: {error}. Expected those of "
            f"{getattr(model, '__name__', 'model')}{inspect.signature(model)}, as in "
            "refti.from_numpyro(model, x, y=y)."
        ) from error
    except ValueError:  # a function of which Python does not know the arguments
        pass
    # Once JAX has seen a NumPy array in 64-bit mode it takes it for one of 64 bits in 32-bit mode
    # too, and fails there. The user's own arrays must not be the ones it sees.
    return Call(model, copy_arrays(args), copy_arrays(kwargs))


class _Outline(NamedTuple):
    """What the statements of a model show before anything is computed."""

    faults: list[str]
    doubts: Sequence[str] = ()
    kinds: frozenset[Kind | None] = frozenset()
    structure: Mapping[str, str] = MappingProxyType({})
    latents: Mapping[str, Latent] = MappingProxyType({})
    prior_parts: str = ""  # why the prior is normalised, in words
    discrete: frozenset[str] = frozenset()  # sites that can be summed out, if there are any


def _outline(call: Call) -> _Outline:
    def read(sites: dict[str, Site]) -> _Outline:
        found, discrete = faults(sites), sites_to_sum_out(sites)
        if found or discrete:
            return _Outline(found, discrete=discrete)
        kinds = frozenset(kind(site) for site in sites.values())
        told = [*doubts(sites)]
        return _Outline([], told, kinds, structure(sites), latents(sites), prior_parts(sites))

    return call.outline(read, at_random(np.random.default_rng(1), TUNING.radius))


def _require_no_faults(found: list[str]) -> None:
    if found:
        raise ModelError("\n".join(found))


def _trace_factor(space: NumPyroSpace, kinds: tuple[Kind, ...]) -> ClosedJaxpr:
    """The program of the sites of some kinds; that of the latents has the Jacobian."""

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        sites, coordinates = space.sites(x), space.by_name(x)
        total = jnp.zeros(())
        for wanted in kinds:
            for name, site in of_kind(sites, wanted).items():
                total = total + log_probability(site)
                if wanted == "latent":
                    total = total + log_jacobian(site, coordinates[name])
        return total

    return _run_users_function(lambda: trace(log_density, len(space.coordinates)))


def _run_users_function(run: Callable[[], Any]) -> Any:
    """What a run of the user's function gives. Raises ModelError if it fails."""
    try:
        return run()
    except ModelError:
        raise
    except jax.errors.JAXTypeError as error:
        raise ModelError(
            f"The NumPyro model cannot be traced by JAX: {first_line(error)} ({where(error)}). "
            "Write it with jax.numpy and without Python branches on the values of sites."
        ) from error
    except Exception as error:
        raise ModelError(
            f"The NumPyro model failed when it was run: {type(error).__name__}: "
            f"{first_line(error)} ({where(error)})."
        ) from error
