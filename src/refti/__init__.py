"""refti: the evidence of Bayesian models by referenced thermodynamic integration."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refti.errors import (
        CompareError,
        LadderError,
        ModelError,
        NotTrustedError,
        PathError,
        ReferenceFitError,
        RefTIError,
        SamplingError,
        SettingsError,
        StoreError,
    )
    from refti.inputs.numpyro import from_numpyro
    from refti.inputs.pymc import from_pymc
    from refti.inputs.python.source import from_callable
    from refti.inputs.stan import from_stan
    from refti.models.model import Model
    from refti.models.supports import (
        correlation_cholesky,
        interval,
        lower,
        ordered,
        positive,
        real,
        simplex,
        upper,
    )
    from refti.paths.ladder import power, uniform
    from refti.references.base import Reference
    from refti.results.compare import compare
    from refti.results.comparison import Comparison
    from refti.results.result import Evidence, LogRatio, load
    from refti.run.evidence import evidence, log_bayes_factor

_HOMES = {
    "results.compare": ("compare",),
    "results.comparison": ("Comparison",),
    "errors": (
        "CompareError",
        "LadderError",
        "ModelError",
        "NotTrustedError",
        "PathError",
        "RefTIError",
        "ReferenceFitError",
        "SamplingError",
        "SettingsError",
        "StoreError",
    ),
    "run.evidence": ("evidence", "log_bayes_factor"),
    "inputs.python.source": ("from_callable",),
    "inputs.numpyro": ("from_numpyro",),
    "inputs.pymc": ("from_pymc",),
    "inputs.stan": ("from_stan",),
    "paths.ladder": ("power", "uniform"),
    "models.model": ("Model",),
    "references.base": ("Reference",),
    "results.result": ("Evidence", "LogRatio", "load"),
    "models.supports": (
        "correlation_cholesky",
        "interval",
        "lower",
        "ordered",
        "positive",
        "real",
        "simplex",
        "upper",
    ),
}
_MODULES = ("suite",)
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CompareError",
    "Comparison",
    "Evidence",
    "LadderError",
    "LogRatio",
    "Model",
    "ModelError",
    "NotTrustedError",
    "PathError",
    "RefTIError",
    "Reference",
    "ReferenceFitError",
    "SamplingError",
    "SettingsError",
    "StoreError",
    "compare",
    "correlation_cholesky",
    "evidence",
    "from_callable",
    "from_numpyro",
    "from_pymc",
    "from_stan",
    "interval",
    "load",
    "log_bayes_factor",
    "lower",
    "ordered",
    "positive",
    "power",
    "real",
    "simplex",
    "uniform",
    "upper",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Names are fetched when first used: JAX takes a second to import, `refti --help` should not.
    if name in _MODULES:
        return import_module(f"refti.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'refti' has no attribute {name!r}")
    value = getattr(import_module(f"refti.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
