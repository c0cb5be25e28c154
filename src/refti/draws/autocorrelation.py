"""What correlated chains are worth: effective sample size, R-hat and the error of a mean.

Every function takes `series[..., chain, draw]` and answers for each of the leading indices at
once, so one series gives a float and a stack of rungs gives one number a rung. The formulas are
those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat", Bayesian Analysis 16(2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.fft import next_fast_len

from refti.draws.tuning import TUNING


def effective_sample_size(series: ArrayLike) -> NDArray[np.float64]:
    """Returns how many independent draws estimate the mean as well as these do.

    Chains are split in half, autocovariances of the halves are averaged, and the autocorrelations
    are summed by Geyer's initial monotone positive sequence. The answer is capped at
    `N * log10(N)`, which only chains that swing from side to side reach.

    Special cases: a constant series counts every draw. Fewer than ten draws a chain say nothing of
    their autocorrelation, so each chain then counts as one draw. A series holding NaN or an
    infinity has no mean to estimate and counts as 0.
    """
    values = _as_chains(series)
    chains, draws = values.shape[-2:]
    finite = np.asarray(np.isfinite(values).all(axis=(-2, -1)))
    values = np.where(finite[..., None, None], values, 0.0)
    if draws < TUNING.fewest_draws_for_lags:
        size = np.full(finite.shape, float(chains))
    else:
        size = _size_by_lags(_split(_standardise(values)))
    size = np.where(_is_constant(values), float(chains * draws), size)
    return np.where(finite, size, 0.0)[()]


def bulk_size(series: ArrayLike) -> NDArray[np.float64]:
    """Returns the effective sample size of the rank-normalised series, which tails do not sway."""
    values = _as_chains(series)
    pool = values.shape[-2] * values.shape[-1]
    return effective_sample_size(_scores(values.reshape(-1, pool)).reshape(values.shape))


def r_hat(series: ArrayLike) -> NDArray[np.float64]:
    """Returns the rank-normalised split R-hat, the larger of bulk and folded; 1 is well mixed.

    Special cases: a constant series gives 1. Fewer than four draws a chain cannot be halved and
    cannot be shown to have mixed: infinity. NaN gives infinity; an infinite value is ranked like
    any other, unless it is the median, which gives infinity too. Chains that each stand still at
    different values give infinity.
    """
    values = _as_chains(series)
    constant = _is_constant(values)
    if values.shape[-1] < TUNING.fewest_draws_for_halves:
        return np.where(constant, 1.0, np.inf)[()]
    halves = _split(values)
    with np.errstate(invalid="ignore"):
        folded = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    readable = np.asarray(~np.isnan(folded).any(axis=(-2, -1)))
    halves, folded = (np.where(readable[..., None, None], part, 0.0) for part in (halves, folded))
    worst = np.maximum(_between_over_within(halves), _between_over_within(folded))
    return np.where(constant, 1.0, np.where(readable, worst, np.inf))[()]


def standard_error(series: ArrayLike) -> NDArray[np.float64]:
    """Returns the standard error of the mean, `sd / sqrt(effective sample size)`.

    A constant series has error 0; one draw in all, or a value that is not finite, infinity.
    """
    values = _as_chains(series)
    size = effective_sample_size(values)
    total = values.shape[-2] * values.shape[-1]
    known = np.asarray((size > 0) & (total > 1))
    safe = np.where(known[..., None, None], values, 0.0)
    deviation = np.std(safe, axis=(-2, -1), ddof=min(1, total - 1))
    deviation = np.where(_is_constant(safe), 0.0, deviation)
    return np.where(known, deviation / np.sqrt(np.where(known, size, 1.0)), np.inf)[()]


def _as_chains(series: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(series, dtype=np.float64)
    if values.ndim < 2 or values.shape[-2] == 0 or values.shape[-1] == 0:
        raise ValueError(f"Expected series[..., chain, draw], not empty; got shape {values.shape}.")
    return values


def _is_constant(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    # A constant that went through arithmetic differs from itself in the last bits.
    highest, lowest = values.max(axis=(-2, -1)), values.min(axis=(-2, -1))
    slack = 8 * np.finfo(np.float64).eps * np.maximum(np.abs(highest), np.abs(lowest))
    with np.errstate(invalid="ignore"):
        return np.isfinite(slack) & (highest - lowest <= slack)


def _standardise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Squares of the very large and the very small must neither overflow nor vanish.
    centred = values - values.mean(axis=(-2, -1), keepdims=True)
    size = np.abs(centred).max(axis=(-2, -1), keepdims=True)
    return centred / np.where(size > 0, size, 1.0)


def _split(values: NDArray[np.float64]) -> NDArray[np.float64]:
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=-2)


def _size_by_lags(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    correlation = _autocorrelation(chains)
    total = chains.shape[-2] * chains.shape[-1]
    time = _geyer_time(correlation)
    return total / np.maximum(time, 1.0 / np.log10(total))


def _autocorrelation(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the autocorrelation at every lag, pooled over chains (equation 10)."""
    count = chains.shape[-1]
    centred = chains - chains.mean(axis=-1, keepdims=True)
    length = next_fast_len(2 * count, real=True)
    spectrum = np.fft.rfft(centred, n=length, axis=-1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=-2)
    covariance = np.fft.irfft(power, n=length, axis=-1)[..., :count] / count
    within = covariance[..., :1] * count / (count - 1)
    pooled = covariance[..., :1] + chains.mean(axis=-1).var(axis=-1, ddof=1)[..., None]
    correlation = 1 - (within - covariance) / np.where(pooled > 0, pooled, 1.0)
    correlation[..., 0] = 1.0
    return correlation


