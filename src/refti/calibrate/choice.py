"""Choice: whether estimated model probabilities are calibrated, by simulated data sets.

Three linear regressions rival for each data set: on one covariate, on another, on both. Model,
coefficients, noise and data are drawn from their prior, so that the laws of `probabilities` must
hold. The noise is not known to the models, or their posteriors would be Gaussians and their
evidences exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import lgamma, log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import refti
from refti.calibrate.answer_first import answer_first
from refti.calibrate.probabilities import Verdict, model_probabilities, verdict
from refti.calibrate.runs import Job, Run
from refti.calibrate.tuning import TUNING
from refti.suite import Target

OBSERVATIONS = 30
SHAPE, RATE = 5.0, 9.0  # of the inverse gamma prior of the noise's variance
COLUMNS = {"first": (0, 1), "second": (0, 2), "both": (0, 1, 2)}
PRIOR = np.array([0.5, 0.3, 0.2])
MEAN = np.array([1.0, 0.0, 0.0])  # of the coefficients' prior
SCALE = np.array([1.0, 0.5, 0.5])  # in units of the noise


@dataclass(frozen=True)
class DataSet:
    """Responses drawn from one of the models, and every model's exact log evidence."""

    drawn: int
    responses: np.ndarray
    log_z: np.ndarray


@dataclass(frozen=True)
class Choice:
    """What the tests say about exact and estimated evidences, and about the controls.

    Attributes:
        data_sets: how many entered.
        left_out: how many did not, because evidence() refused one of their models.
        verdicts: of "exact", of "estimated", and of the estimates spoilt by "bias" and "noise".
        largest_difference: of an estimated and an exact model probability.
    """

    data_sets: int
    left_out: int
    verdicts: dict[str, Verdict]
    largest_difference: float

    @property
    def passes(self) -> bool:
        """Whether the estimates pass and both controls are rejected."""
        found = {name: verdict.passes for name, verdict in self.verdicts.items()}
        return found["estimated"] and not found["bias"] and not found["noise"]


def jobs(data_sets: int, settings: dict[str, object]) -> list[Job]:
    """The evidence of every model on every data set."""
    return [
        Job("choice", model, number * len(COLUMNS) + index, {"data_set": number}, settings)
        for index, model in enumerate(COLUMNS)
        for number in range(data_sets)
    ]


def target(job: Job) -> Target:
    """The regression that a job asks for, with the exact evidence of its data set."""
    data = data_set(job.arguments["data_set"])
    columns = list(COLUMNS[job.target])
    design, mean, scale = covariates()[:, columns], MEAN[columns], SCALE[columns]

    def log_density(
        b: Float[Array, " coefficient"], variance: Float[Array, ""]
    ) -> Float[Array, ""]:
        of_noise = SHAPE * log(RATE) - lgamma(SHAPE) - (SHAPE + 1) * jnp.log(variance)
        prior = jnp.sum(((b - mean) / scale) ** 2) / variance
        misfit = jnp.sum((data.responses - design @ b) ** 2) / variance
        heights = (OBSERVATIONS + len(columns)) * jnp.log(2 * pi * variance)
        heights += 2 * jnp.sum(jnp.log(scale))
        return of_noise - RATE / variance - 0.5 * (prior + misfit + heights)

    supports = {"b": refti.real(shape=(len(columns),)), "variance": refti.positive()}
    return Target(
        f"choice_{job.target}",
        len(columns) + 1,
        lambda: refti.Model(log_density, supports),
        float(data.log_z[list(COLUMNS).index(job.target)]),
        modes=1,
        about="regression on simulated data",
    )


@cache
def covariates() -> np.ndarray:
    """A column of ones and two correlated covariates, the same for all data sets."""
    rng = np.random.default_rng(11)
    first = rng.normal(size=OBSERVATIONS)
    second = 0.5 * first + np.sqrt(0.75) * rng.normal(size=OBSERVATIONS)
    return np.stack([np.ones(OBSERVATIONS), first, second], axis=1)


def data_set(number: int) -> DataSet:
    """The data set of this number: a model, its coefficients and responses, all drawn."""
    rng = np.random.default_rng([29, number])
    drawn = int(rng.choice(len(PRIOR), p=PRIOR))
    columns = list(list(COLUMNS.values())[drawn])
    noise = np.sqrt(RATE / rng.gamma(SHAPE))
    coefficients = rng.normal(MEAN[columns], noise * SCALE[columns])
    responses = covariates()[:, columns] @ coefficients + noise * rng.normal(size=OBSERVATIONS)
    return DataSet(drawn, responses, np.array([_exact(responses, m) for m in COLUMNS]))


