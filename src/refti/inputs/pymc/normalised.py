"""Whether every factor of a PyMC model's prior is a distribution known to integrate to 1."""

from __future__ import annotations

from typing import Any

from refti.inputs.pymc.graph import ancestors

# A test integrates each of them.
FAMILIES = frozenset(
    [
        "BetaRV",
        "CauchyRV",
        "DirichletRV",
        "ExponentialRV",
        "GammaRV",
        "GumbelRV",
        "HalfCauchyRV",
        "HalfNormalRV",
        "HalfStudentTRV",
        "InvGammaRV",
        "LaplaceRV",
        "LogisticRV",
        "LogNormalRV",
        "MvNormalRV",
        "NormalRV",
        "ParetoRV",
        "StudentTRV",
        "TruncatedNormalRV",
        "UniformRV",
        "WeibullBetaRV",
    ]
)
# Made of others, which must be known too. The constant of the LKJ prior is put right elsewhere.
MADE_OF_OTHERS = frozenset({"RandomWalkRV", "LKJCholeskyCovRV", "_LKJCholeskyCovRV"})
TRANSFORMS = frozenset(
    [
        "NoneType",
        "LogTransform",
        "LogOddsTransform",
        "Interval",
        "IntervalTransform",
        "SimplexTransform",
        "CholeskyCovPacked",
    ]
)


def prior_parts(model: Any) -> str:
    """How the prior is made of normalised factors, in words; empty if any is not known to be one.

    A product of densities, each of which integrates to 1 whatever those before it are, does so too.
    """
    for rv in model.free_RVs:
        transform = type(model.rvs_to_transforms[rv]).__name__
        if transform not in TRANSFORMS or not _is_known(rv):
            return ""
    count = len(model.free_RVs)
    return f"each of its {count} variables has a distribution of PyMC that integrates to 1"


def _is_known(rv: Any) -> bool:
    op = rv.owner.op
    if not type(op).__module__.startswith(("pymc.distributions.", "pytensor.tensor.random.")):
        return False
    kind = type(op).__name__
    if kind in MADE_OF_OTHERS:
        parts = [part for part in rv.owner.inputs if part.owner and _is_random(part)]
        return bool(parts) and all(_is_known(_drawn(part)) for part in parts)
    return kind in FAMILIES


def _is_random(variable: Any) -> bool:
    return any(_is_distribution(above) for above in ancestors([variable]))


def _drawn(variable: Any) -> Any:
    """The distribution that a part of another is drawn from, which may stand behind its shape."""
    return variable if _is_distribution(variable) else variable.owner.inputs[0]


def _is_distribution(variable: Any) -> bool:
    from pymc.distributions.distribution import SymbolicRandomVariable
    from pytensor.tensor.random.op import RandomVariable

    kinds = (RandomVariable, SymbolicRandomVariable)
    return variable.owner is not None and isinstance(variable.owner.op, kinds)
