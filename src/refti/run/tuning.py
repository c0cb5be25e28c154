"""The numbers that a run works by, from its pilot to its last round."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class PilotTuning:
    """How the posterior is found and first drawn from."""

    block_length: int = tuned(25, "iterations between two looks at a run: exchanges, progress")
    warmup: int = tuned(300, "iterations in which chains find a density")
    warmup_by_values: int = tuned(
        75, "where chains have only coordinates to learn, and evaluations are dear"
    )
    blocks: int = tuned(5, "of the pilot that are kept")
    blocks_by_values: int = tuned(2, "where evaluations are dear; more follow where they help")
    blocks_to_compare: int = tuned(2, "drawn to compare the user's posterior draws with")
    most_unlike: float = tuned(
        3.0, "standard deviations of the log density between the user's draws and ours"
    )
    most_steps: int = tuned(
        64,
        "of a trajectory in a few dimensions, where more are wanted only by a density that jumps",
    )
    fewest_steps: int = tuned(16, "of a trajectory, however short they are to be cut")
    apart: float = tuned(1.1, "R-hat above which chains sit on modes of their own")
    apart_in_many_dimensions: float = tuned(
        1.5, "the same where a short pilot has not settled yet in every one of them"
    )
    most_chains: int = tuned(256, "that a density of many modes gets, one for each of them")
    searched_about_draws: float = tuned(
        0.5,
        "of a search's usual evaluations, once more, where many draws are far beyond the peaks",
    )
    most_broad_parts: int = tuned(3, "beyond narrow peaks, each of which the pilot begins anew for")
    about_mode: float = tuned(
        1.5, "times the radius of a Gaussian's mass within which draws are its"
    )
    share_about_mode: float = tuned(0.02, "of the draws, with which chains sit on the highest mode")
    tries_to_get_inside: int = tuned(
        20, "times the distance of a start from its peak is halved while outside the support"
    )
    steepest_start: float = tuned(
        10.0, "times as steep as by the curvature at the peak, beyond which no chain begins"
    )
    flattenings_by_values: tuple[float, ...] = tuned(
        (10.0, 100.0, 1000.0),
        "T of the density to the power 1 / T, on which chains search for other modes by values",
    )
    flattened_moves_by_values: int = tuned(12, "of each chain on each of those")
    flattened_points_by_values: tuple[int, int] = tuned(
        (2, 4), "last points of chains and points highest for their distance, that climb from there"
    )
    narrow_share: float = tuned(
        0.1, "of max_evaluations=, that a search for narrow modes may take beyond the usual one"
    )
    scanned_share: float = tuned(
        0.2, "of max_evaluations=, that may be looked at by values alone, which cost a tenth"
    )
    wanderers_at_once: int = tuned(
        64, "points of one call: calls cost about as much as tens of cheap densities"
    )
    values_at_once: int = tuned(4096, "points of one call where the density alone is looked at")
    few_wanderers: int = tuned(
        2, "calls of the program for chains that take the place of one call of the wide one"
    )
    widest: float = tuned(1000.0, "spreads of the mode within which flattened chains stay")
    factoring_seconds: float = tuned(
        1.5e-10, "for each dim^3 of an eigendecomposition, measured on one core in 500 to 2,000"
    )


@dataclass(frozen=True)
class KernelChoiceTuning:
    """When another kernel is tried than the one that was begun with."""

    many_steps: float = tuned(
        40.0, "gradients a draw, above which trajectories are cut up by jumps or bends"
    )
    most_dimensions: int = tuned(20, "beyond which slices along ellipses are hopeless")
    warmup: int = tuned(75, "iterations of the kernel that is tried")
    blocks: int = tuned(8, "of it to judge by, more than of the first: they are cheap")
    gain: float = tuned(1.5, "times as many effective draws an evaluation, to change")
    settling_blocks: tuple[int, ...] = tuned(
        (16, 32),
        "of each turn in which its chains learn from the draws before: by the first 25 iterations "
        "alone they took 200 moves between a peak and the shelves beside it, not 5",
    )


@dataclass(frozen=True)
class CoordinatesChoiceTuning:
    """How the coordinates of a run are chosen."""

    shorter: float = tuned(
        0.85, "of the way in the model's own coordinates that another's must come down to"
    )
    much_shorter: float = tuned(
        0.6, "of it, where valleys that bend are straightened: a tenth is usual where they do bend"
    )
    much_heavier: float = tuned(
        0.2, "heaviness of a tail, five degrees, from which chains hardly reach its end otherwise"
    )
    no_longer: float = tuned(1.3, "times the way, that such coordinates may cost")
    unsettled: float = tuned(1.1, "R-hat of the pilot above which its chains have not arrived")
    settled: float = tuned(1.05, "R-hat below which chains move between what seemed to be modes")
    much_longer: float = tuned(3.0, "times the way, that links may cost while they have not")
    turns: int = tuned(12, "most times that a map is fitted to the draws made in the one before")
    few_dimensions: int = tuned(50, "up to which every one of them must have settled")
    most_settled: float = tuned(0.9, "share of them that must have, where they are more")
    turns_in_many_dimensions: int = tuned(3, "most turns there, where each is dear")
    dearer: float = tuned(
        1.5, "times the cost of a draw in the model's own coordinates that one may have there"
    )
    much_dearer: float = tuned(2.0, "times that cost, beyond which trajectories are cut short")
    warmup: int = tuned(100, "iterations of chains that set out in new coordinates")
    shift: float = tuned(0.4, "spreads that draws may have moved by for the last to be a turn's")
    stretch: float = tuned(1.3, "times that they may have become wider or narrower for it")


@dataclass(frozen=True)
class ReferenceChoiceTuning:
    """How the reference is chosen."""

    short: float = tuned(
        1.25, "a length at which two rungs overlap well: no better family is looked for"
    )
    short_by_values: float = tuned(0.6, "the same where evaluations are dear and programs are not")
    worth_compiling: float = tuned(
        1000, "draws that a shaped family must save, for it has programs to compile"
    )
    worth_compiling_by_values: float = tuned(50, "the same where evaluations are dear")
    pilot_share: float = tuned(
        0.5, "of the draws that an estimate is going to need, below which the pilot goes on"
    )
    pilot_share_with_scores: float = tuned(
        0.15, "the same where gradients at the draws tell of the covariance too: more add little"
    )
    draws_a_dimension: int = tuned(
        50, "of the pilot, beyond which a covariance hardly gains by more"
    )
    most_scores: int = tuned(
        4000, "gradients at draws, beyond which a base for a covariance hardly gains by more"
    )
    most_pilot_draws: int = tuned(20_000, "beyond which draws are better spent on the estimate")
    most_pilot_numbers: int = tuned(
        40_000_000, "in the draws of a pilot, 320 MB: fewer draws of more parameters"
    )
    close: float = tuned(1.2, "times the shortest length, within which a family is measured again")
    still_shorter: float = tuned(
        0.95, "of the length before that twice the draws must come down to, to be doubled again"
    )
    about_as_short: float = tuned(
        1.5,
        "times the shortest way, up to which a reference that reaches far is preferred, if its way "
        "is a short one: on the eggbox, whose modes have flanks, it is 0.8 to 1.2 times",
    )
    as_good_as_normal: float = tuned(
        0.25, "a length below which modes are normal, and no reference that reaches far is tried"
    )
    most_that_wind: int = tuned(
        6, "dimensions in which Gaussians are strung along a ridge; with more it takes too many"
    )
    winding: float = tuned(
        1.25, "a length of the shortest way, beyond which a ridge that winds is looked for"
    )
    winding_still: float = tuned(
        0.5, "the same in the coordinates of a shape, in which what has it is all but normal"
    )
    steps_beside_leaps: int = tuned(
        16, "of a trajectory on such a ridge, along which leaps lead much further"
    )
    no_way: float = tuned(1e6, "the length to a reference that has no draw inside the support")


@dataclass(frozen=True)
class RoundsTuning:
    """How sampling goes on, and when it ends."""

    warmup_beside: int = tuned(150, "iterations of chains begun where those of the next rung stand")
    warmup_beside_by_scores: int = tuned(
        100, "the same where gradients at draws tell the coordinates, which few draws then do"
    )
    warmup_beside_by_values: int = tuned(50, "the same where evaluations are dear")
    first_round: int = tuned(4, "scans, by which the rate is first known")
    first_round_with_flanks: int = tuned(
        8, "the same where modes have flanks, which chains enter seldom and stay in"
    )
    first_round_of_groups: int = tuned(
        12,
        "the same where groups are pooled by scales, whose logs have the tails of an exponential: "
        "of 800 draws, after 4 scans, few were out there, and one of 34 results was 4.3 errors off",
    )
    first_round_where_it_jumps: int = tuned(
        40,
        "the same of a density that jumps: runs that ended after 16 scans had met too little of "
        "the shelves beside its peak, by 1.2 errors, after 20 to 35 by 0.4; slices are cheap",
    )
    least_growth: float = tuned(
        1.25, "times the scans so far, after any round: a look after every scan would find a dip"
    )
    most_growth: float = tuned(2.0, "times the scans so far, however far the target")
    aim: float = tuned(
        0.9, "of the target error that a round is planned for: its own error is a tenth or so"
    )
    most_scans: int = tuned(2048, "of every leg, after which a run ends")
    most_moves: int = tuned(8, "iterations for each draw that is kept")
    rounds_to_shorten_steps: int = tuned(4, "in which divergences may be mended by shorter steps")
    rounds_before_giving_up: int = tuned(
        3, "after which the rate so far tells whether the target is within the budget"
    )
    refits: int = tuned(2, "of the reference to the draws of the run itself")
    refit_gain: float = tuned(0.7, "of the present length that a refitted one must come down to")
    prior_evaluations: tuple[int, int] = tuned(
        (200_000, 500_000), "least and most for the prior's integral, which is to cost no more"
    )
    prior_target_error: float = tuned(0.05, "nats, at which a missing constant is seen")


@dataclass(frozen=True)
class FreshStartsTuning:
    """How chains begun at exact draws of the reference are held against those of the run."""

    mixed: float = tuned(
        0.2, "share of exchanges made by every pair of rungs, above which they are mixed already"
    )
    blocks: int = tuned(
        8, "that the fresh chains make, fewer where their trajectories are longer …"
    )
    fewest_blocks: int = tuned(4, "… but this many at the least …")
    share_to_settle: float = tuned(0.5, "… of which the first are not looked at")


@dataclass(frozen=True)
class WitnessTuning:
    """How the second witness is made."""

    least_evaluations: int = tuned(
        200_000, "that it may make, where the run itself was cheaper: the way from afar is longer"
    )
    largest_error: float = tuned(0.25, "nats, beyond which a second estimate tells nothing")
    covariance: float = tuned(2.0, "times that of the draws, for what they did not reach")
    most_draws: int = tuned(4_000, "that it is fitted to; it need not be close")
    degrees: float = tuned(3.0, "of freedom: tails as heavy as they can be with a variance")
    other_seed: int = tuned(2**40, "added to the run's, so that no usual seed makes the same run")


@dataclass(frozen=True)
class StoreTuning:
    """How a run is kept while it goes on."""

    seconds_a_bundle: float = tuned(
        1.0, "of computing between two writes, which take a hundredth of that; lost at a kill"
    )
    probes: int = tuned(
        16, "posterior draws at which a model is compared with the one that a result is of"
    )


@dataclass(frozen=True)
class SpreadTuning:
    """When blocks are run in other processes."""

    least_seconds: float = tuned(
        0.2, "of a block: below, a whole run takes less than processes take to start and compile"
    )
    worth: float = tuned(10.0, "times what sending costs that a block must cost, to be sent")


@dataclass(frozen=True)
class SharingTuning:
    """When the blocks of a run are on offer to processes that were told to make the same run."""

    least_seconds: float = tuned(
        0.3, "of a block: to offer, claim and write one takes about a hundredth of a second"
    )
    look_again: float = tuned(0.02, "seconds between two looks at whether a block is there")
    look_for_participants: float = tuned(1.0, "seconds between two looks at who helps")
    on_offer: int = tuned(16, "blocks at once, for each of which a thread waits")


@dataclass(frozen=True)
class UsersDrawsTuning:
    """What posterior draws must be to take the place of the pilot's, and what they save."""

    fewest: float = tuned(100.0, "effective draws to which a reference is fitted")
    most_r_hat: float = tuned(1.05, "of coordinates of draws that are the same all along")
    fewest_a_chain: int = tuned(50, "of whose first tenth something can be said")
    most_distance: float = tuned(
        6.0, "errors between draws that are alike, in the worst of a thousand coordinates"
    )
    other_width: float = tuned(1.5, "times as wide, from which draws count as narrow or wide")
    other_place: float = tuned(0.5, "standard deviations away, from which they are elsewhere")
    search_share: float = tuned(
        0.2, "of the search for modes that is left to do where draws agree about the posterior"
    )
    warmup: int = tuned(75, "iterations of chains that begin at draws: they learn their steps")


