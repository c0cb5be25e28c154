"""Functions whose evidence is asked for, found here by the processes that call them.

Those import nothing but NumPy: a file of tests would take each of them a second.
"""

import ctypes

import numpy as np

SCALES = np.array([0.5, 2.0, 1.0])


def normal(x: np.ndarray) -> float:
    """A Gaussian of different scales about (1, -2, 0), of a known integral."""
    return 1.5 - 0.5 * float(np.sum(((x - [1.0, -2.0, 0.0]) / SCALES) ** 2))


def log_prior(mu, sigma):
    return -0.125 * mu**2 - 0.5 * np.log(8 * np.pi) - sigma


DATA = np.array([0.3, -0.8, 1.9, 0.4, 0.1, 1.2])


def log_likelihood(mu, sigma):
    if not 1e-9 < sigma < 1e9:
        return -np.inf
    squares = float(np.sum((DATA - mu) ** 2))
    return -0.5 * squares / sigma**2 - len(DATA) * (np.log(sigma) + 0.5 * np.log(2 * np.pi))


def is_random(x: np.ndarray) -> float:
    return normal(x) + np.random.default_rng().normal()


def writes(x: np.ndarray) -> float:
    x += 1.0
    return normal(x)


def always_raises(x: np.ndarray) -> float:
    raise RuntimeError("no such file")


def crashes_far_out(x: np.ndarray) -> float:
    if x[0] > 1.5:
        ctypes.string_at(0)
    return normal(x)


def bent(x):
    """A Gaussian that is bent, of arrays of any kind."""
    return -0.5 * (x[0] / 1.7) ** 2 - 0.5 * (x[1] - 0.3 * x[0] ** 2) ** 2 + 0.4
