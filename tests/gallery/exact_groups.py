"""Evidences of the grouped models by other ways, of which none uses refti, PyMC or NumPyro.

What is normal is integrated out in closed form, what stands alone by quadrature, and the few
parameters that are left by quadrature or importance sampling.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import betaln, gammaln, log_expit, logsumexp
from tests.case_studies.integrals import Exact, importance, normal_nodes, over_scale

from .formulas_bambi import batting_data, drugs_data, sleep_data
from .groups_numpyro import ADMITTED, AT_BAT, HITS, REJECTED, horseshoe_data, network_data
from .groups_pymc import answers_data, radon_data, rats_data, schools_data


def schools() -> Exact:
    """Effects and their mean integrated out, the scale by quadrature."""
    y, known = schools_data()

    def given(tau: float) -> float:
        covariance = np.diag(known**2 + tau**2) + 25.0
        return log_normal(y, covariance) + float(stats.halfcauchy.logpdf(tau, 0, 5))

    return over_scale(given)


def radon_intercepts() -> Exact:
    """Counties, their mean and the slope integrated out, two scales by importance sampling."""
    county, floor, y = radon_data()
    same = county[:, None] == county[None, :]
    fixed = 100.0 + 100.0 * np.outer(floor, floor)

    def log_density(u: np.ndarray) -> float:
        between, within = np.exp(u)
        covariance = fixed + between**2 * same + within**2 * np.eye(len(y))
        return log_normal(y, covariance) - between - within + u.sum()

    return importance(log_density, np.array([-1.0, -0.4]), count=4_000)


def radon_slopes() -> Exact:
    """All effects integrated out; three scales and a correlation by importance sampling."""
    county, floor, y = radon_data()
    design = np.column_stack([np.ones(len(y)), floor])
    same = county[:, None] == county[None, :]
    fixed = 25.0 * design @ design.T

    def log_density(u: np.ndarray) -> float:
        scales, rho = np.exp(u[:3]), np.tanh(u[3])
        effects = np.array([[1, rho], [rho, 1]]) * np.outer(scales[:2], scales[:2])
        covariance = fixed + same * (design @ effects @ design.T) + scales[2] ** 2 * np.eye(len(y))
        # LKJ with eta 2 in two dimensions: 3/4 (1 - rho²); the Jacobian of tanh is 1 - rho².
        prior = -scales.sum() + np.log(0.75) + 2 * np.log1p(-(rho**2))
        return log_normal(y, covariance) + float(prior) + u[:3].sum()

    return importance(log_density, np.array([-1.0, -1.5, -0.4, 0.0]), count=8_000)


def rats() -> Exact:
    """Rates integrated out: beta-binomial, two parameters by importance sampling."""
    tumours, counts = rats_data()
    return _beta_binomial(tumours, counts)


def baseball() -> Exact:
    """The same, with the same priors."""
    return _beta_binomial(HITS, np.full(len(HITS), AT_BAT))


def _beta_binomial(hits: np.ndarray, counts: np.ndarray) -> Exact:
    choose = log_choose(counts, hits)

    def log_density(u: np.ndarray) -> float:
        mean, log_size = 1 / (1 + np.exp(-u[0])), np.exp(u[1])
        size = np.exp(log_size)
        a, b = mean * size, (1 - mean) * size
        each = betaln(hits + a, counts - hits + b) - betaln(a, b)
        # A Pareto of least value 1 is exp of an exponential.
        prior = stats.logistic.logpdf(u[0]) + np.log(1.5) - 1.5 * log_size + u[1]
        return float(each.sum() + choose + prior)

    return importance(log_density, np.array([-1.5, 1.0]))


def answers() -> Exact:
    """Persons integrated out by quadrature, seven others by importance sampling."""
    y = answers_data()
    nodes, weights = normal_nodes(40)

    def log_density(u: np.ndarray) -> float:
        spread = np.exp(u[0])
        logit = spread * nodes[:, None] - u[1:]
        by_person = y @ log_expit(logit).T + (1 - y) @ log_expit(-logit).T
        prior = stats.halfnorm.logpdf(spread, 0, 1.5) + u[0] + stats.norm.logpdf(u[1:], 0, 2).sum()
        return float(logsumexp(by_person + np.log(weights), axis=1).sum() + prior)

    return importance(log_density, np.concatenate([[0.0], np.linspace(-1.5, 1.5, 6)]), count=8_000)


def sleep() -> Exact:
    """Everything but three scales integrated out, those by importance sampling."""
    subject, day, y = sleep_data()
    same = subject[:, None] == subject[None, :]
    fixed = 1.5**2 + 0.8**2 * np.outer(day, day)

    def log_density(u: np.ndarray) -> float:
        level, slope, noise = np.exp(u)
        covariance = fixed + same * (level**2 + slope**2 * np.outer(day, day))
        covariance = covariance + noise**2 * np.eye(len(y))
        prior = stats.halfnorm.logpdf(level, 0, 1.5) + stats.halfnorm.logpdf(slope, 0, 0.8)
        prior += np.log(2) + stats.t.logpdf(noise, 4, 0, 0.5)
        return log_normal(y - 2.75, covariance) + float(prior) + u.sum()

    return importance(log_density, np.array([-1.0, -3.0, -1.4]), count=8_000)


def batting() -> Exact:
    """Players integrated out by quadrature."""
    hits, at_bat = batting_data()
    return _logits(hits, at_bat, lambda m: stats.norm.logpdf(m, 0, 1.5), stats.halfnorm.logpdf)


def baseball_logits() -> Exact:
    """The same with a half-Cauchy."""
    counts = np.full(len(HITS), AT_BAT)
    return _logits(HITS, counts, lambda m: stats.norm.logpdf(m, -1, 1), stats.halfcauchy.logpdf)


def _logits(hits: np.ndarray, counts: np.ndarray, mean_prior: object, scale_prior: object) -> Exact:
    nodes, weights = normal_nodes(60)
    choose = log_choose(counts, hits)

    def log_density(u: np.ndarray) -> float:
        logit = u[0] + np.exp(u[1]) * nodes
        each = np.outer(hits, log_expit(logit)) + np.outer(counts - hits, log_expit(-logit))
        prior = mean_prior(u[0]) + scale_prior(np.exp(u[1])) + u[1]
        return float(logsumexp(each + np.log(weights), axis=1).sum() + choose + prior)

    return importance(log_density, np.array([-1.0, -1.5]))


def admissions() -> Exact:
    """Departments by quadrature about each one's mode, three others by importance sampling."""
    nodes, weights = normal_nodes(15)
    total = ADMITTED + REJECTED
    yes, no = ADMITTED.reshape(6, 2), REJECTED.reshape(6, 2)
    choose = log_choose(total, ADMITTED)

    def log_density(u: np.ndarray) -> float:
        mean, scale, gap = u[0], np.exp(u[1]), np.array([u[2], 0.0])

        def each(level: np.ndarray) -> np.ndarray:
            logit = level[..., None] + gap
            shape = (6,) + (1,) * (level.ndim - 1) + (2,)
            terms = yes.reshape(shape) * log_expit(logit) + no.reshape(shape) * log_expit(-logit)
            return terms.sum(axis=-1) + stats.norm.logpdf(level, mean, scale)

        top = np.log(yes.sum(axis=1) / no.sum(axis=1))
        for _ in range(30):
            p = 1 / (1 + np.exp(-(top[:, None] + gap)))
            slope = (yes - (yes + no) * p).sum(axis=1) - (top - mean) / scale**2
            bend = ((yes + no) * p * (1 - p)).sum(axis=1) + 1 / scale**2
            top = top + np.clip(slope / bend, -1, 1)
        width = 1 / np.sqrt(bend)
        values = each(top[:, None] + width[:, None] * nodes) - stats.norm.logpdf(nodes)
        likelihood = (logsumexp(values + np.log(weights), axis=1) + np.log(width)).sum()
        prior = stats.norm.logpdf(mean) + stats.norm.logpdf(u[2])
        return float(likelihood + choose + prior + stats.halfcauchy.logpdf(scale) + u[1])

    return importance(log_density, np.array([-0.6, 0.2, -0.1]), count=8_000)


