"""The numbers by which a model is tried, its modes are searched for and its tails are looked at."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class SearchTuning:
    """How the posterior is searched for. A spread is that of the density about its mode."""

    # Preflight.
    start_points: int = tuned(32, "candidates among which starts are looked for")
    start_reach: float = tuned(2.0, "how far off the model's start they lie, in each coordinate")
    compared_points: int = tuned(3, "starts at which the compiled gradient is compared")
    compared_directions: int = tuned(8, "random directions along which it is compared there")
    compared_step: float = tuned(1e-5, "of the differences it is compared with, relative to x")
    compared_tolerance: float = tuned(1e-4, "of the gradient's size, that it may be off by")
    beside: float = tuned(1e-3, "how far off a point a gradient is looked at again, relative to x")

    # One mode, by gradients.
    gradient_step: float = tuned(
        1e-4, "of central differences of gradients, in coordinates whitened by the last climb"
    )
    coarse_gradient_step: float = tuned(
        1e-2, "of those that the fine ones are compared with; a smooth density gives the same"
    )
    most_disagreement: float = tuned(
        0.2, "of the two, relative to their size, in a density that has a curvature"
    )
    whitened_climbs: int = tuned(6, "most climbs, each in coordinates whitened by the one before")
    fresh_climbs: int = tuned(3, "most times that a climb which ended without curvature is redone")
    higher: float = tuned(0.01, "nats that one climb more has to gain for another to follow")
    climb_iterations: int = tuned(400, "most iterations of L-BFGS in one climb")
    climb_tolerance: float = tuned(1e-13, "gain, relative to the log density, that ends a climb")

    # Many climbers at once.
    idle_steps: int = tuned(
        3, "steps of a climber that neither gains nor has a step to shorten, before it is left"
    )
    least_gain: float = tuned(1e-3, "nats a step below which a climber gains nothing")
    shortest_ascent_step: float = tuned(1e-3, "spreads below which a step is no longer shortened")

    # All modes.
    near_starts: int = tuned(4, "starts beside the best that other modes are climbed to from")
    far_starts: tuple[tuple[float, int], ...] = tuned(
        ((10.0, 2), (30.0, 2), (100.0, 2), (300.0, 2)),
        "distances in spreads at which the search for other modes sets out too, and in how many "
        "opposite pairs of directions at each",
    )
    ascent_steps: int = tuned(60, "steps of those who climb; enough to tell one hill from another")
    same_peak: float = tuned(0.5, "spreads within which two ends of a climb are one")
    dip: float = tuned(0.5, "nats that the density must fall between two peaks for them to be two")
    points_between: int = tuned(16, "points on the way between two peaks where a dip is looked for")
    depth: float = tuned(10.0, "nats below the mode under which a peak has next to no mass …")
    depth_by_dimension: int = tuned(2, "… and as many more for every dimension")

    # By values alone, where a gradient costs an evaluation a dimension.
    first_value_step: float = tuned(1e-4, "of differences in coordinates of which nothing is known")
    value_step: float = tuned(1e-3, "of differences, in spreads")
    coarse_value_step: float = tuned(
        1e-2, "of differences on the way up to other peaks, in spreads"
    )
    bend_step: float = tuned(
        0.1, "of second differences, in spreads: noise in the last digits does them no harm"
    )
    fine_bend_step: float = tuned(0.03, "of those compared with them, to notice a cusp")
    first_value_iterations: int = tuned(200, "most iterations of the first climb")
    value_iterations: int = tuned(50, "most iterations of the climb in whitened coordinates")
    value_tolerance: float = tuned(1e-8, "gain, relative to the log density, that ends a climb")
    drop: float = tuned(0.5, "nats that a Gaussian falls within one spread")
    most_doublings: int = tuned(60, "of a step, until the density falls by about that")
    ascents: int = tuned(3, "times that those who come to the known mode are let go")
    few_ascent_steps: int = tuned(3, "steps of an ascent before that")
    few_points_between: int = tuned(6, "points at which the way to the mode is looked at for a dip")
    most_climbs: int = tuned(8, "to other peaks, from the highest points first")
    few_climbers_apart: float = tuned(4.0, "times further than one peak's width are climbers apart")

    # Whether the density falls away. Bounded parameters saturate in rounding, so that far out a
    # proper density may be flat; it has fallen on the way there.
    tail_near: float = tuned(10.0, "spreads from which, to the next, a proper density has fallen")
    tail_less_near: float = tuned(30.0, "spreads, the next")
    tail_far: float = tuned(1e3, "spreads from which, to the last, it still falls")
    tail_farther: float = tuned(1e6, "spreads, the last")
    tail_rate: float = tuned(1.01, "times the fall of 1 / distance, that a proper density exceeds")
    plateau: float = tuned(
        3.0, "nats below the mode above which a plateau far out is no matter of rounding"
    )
    most_axes: int = tuned(256, "coordinates along which a density is looked at")
    flattest_lines: int = tuned(3, "directions beside them, in which it is flattest about its mode")
    most_value: float = tuned(1e100, "of a parameter; no data can want a larger one")


TUNING = SearchTuning()
