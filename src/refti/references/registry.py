"""The table of reference families: one row each, from which all that names families is made.

A new family is a file in this folder and a row here. Settings, command line, documentation, "auto"
and files on disk know of it by its row.
"""

from __future__ import annotations

import numpy as np

from refti.errors import ReferenceFitError
from refti.models.model import Model
from refti.references import (
    broad_mixture,
    covariance,
    flow,
    laplace,
    low_rank,
    mixture,
    ridge_mixture,
    structured,
    student,
    truncated,
    variational,
    warped,
)
from refti.references.base import Reference
from refti.references.family import Auto, Family, FitInputs
from refti.references.gaussian import Gaussian, standard_diagonal, standard_gaussian

# In the order in which "auto" tries them.
ROWS = (
    Family(
        "covariance",
        Gaussian,
        covariance.fit,
        "a Gaussian with the mean and covariance of the draws, shrunk where draws are few",
        auto="dense",
    ),
    Family(
        "laplace",
        Gaussian,
        laplace.fit,
        "a Gaussian from the second-order expansion at the mode",
        uses_draws=False,
        auto="dense",
    ),
    Family(
        "structured",
        structured.Structured,
        structured.fit,
        "a Gaussian with a sparse or low-rank curvature at the mode and the location and widths "
        "of the draws, for thousands of parameters",
        auto="high_dimension",
        restore=structured.restore,
    ),
    Family(
        "low_rank",
        low_rank.LowRank,
        low_rank.fit,
        "a Gaussian with the variances of the draws and a few directions, for thousands of "
        "parameters",
        auto="high_dimension",
    ),
    Family(
        "diagonal",
        Gaussian,
        covariance.fit_diagonal,
        "a Gaussian with the means and variances of the draws",
        auto="high_dimension",
        placeholder=standard_diagonal,
    ),
    Family(
        "mixture",
        mixture.Mixture,
        mixture.fit,
        "several Gaussians, for posteriors with more than one mode",
        auto="several_modes",
    ),
    Family(
        "laplace_mixture",
        mixture.Mixture,
        mixture.fit_at_peaks,
        "Gaussians from the second-order expansions at several modes",
        uses_draws=False,
        auto="several_modes",
    ),
    Family(
        "broad_mixture",
        mixture.Mixture,
        broad_mixture.fit,
        "two Gaussians for each mode, one of them wide, for modes with long flanks",
        uses_draws=False,
        auto="several_modes",
        reaches_far=True,
    ),
    Family(
        "ridge_mixture",
        mixture.Mixture,
        ridge_mixture.fit,
        "many Gaussians along a winding ridge, out to its ends",
        needs_gradient=True,
        auto="ridges",
    ),
    Family(
        "warped",
        warped.Warped,
        warped.fit,
        "a Gaussian bent to the skew and tails of every coordinate",
        auto="shaped",
    ),
    Family(
        "structured_warped",
        structured.Structured,
        structured.fit_warped,
        "a sparse or low-rank Gaussian bent to the skew and tails of every coordinate",
        auto="high_dimension_shaped",
        restore=structured.restore,
    ),
    Family(
        "student",
        student.Student,
        student.fit,
        "a Student-t fitted to the draws, for heavy tails",
        auto="shaped",
    ),
    Family(
        "variational",
        Gaussian,
        variational.fit,
        "the Gaussian with the highest bound on log z",
        needs_gradient=True,
    ),
    Family(
        "variational_diagonal",
        Gaussian,
        variational.fit_diagonal,
        "the same, with independent coordinates",
        needs_gradient=True,
        placeholder=standard_diagonal,
    ),
    Family(
        "truncated",
        truncated.TruncatedGaussian,
        truncated.fit,
        "independent Gaussians of the parameters themselves, truncated at their bounds",
        require=truncated.bounds,
        placeholder=truncated.placeholder,
        restore=truncated.restore,
    ),
    Family(
        "flow",
        flow.Flow,
        flow.fit,
        'a trained map of a standard normal (pip install "refti[flow]")',
        restore=flow.restore,
    ),
)
FAMILIES: dict[str, Family] = {row.name: row for row in ROWS}
# What "auto" tries in thousands of dimensions where the curvature is sparse, and all of it known.
SPARSE = ("laplace", "structured")


def fit(name: str, inputs: FitInputs) -> Reference:
    """The reference of a family fitted to the posterior; raises ReferenceFitError if none is."""
    if name not in FAMILIES:
        raise ReferenceFitError(f"There is no reference family {name!r}.")
    try:
        return FAMILIES[name].fit(inputs)
    except np.linalg.LinAlgError as error:  # draws so flat or so far apart that digits run out
        raise ReferenceFitError(
            f"Reference {name!r} cannot be fitted to these draws: {error}. Use reference='auto'."
        ) from error


def require_family(name: str, model: Model) -> None:
    """Raises ReferenceFitError if a family cannot serve a model, before any compute."""
    family = FAMILIES.get(name)
    if family is not None and family.require is not None:
        family.require(model)


def placeholder(name: str, model: Model) -> Reference:
    """A density to compile the pilot's program with, before "auto" or a family was fitted."""
    return FAMILIES[name].placeholder(model) if name in FAMILIES else standard_gaussian(model)


def tried_by_auto(when: Auto) -> tuple[str, ...]:
    """The names of the families that "auto" tries on an occasion, in order."""
    at_modes = ("laplace",) if when == "high_dimension" else ()  # of either kind of curvature
    return (*at_modes, *(name for name, family in FAMILIES.items() if family.auto == when))
