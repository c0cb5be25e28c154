"""Evidences of curves and series by other ways, of which none uses refti, PyMC or NumPyro."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.special import gammaln, log_expit, logsumexp
from tests.case_studies.integrals import Exact, importance, over_scale

from . import curves_pymc as curves
from . import series_numpyro as series
from .exact_groups import log_normal


def two_groups() -> Exact:
    """Importance sampling in five dimensions."""
    treated, control = curves.two_groups_data()

    def log_density(u: np.ndarray) -> float:
        share = 1 / (1 + np.exp(-u[2:4]))
        spread, nu = 0.1 + 9.9 * share, 1 + np.exp(u[4])
        prior = stats.norm.logpdf(u[:2], 101, 4).sum() + stats.logistic.logpdf(u[2:4]).sum()
        prior += stats.expon.logpdf(nu - 1, scale=29) + u[4]
        likelihood = stats.t.logpdf(treated, nu, u[0], spread[0]).sum()
        return float(prior + likelihood + stats.t.logpdf(control, nu, u[1], spread[1]).sum())

    return importance(log_density, np.array([101.5, 100.5, -1.5, -2.0, 1.0]))


def heaps() -> Exact:
    """Importance sampling in eight dimensions, about the one order of means that is allowed.

    A normal prior of each of three means, cut to one order of six, integrates to a sixth.
    """
    y = curves.heaps_data()

    def log_density(u: np.ndarray) -> float:
        mean = u[0] + np.array([0.0, np.exp(u[1]), np.exp(u[1]) + np.exp(u[2])])
        spread, free = np.exp(u[3:6]), np.append(u[6:], 0.0)
        log_weight = free - logsumexp(free)
        each = stats.norm.logpdf(y[:, None], mean, spread) + log_weight
        prior = stats.norm.logpdf(mean, 0, 8).sum() + np.log(6) + u[1:6].sum()
        prior += stats.halfnorm.logpdf(spread, 0, 2).sum() + np.log(2) + log_weight.sum()
        return float(logsumexp(each, axis=1).sum() + prior)

    start = np.array([-4.0, 1.4, 1.6, 0.0, 0.0, 0.0, 0.0, 0.3])
    return importance(log_density, start)


def logistic() -> Exact:
    """Importance sampling in four dimensions."""
    x, y = curves.logistic_data()
    sign = 2 * y - 1

    def log_density(beta: np.ndarray) -> float:
        return float(log_expit(sign * (x @ beta)).sum() + stats.norm.logpdf(beta, 0, 2.5).sum())

    return importance(log_density, np.zeros(4))


def robust() -> Exact:
    """Importance sampling in four dimensions."""
    x, y = curves.robust_data()

    def log_density(u: np.ndarray) -> float:
        sigma, nu = np.exp(u[2:])
        prior = stats.norm.logpdf(u[:2], 0, 5).sum() + stats.halfcauchy.logpdf(sigma, 0, 2)
        prior += stats.gamma.logpdf(nu, 2, scale=10) + u[2:].sum()
        return float(prior + stats.t.logpdf(y, nu, u[0] + u[1] * x, sigma).sum())

    return importance(log_density, np.array([1.0, 2.0, -1.2, 0.5]))


def sneezes() -> Exact:
    """Importance sampling in five dimensions."""
    x, y = curves.sneezes_data()

    def log_density(u: np.ndarray) -> float:
        mean, alpha = np.exp(x @ u[:4]), np.exp(u[4])
        prior = stats.norm.logpdf(u[:4], 0, 2).sum() + stats.expon.logpdf(alpha, scale=2) + u[4]
        return float(prior + stats.nbinom.logpmf(y, alpha, alpha / (alpha + mean)).sum())

    return importance(log_density, np.array([0.4, 1.0, 0.6, 0.2, 1.0]))


def smooth() -> Exact:
    """Importance sampling in three dimensions."""
    x, y = curves.smooth_data()
    distance = np.abs(x[:, None] - x[None, :])

    def log_density(u: np.ndarray) -> float:
        length, height, noise = np.exp(u)
        r = np.sqrt(5) * distance / length
        covariance = height**2 * (1 + r + r**2 / 3) * np.exp(-r) + noise**2 * np.eye(len(y))
        prior = stats.gamma.logpdf(length, 2) + stats.halfcauchy.logpdf(height, 0, 3)
        return log_normal(y, covariance) + float(prior + stats.halfcauchy.logpdf(noise) + u.sum())

    return importance(log_density, np.array([0.5, 0.0, -1.2]), count=8_000)


def mining() -> Exact:
    """Conjugate: exponential priors of Poisson rates on either side, summed over the years."""
    y = curves.mining_data()

    def side(counts: np.ndarray) -> float:
        shape = 1 + counts.sum()
        return gammaln(shape) - shape * np.log(1 + len(counts)) - gammaln(counts + 1).sum()

    by_year = [side(y[:s]) + side(y[s:]) for s in range(1, len(y))]
    return float(logsumexp(by_year) - np.log(len(y) - 1)), 0.0


def lifetimes() -> Exact:
    """Importance sampling in three dimensions."""
    x, time, seen = curves.lifetimes_data()

    def log_density(u: np.ndarray) -> float:
        scale, shape = np.exp(u[0] + u[1] * x), np.exp(u[2])
        likelihood = stats.weibull_min.logpdf(time[seen], shape, scale=scale[seen]).sum()
        likelihood += stats.weibull_min.logsf(time[~seen], shape, scale=scale[~seen]).sum()
        prior = stats.norm.logpdf(u[:2], 0, 3).sum() + stats.halfnorm.logpdf(shape, 0, 3) + u[2]
        return float(likelihood + prior)

    return importance(log_density, np.array([1.2, 0.5, 0.3]), count=10_000)


def censored() -> Exact:
    """Importance sampling in three dimensions."""
    x, y = curves.censored_data()

    def log_density(u: np.ndarray) -> float:
        line, sigma = u[0] + u[1] * x, np.exp(u[2])
        inside = stats.norm.logpdf(y, line, sigma)
        below = stats.norm.logcdf(-2.0, line, sigma)
        above = stats.norm.logsf(3.0, line, sigma)
        likelihood = np.where(y <= -2.0, below, np.where(y >= 3.0, above, inside)).sum()
        prior = stats.norm.logpdf(u[:2], 0, 2).sum() + stats.halfnorm.logpdf(sigma, 0, 2) + u[2]
        return float(likelihood + prior)

    return importance(log_density, np.array([0.5, 1.2, 0.0]), count=10_000)


def prices_pymc() -> Exact:
    """A particle filter at every point of importance sampling over the two others."""
    y = curves.prices_data()

    def first(rng: np.random.Generator, count: int, _: float) -> np.ndarray:
        return rng.normal(0.0, 2.0, count)

    return _volatility(y, first, 5.0, np.array([-1.2, 2.2]))


def prices_numpyro() -> Exact:
    """The same; the walk begins with a step from 0."""
    y = series.prices_data()

    def first(rng: np.random.Generator, count: int, step: float) -> np.ndarray:
        return rng.normal(0.0, step, count)

    return _volatility(y, first, 10.0, np.array([-1.8, 2.2]))


def _volatility(
    y: np.ndarray,
    first: Callable[[np.random.Generator, int, float], np.ndarray],
    rate: float,
    start: np.ndarray,
) -> Exact:
    """Unbiased, for the filter's likelihood is unbiased at every point."""
    rng = np.random.default_rng(0)

    def likelihood(step: float, nu: float, count: int) -> float:
        walk, total = first(rng, count, step), 0.0
        for now in y:
            log_weights = stats.t.logpdf(now, nu, 0, np.exp(walk))
            total += logsumexp(log_weights) - np.log(count)
            weights = np.exp(log_weights - logsumexp(log_weights))
            places = (rng.uniform() + np.arange(count)) / count
            kept = walk[np.minimum(np.searchsorted(np.cumsum(weights), places), count - 1)]
            walk = kept + step * rng.normal(size=count)
        return float(total)

    proposal = stats.multivariate_t(start, np.diag([0.5, 1.0]), df=6, seed=0)
    points = proposal.rvs(1_500)
    step, nu = np.exp(points).T
    prior = stats.expon.logpdf(step, scale=1 / rate) + stats.expon.logpdf(nu, scale=10)
    values = np.array([likelihood(a, b, 2_000) for a, b in np.exp(points)])
    log_weights = values + prior + points.sum(axis=1) - proposal.logpdf(points)
    weights = np.exp(log_weights - logsumexp(log_weights))
    error = np.sqrt(np.sum(weights**2) - 1 / len(weights))
    return float(logsumexp(log_weights) - np.log(len(points))), float(error)


