"""Test targets: densities of 1 to 500 dimensions whose evidence is known, asymmetric on purpose.

A symmetric target hides errors of sign, and a unit scale hides a missing Jacobian or determinant.
`TARGETS` is the whole suite and `find` picks one by name; a study that varies a dimension or a
distance calls a constructor, such as `ar1(70)`. Models are built only when asked for:

    target = refti.suite.find("skewed_20")
    refti.evidence(target.model()).log_z - target.log_z
"""

from __future__ import annotations

from difflib import get_close_matches

from refti.errors import ModelError
from refti.suite.bent import banana, bimodal, cut_gaussian, funnel
from refti.suite.bounded import beta_half, beta_on_2_5, bounded, dirichlet, lkj, ordered
from refti.suite.conjugate import poisson_gamma, regression, regression_noise
from refti.suite.gaussians import ar1, gaussian, gaussian_scales
from refti.suite.hierarchies import hierarchy, hierarchy_scale
from refti.suite.tails import log_gamma, quartic, skewed, student_independent, student_multivariate
from refti.suite.target import Target

__all__ = [
    "TARGETS",
    "Target",
    "ar1",
    "banana",
    "bimodal",
    "dirichlet",
    "find",
    "funnel",
    "log_gamma",
    "quartic",
    "regression",
    "skewed",
]

TARGETS: tuple[Target, ...] = (
    gaussian(),
    gaussian_scales(),
    ar1(50),
    ar1(200),
    ar1(500),
    regression(6),
    regression(60),
    regression_noise(),
    poisson_gamma(),
    log_gamma(),
    log_gamma(height=1e6),
    log_gamma(height=-1e6),
    skewed(20),
    skewed(100),
    quartic(20),
    quartic(60),
    student_independent(),
    student_multivariate(),
    beta_on_2_5(),
    beta_half(),
    bounded(),
    dirichlet(4),
    dirichlet(20),
    ordered(),
    lkj(),
    cut_gaussian(),
    cut_gaussian(float("nan")),
    hierarchy(centred=True),
    hierarchy(centred=False),
    hierarchy_scale(),
    funnel(),
    banana(2),
    banana(10),
    bimodal(2, 3, 0.5),
    bimodal(2, 10, 0.9),
    bimodal(10, 30, 0.5),
)


def find(name: str) -> Target:
    """The target of this name, or an error that says which names are near."""
    known = {target.name: target for target in TARGETS}
    if name not in known:
        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."
        raise ModelError(f"There is no target {name!r} in the suite. {hint}")
    return known[name]
