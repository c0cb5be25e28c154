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
    least_tail_gain: float = tuned(
        6.0, "nats that the tails of a coordinate have to gain, which those of a Gaussian hardly do"
    )

    # Links.
    fewest_draws: int = tuned(100, "below which links are not looked for")
    worth_of_draws: float = tuned(
        0.25, "independent draws that one of a chain is taken for, when a link is told from noise"
    )
    sure: float = tuned(4.5, "standard errors that the correlation of a link exceeds; pairs are many")
    least_correlation: float = tuned(
        0.15, "of a link: a scale that changes by less than a sixth for each spread is left alone"
    )
    sibling_threshold: float = tuned(
        0.3, "of the correlation that is asked for, where a group follows the same already"
    )
    most_parents: int = tuned(6, "that one coordinate follows by its scale or by squares")
    most_passes: int = tuned(6, "in which links are added, one to each coordinate")
    deepest: int = tuned(3, "links in a chain of them")
    smallest_group: int = tuned(3, "coordinates that follow one, for a hub among them to be sought")
    most_hubs: int = tuned(5, "of one group")
    least_hub_gain: float = tuned(
        0.1, "nats a draw that a hub explains of each other coordinate of its group, on average"
    )
    hub_draws: float = tuned(0.1, "of the draws that must count where the scale is small")
    turns: int = tuned(4, "in which mean and scale of a coordinate are fitted after each other")
    least_hinge_gain: float = tuned(3.0, "nats for a log scale to have two slopes")
    newton_steps: int = tuned(25, "of the fit of a log scale, which is convex")
    ridge: float = tuned(2.0, "draws that speak against any slope")
    sibling_ridge: float = tuned(
        40.0, "draws that speak for the slope that others have which follow the same"
    )
    steepest: float = tuned(6.0, "slope of a log scale for one spread of what it follows")


TUNING = CoordinatesTuning()
