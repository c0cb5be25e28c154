"""The numbers by which modes in thousands of dimensions are searched for."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class LargeTuning:
    """How the curvature at a mode is found where no dense matrix is made."""

    seed: int = tuned(18, "of the random groups; any will do")
    climb_iterations: int = tuned(1000, "most iterations of L-BFGS in one climb")
    step: float = tuned(1e-4, "of central differences of gradients, in spreads of a coordinate")
    coarse_step: float = tuned(
        1e-2, "of those that the fine ones are compared with; a smooth density gives the same"
    )
    at_once: int = tuned(128, "products of the Hessian made at once; memory grows with them")
    scalings: int = tuned(4, "most times that the units of the coordinates are found")
    scaled: float = tuned(1.0, "change of a unit's logarithm below which it was the last")
    diagonal_groups: int = tuned(16, "groups of coordinates by whose steps units are found")
    first_groups: tuple[float, int] = tuned(
        (0.02, 48),
        "share of coordinates in a group, and groups, by which those that border all are found",
    )
    groups: tuple[tuple[float, int], ...] = tuned(
        ((0.12, 160), (0.03, 480)),
        "share of coordinates in a group, and groups, by which neighbours are found: up to about "
        "ten each by the first, up to fifty by the second",
    )
    quiet_groups: int = tuned(2, "that a coordinate must have been in to be no neighbour")
    fewest_clean: int = tuned(8, "groups without a bordering coordinate")
    saturated: float = tuned(
        0.9, "share of groups that change a slope from which a coordinate counts as bordering"
    )
    most_bordering: int = tuned(128, "bordering coordinates, each of which takes two gradients")
    nothing: float = tuned(1e-6, "coupling, relative to the diagonal, that is put to rounding")
    most_neighbours: int = tuned(80, "of a coordinate on average, beyond which it is not sparse")
    rows_at_once: int = tuned(512, "coordinates whose neighbours are found at once")
    checks: int = tuned(4, "directions along which the curvature found is held against gradients")
    most_off: float = tuned(
        1e-3, "relative difference there; a neighbour that is missed makes more"
    )
    most_wanderers: int = tuned(
        2000,
        "wanderers about the modes: another that is uphill of 0.15 % of the flattened density is "
        "found, and more would take longer than the run",
    )
    turns: int = tuned(12, "products with a covariance that turn a line to where it is widest")
    lanczos_steps: int = tuned(120, "products by which directions of large curvature are found …")
    most_directions: int = tuned(64, "… of which so many are kept: every move costs them")
    converged: float = tuned(0.2, "of a direction's size that it may be off by")


LARGE = LargeTuning()