def _geyer_time(correlation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns `1 + 2 * sum of autocorrelations` by the initial monotone positive sequence."""
    last_pair = (correlation.shape[-1] - 3) // 2
    even = correlation[..., 0 : 2 * last_pair + 2 : 2]
    pairs = even + correlation[..., 1 : 2 * last_pair + 2 : 2]
    ended = pairs <= 0
    ended[..., last_pair] = True
    stop = ended.argmax(axis=-1)[..., None]
    kept = np.arange(last_pair + 1) < stop
    monotone = np.minimum.accumulate(pairs, axis=-1)
    # Half a pair beyond the stop is kept where it is positive: it lowers the variance for
    # chains whose autocorrelation alternates in sign.
    beyond = np.take_along_axis(even, stop, axis=-1)[..., 0]
    return -1 + 2 * np.where(kept, monotone, 0.0).sum(axis=-1) + np.maximum(beyond, 0.0)


def _between_over_within(chains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns R-hat of the rank-normalised chains (equations 1 to 4 and 14)."""
    shape, count = chains.shape, chains.shape[-1]
    scores = _scores(chains.reshape(-1, shape[-2] * count)).reshape(shape)
    within = scores.var(axis=-1, ddof=1).mean(axis=-1)
    between = scores.mean(axis=-1).var(axis=-1, ddof=1)
    # Scores are of order one: chains that stand still leave only rounding within them.
    still = within <= 1e-20
    ratio = np.sqrt(between / np.where(still, 1.0, within) + (count - 1) / count)
    return np.where(still, np.where(between > 1e-20, np.inf, 1.0), ratio)


def _scores(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the normal scores of the ranks within each row."""
    return special.ndtri((_average_ranks(rows) - 0.375) / (rows.shape[-1] + 0.25))


def _average_ranks(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the ranks within each row, from 1; ties share their mean rank."""
    # scipy.stats has this too, but takes half a second to import.
    order = np.argsort(rows, axis=-1)
    ranks, ordered = np.empty_like(rows), np.take_along_axis(rows, order, axis=-1)
    np.put_along_axis(ranks, order, np.arange(1.0, rows.shape[-1] + 1)[None], axis=-1)
    with np.errstate(invalid="ignore"):  # infinities that are tied
        tied = ~np.all(np.diff(ordered, axis=-1) > 0, axis=-1)
    for k in np.flatnonzero(tied):
        below = np.searchsorted(ordered[k], rows[k], side="left")
        ranks[k] = 0.5 * (below + np.searchsorted(ordered[k], rows[k], side="right") + 1)
    return ranks
