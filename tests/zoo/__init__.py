"""The model zoo: each model in Stan, PyMC, NumPyro and plain JAX, with the same density.

Every module holds DATA, ready for Stan; `stan`, the path of the program; `jax_model()`,
`numpyro_model(**DATA)` and `pymc_model()`. The four have the same parameters, and the same density
of them, constants included. Where a language packs its parameters in another way, the module says
how to translate: `from_pymc_values` and `to_pymc_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import refti

from . import (
    bounds,
    correlation,
    groups,
    logistic,
    mixture,
    ordinal,
    overdispersed,
    regression,
    renewal,
    schools_centred,
    schools_noncentred,
)


@contextmanager
def exact_pymc() -> Iterator[None]:
    """Keeps the numbers in PyMC models in 64 bits.

    PyTensor holds a number such as 10.0 in 32 bits and takes its logarithm in them: 3e-8 off.
    """
    from pytensor.scalar.basic import autocast_float_as

    with autocast_float_as("float64"):
        yield


def _from_pymc(zoo: ModuleType) -> refti.Model:
    with exact_pymc():
        return refti.from_pymc(zoo.pymc_model())


MODELS: dict[str, ModuleType] = {
    "regression": regression,
    "schools_centred": schools_centred,
    "schools_noncentred": schools_noncentred,
    "logistic": logistic,
    "overdispersed": overdispersed,
    "mixture": mixture,
    "ordinal": ordinal,
    "correlation": correlation,
    "bounds": bounds,
    "renewal": renewal,
    "groups": groups,
}

SOURCES: dict[str, Callable[[ModuleType], refti.Model]] = {
    "jax": lambda zoo: zoo.jax_model(),
    "numpyro": lambda zoo: refti.from_numpyro(zoo.numpyro_model, **zoo.DATA),
    "pymc": _from_pymc,
    "stan": lambda zoo: refti.from_stan(zoo.stan, data=zoo.DATA),
}