def study(runs: Sequence[Run]) -> Choice:
    """The verdicts on finished runs of `jobs`."""
    groups: dict[int, dict[str, Run]] = {}
    for run in runs:
        groups.setdefault(run.job.arguments["data_set"], {})[run.job.target] = run
    whole = {
        number: [group[model].log_z for model in COLUMNS]
        for number, group in groups.items()
        if set(group) == set(COLUMNS) and all(np.isfinite(run.log_z) for run in group.values())
    }
    if len(whole) < 2:
        raise refti.CompareError(
            f"Calibration of model choice needs two data sets or more; got {len(whole)} for which "
            "every model has an estimate."
        )
    data = [data_set(number) for number in whole]
    exact, estimated = np.array([d.log_z for d in data]), np.array(list(whole.values()))
    drawn = np.array([d.drawn for d in data])
    differences = model_probabilities(estimated, PRIOR) - model_probabilities(exact, PRIOR)
    return Choice(
        data_sets=len(whole),
        left_out=len(groups) - len(whole),
        verdicts={
            "exact": verdict(exact, drawn, PRIOR),
            "estimated": verdict(estimated, drawn, PRIOR),
            **{name: verdict(v, drawn, PRIOR) for name, v in controls(estimated).items()},
        },
        largest_difference=float(np.abs(differences).max()),
    )


def controls(log_z: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """The evidences spoilt on purpose: a bias of log 2 on one model, noise of 1 nat on all."""
    noise = np.random.default_rng([31, seed]).normal(scale=TUNING.control_noise, size=log_z.shape)
    return {"bias": log_z + TUNING.control_bias * np.eye(log_z.shape[1])[0], "noise": log_z + noise}


def rejections(data_sets: int, repeats: int) -> dict[str, float]:
    """How often exact evidences and the controls are rejected, over studies of other data sets.

    For "exact" this is the false-alarm rate, for "bias" and "noise" the power.
    """
    rejected = dict.fromkeys(("exact", "bias", "noise"), 0)
    for repeat in range(1, repeats + 1):
        data = [data_set(repeat * data_sets + i) for i in range(data_sets)]
        exact, drawn = np.array([d.log_z for d in data]), np.array([d.drawn for d in data])
        for name, log_z in {"exact": exact, **controls(exact, repeat)}.items():
            rejected[name] += not verdict(log_z, drawn, PRIOR).passes
    return {name: count / repeats for name, count in rejected.items()}


def text(found: Choice) -> str:
    """The study in words, then a row for each kind of evidences."""
    exact = found.verdicts["exact"]
    answer = (
        "Calibrated, and both controls are rejected" if found.passes else "NOT shown calibrated"
    )
    answer += (
        f": {found.data_sets} data sets ({found.left_out} left out), {len(exact.tests)} tests, "
        f"critical |z| {exact.critical:.2f} (false alarms {100 * TUNING.false_alarm:g} %); "
        f"probabilities differ from the exact ones by at most {found.largest_difference:.4f}."
    )
    table = [f"{'evidences':12s} {'worst test':24s} {'z':>7s}  verdict"]
    for name, one in found.verdicts.items():
        worst = one.worst
        models = " and ".join(list(COLUMNS)[j] for j in worst.models)
        state = "passes" if one.passes else "rejected"
        table.append(f"{name:12s} {f'{worst.law}, {models}':24s} {worst.z:+7.2f}  {state}")
    return answer_first(answer, table)


def _exact(responses: np.ndarray, model: str) -> float:
    """The Student-t log density of the responses with coefficients and noise integrated out."""
    mean, precision, constant = _marginal(model)
    off = responses - mean
    shape = SHAPE + 0.5 * OBSERVATIONS
    return float(constant - shape * log(RATE + 0.5 * off @ precision @ off))


@cache
def _marginal(model: str) -> tuple[np.ndarray, np.ndarray, float]:
    """The mean, precision in units of the noise, and constant of the responses' density."""
    columns = list(COLUMNS[model])
    design = covariates()[:, columns]
    spread = (design * SCALE[columns] ** 2) @ design.T + np.eye(OBSERVATIONS)
    constant = lgamma(SHAPE + 0.5 * OBSERVATIONS) - lgamma(SHAPE) + SHAPE * log(RATE)
    constant -= 0.5 * float(np.linalg.slogdet(2 * pi * spread)[1])
    return design @ MEAN[columns], np.linalg.inv(spread), constant
