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
    compared_tolerance: float = tuned(
        0.03,
        "of the gradient's size, that it may be off by: a gradient through a coarse solver is off "
        "by thousandths, which Metropolis steps correct; one worth refusing by all of it …",
    )
    repeated_tolerance: float = tuned(
        1e-6,
        "of the log density, by which the same point may differ when it is asked again in another "
        "batch: rounding is far below it, and randomness that matters far above",
    )
    plain_tolerance: float = tuned(
        1e-4,
        "… and in a JAX program without a loop of unknown length, which has nothing to be off by: "
        "a custom derivative that is 1 % wrong is told, though it would cost only acceptance",
    )
    beside: float = tuned(1e-3, "how far off a point a gradient is looked at again, relative to x")

    # One mode, by gradients.
    gradient_step: float = tuned(
        1e-4, "of central differences of gradients, in coordinates whitened by the last climb"
    )
    coarse_gradient_step: float = tuned(
        1e-2, "of those that the fine ones are compared with; a smooth density gives the same"
    )
    wider: float = tuned(1e4, "times the steps are tried where gradients do not differ at all")
    most_disagreement: float = tuned(
        0.2, "of the two, relative to their size, in a density that has a curvature"
    )
    off_a_top: float = tuned(0.1, "spreads that the end of a climb may be off the top of a peak")
    whitened_climbs: int = tuned(6, "most climbs, each in coordinates whitened by the one before")
    fresh_climbs: int = tuned(3, "most times that a climb which ended without curvature is redone")
    higher: float = tuned(0.01, "nats that one climb more has to gain for another to follow")
    climb_iterations: int = tuned(400, "most iterations of L-BFGS in one climb")
    climb_tolerance: float = tuned(1e-13, "gain, relative to the log density, that ends a climb")

    flat_bend: float = tuned(
        1e-6, "of the largest curvature, below which a direction is flat and does not rise"
    )
    off_a_saddle: tuple[float, ...] = tuned(
        (0.3, 1.0, 3.0),
        "how far off a saddle a climb sets out again, by how far a parabola rises half a nat",
    )
    aslant: float = tuned(
        0.3, "of the curvature along parameters, above which that across them turns the axes"
    )
    rounded_over: float = tuned(
        1.0, "spreads to both sides over which slopes are taken where a top has no curvature"
    )
    rounded_points: int = tuned(
        16, "around, over which the density is averaged instead in more than 50 dimensions"
    )
    rounded_seed: int = tuned(0, "of the order of these points along each parameter")
    least_fall_of_a_top: float = tuned(
        0.05, "nats that the density falls over so much, to every side, where it is a top"
    )

    most_fall: float = tuned(
        4.0, "nats within one spread of the mode, on either side; a Gaussian falls by half a nat"
    )
    most_halvings: int = tuned(40, "of a spread that the density does not reach to")

    ridge_turns: int = tuned(5, "times that a way along a ridge is halved where it dips")
    ridge_nodes: int = tuned(24, "most points that such a way is bent at")
    ridge_points: int = tuned(6, "points between two of them where it is looked for a dip")
    ridge_steps: int = tuned(40, "of a climb from a middle up to the ridge")
    ridge_neighbours: int = tuned(4, "nearest peaks to which a new one may be joined by a ridge")
    ridge_searches: int = tuned(60, "most new peaks of a search for which that is looked at")
    ridge_depths: tuple[float, float, float] = tuned(
        (4.0, 7.0, 10.0), "spreads of the draws at which the mass across a ridge is looked at"
    )
    ridge_fall: float = tuned(2.0, "nats that it falls by from the first to the last of them")

    jump_ways: int = tuned(32, "short ways on which a density is looked at for jumps")
    jump_points: int = tuned(17, "on each of them")
    jump_reach: float = tuned(0.3, "spreads that each coordinate changes by on such a way")
    least_jump: float = tuned(0.1, "nats that its gradient does not account for")
    ways_with_jumps: float = tuned(0.15, "share of the ways, for a density to be one that jumps")

    # Many climbers at once.
    idle_steps: int = tuned(
        3, "steps of a climber that neither gains nor has a step to shorten, before it is left"
    )
    least_gain: float = tuned(1e-3, "nats a step below which a climber gains nothing")
    shortest_ascent_step: float = tuned(1e-4, "spreads below which a step is no longer shortened")

    unlike_a_parabola: float = tuned(
        0.1, "of what a step should gain by its slope, that its gain may differ from a parabola's"
    )

    # All modes.
    search_evaluations: int = tuned(
        9000, "of a search for other modes by default: half of what the cheapest run costs …"
    )
    search_evaluations_a_dimension: int = tuned(40, "… and as many more for every dimension")
    search_dimensions: int = tuned(200, "beyond which a dimension more adds no evaluations")
    narrow_evaluations: int = tuned(
        80_000,
        "… and in all, while a narrow mode would be missed and the density is cheap: in ten "
        "dimensions they find one half as wide with 99 %, in less than a second …",
    )
    narrow_operations: int = tuned(
        400_000_000, "… which is that these, times the operations of one, are no more than so many"
    )
    narrow_dimensions: int = tuned(
        20, "beyond which the narrowest mode found is hardly narrower for more evaluations"
    )
    narrow_width: float = tuned(
        0.3, "width of the mode, relative to the known one, that such a search is after …"
    )
    narrow_found_with: float = tuned(0.99, "… and the probability at which it is content")
    narrow_growth: float = tuned(
        2.0, "times these, while new modes keep turning up: enough to meet a rare one again"
    )
    scan_points: int = tuned(
        1_000_000,
        "at which a cheap density is looked at by its values alone, which takes a few tenths of "
        "a second …",
    )
    scan_operations: int = tuned(
        400_000_000, "… which is that these, times the operations of one, are no more than so many"
    )
    scan_dimensions: int = tuned(
        12, "beyond which the narrowest mode found is hardly narrower for so many"
    )
    scan_near: float = tuned(
        0.4, "of them of the density itself, not flattened: where a needle in a hump is met"
    )
    scan_width: float = tuned(
        0.1, "width of the mode, relative to the known one, with which a scan is content"
    )
    few_modes: int = tuned(2, "up to which they are so many, and beyond in proportion fewer")
    scan_growth: float = tuned(3.0, "times these points, while new modes keep turning up")
    scan_cost: float = tuned(
        4.0, "evaluations a wanderer, above which values tell nothing: peaks are not Gaussian"
    )
    first_scan: int = tuned(4096, "points of the first batch, which tells whether they tell")
    scan_batch: int = tuned(32_768, "points of every other batch: some megabytes")
    scan_climbs: int = tuned(64, "points of a batch that climb, as no known peak explains them …")
    scan_turns: int = tuned(3, "… and times that it is then looked at again what is explained")
    efforts: tuple[tuple[str, float], ...] = tuned(
        (("quick", 0.25), ("default", 1.0), ("thorough", 10.0)),
        "times the default that a search may take, by what it is asked for",
    )
    prior_share: float = tuned(
        2.5, "times as many evaluations go into wanderers from the prior, which have far to climb"
    )
    most_from_prior: int = tuned(
        2000,
        "wanderers from the prior while there is one mode: another that is uphill of 0.15 % "
        "of it is found",
    )
    rare: int = tuned(
        6,
        "wanderers that a mode must have been met by: where one was met by fewer, others that "
        "hold as much may well not have been met at all",
    )
    within_a_part: float = tuned(
        3.0,
        "spreads of a broad part, for each root of a dimension, within which a peak is its own: "
        "climbs from about the part need not meet that again",
    )
    modes_in_a_row: int = tuned(
        3, "from whose widths it is told how narrow one more would be, and whether it was missed"
    )
    while_new: float = tuned(
        10.0, "times its evaluations that a search may take while new modes keep turning up"
    )
    unseen: float = tuned(
        0.01, "share of wanderers that came to peaks of their own, above which it goes on"
    )
    quiet: float = tuned(0.5, "share of wanderers that must have come after the last new mode")
    most_peaks: int = tuned(1000, "after which a search ends: they may be without end")
    pictured_distance: float = tuned(
        15.0, "spreads between the modes by which the power of a search is pictured"
    )
    pictured_widths: tuple[float, float] = tuned(
        (0.02, 0.95), "least and largest width of the mode in that picture"
    )
    picture_halvings: int = tuned(12, "of the range of widths: to a tenth of a per cent")
    found_with: float = tuned(0.95, "probability for which the smallest mode found is stated")
    near_starts: int = tuned(4, "starts beside the best that other modes are climbed to from")
    first_batch: int = tuned(64, "wanderers of the first batch, which tells what one costs")
    guessed_cost: float = tuned(10.0, "evaluations that one of them is taken to cost")
    least_batch: int = tuned(4, "wanderers for which it is not worth to go on")
    batch: int = tuned(512, "most wanderers at once")
    reaches: tuple[float, ...] = tuned(
        (4.0, 8.0, 14.0, 24.0, 45.0, 140.0),
        "spreads of a mode off which wanderers set out: draws of the density to the power 1 / T, "
        "T = reach^2 / dim, are about so far off …",
    )
    reach_shares: tuple[float, ...] = tuned(
        (0.1, 0.2, 0.3, 0.25, 0.1, 0.05),
        "… and the share of them at each: most where narrow modes in ten dimensions have any basin",
    )
    to_the_rarest: float = tuned(
        0.5, "of the wanderers that set out at reaches from which a rare mode was met, while it is"
    )
    least_flattening: float = tuned(2.0, "T in many dimensions, where that is less")
    by_flattened_mass: float = tuned(
        0.7,
        "of them, about a mode picked by its flattened mass, which is that of the wide ones; the "
        "others about any mode alike",
    )
    along_one_parameter: float = tuned(
        0.25, "of them, widened along one parameter only: modes often differ in just one"
    )
    many_modes: int = tuned(3, "known modes from which on some wanderers set out from among them …")
    among_modes: float = tuned(0.4, "… as many of those on the flattened density …")
    among_width: float = tuned(1.2, "… and how wide, in standard deviations of the modes' places")
    among_flattening: float = tuned(3.0, "T of the density about each such point")
    like_in_slope: float = tuned(
        0.2, "relative difference of slopes within which a climber is on the hill of a peak …"
    )
    like_below: float = tuned(0.1, "… and by how much it may be lower, relative to its fall …")
    like_above: float = tuned(
        1e-3, "… or higher, for which there is no reason but another hill and rounding"
    )
    curved_peaks: int = tuned(50, "dimensions up to which every peak gets curvatures of its own")
    newton_steps: int = tuned(6, "most steps by curvature from where a climb ended to the top")
    at_the_top: float = tuned(0.01, "spreads off a top within which a climber is at it")
    new_a_batch: int = tuned(64, "most ends of climbs of a batch that are looked at more closely")
    long_climbs: int = tuned(
        16, "most ends from which a climb goes on by itself, for it was not yet at a top"
    )
    level: float = tuned(
        0.03,
        "slope of a top for each root of a dimension, in spreads, where curvatures are too dear",
    )
    tight: float = tuned(0.02, "spreads within which two ends of climbs are surely one")
    looked_back: int = tuned(3, "nearest peaks to which the way from a new one is looked at")
    factors_at_once: int = tuned(32, "matrices that are picked at once; 64 MB in 500 dimensions")
    numbers_at_once: int = tuned(
        2_000_000, "of all wanderers of a batch, so that memory does not grow with the dimension"
    )
    prior_chains: int = tuned(64, "chains on the prior, side by side")
    prior_spread: float = tuned(1.0, "spreads of the prior in which they set out about its mode")
    prior_step: float = tuned(0.6, "times dim^(-1/4), their first step")
    prior_steps: int = tuned(2, "of a trajectory on the prior")
    prior_moves_before: int = tuned(2, "trajectories before the first wanderers set out")
    prior_acceptance: float = tuned(0.8, "share of moves accepted, around which the step is kept")
    ascent_steps: int = tuned(150, "steps of those who climb; enough to tell one hill from another")
    same_peak: float = tuned(0.5, "spreads within which two ends of a climb are one")
    dip: float = tuned(0.5, "nats that the density must fall between two peaks for them to be two")
    points_between: int = tuned(16, "points on the way between two peaks where a dip is looked for")
    least_log_share: float = tuned(
        -14.0, "log of the mass of a peak, by curvature, over the largest, below which it is none"
    )
    narrow_widths: tuple[float, ...] = tuned(
        (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
        "spreads of the highest peak, at which the end of a climb without a curvature is tried …",
    )
    narrow_fall: float = tuned(1.0, "… and nats by which the density falls beyond its width")
    telling_log_share: float = tuned(
        -7.0, "the same, above which a new peak tells that there may be more"
    )
    depth: float = tuned(10.0, "nats below the mode under which a peak has next to no mass …")
    depth_by_dimension: int = tuned(2, "… and as many more for every dimension")

    # Components that may be numbered in any order.
    most_numberings: int = tuned(
        720, "of components, six of them, up to which the images of every mode are added"
    )
    most_relabelled_axes: int = tuned(
        6, "axes of one length of which all sets are tried as those that number the components"
    )
    relabelling_step: float = tuned(1e-5, "of differences of a renumbering, relative to x")
    relabelled_at_once: int = tuned(64, "points that are renumbered in one call")
    same_density: float = tuned(
        1e-7, "of the log density, that it may change by under a renumbering: rounding"
    )
    relabelled_points: int = tuned(4, "points beside modes at which a renumbering is tried")

    flipped_together: int = tuned(3, "most parameters whose signs are tried to change together")
    most_flipped: int = tuned(200, "sets of them that are tried, an evaluation each")
    most_signed: int = tuned(6, "components of an axis whose signs are tried to change one by one")
    flipped_peaks: int = tuned(
        8, "heaviest peaks that are compared as images of each other with other signs"
    )
    flipped_height: float = tuned(0.01, "nats by which such two may differ, as climbs leave them")

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
    flattenings_by_values: int = tuned(3, "of the density, on which chains look for other modes")
    ascents: int = tuned(3, "times that those who come to the known mode are let go")
    few_ascent_steps: int = tuned(3, "steps of an ascent before that")
    longer_off_flat_tops: int = tuned(
        4,
        "times as many moves of those chains where the top has no curvature: two flat ones 23 "
        "spreads apart in five dimensions were then found by 6 searches of 6, by none before",
    )
    few_points_between: int = tuned(6, "points at which the way to the mode is looked at for a dip")
    most_climbs: int = tuned(8, "to other peaks, from the highest points first")
    few_climbers_apart: float = tuned(4.0, "times further than one peak's width are climbers apart")

    # Whether the density falls away. Bounded parameters saturate in rounding, so that far out a
    # proper density may be flat; it has fallen on the way there.
    tail_near: float = tuned(10.0, "spreads from which, to the next, a proper density has fallen")
    tail_less_near: float = tuned(30.0, "spreads, the next")
    tail_far: float = tuned(1e3, "spreads from which, to the last, it still falls")
    tail_farther: float = tuned(1e6, "spreads, the last")
    tail_ends: float = tuned(
        1e30, "spreads to which it is looked at, by the same ratio, where it did not fall so far"
    )
    tail_rate: float = tuned(1.01, "times the fall of 1 / distance, that a proper density exceeds")
    plateau: float = tuned(
        3.0, "nats below the mode above which a plateau far out is no matter of rounding"
    )
    most_axes: int = tuned(256, "coordinates along which a density is looked at")
    flattest_lines: int = tuned(3, "directions beside them, in which it is flattest about its mode")
    most_value: float = tuned(1e100, "of a parameter; no data can want a larger one")


TUNING = SearchTuning()
