"""Model: a log density on unconstrained space, with the user's names, shapes and supports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.errors import ModelError
from refti.models.batching import log_densities
from refti.models.density import Density, ProductDensity, ValueOnlyDensity
from refti.models.quantities import NOTHING_ELSE, Quantities, data_digest
from refti.models.recipe import Recipe
from refti.models.rejections import Rejections
from refti.models.space import Shaped, Space, SupportedSpace
from refti.models.supports import Support
from refti.models.user_functions import (
    name_parameters,
    require_functions,
    shared_keywords,
    trace_factor,
    unconstrain_start,
)

ValueAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From points x[n, dim] to log densities [n] and gradients [n, dim]; -inf and 0 outside."""

PriorDraws = Callable[[int, int], np.ndarray]
"""From a number of draws and a seed to unconstrained points x[n, dim]."""


class Model:
    """A density to be integrated, over unconstrained x in R^dim.

    Give the log density of a vector (`dim=`), or of named parameters with supports; then the
    function takes one dictionary, or keyword arguments with the names of the parameters. Give
    `log_prior` and `log_likelihood` instead of `log_density` to keep the two separate. The
    Jacobians of the supports are added here; your functions work with the parameters themselves.

    Each function is traced by JAX twice, here, and never again: whatever it reads from outside is
    fixed from then on, and all faults of the function are reported before any sampling. The second
    trace shows whether it draws random numbers, which JAX would fix too.

    Attributes:
        space: the parameters by name and the map from unconstrained coordinates to them.
        density: the density of unconstrained coordinates, Jacobian included.
        prior: the prior's factor with the Jacobian, or None if it is not given separately.
        start: unconstrained coordinates where the search for the posterior begins.
        source: what the model is written in and how it is evaluated, in words.
        rejections: a function that says which points the model's own code has rejected so far.
        limits: what else decides where the density is zero, by name.
        recipe: how another process can make the model; None if it cannot.
        no_recipe: why it cannot, in words.
        origin: what the model was made from, such as the names and sha256 of a program and its
            data, as values that JSON can hold; None if nothing but the density is known.
        notes: sentences that a reader of the evidence must know about the model.
        quantities: what is known of draws and data besides the parameters, for the result.
        operations: roughly how many operations an evaluation takes, if the density's program does
            not show it but its maker knows; otherwise None.
        prior_parts: why the prior integrates to one by construction, in words; empty if that is
            not known.
        prior_draws: a function of a number and a seed that makes exact draws of the prior,
            x[n, dim], in the model's own language; None if there is none.
    """

    space: Space
    density: Density
    prior: Density | None
    start: np.ndarray
    source: str
    rejections: Callable[[], Rejections | None]
    limits: Mapping[str, int]
    recipe: Recipe | None
    no_recipe: str
    origin: Mapping[str, Any] | None
    notes: tuple[str, ...]
    quantities: Quantities
    operations: int | None
    prior_parts: str
    prior_draws: PriorDraws | None

    def __init__(
        self,
        log_density: Callable[..., Any] | None = None,
        parameters: Mapping[str, Support] | None = None,
        *,
        dim: int | None = None,
        log_prior: Callable[..., Any] | None = None,
        log_likelihood: Callable[..., Any] | None = None,
        start: Mapping[str, Any] | Any | None = None,
    ):
        functions = {
            "log_density": log_density,
            "log_prior": log_prior,
            "log_likelihood": log_likelihood,
        }
        given = require_functions(functions)
        space = SupportedSpace(name_parameters(parameters, dim))
        others = shared_keywords(parameters, dim, start)
        with jax.enable_x64(True):
            factors = {
                # The Jacobian belongs to the prior, so that it normalises in these coordinates.
                role: trace_factor(function, role, space, dim, role != "log_likelihood")
                for role, function in given.items()
            }
            self._assemble(
                space,
                factors.get("log_density", ProductDensity(tuple(factors.values()))),
                factors.get("log_prior"),
                unconstrain_start(space, start, takes_vector=dim is not None),
                "JAX",
                recipe=Recipe("refti.models.model:Model", (), {**given, **others}),
            )

    @classmethod
    def assembled(
        cls,
        space: Space,
        density: Density,
        *,
        prior: Density | None = None,
        start: np.ndarray | None = None,
        source: str,
        rejections: Callable[[], Rejections | None] | None = None,
        limits: Mapping[str, int] | None = None,
        recipe: Recipe | None = None,
        no_recipe: str = "it was put together from parts",
        origin: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        operations: int | None = None,
        prior_parts: str = "",
        prior_draws: PriorDraws | None = None,
    ) -> Model:
        """The model of a space and a density on it, whatever language they come from."""
        model = object.__new__(cls)
        begin = np.zeros(len(space.coordinates)) if start is None else start
        model._assemble(space, density, prior, begin, source, rejections, limits, recipe, no_recipe)
        known = None if origin is None else MappingProxyType(dict(origin))
        return model._changed(
            origin=known,
            notes=tuple(notes),
            operations=operations,
            prior_parts=prior_parts,
            prior_draws=prior_draws,
        )

    def _assemble(
        self,
        space: Space,
        density: Density,
        prior: Density | None,
        start: np.ndarray,
        source: str,
        rejections: Callable[[], Rejections | None] | None = None,
        limits: Mapping[str, int] | None = None,
        recipe: Recipe | None = None,
        no_recipe: str = "",
    ) -> None:
        self.__dict__.update(
            space=space,
            density=density,
            prior=prior,
            start=start,
            source=source,
            rejections=rejections or _none,
            limits=limits or {},
            recipe=recipe,
            no_recipe="" if recipe is not None else no_recipe,
            origin=None,
            notes=(),
            quantities=NOTHING_ELSE,
            operations=None,
            prior_parts="",
            prior_draws=None,
        )

    @property
    def parameters(self) -> Mapping[str, Shaped]:
        """What is known of each parameter, its shape above all, by name."""
        return self.space.parameters

    @property
    def dim(self) -> int:
        """The number of unconstrained coordinates."""
        return len(self.space.coordinates)

    @property
    def is_normalised(self) -> bool:
        """Whether the density is known to integrate to one, by the way it is made.

        That is a prior alone, all of whose factors are distributions known to do so.
        """
        return self.prior is None and bool(self.prior_parts)

    @property
    def has_gradient(self) -> bool:
        """Whether the density can be differentiated."""
        return not isinstance(self.density, ValueOnlyDensity)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Model is frozen; make a new one to change {name!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Model is frozen; {name!r} cannot be deleted.")

    def __repr__(self) -> str:
        return f"Model({', '.join(self.parameters)}; dim={self.dim})"

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The log density of unconstrained coordinates, Jacobian included."""
        with jax.enable_x64(True):
            return self.density.log_density(jnp.asarray(x, jnp.float64))

    def log_densities(self, x: np.ndarray) -> np.ndarray:
        """The log densities at points x[n, dim], as they come."""
        x = np.asarray(x, dtype=np.float64)
        with jax.enable_x64(True):
            if isinstance(self.density, ValueOnlyDensity):
                return self.density.log_densities(x)
            return np.asarray(log_densities(self.density, jnp.asarray(x)))

    def constrain(self, x: Float[Array, " dim"]) -> dict[str, Float[Array, "..."]]:
        """The named parameter values at unconstrained coordinates."""
        return self.space.constrain(x)

    def unconstrain(self, values: Mapping[str, Any]) -> Float[Array, " dim"]:
        """The unconstrained coordinates of named parameter values inside their supports."""
        return self.space.unconstrain(values)

    @property
    def supported_space(self) -> SupportedSpace:
        """The space, where every parameter's support was declared to refti."""
        if not isinstance(self.space, SupportedSpace):
            raise ModelError(
                "This needs parameters whose bounds were declared as supports, such as "
                f"refti.positive(); those of this model ({self.source}) are known only to its own "
                "language. Use reference='covariance', which works in unconstrained space."
            )
        return self.space

    def prior_alone(self) -> Model:
        """The model without its data: a density that should integrate to one."""
        if self.prior is None:
            raise ModelError(
                "This model gives its prior and likelihood only as their product. Make it with "
                "refti.Model(log_prior=, log_likelihood=)."
            )
        recipe = None if self.recipe is None else self.recipe.for_prior()
        return self._changed(density=self.prior, prior=None, recipe=recipe, quantities=NOTHING_ELSE)

    def with_prior_parts(self, words: str) -> Model:
        """The same model with another reason why its prior integrates to one; empty for none."""
        return self._changed(prior_parts=words)

    def require_recipe(self) -> Recipe:
        """The recipe. Raises ModelError if there is none."""
        if self.recipe is None:
            raise ModelError(
                f"The model cannot be made again in another process: {self.no_recipe}. Run it in "
                "this process."
            )
        return self.recipe

    def with_recipe(self, recipe: Recipe) -> Model:
        """The same model with another way to make it again."""
        return self._changed(recipe=recipe, no_recipe="")

    def with_quantities(self, quantities: Quantities) -> Model:
        """The same model with more known of its draws and data; its origin names the data."""
        if not quantities.observed:
            return self._changed(quantities=quantities)
        known = {
            "kind": self.source.split()[0].lower(),
            "observed": {name: list(data.shape) for name, data in quantities.observed.items()},
            "values_sha256": data_digest(quantities.observed),
        }
        origin = MappingProxyType({**known, **(self.origin or {})})
        return self._changed(quantities=quantities, origin=origin)

    def _changed(self, **fields: Any) -> Model:
        changed = object.__new__(Model)
        changed.__dict__.update(self.__dict__ | fields)
        return changed


def _none() -> None:
    """No rejections: a density in JAX refuses nothing."""
