"""Paths: chains of legs, each log q_lam = (1 - lam) log q_start + lam log q_end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import jax

from refti.errors import PathError
from refti.models.density import Density, ValueOnlyDensity
from refti.models.model import Model
from refti.references.base import Reference


@partial(jax.tree_util.register_dataclass, data_fields=["start", "end"], meta_fields=[])
@dataclass(frozen=True)
class Leg:
    """One part of a path, from one density to another."""

    start: Density
    end: Density

    @property
    def has_gradient(self) -> bool:
        """Whether both densities can be differentiated."""
        return not isinstance(self.start, ValueOnlyDensity) and not isinstance(
            self.end, ValueOnlyDensity
        )


@dataclass(frozen=True)
class Path:
    """Legs that follow each other; `log_z_start` is None where only a ratio is known."""

    name: str
    legs: tuple[Leg, ...]
    log_z_start: float | None

    @property
    def has_gradient(self) -> bool:
        """Whether every leg can be differentiated."""
        return all(leg.has_gradient for leg in self.legs)


def telescopic(reference: Reference, intermediates: Sequence[Density], model: Model) -> Path:
    """Reference to posterior by way of intermediate densities (the paper's multi-reference TI)."""
    stations = [reference, *intermediates, model.density]
    legs = tuple(Leg(a, b) for a, b in pairwise(stations))
    return Path("telescopic" if intermediates else "referenced", legs, float(reference.log_z))


def power_posteriors(model: Model) -> Path:
    """Prior to posterior; the prior is taken to be normalised, so its log z is 0."""
    if model.prior is None:
        raise PathError(
            "Power posteriors need the prior and the likelihood separately, and this model gives "
            "only their product. Use the default path, or refti.Model(log_prior=, "
            "log_likelihood=); for a Stan program refti.from_stan(program, data, "
            "split_prior=True)."
        )
    leg = Leg(model.prior, model.density)
    return Path("power", (leg,), 0.0)


def model_switch(numerator: Model, denominator: Model) -> Path:
    """Posterior of the denominator to posterior of the numerator: gives a log ratio only."""
    if numerator.dim != denominator.dim:
        raise PathError(
            "A direct path needs two models of one dimension; got "
            f"{numerator.dim} and {denominator.dim} unconstrained coordinates. Use "
            "refti.evidence on each and refti.compare."
        )
    leg = Leg(denominator.density, numerator.density)
    return Path("model switch", (leg,), None)
