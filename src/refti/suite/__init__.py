"""Test targets: densities of 1 to 500 dimensions whose evidence is known, asymmetric on purpose.

A symmetric target hides errors of sign, and a unit scale hides a missing Jacobian or determinant.
`TARGETS` is the whole suite: the `EASY`, mostly smooth with one peak and light tails, and the
`HARD`, each of a shape that samplers are known to fail on. `find` picks one by name; a study that
varies a dimension or a distance calls a constructor, such as `ar1(70)`. Where a target has a
`box`, its prior is uniform there, and a nested sampler can run it too. Models are built only when
asked for:

    target = refti.suite.find("skewed_20")
    refti.evidence(target.model()).log_z - target.log_z
"""

from __future__ import annotations

from difflib import get_close_matches

from refti.errors import ModelError
from refti.suite.bent import banana, bimodal, cut_gaussian, funnel, rosenbrock
from refti.suite.bounded import beta_half, beta_on_2_5, bounded, dirichlet, lkj, ordered
from refti.suite.box import Box
from refti.suite.conjugate import poisson_gamma, regression, regression_noise
from refti.suite.edges import beta_edges, dirichlet_edges, gamma_edge
from refti.suite.gaussians import ar1, gaussian, gaussian_scales, wide_normal
from refti.suite.groups import centred, eight_schools
from refti.suite.heavy_tails import cauchy, stretched, student, student_joint
from refti.suite.hierarchies import hierarchy, hierarchy_scale
from refti.suite.many_modes import (
    eggbox,
    grid_of_modes,
    mixture,
    needle,
    nested_normals,
    spike_in_slab,
    spike_in_slab_and_far,
    two_widths,
    two_widths_in_box,
)
from refti.suite.rings import double_shell, ring, ring_in_plane, shell, spiral
from refti.suite.shrinkage import horseshoe
from refti.suite.steps import change_point, checkerboard, staircase
from refti.suite.tails import (
    log_gamma,
    quartic,
    skewed,
    skewed_chain,
    student_independent,
    student_multivariate,
)
from refti.suite.target import Target

__all__ = [
    "EASY",
    "HARD",
    "TARGETS",
    "Box",
    "Target",
    "ar1",
    "banana",
    "bimodal",
    "cauchy",
    "centred",
    "dirichlet",
    "find",
    "funnel",
    "horseshoe",
    "log_gamma",
    "mixture",
    "needle",
    "nested_normals",
    "quartic",
    "regression",
    "rosenbrock",
    "skewed",
    "skewed_chain",
    "spike_in_slab",
    "spike_in_slab_and_far",
    "student",
    "student_joint",
    "two_widths",
]

EASY: tuple[Target, ...] = (
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
    banana(2),
    banana(10),
    bimodal(2, 3, 0.5),
    bimodal(2, 10, 0.9),
    bimodal(10, 30, 0.5),
)

HARD: tuple[Target, ...] = (
    funnel(10),
    funnel(50),
    eight_schools(),
    centred(30, 0.1),
    centred(100, 0.5),
    centred(200, 2.0),
    horseshoe(5),
    horseshoe(5, centred=True),
    horseshoe(20),
    cauchy(1),
    cauchy(2),
    cauchy(5),
    cauchy(10),
    cauchy(20),
    student(1, 1.5),
    student(20, 1.5),
    student(10, 2),
    student(20, 3),
    student_joint(5, 1),
    student_joint(20, 2),
    stretched(),
    wide_normal(1e9),
    wide_normal(1e12),
    ring_in_plane(),
    ring(),
    ring(boxed=True),
    shell(3),
    shell(5, boxed=True),
    double_shell(2),
    double_shell(5),
    spiral(2),
    spiral(3),
    banana(20),
    rosenbrock(2),
    rosenbrock(5),
    rosenbrock(20),
    rosenbrock(20, slanting=True),
    eggbox(),
    grid_of_modes(),
    two_widths(5),
    two_widths(10),
    two_widths_in_box(),
    mixture(3, 2),
    mixture(3, 10),
    mixture(10, 2),
    mixture(10, 5, boxed=True),
    mixture(10, 10),
    mixture(40, 2, boxed=True),
    mixture(40, 5),
    mixture(100, 2, boxed=True),
    mixture(100, 10),
    needle(2),
    needle(5),
    spike_in_slab(5),
    spike_in_slab(20),
    spike_in_slab_and_far(5),
    nested_normals(10),
    change_point(),
    checkerboard(),
    staircase(2),
    staircase(5),
    beta_edges(1),
    beta_edges(3),
    beta_edges(1, 0.5, 0.3),
    dirichlet_edges(),
    gamma_edge(),
)

TARGETS = EASY + HARD


def find(name: str) -> Target:
    """The target of this name, or an error that says which names are near."""
    known = {target.name: target for target in TARGETS}
    if name not in known:
        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."
        raise ModelError(f"There is no target {name!r} in the suite. {hint}")
    return known[name]
