"""Discrete variables of a PyMC model summed out of it by pymc-extras, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from refti.errors import ModelError

FINITE = ("BernoulliRV", "CategoricalRV", "DiscreteUniformRV", "DiscreteMarkovChainRV")


def sum_out_discrete(model: Any) -> Any:
    """The model without its discrete variables over finitely many values; as it is if it has none.

    Raises ModelError if pymc-extras cannot sum them out. Where it is not installed the model comes
    back as it is, and is refused later.
    """
    names = discrete_names(model, finite=True)
    if not names or find_spec("pymc_extras") is None:
        return model
    from pymc_extras import marginalize

    try:
        return marginalize(model, names)
    except Exception as error:
        raise ModelError(
            f"The discrete variables {', '.join(names)} cannot be summed out by pymc-extras "
            f"({type(error).__name__}: {error}). Write the model with a mixture instead, such as "
            "pymc.Mixture."
        ) from error


def discrete_names(model: Any, *, finite: bool) -> list[str]:
    """The names of discrete free variables that have, or have not, finitely many values."""
    return [
        rv.name
        for rv in model.free_RVs
        if not rv.dtype.startswith("float") and (type(rv.owner.op).__name__ in FINITE) == finite
    ]
