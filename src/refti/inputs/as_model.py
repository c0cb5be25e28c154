"""What evidence() was given, as a refti.Model: PyMC, Bambi and NumPyro models as they are."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from refti.errors import SettingsError
from refti.inputs.numpyro import from_numpyro
from refti.inputs.pymc import from_pymc
from refti.models.model import Model


def as_model(model: object, args: Sequence[Any] | Mapping[str, Any] | None = None) -> Model:
    """The model itself, or the one of a PyMC model, a Bambi model or a NumPyro function.

    Args:
        model: what was given.
        args: the arguments of a NumPyro function, in order or by name.

    Raises SettingsError, with how to make a model of what was given, if it is none of these.
    """
    if args is not None and (isinstance(model, Model) or not callable(model)):
        raise SettingsError(
            "args= are the arguments of a NumPyro function, and this is a "
            f"{type(model).__name__}. Leave them out."
        )
    if isinstance(model, Model):
        return model
    if is_pymc_model(model):
        return _from_pymc(model)
    if callable(model) and not isinstance(model, type) and (args is not None or _asks_none(model)):
        return _from_function(model, () if args is None else args)
    raise SettingsError(
        f"Expected a refti.Model; got {type(model).__name__}. Make one with {_remedy(model)}."
    )


def is_pymc_model(model: object) -> bool:
    """Whether it is a model of PyMC, or one of Bambi, which holds one."""
    return _is_from("pymc", model) or _is_from("bambi", model)


def _from_pymc(model: Any) -> Model:
    return from_pymc(_built(model) if _is_from("bambi", model) else model)


def _is_from(package: str, model: object) -> bool:
    """Whether it is a model of a package, which need not be installed to ask that."""
    return any(
        kind.__name__ == "Model" and kind.__module__.split(".")[0] == package
        for kind in type(model).__mro__
    )


def _built(model: Any) -> Any:
    """The PyMC model of a Bambi model."""
    if not getattr(model, "built", False):
        model.build()
    return model.backend.model


def _from_function(function: Any, args: Sequence[Any] | Mapping[str, Any]) -> Model:
    if isinstance(args, Mapping):
        return from_numpyro(function, **args)
    if isinstance(args, list | tuple):
        return from_numpyro(function, *args)
    raise SettingsError(
        "args= must be a tuple of the NumPyro function's arguments, or a dictionary of them by "
        f"name; got {type(args).__name__}. Write args=(y,) for a single one."
    )


def _asks_none(function: Any) -> bool:
    """Whether a function can be called without arguments, as a density of anything cannot."""
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True


def _remedy(model: object) -> str:
    if isinstance(model, str | PathLike):
        return 'refti.from_stan("model.stan", data)'
    if callable(model):
        return (
            "refti.Model(log_density, dim=...) if it is written in JAX, refti.from_callable(f, "
            "dim=...) if not; if it is a NumPyro model, give its arguments by args=(...)"
        )
    return "refti.Model(log_density, dim=...)"
