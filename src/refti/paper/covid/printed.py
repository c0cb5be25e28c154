"""The printed numbers of the paper's Table 3, what stands behind each, and what the rest is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, sqrt

import refti
from refti.paper.covid.jobs import Outcome
from refti.paper.covid.model import (
    FIRST_HALF_YEAR,
    VARIANTS,
    Variant,
    log_prior_mass,
    variant_as_printed,
)
from refti.paper.covid.runs import Runs, differs_by_constant, results_among
from refti.paper.laplace import Laplace
from refti.paper.report.findings import Table
from refti.paper.report.verdicts import verdict
from refti.studies import plus_minus

ROUNDING_OF_PRINTED = 0.5  # of the printed values, which are whole numbers
ERRORS_APART = 2  # within which two values agree
NOTHING = "—"


@dataclass(frozen=True)
class Printed:
    """A row of the paper's Table 3."""

    laplace: int
    correction: int
    log_z: int
    low: float
    high: float


PRINTED = {
    "GI=5": Printed(-1274, 558, -716, -715.6, -715.2),
    "GI=6": Printed(-1274, 572, -703, -703.3, -702.7),
    "GI=6.5": Printed(-1269, 530, -739, -738.6, -738.3),
    "GI=7": Printed(-1255, 522, -732, -732.4, -731.8),
    "GI=8": Printed(-1245, 561, -685, -685.5, -684.7),
    "GI=9": Printed(-1310, 507, -803, -802.8, -802.3),
    "GI=10": Printed(-1313, 508, -805, -805.1, -805.3),
    "GI=20": Printed(-1170, 385, -796, -796.3, -795.5),
    "AR(2)": Printed(-1207, 496, -711, -711.2, -710.6),
    "AR(3)": Printed(-1293, 589, -704, -704.7, -703.7),
    "AR(4)": Printed(-2166, 1346, -821, -820.6, -819.2),
    "W=1": Printed(-1260, 458, -802, -802.1, -801.6),
    "W=2": Printed(-1069, 278, -791, -791.2, -790.7),
    "W=3": Printed(-1003, 196, -807, -807.5, -807.2),
    "W=4": Printed(-940, 129, -811, -811.1, -810.7),
    "W=7": Printed(-875, 62, -814, -813.7, -813.5),
}


@dataclass(frozen=True)
class EvidenceAsPrinted:
    """What stands behind a printed number: its value by us, on the same days, lags and priors."""

    log_z: float
    error: float
    trusted: bool

    def __str__(self) -> str:
        return plus_minus(self.log_z, self.error) + ("" if self.trusted else " (not trusted)")

    def holds(self, printed: Printed) -> bool:
        """Whether the printed number, rounded as it is, is this value."""
        return abs(printed.log_z - self.log_z) <= ROUNDING_OF_PRINTED + ERRORS_APART * self.error


def evidence_as_printed(name: str, found: Runs) -> EvidenceAsPrinted | None:
    """The evidence of a variant exactly as printed; None where it was not run."""
    variant = variant_as_printed(name)
    if differs_by_constant(variant):
        right = found.evidences.get(name)
        mass = log_prior_mass(variant)
        return (
            None
            if right is None
            else EvidenceAsPrinted(right.log_z + mass, right.error, right.trusted)
        )
    result = results_among(found.printed).get(name)
    return None if result is None else EvidenceAsPrinted(result.log_z, result.error, result.trusted)


def describe_differences(found: Runs) -> str:
    """How far the printed numbers are from ours on the same days, lags and priors."""
    known = {name: evidence_as_printed(name, found) for name in found.right}
    offs = [PRINTED[name].log_z - ours.log_z for name, ours in known.items() if ours is not None]
    if not offs:
        return ""
    return (
        f"Against our values on the same days, lags and priors, the {len(offs)} printed numbers "
        f"that were run so are off by {min(offs):+.1f} to {max(offs):+.1f} nats."
    )


def printed_table(found: Runs) -> Table:
    """Every printed log evidence, what stands behind it, and what the rest is."""
    rows = []
    for name, right in found.right.items():
        variant, printed, ours = (
            variant_as_printed(name),
            PRINTED[name],
            evidence_as_printed(name, found),
        )
        interval = f"{printed.log_z} [{printed.low}, {printed.high}]"
        made_of = (str(variant.days or "all"), str(variant.strong_lag))
        mass = f"{log_prior_mass(variant):+.2f}"
        if ours is None:
            judged = (NOTHING, NOTHING, "not run", "Run without --quick.")
        else:
            judged = (
                str(ours),
                f"{printed.log_z - ours.log_z:+.1f}",
                verdict(ours.holds(printed)),
                _why(variant, printed, ours, found),
            )
        rows.append(
            (name, interval, *made_of, mass, *judged[:2], describe_outcome(right), *judged[2:])
        )
    columns = (
        "model",
        "printed log z [interval]",
        "days",
        "lag of the strong coefficient",
        "log integral of its prior",
        "ours, exactly so",
        "printed less ours",
        "ours, as meant",
        "verdict",
        "why",
    )
    notes = (
        "Exactly so: on the same days, with the same order of lags and priors not normalised. "
        "As meant: all days, lags in order, normalised priors.",
        f"A printed number holds if it is within its rounding ({ROUNDING_OF_PRINTED}) and "
        f"{ERRORS_APART} errors.",
    )
    return Table("as_printed", "The printed log evidences", columns, tuple(rows), notes)