def drugs() -> Exact:
    """Coefficients integrated out, the scale by quadrature."""
    x, y = drugs_data()
    spread = np.array([2.5, 1.5, 1.5, 1.5, 1.5])
    fixed = (x * spread**2) @ x.T

    def given(sigma: float) -> float:
        covariance = fixed + sigma**2 * np.eye(len(y))
        return log_normal(y - 2.0, covariance) + float(np.log(2) + stats.t.logpdf(sigma, 4))

    return over_scale(given)


def horseshoe() -> Exact:
    """Coefficients integrated out given scales, which are drawn from their prior."""
    x, y = horseshoe_data()
    rng, values = np.random.default_rng(0), []
    for _ in range(40):
        scales = np.abs(rng.standard_cauchy((10_000, 5)))
        variance = 1 / rng.gamma(3.0, 1.0, 10_000)
        ratio = (scales[:, :4] * scales[:, 4:]) ** 2 / variance[:, None]
        values.append(_ridge(x, y, ratio, variance))
    log_weights = np.concatenate(values)
    weights = np.exp(log_weights - log_weights.max())
    error = weights.std() / weights.mean() / np.sqrt(len(weights))
    return float(log_weights.max() + np.log(weights.mean())), float(error)


def _ridge(x: np.ndarray, y: np.ndarray, ratio: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """log N(y; 0, variance (1 + x diag(ratio) x')) for many ratios[n, k], by small matrices."""
    half = np.sqrt(ratio)
    inner = np.eye(x.shape[1]) + half[:, :, None] * (x.T @ x) * half[:, None, :]
    moments = half * (x.T @ y)
    solved = np.linalg.solve(inner, moments[:, :, None])[:, :, 0]
    fit = (y @ y - (moments * solved).sum(axis=1)) / variance
    log_det = np.linalg.slogdet(inner)[1] + len(y) * np.log(2 * np.pi * variance)
    return -0.5 * (fit + log_det)


def funnel() -> Exact:
    """A normalised density."""
    return 0.0, 0.0


def network() -> Exact:
    """The output weights and noise given the hidden ones, which are drawn from their prior.

    Output weights are integrated out in closed form, the precision on a grid.
    """
    x, y = network_data()
    rng = np.random.default_rng(0)
    grid = np.linspace(np.log(0.02), np.log(80), 120)
    values = []
    for _ in range(40_000):
        hidden = np.tanh(np.stack([np.ones(len(x)), x], axis=1) @ rng.normal(size=(2, 2)))
        precision = np.exp(grid)
        each = _ridge(hidden, y, np.repeat(precision[:, None], 2, axis=1), 1 / precision)
        prior = stats.gamma.logpdf(precision, 3.0) + grid
        values.append(logsumexp(each + prior) + np.log(grid[1] - grid[0]))
    log_weights = np.array(values)
    weights = np.exp(log_weights - log_weights.max())
    error = weights.std() / weights.mean() / np.sqrt(len(weights))
    return float(log_weights.max() + np.log(weights.mean())), float(error)


def log_choose(counts: np.ndarray, hits: np.ndarray) -> float:
    """The sum of the logs of binomial coefficients."""
    return float((gammaln(counts + 1) - gammaln(hits + 1) - gammaln(counts - hits + 1)).sum())


def log_normal(y: np.ndarray, covariance: np.ndarray) -> float:
    """The log density of a normal of mean 0."""
    log_det = np.linalg.slogdet(covariance)[1]
    fit = y @ np.linalg.solve(covariance, y)
    return float(-0.5 * (fit + log_det + len(y) * np.log(2 * np.pi)))
