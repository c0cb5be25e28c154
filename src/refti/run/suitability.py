"""Whether what is settings for suits the models, told before any compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from refti.errors import SettingsError
from refti.models.model import Model
from refti.references.registry import FAMILIES, require_family
from refti.run.settings import Settings
from refti.sampling.kernels.registry import BY_VALUES, KERNELS


def adapted_to_models(settings: Settings, models: Sequence[Model]) -> Settings:
    """The settings with a kernel that these models allow, and nothing that they do not have."""
    stations = [station for station in settings.stations if isinstance(station, Model)]
    if all(model.has_gradient for model in (*models, *stations)):
        return settings
    needing = [
        f"reference {station!r}" if isinstance(station, str) else f"a Taylor expansion ({station})"
        for station in settings.stations
        if isinstance(station, int) or _needs_gradient(station)
    ]
    if needing:
        raise SettingsError(
            f"{' and '.join(needing).capitalize()} cannot be used with a model without gradients. "
            "Use reference='auto', 'covariance', 'laplace' or 'student', or write the model in "
            "JAX as a refti.Model."
        )
    if not KERNELS[settings.kernel].needs_gradient:
        return settings
    return replace(settings, kernel=BY_VALUES)


def require_fitting_stations(model: Model, settings: Settings) -> None:
    """Raises SettingsError if a part of reference= does not go with the model."""
    first, *rest = settings.stations
    if isinstance(first, str):
        require_family(first, model)
    else:
        _check_reference(first, model.dim)
    for station in rest:
        if isinstance(station, Model) and station.dim != model.dim:
            raise SettingsError(
                "A density between the reference and the posterior must have the model's "
                f"dimension; got {station.dim} and {model.dim}."
            )


def _needs_gradient(station: Any) -> bool:
    family = FAMILIES.get(station) if isinstance(station, str) else None
    return family is not None and family.needs_gradient


def _check_reference(reference: Any, dim: int) -> None:
    name = type(reference).__name__
    if jax.tree_util.all_leaves([reference]):
        raise SettingsError(
            "A reference must be a JAX pytree, so that its numbers can be told apart from its "
            f"program; {name} is not. Register it with jax.tree_util.register_dataclass."
        )
    point = jax.ShapeDtypeStruct((dim,), np.float64)
    try:
        density = jax.eval_shape(lambda r, x: r.log_density(x), reference, point)
        draw = jax.eval_shape(lambda r, key: r.sample(key), reference, jax.random.key(0))
    except Exception as error:
        raise SettingsError(
            f"The reference {name} does not work in the model's dimension, {dim}: {error}"
        ) from error
    if density.shape != () or draw.shape != (dim,):
        raise SettingsError(
            f"The reference {name} must give one log density and draws of shape ({dim},); got "
            f"shapes {density.shape} and {draw.shape}."
        )
