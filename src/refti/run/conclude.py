"""Conclusion: from what the legs have drawn to estimates, checks and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import xarray

from refti.checks.check import Check
from refti.checks.of_draws import check_estimates, check_legs, check_share
from refti.draws.cost import Cost
from refti.draws.support_share import SupportShare
from refti.estimators import Estimate, estimate_path
from refti.models.model import Model
from refti.paths.path import Path
from refti.results.result import Evidence, LogRatio
from refti.results.rungs import summarise_rungs
from refti.run.settings import Settings
from refti.sampling.leg import LegSample

Kind = TypeVar("Kind", Evidence, LogRatio)


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What can be said so far."""

    samples: Sequence[LegSample]
    estimates: Mapping[str, Estimate]
    checks: tuple[Check, ...]


def conclude(path: Path, samples: Sequence[LegSample], asked: Settings) -> Conclusion:
    """The estimates of the samples of all legs, and what is to be thought of them."""
    legs = [sample.draws for sample in samples]
    starts, ends = _shares(samples)
    estimates = estimate_path(legs, _known(path, starts, ends))
    divergences = np.concatenate([sample.divergences for sample in samples])
    checks = (
        *check_legs(legs, divergences, [sample.exchanges for sample in samples]),
        *check_estimates(estimates, asked.estimator, asked.target_error),
        *check_share([*starts, *ends]),
    )
    return Conclusion(samples, estimates, checks)


def result(
    kind: type[Kind],
    model: Model,
    path: Path,
    conclusion: Conclusion,
    *,
    asked: Settings,
    more_checks: Sequence[Check],
    cost: Cost,
    facts: Mapping[str, Any],
) -> Kind:
    """The conclusion as the user gets it."""
    chosen = conclusion.estimates[asked.estimator]
    starts, ends = _shares(conclusion.samples)
    return kind(
        value=chosen.value,
        error=chosen.error,
        estimates=conclusion.estimates,
        checks=(*conclusion.checks, *more_checks),
        draws=tuple(sample.draws for sample in conclusion.samples),
        posterior=_posterior(model, conclusion.samples[-1].end_points),
        cost=cost,
        settings=asked.record(),
        found={
            "path": path.name,
            "log_z_start": path.log_z_start,
            "shares": [[share.inside, share.drawn] for share in starts],
            "end_shares": [[share.inside, share.drawn] for share in ends],
            **facts,
        },
        rungs=tuple(
            rung
            for leg, sample in enumerate(conclusion.samples)
            for rung in summarise_rungs(
                leg,
                sample.draws,
                divergences=sample.divergences,
                exchanges=sample.exchanges,
            )
        ),
    )


def _shares(samples: Sequence[LegSample]) -> tuple[list[SupportShare], list[SupportShare]]:
    return [sample.share for sample in samples], [sample.end_share for sample in samples]


def _known(path: Path, starts: Sequence[SupportShare], ends: Sequence[SupportShare]) -> Estimate:
    """What of log z is known without the legs: its start, and the shares inside the supports.

    A leg joins the part of its start inside the end's support to the part of its end inside the
    start's, so the first share is multiplied and the second divided by.
    """
    shares = sum(share.log_share for share in starts) - sum(share.log_share for share in ends)
    return Estimate(
        (path.log_z_start or 0.0) + shares,
        float(np.hypot.reduce([share.log_error for share in (*starts, *ends)])),
    )


def _posterior(model: Model, x: np.ndarray) -> xarray.Dataset:
    chains, count, dim = x.shape
    values = model.space.constrain_all(x.reshape(-1, dim))
    return xarray.Dataset(
        {
            name: (
                ("chain", "draw", *(f"{name}_dim_{i}" for i in range(value.ndim - 1))),
                value.reshape(chains, count, *value.shape[1:]),
            )
            for name, value in values.items()
        }
    )
