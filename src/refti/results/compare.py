"""Ranks models by evidence: log Bayes factors, model probabilities and the errors of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from refti.checks.verdict import Verdict
from refti.errors import CompareError
from refti.results.comparison import Comparison, Row, difference, is_ranked
from refti.results.of_data import require_same_data
from refti.results.text import list_names
from refti.results.tuning import TUNING


class HasEvidence(Protocol):
    """What compare() reads of a result."""

    @property
    def log_z(self) -> float: ...

    @property
    def error(self) -> float: ...

    @property
    def trusted(self) -> bool: ...


def compare(
    results: Mapping[str, HasEvidence],
    *,
    prior: Mapping[str, float] | None = None,
    different_data: bool = False,
) -> Comparison:
    """Returns the models ranked by evidence, with Bayes factors and posterior probabilities.

    The ranking depends on the evidence and not on the probability, so it does not depend on
    `prior`. A model whose log z or error is not finite is shown last and left out of the
    probabilities, so that one failed model does not spoil the comparison of the others.

    Args:
        results: what `refti.evidence` returned, by the name of each model.
        prior: prior weight of every model; they need not sum to one. Equal weights by default.
        different_data: whether to rank results even if their data differ. Evidences of different
            data say nothing about which model is better.

    Raises:
        CompareError: `results` or `prior` cannot be used, or the results are of different data.
    """
    _require_results(results)
    if not different_data:
        require_same_data(results)
    _require_prior(prior, results)
    # Ties go by name, so that the order in which results are given changes nothing.
    names = sorted(results, key=lambda name: (*_rank(results[name]), name))
    log_z = [float(results[name].log_z) for name in names]
    error = [float(results[name].error) for name in names]
    weights = _normalised([1.0 if prior is None else float(prior[name]) for name in names])
    probability, spread = _probabilities(np.array(log_z), np.array(error), weights)
    rows = []
    for index, name in enumerate(names):
        ranked = is_ranked(log_z[index], error[index])
        factor, factor_error = difference(
            log_z[index], error[index], log_z[0], error[0], same=index == 0
        )
        rows.append(
            Row(
                name=name,
                log_z=log_z[index],
                error=error[index],
                log_bayes_factor=factor,
                log_bayes_factor_error=factor_error,
                probability=float(probability[index]),
                probability_error=float(spread[index]),
                strength=strength(factor) if ranked and index > 0 else "",
                trusted=bool(results[name].trusted) and ranked,
                prior=float(weights[index]),
                verdict=_verdict(results[name]) if ranked else Verdict.NOT_TRUSTED,
                notes=_notes(results[name]),
            )
        )
    return Comparison(tuple(rows))


def strength(log_bayes_factor: float) -> str:
    """Returns the words of Kass & Raftery (1995) for the evidence for the model that is favoured.

    Their scale is on 2 log BF: up to 2, 6, 10 and beyond. The sign is ignored; NaN gives "".
    """
    if math.isnan(log_bayes_factor):
        return ""
    twice = 2 * abs(log_bayes_factor)
    if twice <= 2:
        return "not worth more than a bare mention"
    if twice <= 6:
        return "positive"
    return "strong" if twice <= 10 else "very strong"


def _verdict(result: HasEvidence) -> Verdict:
    """The verdict of a result; one that has no words of its own is trusted or is not."""
    usual = Verdict.TRUSTED if result.trusted else Verdict.NOT_TRUSTED
    return getattr(result, "verdict", usual)


def _notes(result: HasEvidence) -> tuple[str, ...]:
    """The notes that a run left with its result; results of other programs have none."""
    found = getattr(result, "found", {})
    return tuple(map(str, found.get("notes", ())))


def _rank(result: HasEvidence) -> tuple[bool, bool, float]:
    log_z, error = float(result.log_z), float(result.error)
    missing = math.isnan(log_z)
    return not is_ranked(log_z, error), missing, 0.0 if missing else -log_z


def _normalised(weights: list[float]) -> np.ndarray:
    # By the largest first: the sum of large weights may overflow.
    scaled = np.array(weights) / max(weights)
    return scaled / scaled.sum()


def _probabilities(
    log_z: np.ndarray, error: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns softmax(log weights + log z) and its standard deviation; NaN for unranked models.

    The spread comes from seeded draws of the log z's. The delta method agrees with it, up to the
    1 % noise of the draws, when errors are small; but it is a tenth too large at half a nat, can
    exceed 1/2 at two nats, and gives next to nothing near 0 and 1 whatever the errors are.
    """
    probability = np.full(len(log_z), np.nan)
    spread = np.full(len(log_z), np.nan)
    ranked = np.array([is_ranked(*pair) for pair in zip(log_z, error, strict=True)])
    if not weights[ranked].any():
        return probability, spread
    noise = np.random.default_rng(0).standard_normal((TUNING.propagation_draws, ranked.sum()))
    centre = log_z[ranked] - log_z[ranked].max()
    drawn = centre + error[ranked] * noise
    probability[ranked] = _weighted_softmax(centre, weights[ranked])
    # Deviations, because the rounding of a sum of numbers near 1 would drown a tiny spread.
    deviation = _weighted_softmax(drawn, weights[ranked]) - probability[ranked]
    spread[ranked] = deviation.std(axis=0)
    return probability, spread


def _weighted_softmax(log_z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    # Where the weight is zero the model is out: it must not set the scale and underflow the rest.
    with np.errstate(divide="ignore"):
        scores = log_z + np.log(weights)
    masses = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return masses / masses.sum(axis=-1, keepdims=True)


def _require_results(results: Mapping[str, HasEvidence]) -> None:
    """Raises CompareError if the results are not evidences by name."""
    if not isinstance(results, Mapping) or not results:
        got = type(results).__name__ if results else "nothing"
        raise CompareError(
            "Results must map the name of at least one model to its evidence; got "
            f'{got}. Write refti.compare({{"A": a, "B": b}}).'
        )
    faults = [
        f"Names of models must be strings; got {name!r}. Use str({name!r})."
        for name in results
        if not isinstance(name, str)
    ]
    for name, result in results.items():
        missing = [field for field in ("log_z", "error", "trusted") if not hasattr(result, field)]
        if missing:
            faults.append(
                f"Result {name!r} has no {' and no '.join(missing)}: expected the evidence of one "
                f"model; got {type(result).__name__}. A path between two models gives only the "
                "ratio of their evidences: run refti.evidence() on each."
            )
    if faults:
        raise CompareError("\n".join(faults))


def _require_prior(prior: Mapping[str, float] | None, results: Mapping[str, Any]) -> None:
    """Raises CompareError if the prior is not one weight for every model."""
    if prior is None:
        return
    if not isinstance(prior, Mapping) or set(prior) != set(results):
        got = list_names(prior) if isinstance(prior, Mapping) else type(prior).__name__
        raise CompareError(
            f"Prior must have one weight for every model compared; expected {list_names(results)}; "
            f"got {got}. Use the names in results, or leave it out for equal weights."
        )
    bad = [f"{name}: {weight}" for name, weight in prior.items() if not 0 <= weight < math.inf]
    if bad:
        raise CompareError(
            f"Prior weights must be finite and not negative; got {', '.join(bad)}. "
            "Use 0 to rule a model out."
        )
    if not any(prior.values()):
        raise CompareError(
            "Prior weights must not all be 0; got 0 for every model. Give one a positive weight."
        )
