"""The runs behind the COVID-19 tables: each variant as it is meant, as printed, and by recipe."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import refti
from refti.paper.covid.cases import Cases
from refti.paper.covid.jobs import Job, Outcome, run_jobs
from refti.paper.covid.model import VARIANTS, Variant, model, variant_as_printed
from refti.paper.report.work import Work

TARGET_ERROR = 0.1  # a larger one saves nothing: its pilot is shorter, and the rest longer for it
FIRST_NAME = "AR(2)"  # W = 1 is the same model
PRINTED_TARGET_ERROR = 0.3  # enough beside numbers that are printed as whole ones
# The paper's: 11 equal rungs and a spline, from the sampled covariance, with 4 chains of 1,000.
RECIPE: dict[str, Any] = {
    "reference": "covariance",
    "ladder": refti.uniform(11),
    "estimator": "ti",
    "chains": 4,
    "kept": 1000,
}


@dataclass(frozen=True)
class Runs:
    """What was run.

    Attributes:
        right: all variants on all days, with normalised priors and lags in order.
        printed: variants whose printed number belongs to other days or lags, exactly so.
        recipe: variants as they are meant, by the paper's recipe.
    """

    right: dict[str, Outcome]
    printed: dict[str, Outcome]
    recipe: dict[str, Outcome]

    @property
    def evidences(self) -> dict[str, refti.Evidence]:
        """The variants that have a result, as they are meant."""
        return results_among(self.right)

    @property
    def runs_of_their_own(self) -> dict[str, refti.Evidence]:
        """The same without a variant that has its result from another's run."""
        first = self.evidences.get(FIRST_NAME)
        return {n: r for n, r in self.evidences.items() if n == FIRST_NAME or r is not first}


def all_runs(work: Work, cases: Cases, *, of_the_paper: bool) -> Runs:
    """All runs; quick ones, and those on other cases, leave out what only explains the paper.

    Quick ones also take W = 1 and AR(2), which are one model, from one run.
    """
    asked = [
        variant for variant in VARIANTS.values() if not (work.quick and is_second_name(variant))
    ]
    right = run_jobs(_jobs(work, cases, asked, "right", TARGET_ERROR), work.report)
    right = {name: right[name if name in right else FIRST_NAME] for name in VARIANTS}
    found = Runs(right, {}, {})
    if of_the_paper and not work.quick:
        others = [v for v in map(variant_as_printed, VARIANTS) if not differs_by_constant(v)]
        jobs = _jobs(work, cases, others, "printed", PRINTED_TARGET_ERROR)
        recipes = [_recipe(work, cases, name) for name in found.evidences]
        found = replace(
            found, printed=run_jobs(jobs, work.report), recipe=run_jobs(recipes, work.report)
        )
    return found


def is_second_name(variant: Variant) -> bool:
    """Whether it is AR(2) by another name, and AR(2) is among the variants."""
    return (
        FIRST_NAME in VARIANTS
        and replace(variant, name=FIRST_NAME) == VARIANTS[FIRST_NAME] != variant
    )


def results_among(outcomes: dict[str, Outcome]) -> dict[str, refti.Evidence]:
    """The results among outcomes."""
    return {n: found for n, found in outcomes.items() if isinstance(found, refti.Evidence)}


def differs_by_constant(printed: Variant) -> bool:
    """Whether a variant as printed is the right one but for the constant its prior lacks."""
    return replace(printed, normalised=True) == VARIANTS[printed.name]


def _jobs(
    work: Work, cases: Cases, variants: Iterable[Variant], kind: str, error: float
) -> list[Job]:
    """The runs of variants, first those of high order: they take longest, and nobody waits."""
    return [
        Job(
            variant.name,
            _folder(work, kind, variant.name),
            model,
            (variant, cases),
            {
                "seed": work.seed + is_second_name(variant),  # so that its run is another one
                "target_error": error,
                # Known in closed form, and beyond a run: the prior is a funnel of 200 coordinates.
                "check_prior": False,
            },
        )
        for variant in sorted(variants, key=lambda variant: -variant.order)
    ]


def _recipe(work: Work, cases: Cases, name: str) -> Job:
    settings = RECIPE | {"seed": work.seed, "check_prior": False}
    return Job(
        name,
        _folder(work, "recipe", name),
        model,
        (VARIANTS[name], cases),
        settings,
        after=_folder(work, "right", name),
    )


def _folder(work: Work, kind: str, name: str) -> Path:
    return work.folder / "runs" / kind / name