def lags() -> Exact:
    """Coefficients integrated out, the scale by quadrature."""
    y = series.lags_data()
    x = np.column_stack([np.ones(len(y) - 2), y[1:-1], y[:-2]])

    def given(sigma: float) -> float:
        covariance = x @ x.T + sigma**2 * np.eye(len(x))
        return log_normal(y[2:], covariance) + float(stats.halfnorm.logpdf(sigma))

    return over_scale(given)


def process() -> Exact:
    """Importance sampling in three dimensions."""
    x, y = series.process_data()
    distance = x[:, None] - x[None, :]

    def log_density(u: np.ndarray) -> float:
        covariance = np.exp(u[0]) * np.exp(-0.5 * (distance / np.exp(u[2])) ** 2)
        covariance = covariance + (np.exp(u[1]) + 1e-6) * np.eye(len(y))
        prior = stats.norm.logpdf(u, [0.0, -2.0, 0.0], 2.0).sum()
        return log_normal(y, covariance) + float(prior)

    return importance(log_density, np.array([0.0, -4.0, -0.7]), count=10_000)


def clusters() -> Exact:
    """Importance sampling about one of two numberings of the components."""
    y = series.states_data()

    def log_density(u: np.ndarray) -> float:
        log_weight = log_expit(np.array([u[0], -u[0]]))
        each = stats.norm.logpdf(y[:, None], u[1:3], np.exp(u[3])) + log_weight
        prior = stats.norm.logpdf(u[1:3], 0, 3).sum() + stats.norm.logpdf(u[3])
        prior += np.log(6) + 2 * log_weight.sum()
        return float(logsumexp(each, axis=1).sum() + prior)

    one, error = importance(log_density, np.array([0.0, -1.0, 1.5, -0.5]))
    return one + np.log(2), error


