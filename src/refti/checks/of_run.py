"""Checks of what the run tells beside its draws: its end, modes, peak, bounds, prior and solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from refti.checks.check import Check, at_least, at_most
from refti.checks.ended import Ended
from refti.checks.tuning import TUNING
from refti.estimators import Estimate


def check_peak(
    height: float, mass: float, dim: int, *, has_top: bool = False, mass_falls: bool = False
) -> Check:
    """Whether the highest point found stands no higher than a density of this dimension has it.

    A Gaussian's mode is half the dimension, in nats, above its draws, and that of heavier tails a
    few times that. A density that grows without bound towards a point has it anywhere. A higher
    mode is no matter where next to nothing of the evidence lies about it, as in hierarchies whose
    scale is a parameter: the smaller the scale, the higher the density, and the narrower.

    Args:
        height: of the peak above the median draw, in nats.
        mass: the log of the peak's share of the evidence, by its curvature; NaN where it has none.
        dim: the number of parameters.
        has_top: whether it is smooth and falls in every direction, so that it is no spike.
        mass_falls: whether the mass was seen to fall on the way from the draws to the peak.
    """
    size = TUNING.peak_allowance + dim
    found = at_most(
        "peak",
        height / size,
        1.0,
        "the density has a spike far above all draws and may be unbounded there, so its evidence "
        "may be infinite; bound the parameters away from it, or reparametrise the model (for a "
        "hierarchy, use the non-centred form)",
    )
    # What the curvature says of a mass may be off by some nats, the more the more parameters.
    little = TUNING.little_mass + TUNING.little_mass_by_dimension * dim
    little = TUNING.little_mass_of_a_top if has_top else little
    return replace(found, ok=found.ok or mass_falls or bool(mass < -little))


def check_solver(stopped: float) -> Check:
    """Whether solvers of differential equations were hardly ever stopped on the path.

    Args:
        stopped: the share of the path's evaluations that were given up for taking too long.
    """
    return at_most(
        "solver",
        stopped,
        TUNING.most_stopped,
        "the solver of the model's differential equations was stopped at this share of the points "
        "on the path, which counted as density zero, so the evidence may be too low; raise "
        "solver_limit= of refti.from_stan (--solver-limit), or use a solver for stiff equations, "
        "such as ode_bdf",
    )


def check_rounding(shares: Mapping[str, float]) -> Check:
    """Whether next to no draw lies where rounding has eaten the distance to a bound.

    Args:
        shares: of the draws for which each parameter was rounded so, and the density with it.
    """
    worst = max(shares, key=lambda name: shares[name])
    return at_most(
        "rounding",
        shares[worst],
        TUNING.most_rounded,
        f"at this share of the draws {worst!r} is so close to a bound that rounding loses its "
        "distance from the bound, and any mass closer still is missed; write a refti.Model whose "
        f"function takes the exact distance ({worst}_to_upper, {worst}_to_lower, for a simplex "
        f"log_{worst}), or reparametrise the model, for example by the logit",
    )


def check_modes(modes: int, chains: int) -> Check:
    """Whether every mode that was found has a chain to tell of it."""
    return at_most(
        "modes",
        float(modes),
        float(chains),
        "the density has more modes than there are chains to start in them; raise chains=",
    )


def check_missing_tail(missing: float, error: float, own_error: float = 0.0) -> Check:
    """Whether draws have all the mass in the tails that the density itself says is there.

    Args:
        missing: the share of the mass that tails have more by integrating the density along lines
            than by counting draws. So much too low log z is at the most.
        error: the standard error of that.
        own_error: the standard error of log z.
    """
    return at_most(
        "missing tail",
        missing,
        max(TUNING.most_missing, TUNING.most_errors_missing * error, own_error),
        "integrated along lines, the tails of the density hold more mass than the draws show, "
        "by this share of the total, so the evidence is probably too low; let "
        "reference='auto' choose coordinates in which chains reach the tails, or sample longer "
        "(max_evaluations=)",
    )


def check_prior_reach(missing: float, error: float, coordinate: str) -> Check:
    """Whether chains get as far as exact draws of the prior, weighted by the likelihood.

    Args:
        missing: the share of the mass that lies beyond the chains' last draws of a coordinate, less
            what they have there themselves.
        error: the standard error of that.
        coordinate: its name.
    """
    return at_most(
        "prior draws",
        missing,
        max(TUNING.most_beyond_chains, TUNING.most_distance * error),
        "of the exact draws of the prior, weighted by the likelihood, this share lies beyond all "
        f"draws of the chains, above all in {coordinate!r}; so the chains have missed part of the "
        "posterior and the evidence is probably too low; reparametrise the model, for example "
        "write a hierarchy in non-centred form, or sample longer (max_evaluations=)",
    )


def check_fresh_starts(r_hat: float) -> Check:
    """Whether chains begun at draws of the reference came to where the run's chains are."""
    return at_most(
        "fresh starts",
        r_hat,
        TUNING.most_r_hat_of_fresh_starts,
        "chains started at draws of the reference ended up elsewhere than the run's own chains "
        "(R-hat of a coordinate), so one group has not seen all of the posterior; "
        "sample longer (warmup=, max_evaluations=), or reparametrise the model",
    )


