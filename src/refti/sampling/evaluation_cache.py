"""Evaluation cache: log densities that a run has evaluated, so that none is evaluated twice."""

from __future__ import annotations

from threading import Lock

import numpy as np

from refti.sampling.tuning import TUNING


class EvaluationCache:
    """Log densities by density and point, the most recent ones."""

    def __init__(self, most: int = TUNING.remembered_values) -> None:
        self._most = most
        self._values: dict[tuple[int, bytes], float] = {}
        self._lock = Lock()  # rungs run in threads, and one may forget what another looks up

    def look_up(self, density: object, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the points x[n, dim] are known, and the values [n] there; 0 elsewhere."""
        with self._lock:
            found = [self._values.get((id(density), row.tobytes())) for row in x]
        known = np.array([value is not None for value in found], dtype=bool)
        return known, np.array([0.0 if value is None else value for value in found])

    def keep(self, density: object, x: np.ndarray, values: np.ndarray) -> None:
        """Adds values, and forgets the oldest where there are too many."""
        new = {(id(density), row.tobytes()): float(v) for row, v in zip(x, values, strict=True)}
        with self._lock:
            self._values.update(new)
            while len(self._values) > self._most:
                del self._values[next(iter(self._values))]