def laplace_table(found: Runs, approximations: dict[Variant, Laplace]) -> Table:
    """Every printed Laplace value and correction, beside ours on the same days, lags and priors."""
    rows = []
    for name in found.right:
        printed, ours, about = (
            PRINTED[name],
            evidence_as_printed(name, found),
            _laplace(name, approximations),
        )
        if ours is None or about is None:
            missing = (NOTHING, "not run")
            rows.append((name, str(printed.laplace), *missing, str(printed.correction), *missing))
            continue
        correction = Laplace(ours.log_z - about.log_z, hypot(ours.error, about.error))
        verdicts = (
            *judge_laplace(printed.laplace, about),
            *judge_laplace(printed.correction, correction),
        )
        rows.append((name, *verdicts))
    columns = (
        "model",
        "printed Laplace",
        "ours, exactly so, ± noise",
        "verdict on the value",
        "printed correction",
        "ours, ± noise",
        "verdict on the correction",
    )
    notes = (
        "Laplace's approximation with a sampled covariance moves with the draws it is made from, "
        "since ½ log det of 200 dimensions adds up their noise; so does the correction, and only "
        "their sum is a property of the model.",
        f"A printed number holds if it is within its rounding ({ROUNDING_OF_PRINTED}) and "
        f"{ERRORS_APART} times the noise of both; that of the printed one is not known and "
        "taken to be that of ours.",
    )
    return Table(
        "laplace", "Laplace's approximation and its correction", columns, tuple(rows), notes
    )


def _laplace(name: str, approximations: dict[Variant, Laplace]) -> Laplace | None:
    """Laplace's approximation of a variant exactly as printed; None where it was not run."""
    variant = variant_as_printed(name)
    if not differs_by_constant(variant):
        return approximations.get(variant)
    of_right = approximations.get(VARIANTS[name])
    return of_right and replace(of_right, log_z=of_right.log_z + log_prior_mass(variant))


def judge_laplace(printed: int, ours: Laplace) -> tuple[str, str, str]:
    """A printed number, ours with its noise, and the verdict."""
    holds = abs(printed - ours.log_z) <= ROUNDING_OF_PRINTED + ERRORS_APART * sqrt(2) * ours.error
    return str(printed), str(ours), verdict(holds) + (", within its noise" if holds else "")


def _why(variant: Variant, printed: Printed, ours: EvidenceAsPrinted, found: Runs) -> str:
    parts = []
    if variant.days is not None:
        parts.append(
            f"It belongs to the first {FIRST_HALF_YEAR} days, so it cannot be compared with "
            "numbers that belong to all."
        )
    if variant.strong_lag != 1:
        parts.append("In its run the coefficient of mean 0.8 stood at lag 2.")
    if ours.holds(printed):
        return " ".join([*parts, "The rest is the constant that its priors lack."])
    return " ".join([*parts, _rest(variant.name, printed.log_z - ours.log_z, found)])


def _rest(name: str, rest: float, found: Runs) -> str:
    """What a printed number is off by when data, lags and priors are accounted for."""
    right, recipe = found.evidences.get(name), results_among(found.recipe).get(name)
    if right is None or recipe is None:
        return (
            "What is left is not of data, lags or priors; without --quick, 11 equal rungs are run."
        )
    off = recipe.log_z - right.log_z
    spline = f"on the model as meant, our own spline through 11 equal rungs is off by {off:+.1f}"
    if rest * off > 0 and abs(rest) <= 2 * abs(off) + ROUNDING_OF_PRINTED:
        return f"What is left is of the size of the discretisation error: {spline}."
    return f"More is left than the discretisation explains: {spline}. It cannot be told what it is."


def describe_outcome(outcome: Outcome | None) -> str:
    """A result with its error, or why there is none."""
    if isinstance(outcome, refti.Evidence):
        return plus_minus(outcome.log_z, outcome.error)
    return NOTHING if outcome is None else f"refused: {outcome.splitlines()[0]}"
