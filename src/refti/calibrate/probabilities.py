"""Whether model probabilities are calibrated, over data sets whose true model is known.

If the model is drawn from its prior probability and the data from the model, then the posterior
probabilities p and the indicator y of the true model obey three laws: E[p_j] = prior_j; the
matrix prior_j E[p_i | model j] is symmetric; y_j - p_j has no slope in logit p_j. A bias of one
evidence breaks the first two, noise in the evidences the third.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from scipy.special import softmax

from refti.calibrate.tuning import TUNING


@dataclass(frozen=True)
class LawTest:
    """One law for one model or pair, as a z-score."""

    law: str
    models: tuple[int, ...]
    z: float


@dataclass(frozen=True)
class Verdict:
    """All tests of the laws, each two-sided at an equal part of the false-alarm rate."""

    tests: tuple[LawTest, ...]

    @property
    def critical(self) -> float:
        """The |z| beyond which a test rejects (Bonferroni)."""
        return NormalDist().inv_cdf(1 - TUNING.false_alarm / (2 * len(self.tests)))

    @property
    def worst(self) -> LawTest:
        """The test furthest out."""
        return max(self.tests, key=lambda test: abs(test.z))

    @property
    def passes(self) -> bool:
        """Whether no test rejects."""
        return abs(self.worst.z) <= self.critical


def model_probabilities(log_z: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """The posterior model probabilities [data set, model] of log evidences of the same shape."""
    return softmax(log_z + np.log(prior), axis=1)


def verdict(log_z: np.ndarray, drawn: np.ndarray, prior: np.ndarray) -> Verdict:
    """The tests of log evidences [data set, model], where `drawn` is each data set's true model."""
    p = model_probabilities(log_z, prior)
    y = np.eye(len(prior))[drawn]
    models = range(len(prior))
    tests = [LawTest("mean", (j,), _z_of_mean(p[:, j] - prior[j])) for j in models]
    tests += [
        LawTest("symmetry", (j, i), _z_of_symmetry(y[:, [j, i]], p[:, [j, i]]))
        for j, i in combinations(models, 2)
    ]
    tests += [LawTest("slope", (j,), _z_of_slope(y[:, j], p[:, j])) for j in models]
    return Verdict(tuple(tests))


def _z_of_mean(values: np.ndarray) -> float:
    """The mean in standard errors, corrected for skewness as Johnson (1978) does.

    Probabilities of a rarely chosen model are skewed, so that their mean and their spread move
    together; without the correction there are three false alarms where one is due.
    """
    count, mean = len(values), values.mean()
    variance, third = values.var(ddof=1), np.mean((values - mean) ** 3)
    if variance == 0:
        return 0.0
    corrected = mean + third / (6 * variance * count) + third * mean**2 / (3 * variance**2)
    return float(corrected / np.sqrt(variance / count))


def _z_of_symmetry(y: np.ndarray, p: np.ndarray) -> float:
    """The difference of the two sides, [data set, 2], in standard errors.

    Given p, a data set's difference y_j p_i - y_i p_j has mean 0 and variance p_j p_i (p_j + p_i).
    """
    difference = y[:, 0] * p[:, 1] - y[:, 1] * p[:, 0]
    variance = np.sum(p[:, 0] * p[:, 1] * (p[:, 0] + p[:, 1]))
    return float(difference.sum() / np.sqrt(variance)) if variance > 0 else 0.0


def _z_of_slope(y: np.ndarray, p: np.ndarray) -> float:
    """The score of the slope of y - p in logit p; given p, y is Bernoulli with this probability."""
    p = np.clip(p, TUNING.extreme, 1 - TUNING.extreme)
    logit, weight = np.log(p) - np.log1p(-p), p * (1 - p)
    # Centred with the weights, so that it does not answer to the mean, which has its own test.
    logit = logit - np.average(logit, weights=weight)
    return float((y - p) @ logit / np.sqrt(weight @ logit**2))