@dataclass(frozen=True)
class GroupsTuning:
    """What a result keeps of the posterior beside the parameters."""

    most_numbers: int = tuned(
        20_000_000, "of derived values, or of log likelihoods, that are kept: 160 MB"
    )


@dataclass(frozen=True)
class ShownTuning:
    """What a result keeps for its figures alone."""

    draws: int = tuned(400, "of the reference, which a figure can show")
    numbers: int = tuned(400_000, "in all of them, so that many parameters keep fewer draws …")
    fewest_draws: int = tuned(50, "… but this many at the least")
    modes: int = tuned(25, "whose places are kept")
    dimensions_of_modes: int = tuned(100, "up to which the places of modes are kept at all")


PILOT = PilotTuning()
KERNEL_CHOICE = KernelChoiceTuning()
COORDINATES_CHOICE = CoordinatesChoiceTuning()
REFERENCE_CHOICE = ReferenceChoiceTuning()
ROUNDS = RoundsTuning()
FRESH_STARTS = FreshStartsTuning()
WITNESS = WitnessTuning()
STORE = StoreTuning()
SPREAD = SpreadTuning()
SHARING = SharingTuning()
USERS_DRAWS = UsersDrawsTuning()
GROUPS = GroupsTuning()
SHOWN = ShownTuning()
