"""The Laplace reference: the Gaussian of the second-order expansion at the mode."""

from __future__ import annotations

import numpy as np

from refti.errors import ReferenceFitError
from refti.factors.factor import Factor
from refti.references.family import FitInputs
from refti.references.gaussian import Gaussian, gaussian
from refti.references.structured import Structured, structured
from refti.search.large_mode import LargeMode
from refti.search.mode import Mode


def fit(inputs: FitInputs) -> Gaussian | Structured:
    """The Gaussian at the mode."""
    return expand_at_mode(inputs.mode)


def expand_at_mode(mode: Mode | LargeMode) -> Gaussian | Structured:
    """The Gaussian of the second-order expansion at the mode (paper, section 2.1)."""
    if not mode.is_smooth:
        raise ReferenceFitError(
            "The Taylor reference needs second derivatives at the mode, and the log density has "
            "none there: its curvature depends on the step size used to measure it (a cusp, a "
            "kink or an edge of the support). Use reference='covariance'."
        )
    factor = mode.factor()
    if isinstance(factor, Factor):
        return structured(mode.x, factor, mode.log_mass)
    if isinstance(mode, LargeMode):
        raise ReferenceFitError(
            "The Taylor reference needs a negative definite Hessian at the mode, and the density "
            "does not fall there in every direction. Use reference='structured'."
        )
    if factor is None:
        largest = np.linalg.eigvalsh(mode.hessian)[-1]
        raise ReferenceFitError(
            "The Taylor reference needs a negative definite Hessian at the mode; its largest "
            f"eigenvalue is {largest:.3g}. Use reference='covariance'."
        )
    return gaussian(mode.x, factor, mode.log_density)
