"""Evidences of the case studies by other ways: closed forms, quadrature and importance sampling.

None of them uses refti or Stan. Each function returns log z and about its error. Priors count as
the programs have them: where a bound cuts one off without a truncation, nothing is divided by.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from scipy.special import gammaln, log_expit, log_ndtr, logsumexp

from .integrals import Exact, curvature, importance, normal_nodes, over_scale

HERE = Path(__file__).parent


def coin(data: dict[str, Any]) -> Exact:
    """The binomial probability itself."""
    return float(stats.binom.logpmf(data["k"], data["n"], 0.5)), 0.0


def changepoint(data: dict[str, Any]) -> Exact:
    """Conjugate: exponential priors of Poisson rates on either side, summed over the years."""
    y, total = np.array(data["y"]), data["T"]

    def side(counts: np.ndarray) -> float:
        shape, rate = 1 + counts.sum(), 0.3 + len(counts)
        return np.log(0.3) + gammaln(shape) - shape * np.log(rate) - gammaln(counts + 1).sum()

    by_year = [side(y[:s]) + side(y[s:]) for s in range(1, total)]
    return float(logsumexp(by_year) - np.log(total - 1)), 0.0


def scores(data: dict[str, Any]) -> Exact:
    """Coefficients integrated out in closed form, the scale by quadrature."""
    schooling, mother = np.array(data["schooling"]), np.array(data["mother"])
    x = np.stack([np.ones(len(mother)), schooling, mother, mother * schooling], axis=1)
    return _regression(x, np.array(data["score"]), 10.0)


def lags(data: dict[str, Any]) -> Exact:
    """The same of an autoregression, given its first values."""
    y, order = np.array(data["y"]), data["K"]
    earlier = [y[order - k : len(y) - k] for k in range(1, order + 1)]
    return _regression(np.stack([np.ones(len(y) - order), *earlier], axis=1), y[order:], 10.0)


def schools(data: dict[str, Any]) -> Exact:
    """Effects and their mean integrated out in closed form, the scale by quadrature."""
    y, known = np.array(data["y"], dtype=float), np.array(data["sigma"], dtype=float)

    def given(tau: float) -> float:
        covariance = np.diag(known**2 + tau**2) + 25.0
        prior = stats.cauchy.logpdf(tau, 0, 5)
        return float(stats.multivariate_normal(np.zeros(8), covariance).logpdf(y) + prior)

    return over_scale(given)


def effects(data: dict[str, Any]) -> Exact:
    """The same with an inverse gamma variance."""
    y = np.array(data["y"])

    def given(tau2: float) -> float:
        covariance = np.eye(len(y)) * (data["sigma2"] + tau2) + 1.0
        prior = stats.invgamma.logpdf(tau2, data["alpha"], scale=data["beta"])
        return float(stats.multivariate_normal(np.zeros(len(y)), covariance).logpdf(y) + prior)

    return over_scale(given)


def radon(data: dict[str, Any]) -> Exact:
    """Counties and their mean integrated out in closed form, two scales by importance sampling."""
    y, county = np.array(data["log_radon"]), np.array(data["county"])
    same = county[:, None] == county[None, :]

    def log_density(x: np.ndarray) -> float:
        between, within = np.exp(x)
        covariance = within**2 * np.eye(len(y)) + between**2 * same + 100.0
        log_det = np.linalg.slogdet(covariance)[1]
        fit = y @ np.linalg.solve(covariance, y)
        scales = stats.norm.logpdf(between) + stats.norm.logpdf(within) + x.sum()
        return float(-0.5 * (fit + log_det + len(y) * np.log(2 * np.pi)) + scales)

    return importance(log_density, np.array([-1.0, -0.2]), count=4_000)


def slopes(data: dict[str, Any]) -> Exact:
    """All effects integrated out; three scales and a correlation by importance sampling."""
    y, group = np.array(data["y"]), np.array(data["group"])
    design = np.stack([np.ones(len(y)), np.array(data["x"])], axis=1)
    same = group[:, None] == group[None, :]

    def log_density(u: np.ndarray) -> float:
        scales, rho = np.exp(u[:3]), np.tanh(u[3])
        effects = np.array([[1, rho], [rho, 1]]) * np.outer(scales[:2], scales[:2])
        covariance = 4 * design @ design.T + same * (design @ effects @ design.T)
        covariance += scales[2] ** 2 * np.eye(len(y))
        log_det = np.linalg.slogdet(covariance)[1]
        fit = y @ np.linalg.solve(covariance, y)
        # LKJ with eta 2 in two dimensions: 3/4 (1 - rho²); the Jacobian of tanh is 1 - rho².
        prior = -scales.sum() + u[:3].sum() + np.log(0.75) + 2 * np.log1p(-(rho**2))
        return float(-0.5 * (fit + log_det + len(y) * np.log(2 * np.pi)) + prior)

    return importance(log_density, np.array([-0.2, -1.0, -0.5, 0.0]), count=8_000)


def dogs(data: dict[str, Any]) -> Exact:
    """Importance sampling in three dimensions."""
    y = np.array(data["y"])
    shocks = np.cumsum(y, axis=1) - y
    avoided = np.arange(y.shape[1]) - shocks

    def log_density(beta: np.ndarray) -> float:
        logit = beta[0] + beta[1] * avoided + beta[2] * shocks
        prior = stats.norm.logpdf(beta, 0, 2.5).sum()
        return float(np.where(y == 1, log_expit(logit), log_expit(-logit)).sum() + prior)

    return importance(log_density, np.array([1.5, -0.3, -0.2]))


def returns(data: dict[str, Any]) -> Exact:
    """Importance sampling in four unconstrained dimensions."""
    y, first = np.array(data["y"]), data["sigma1"]

    def log_density(x: np.ndarray) -> float:
        mu, alpha0 = x[0], np.exp(x[1])
        alpha1, share = 1 / (1 + np.exp(-x[2])), 1 / (1 + np.exp(-x[3]))
        beta1, variance = (1 - alpha1) * share, first**2
        total = -0.5 * np.log(variance) - 0.5 * (y[0] - mu) ** 2 / variance
        for before, now in pairwise(y):
            variance = alpha0 + alpha1 * (before - mu) ** 2 + beta1 * variance
            total += -0.5 * np.log(variance) - 0.5 * (now - mu) ** 2 / variance
        total -= 0.5 * len(y) * np.log(2 * np.pi)
        # Uniform priors, whose densities and Jacobians together are those of logistics.
        prior = stats.norm.logpdf(mu, 0, 5) + stats.norm.logpdf(x[1], -1, 1)
        return float(total + prior + stats.logistic.logpdf(x[2:]).sum())

    return importance(log_density, np.array([0.4, -0.7, -1.0, 0.0]), count=10_000)


def turtles(data: dict[str, Any]) -> Exact:
    """Clutches integrated out by Gauss-Hermite quadrature, three others by importance sampling."""
    sign, x = 2 * np.array(data["y"]) - 1, np.array(data["x"])
    clutch = np.array(data["clutch"]) - 1
    nodes, weights = normal_nodes(40)

    def log_density(z: np.ndarray) -> float:
        sigma2 = np.exp(z[2])
        mean = np.sqrt(10.0) * (z[0] + z[1] * x)
        each = log_ndtr(sign[:, None] * (mean[:, None] + np.sqrt(sigma2) * nodes))
        by_clutch = np.zeros((data["C"], len(nodes)))
        np.add.at(by_clutch, clutch, each)
        likelihood = logsumexp(by_clutch + np.log(weights), axis=1).sum()
        prior = stats.norm.logpdf(z[:2]).sum() - 2 * np.log1p(sigma2) + z[2]
        return float(likelihood + prior)

    return importance(log_density, np.array([-0.1, 0.1, -2.0]), count=10_000)


def seeds(data: dict[str, Any]) -> Exact:
    """Plates integrated out by Gauss-Hermite quadrature, five others by importance sampling."""
    n, total = np.array(data["n"]), np.array(data["N"])
    x1, x2 = np.array(data["x1"]), np.array(data["x2"])
    design = np.stack([np.ones(len(n)), x1, x2, x1 * x2], axis=1)
    choose = (gammaln(total + 1) - gammaln(n + 1) - gammaln(total - n + 1)).sum()
    nodes, weights = normal_nodes(60)

    def log_density(z: np.ndarray) -> float:
        sigma = np.exp(z[4])
        logit = (design @ z[:4])[:, None] + sigma * nodes
        each = n[:, None] * log_expit(logit) + (total - n)[:, None] * log_expit(-logit)
        likelihood = logsumexp(each + np.log(weights), axis=1).sum() + choose
        prior = stats.norm.logpdf(z[:4]).sum() + stats.cauchy.logpdf(sigma) + z[4]
        return float(likelihood + prior)

    return importance(log_density, np.array([-0.5, 0.1, 1.2, -0.7, -1.2]), count=10_000)


def falcons(data: dict[str, Any]) -> Exact:
    """Years integrated out by quadrature about each one's mode, four coefficients by importance
    sampling at each scale, the scale on a grid; uniform priors are a density of 1."""
    y, year = np.array(data["count"]), np.array(data["year"])
    design = np.stack([year**power for power in range(4)], axis=1)
    nodes, weights = normal_nodes(21)
    grid, centre = np.linspace(-8, np.log(5), 50), np.array([4.3, 1.2, 0.1, -0.3])
    heights, errors = np.empty(len(grid)), np.empty(len(grid))
    for place, log_sigma in enumerate(grid):
        sigma = np.exp(log_sigma)

        def given(beta: np.ndarray, sigma: float = sigma) -> float:
            return _poisson_normal(y, design @ beta, sigma, nodes, weights)

        centre = minimize(lambda beta: -given(beta), centre, method="Nelder-Mead").x
        spread = np.linalg.inv(curvature(given, centre))
        proposal = stats.multivariate_t(centre, 1.1 * spread, df=8, seed=place)
        points = proposal.rvs(200)
        log_weights = np.array([given(x) for x in points]) - proposal.logpdf(points)
        heights[place] = logsumexp(log_weights) - np.log(len(points)) + log_sigma
        errors[place] = np.std(np.exp(log_weights - logsumexp(log_weights))) * np.sqrt(len(points))
    parts = np.exp(heights - heights.max())
    total = np.trapezoid(parts, grid)
    error = np.sqrt(np.sum((parts * errors) ** 2)) * (grid[1] - grid[0]) / total
    return float(heights.max() + np.log(total)), float(error)


def two_heaps(data: dict[str, Any]) -> Exact:
    """Importance sampling about both modes, which differ in the numbering of components."""
    y = np.array(data["y"])

    def log_density(x: np.ndarray) -> float:
        mu, sigma, theta = x[:2], np.exp(x[2:4]), 1 / (1 + np.exp(-x[4]))
        first, second = (stats.norm.logpdf(y, m, s) for m, s in zip(mu, sigma, strict=True))
        likelihood = np.logaddexp(np.log(theta) + first, np.log1p(-theta) + second).sum()
        prior = stats.norm.logpdf(np.append(mu, sigma), 0, 2).sum() + stats.beta.logpdf(theta, 5, 5)
        return float(likelihood + prior + x[2:4].sum() + np.log(theta) + np.log1p(-theta))

    one, error = importance(log_density, np.array([-1.5, 1.7, 0.0, -0.2, -0.4]))
    return one + np.log(2), error


def five_heaps(data: dict[str, Any]) -> Exact:
    """Importance sampling about one mode, of which there are 120 by another numbering."""
    y, count = np.array(data["y"]), data["K"]

    def log_density(x: np.ndarray) -> float:
        free, mu, sigma = np.append(x[:4], 0.0), x[4:9], np.exp(x[9:])
        log_weight = free - logsumexp(free)
        each = stats.norm.logpdf(y[:, None], mu, sigma) + log_weight
        prior = stats.norm.logpdf(mu, 0, 10).sum() + stats.norm.logpdf(x[9:], -0.5, 0.3).sum()
        # A Dirichlet of log ratios to the last share: its Jacobian is the product of all shares.
        shares = gammaln(4 * count) - count * gammaln(4) + 4 * log_weight.sum()
        return float(logsumexp(each, axis=1).sum() + prior + shares)

    start = np.concatenate([np.zeros(4), [-9.0, -4.0, 0.0, 4.5, 10.0], np.full(5, -0.5)])
    one, error = importance(log_density, start, count=20_000)
    return one + gammaln(count + 1), error


def lynx_hare(data: dict[str, Any]) -> Exact:
    """Importance sampling in eight dimensions, with a solver of SciPy at tight tolerances."""
    y = np.vstack([data["y_init"], data["y"]])
    times = np.arange(21.0)

    def log_density(x: np.ndarray) -> float:
        theta, start, sigma = np.exp(x[:4]), np.exp(x[4:6]), np.exp(x[6:])

        def change(_: float, z: np.ndarray) -> list[float]:
            return [(theta[0] - theta[1] * z[1]) * z[0], (-theta[2] + theta[3] * z[0]) * z[1]]

        solved = solve_ivp(
            change, (0, 20), start, t_eval=times, rtol=1e-8, atol=1e-8, method="LSODA"
        )
        if not solved.success or np.any(solved.y <= 0):
            return -np.inf
        likelihood = (stats.norm.logpdf(np.log(y), np.log(solved.y.T), sigma) - np.log(y)).sum()
        rates = stats.norm.logpdf(theta[[0, 2]], 1, 0.5).sum()
        rates += stats.norm.logpdf(theta[[1, 3]], 0.05, 0.05).sum() + x[:4].sum()
        begin = stats.norm.logpdf(x[4:6], np.log(10), 1).sum()
        return float(likelihood + rates + begin + stats.norm.logpdf(x[6:], -1, 1).sum())

    begin = np.log([0.55, 0.028, 0.8, 0.024, 33.0, 6.0, 0.25, 0.25])
    return importance(log_density, begin, count=4_000)


EXACT: dict[str, Callable[[dict[str, Any]], Exact]] = {
    function.__name__: function
    for function in (
        coin,
        changepoint,
        scores,
        lags,
        schools,
        effects,
        radon,
        slopes,
        dogs,
        returns,
        turtles,
        seeds,
        falcons,
        two_heaps,
        five_heaps,
        lynx_hare,
    )
}


def exact(name: str) -> Exact | None:
    """The evidence of a study by another way, and its error; None where there is no other way."""
    if name not in EXACT:
        return None
    return EXACT[name](json.loads((HERE / f"{name}.json").read_text()))


def _regression(x: np.ndarray, y: np.ndarray, scale: float) -> Exact:
    """Coefficients of a normal prior about 0, and a half-Cauchy scale that is not doubled."""

    def given(sigma: float) -> float:
        covariance = scale**2 * x @ x.T + sigma**2 * np.eye(len(y))
        log_det = np.linalg.slogdet(covariance)[1]
        fit = y @ np.linalg.solve(covariance, y)
        density = -0.5 * (fit + log_det + len(y) * np.log(2 * np.pi))
        return float(density + stats.cauchy.logpdf(sigma, 0, 2.5))

    return over_scale(given)


def _poisson_normal(
    y: np.ndarray, mean: np.ndarray, sigma: float, nodes: np.ndarray, weights: np.ndarray
) -> float:
    """Poisson counts whose log rates are normal: adaptive quadrature about each one's mode."""
    top = np.clip(np.log(y + 0.5) - mean, -3 * sigma, 3 * sigma)
    for _ in range(30):
        rate = np.exp(mean + top)
        step = (y - rate - top / sigma**2) / (rate + 1 / sigma**2)
        top = top + np.clip(step, -1, 1)
    width = 1 / np.sqrt(np.exp(mean + top) + 1 / sigma**2)
    eps = top[:, None] + width[:, None] * nodes
    log_rate = mean[:, None] + eps
    each = y[:, None] * log_rate - np.exp(log_rate) - gammaln(y + 1)[:, None]
    each += stats.norm.logpdf(eps, 0, sigma) - stats.norm.logpdf(nodes) + np.log(width)[:, None]
    return float(logsumexp(each + np.log(weights), axis=1).sum())