def check_unreached_mass(share: float) -> Check:
    """Whether next to nothing of the evidence lies where no chain of the run passes to.

    Args:
        share: that shells about the peaks hold, relative to the evidence found.
    """
    return at_most(
        "beyond the peaks",
        share,
        TUNING.most_unreached,
        "far beyond a narrow peak the density holds about this much mass, relative to the "
        "evidence found, and chains do not move between the two, so the evidence is too low; if "
        "you gave draws=, give draws of both parts or none; or write the narrow part and the wide "
        "part as two models and add their evidences",
    )


def check_search(still_growing: bool, sentence: str) -> Check:
    """Whether the search for modes came to its own end, and did not end while it found more."""
    return at_most(
        "search",
        float(still_growing),
        0.0,
        "new modes were still turning up when the search for them ended, or some were met so "
        f"rarely that others are likely to have been missed ({sentence}); look harder with "
        'search="thorough" or a number of evaluations, or bound the parameters',
    )


def check_point(value: float) -> Check:
    """Whether the log density of a model without parameters is a number."""
    return at_least(
        "density",
        float(np.isfinite(value)),
        1.0,
        "the model has no parameters, and its log density is not finite: it gives these data a "
        "probability of zero, or none at all; check the data and the fixed values",
    )


def check_end(ended: Ended | None, spent: str = "") -> Check:
    """Whether the run came to its own end; if not for its budget, how that was spent, in words."""
    sentence = None if ended is None else ended.sentence
    if ended is Ended.OUT_OF_BUDGET and spent:
        sentence = spent
    return at_most(
        "finished", 0.0 if ended is None else 1.0, 0.0, f"the run was ended early: {sentence}"
    )


def check_prior_integral(
    estimate: Estimate, language: str = "", why_not: str = "", parts: str = ""
) -> Check:
    """Whether the prior alone integrates to one; NaN where its integral was not found.

    Where it was not found, a prior that is made of normalised factors has an integral of 1.

    Args:
        estimate: the log of its integral.
        language: what the model was written in, as its source begins.
        why_not: why its integral was not found: a sentence, or "before" a budget was spent.
        parts: why it is one by the way the prior is made, in words, if that is known.
    """
    if parts and not np.isfinite(estimate.value):
        estimate = Estimate(0.0, 0.0)
    allowed = max(TUNING.prior_tolerance, TUNING.most_distance * estimate.error)
    likely = next((words for name, words in LIKELY if language.startswith(name)), LIKELY[-1][1])
    advice = (
        f"the prior integrates to exp({estimate.value:.3f} ± {estimate.error:.3f}), not to 1: a "
        f"constant is missing, such as {likely}"
    )
    if not np.isfinite(estimate.value):
        advice = (
            "the prior's own integral was not found, so an improper prior or a missing constant "
            "would go unnoticed: write the prior in a form that is easier to sample (for example a "
            "scale that multiplies standard normals), or make sure by hand that it integrates to 1 "
            "and set check_prior=False"
        )
        if why_not.startswith("before "):
            advice = f"the prior's own integral was not found {why_not}"
        elif why_not:
            advice += f" ({why_not.rstrip('.')})"
    return at_most("prior", abs(estimate.value), allowed, advice)


def check_known_prior(estimate: Estimate, parts: str) -> Check:
    """Whether a prior that is known to integrate to one was found to do so.

    Args:
        estimate: the log of its integral.
        parts: why it is one by the way the prior is made, in words.
    """
    return at_most(
        "prior",
        abs(estimate.value),
        max(TUNING.prior_tolerance, TUNING.most_distance_from_one * estimate.error),
        f"this is a prior alone, which integrates to 1 ({parts}), and the estimate is "
        f"exp({estimate.value:.3f} ± {estimate.error:.3f}): the chains have missed a part of it; "
        "reparametrise the model, for example write a hierarchy in non-centred form",
    )


LIKELY = (
    (
        "PyMC",
        "that of an ordered transform (n! for n exchangeable values), of a pm.CustomDist or "
        "pm.Truncated whose logp is not normalised, or of an LKJ prior, which PyMC gets wrong",
    ),
    (
        "NumPyro",
        "that of a numpyro.factor, of handlers.scale or a mask on a latent site, or of a "
        "distribution of your own whose log_prob is not normalised",
    ),
    (
        "Stan",
        "that of a bound, which needs a truncation (tau ~ normal(0, 1) T[0, ];), of an implicit "
        "uniform prior, or of a prior on a transform without its Jacobian",
    ),
    ("", "the factor 2 of a half-normal, or a Jacobian"),
)
"""What most likely misses a constant, by the language that a model's source begins with."""


def check_witness(first: Estimate, second: Estimate, way: str, why_not: str) -> Check:
    """Whether the estimate along another way agrees with the first, if there is one."""
    distance = float("nan")
    advice = f"no second estimate was made: {why_not}"
    if not why_not:
        error = max(float(np.hypot(first.error, second.error)), 1e-9 * max(1, abs(first.value)))
        distance = abs(first.value - second.value) / error
        advice = (
            f"a second estimate, by {way}, is {second.value:.3f} ± {second.error:.3f}, this many "
            "errors away from the first: one of them has missed part of the posterior, or the "
            "prior does not integrate to 1; look for other modes and heavy tails"
        )
    return at_most("witness", distance, TUNING.most_distance, advice)
