"""What each modelling language itself says of a zoo model's density, without refti."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import jax
import numpy as np
from numpyro.infer.util import log_density

from . import exact_pymc

OwnDensity = Callable[[Mapping[str, Any]], float]
"""From parameter values to their log density, with no Jacobian."""


def own_jax(zoo: ModuleType) -> OwnDensity:
    """The prior's and the likelihood's function, called."""
    return jax.jit(lambda values: zoo.log_prior(**values) + zoo.log_likelihood(**values))


def own_numpyro(zoo: ModuleType) -> OwnDensity:
    """NumPyro's joint log density of the traced model."""
    return jax.jit(lambda values: log_density(zoo.numpyro_model, (), zoo.DATA, values)[0])


def own_pymc(zoo: ModuleType) -> OwnDensity:
    """PyMC's compiled log probability, of the values that its transforms make of the parameters."""
    import pytensor

    with exact_pymc():
        model = zoo.pymc_model()
        compiled = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
        missing = getattr(zoo, "pymc_missing_constant", lambda: 0.0)()
    inputs = {variable.name: variable.type() for variable in model.free_RVs}
    outputs = []
    for variable in model.free_RVs:
        transform = model.rvs_to_transforms[variable]
        value = inputs[variable.name]
        given = variable.owner.inputs
        outputs.append(value if transform is None else transform.forward(value, *given))
    transformed = pytensor.function(
        list(inputs.values()), outputs, mode="FAST_COMPILE", on_unused_input="ignore"
    )
    names = [model.rvs_to_values[variable].name for variable in model.free_RVs]
    translate = getattr(zoo, "to_pymc_values", dict)
    log_jacobian = getattr(zoo, "pymc_log_jacobian", lambda values: 0.0)

    def own(values: Mapping[str, Any]) -> float:
        named = translate(values)
        point = transformed(*(np.asarray(named[name], dtype=np.float64) for name in inputs))
        log_density = float(compiled(dict(zip(names, point, strict=True))))
        return log_density + missing + log_jacobian(values)

    return own


OWN: dict[str, Callable[[ModuleType], OwnDensity]] = {
    "jax": own_jax,
    "numpyro": own_numpyro,
    "pymc": own_pymc,
}