def states() -> Exact:
    """Importance sampling in five dimensions about either order of the states."""
    y = series.states_data()

    def log_density(u: np.ndarray) -> float:
        stay, spread = 1 / (1 + np.exp(-u[:2])), np.exp(u[4])
        step = np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
        seen = np.exp(stats.norm.logpdf(y[:, None], u[2:4], spread))
        forward, total = np.full(2, 0.5) * seen[0], 0.0
        for now in seen[1:]:
            total += np.log(forward.sum())
            forward = (forward / forward.sum()) @ step * now
        prior = stats.beta.logpdf(stay, 4, 1).sum() + np.log(stay * (1 - stay)).sum()
        prior += stats.norm.logpdf(u[2:4], [-1, 1], 1).sum()
        prior += stats.halfnorm.logpdf(spread) + u[4]
        return float(total + np.log(forward.sum()) + prior)

    likely, error = importance(log_density, np.array([1.7, 1.7, -1.0, 1.5, -0.5]), count=8_000)
    other, _ = importance(log_density, np.array([1.7, 1.7, 1.5, -1.0, -0.5]), count=2_000)
    return float(np.logaddexp(likely, other)), error


def small() -> Exact:
    """The location integrated out, the scale by quadrature."""
    y = series.small_data()

    def given(scale: float) -> float:
        covariance = 400.0 + scale**2 * np.eye(len(y))
        return log_normal(y, covariance) + float(stats.lognorm.logpdf(scale, 1.0))

    return over_scale(given)


def predators() -> Exact:
    """Importance sampling in eight dimensions, with a solver of SciPy at tight tolerances."""
    y = series.PELTS
    middle, width = np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])
    times = np.arange(float(len(y)))

    def log_density(u: np.ndarray) -> float:
        begin, theta, noise = np.exp(u[:2]), np.exp(u[2:6]), np.exp(u[6:])

        def change(_: float, z: np.ndarray) -> list[float]:
            return [(theta[0] - theta[1] * z[1]) * z[0], (-theta[2] + theta[3] * z[0]) * z[1]]

        solved = solve_ivp(
            change, (0, times[-1]), begin, t_eval=times, rtol=1e-8, atol=1e-8, method="LSODA"
        )
        if not solved.success or np.any(solved.y <= 0):
            return -np.inf
        likelihood = (stats.norm.logpdf(np.log(y), np.log(solved.y.T), noise) - np.log(y)).sum()
        rates = stats.norm.logpdf(theta, middle, width) - stats.norm.logcdf(middle / width)
        prior = stats.norm.logpdf(u[:2], np.log(10), 1).sum() + rates.sum() + u[2:6].sum()
        return float(likelihood + prior + stats.norm.logpdf(u[6:], -1, 1).sum())

    begin = np.log([30.0, 5.0, 0.55, 0.028, 0.8, 0.024, 0.25, 0.25])
    return importance(log_density, begin, count=4_000)
