"""Words: what checks, figures and symbols mean, for readers who are new to them."""

from __future__ import annotations

CHECKS = {
    "convergence": "The chains of every rung agree with each other.",
    "effective draws": "Every rung has enough independent draws for a reliable error.",
    "divergences": "Trajectories follow the density without diverging.",
    "overlap": "Neighbouring rungs of the path overlap.",
    "exchange": "Neighbouring rungs exchange positions, so that no chain is stuck.",
    "halves": "The first and the second half of the draws give the same answer.",
    "chains": "Each chain on its own gives the same answer.",
    "tail of the start": "The estimate does not hang on a few draws of the reference.",
    "tail of the end": "The estimate does not hang on a few draws of the posterior.",
    "positions": "The chains of the posterior are in the same places.",
    "agreement": "TI, stepping stone and MBAR agree.",
    "target error": "The error you asked for was reached.",
    "support": "Enough of the reference lies where the density is positive.",
    "not a number": "The density is a number (not NaN) at nearly all draws of the reference.",
    "infinite": "The density is nowhere infinite.",
    "finished": "The run was not stopped early.",
    "modes": "There are chains enough for every mode that was found.",
    "search": "The search for other modes had stopped finding new ones.",
    "peak": "No spike stands far above all draws.",
    "rounding": "Rounding near bounds does not matter.",
    "solver": "Solvers of differential equations ran to completion.",
    "prior": "The prior integrates to one.",
    "fresh starts": "Chains started at draws of the reference end up in the same places.",
    "beyond the peaks": "Chains reach any mass far beyond narrow peaks.",
    "missing tail": "The draws cover the tails of the posterior.",
    "prior draws": "The chains reach as far as exact draws of the prior do.",
    "density": "The density is a finite number.",
    "witness": "A second, independent estimate agrees.",
}

FIGURES = {
    "path": (
        "The path",
        "log z is the log integral of the reference plus the area under this curve. Where the "
        "dashed spline departs from the solid curve, which uses all draws together, "
        "thermodynamic integration (TI) has too few rungs; MBAR, the default estimate, uses "
        "neither line.",
    ),
    "variance": (
        "Where the path is hard",
        "The variance of Δ is the slope of the path. Where it is large, rungs (the marks on the "
        "axis) should stand close together.",
    ),
    "overlap": (
        "Overlap of rungs",
        "1 means that two rungs could share all their draws, 0 that they overlap nowhere. The "
        "estimate depends on the cells next to the diagonal, which must not be near 0.",
    ),
    "running": (
        "Estimates as draws were added",
        "The lines should settle and agree, and stay within the bands, which are two standard "
        "errors wide on either side.",
    ),
    "estimates": (
        "Estimators side by side",
        "All of them use the same draws, so they should agree within their bars (two standard "
        "errors). The filled point is the one reported; the shaded band is its error.",
    ),
    "reference": (
        "Reference and posterior",
        "The two parameters in which the reference fits worst. The closer the two clouds, the "
        "shorter the path and the cheaper the estimate.",
    ),
    "chains": (
        "Chains of the rung that mixes worst",
        "Chains that have converged lie on top of each other and do not drift.",
    ),
    "modes": (
        "Modes found",
        "Crosses are the peaks that were found; points are draws of the posterior. A cloud "
        "without a cross, or a cross without a cloud, deserves a second look.",
    ),
    "search": (
        "What the search for other modes covered",
        "The probability that another mode would have been found, against the share of starting "
        "points from which the climb leads to it. Modes to the left of the curve may have been "
        "missed.",
    ),
    "cost": (
        "Where the time went",
        "Seconds spent on each stage; hatched parts are compiling, which a second run may save.",
    ),
    "probabilities": (
        "Probability of each model",
        "Posterior probabilities, given the prior probabilities of the models; error bars follow "
        "from the errors of log z.",
    ),
    "evidences": (
        "Log evidence of each model",
        "Further right is better. Bars are two standard errors; a difference of 1 nat is a "
        "factor of 2.7 in the odds.",
    ),
    "bayes_factors": (
        "Log Bayes factors",
        "The model of the row over that of the column: blue speaks for the row, brown for the "
        "column. Beyond 5 nats, where the colours end, the evidence is called very strong.",
    ),
}

GLOSSARY = (
    (
        "z, log z",
        "the evidence of a model, that is the probability (density) of the data under it, and "
        "its natural logarithm; also called the marginal likelihood",
    ),
    ("±", "a standard error: the true value lies within two of them with a probability of 95 %"),
    ("nat", "the unit of natural logarithms: a difference of 1 nat is a factor of 2.72"),
    (
        "log Bayes factor",
        "the difference of two models' log z: how far the data shift the odds from "
        "one model to the other",
    ),
    (
        "probability",
        "the probability of a model among those compared, given the prior probabilities and "
        "assuming that one of them is right",
    ),
    ("λ (lambda)", "a position on the path from the reference (0) to the posterior (1)"),
    ("Δ (delta)", "log density of the model minus that of the reference, at a draw"),
    ("reference", "a density close to the posterior whose integral is known"),
    ("rung", "a λ at which the path is sampled"),
    ("leg", "one part of a path that goes through intermediate densities"),
    ("TI", "thermodynamic integration: the area under the mean of Δ along λ"),
    (
        "MBAR",
        "the multistate Bennett acceptance ratio: an estimate from all draws at once, without "
        "integrating a curve",
    ),
    ("stepping stone", "an estimate from the ratios of neighbouring rungs"),
    ("R-hat", "how much chains differ from each other; 1 means not at all"),
    ("Pareto k", "how heavy the tail of weights is; above 0.7 a few draws decide everything"),
    ("effective draws", "how many independent draws the correlated ones are worth"),
    (
        "flattened posterior",
        "the posterior widened around the modes found, where the search for other modes starts",
    ),
)
