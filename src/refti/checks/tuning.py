"""The thresholds of the checks, and the numbers by which tails of weights are judged."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class CheckTuning:
    """What a result may be like and still be trusted."""

    most_r_hat: float = tuned(1.03, "R-hat of a rung's chains; above it they are not yet mixed")
    most_r_hat_of_the_estimate: float = tuned(
        1.05, "R-hat of what the chains add to the estimate, noisier than that of a rung"
    )
    fewest_effective_draws: float = tuned(200.0, "of a rung, for the error itself to be known")
    most_divergences: float = tuned(0.005, "share of a rung's trajectories that diverge")
    least_overlap: float = tuned(0.05, "of neighbouring rungs; below it bridges are guesses")
    least_exchange: float = tuned(0.01, "share of exchanges made of those tried by a pair of rungs")
    most_distance: float = tuned(
        4.0, "errors between two estimates of the same thing; by chance once in 16,000"
    )
    most_tail_shape: float = tuned(0.7, "Pareto k of weights, as Vehtari et al. (2024) advise")
    least_support: float = tuned(0.01, "share of a leg's start inside the support of its end")
    told_not_a_number: float = tuned(
        0.01, "share of the reference's draws with NaN above which the result says so, if trusted"
    )
    most_not_a_number: float = tuned(0.5, "share of the reference's draws where the density is NaN")
    peak_allowance: float = tuned(
        10.0, "nats beside the dimension by which a peak may stand above the draws"
    )
    most_unreached: float = tuned(0.02, "of the evidence, by few rays, that no chain passes to")
    most_r_hat_of_fresh_starts: float = tuned(
        1.5, "of short chains begun at draws of the reference together with those of the run"
    )
    long_tail: float = tuned(
        9.0,
        "times as far from the median as half of the draws are, beyond which one is in a long "
        "tail; of a normal's 16,000 draws the last is 6 times as far, of an exponential's 14",
    )
    tail_coordinates: int = tuned(
        32, "with long tails, whose mass is also integrated from the density itself"
    )
    tail_draws: int = tuned(200, "about one of several modes, from which its tails can be told")
    tail_beyond: float = tuned(0.98, "share of the draws beyond which a tail begins")
    tail_lines: tuple[int, int] = tuned(
        (2, 24),
        "draws within through which the density is integrated: along each coordinate, along all …",
    )
    tail_lines_beyond: tuple[int, int] = tuned((1, 12), "… and draws beyond")
    tail_points: int = tuned(12, "points on each side of a line's middle, and of its draw …")
    tail_points_more: int = tuned(20, "… and so many more where its mass is …")
    tail_refinements: int = tuned(5, "… so many times, until they change nothing any more")
    tail_batch: int = tuned(512, "points at once, so that one program does for all")
    tail_ends: float = tuned(1e4, "times further than where it begins, where a tail is left")
    tail_grain: float = tuned(0.2, "spreads between the points in the middle of a line")
    tail_agreed: float = tuned(
        0.9, "of the lines, by which a tail is judged: a few may lie beyond as a whole"
    )
    most_unresolved: float = tuned(
        0.05, "nats that the mass of a line may change by with more points, to tell anything"
    )
    most_missing: float = tuned(
        0.01, "share of the mass that draws may lack in a tail, and the error of log z …"
    )
    most_errors_missing: float = tuned(
        3.0,
        "… and errors of that share: of 150 runs, 130 of them right, those beyond all three were "
        "1.7 errors too low on average",
    )
    information_draws: int = tuned(
        64, "of the posterior, at which it is seen how much the data tell beyond the prior"
    )
    most_information: float = tuned(
        3.0, "nats of that, beyond which hardly any draw of the prior lies in the posterior"
    )
    prior_draws: int = tuned(
        4_000, "made by the model's language, to see how far the prior reaches"
    )
    fewest_prior_draws: float = tuned(
        400.0, "effective ones, weighted by the likelihood, to tell anything"
    )
    most_beyond_chains: float = tuned(
        0.03,
        "share of the mass by which such draws may lie beyond the chains', and 4 errors: those of "
        "18 runs that were right had up to 0.016, of 6 that were 0.1 low 0.02 to 0.07",
    )
    reach_tail: float = tuned(
        0.005, "share of the chains' draws on each side of a coordinate that counts as their last"
    )
    most_r_hat_of_positions: float = tuned(
        1.08, "of a coordinate of the posterior's draws; delta may agree where positions do not"
    )
    most_r_hat_where_it_jumps: float = tuned(
        1.01, "the same where chains slice a density that jumps"
    )
    positions_looked_at: int = tuned(400, "draws of each chain that this is judged by")
    little_mass: float = tuned(
        10.0, "nats below the evidence, at which the mass of a peak by its curvature is no matter …"
    )
    little_mass_of_a_top: float = tuned(
        3.0, "the same of a peak that has a smooth top, whose mass its curvature tells well"
    )
    little_mass_by_dimension: float = tuned(0.05, "… and as many more for every parameter")
    most_stopped: float = tuned(0.001, "share of the path's evaluations that solvers gave up")
    most_rounded: float = tuned(
        0.0005,
        "share of draws at which rounding eats the distance to a bound; a rounded density ends "
        "soon after, and a Beta(0.15, 0.15), of which 0.2 % lie beyond, has such a share",
    )
    round_trip: float = tuned(
        0.01,
        "change of a coordinate on its way to the parameter and back from which the value is "
        "called rounded: a hundredth of the distance to the bound",
    )
    rounded_draws: int = tuned(10_000, "that are looked at for this")
    rounded_trials: int = tuned(100, "of those found at which the density beyond is looked at")
    beyond_rounding: tuple[float, float] = tuned(
        (10.0, 12.0), "units further out, where nothing is left of the distance, and on from there"
    )
    cut_off_fall: float = tuned(
        0.5,
        "nats a unit: a density that is cut off falls by 1, and one that is not, with such a share "
        "of draws there, by 0.2 at most",
    )
    prior_tolerance: float = tuned(0.05, "nats by which a prior's log integral may differ from 0")
    most_distance_from_one: float = tuned(
        3.0,
        "errors from 0 of the log integral of a prior that is known to integrate to one: nearer "
        "than two estimates are held together, since one of them is exact",
    )

    fewest_in_tail: int = tuned(5, "weights in a tail; of fewer nothing can be said")
    heaviest_weight: float = tuned(
        10.0, "of the largest weight over the mean; below it no weight dominates"
    )
    tail_prior_weights: float = tuned(
        10.0, "weights that the shape's prior counts for, as Vehtari et al. (2024) have it"
    )
    tail_prior_shape: float = tuned(0.5, "shape that the estimate is drawn towards")


TUNING = CheckTuning()
