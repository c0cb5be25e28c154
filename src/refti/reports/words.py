"""Words: what checks, figures and symbols mean, for readers who are new to them."""

from __future__ import annotations

CHECKS = {
    "convergence": "The chains of every rung agree with each other.",
    "effective draws": "Every rung has enough independent draws for its error to be known.",
    "divergences": "Trajectories follow the density without breaking off.",
    "overlap": "Neighbouring rungs of the path overlap.",
    "exchange": "Neighbouring rungs exchange positions, so that no chain is stuck.",
    "halves": "The first and the second half of the draws give the same answer.",
    "chains": "Every chain by itself gives the same answer.",
    "tail of the start": "No few draws of the reference decide the estimate.",
    "tail of the end": "No few draws of the posterior decide the estimate.",
    "positions": "The chains of the posterior are in the same places.",
    "agreement": "TI, stepping stone and MBAR agree.",
    "target error": "The error asked for was reached.",
    "support": "Enough of the reference lies where the density is positive.",
    "not a number": "The density is a number nearly everywhere on the reference.",
    "infinite": "The density is nowhere infinite.",
    "finished": "The run came to its own end.",
    "modes": "Every mode that was found has a chain.",
    "search": "The search for other modes had stopped finding new ones.",
    "peak": "No spike stands far above all draws.",
    "rounding": "Rounding near bounds does not matter.",
    "solver": "Solvers of differential equations came to their end.",
    "prior": "The prior integrates to one.",
    "fresh starts": "Chains begun at draws of the reference come to the same places.",
    "beyond the peaks": "Chains pass to all the mass that lies beyond narrow peaks.",
    "lost modes": "Draws lie about every mode that was found.",
    "missing tail": "The draws hold all of the tails of the posterior.",
    "prior draws": "The chains reach as far as exact draws of the prior do.",
    "density": "The density is a finite number.",
    "witness": "A second estimate along another way agrees.",
}

FIGURES = {
    "path": (
        "The path",
        "log z is the reference's log integral plus the area under this curve. Where the dashed "
        "spline leaves the curve that all draws give together, thermodynamic integration (TI) has "
        "too few rungs; MBAR, the default estimate, uses neither line.",
    ),
    "variance": (
        "Where the path is hard",
        "The variance of Δ is the slope of the path. Where it is large, rungs (the marks on the "
        "axis) should stand close together.",
    ),
    "overlap": (
        "Overlap of rungs",
        "1 means that two rungs have the same draws, 0 that they have none in common. The cells "
        "beside the diagonal carry the estimate and must not be near 0.",
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
        "Crosses are the peaks of the density that were found; points are draws of the posterior. "
        "A cloud without a cross, or a cross without a cloud, deserves a second look.",
    ),
    "search": (
        "What the search for other modes covered",
        "How likely another mode would have been found, by the share of the starting points that "
        "lie on its slopes. Modes to the left of the curve can have been missed.",
    ),
    "cost": (
        "What the time went into",
        "Seconds of every stage; hatched parts are compiling, which a second run may save.",
    ),
    "probabilities": (
        "Probability of each model",
        "Posterior probabilities given the prior probabilities in the table; the bars are the "
        "errors that those of log z cause.",
    ),
    "evidences": (
        "Log evidence of each model",
        "Further right is better. Bars are two standard errors; a difference of 1 nat is a factor "
        "of 2.7 in the odds.",
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
        "the evidence of a model, the probability (density) of the data under it, and its "
        "natural logarithm; also called the marginal likelihood",
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
        "that of a model among those compared, given the prior probabilities and that "
        "one of them is right",
    ),
    ("λ (lambda)", "a place on the path from the reference (0) to the posterior (1)"),
    ("Δ (delta)", "log density of the model less that of the reference, at a draw"),
    ("reference", "a density close to the posterior whose integral is known"),
    ("rung", "a λ at which the path is sampled"),
    ("leg", "a part of the path, where it goes by way of intermediate densities"),
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
        "the posterior about the modes found, widened, from which the search for "
        "other modes sets out",
    ),
)
