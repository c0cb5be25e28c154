"""Priors that a bound cuts off: how much of a distribution is left between a parameter's bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, inf, isfinite, log
from typing import Any

from scipy import stats
from scipy.special import gammaln

from refti.inputs.stan.declarations import Declared
from refti.inputs.stan.numbers import number, whole
from refti.inputs.stan.syntax import Tokens

_MADE: dict[str, Callable[..., Any]] = {
    "normal": lambda mu, sigma: stats.norm(mu, sigma),
    "std_normal": lambda: stats.norm(),
    "cauchy": lambda mu, sigma: stats.cauchy(mu, sigma),
    "student_t": lambda nu, mu, sigma: stats.t(nu, mu, sigma),
    "double_exponential": lambda mu, sigma: stats.laplace(mu, sigma),
    "logistic": lambda mu, sigma: stats.logistic(mu, sigma),
    "gumbel": lambda mu, scale: stats.gumbel_r(mu, scale),
    "skew_normal": lambda xi, omega, alpha: stats.skewnorm(alpha, xi, omega),
    "uniform": lambda a, b: stats.uniform(a, b - a),
    "exponential": lambda rate: stats.expon(scale=1 / rate),
    "gamma": lambda shape, rate: stats.gamma(shape, scale=1 / rate),
    "inv_gamma": lambda shape, scale: stats.invgamma(shape, scale=scale),
    "lognormal": lambda mu, sigma: stats.lognorm(sigma, scale=exp(mu)),
    "weibull": lambda shape, scale: stats.weibull_min(shape, scale=scale),
    "chi_square": lambda nu: stats.chi2(nu),
    "inv_chi_square": lambda nu: stats.invgamma(nu / 2, scale=0.5),
    "scaled_inv_chi_square": lambda nu, s: stats.invgamma(nu / 2, scale=nu * s * s / 2),
    "rayleigh": lambda sigma: stats.rayleigh(scale=sigma),
    "frechet": lambda shape, scale: stats.invweibull(shape, scale=scale),
    "pareto": lambda least, shape: stats.pareto(shape, scale=least),
    "beta": lambda a, b: stats.beta(a, b),
}
DISTRIBUTIONS = frozenset(_MADE)
"""Those whose mass between bounds is known."""

# Where distributions are, whatever their arguments: bounds that lie beyond cut nothing off.
_SUPPORTS = {
    **dict.fromkeys(("exponential", "gamma", "inv_gamma", "lognormal", "weibull"), (0.0, inf)),
    **dict.fromkeys(("chi_square", "inv_chi_square", "scaled_inv_chi_square"), (0.0, inf)),
    **dict.fromkeys(("rayleigh", "frechet", "pareto", "pareto_type_2", "wald"), (0.0, inf)),
    **dict.fromkeys(("beta", "beta_proportion"), (0.0, 1.0)),
}


def log_mass(
    declared: Declared,
    distribution: str,
    arguments: Sequence[Tokens],
    between: tuple[Tokens, Tokens] | None,
    known: Mapping[str, Any],
) -> float | None:
    """The log of what is left of a distribution between a parameter's bounds, for one element.

    It is 0 where nothing is cut off, and None where that depends on parameters or is not known.
    A distribution that is truncated, `between` two bounds, is divided by what is left of it there.
    """
    own = tuple(declared.bounds.get(side, ()) for side in ("lower", "upper"))
    if distribution == "uniform" and tuple(arguments) == own:
        return 0.0  # whatever the bounds depend on
    if between is not None and all(
        not bound or bound == truncation for bound, truncation in zip(own, between, strict=True)
    ):
        return 0.0  # beyond where it is truncated it is zero
    if distribution == "von_mises":
        return None  # once a turn, without end
    lower, upper = (_bound(declared, side, known) for side in ("lower", "upper"))
    if declared.kind == "positive_ordered":
        lower = 0.0
    if lower == -inf and upper == inf:
        return 0.0
    if lower is None or upper is None:
        return None
    least, most = _SUPPORTS.get(distribution, (-inf, inf))
    if between is not None:
        ends = [number(end, known) if end else None for end in between]
        if any(end and value is None for end, value in zip(between, ends, strict=True)):
            return None
        least = least if ends[0] is None else max(least, float(ends[0]))
        most = most if ends[1] is None else min(most, float(ends[1]))
    is_known = distribution in _SUPPORTS or between is not None
    if is_known and lower <= least and upper >= most:
        return 0.0
    made = frozen(distribution, arguments, known)
    left = None if made is None else _log_between(made, max(lower, least), min(upper, most))
    whole_of_it = 0.0 if between is None or made is None else _log_between(made, least, most)
    return None if left is None or whole_of_it is None else left - whole_of_it


def frozen(distribution: str, arguments: Sequence[Tokens], known: Mapping[str, Any]) -> Any | None:
    """The distribution by SciPy, or None where it or an argument is not known."""
    numbers = [number(argument, known) for argument in arguments]
    if distribution not in _MADE or any(value is None for value in numbers):
        return None
    try:
        return _MADE[distribution](*numbers)
    except (TypeError, ValueError, ZeroDivisionError):
        return None


def _log_between(made: Any, lower: float, upper: float) -> float | None:
    # From the side on which less is left, so that no digits are lost.
    left = made.sf(lower) - made.sf(upper) if lower > made.median() else None
    mass = float(made.cdf(upper) - made.cdf(lower) if left is None else left)
    return log(mass) if mass > 0 and isfinite(mass) else None


def log_share_of_orderings(declared: Declared, known: Mapping[str, Any]) -> float | None:
    """The log of the share of all orders of the elements that an ordered vector may have."""
    if declared.kind not in ("ordered", "positive_ordered"):
        return 0.0
    size = whole(declared.sizes[0], known)
    return None if size is None else -float(gammaln(size + 1))


def _bound(declared: Declared, side: str, known: Mapping[str, Any]) -> float | None:
    if side not in declared.bounds:
        return -inf if side == "lower" else inf
    value = number(declared.bounds[side], known)
    return None if value is None else float(value)
