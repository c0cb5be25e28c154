"""The numbers by which maps are fitted to draws."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class CoordinatesTuning:
    """How shapes are told from noise in a pilot's draws."""

    most_dimensions: int = tuned(500, "beyond which no map is fitted: pairs are too many")

    # Power tails.
    heaviest: float = tuned(2.0, "heaviness: a Student-t of half a degree of freedom")
    lightest: float = tuned(0.08, "heaviness below which a tail is left alone: 12 degrees")
    least_tail_gain: float = tuned(2.0, "nats that the tails of a coordinate have to gain")
    far_out: tuple[float, float, float, float] = tuned(
        (30.0, 100.0, 300.0, 1000.0), "spreads between which the fall of a density is looked at"
    )
    heavy_growth: float = tuned(
        4.0,
        "times the fall over a factor of three may grow over a factor of ten in the distance; "
        "10 is an exponential's, 1 a power law's",
    )

    # Links.
    fewest_draws: int = tuned(100, "below which shapes are not looked for")
    curvature_points: int = tuned(24, "draws at which the curvature is looked at")
    fewest_curvature_points: int = tuned(8, "below which it tells nothing")
    curvature_gradients: int = tuned(6_000, "gradients that this may cost, three a dimension each")
    beyond: float = tuned(
        2.5,
        "times as far out as draws are, in latent coordinates, is the curvature looked at too: "
        "chains then get to where none has been yet",
    )
    usable_points: float = tuned(0.6, "of them at which a coordinate must have a width")
    least_change: float = tuned(
        0.15, "of a log scale from draw to draw, below which it is taken for constant"
    )
    least_explained: float = tuned(0.6, "of that change, for a scale to follow a coordinate")
    law: float = tuned(
        0.05,
        "of that change that may be left, where all that one follows at once are found by a law: "
        "that its precision is a sum of two",
    )
    tried_for_law: int = tuned(12, "coordinates among which they are sought")
    least_of_sibling: float = tuned(
        1e-3, "of a log scale, that must change for a law to be sought that others follow already"
    )
    first_precision_below: tuple[float, float] = tuned(
        (0.02, 0.7), "logs by which the first of the two is below all, where its fit begins"
    )
    precision_steps: int = tuned(40, "of the fit of such a sum")
    least_share: float = tuned(
        0.01, "of a precision, somewhere, below which a part of it is not to be seen"
    )
    better_law: float = tuned(
        0.5, "of what scales leave that follow each parent apart, for a sum to be taken …"
    )
    off_by: float = tuned(
        0.01, "… if that is more than this, of a log scale; and what a law may leave at the most"
    )
    most_parents: int = tuned(4, "that one coordinate follows by its scale or by squares")
    most_about: int = tuned(8, "that its mean goes with in proportion")
    least_slope: float = tuned(0.02, "of a mean, in spreads, below which it does not")
    deepest: int = tuned(3, "links in a chain of them")
    smallest_group: int = tuned(3, "coordinates that follow one, for a hub among them to be sought")
    hub_slope: float = tuned(0.1, "with which a group goes with its hub, in spreads")
    hub_asymmetry: float = tuned(0.6, "of it with which the hub may go with one of the group")
    hub_share: float = tuned(0.3, "of those that go with a hub, with which it goes that much less")
    sure: float = tuned(
        4.5, "standard errors that the correlation of a bend exceeds; pairs are many"
    )
    least_correlation: float = tuned(0.15, "of a bend, below which it is left alone")
    bends_a_dimension: int = tuned(4, "pairs that are looked at, the most correlated first")
    steady: float = tuned(
        0.25, "deviation of a log scale from draw to draw, below which nothing else follows it"
    )
    least_bend: float = tuned(
        0.1, "widths of a valley that it leads off by over a spread, below which it is straight"
    )
    most_in_valleys: int = tuned(
        50,
        "dimensions up to which valleys are looked for: each link of a chain of them is a part of "
        "the program. Of a skewed density of 200 all 200 were taken for one, at 24 s of compiling "
        "and 1.1 GB",
    )
    most_slanting: int = tuned(
        30, "dimensions up to which valleys are looked for that are not along the coordinates …"
    )
    points_beside: int = tuned(4, "… for which curvatures are known at so many points more")
    leaf_starts: int = tuned(16, "directions from which one is looked for that nothing follows, …")
    first_leaf_starts: int = tuned(6, "… these while none was found, …")
    leaf_steps: int = tuned(100, "… and most steps from each")
    steepest: float = tuned(1e100, "curvature, above which its squares are no numbers any more")
    no_direction: float = tuned(
        1e-12, "change of the curvature, and length of a direction, that are none but rounding"
    )
    surely_steady: float = tuned(
        1e-5, "change of the curvature along it, beside all change, with which no other is tried"
    )
    ridge: float = tuned(
        1e-6, "share by which regressions are shrunk, for those that are undecided"
    )


TUNING = CoordinatesTuning()
