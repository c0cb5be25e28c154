"""What a family of references is: how a member is fitted, and what the rest of refti must know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from refti.models.model import Model, ValueAndGradient
from refti.references.base import Reference
from refti.references.gaussian import standard_gaussian
from refti.search.large_mode import LargeMode
from refti.search.mode import Mode

Auto = Literal[
    "never",
    "dense",
    "high_dimension",
    "several_modes",
    "ridges",
    "shaped",
    "high_dimension_shaped",
]
"""When "auto" tries a family: never; where a full covariance can be had, or where it cannot; where
the posterior has several modes; where it winds, in a few dimensions; where the way from all of
these is long, again with or without a full covariance."""


@dataclass(frozen=True, eq=False)
class FitInputs:
    """What the pilot knows of the posterior: all that a reference is fitted to.

    Attributes:
        model: the model.
        evaluate: its log density and the gradient of it at given points.
        mode: the highest mode found.
        draws: posterior draws, x[draw, dim].
        base: a factor that makes the posterior about round, if one is known: a matrix, or a
            Factor where no dense one is made.
        curved: the factor of the covariance by the curvature at the mode, where draws are so few
            for the dimension that it may well be the best that is known.
        peaks: the modes x[mode, dim] where there are several that chains do not move between.
        peak_factors: `[mode, dim, dim]`, of the covariances about them, where they are known.
        peak_masses: `[mode]`, the log integrals about them by Laplace's approximation.
        seed: of the randomness of a fit.
    """

    model: Model
    evaluate: ValueAndGradient
    mode: Mode | LargeMode
    draws: np.ndarray
    base: Any = None
    curved: np.ndarray | None = None
    peaks: np.ndarray | None = None
    peak_factors: np.ndarray | None = None
    peak_masses: np.ndarray | None = None
    seed: int = 0

    @property
    def bases(self) -> tuple[Any, ...]:
        """The factors that a covariance may be close to."""
        return (self.base,) if self.curved is None else (self.base, self.curved)


@dataclass(frozen=True)
class Family:
    """A row of the registry.

    Attributes:
        name: what users write after `reference=`.
        kind: the class of its members, a frozen dataclass and JAX pytree.
        fit: the member for a posterior; raises ReferenceFitError if there is none.
        summary: what it is, in a line of documentation.
        needs_gradient: whether a fit needs gradients of the model.
        uses_draws: whether more draws make a better member.
        auto: when "auto" tries it.
        reaches_far: whether its flanks are made to reach further than those of a Gaussian, so that
            "auto" prefers it to one from which the way seems a little shorter.
        require: raises ReferenceFitError if the family cannot serve a model, before any compute.
        placeholder: a density on the model's space that the pilot's program is compiled with.
        restore: the member of given arrays, by the names of its fields; needed only where a
            member has fields that are not arrays.
    """

    name: str
    kind: type[Any]
    fit: Callable[[FitInputs], Reference]
    summary: str
    needs_gradient: bool = False
    uses_draws: bool = True
    auto: Auto = "never"
    reaches_far: bool = False
    require: Callable[[Model], object] | None = None
    placeholder: Callable[[Model], Reference] = standard_gaussian
    restore: Callable[[Mapping[str, np.ndarray], Model], Reference] | None = None
